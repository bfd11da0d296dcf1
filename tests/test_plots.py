import itertools
import re

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import same_color, to_rgb
from matplotlib.markers import MarkerStyle

from pseudopost import plots

UNKNOWN = "#999999"
SAMPLES = {"Data": [1, 2, 2, 9], "LW": [3, 4, 5], "CW_final": [2, 2, 6]}
WEIGHTS = np.array([0.1, 0.2, 0.4, 0.6, 0.8, 0.9])
BOUNDS = np.array([1.0, 2.0, 4.0, 6.0, 8.0, 9.0])
BEFORE = [0, 0.25, 0.5, 0.5, 1]
AFTER = [0.25, 0.75, 0.5, 1, 0]
TABLE = {"Data": (100, 98, 102), "LW": (101, 99, 104), "Mine": (97, 95, 98)}


def draw_violins(**options):
    return plots.violins(SAMPLES, ylabel="Bound (nats)", **options)


def draw_bounds(**options):
    return plots.bounds_against_weights(WEIGHTS, BOUNDS, name="CW", **options)


def draw_weights(**options):
    return plots.weights_before_after(
        [0.2, 0.5, 0.9, 1], [0.6, 0.5, 0.8, 1], name="LW", **options
    )


def draw_risks(**options):
    return plots.risks_before_after(BEFORE, AFTER, name="Pairwise", **options)


def draw_values(**options):
    return plots.weights_against_values(
        [10, -20, 30, 40],
        [1, 0.5, np.nextafter(1, 0), 1],
        name="Marginal",
        xlabel="Income (dollars)",
        **options,
    )


def draw_released(**options):
    return plots.synthetic_against_data(
        [1, 2, -3], [1.5, 2, 2], name="Top-coded", unit="dollars", **options
    )


def draw_intervals(**options):
    return plots.intervals(TABLE, xlabel="Mean (counts)", **options)


EVERY_PLOT = pytest.mark.parametrize(
    "draw",
    [
        draw_violins,
        draw_bounds,
        draw_weights,
        draw_risks,
        draw_values,
        draw_released,
        draw_intervals,
    ],
)


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def labelled(ax):
    return {artist.get_label(): artist for artist in (*ax.lines, *ax.collections)}


def points(artist):
    return np.asarray(artist.get_offsets()).tolist()


def has_marker(artist, marker):
    style = MarkerStyle(marker)
    expected = style.get_path().transformed(style.get_transform()).vertices
    return np.array_equal(artist.get_paths()[0].vertices, expected)


def seen_by_deuteranopes(colours):
    """Smallest CIE L*a*b* distance, after Machado, Oliveira and Fernandes (2009)."""
    deuteranopia = np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    )
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    rgb = np.array([to_rgb(colour) for colour in colours])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ deuteranopia.T, 0, 1)
    x, y, z = np.cbrt(seen @ to_xyz.T / to_xyz.sum(axis=1)).T
    lab = np.column_stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])
    return min(np.linalg.norm(a - b) for a, b in itertools.combinations(lab, 2))


@EVERY_PLOT
def test_draws_on_the_axes_given(draw):
    _, (left, right) = plt.subplots(ncols=2)
    assert draw(ax=left) is left
    assert left.has_data()
    assert not right.has_data()
    assert len(plt.get_fignums()) == 1


@EVERY_PLOT
def test_makes_its_own_axes(draw):
    first, second = draw(), draw()
    assert first.figure is not second.figure
    assert len(plt.get_fignums()) == 2
    first.figure.canvas.draw()


@EVERY_PLOT
def test_none_is_no_axes(draw):
    assert draw(ax=None).has_data()


@pytest.mark.parametrize(
    ("draw", "x", "y", "title"),
    [
        (draw_violins, "", "Bound (nats)", ""),
        (draw_bounds, "Weight", "Lipschitz bound (nats)", "CW"),
        (draw_weights, "Weight before", "Weight after", "LW"),
        (draw_risks, "Risk, Unweighted", "Risk, Pairwise", ""),
        (draw_values, "Income (dollars)", "Weight", ""),
        (
            draw_released,
            "Confidential value (dollars)",
            "Released value (dollars)",
            "Top-coded",
        ),
        (draw_intervals, "Mean (counts)", "", ""),
    ],
)
def test_labels(draw, x, y, title):
    ax = draw()
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == (x, y, title)


class TestPalette:
    def test_colours_differ(self):
        assert len({to_rgb(colour) for colour in plots.PALETTE.values()}) == len(
            plots.PALETTE
        )

    def test_holds_the_series_of_the_papers(self):
        assert set(plots.PALETTE) >= {
            "Data",
            "Unweighted",
            "LW",
            "LW_final",
            "CW",
            "CW_final",
            "Marginal",
            "Pairwise",
            "Top-coded",
        }

    @pytest.mark.slow
    def test_every_series_has_the_same_colour_on_every_plot(self):
        for name, colour in plots.PALETTE.items():
            violin = (
                plots.violins({name: [1, 2, 4]}, ylabel="")
                .collections[0]
                .get_facecolor()[0, :3]
            )
            bounds = (
                plots.bounds_against_weights([0.5], [1], name=name)
                .collections[0]
                .get_facecolor()[0, :3]
            )
            weights = plots.weights_before_after([0.5], [0.6], name=name)
            weights = labelled(weights)["same or higher"].get_facecolor()[0, :3]
            others = (
                plots.risks_before_after([0.5], [0.6], name=name),
                plots.weights_against_values([5], [0.6], name=name, xlabel=""),
                plots.synthetic_against_data([5], [6], name=name, unit=""),
            )
            others = (ax.collections[0].get_facecolor()[0, :3] for ax in others)
            interval = (
                plots.intervals({name: (1, 0, 2)}, xlabel="").lines[0].get_color()
            )
            for used in (violin, bounds, weights, *others, interval):
                assert same_color(
                    tuple(used) if isinstance(used, np.ndarray) else used, colour
                )
            plt.close("all")

    def test_other_series_are_grey(self):
        ax = plots.violins({"Mine": [1, 2, 3]}, ylabel="")
        assert same_color(tuple(ax.collections[0].get_facecolor()[0, :3]), UNKNOWN)
        assert UNKNOWN not in plots.PALETTE.values()

    def test_colours_differ_for_deuteranopes(self):
        # About 2.3 is just noticeable side by side; a legend needs several times that.
        assert seen_by_deuteranopes(plots.PALETTE.values()) > 10
        assert seen_by_deuteranopes(["tab:red", "tab:green"]) < 10


class TestViolins:
    def test_one_per_series(self):
        ax = draw_violins()
        assert [tick.get_text() for tick in ax.get_xticklabels()] == list(SAMPLES)
        assert list(ax.get_xticks()) == [0, 1, 2]

    def test_median_and_largest(self):
        marks = labelled(draw_violins())
        assert points(marks["median"]) == [[0, 2], [1, 4], [2, 2]]
        assert points(marks["largest"]) == [[0, 9], [1, 5], [2, 6]]

    def test_mean_and_largest(self):
        marks = labelled(draw_violins(middle="mean"))
        assert points(marks["mean"]) == [[0, 3.5], [1, 4], [2, 10 / 3]]
        assert points(marks["largest"]) == [[0, 9], [1, 5], [2, 6]]
        assert "median" not in marks

    @pytest.mark.parametrize("middle", ["mode", "", None, 1])
    def test_middle_errors(self, middle):
        text = f"middle must be one of ('median', 'mean'); got {middle!r}"
        with pytest.raises(ValueError, match=re.escape(text) + "$"):
            draw_violins(middle=middle)

    @pytest.mark.parametrize(
        "samples",
        [
            {"LW": [1.0]},
            {"LW": [0.5, 0.5, 0.5]},
            {"LW": [1, 1, 1, 2]},
            {"LW": [1], "CW": range(50)},
        ],
        ids=["one record", "constant", "ties", "lengths"],
    )
    def test_few_or_equal_values(self, samples):
        ax = plots.violins(samples, ylabel="Weight")
        ax.figure.canvas.draw()
        assert points(labelled(ax)["largest"]) == [
            [i, max(v)] for i, v in enumerate(samples.values())
        ]

    def test_matrix_is_one_series(self):
        marks = labelled(plots.violins({"LW": [[1, 2], [3, 10]]}, ylabel="Outcome"))
        assert points(marks["largest"]) == [[0, 10]]
        assert points(marks["median"]) == [[0, 2.5]]


class TestBoundsAgainstWeights:
    def test_points(self):
        assert (
            points(draw_bounds().collections[0])
            == np.column_stack([WEIGHTS, BOUNDS]).tolist()
        )

    def test_largest_bound(self):
        line = labelled(draw_bounds())["largest bound"]
        assert list(line.get_ydata()) == [9, 9]
        assert line.get_linestyle() == "--"

    def test_curve_follows_a_line(self):
        curve = labelled(draw_bounds())["smooth curve"]
        x = np.asarray(curve.get_xdata())
        assert (x[0], x[-1]) == (0.1, 0.9)
        np.testing.assert_allclose(curve.get_ydata(), 10 * x, rtol=1e-6)

    def test_curve_weighs_ties(self):
        # 30 records at 0.5 have the bounds 4 and 6, mean 5, on the same line.
        weights = np.append(WEIGHTS, np.full(30, 0.5))
        bounds = np.append(BOUNDS, np.tile([4, 6], 15))
        curve = labelled(plots.bounds_against_weights(weights, bounds, name="LW"))[
            "smooth curve"
        ]
        np.testing.assert_allclose(
            curve.get_ydata(), 10 * np.asarray(curve.get_xdata()), rtol=1e-6
        )

    @pytest.mark.parametrize(
        "weights",
        [[0.5], [0, 1], [1.0] * 9, [0.1, 0.2, 0.3, 0.4] * 5, [0] * 3 + [1] * 3],
        ids=["one record", "two", "constant", "four values", "ties"],
    )
    def test_no_curve_for_fewer_than_five_weights(self, weights):
        ax = plots.bounds_against_weights(weights, np.arange(len(weights)), name="LW")
        ax.figure.canvas.draw()
        assert "smooth curve" not in labelled(ax)
        assert "largest bound" in labelled(ax)

    def test_five_weights_have_a_curve(self):
        ax = plots.bounds_against_weights(
            [0, 0.2, 0.4, 0.6, 1], [3, 2, 3, 2, 1], name="LW"
        )
        assert "smooth curve" in labelled(ax)

    def test_bounds_of_zero(self):
        plots.bounds_against_weights(
            [0.0] * 6, [0.0] * 6, name="LW"
        ).figure.canvas.draw()

    def test_limits(self):
        ax = draw_bounds()
        assert ax.get_ylim()[0] == 0
        assert ax.get_xlim()[0] < 0 < 1 < ax.get_xlim()[1]


class TestWeightsBeforeAfter:
    def test_points(self):
        marks = labelled(draw_weights())
        assert points(marks["same or higher"]) == [[0.2, 0.6], [0.5, 0.5], [1, 1]]
        assert points(marks["lower"]) == [[0.9, 0.8]]

    def test_lower_weights_have_another_mark(self):
        marks = labelled(draw_weights())
        assert has_marker(marks["same or higher"], "o")
        assert has_marker(marks["lower"], "x")

    def test_line_of_no_change(self):
        line = draw_weights().lines[0]
        assert (tuple(line.get_xy1()), line.get_slope()) == ((0, 0), 1)

    @pytest.mark.parametrize("before", [[0.5], [1, 1, 1], [0, 0.5, 0.5]])
    def test_few_or_equal_weights(self, before):
        ax = plots.weights_before_after(before, before, name="CW")
        ax.figure.canvas.draw()
        assert points(labelled(ax)["same or higher"]) == [[w, w] for w in before]
        assert points(labelled(ax)["lower"]) == []

    def test_limits(self):
        ax = draw_weights()
        assert ax.get_xlim() == ax.get_ylim()
        assert ax.get_xlim()[0] < 0 < 1 < ax.get_xlim()[1]


class TestRisksBeforeAfter:
    def test_points(self):
        ax = draw_risks()
        assert points(ax.collections[0]) == [[0, 0.25], [0.5, 0.5], [1, 0]]
        assert points(labelled(ax)["up by more than 0.25"]) == [[0.25, 0.75], [0.5, 1]]

    @pytest.mark.parametrize(
        ("rise", "marked"),
        [
            (0, [[0, 0.25], [0.25, 0.75], [0.5, 1]]),
            (0.125, [[0, 0.25], [0.25, 0.75], [0.5, 1]]),
            (0.5, []),
            (-0.125, [[0, 0.25], [0.25, 0.75], [0.5, 0.5], [0.5, 1]]),
        ],
    )
    def test_rise(self, rise, marked):
        ax = draw_risks(rise=rise)
        assert points(labelled(ax)[f"up by more than {rise}"]) == marked
        rest = [[b, a] for b, a in zip(BEFORE, AFTER, strict=True)]
        rest = [point for point in rest if point not in marked]
        assert points(ax.collections[0]) == rest

    def test_marked_records_stand_out(self):
        rest, marked = draw_risks().collections
        assert marked.get_sizes()[0] > rest.get_sizes()[0]
        colour = tuple(marked.get_facecolor()[0, :3])
        assert not any(same_color(colour, c) for c in plots.PALETTE.values())

    @pytest.mark.parametrize(("options", "limit"), [({}, 0.5), ({"limit": 0.2}, 0.2)])
    def test_limit(self, options, limit):
        line = labelled(draw_risks(**options))[f"limit {limit}"]
        assert list(line.get_ydata()) == [limit, limit]
        assert line.get_linestyle() == "--"

    def test_line_of_no_change(self):
        line = labelled(draw_risks())["no change"]
        assert (tuple(line.get_xy1()), line.get_slope()) == ((0, 0), 1)

    @pytest.mark.parametrize("risk", [[0.5], [1, 1], [0, 0]])
    def test_few_or_equal_risks(self, risk):
        ax = plots.risks_before_after(risk, risk, name="Marginal")
        ax.figure.canvas.draw()
        assert points(ax.collections[0]) == [[r, r] for r in risk]

    def test_limits(self):
        ax = draw_risks()
        assert ax.get_xlim() == ax.get_ylim()
        assert ax.get_xlim()[0] < 0 < 1 < ax.get_xlim()[1]


class TestWeightsAgainstValues:
    def test_weights_of_exactly_1_are_marked(self):
        ax = draw_values()
        assert points(labelled(ax)["weight 1"]) == [[10, 1], [40, 1]]
        assert points(ax.collections[0]) == [[-20, 0.5], [30, np.nextafter(1, 0)]]

    def test_weights_of_1_have_another_mark(self):
        less, full = draw_values().collections
        assert has_marker(less, "o")
        assert has_marker(full, "x")

    @pytest.mark.parametrize("weights", [[1], [0, 0], [1, 1, 1]])
    def test_few_or_equal_weights(self, weights):
        ax = plots.weights_against_values(
            range(len(weights)), weights, name="Pairwise", xlabel=""
        )
        ax.figure.canvas.draw()
        assert len(points(labelled(ax)["weight 1"])) == sum(weights)

    def test_limits(self):
        low, high = draw_values().get_ylim()
        assert low < 0 < 1 < high


class TestSyntheticAgainstData:
    def test_points(self):
        (artist,) = draw_released().collections
        assert points(artist) == [[1, 1.5], [2, 2], [-3, 2]]

    def test_line_of_equal_values(self):
        (line,) = draw_released().lines
        assert (tuple(line.get_xy1()), line.get_slope()) == ((0, 0), 1)

    def test_one_record(self):
        ax = plots.synthetic_against_data([7], [7], name="Data", unit="")
        ax.figure.canvas.draw()
        assert points(ax.collections[0]) == [[7, 7]]


class TestIntervals:
    def test_one_row_per_series(self):
        ax = draw_intervals()
        assert [tick.get_text() for tick in ax.get_yticklabels()] == list(TABLE)
        bars, estimates = ax.lines[::2], ax.lines[1::2]
        for row, (bar, dot, (estimate, low, high)) in enumerate(
            zip(bars, estimates, TABLE.values(), strict=True)
        ):
            assert list(bar.get_xdata()) == [low, high]
            assert list(bar.get_ydata()) == [row, row]
            assert list(dot.get_xdata()) == [estimate]
            assert list(dot.get_ydata()) == [row]

    def test_colours(self):
        colours = [bar.get_color() for bar in draw_intervals().lines[::2]]
        assert colours == [plots.PALETTE["Data"], plots.PALETTE["LW"], UNKNOWN]

    def test_first_series_is_on_top_and_shaded(self):
        ax = draw_intervals()
        assert ax.yaxis_inverted()
        (span,) = ax.patches
        assert (span.get_x(), span.get_x() + span.get_width()) == (98, 102)

    def test_one_series_without_width(self):
        ax = plots.intervals({"Data": (3, 3, 3)}, xlabel="Median (counts)")
        ax.figure.canvas.draw()
        assert len(ax.get_yticklabels()) == 1


# Records and numbers

PAIRS = {
    "bounds_against_weights": lambda a, b: plots.bounds_against_weights(a, b, name=""),
    "weights_before_after": lambda a, b: plots.weights_before_after(a, b, name=""),
    "risks_before_after": lambda a, b: plots.risks_before_after(
        a, b, name="", rise=0.35
    ),
    "weights_against_values": lambda a, b: plots.weights_against_values(
        a, b, name="", xlabel=""
    ),
    "synthetic_against_data": lambda a, b: plots.synthetic_against_data(
        a, b, name="", unit=""
    ),
}
every_pair = pytest.mark.parametrize("plot", PAIRS.values(), ids=PAIRS)


def drawn(ax):
    return sorted(
        tuple(point) for dots in ax.collections for point in dots.get_offsets()
    )


@every_pair
def test_records_are_found_by_their_labels(plot):
    first = pd.Series([0.1, 0.2, 0.3], ["a", "b", "c"])
    second = pd.Series([0.9, 0.5, 0.7], ["c", "a", "b"])
    assert drawn(plot(first, second)) == [(0.1, 0.5), (0.2, 0.7), (0.3, 0.9)]
    with pytest.raises(ValueError, match="must have the labels of"):
        plot(first, second.rename({"a": "d"}))


@every_pair
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_not_finite_is_not_drawn(plot, bad):
    for pair in (([0.1, bad], [0.2, 0.3]), ([0.1, 0.2], [0.3, bad])):
        with pytest.raises(ValueError, match=rf"must .*; record 1 has {bad:g}$"):
            plot(*pair)


@every_pair
def test_other_lengths_are_refused(plot):
    with pytest.raises(ValueError, match="must have length 2; got length 3"):
        plot([0.1, 0.2], [0.1, 0.2, 0.3])


@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (
            lambda: plots.violins({"a": [1, np.nan]}, ylabel=""),
            r"samples\['a'\] must be finite values; got nan",
        ),
        (
            lambda: plots.violins({"a": []}, ylabel=""),
            r"samples\['a'\] must be finite values; got none",
        ),
        (lambda: plots.violins({}, ylabel=""), "samples must have a series; got none"),
        (lambda: plots.intervals({}, xlabel=""), "table must have a series; got none"),
        (
            lambda: plots.intervals({"a": (1, 0, np.inf)}, xlabel=""),
            r"table\['a'\] must be finite values; got inf",
        ),
        (
            lambda: plots.intervals({"a": (1, 2, 0)}, xlabel=""),
            r"table\['a'\] must be \(estimate, low, high\)",
        ),
        (
            lambda: plots.intervals({"a": (1, 2)}, xlabel=""),
            r"table\['a'\] must be \(estimate, low, high\)",
        ),
    ],
)
def test_series_that_cannot_be_drawn(draw, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        draw()
    assert not plt.get_fignums()
