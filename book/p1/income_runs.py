"""What both chapters on P1's incomes run and measure."""

import numpy as np
import pandas as pd
from scipy import stats

import pseudopost as pp
from companion import Study, by_profile, contrasts, density

SYNTHESIZERS = ("Unweighted", "Vector")
KNOWN = ["gender", "age", "education", "marital", "earner"]
COMPONENTS = by_profile(4, 10, 20)
SHIFT = 10_000  # dollars, since some incomes have no logarithm
MORE = 200  # data sets, where 20 are too few
RADII = (0.05, 0.1, 0.2)  # of top-coding
STYLES = {"Data": "-", "Top-coded": "-", "Unweighted": "-", "Vector": "--"}
COLOURS = pp.plots.PALETTE
# P1's two windows of income: a grid, and the width of the kernel.
LOW, HIGH = WINDOWS = {
    "(-10K, 250K)": (np.linspace(-10_000, 250_000, 261), 7000),
    "(250K, 3,000K)": (np.linspace(250_000, 3_000_000, 276), 40_000),
}
# P1's Tables 20 and 21.
PUBLISHED = ["income range", "Unweighted", "Vector", "TC 20%"]
RISKIEST = pd.DataFrame(
    [
        ("(-10K, 50K)", 0.6258, 0.0925, 0.9762),
        ("(50K, 100K)", 0.5318, 0.1717, 0.8312),
        ("(100K, 250K)", 0.5725, 0.1635, 0.8108),
        ("(100K, 250K)", 0.5274, 0.2261, 0.8889),
        ("(100K, 250K)", 0.5369, 0.1560, 0.7738),
        ("(100K, 250K)", 0.5258, 0.1348, 0.8788),
        ("(-10K, 50K)", 0.5270, 0.3250, 0.9400),
        ("(100K, 250K)", 0.5310, 0.1708, 0.8214),
        ("(100K, 250K)", 0.5925, 0.0460, 0.9080),
        ("(50K, 100K)", 0.5351, 0.2629, 0.7113),
    ],
    columns=PUBLISHED,
).sort_values("Unweighted", ascending=False)
PEAK, KS = "peak of the main mode / data", "Kolmogorov-Smirnov"
TOP_PEAK, GIVEN = "peak above 250K / data", "the same, given above 250K"
TAIL, ERROR = "share above 250K (%)", "density error"
T, CORRELATION = "share with T = 1", "correlation of the logarithms"
RATIO, MIDDLE = "sd of the log ratio", "the same, 25K to 100K"
SPREAD = "sd of the log ratio, 25K to 100K"
HIGHEST = "highest 1% of the risks (mean)"
WIDTHS = (
    "lowest 1%: width of 95% (1,000 dollars)",
    "highest 1%: width of 95% (1,000 dollars)",
)


def study(seed):
    """P1's application on the simulated file of a seed."""
    sampling = {"draws": by_profile(80, 400, 2000), "tune": by_profile(80, 200, 1000)}
    s = Study(
        pp.datasets.consumer_expenditure(by_profile(1000, 6208), random_seed=seed),
        response="income",
        known=KNOWN,
        n_components=COMPONENTS,
        shift=SHIFT,
        alone=1.0,
        random_seed=seed,
        **sampling,
    )
    s.add("Unweighted")  # a fit, 20 synthetic files, the risks in them
    s.add("Vector", pp.sigmoid_weights(s.risk["Unweighted"]), random_seed=seed + 50)
    # More data sets, from other random numbers than those that the weights came from.
    s.more = drawn_apart(s, MORE, seed + 100)
    measure(s, seed)  # all releases, and a top-coded one
    return s


def measure(s, seed):
    """Add to a study what is measured of all releases, and a top-coded one."""
    s.risk_more = {name: s.risk_of(z) for name, z in s.more.items()}
    s.risk["again"] = s.risk_of(s.more["Unweighted"][:: MORE // 20])
    s.top = np.quantile(s.y, 0.975)
    s.coded = pp.top_code(s.y, s.top)
    s.risk |= {f"TC {100 * r:.0f}%": s.risk_of(s.coded, r) for r in RADII}
    s.riskiest, s.largest = highest(s.risk["Unweighted"], 10), highest(s.y, 10)
    patterns = s.data.groupby(s.known, observed=True)["income"]
    s.lone = (patterns.transform("size") == 1).to_numpy()
    released = {"Data": s.y, **s.z}
    s.curves = {name: densities(v) for name, v in released.items()}
    s.error = squared_error(curves(resampled(s.y, seed), LOW), s.curves["Data"][LOW])


def drawn_apart(s, n_datasets, seed):
    """Draw data sets of each synthesizer of a study, with random numbers of its own."""
    return {
        name: s.synthesize(name, n_datasets, random_seed=seed + 50 * k)
        for k, name in enumerate(s.fits)
    }


def highest(values, k):
    """Rows of the k highest values, the highest first."""
    return np.argsort(-values, kind="stable")[:k]


def own_close(y, released, radius=0.2):
    """T: whether a record's own released value is in its ball, by file and record."""
    reach = radius * np.abs(y)
    return (y - reach <= released) & (released <= y + reach)


def width(values, share):
    """Width of the range that holds the middle share of values, in 1,000 dollars."""
    return np.ptp(np.quantile(values, [(1 - share) / 2, (1 + share) / 2])) / 1000


def widths_of_ends(y, z):
    """Width of the synthetic incomes of the records with the lowest and highest 1%."""
    order, k = np.argsort(y, kind="stable"), len(y) // 100
    return {
        f"{end} 1%: width of {share:.0%} (1,000 dollars)": width(z[:, rows], share)
        for share in (0.95, 0.5)
        for end, rows in (("lowest", order[:k]), ("highest", order[-k:]))
    }


def curves(released, window):
    """Density of every file on the grid of a window."""
    return np.array([density(v, *WINDOWS[window]) for v in np.atleast_2d(released)])


def densities(released):
    """Density of every file in both windows."""
    return {window: curves(released, window) for window in WINDOWS}


def peak(found, data):
    """Height of the peak of density curves, mean over the files, relative to data."""
    return found.max(axis=1).mean() / data.max()


def squared_error(found, data):
    """Squared error of density curves, summed over the grid, mean over the files."""
    return ((found - data) ** 2).sum(axis=1).mean()


def density_error(s, found):
    """Squared error of density curves relative to that of resampled data."""
    return squared_error(found, s.curves["Data"][LOW]) / s.error


def resampled(y, seed):
    """Twenty files drawn from the data with replacement."""
    rng = np.random.default_rng(seed)
    return np.array([rng.choice(y, len(y)) for _ in range(20)])


def kolmogorov_smirnov(released, y):
    """Largest difference of the distribution functions, mean over the files."""
    return np.mean([stats.ks_2samp(v, y).statistic for v in released])


def mean_correlation(released, y):
    """Correlation of released files with the data, mean over the files."""
    return np.mean([np.corrcoef(v, y)[0, 1] for v in released])


def spread(s, z):
    """Measures of the fan, from many data sets of a study."""
    log_y, log_z = np.log(s.y + SHIFT), np.log(np.maximum(z + SHIFT, 1))
    ratio = log_z - log_y
    middle = (s.y > 25_000) & (s.y <= 100_000)
    return {
        T: own_close(s.y, z).mean(),
        CORRELATION: mean_correlation(log_z[:: MORE // 20], log_y),
        RATIO: ratio.std(),
        MIDDLE: ratio[:, middle].std(),
        **widths_of_ends(s.y, z),
    }


def utility(s, name):
    """How the synthetic files of a synthesizer compare with the data."""
    z, curve, data = s.z[name], s.curves[name], s.curves["Data"]
    tail, top_peak = np.mean(z > 250_000), peak(curve[HIGH], data[HIGH])
    return {
        ERROR: density_error(s, curve[LOW]),
        PEAK: peak(curve[LOW], data[LOW]),
        TOP_PEAK: top_peak,
        GIVEN: top_peak * np.mean(s.y > 250_000) / tail,
        KS: kolmogorov_smirnov(z, s.y),
        TAIL: 100 * tail,
    }


def mean_of_highest(risk):
    """Mean of the highest 1% of the risks."""
    return risk[highest(risk, len(risk) // 100)].mean()


def middle_ratio(s, z):
    """Spread of the log ratio of synthetic to real incomes, 25 to 100,000 dollars."""
    middle = (s.y > 25_000) & (s.y <= 100_000)
    shift = s.model.shift
    return np.log((z[:, middle] + shift) / (s.y[middle] + shift)).std()


# Compared between the chains of a fit: a study and some synthetic files of it.
MEASURES = {
    "mean risk": lambda s, z: s.risk_of(z).mean(),
    HIGHEST: lambda s, z: mean_of_highest(s.risk_of(z)),
    T: lambda s, z: own_close(s.y, z).mean(),
    SPREAD: middle_ratio,
    KS: lambda s, z: kolmogorov_smirnov(z, s.y),
    PEAK: lambda s, z: peak(curves(z, LOW), s.curves["Data"][LOW]),
    ERROR: lambda s, z: density_error(s, curves(z, LOW)),
    TAIL: lambda s, z: 100 * np.mean(z > 250_000),
    **{row: lambda s, z, row=row: widths_of_ends(s.y, z)[row] for row in WIDTHS},
}


def over_files(table):
    """Mean over the files of a table whose columns are file and synthesizer."""
    return table.T.groupby(level=1, sort=False).mean().T


def between_fits(studies, measures):
    """Compare the synthesizers by what two fits of the same one differ by."""
    released = [(s, *(s.more[name] for name in SYNTHESIZERS)) for s in studies.values()]
    names = dict(zip(("first", "second"), SYNTHESIZERS, strict=True))
    chosen = {label: MEASURES[label] for label in measures}
    return contrasts(released, chosen).rename(columns=names)


def clearly(table, rows, side):
    """Whether differences are on a side of 0 by two standard errors between fits."""
    table = table.loc[rows]
    return (side * table["difference"] > 2 * table["standard error"]).all()


def in_words(values, form="{:.2f}"):
    """Values, one after the other."""
    return ", ".join(form.format(v) for v in values)


def both(table, row, form="{:.3f}"):
    """A row of a table for both synthesizers, mean over the files."""
    means = over_files(table).loc[row]
    return " and ".join(form.format(means[name]) for name in SYNTHESIZERS)


def by_file(studies, measures):
    """Measures of each synthesizer on each file, in columns."""
    return pd.DataFrame(
        {
            (seed, name): measures(s, name)
            for seed, s in studies.items()
            for name in SYNTHESIZERS
        }
    ).rename_axis(["seed", None], axis=1)
