"""The pictures with sliders, moved in Chromium, against Python."""

import re
from pathlib import Path

import betty
import four_constants
import frontier
import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import pseudopost as pp

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html" / "book"
PAGES = {
    "record": "path/one-record",
    "weight": "foundations/pseudo-posterior",
    "ball": "p1/identification-risk",
    "odds": "p3/lipschitz-weights",
    "settings": "beyond/frontier",
}
SET = """(slider, value) => {
    slider.value = value;
    slider.dispatchEvent(new Event("input", {bubbles: true}));
}"""


@pytest.fixture(scope="module")
def open_explorer(browser):
    pages = {}

    def opened(name):
        if name not in pages:
            pages[name] = browser.new_page()
            pages[name].goto((HTML / f"{PAGES[name]}.html").as_uri())
        return pages[name].locator(f"[data-explorer={name}]")

    yield opened
    for page in pages.values():
        page.close()


def found(explorer, **values):
    """Move sliders; return what the page says."""
    explorer.get_by_role("button", name="Start again").click()
    for name, value in values.items():
        explorer.locator(f"input[name={name}]").evaluate(SET, value)
        shown = explorer.locator(f"input[name={name}]").input_value()
        assert float(shown) == pytest.approx(value), "the slider does not go there"
    terms, texts = (explorer.locator(tag).all_text_contents() for tag in ("dt", "dd"))
    said = dict(zip(terms, texts, strict=True))
    label = explorer.locator("svg").get_attribute("aria-label")
    assert all(f"{term}: {text}" in label for term, text in said.items())
    return said


@pytest.mark.parametrize(
    ("weight", "own", "spread"),
    [
        (1, 50, 0.1),
        (0.5, 50, 0.1),
        (0.1, 50, 0.1),
        (0, 50, 0.1),
        (1, 50, 0.25),
        (0.37, 17, 0.05),
        (1, 90, 0.05),
        (1, 10, 0.25),
    ],
)
def test_record_is_the_income_that_the_model_invents(
    open_explorer, weight, own, spread
):
    said = found(open_explorer("record"), weight=weight, own=own, spread=spread)
    law = betty.released_log_income(weight, own, spread)
    median = float(said["Median of what is released for her"])
    assert median == pytest.approx(np.exp(law.mean()), abs=0.051)
    chance = said["Chance that it is within 20% of her own"].removesuffix("%")
    expected = 100 * betty.chance_of_close(weight, own, spread)
    error = 0.051 if "." in chance else 0.51
    assert float(chance) == pytest.approx(expected, abs=error)


@pytest.mark.parametrize("name", ["ball", "odds"])
def test_an_explorer_is_the_same_on_its_other_page(browser, name):
    """The five pages show two explorers that chapters have as well."""
    short = {"ball": "path/bettys-intruder", "odds": "path/what-is-promised"}
    page = browser.new_page()
    shown = []
    for place in (short[name], PAGES[name]):
        page.goto((HTML / f"{place}.html").as_uri())
        explorer = page.locator(f"[data-explorer={name}]")
        shown.append((explorer.get_attribute("data-others"), found(explorer)))
    assert shown[0] == shown[1]
    page.close()


@pytest.mark.parametrize(
    ("value", "weight", "others"),
    [(60, 0.1, 1), (60, 1, 1), (60, 0, 1), (0, 1, 0.3), (100, 0.65, 0.05), (7, 1, 0.5)],
)
def test_weight_is_the_pseudo_posterior_of_the_chapter(
    open_explorer, value, weight, others
):
    said = found(open_explorer("weight"), value=value, weight=weight, others=others)
    rng = np.random.default_rng(1)
    counts = rng.poisson(10, size=50)
    shape, rate = 0.5 + others * counts.sum(), 0.001 + others * 50
    without = stats.gamma(shape, scale=1 / rate)
    own = stats.gamma(shape + weight * value, scale=1 / (rate + weight))
    assert said["Mean of the pseudo posterior"] == (
        f"{own.mean():.2f}, without the record {without.mean():.2f}"
    )
    moved = (own.mean() - without.mean()) / without.std()
    text = said["The record moves it by"].removesuffix(" standard deviations")
    assert float(text) == pytest.approx(moved, abs=0.0051)
    low, high = (
        side(each.ppf(q) for each in (own, without))
        for side, q in ((min, 1e-9), (max, 1 - 1e-9))
    )
    points = np.linspace(low, high, 200)
    gap, _ = integrate.quad(
        lambda mu: abs(own.pdf(mu) - without.pdf(mu)),
        low,
        high,
        points=points,
        limit=900,
    )
    right = said["From one draw, the best guess whether it is there is right"]
    assert float(right.removesuffix("% of the time")) == pytest.approx(
        50 + 25 * gap, abs=0.51
    )


@pytest.mark.parametrize(
    "moved",
    [
        {},
        {"own": 71},
        {"own": 40},
        {"own": 39},
        {"truth": 80, "own": 90},
        {"truth": 80, "own": 80, "radius": 0.1, "size": 4},
        {"radius": 0.6},
        {"own": 50, "radius": 0.05},
        {"size": 2},
    ],
)
def test_ball_is_the_identification_risk_of_the_package(open_explorer, moved):
    explorer = open_explorer("ball")
    others = [int(x) for x in explorer.get_attribute("data-others").split()]
    said = found(explorer, **moved)
    values = {"truth": 50, "own": 54, "radius": 0.2, "size": 13} | moved
    released = [values["own"], *others[: values["size"] - 1]]
    true = [values["truth"], *released[1:]]
    risk = pp.identification_risk(true, released, values["radius"])[0]
    text = said["Identification risk"]
    assert float(text.split(" = ")[-1]) == pytest.approx(risk, abs=0.0051)
    low, high = pp.ball_ends([values["truth"]], values["radius"])
    close = [low[0] <= value <= high[0] for value in released]
    outside = len(close) - sum(close)
    if moved == {"own": 50, "radius": 0.05}:  # which the text has
        assert text == "12/13 = 0.92"
    assert said["Outside the ball"] == f"{outside} of {len(released)}"
    chance = f"1/{sum(close)}" if close[0] else "0"
    assert said["Chance that the intruder picks her row"] == chance


@pytest.mark.parametrize(
    ("epsilon", "draws", "before"),
    [(1, 1, 0.5), (0, 3, 0.2), (2.5, 1, 0.01), (0.7, 20, 0.5), (8, 20, 0.9)],
)
def test_odds_are_those_of_bayes(open_explorer, epsilon, draws, before):
    said = found(open_explorer("odds"), epsilon=epsilon, draws=draws, before=before)
    total = epsilon * draws
    assert said["All draws together cost"] == f"{total:.1f} nats"
    factor = float(said["The odds change by a factor of at most"])
    assert factor == pytest.approx(np.exp(total), rel=0.006)
    odds = before / (1 - before) * np.exp([-total, total])
    texts = said["Probability after the release"].replace("%", "").split(" to ")
    expected = 100 * odds / (1 + odds)
    for text, share in zip(texts, expected, strict=True):
        if text.startswith("under") or text.startswith("over"):
            assert min(share, 100 - share) < 0.01
        else:
            assert float(text) == pytest.approx(share, abs=0.051)
            assert 0.01 <= share <= 99.99


@pytest.fixture(scope="module")
def sample():
    y = pd.read_csv(ROOT / "data" / "p3_table1_sample.csv")["outcome"].to_numpy()
    file = frontier.File(y, points=61)
    return file, four_constants.chance_in_ball(file)


@pytest.mark.parametrize(
    "place", [(0, 3, 1, 0), (0, 3, 4, 0), (5, 3, 1, 0), (3, 5, 2, 4), (1, 0, 3, 5)]
)
def test_settings_are_computed_on_the_grid(open_explorer, sample, place):
    names = ("radius", "scale", "shift", "k")
    said = found(open_explorer("settings"), **dict(zip(names, place, strict=True)))
    lists = (
        getattr(four_constants, n) for n in ("RADII", "SCALES", "SHIFTS", "CONSTANTS")
    )
    setting = [values[k] for values, k in zip(lists, place, strict=True)]
    epsilon, risk, mean, distance = four_constants.at_setting(
        sample[0], *setting, sample[1]
    )
    for name, value, error in (
        ("Epsilon of the file", epsilon, 0.051),
        ("Mean weight", mean, 0.0051),
        ("Mean identification risk", risk, 0.00051),
        ("Distance from the file", distance, 0.051),
    ):
        assert float(said[name].split()[0]) == pytest.approx(value, abs=error + 5e-4)


def test_settings_that_leave_too_little_say_so(open_explorer):
    said = found(open_explorer("settings"), radius=1, scale=0, shift=0, k=0)
    assert said["Epsilon of the file"] == "too little is left of the file"


@pytest.mark.parametrize("name", PAGES)
def test_keys_labels_and_a_reset_work(open_explorer, name):
    explorer = open_explorer(name)
    before = found(explorer)
    for slider in explorer.get_by_role("slider").all():
        assert slider.evaluate("slider => slider.labels[0].textContent").strip()
        value = slider.input_value()
        slider.press("ArrowLeft")
        if slider.input_value() == value:  # at its end
            slider.press("ArrowRight")
        assert slider.input_value() != value
        output = slider.evaluate(
            "slider => slider.labels[0].querySelector('output').textContent"
        )
        assert slider.get_attribute("aria-valuetext") == output
    assert found(explorer) == before


GROUND = """text => {
    let around = text.closest("div");
    const clear = (each) => getComputedStyle(each).backgroundColor.endsWith(", 0)");
    while (around.parentElement && clear(around)) around = around.parentElement;
    return [getComputedStyle(text).fill, getComputedStyle(around).backgroundColor];
}"""


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_letters_in_pictures_stand_out(open_explorer, name, theme):
    explorer = open_explorer(name)
    explorer.page.evaluate(
        "theme => document.documentElement.dataset.theme = theme", theme
    )
    colours = explorer.locator("svg text").first.evaluate(GROUND)
    explorer.page.evaluate("document.documentElement.dataset.theme = 'light'")
    luminance = []
    for colour in colours:
        share = np.array([float(x) for x in re.findall(r"[\d.]+", colour)[:3]]) / 255
        linear = np.where(
            share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4
        )
        luminance.append(linear @ [0.2126, 0.7152, 0.0722])
    dark, light = sorted(luminance)
    assert (light + 0.05) / (dark + 0.05) >= 4.5, colours


def test_the_script_is_small():
    assert (HTML.parent / "_static" / "explore.js").stat().st_size < 18_000
