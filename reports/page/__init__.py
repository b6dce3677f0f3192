"""The page: analyses of studies, told in one self-contained HTML file."""

from reports.page.render import render_page

__all__ = ["render_page"]
