"""The decks of slides, made from the built book and shown in Chromium."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import slides  # noqa: E402

DECKS = range(len(slides.SESSIONS))


@pytest.fixture(scope="module", autouse=True)
def decks():
    slides.main()


@pytest.fixture(scope="module")
def book():
    return slides.Book(ROOT / "_build" / "html")


@pytest.fixture(scope="module", params=DECKS)
def page(request, browser):
    opened = browser.new_page()
    opened.asked = []
    opened.on("request", lambda sent: opened.asked.append(sent.url))
    file = ROOT / "_build" / "slides" / f"session-{request.param + 1}.html"
    opened.goto(file.as_uri())
    opened.wait_for_function("() => Reveal.isReady()")
    opened.number = request.param
    yield opened
    opened.close()


def test_a_deck_is_one_file_and_asks_for_nothing(page):
    assert all(url.startswith(("file:", "data:")) for url in page.asked)
    assert len([url for url in page.asked if url.startswith("file:")]) == 1


def test_a_deck_has_the_parts_of_its_session(page, book):
    titles = page.locator(".slides section :is(h1, h2)").all_text_contents()
    figures, short = slides.SESSIONS[page.number]
    assert titles[0].startswith(f"Session {page.number + 1}. ")
    assert len(titles) == 4 + len(figures) + bool(short)
    assert page.locator(".slides section aside.notes").count() == len(titles)
    sheet = book.sheet(page.number)
    for part in ("Ask", "What", "Closing", "Change", "Without"):
        assert len(sheet[part]) > 60
    assert "Listen for" in sheet["Closing"]
    shown = page.locator(".slides section p:visible").all_text_contents()
    assert not any("Listen for" in text for text in shown)


def test_every_slide_can_be_read(page):
    total = page.evaluate("Reveal.getTotalSlides()")
    for k in range(total):
        assert page.evaluate("Reveal.getSlidePastCount()") == k
        high = page.evaluate("Reveal.getCurrentSlide().scrollHeight")
        assert high <= 700, (k, high)
        broken = page.evaluate(
            "[...Reveal.getCurrentSlide().querySelectorAll('img')]"
            ".filter(image => !image.naturalWidth || image.alt.length < 40).length"
        )
        assert not broken
        text = page.evaluate("Reveal.getCurrentSlide().textContent")
        assert "\\" not in text
        page.keyboard.press("ArrowRight")
    assert page.evaluate("Reveal.isLastSlide()")


def test_formulas_are_typed_and_links_are_text():
    html = (
        '<p class="x">See <a href="y.html">this</a><a class="headerlink">#</a>: '
        r'<span class="math">\(\alpha_i \le 1\)</span></p>'
    )
    assert slides.plain(html) == "<p>See this: alpha_i &lt;= 1</p>"


def test_a_missing_box_is_named(book):
    with pytest.raises(SystemExit, match="start/quickstart has no box"):
        book.in_short("start/quickstart")
