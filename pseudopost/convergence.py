"""When a fit counts as converged."""

import arviz as az
import numpy as np
import xarray as xr

# Chance alone takes R-hat beyond 1.02 now and then in two chains of 500 draws.
MAX_RHAT = 1.05
MIN_ESS_PER_CHAIN = 100
METHODS = "bulk", "tail"


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
    values, found = fit[group].to_dataset(), {}

    def add(name, at, problem):
        found.setdefault(_told(values, name, at), []).append(problem)

    if values.sizes["chain"] > 1:
        with np.errstate(invalid="ignore"):  # of a constant it is NaN
            rhat = az.rhat(values)
        rhat, *where = _worst(rhat, np.argmax)
        if not rhat <= MAX_RHAT:
            add(*where, f"R-hat {rhat:.3f} above {MAX_RHAT}")
    wanted = MIN_ESS_PER_CHAIN * values.sizes["chain"]
    for method in METHODS:
        ess, *where = _worst(az.ess(values, method=method), np.argmin)
        if not ess >= wanted:
            add(*where, f"{method} effective sample size {ess:.0f} below {wanted}")
    lines = [f"{', '.join(problems)}, of {what}" for what, problems in found.items()]
    stats = fit["sample_stats"].to_dataset()
    divergences = int(stats["diverging"].sum()) if "diverging" in stats else 0
    if divergences:
        lines.append(f"{divergences} divergent transitions")
    return "the fit has not converged: " + "; ".join(lines) if lines else ""


def share_of_wanted(values):
    """Compute the smallest effective sample size as a part of that wanted.

    Wanted is what :func:`problems` asks for, or a quarter of the number of draws.

    Parameters
    ----------
    values : dict of ndarray, shape (chains, draws, ...)

    Returns
    -------
    float
        NaN if a size is.
    """
    values = xr.Dataset(
        {
            name: (("chain", "draw", *(f"{name}{d}" for d in range(v.ndim - 2))), v)
            for name, v in values.items()
        }
    )
    wanted = min(MIN_ESS_PER_CHAIN, values.sizes["draw"] / 4) * values.sizes["chain"]
    sizes = [_worst(az.ess(values, method=method), np.argmin)[0] for method in METHODS]
    return float(np.min(sizes) / wanted)


def _worst(statistic, where):
    """Value, name and place of the worst of all; NaN is worse than any number."""
    flat = {name: np.ravel(statistic[name]) for name in statistic}
    worst = {name: where(v) for name, v in flat.items() if v.size}
    ends = np.array([flat[name][place] for name, place in worst.items()])
    name = list(worst)[where(ends)]
    place = np.unravel_index(worst[name], statistic[name].shape)
    return flat[name][worst[name]], name, place


def _told(values, name, place):
    """Name one quantity, and give its mean in each chain."""
    variable = values[name]
    dims = [dim for dim in variable.dims if dim not in ("chain", "draw")]
    chosen = dict(zip(dims, (int(at) for at in place), strict=True))
    labels = [
        f"{dim} {values[dim].to_numpy()[at]}" if dim in values.coords else f"{at}"
        for dim, at in chosen.items()
    ]
    means = variable.isel(chosen).mean("draw").to_numpy()
    unit = f" {variable.attrs['unit']}" if "unit" in variable.attrs else ""
    digits = ",.0f" if np.abs(means).max() >= 1000 else ".4g"
    by_chain = ", ".join(f"{mean:{digits}}" for mean in means)
    where = f" at {', '.join(labels)}" if labels else ""
    return f"{name}{where} ({by_chain}{unit} by chain)"


def limits():
    """Return what :func:`problems` compares with, as long as nobody changes it."""
    return MAX_RHAT, MIN_ESS_PER_CHAIN
