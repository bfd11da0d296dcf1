"""Lipschitz bounds: the chapter's figures, its numbers, and the rules of its checks."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from scipy import stats

import pseudopost as pp

WEIGHTED = ["LW", "CW"]
COLOURS = pp.plots.PALETTE


def relative(bounds):
    """Bounds as shares of the largest."""
    return bounds / bounds.max()


def slope(weights, bounds):
    """Slope of a straight line through the relative bounds, given the weights."""
    return stats.linregress(weights, relative(bounds)).slope


def rise(weights, bounds):
    """Slope of the rising part of the relative bounds, from the origin to the largest."""
    return 1 / weights[bounds.argmax()]


def low(bounds):
    """Share of the records with a bound below half of the largest."""
    return (relative(bounds) < 0.5).mean()


def middle(bounds):
    """Median of the bounds, relative to the largest."""
    return np.median(relative(bounds))


def contributions(y, records, mean):
    """Change of a Poisson log-likelihood by deleting records, and their own parts.

    Both of shape (records, means).
    """

    def log_likelihood(values):
        return stats.poisson.logpmf(values[:, None], mean)

    change = [
        log_likelihood(y).sum(axis=0) - log_likelihood(np.delete(y, i)).sum(axis=0)
        for i in records
    ]
    return np.array(change), log_likelihood(y[records])


def with_an_impossible_record(log_likelihood, record):
    """LW weight of a record that is impossible under one draw, and the largest bound."""
    broken = np.array(log_likelihood)
    broken[0, record] = -np.inf
    with warnings.catch_warnings(action="ignore"):
        weights = pp.lipschitz_weights(broken)
    return weights[record], pp.lipschitz_bounds(broken, weights).max()


# Figures


def draw_bounds_by_count(y, bounds):
    """Bounds against counts, above a histogram of the counts."""
    _, ax = plt.subplots(figsize=(5.6, 3.6), layout="constrained")
    ax.scatter(y, bounds, s=12, color=COLOURS["Unweighted"])
    ax.set(xlabel="Count", ylabel="Lipschitz bound (nats)", ylim=(0, None))
    below = ax.twinx()
    below.hist(y, bins=40, color=COLOURS["Data"], alpha=0.25)
    below.set(ylim=(0, 400), yticks=[])


def draw_bounds(bounds):
    """Bounds of all synthesizers."""
    ax = pp.plots.violins(bounds, ylabel="Lipschitz bound (nats)")
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper right")


def draw_bounds_against_weights(weights, bounds):
    """LW on the left, CW on the right."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
    for ax, name in zip(axes, WEIGHTED, strict=True):
        pp.plots.bounds_against_weights(weights[name], bounds[name], name=name, ax=ax)
    axes[0].legend(loc="lower right")


def draw_one_delta(bounds, loss):
    """Privacy losses by record, below the bound and twice the bound."""
    _, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
    end = bounds.max()
    for slope_of, label, style in ((2, "twice the bound", "--"), (1, "the bound", "-")):
        ax.plot([0, end], [0, slope_of * end], style, color="black", lw=1, label=label)
    ax.scatter(bounds, loss, s=9, color=COLOURS["LW"], alpha=0.6, linewidth=0)
    ax.set(xlabel="Lipschitz bound (nats)", ylabel="Privacy loss, weights kept (nats)")
    ax.legend(loc="upper left")


def draw_tradeoff(tradeoff):
    """Distance from the data against the largest bound, one point for each shift."""
    _, ax = plt.subplots(figsize=(6, 3.4), layout="constrained")
    ax.plot(tradeoff["bound"], tradeoff["distance"], "o-", color=COLOURS["LW"])
    for g, row in tradeoff.iterrows():
        ax.annotate(
            f"g = {g:.1f}",
            (row["bound"], row["distance"]),
            xytext=(5, 5),
            textcoords="offset points",
        )
    ax.set(
        xlabel="Largest Lipschitz bound (nats)",
        ylabel="Distance from the data (counts)",
        ylim=(0, 11.5),
        xlim=(0, 14.5),
    )


# Numbers for the text


def composed(epsilon, m, delta):
    """Epsilon of m draws together, with exceptions of probability delta."""
    return m * epsilon**2 / 2 + epsilon * np.sqrt(2 * m * np.log(1 / delta))


def numbers_of_unweighted(y, bounds):
    """Which counts are risky, and how much."""
    return {
        "riskiest-count": y[np.argmax(bounds)],
        "bound-max": bounds.max(),
        "unweighted-epsilon": pp.epsilon(bounds),
    }


def numbers_of_lw(y, unweighted, weights, bounds):
    """Where epsilon of LW comes from: the predicted top, and the record there."""
    least, most = unweighted.min(), unweighted.max()
    top = np.argmax(bounds)
    return {
        "lw-delta": bounds.max(),
        "lw-epsilon": pp.epsilon(bounds),
        "lw-mean-weight": weights.mean(),
        "lw-predicted": most**2 / (4 * (most - least)),
        "lw-peak-count": y[top],
        "lw-peak-weight": weights[top],
    }


def numbers_of_both(weights, bounds):
    """How near the bounds of LW and CW are to their largest."""
    values = {"cw-mean-weight": weights["CW"].mean()}
    for name in WEIGHTED:
        values |= {
            f"{name}-middle": middle(bounds[name]),
            f"{name}-slope": slope(weights[name], bounds[name]),
            f"{name}-rise": rise(weights[name], bounds[name]),
            f"{name}-low": 100 * low(bounds[name]),
        }
    return values


def numbers_of_losses(bounds, loss):
    """The largest privacy loss with the weights kept, and the largest bound."""
    return {"kept-loss": loss.max(), "kept-delta": bounds.max()}


def numbers_of_deletion(deletion, bounds, noise):
    """The largest change and loss by deleting a record, and the noise of a loss."""
    return {
        "deletion-ratio": deletion["recomputed"].max() / bounds.max(),
        "deletion-loss": deletion["privacy loss"].max(),
        "deletion-noise": noise,
    }


# Rules


def claims_of_promise(loss, delta_u):
    """P3, sections 1.1 and 1.2: epsilon is twice the sensitivity."""
    return {
        "P3-Def1.1": (
            f"loss {loss:.2f}, epsilon {2 * delta_u:.0f}",
            loss <= 2 * delta_u,
        ),
        "P3-Def1.2": (
            f"loss {loss:.2f}, 2 Delta = {2 * delta_u:.0f}",
            loss <= 2 * delta_u,
        ),
    }


def claims_of_deletion(loss, epsilon):
    """P3, section 1.3: the loss of seven deletions with weights recomputed."""
    return {
        "P3-Def1.3": (
            f"seven deletions: loss {loss:.1f}, epsilon {epsilon:.1f}",
            loss <= epsilon,
        ),
        "P3-Eq1.3": ("as P3-Def1.3", loss <= epsilon),
    }


def claims_of_sensitivity(of_count, delta_u, rescaled):
    """P3, sections 1.1 and 1.2; `rescaled` are sensitivities by the wanted epsilon."""
    return {
        "P3-EqU01": (str(of_count["deletions"]), of_count["deletions"] == 1),
        "P3-EqU02": (f"{delta_u:.0f}", delta_u == 1),
        "P3-EqU03": (
            "epsilon / 2",
            all(np.isclose(delta, e / 2) for e, delta in rescaled.items()),
        ),
    }


def claim_of_contributions(change, own):
    """P3, section 1.2: a deletion takes away the record's own part."""
    return {"P3-EqU04": ("equal", np.allclose(change, own))}


def claims_of_weights(weights, bounds, weighted):
    """P3, sections 1.3 and A.1; `weighted` is the weighted log-likelihood under LW."""
    unweighted, largest = bounds["Unweighted"], bounds["LW"].max()
    return {
        "P3-EqU05": (
            "decreasing",
            (np.diff(weights["LW"][np.argsort(unweighted)]) <= 0).all(),
        ),
        "P3-EqU06": (
            f"{largest:.1f} < {unweighted.max():.1f}",
            largest < unweighted.max(),
        ),
        "P3-EqU07": (f"{largest:.1f}", np.isclose(np.abs(weighted).max(), largest)),
        "P3-EqU08": ("0 to 1", (weights["LW"].min(), weights["LW"].max()) == (0, 1)),
        "P3-Alg2": (f"{largest:.1f}", largest < 0.7 * unweighted.max()),
    }


def far_below(bounds):
    """Whether the largest bounds of LW and CW are below 0.7 of the unweighted one."""
    largest = max(bounds[name].max() for name in WEIGHTED)
    return largest < 0.7 * bounds["Unweighted"].max()


def claims_of_figures(weights, bounds):
    """P3, Figures 1 and 2."""
    mean = {name: weights[name].mean() for name in WEIGHTED}
    return {
        "P3-Fig01": (
            ", ".join(f"{name} {b.max():.1f}" for name, b in bounds.items())
            + "; median by maximum "
            + ", ".join(f"{name} {middle(bounds[name]):.2f}" for name in WEIGHTED),
            far_below(bounds)
            and low(bounds["LW"]) < low(bounds["CW"])
            and middle(bounds["LW"]) > middle(bounds["CW"]),
        ),
        "P3-Fig02": (
            f"mean weight {mean['LW']:.2f}, {mean['CW']:.2f}",
            mean["LW"] > mean["CW"] and low(bounds["LW"]) < low(bounds["CW"]),
        ),
    }


def claims_of_setting(shifted, fit):
    """P3, sections A and 1.3; `shifted` are weights that c and g push out of [0, 1]."""
    return {
        "P3-Set07": (
            "clipped to [0, 1]",
            (np.min(shifted), np.max(shifted)) == (0, 1),
        ),
        "P3-Set09": (
            "weights stay in the fit",
            "weights" in fit["constant_data"] and "weights" not in fit["posterior"],
        ),
    }


def claims_of_bounds(bounds, tradeoff, impossible, spread):
    """P3, section 1.3; `impossible` are a weight and the largest bound with it."""
    weight, bound = impossible
    delta, sd = tradeoff["bound"], spread["std"]
    return {
        "P3-Claim01": (
            "no record raised, after refits",
            all((bounds[name] <= bounds["Unweighted"]).all() for name in WEIGHTED),
        ),
        "P3-Claim02": (
            f"{2 * delta.min():.1f} to {2 * delta.max():.1f} by the shift alone",
            delta.is_monotonic_increasing,
        ),
        "P3-Claim03": ("weight 0, finite bound", weight == 0 and np.isfinite(bound)),
        "P3-Claim04": (
            "sd " + ", ".join(f"{s:.2f} (n = {n})" for n, s in sd.items()),
            sd.is_monotonic_decreasing and sd.iloc[-1] < 0.8 * sd.iloc[0],
        ),
    }


def similar(one, other):
    """Whether two slopes differ by less than half of the larger one."""
    return abs(one - other) < 0.5 * max(abs(one), abs(other))


def similar_rises(weights, bounds):
    """Whether the rising parts of LW and CW are similar."""
    return similar(*(rise(weights[name], bounds[name]) for name in WEIGHTED))


def claims_of_comparison(weights, bounds):
    """P3, section 2.1: LW and CW beside each other."""
    rises = {name: rise(weights[name], bounds[name]) for name in WEIGHTED}
    lines = {name: slope(weights[name], bounds[name]) for name in WEIGHTED}
    largest = bounds["Unweighted"].max()

    def for_both(form):
        return ", ".join(f"{name} {form(name)}" for name in WEIGHTED)

    return {
        "P3-Claim05": (
            for_both(lambda name: f"{bounds[name].max() / largest:.2f}"),
            far_below(bounds),
        ),
        "P3-Claim06": (
            "below half of the largest: "
            + for_both(lambda name: f"{100 * low(bounds[name]):.1f}%"),
            low(bounds["LW"]) < low(bounds["CW"]),
        ),
        "P3-Claim07": (
            "rising part "
            + for_both(lambda name: f"{rises[name]:.2f}")
            + "; a line through all records "
            + for_both(lambda name: f"{lines[name]:.2f}"),
            all(similar(*each.values()) for each in (rises, lines)),
        ),
    }


def comparison(weights, bounds):
    """Check what rests on the weights and bounds of LW and CW alone."""
    return claims_of_figures(weights, bounds) | claims_of_comparison(weights, bounds)


def claim_of_tradeoff(tradeoff):
    """P3, section 1.3: high weights leave the bound high, low ones lose utility."""
    delta, distance = tradeoff["bound"], tradeoff["distance"]
    return {
        "P3-Claim32": (
            f"bound {delta.min():.1f} to {delta.max():.1f}",
            delta.is_monotonic_increasing and distance.iloc[0] > 2 * distance.iloc[-1],
        )
    }


def claims_of_censoring(bound, cap, distance):
    """P3, section 1.5: the bound holds, and utility is lower."""
    return {
        "P3-Claim34": (
            f"bound {bound:.1f}; distance {distance['censored']:.1f}, "
            f"LW {distance['LW']:.1f}",
            bound <= cap and distance["censored"] > distance["LW"],
        )
    }


def claim_of_neighbours(sensitivity):
    """P3, section 1.1: deletion and change of a record correspond."""
    return {
        "P3-Claim36": (
            " and ".join(map(str, sensitivity.values())),
            set(sensitivity.values()) == {1},
        )
    }


def claims(
    y,
    fit,
    weights,
    bounds,
    log_likelihood,
    tradeoff,
    spread,
    deletion,
    *,
    records,
    mechanism,
    sensitivity,
    censoring,
):
    """What was found for each claim of the chapter, and whether it holds.

    From the fit of LW; weights and bounds by synthesizer; the log-likelihoods of the
    unweighted synthesizer and of LW; the chapter's tables; the deleted records; and
    what was found of the small mechanism, of a count, and of the censored synthesizer.
    """
    unweighted = log_likelihood["unweighted"]
    shifted = [pp.lipschitz_weights(unweighted, 2, g) for g in (-0.5, 0.5)]
    impossible = with_an_impossible_record(unweighted, bounds["Unweighted"].argmax())
    change, own = contributions(y, records, mean=np.linspace(60, 140, 400))
    loss, delta_u = deletion["privacy loss"].max(), mechanism["delta_u"]
    return (
        claims_of_promise(mechanism["loss"], delta_u)
        | claims_of_deletion(loss, pp.epsilon(bounds["LW"]))
        | claims_of_sensitivity(sensitivity, delta_u, mechanism["rescaled"])
        | claim_of_contributions(change, own)
        | claims_of_weights(weights, bounds, log_likelihood["LW"] * weights["LW"])
        | claims_of_figures(weights, bounds)
        | claims_of_setting(shifted, fit)
        | claims_of_bounds(bounds, tradeoff, impossible, spread)
        | claims_of_comparison(weights, bounds)
        | claim_of_tradeoff(tradeoff)
        | claims_of_censoring(**censoring)
        | claim_of_neighbours(sensitivity)
    )
