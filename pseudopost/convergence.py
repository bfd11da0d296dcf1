"""When a fit counts as converged."""

import arviz as az
import numpy as np

# Chance alone takes R-hat beyond 1.02 now and then in two chains of 500 draws.
MAX_RHAT = 1.05
MIN_ESS_PER_CHAIN = 100


class ConvergenceWarning(UserWarning):
    """The chains of a fit disagree, move too slowly, or diverged.

    References
    ----------
    Book: :ref:`mixture-convergence`.

    Examples
    --------
    Ten draws are too few; a filter turns the warning into an error:

    >>> import warnings
    >>> import pseudopost as pp
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", pp.ConvergenceWarning)
    ...     fit = pp.PoissonSynthesizer([2, 4, 9]).fit(draws=10)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    pseudopost.convergence.ConvergenceWarning: the fit has not converged: ...
    """


def problems(fit, group):
    """Say in one line what is wrong with `fit`; the empty string if nothing is."""

    def values(statistic, **settings):
        by_name = statistic(fit, group=group, **settings).to_dataset()
        return np.concatenate([np.ravel(by_name[name]) for name in by_name])

    ess = values(az.ess, method="bulk")
    problems = []
    if fit["posterior"].sizes["chain"] > 1:
        rhat = values(az.rhat)
        if not rhat.max() <= MAX_RHAT:
            problems.append(f"R-hat {rhat.max():.3f} above {MAX_RHAT}")
    wanted = MIN_ESS_PER_CHAIN * fit["posterior"].sizes["chain"]
    if not ess.min() >= wanted:
        problems.append(f"bulk effective sample size {ess.min():.0f} below {wanted}")
    divergences = int(fit["sample_stats"]["diverging"].sum())
    if divergences:
        problems.append(f"{divergences} divergent transitions")
    return "the fit has not converged: " + "; ".join(problems) if problems else ""


def limits():
    """Return what :func:`problems` compares with, as long as nobody changes it."""
    return MAX_RHAT, MIN_ESS_PER_CHAIN
