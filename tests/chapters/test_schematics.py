import matplotlib.pyplot as plt
import numpy as np
import pytest
import schematics
from matplotlib.patches import FancyBboxPatch, Rectangle

import pseudopost as pp

STEPS = (("A firm", "y[0]", "242"), ("Its risk", "pp.lipschitz_bounds(...)", "13 nats"))
DRAWN = {
    "path": schematics.show_path,
    "search": schematics.show_search,
    "leaves": schematics.show_what_leaves,
    "weights": schematics.show_weights,
    "way": lambda: schematics.show_way(STEPS),
}
each = pytest.mark.parametrize("name", DRAWN)


@pytest.fixture
def drawn():
    def draw(name):
        DRAWN[name]()
        figure = plt.gcf()
        figure.canvas.draw()
        return figure

    yield draw
    plt.close("all")


def extents(figure, kind):
    return [each.get_window_extent() for each in figure.axes[0].findobj(kind)]


def boxes(figure):
    """Boxes with words, without the walls around them."""
    found = figure.axes[0].findobj(FancyBboxPatch)
    return [b.get_window_extent() for b in found if b.get_linestyle() != "--"]


@each
def test_words_are_in_their_boxes_or_in_none(drawn, name):
    figure = drawn(name)
    for text in figure.axes[0].texts:
        place = text.get_window_extent()
        if not text.get_text():
            continue
        touched = [box for box in boxes(figure) if box.overlaps(place)]
        assert len(touched) <= 1, text
        for box in touched:
            assert box.contains(place.x0, place.y0), text
            assert box.contains(place.x1, place.y1), text


@each
def test_words_do_not_overlap_and_can_be_read_on_a_phone(drawn, name):
    figure = drawn(name)
    texts = [text for text in figure.axes[0].texts if text.get_text()]
    places = [text.get_window_extent() for text in texts]
    for k, place in enumerate(places):
        assert not any(place.overlaps(other) for other in places[k + 1 :]), texts[k]
    # 340 pixels wide there, 72 points an inch: letters of 8 pixels and more.
    scale = 340 / figure.get_figwidth() / 72
    assert min(text.get_size() for text in texts) * scale >= 8


def test_the_release_alone_is_outside_the_wall(drawn):
    figure = drawn("path")
    (wall,) = (
        patch.get_window_extent()
        for patch in figure.axes[0].findobj(FancyBboxPatch)
        if patch.get_linestyle() == "--"
    )
    (box,) = (box for box in boxes(figure) if not box.overlaps(wall))
    (title,) = (
        text.get_text()
        for text in figure.axes[0].texts
        if text.get_weight() == "bold" and box.overlaps(text.get_window_extent())
    )
    assert title == "Release"


def test_coloured_rows_are_those_that_the_intruder_keeps(drawn):
    figure = drawn("search")
    coloured = [
        place
        for place in extents(figure, Rectangle)
        if 0 < place.height < figure.bbox.height / 4
    ]
    kept = {
        text.get_text()
        for text in figure.axes[0].texts
        if text.get_text().isdigit()
        and any(place.overlaps(text.get_window_extent()) for place in coloured)
    }
    (low,), (high,) = pp.ball_ends([50], radius=0.2)
    assert kept == {
        str(income)
        for *pattern, income in schematics.RELEASE
        if pattern == ["30-39", "North"] and low <= income <= high
    }
    assert len(kept) == len(coloured) == 3


def test_steps_are_shown_in_their_order(drawn):
    texts = drawn("way").axes[0].texts
    shown = [text.get_text() for text in texts if text.get_text()]
    heights = [text.get_window_extent().y0 for text in texts if text.get_text()]
    assert shown == [part for step in STEPS for part in step]
    assert np.all(np.diff(heights[::3]) < 0)
