"""Sphinx extension: sitemap.xml, which lists every page also when few were rendered."""

from xml.etree import ElementTree

SCHEMA = "http://www.sitemaps.org/schemas/sitemap/0.9"


def write(app, exception):
    """Write the addresses of all pages beside them."""
    if exception or app.builder.format != "html":
        return
    pages = ElementTree.Element("urlset", xmlns=SCHEMA)
    for name in sorted(app.env.found_docs):
        page = ElementTree.SubElement(pages, "url")
        location = app.config.html_baseurl + app.builder.get_target_uri(name)
        ElementTree.SubElement(page, "loc").text = location
    ElementTree.ElementTree(pages).write(
        app.outdir / "sitemap.xml", encoding="utf-8", xml_declaration=True
    )


def setup(app):
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
