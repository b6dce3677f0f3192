"""A matplotlib figure as an SVG element that can stand inside a page."""

from __future__ import annotations

import io
import re
import warnings
from html import escape

from matplotlib.figure import Figure

from reports.figures.path_data import compact
from reports.figures.style import INK, PAPER

SVG_DPI = 72


def _lay_out(figure: Figure) -> None:
    """Lay a figure out once and for all; to save it would otherwise draw it once more for that."""
    engine = figure.get_layout_engine()
    if engine is not None:
        figure.set_dpi(SVG_DPI)
        engine.execute(figure)
        figure.set_layout_engine(None)


def inline_svg(figure: Figure, prefix: str, title: str, description: str) -> str:
    """The figure as an ``<svg>`` string; the same figure gives the same string.

    Element ids begin with ``prefix``, since two figures share most of theirs; ink and paper follow
    the page's colours; ``title`` and ``description`` are what a screen reader says.
    """
    file = io.StringIO()
    with warnings.catch_warnings():
        # The browser draws the text and has fonts for what matplotlib's has no glyph for.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        _lay_out(figure)
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    # Its rules are for every element, so inline they would be the whole page's.
    svg = re.sub(r"<style[^>]*>.*?</style>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\bd="([^"]*)"', lambda path: f'd="{compact(path[1])}"', svg)
    svg = re.sub(r'\bid="', f'id="{prefix}-', svg)
    svg = svg.replace("url(#", f"url(#{prefix}-").replace('href="#', f'href="#{prefix}-')
    svg = svg.replace(INK, "currentColor").replace(PAPER, "var(--paper)")
    names = f'role="img" aria-labelledby="{prefix}-title {prefix}-description"'
    texts = (
        f'<title id="{prefix}-title">{escape(title)}</title>'
        f'<desc id="{prefix}-description">{escape(description)}</desc>'
    )
    opening = re.match(r"<svg[^>]*>", svg)
    assert opening is not None
    size = re.search(r'viewBox="[^"]*"', opening[0])
    assert size is not None
    head = (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{size[0]} stroke-linejoin="round" {names}>{texts}'
    )
    return head + svg[opening.end() :]
