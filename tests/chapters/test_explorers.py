import json
from base64 import b64decode

import betty
import explorers
import matplotlib.pyplot as plt
import numpy as np
import pytest
from scipy import stats

TABLE = {
    "lists": [[0, 0.2], [1, 2], [0, 0.1], [0]],
    "start": [1, 0, 1, 0],
    "counts": [10, 50, 200],
    "first": [[0.1, 1, 0.2], [0, 0.95, 0.3]],
    "bounds": list(range(24)),
}
GIVEN = {
    "ball": {"others": "43 58 88"},
    "odds": {},
    "record": betty.pattern(),
    "settings": {"table": json.dumps(TABLE)},
    "weight": {"n": 50, "total": 500, "shape": 0.5, "rate": 0.001},
}


@pytest.fixture
def ax():
    yield plt.subplots()[1]
    plt.close("all")


@pytest.mark.parametrize("name", GIVEN)
def test_explorer_is_a_picture_where_there_is_no_page(name, monkeypatch):
    shown = []
    monkeypatch.setattr(
        explorers, "display", lambda bundle, raw: shown.append((bundle, raw))
    )
    explorers.explorer(name, **GIVEN[name])
    ((bundle, raw),) = shown
    assert raw
    assert plt.get_fignums() == []
    assert b64decode(bundle["image/png"]).startswith(b"\x89PNG")
    html = bundle["text/html"]
    assert bundle["image/png"] in html
    assert bundle["text/plain"] in html
    opening = html[: html.index("<img")]
    data = "".join(f" data-{key}='{value}'" for key, value in GIVEN[name].items())
    assert opening == f'<div data-explorer="{name}"{data}>'
    assert html.startswith(opening)
    assert len(html.split('alt="')[1].split('"')[0]) > 40


def test_every_explorer_has_a_picture():
    assert set(explorers.DRAWN) == set(GIVEN)


def test_picture_of_a_weight_is_its_pseudo_posterior(ax):
    explorers.draw_weight(ax, **GIVEN["weight"])
    mean, density = ax.lines[0].get_data()
    law = stats.gamma(0.5 + 500 + 0.1 * 60, scale=1 / (0.001 + 50 + 0.1))
    assert np.allclose(density, law.pdf(mean))


def test_picture_of_the_odds_is_symmetric(ax):
    explorers.draw_odds(ax)
    high, low = (line.get_ydata() for line in ax.lines)
    assert np.allclose(high + low, 100)
    assert high[-1] == pytest.approx(100 / (1 + np.exp(-8)))


def test_picture_of_settings_is_that_of_the_first(ax):
    explorers.draw_settings(ax, json.dumps(TABLE))
    weights, bounds = (line.get_ydata() for line in ax.lines[:2])
    assert weights.tolist() == pytest.approx([0.1, 1, 0.4])
    # Of radius 1, scale 0 and shift 1: the sixth row of three.
    assert bounds.tolist() == pytest.approx([0.1 * 15 / 15, 16 / 15, 0.4 * 17 / 15])
