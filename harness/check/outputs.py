"""A check in the forms that CI systems read."""

from __future__ import annotations

import html
import json
import math
import re
from pathlib import Path
from xml.etree import ElementTree

from harness.contract import UsageError
from harness.contract.check import MARK_WORDS, CheckRecord, CheckRow
from harness.contract.files import write_atomically
from harness.contract.records import StudyRecord
from reports import units
from reports.page.check import render_check_page

PAGE, RECORD = "check.html", "check.json"


def cells_of(row: CheckRow) -> tuple[str, ...]:
    """A row as text, in the order of ``HEADER``."""
    return (
        row.mark,
        row.strategy,
        row.title,
        units.score(row.before),
        units.score(row.after),
        units.signed(row.difference),
        units.signed_interval(row.low, row.high),
        units.NOTHING if math.isnan(row.margin) else units.difference(row.margin),
        str(row.pairs),
    )


HEADER = (
    "", "strategy", "measure", "before", "now", "better by", "95 % interval", "margin", "seeds",
)  # fmt: skip


def markdown(check: CheckRecord) -> str:
    """For a job's summary: the headline, the rows that are not the same as before, then all."""
    lines = [f"## Search quality: {check.outcome}", "", _md(check.headline), ""]
    notable = [row for row in check.rows if row.mark != "~"]
    if notable:
        lines += [*_md_table(notable), ""]
    lines += ["<details><summary>All rows</summary>", "", *_md_table(check.rows), "", "</details>"]
    lines += [
        "",
        ", ".join(f"`{mark}` {word}" for mark, word in MARK_WORDS.items())
        + f"; any false alarm has a chance of at most {check.alpha:g}.",
        "",
    ]
    return "\n".join(lines)


def _md_table(rows: list[CheckRow]) -> list[str]:
    header = f"| {' | '.join(HEADER)} | why |"
    rule = f"|{' --- |' * (len(HEADER) + 1)}"
    body = [
        f"| `{row.mark}` | {' | '.join(map(_md, cells_of(row)[1:]))} | {_md(row.reason)} |"
        for row in rows
    ]
    return [header, rule, *body]


def _md(text: str) -> str:
    """Untrusted text inside a Markdown table."""
    escaped = html.escape(text, quote=False)
    return " ".join(re.sub(r"([\\`*_\[\]|#:])", r"\\\1", escaped).split())


def workflow_commands(check: CheckRecord) -> list[str]:
    """GitHub's ``::error::`` lines, one per row that fails the check."""
    return [
        "::error title=Search quality::" + _command(f"{row.strategy}: {row.title}: {row.reason}")
        for row in check.rows
        if row.mark in "-!"
    ]


def _command(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def junit(check: CheckRecord) -> str:
    """One test case per row: ``-`` and ``!`` are failures, ``?`` and ``x`` are skipped."""
    failures = sum(row.mark in "-!" for row in check.rows)
    skipped = sum(row.mark in "?x" for row in check.rows)
    suite = ElementTree.Element(
        "testsuite", name="search quality", tests=str(len(check.rows)), failures=str(failures),
        skipped=str(skipped), errors="0",
    )  # fmt: skip
    for row in check.rows:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_xml(row.strategy), name=row.measure
        )
        text = _xml(f"{row.reason} ({', '.join(cells_of(row)[3:])})")
        if row.mark in "-!":
            ElementTree.SubElement(case, "failure", message=_xml(row.reason)).text = text
        elif row.mark in "?x":
            ElementTree.SubElement(case, "skipped", message=_xml(row.reason))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _xml(text: str) -> str:
    """Without the control characters that no XML may have, not even escaped."""
    return "".join(c if c in "\t\n" or ord(c) >= 0x20 else "�" for c in text)


def action_benchmark(check: CheckRecord, is_bigger_better: bool) -> str:
    """What github-action-benchmark reads as ``customBiggerIsBetter`` or, the other measures, as
    ``customSmallerIsBetter``: a list of ``{name, unit, value, range, extra}``."""
    entries = [
        {
            "name": f"{row.strategy} {row.measure}",
            "unit": row.unit or check.metric,
            "value": row.after,
            "range": _half_width(row),
            "extra": f"{row.mark} {row.reason}; before: {units.score(row.before)}",
        }
        for row in check.rows
        if row.is_higher_better == is_bigger_better and math.isfinite(row.after)
    ]
    return json.dumps(entries, indent=2) + "\n"


def _half_width(row: CheckRow) -> str:
    half = (row.high - row.low) / 2
    return f"± {half:.3g}" if math.isfinite(half) else ""


def write_outputs(
    check: CheckRecord,
    before: StudyRecord,
    after: StudyRecord,
    folder: Path,
    summary: Path | None,
) -> None:
    """Write every form into the folder, and add the Markdown to ``summary``.

    ``before``, ``after``: the baseline's study and the run's.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in (
            (RECORD, check.model_dump_json(indent=2) + "\n"),
            ("check.md", markdown(check)),
            (PAGE, render_check_page(check, before, after)),
            ("junit.xml", junit(check)),
            ("benchmark-bigger-is-better.json", action_benchmark(check, is_bigger_better=True)),
            ("benchmark-smaller-is-better.json", action_benchmark(check, is_bigger_better=False)),
        ):
            write_atomically(folder / name, content)
        if summary is not None:
            with summary.open("a", encoding="utf-8") as file:
                file.write(markdown(check))
    except OSError as error:
        raise UsageError(f"cannot write the check to {error.filename}: {error.strerror}") from None
