"""The built book in Chromium: opened from disk, with the network cut off."""

import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote, urlparse

import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"
LEDGER = ROOT / "book" / "ledger.csv"
PAGES = sorted(HTML.glob("book/**/*.html"))
assert PAGES, "there is no built book in _build: run make book"

MATH = r"""() => {
    const text = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const raw = [];
    while (text.nextNode()) {
        const near = text.currentNode.parentElement;
        if (near.closest("script, style, pre, code, mjx-container")) continue;
        if (/\$\$|\\[([]|\\begin\{|\$[^$]*[\\^_][^$]*\$/.test(text.currentNode.data))
            raw.push(text.currentNode.data.trim());
    }
    const wrong = "mjx-merror, [data-mjx-error], mjx-container [style*='color: red']";
    return {
        raw,
        untypeset: [...document.querySelectorAll(".math")]
            .filter(math => math.querySelectorAll("mjx-container").length !== 1)
            .map(math => math.textContent),
        errors: [...document.querySelectorAll(wrong)].map(node => node.outerHTML),
    };
}"""

IMAGES = """async () => {
    const images = [...document.querySelectorAll("img")];
    await Promise.all(images.map(image => image.decode().catch(() => null)));
    return images.filter(image => image.naturalWidth === 0).map(image => image.src);
}"""

OPEN_ALL = """() => {
    const hidden = node => !node.checkVisibility({visibilityProperty: true})
        || node.getBoundingClientRect().height === 0;
    const boxes = [
        ...document.querySelectorAll(".admonition.dropdown, article details")
    ].map(box => [
        box,
        box.querySelector(":scope > .admonition-title, :scope > summary"),
        box.querySelector(":scope > :not(.admonition-title, summary)"),
    ]);
    const open = boxes.filter(([box, title, content]) => !hidden(content));
    boxes.forEach(([box, title, content]) => title && title.click());
    const shut = boxes.filter(([box, title, content]) => hidden(content));
    return [boxes, open, shut].map(list => list.map(([box]) => box.id || box.className));
}"""

WIDTH = """() => {
    const scrolls = node => {
        for (let up = node; up !== document.body; up = up.parentElement)
            if (["auto", "scroll"].includes(getComputedStyle(up).overflowX)) return true;
        return false;
    };
    return {
        page: document.documentElement.scrollWidth - innerWidth,
        out: [...document.querySelectorAll("main *:not(mjx-assistive-mml, mjx-assistive-mml *)")]
            .filter(node => node.getBoundingClientRect().right > innerWidth + 1)
            .filter(node => node.checkVisibility({visibilityProperty: true}))
            .filter(node => !scrolls(node))
            .map(node => node.tagName + " " + node.textContent.trim().slice(0, 80)),
    };
}"""

# What scrolls sideways on a wide screen: code, and what would almost fit.
SIDEWAYS = """() => [...document.querySelectorAll("article *")]
    .filter(node => ["auto", "scroll"].includes(getComputedStyle(node).overflowX))
    .map(node => [node, node.clientWidth && node.scrollWidth - node.clientWidth])
    .filter(([node, beyond]) => beyond > 0 && (node.tagName === "PRE" || beyond < 80))
    .map(([node, beyond]) => `${beyond}: ${node.tagName} ${node.textContent.slice(0, 80)}`)
"""

# Contrast as WCAG 2 defines it: 4.5 for text, 3 for large text.
CONTRAST = """() => {
    const rgba = text => {
        const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
        return [r, g, b, a];
    };
    const over = ([r, g, b, a], under) =>
        [r, g, b].map((value, i) => a * value + (1 - a) * under[i]);
    const known = new Map();
    const background = node => {
        if (node === null) return [255, 255, 255];
        if (!known.has(node)) {
            const own = rgba(getComputedStyle(node).backgroundColor);
            known.set(node, over(own, background(node.parentElement)));
        }
        return known.get(node);
    };
    const luminance = colour => {
        const [r, g, b] = colour.map(value => value / 255)
            .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const faint = {};
    const check = (node, sample) => {
        if (!node.checkVisibility({visibilityProperty: true})) return;
        const style = getComputedStyle(node);
        const behind = background(node);
        const front = over(rgba(style.color), behind);
        const [low, high] = [front, behind].map(luminance).sort((a, b) => a - b);
        const ratio = (high + 0.05) / (low + 0.05);
        const size = parseFloat(style.fontSize);
        const large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
        if (ratio < (large ? 3 : 4.5))
            faint[`${ratio.toFixed(1)}: ${style.color} on ${behind.map(Math.round)}`]
                = sample.trim().slice(0, 80);
    };
    const text = document.createTreeWalker(
        document.querySelector("article"), NodeFilter.SHOW_TEXT);
    while (text.nextNode()) {
        const near = text.currentNode.parentElement;
        if (text.currentNode.data.trim() && !near.closest("script, style, mjx-container"))
            check(near, text.currentNode.data);
    }
    document.querySelectorAll("mjx-container").forEach(math => check(math, "math"));
    const dim = [...document.querySelectorAll("article img")]
        .filter(image => luminance(background(image)) < 0.8).map(image => image.src);
    return {faint, dim, page: background(document.body)};
}"""


@pytest.fixture(
    scope="module", params=PAGES, ids=lambda path: str(path.relative_to(HTML))
)
def seen(request, browser):
    """All that the tests need to know of a page, from one visit."""
    page = browser.new_page()
    seen = {"path": request.param, "problems": [], "foreign": []}
    page.on("pageerror", lambda error: seen["problems"].append(str(error)))
    page.on("requestfailed", lambda sent: seen["problems"].append(sent.url))
    page.on(
        "console",
        lambda said: said.type == "error" and seen["problems"].append(said.text),
    )
    page.on(
        "request",
        lambda sent: (
            sent.url.startswith(("file:", "data:")) or seen["foreign"].append(sent.url)
        ),
    )
    page.goto(request.param.as_uri())
    page.evaluate("() => window.MathJax?.startup?.promise")
    seen["math"] = page.evaluate(MATH)
    seen["images"] = page.evaluate(IMAGES)
    seen["links"] = page.evaluate("() => [...document.links].map(link => link.href)")
    seen["boxes"], seen["open"], seen["shut"] = page.evaluate(OPEN_ALL)
    # Tables in boxes that have just opened are fitted before the next frame.
    page.evaluate(
        "new Promise(f => requestAnimationFrame(() => requestAnimationFrame(f)))"
    )
    seen["sideways"] = page.evaluate(SIDEWAYS)
    for theme in ("light", "dark"):
        page.evaluate(f"() => document.documentElement.dataset.theme = '{theme}'")
        seen[theme] = page.evaluate(CONTRAST)
    page.set_viewport_size({"width": 390, "height": 844})
    seen["phone"] = page.evaluate(WIDTH)
    page.close()
    return seen


@cache
def source(path):
    return path.read_text()


def test_nothing_fails_and_nothing_is_asked_of_another_host(seen):
    assert not seen["problems"]
    assert not seen["foreign"]


def test_all_mathematics_is_typeset(seen):
    assert not any(seen["math"].values()), seen["math"]


def test_images_load(seen):
    assert not seen["images"]


def test_links_inside_the_book_lead_somewhere(seen):
    for link in seen["links"]:
        url = urlparse(link)
        if url.scheme != "file":
            continue
        target = Path(unquote(url.path))
        assert target.is_file(), link
        if url.fragment and target.suffix == ".html":
            assert f'id="{unquote(url.fragment)}"' in source(target), link


def test_solutions_and_hidden_cells_open(seen):
    assert not seen["open"], "open from the start"
    assert not seen["shut"], "a click does not open"
    notebook = (ROOT / seen["path"].relative_to(HTML)).with_suffix(".ipynb")
    folded = r'\{solution(?:-start)?\}|"hide-input"|\{admonition\} Answer'
    written = re.findall(folded, source(notebook)) if notebook.exists() else []
    assert len(seen["boxes"]) == len(written)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_text_and_figures_stand_out(seen, theme):
    assert not seen[theme]["faint"]
    assert not seen[theme]["dim"]
    assert seen["light"]["page"] != seen["dark"]["page"]


def test_a_wide_screen_shows_code_whole_and_nothing_scrolls_by_a_little(seen):
    assert not seen["sideways"]


def test_a_phone_shows_the_whole_width(seen):
    assert seen["phone"]["page"] <= 0
    assert not seen["phone"]["out"]


# One page of each kind, and markup that Sphinx, docutils, the theme and pandas write.
KINDS = (
    "intro",
    "path/one-record",
    "path/before-and-after",
    "start/quickstart",
    "p1/identification-risk",
    "practice/teaching",
    "api/risk",
    "appendix/ledger",
    "appendix/notation",
    "appendix/bibliography",
)
NOT_OURS = [[".sidebar-primary-item"], ["dt.sig"], [".citation-list"]]


@pytest.mark.parametrize("name", KINDS)
def test_nothing_stands_in_the_way_of_a_screen_reader(browser, name):
    page = browser.new_page()
    page.goto((HTML / "book" / f"{name}.html").as_uri())
    found = Axe().run(
        page,
        context={"exclude": NOT_OURS},
        options={
            "runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"],
            "rules": {"empty-table-header": {"enabled": False}},
        },
    )
    problems = {
        problem["id"]: [node["html"][:200] for node in problem["nodes"]]
        for problem in found.response["violations"]
    }
    assert not problems
    assert len(found.response["passes"]) > 20
    page.close()


def test_the_ledger_is_filtered_in_the_page(browser):
    page = browser.new_page()
    page.goto((HTML / "book" / "appendix" / "ledger.html").as_uri())
    ledger = pd.read_csv(LEDGER, keep_default_na=False)
    rows = page.locator(
        "table:has(th:has-text('verdict, evidence, where')) tbody tr:visible"
    )
    said = page.locator(".ledger-filter output")
    assert rows.count() == len(ledger)

    def shown():
        assert said.text_content() == f"{rows.count()} of {len(ledger)} rows"
        return set(rows.locator("td:first-child").all_text_contents())

    def expected(query):
        return set(ledger.query(query)["id"])

    page.get_by_label("Paper").select_option("P2")
    page.get_by_label("Verdict").select_option("holds in part")
    query = "paper == 'P2' and verdict == 'holds in part'"
    assert shown() == expected(query)
    page.get_by_label("Evidence").select_option("stand-in")
    query += " and evidence == 'stand-in'"
    assert shown() == expected(query)
    page.get_by_label("Real files").select_option("looked for")
    assert shown() == expected(f"{query} and real_files != ''")
    for select in ("Paper", "Verdict", "Evidence", "Real files"):
        page.get_by_label(select).select_option("all")
    page.get_by_label("Words").fill("Dirichlet  PRIOR")
    assert 0 < rows.count() < len(ledger)
    for text in rows.all_text_contents():
        assert "dirichlet" in text.lower()
        assert "prior" in text.lower()
    page.get_by_label("Words").fill("no such words")
    assert shown() == set()
    assert page.get_by_text("No row has all of this.").is_visible()
    page.close()


@pytest.mark.parametrize(
    "name",
    ["practice/teaching", "appendix/ledger", "appendix/notation", "start/about"],
)
def test_a_phone_shows_rows_of_tables_as_cards(browser, name):
    page = browser.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((HTML / "book" / f"{name}.html").as_uri())
    tables = page.locator("article table.cards")
    assert tables.count()
    beyond = "list => list.map(table => table.scrollWidth - table.clientWidth)"
    assert max(tables.evaluate_all(beyond)) <= 1
    cells = tables.first.locator("tbody tr").first.locator("td")
    heads = tables.first.locator("thead th").all_text_contents()
    told = cells.evaluate_all("list => list.map(cell => cell.dataset.head)")
    assert told == [head.strip() for head in heads]
    page.set_viewport_size({"width": 1280, "height": 900})
    display = "table => getComputedStyle(table.querySelector('td')).display"
    assert tables.first.evaluate(display) == "table-cell"
    page.close()


def test_a_phone_shows_a_column_of_sentences_a_few_words_wide(browser):
    page = browser.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((HTML / "book" / "p2" / "tuning-weights.html").as_uri())
    cells = page.locator("article table.dataframe td")
    said = cells.evaluate_all("list => list.map(c => [c.innerText, c.clientWidth])")
    sentences = {text: width for text, width in said if len(text) > 24}
    assert len(sentences) > 5
    assert min(sentences.values()) >= 143
    page.close()


def test_numbers_of_tables_are_set_to_the_right(browser):
    page = browser.new_page()
    page.goto((HTML / "book" / "start" / "quickstart.html").as_uri())
    aligned = """list => list.map(cell => [
        cell.textContent.trim(), getComputedStyle(cell).textAlign
    ])"""
    cells = page.locator("article table.dataframe td").evaluate_all(aligned)
    assert len(cells) > 20
    assert {side for _, side in cells} == {"right"}
    page.goto((HTML / "book" / "practice" / "two-columns.html").as_uri())
    errors = page.locator("article table.dataframe td.number").all_text_contents()
    assert any("\u00a0±\u00a0" in text for text in errors)
    page.goto((HTML / "book" / "p3" / "count-weights.html").as_uri())
    words = page.locator("article table.dataframe td").evaluate_all(aligned)
    assert {side for text, side in words if " " in text} <= {"left", "start"}
    page.close()


def test_a_figure_leads_to_its_picture_in_full_size(browser):
    page = browser.new_page()
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto((HTML / "book" / "path" / "before-and-after.html").as_uri())
    image = page.locator("article figure img").first
    shown = image.evaluate("image => image.clientWidth")
    assert image.evaluate("image => image.naturalWidth") > shown
    source = image.evaluate("image => image.src")
    image.click()
    page.wait_for_url(source)
    page.go_back()
    assert page.locator("article figure img").first.is_visible()
    page.close()


@pytest.mark.parametrize(
    ("query", "chapters"),
    [
        ("identification risk", ["p1/identification-risk"]),
        ("pairwise weights", ["p2/pairwise-weights"]),
        ("re-weighting", ["p3/re-weighting"]),
        ("csv", ["practice/your-own-data"]),
        ("epsilon", ["path/what-is-promised", "api/privacy"]),
    ],
)
def test_search_puts_a_chapter_before_the_glossary(browser, query, chapters):
    page = browser.new_page()
    page.goto(f"{(HTML / 'search.html').as_uri()}?q={query.replace(' ', '+')}")
    page.locator("#search-results p", has_text="found").wait_for()
    found = page.locator("#search-results ul.search li > a")
    places = found.evaluate_all("list => list.map(a => a.getAttribute('href'))")
    pages = [re.search(r"book/(.*)\.html", place)[1] for place in places]
    assert pages[0] in chapters
    if "appendix/notation" in pages:
        assert pages.index("appendix/notation") > 0
    page.close()


@pytest.mark.parametrize(
    "chapter", ["theory/contraction", "p3/re-weighting", "p1/mixture-synthesizer"]
)
def test_a_formula_a_little_too_wide_for_a_phone_is_set_smaller(browser, chapter):
    page = browser.new_page()
    page.set_viewport_size({"width": 390, "height": 900})
    page.goto((HTML / "book" / f"{chapter}.html").as_uri())
    set_smaller = """() => [...document.querySelectorAll("article mjx-container")].some(
        (each) => each.style.getPropertyPriority("font-size"))"""
    page.wait_for_function(set_smaller)
    page.wait_for_timeout(500)
    too_wide = page.evaluate(
        """() => [...document.querySelectorAll("article p, article mjx-container")]
            .filter((each) => each.clientWidth && each.scrollWidth > each.clientWidth + 1)
            .map((each) => each.textContent.slice(0, 60))"""
    )
    assert not too_wide
    page.set_viewport_size({"width": 1280, "height": 900})
    page.wait_for_function(f"() => !({set_smaller})()")
    page.close()


def test_search_quotes_the_article_alone(browser):
    page = browser.new_page()
    page.goto((HTML / "search.html").as_uri())
    text = (HTML / "book" / "theory" / "consistency.html").read_text()
    quoted = page.evaluate("text => Search.htmlToText(text, null)", text).split()
    assert " ".join(quoted).startswith(
        "27. Consistency: where the pseudo posterior goes"
    )
    assert quoted.count("Contents") == 0
    page.close()


def test_search_finds_a_chapter(browser):
    page = browser.new_page()
    page.goto((HTML / "index.html").as_uri())
    page.wait_for_url("**/book/intro.html")
    page.keyboard.press("Control+k")
    page.keyboard.type("whack")
    page.keyboard.press("Enter")
    page.locator("#search-results a", has_text="Whack-a-mole").first.click(
        timeout=30_000
    )
    page.wait_for_url("**/book/p2/whack-a-mole.html*")
    page.close()
