"""Pictures with sliders, which `_static/explore.js` computes in the page."""

from IPython.display import display


def explorer(name, **given):
    """Show a picture with sliders in the online book, and elsewhere a line that says so.

    Parameters
    ----------
    name : str
        One of the explorers of ``_static/explore.js``.
    **given
        What it has to know, as its data attributes.
    """
    said = "In the online book there is a picture with sliders here."
    data = "".join(f' data-{key}="{value}"' for key, value in given.items())
    html = f'<div data-explorer="{name}"{data}><p>{said}</p></div>'
    display({"text/html": html, "text/plain": said}, raw=True)
