"""From studies to HTML."""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from reports import units
from reports.analysis import Analysis
from reports.figures.style import strategy_styles
from reports.merge import StudyGroup, environment_differences
from reports.page.study import StudyPage, make_study_page
from reports.stored_file import is_inside

MAX_ROWS = 200
"""Of tables with a row per failure, which nobody reads to their end."""


def render_page(analysed: Sequence[tuple[StudyGroup, Analysis]], page: Path) -> str:
    """The whole page, as it is to lie at ``page``; the same studies give the same page.

    Raises:
        ValueError: no study.
    """
    if not analysed:
        raise ValueError("a page needs at least one study")
    groups = [group for group, _ in analysed]
    names = list(dict.fromkeys(s.name for group in groups for s in group.run.study.strategies))
    styles = strategy_styles(names)
    folders = [run.path for group in groups for run in group.sources]
    is_single = len(groups) == 1
    studies = [
        make_study_page(group, analysis, styles, prefix="" if is_single else f"study-{number}-")
        for number, (group, analysis) in enumerate(analysed, start=1)
    ]
    return render_template(
        "page.html.j2",
        studies=studies,
        styles=styles,
        title=_title(studies),
        differences=environment_differences([run for group in groups for run in group.sources]),
        link=lambda target: _link(target, page, folders),
    )


def render_template(name: str, **context: Any) -> str:
    """A page from a template that extends ``base.html.j2``; ``context`` must have its ``title``."""
    css, script = _asset("page.css"), _asset("page.js")
    return (
        _environment()
        .get_template(name)
        .render(
            css=Markup(css),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            **context,
        )
    )


def _title(studies: Sequence[StudyPage]) -> str:
    benchmarks = dict.fromkeys(study.record.benchmark.name for study in studies)
    return f"{', '.join(benchmarks)}: search strategies compared"


def _asset(name: str) -> str:
    """A file that stands between tags: the browser's hash of it is of exactly this text."""
    return files("reports.page").joinpath(name).read_text(encoding="utf-8")


def _link(target: Path, page: Path, folders: Sequence[Path]) -> str | None:
    """The way from the page to a file, where there is one, in one of the run folders."""
    if not any(is_inside(target, folder) for folder in folders) or not target.exists():
        return None
    return quote(Path(os.path.relpath(target.resolve(), page.resolve().parent)).as_posix())


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("reports.page", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["MAX_ROWS"] = MAX_ROWS
    environment.filters |= {
        "score": units.score,
        "percent": units.percent,
        "quantity": units.quantity,
        "breakable": _breakable,
        "prose": prose,
        "count": lambda number: f"{number:,}",
        "counted": units.counted,
        "seconds": units.seconds,
        "setting": units.setting,
        "difference": units.difference,
        "signed": units.signed,
        "signed_interval": units.signed_interval,
        "p_value": units.p_value,
        "json": lambda value: json.dumps(value, indent=2, ensure_ascii=False, default=str),
    }
    return environment


def prose(text: str) -> Markup:
    """A sentence, with what stands between backticks as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if i % 2 else escape(part)
        for i, part in enumerate(parts)
    )


def _breakable(name: str) -> Markup:
    """A name that may be broken after its underscores."""
    return escape(name).replace("_", Markup("_<wbr>"))
