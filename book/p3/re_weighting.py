"""Re-weighting: the chapter's figures, its numbers, and the rules of its checks."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from scipy import stats

import pseudopost as pp

NAMES = ["LW", "LW_final", "CW", "CW_final"]
STARTS = ["LW", "CW"]
STATISTICS = ["15th quantile", "90th quantile", "mean", "median"]
FIVE = [*STATISTICS, "99th quantile"]
# Rows that say nothing of CW, or hold or fail by arithmetic whatever the weights are.
FIXED = {
    *("P3-Set01", "P3-Set02", "P3-Eq2.1", "P3-Fig03a", "P3-Fig04b", "P3-Fig04c"),
    *("P3-Claim08", "P3-Claim12", "P3-Claim14"),
}
# P3, Table 1: ends of the 95% intervals, one pair for each statistic.
PUBLISHED = {
    "Data": [(70.0, 75.0), (132.0, 140.0), (98.8, 102.3), (96.0, 101.0)],
    "LW": [(70.0, 74.3), (132.1, 139.0), (98.0, 101.4), (95.6, 99.7)],
    "LW_final": [(70.6, 74.8), (133.1, 140.3), (98.7, 102.0), (96.0, 100.0)],
    "CW": [(77.2, 80.8), (128.5, 134.0), (100.6, 103.3), (98.7, 102.4)],
    "CW_final": [(71.6, 75.8), (131.0, 137.7), (98.6, 101.8), (96.1, 100.1)],
}


def search_path(synthesizer, fit, weights, bounds):
    """Path of the search for k with a tolerance of 3% of the bound."""
    tolerance = 0.03 * bounds.max()
    return pp.calibrate_reweighting(synthesizer, fit, weights, tolerance=tolerance).path


def nearest(paths, bounds):
    """Distance of the best step from the old bound, in percent of it."""
    return {
        name: 100 * path["difference"].abs().min() / bounds[name].max()
        for name, path in paths.items()
    }


def ends(interval):
    """Lower and upper end, one row for each statistic."""
    return np.array([interval.low, interval.high]).T


def beside_published(interval):
    """Our intervals above the published ones."""
    rows = {}
    for name, published in PUBLISHED.items():
        for source, pairs in (("ours", ends(interval[name])), ("paper", published)):
            rows[name, source] = [f"[{low:.1f}, {high:.1f}]" for low, high in pairs]
    return pd.DataFrame(rows, index=STATISTICS).T


# Other settings of CW


def other_inputs(inputs, w, synthesizer, sampling, five):
    """Inputs of :func:`claims` where the weights w take the place of CW.

    Errors are of four fits, with 500 files each, and the change of the bound is a mean
    over the same four seeds.
    """

    def bounds_of(w, seed):
        fit = synthesizer.fit(w, **sampling | {"random_seed": seed})
        return fit, pp.lipschitz_bounds(synthesizer.log_likelihood(fit), w)

    seed = sampling["random_seed"]
    fits, bounds, weights = {}, {}, {"CW": w}
    fits["CW"], bounds["CW"] = bounds_of(w, seed)
    weights["CW_final"] = pp.reweight(w, bounds["CW"], k=0.95)
    fits["CW_final"], bounds["CW_final"] = bounds_of(weights["CW_final"], seed)
    repeats, changes, overlap = {name: [] for name in weights}, [], {}
    for seed in range(1, 5):
        of = {name: bounds_of(each, seed) for name, each in weights.items()}
        again = bounds_of(pp.reweight(w, of["CW"][1], k=0.95), seed)[1]
        changes.append(100 * (again.max() / of["CW"][1].max() - 1))
        for name, (fit, _) in of.items():
            z = synthesizer.synthesize(fit, 500, random_seed=seed).to_numpy()
            missed = five(z).mean(axis=1) - five(inputs["y"][None])[:, 0]
            repeats[name].append(missed)
    for name, fit in fits.items():
        z = synthesizer.synthesize(fit, 20, random_seed=sampling["random_seed"])
        ends = pp.bootstrap_interval(
            z.to_numpy(), lambda x, axis=-1: five(x)[:4], n_resamples=200, random_seed=1
        )[1:]
        overlap[name] = pp.interval_overlap(ends, inputs["interval"]["Data"][1:])
    with warnings.catch_warnings():
        # Whether one did is what P3-Alg1 is about.
        warnings.filterwarnings("ignore", "no step came within tolerance")
        path = search_path(synthesizer, fits["CW"], w, bounds["CW"])
    mu = {name: fits[name]["posterior"]["mu"].to_numpy().ravel() for name in fits}
    return inputs | {
        "weights": inputs["weights"] | weights,
        "bounds": inputs["bounds"] | bounds,
        "changes": inputs["changes"] | {"CW": changes},
        "paths": inputs["paths"] | {"CW": path},
        "mu": inputs["mu"] | mu,
        "overlap": inputs["overlap"].assign(**overlap),
        "repeats": inputs["repeats"] | repeats,
    }


def claims_on_cw(**inputs):
    """Check the statements in which CW has a part."""
    return {k: found for k, found in claims(**inputs).items() if k not in FIXED}


# Figures


def draw_bounds_against_weights(weights, bounds):
    """Before on the left, after on the right; LW above, CW below."""
    _, axes = plt.subplots(2, 2, figsize=(9, 6.6), layout="constrained", sharey="row")
    for ax, name in zip(axes.flat, NAMES, strict=True):
        pp.plots.bounds_against_weights(weights[name], bounds[name], name=name, ax=ax)
    axes[0, 0].legend(loc="lower right")


def draw_bounds(bounds):
    """Record bounds before and after."""
    ax = pp.plots.violins(
        {n: bounds[n] for n in NAMES}, ylabel="Lipschitz bound (nats)"
    )
    ax.set_ylim(bottom=0)
    ax.legend(loc="upper right")


def draw_weights_after_against_before(weights):
    """Which records rise, and which fall."""
    _, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    for ax, name in zip(axes, STARTS, strict=True):
        pp.plots.weights_before_after(
            weights[name], weights[f"{name}_final"], name=name, ax=ax
        )
    axes[0].legend(loc="lower right")


def draw_weights(weights):
    """Weights before and after."""
    ax = pp.plots.violins({n: weights[n] for n in NAMES}, ylabel="Weight")
    ax.set_ylim(-0.03, 1.03)
    ax.legend(loc="upper right")


def draw_intervals(interval, statistics):
    """Intervals of two statistics."""
    _, axes = plt.subplots(1, 2, figsize=(9, 3.2), layout="constrained", sharey=True)
    for ax, statistic in zip(axes, statistics, strict=True):
        k = STATISTICS.index(statistic)
        pp.plots.intervals(
            {name: [part[k] for part in i] for name, i in interval.items()},
            xlabel=f"{statistic.capitalize()} (counts)",
            ax=ax,
        )


def draw_distributions(y, synthetic):
    """The data, and all synthetic files of each synthesizer together."""
    ax = pp.plots.violins({"Data": y, **synthetic}, ylabel="Count")
    ax.legend(loc="upper left")


# Numbers for the text


def lowered(weights, name):
    """Number of records whose weight falls."""
    return int((weights[f"{name}_final"] < weights[name]).sum())


def share_at_1(weights):
    """Percentage of the records with a weight of 1."""
    return 100 * (weights == 1).mean()


def share_below_1(weights):
    """Percentage of the records with a weight below 1."""
    return 100 * (weights < 1).mean()


def numbers_of_weights(weights, changes):
    """Change of the largest bound, and the weights before and after."""
    values = {"change-sd": np.std(changes["LW"], ddof=1)}
    for name in STARTS:
        before, after = weights[name], weights[f"{name}_final"]
        values |= {
            f"{name}-change": np.mean(changes[name]),
            f"{name}-lowered": lowered(weights, name),
            f"{name}-mean-before": before.mean(),
            f"{name}-mean-after": after.mean(),
        }
    return values | {
        "LW-below-before": share_below_1(weights["LW"]),
        "LW-below-after": share_below_1(weights["LW_final"]),
        "CW-max-after": weights["CW_final"].max(),
    }


def numbers_of_table(interval, pooled, statistics_by_file):
    """How far our intervals of LW are from the published ones, and their noise.

    `statistics_by_file` has the statistics of each synthetic file, shape (4, m).
    """
    published = np.diff(PUBLISHED["LW_final"])[:, 0]

    def wider(i):
        return 100 * abs(((i.high - i.low) / published - 1).mean())

    names = ("LW", "LW_final")
    return {
        "pooled-wider": wider(pooled),
        "averaged-wider": np.ceil(wider(interval["LW_final"])),
        "tab-difference": max(
            np.abs(ends(interval[name]) - PUBLISHED[name]).max() for name in names
        ),
        "tab-se": max(
            (values.std(axis=1, ddof=1) / np.sqrt(values.shape[1])).max()
            for values in (statistics_by_file[name] for name in names)
        ),
    }


def published_error(name, statistic):
    """Distance of the published interval's middle from that of the data."""
    k = STATISTICS.index(statistic)
    return abs(np.mean(PUBLISHED[name][k]) - np.mean(PUBLISHED["Data"][k]))


def numbers_of_errors(errors):
    """Errors of the 90th quantile, ours and published, and those of Unweighted."""
    q15, q90 = errors.loc["15th quantile"], errors.loc["90th quantile"]
    values = {
        "error-Unweighted-15th": q15["Unweighted"],
        "error-Unweighted-90th": q90["Unweighted"],
    }
    for name in ("LW", "LW_final"):
        values[f"error-{name}-90th"] = q90[name]
        values[f"published-q90-{name}"] = published_error(name, "90th quantile")
    return values


def numbers_of_any_weights(weights, bounds):
    """Change of the largest bound in percent, and the mean weight after."""
    values = {}
    for name in ("Random", "Scalar"):
        drift = bounds[f"{name}_final"].max() / bounds[name].max() - 1
        values[f"{name}-drift"] = 100 * drift
        values[f"{name}-after"] = weights[f"{name}_final"].mean()
    return values


def numbers_of_settings(settings, shifted, scaled):
    """Count crosses of the figure, and look at its two columns with the most.

    Statements that fail under all settings, by what they say of LW, do not count.
    `shifted` and `scaled` are the inputs of :func:`claims` there.
    """
    median = errors_of(shifted["repeats"]).loc["median"]
    others = settings.drop(index="P3-Claim28")
    crosses = ~others[others.any(axis=1)].to_numpy()
    c, g, r = (settings.columns.get_level_values(name) for name in "cgr")
    near, far = (g > 0) & (r == r.min()), (c > 1) & (r == r.max())
    return {
        "crosses": crosses.sum(),
        "crosses-two": crosses[:, near | far].sum(),
        "crosses-rest": crosses[:, ~(near | far)].sum(),
        "crosses-shift": crosses[:, (g > 0) & ~near].sum(),
        "shifted-before": median["CW"],
        "shifted-after": median["CW_final"],
        "shifted-LW": median["LW_final"],
        "scaled-change": np.mean(scaled["changes"]["CW"]),
        "scaled-ones": share_at_1(scaled["weights"]["CW"]),
    }


# Rules


def for_both(form):
    """Put the words for LW before those for CW."""
    return ", ".join(f"{name} {form(name)}" for name in STARTS)


def errors_of(repeats):
    """Mean errors over several fits, by statistic and synthesizer."""
    return pd.DataFrame({name: np.mean(r, axis=0) for name, r in repeats.items()}, FIVE)


def nearer(repeats, name, statistics):
    """Whether re-weighting brings all statistics nearer to the data, beyond the noise.

    The noise is that between the fits, of which the two have pairs with common random
    numbers: the gain has to be significant by Student's t at 5%, two-sided.
    """
    rows = [FIVE.index(statistic) for statistic in statistics]
    before, after = (np.array(repeats[n])[:, rows] for n in (name, f"{name}_final"))
    sizes = [np.sign(each.mean(axis=0)) * each for each in (before, after)]
    gain = sizes[0] - sizes[1]
    limit = stats.t.ppf(0.975, len(gain) - 1) * stats.sem(gain, axis=0)
    return bool((gain.mean(axis=0) > limit).all())


def same_bound(changes, percent):
    """Change of the largest bound in words, and whether it is below so many percent.

    A refit that changed nothing would give -5%.
    """
    change = {name: np.mean(changes[name]) for name in STARTS}
    return (
        for_both(lambda name: f"{change[name]:+.1f}%"),
        all(abs(each) < percent for each in change.values()),
    )


def spread(weights, bounds, name):
    """Spread of the relative bounds, of records with a weight between 0 and 1."""
    between = (weights[name] > 0) & (weights[name] < 1)
    return (bounds[name][between] / bounds[name].max()).std()


def medians_rise(bounds):
    """Whether the median bound rises under both."""
    return all(
        np.median(bounds[f"{name}_final"]) > np.median(bounds[name]) for name in STARTS
    )


def claims_of_setting(y, weights, changes):
    """P3, section 2: the sample, the synthesizers, and k = 0.95."""
    n = len(y)
    return {
        "P3-Set01": (
            f"n = {n:,}, mean {y.mean():.1f}, sd {y.std():.1f}, "
            f"skewness {stats.skew(y):.2f}",
            abs(y.mean() - 100) < 3 * 30 / np.sqrt(n)
            and abs(y.std() - 30) < 3
            and stats.skew(y) > 0,
        ),
        "P3-Set02": (
            "one model, five weight vectors",
            len({tuple(weights[name]) for name in ("Unweighted", *NAMES)}) == 5,
        ),
        "P3-Set03": same_bound(changes, 5),
    }


def claim_of_rule(weights, bounds, k=0.95):
    """P3, Equation 2.1."""

    def by_hand(name):
        slack = bounds[name].max() / np.where(bounds[name] > 0, bounds[name], 1)
        return np.minimum(1, k * weights[name] * slack)

    agree = [np.allclose(weights[f"{name}_final"], by_hand(name)) for name in STARTS]
    return {"P3-Eq2.1": ("holds", all(agree))}


def at_best(path):
    """Mean weight of the step that came nearest to the bound."""
    return path.loc[path["difference"].abs().idxmin(), "mean_weight"]


def claim_of_search(paths, weights, bounds):
    """P3, Algorithm 1: the bound is back, and the weights are higher."""
    distance = nearest(paths, bounds)
    steps = ", ".join(
        f"{name}: k = {paths[name]['constant'].iloc[-1]:.3f} after {len(paths[name])}"
        for name in STARTS
    )
    return {
        "P3-Alg1": (
            f"tolerance 3% of the bound: {steps}",
            all(
                distance[name] < 3 and at_best(paths[name]) > weights[name].mean()
                for name in STARTS
            ),
        )
    }


def claims_of_bounds_and_weights(weights, bounds, changes):
    """P3, Figures 3 and 4."""
    flatter = {}
    for name, times in zip(STARTS, (4, 2), strict=True):
        before, after = (spread(weights, bounds, n) for n in (name, f"{name}_final"))
        flatter[name] = f"spread {before:.3f} to {after:.3f}", times * after < before
    means = {name: weights[name].mean() for name in NAMES}
    rise = {name: means[f"{name}_final"] - means[name] for name in STARTS}
    fall = {name: lowered(weights, name) for name in STARTS}
    return {
        "P3-Fig03a": (
            flatter["LW"][0],
            flatter["LW"][1] and spread(weights, bounds, "LW_final") < 0.02,
        ),
        "P3-Fig03b": flatter["CW"],
        "P3-Fig04a": (
            ", ".join(f"{name} {bounds[name].max():.2f}" for name in NAMES),
            medians_rise(bounds) and same_bound(changes, 3)[1],
        ),
        "P3-Fig04b": (
            for_both(lambda name: f"{fall[name]} lower"),
            not any(fall.values()),
        ),
        "P3-Fig04c": (
            f"mean {means['LW']:.3f} to {means['LW_final']:.3f}",
            rise["LW"] > 0,
        ),
        "P3-Fig04d": (
            f"mean {means['CW']:.3f} to {means['CW_final']:.3f}",
            rise["CW"] > rise["LW"],
        ),
    }


def claims_of_synthetic_data(repeats, mu):
    """P3, Figure 5: nearer by more than the noise of the errors; the mean parameter."""
    q99 = errors_of(repeats).loc["99th quantile"]
    distance = distance_from_unweighted(mu)
    return {
        "P3-Fig05a": (
            "see P3-Tab01",
            nearer(repeats, "CW", ["15th quantile", "90th quantile"]),
        ),
        "P3-Fig05b": (
            "see P3-Tab01",
            all(nearer(repeats, n, ["mean", "median"]) for n in STARTS),
        ),
        "P3-Fig05c": (
            ", ".join(f"{name} {draws.mean():.1f}" for name, draws in mu.items()),
            all(distance[f"{name}_final"] < distance[name] for name in STARTS),
        ),
        "P3-Fig05d": (
            ", ".join(f"q99 {q99[name]:+.1f} ({name})" for name in NAMES),
            all(nearer(repeats, n, ["99th quantile"]) for n in STARTS),
        ),
    }


def distance_from_unweighted(mu):
    """Distance of the posterior means of the mean parameter."""
    return {name: abs(mu[name].mean() - mu["Unweighted"].mean()) for name in NAMES}


def claim_of_table(interval, overlap):
    """P3, Table 1: the row of the data, and more overlap for CW_final than for CW."""
    before, after = overlap["CW"], overlap["CW_final"]
    pairs = zip(before, after, strict=True)
    return {
        "P3-Tab01": (
            "data row within 0.1; CW overlaps "
            + ", ".join(f"{a:.2f} to {b:.2f}" for a, b in pairs),
            np.allclose(ends(interval["Data"]), PUBLISHED["Data"], atol=0.15)
            and (after > before).all(),
        )
    }


def claims_of_bound(weights, bounds, changes, frozen):
    """P3, sections 2.1 and 2.2: the bound is kept, and every record gains.

    `frozen` is the largest bound of LW_final under the draws of LW.
    """
    largest = bounds["LW"].max()
    flat = {name: spread(weights, bounds, f"{name}_final") for name in STARTS}
    fall = {name: lowered(weights, name) for name in STARTS}

    def medians(name):
        before, after = (np.median(bounds[n]) for n in (name, f"{name}_final"))
        return f"{before:.2f} to {after:.2f}"

    return {
        "P3-Claim08": (
            f"frozen draws: {frozen / largest:.2f} of the maximum",
            np.isclose(frozen, 0.95 * largest),
        ),
        "P3-Claim09": same_bound(changes, 3),
        "P3-Claim10": (
            f"spread LW {flat['LW']:.3f}, CW {flat['CW']:.3f}",
            flat["LW"] < flat["CW"],
        ),
        "P3-Claim11": (for_both(medians), medians_rise(bounds)),
        "P3-Claim12": (
            for_both(lambda name: f"{fall[name]} of {len(weights[name]):,} lower"),
            not any(fall.values()),
        ),
    }


def claims_of_utility(repeats, mu):
    """P3, section 2.2: what gets nearer to the data, by more than the noise."""
    errors = errors_of(repeats)
    four = errors.loc[STATISTICS]
    median, q99 = errors.loc["median"], errors.loc["99th quantile"]
    distance = distance_from_unweighted(mu)
    gained = {name: distance[name] - distance[f"{name}_final"] for name in STARTS}
    pairs = zip(four["CW"], four["CW_final"], strict=True)
    return {
        "P3-Claim13": (
            ", ".join(f"{a:.1f} to {round(b, 1) + 0.0:.1f}" for a, b in pairs),
            nearer(repeats, "CW", STATISTICS),
        ),
        "P3-Claim14": (
            ", ".join(
                f"{s} {four.loc[s, 'LW']:.2f} to {four.loc[s, 'LW_final']:.2f}"
                for s in STATISTICS[1:]
            ),
            nearer(repeats, "LW", STATISTICS[1:]),
        ),
        "P3-Claim15": (
            ", ".join(f"{name} error {median[name]:.2f}" for name in NAMES),
            all(nearer(repeats, n, ["median"]) for n in STARTS),
        ),
        "P3-Claim16": (
            for_both(lambda n: f"{distance[n]:.2f} to {distance[f'{n}_final']:.2f}"),
            gained["CW"] > gained["LW"] > 0,
        ),
        "P3-Claim17": (
            for_both(lambda n: f"{q99[n]:+.1f} to {q99[f'{n}_final']:+.1f}"),
            all(nearer(repeats, n, ["99th quantile"]) for n in STARTS),
        ),
    }


def claim_of_share(weights):
    """P3, sections 1.4 and A.2: fewer weights below 1."""
    share = {name: share_below_1(weights[name]) for name in NAMES}
    return {
        "P3-Claim28": (
            for_both(lambda n: f"{share[n]:.0f}% to {share[f'{n}_final']:.0f}%"),
            all(share[f"{name}_final"] < share[name] for name in STARTS),
        )
    }


def claims_of_any_weights(weights, bounds, paths):
    """P3, section 1.5: the bound can be kept, whatever the weights."""
    distance = nearest(paths, bounds)

    def within(names):
        words = (f"{name} within {distance[name]:.1f}%" for name in names)
        return "after the search: " + ", ".join(words)

    higher = [weights[f"{n}_final"].mean() > weights[n].mean() for n in paths]
    return {
        "P3-Claim29": (
            within(paths),
            all(percent < 3 for percent in distance.values()) and all(higher),
        ),
        "P3-Claim30": (within(STARTS), all(distance[name] < 3 for name in STARTS)),
    }


def claims(
    y,
    weights,
    bounds,
    changes,
    paths,
    mu,
    interval,
    overlap,
    repeats,
    frozen,
):
    """What was found for each claim of the chapter, and whether it holds."""
    return (
        claims_of_setting(y, weights, changes)
        | claim_of_rule(weights, bounds)
        | claim_of_search(paths, weights, bounds)
        | claims_of_bounds_and_weights(weights, bounds, changes)
        | claims_of_synthetic_data(repeats, mu)
        | claim_of_table(interval, overlap)
        | claims_of_bound(weights, bounds, changes, frozen)
        | claims_of_utility(repeats, mu)
        | claim_of_share(weights)
        | claims_of_any_weights(weights, bounds, paths)
    )
