"""A synthesizer for amounts that are often exactly 0."""

from typing import override

import numpy as np
import pandas as pd
import pymc as pm

import pseudopost as pp


class TwoPartSynthesizer(pp.Synthesizer):
    r"""Zero with probability 1 - share, and otherwise lognormal.

    Priors: share ~ Uniform(0, 1), mu ~ Normal(log(usual), 2), log(sigma) ~ Normal(0, 1).

    Parameters
    ----------
    y : array-like, shape (n,)
        Confidential amounts, 0 or more; the index of a Series labels the records.
    usual : float
        A usual amount, as anybody would guess it. It must not be computed from `y`.

    Raises
    ------
    ValueError
        If an amount is missing, infinite or below 0.
    """

    def __init__(self, y, usual):
        y = pd.Series(y, dtype=float)
        if not (np.isfinite(y) & (y >= 0)).all():
            raise ValueError("y must hold finite amounts of 0 or more")
        self.y, self.index = y.to_numpy(), y.index
        self.usual = usual

    @override
    def build_model(self):
        is_paid = self.y > 0
        with pm.Model() as model:
            paid = pm.Data("paid", is_paid)
            log_y = pm.Data("log_y", np.log(np.where(is_paid, self.y, 1)))
            share = pm.Uniform("share")
            mu = pm.Normal("mu", np.log(self.usual), 2)
            sigma = pm.LogNormal("sigma", 0, 1)
            log_amount = pm.logp(pm.Normal.dist(mu, sigma), log_y)
            self.add_likelihood(
                pm.math.switch(
                    paid, pm.math.log(share) + log_amount, pm.math.log1p(-share)
                )
            )
        return model

    @override
    def draw_dataset(self, parameters, rng):
        n = len(self.y)
        paid = rng.uniform(size=n) < parameters["share"]
        amounts = rng.lognormal(parameters["mu"], parameters["sigma"], size=n)
        return np.where(paid, amounts, 0.0)
