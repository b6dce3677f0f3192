"""Figures: contrast, reproducible and separate SVGs, nothing left behind in matplotlib."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from reports.figures import draw_device_time, inline_svg
from reports.figures.bars import Bar, Piece, draw_bars
from reports.figures.step_curves import STEPS_ACROSS, thinned
from reports.figures.style import (
    COLOURS,
    INK,
    KIND_COLOURS,
    NARROW,
    PAPER,
    RUNG_COLOURS,
    SCORE_COLOURS,
    WIDE,
    figure_style,
    strategy_styles,
)

PAGE_CSS = Path(__file__).parents[2] / "reports" / "page" / "page.css"


def luminance(colour: str) -> float:
    """Relative luminance, WCAG 2.2."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def page_colours() -> list[dict[str, str]]:
    """The page's variables: light, then dark."""
    blocks = re.findall(r":root \{(.*?)\}", PAGE_CSS.read_text(), flags=re.DOTALL)
    return [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", block)) for block in blocks[:2]]


MARKS = {*COLOURS, *KIND_COLOURS.values(), *RUNG_COLOURS, *SCORE_COLOURS}


@pytest.mark.parametrize("colour", sorted(MARKS))
def test_marks_stand_out_on_light_and_dark(colour: str) -> None:
    assert all(contrast(colour, page["paper"]) >= 3 for page in page_colours())


# Machado, Oliveira & Fernandes 2009, severity 1.0, on linear RGB.
COLOUR_VISIONS = {
    "usual": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "protanopia": [
        [0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}  # fmt: skip


def oklab(rgb: np.ndarray) -> np.ndarray:
    """Ottosson 2020, from linear RGB."""
    to_lms = [
        [0.4122214708, 0.5363325363, 0.0514459929], [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]  # fmt: skip
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468], [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]  # fmt: skip
    return to_lab @ np.cbrt(to_lms @ np.clip(rgb, 0, 1))


@pytest.mark.parametrize("vision", COLOUR_VISIONS)
def test_better_scores_look_further_from_the_worst(vision: str) -> None:
    seen = [
        oklab(np.array(COLOUR_VISIONS[vision]) @ mpl.colors.to_rgb(colour) ** np.array(2.2))
        for colour in SCORE_COLOURS
    ]
    from_worst = [float(np.linalg.norm(colour - seen[0])) for colour in seen]
    assert from_worst == sorted(from_worst)
    assert from_worst[-1] > 0.15
    steps = [float(np.linalg.norm(there - here)) for here, there in pairwise(seen)]
    assert vision != "usual" or max(steps) < 1.5 * min(steps)


def test_texts_are_readable_on_light_and_dark() -> None:
    for page in page_colours():
        for ink in ("ink", "soft", "accent", "warn"):
            assert contrast(page[ink], page["paper"]) >= 4.5
        assert contrast(page["warn"], page["warn-wash"]) >= 4.5


def test_a_strategy_looks_like_no_other() -> None:
    styles = strategy_styles([f"s{i}" for i in range(56)])
    assert len(set(styles.values())) == 56
    assert styles["s3"] == strategy_styles(["x", "y", "z", "s3"])["s3"]


def bars(name: str = "a") -> Figure:
    pieces = [Piece("run", 0.4, COLOURS[0]), Piece("saved", 0.6, INK, alpha=0.1)]
    return draw_bars([Bar(name, "note", pieces, mark=0.3)], "share", "mark", WIDE)


def drawn(prefix: str, draw: Callable[[], Figure] = bars) -> str:
    with figure_style():
        return inline_svg(draw(), prefix, "A <title>", "what is to be seen")


def test_an_svg_is_the_same_each_time_and_carries_no_foreign_rules() -> None:
    svg = drawn("one")
    assert svg == drawn("one")
    assert "<style" not in svg
    assert "<metadata" not in svg
    assert INK not in svg
    assert PAPER not in svg
    assert "currentColor" in svg


def test_ids_of_two_figures_do_not_meet() -> None:
    ids = [set(re.findall(r'\bid="([^"]+)"', drawn(prefix))) for prefix in ("one", "two")]
    assert ids[0]
    assert not ids[0] & ids[1]
    svg = drawn("one")
    references = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"', svg)
    assert {a or b for a, b in references} <= ids[0]


def test_an_svg_is_named_and_its_texts_are_escaped() -> None:
    svg = drawn("one", lambda: bars("<script>alert(1)</script> $x_1$ 图"))
    root = ElementTree.fromstring(svg)
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-labelledby"] == "one-title one-description"
    texts = ["".join(element.itertext()) for element in root.iter()]
    assert "A <title>" in texts
    assert "<script>" not in svg
    assert any("<script>alert(1)</script> $x_1$ 图" in text for text in texts)


def test_matplotlib_is_left_as_it_was() -> None:
    before = dict(mpl.rcParams)
    drawn("one")
    assert dict(mpl.rcParams) == before
    assert "matplotlib.pyplot" not in vars(mpl) or not mpl.pyplot.get_fignums()


def test_a_phone_gets_a_narrow_figure() -> None:
    import pandas as pd

    columns = ["setup", "train", "evaluate", "checkpoint", "restore", "idle", "lost", "held"]
    frame = pd.DataFrame([[0, 8, 1, 0, 0, 1, 0, 10]], columns=columns, index=["a"], dtype=float)
    with figure_style():
        figures = [draw_device_time(frame, ["a", "absent"], layout) for layout in (WIDE, NARROW)]
    assert [figure.get_figwidth() for figure in figures] == [9.6, 3.6]


def test_curves_are_thinned_to_what_can_be_seen() -> None:
    """Every curve keeps its first and its last point, and of points that fall together the last."""
    curves = pd.DataFrame(
        {
            "strategy": ["a"] * 5 + ["b"],
            "x": [0.0, 0.001, 50.0, 50.001, 100.0, 3.0],
            "y": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        }
    )
    assert thinned(curves, "x", 100.0)["y"].tolist() == [1.0, 2.0, 4.0, 5.0, 6.0]
    many = pd.DataFrame({"strategy": "a", "x": np.linspace(0, 1, 20_000), "y": 0.0})
    assert len(thinned(many, "x", 1.0)) <= STEPS_ACROSS + 2
    assert thinned(curves, "x", 0.0) is curves
