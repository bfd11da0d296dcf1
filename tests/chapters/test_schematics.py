import matplotlib.pyplot as plt
import pytest
import schematics
from matplotlib.patches import FancyBboxPatch


@pytest.fixture
def drawn():
    schematics.show_path()
    figure = plt.gcf()
    figure.canvas.draw()
    yield figure
    plt.close("all")


def extents(figure, kind):
    return [each.get_window_extent() for each in figure.axes[0].findobj(kind)]


def test_words_are_in_their_boxes_or_in_none(drawn):
    boxes = extents(drawn, FancyBboxPatch)
    wall = max(boxes, key=lambda box: box.width)
    boxes.remove(wall)
    assert len(boxes) == 7
    words = [text for text in drawn.axes[0].texts if text.get_text()]
    for text in words:
        place = text.get_window_extent()
        touched = [box for box in boxes if box.overlaps(place)]
        for box in touched:
            assert box.contains(place.x0, place.y0), text
            assert box.contains(place.x1, place.y1), text
        assert len(touched) <= 1
    assert (
        sum(any(b.overlaps(t.get_window_extent()) for b in boxes) for t in words) == 14
    )


def test_the_release_alone_is_outside_the_wall(drawn):
    boxes = extents(drawn, FancyBboxPatch)
    wall = max(boxes, key=lambda box: box.width)
    outside = [box for box in boxes if not box.overlaps(wall)]
    (box,) = outside
    (title,) = [
        text.get_text()
        for text in drawn.axes[0].texts
        if text.get_weight() == "bold" and box.overlaps(text.get_window_extent())
    ]
    assert title == "Release"
