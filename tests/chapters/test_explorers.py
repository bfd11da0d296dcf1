import explorers


def test_explorer_is_a_line_where_there_is_no_page(monkeypatch):
    shown = []
    monkeypatch.setattr(
        explorers, "display", lambda bundle, raw: shown.append((bundle, raw))
    )
    explorers.explorer("ball", others="1 2", n=3)
    ((bundle, raw),) = shown
    assert raw
    assert bundle["text/plain"] in bundle["text/html"]
    expected = '<div data-explorer="ball" data-others="1 2" data-n="3">'
    assert bundle["text/html"].startswith(expected)
