import cw_settings
import numpy as np

import pseudopost as pp

Y = np.array([10.0, 11, 12, 30])


def checks(w):
    return {"A": ("a", True), "B": ("b", (w < 1).all()), "C": ("c", False)}


def test_statements_are_checked_under_every_setting():
    settings = cw_settings.under_each(checks, Y)
    assert list(settings.columns) == [
        (c, g, r) for c, g in cw_settings.MAPS for r in cw_settings.RADII
    ]
    assert settings.loc["A"].all()
    for c, g, r in settings:
        w = pp.count_weights(Y, radius=r, scale=c, offset=g)
        assert settings.loc["B", (c, g, r)] == (w < 1).all()


def test_statements_that_hang_on_the_setting_say_under_how_many_they_hold():
    settings = cw_settings.under_each(checks, Y)
    held = settings.loc["B"].sum()
    assert 0 < held < 15
    assert list(cw_settings.hinging(settings).index) == ["B"]
    said = {"A": ("a", True), "B": ("b", True), "C": ("c", False), "D": ("d", False)}
    assert cw_settings.with_settings(said, settings) == said | {
        "B": (f"b; holds in {held} of 15 settings of CW", True),
        "C": ("c; holds in 0 of 15 settings of CW", False),
    }
    assert cw_settings.counted(settings) == {
        "settings": 15,
        "statements": 3,
        "statements-all": 1,
        "statements-none": 1,
        "statements-hinge": 1,
    }


def test_figure_of_the_settings():
    cw_settings.draw(cw_settings.under_each(checks, Y))
