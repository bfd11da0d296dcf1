from types import SimpleNamespace

import firms
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

NAMES = list(firms.SYNTHESIZERS)


def made(
    sds=(30, 26, 27, 30), largest=(200, 190, 192, 200), weights=(1, 0.95, 0.97, 0.4)
):
    """A study of five firms, with files of a given spread and largest value."""
    y = np.array([60, 100, 140])

    def files(sd, top):
        file = np.array([100 - sd, 100, 100, 100 + sd, top])
        return np.array([file, file])

    posterior = SimpleNamespace(sizes={"chain": 2, "draw": 500})
    return {
        "y": np.append(y, [200, 100]),
        "fits": {name: {"posterior": posterior} for name in NAMES},
        "weights": {
            n: np.array([w, w, 0.5, 0.1, w])
            for n, w in zip(NAMES, weights, strict=True)
        },
        "bounds": {
            NAMES[0]: np.array([4.0, 5, 6, 12, 4]),
            NAMES[1]: np.array([3.9, 4, 5, 1, 3.9]),
            NAMES[2]: np.array([4.9, 4.9, 4.9, 1, 4.9]),
            NAMES[3]: np.array([2.0, 2, 3, 5, 2]),
        },
        "files": {n: files(s, t) for n, s, t in zip(NAMES, sds, largest, strict=True)},
    }


def test_predictive_averages_every_fifth_draw():
    mu, phi = np.linspace(80, 120, 10), np.linspace(5, 9, 10)
    posterior = {
        "mu": SimpleNamespace(to_numpy=lambda: mu.reshape(2, 5)),
        "phi": SimpleNamespace(to_numpy=lambda: phi.reshape(2, 5)),
    }
    grid = np.arange(60, 140)
    found = firms.predictive({"posterior": posterior}, grid)
    p = phi / (phi + mu)
    each = [stats.nbinom.pmf(grid, phi[k], p[k]) for k in (0, 5)]
    assert np.allclose(found, np.mean(each, axis=0))


def test_numbers_of_the_text_follow_the_largest_firm():
    found = firms.numbers_of_text(made())
    assert found["largest"] == 200
    assert (found["bound"], found["median-bound"], found["weight"]) == (12, 5, 0.1)
    assert (found["scalar"], found["draws"], found["smallest"]) == (0.4, 1000, 200)
    assert (found["median-weighted"], found["largest-weighted"]) == (3.9, 5)
    assert [found[f"epsilon-{k}"] for k in ("before", "after", "final")] == [
        24,
        10,
        9.8,
    ]
    assert [found[f"largest-{k}"] for k in ("before", "after", "final")] == [
        200,
        190,
        192,
    ]
    assert found["mean-before"] == 120
    file = made()["files"][NAMES[0]][0]
    assert found["sd-before"] == pytest.approx(file.std(ddof=1))


def test_errors_are_percent_of_the_data():
    study = made()
    table = firms.errors(study)[NAMES[1]]
    assert len(table) == 2
    assert table["largest"].tolist() == pytest.approx([-5, -5])
    assert table["mean"][0] == pytest.approx(100 * (118 / 120 - 1))
    assert table["90% quantile"][0] == pytest.approx(
        100 * (np.quantile(study["files"][NAMES[1]][0], 0.9) / 176 - 1)
    )


@pytest.mark.parametrize(
    ("change", "fails"),
    [
        ({"sds": (30, 26, 27, 40)}, ["the scalar keeps the spread"]),
        ({"largest": (200, 201, 192, 200)}, ["spread and largest value fall"]),
        ({"sds": (30, 26, 10, 30)}, ["re-weighting brings spread back"]),
        (
            {"largest": (200,) * 4, "sds": (40,) * 4},
            [
                "spread and largest further off than mean and median",
                "spread and largest value fall",
                "re-weighting brings spread back",
            ],
        ),
    ],
)
def test_claims_can_fail(change, fails):
    found = firms.claims(made(**change))
    assert {name for name, holds in found.items() if not holds} >= set(fails)
    assert all(firms.claims(made())[name] for name in fails)


def test_claims_about_weights_can_fail():
    study = made()
    names = ("the riskiest is the smallest, with weight 0", "mean weight above 0.9")
    assert not any(firms.claims(study)[name] for name in names)
    study["weights"][NAMES[1]] = np.array([0, 0.99, 0.99, 0.99, 0.99]) + 0.15
    study["weights"][NAMES[1]][0] = 0
    study["bounds"][NAMES[0]][0] = 15
    assert firms.claims(study)[names[0]]
    study["bounds"][NAMES[1]] = np.array([13, 4, 5, 1, 3])
    found = firms.claims(study)
    assert not found["epsilon falls by more than half"]
    assert not found["epsilon set in between"]
    assert not found["the scalar has this epsilon within 3%"]


def test_figure_of_errors_shows_the_means():
    study = made()
    firms.draw_errors(study)
    for container, (name, table) in zip(
        plt.gca().containers, firms.errors(study).items(), strict=True
    ):
        assert container.get_label() == name
        assert np.allclose(container.lines[0].get_xdata(), table.mean())
    plt.close("all")
