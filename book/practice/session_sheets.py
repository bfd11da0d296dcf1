"""What comes out when a class changes one line of a chapter, and what is said of it."""

from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

import pseudopost as pp
from betty import betty_file
from companion import SEED, by_profile

SAMPLE = Path(__file__).parents[2] / "data" / "p3_table1_sample.csv"
SETTINGS = {"draws": by_profile(500, 500, 2500), "random_seed": SEED}
SIX = np.array([30, 34, 40, 44, 50, 90])
FOUR = np.array([0.45, 0.5, 0.55, 0.6])


def idea():
    """Posterior of a Poisson mean under four weights of a record of 60."""
    counts = np.random.default_rng(SEED).poisson(10, size=50)
    rows = {}
    for weight in (0, 0.1, 0.5, 1):
        law = stats.gamma(0.5 + counts.sum() + weight * 60, scale=1 / (50.001 + weight))
        rows[weight] = {"mean": law.mean(), "standard deviation": law.std()}
    return pd.DataFrame(rows).T.rename_axis("weight").round(2)


def risk():
    """Betty's identification risk at three radii, for two of the four scenarios."""
    scenarios = {"own value close (54)": (2, 10, 54), "own value far (71)": (3, 9, 71)}
    rows = {}
    for name, scenario in scenarios.items():
        true, released, patterns = betty_file(*scenario)
        rows[name] = {
            radius: pp.identification_risk(true, released, radius, patterns)[0]
            for radius in (0.1, 0.2, 0.4, 0.5)
        }
    return pd.DataFrame(rows).T.rename_axis(columns="radius").round(2)


def weights():
    """Weights of four risks by P1's curve and by the straight line."""
    table = {"S-shaped": pp.sigmoid_weights(FOUR), "line": pp.marginal_weights(FOUR)}
    return pd.DataFrame(table, index=pd.Index(FOUR, name="risk")).round(2)


def moles():
    """Weights of six incomes, with the largest at 90 and at 60."""
    nearer = np.append(SIX[:-1], 60)
    columns = {}
    for last, incomes in ((90, SIX), (60, nearer)):
        marginal = 1 - pp.identification_risk(incomes, incomes, radius=0.2)
        columns["marginal", f"last at {last}"] = marginal
        columns["pairwise", f"last at {last}"] = pp.pairwise_weights(incomes)
    names = pd.Index([*map(str, SIX[:-1]), "90 or 60"], name="income")
    table = pd.DataFrame(columns, index=names)
    return table[["marginal", "pairwise"]].round(2)


@cache
def lw(planted):
    """Weights and epsilons of P3's sample, with its first count replaced or not."""
    y = pd.read_csv(SAMPLE)["outcome"].to_numpy()
    if planted:
        y = np.append(2000, y[1:])
    synthesizer = pp.NegativeBinomialSynthesizer(y)
    plain = synthesizer.log_likelihood(synthesizer.fit(**SETTINGS))
    vector = pp.lipschitz_weights(plain)
    weighted = synthesizer.log_likelihood(synthesizer.fit(vector, **SETTINGS))
    return synthesizer, vector, plain, pp.lipschitz_bounds(weighted, vector)


def bounds():
    """What a typing error of 2,000 does to weights and epsilon."""
    rows = {}
    for name, planted in (("as it is", False), ("with 2,000", True)):
        _, vector, plain, weighted = lw(planted)
        rows[name] = {
            "weight of record 0": vector[0],
            "mean weight": vector.mean(),
            "epsilon before": pp.epsilon(pp.lipschitz_bounds(plain)),
            "epsilon after": pp.epsilon(weighted),
        }
    return pd.DataFrame(rows).T.round(2)


def utility():
    """Epsilon and mean weight after re-weighting with three constants."""
    synthesizer, vector, _, weighted = lw(False)
    rows = {"LW": {"mean weight": vector.mean(), "epsilon": pp.epsilon(weighted)}}
    for k in (0.8, 0.95, 1):
        raised = pp.reweight(vector, weighted, k)
        found = synthesizer.log_likelihood(synthesizer.fit(raised, **SETTINGS))
        epsilon = pp.epsilon(pp.lipschitz_bounds(found, raised))
        rows[f"k = {k}"] = {"mean weight": raised.mean(), "epsilon": epsilon}
    return pd.DataFrame(rows).T.round(2)


def claims():
    """Check what the sheets say comes out."""
    means, sds = idea()["mean"], idea()["standard deviation"]
    close, far = risk().to_numpy()
    curve, line = weights().to_numpy().T
    marginal, pairwise = moles()["marginal"], moles()["pairwise"]
    error, constants = bounds(), utility()
    return pd.Series(
        {
            "weight 1 moves the mean by some two sds": 1.5
            < (means[1] - means[0]) / sds[0]
            < 2.5,
            "half the weight, nearly half as far": abs(
                (means[0.5] - means[0]) / (means[1] - means[0]) - 0.5
            )
            < 0.03,
            "the sd hardly notices": abs(sds[1] / sds[0] - 1) < 0.1,
            "close: the risk falls with the radius": (np.diff(close) <= 0).all(),
            "far: the risk jumps from 0": far[0] == 0 and far[-1] > 0,
            "the curve is more than twice as steep": curve[0] - curve[-1]
            > 2 * (line[0] - line[-1]),
            "marginal: those near each other alone": (
                (marginal["last at 60"] != marginal["last at 90"]).sum() == 2
            ),
            "pairwise: everybody's": (
                (pairwise["last at 60"] != pairwise["last at 90"]).all()
            ),
            "pairwise: higher and closer together": bool(
                (pairwise >= marginal).all(axis=None)
                and (np.ptp(pairwise, axis=0) < np.ptp(marginal, axis=0)).all()
            ),
            "the error gets weight 0": error.loc["with 2,000", "weight of record 0"]
            == 0,
            "and raises epsilon after": error["epsilon after"].diff().iloc[1] > 0,
            "all others nearly 1": error.loc["with 2,000", "mean weight"] > 0.98,
            "near 1: weight up, epsilon about the same": constants["mean weight"]
            .loc[["k = 0.95", "k = 1"]]
            .min()
            > constants.loc["LW", "mean weight"]
            and abs(constants["epsilon"]["k = 0.95"] / constants["epsilon"]["LW"] - 1)
            < 0.05,
            "0.8: both fall": (constants.loc["k = 0.8"] < constants.loc["LW"]).all(),
        }
    )
