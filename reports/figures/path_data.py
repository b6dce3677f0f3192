"""Path data in fewer bytes: matplotlib writes six decimals and absolute coordinates throughout."""

from __future__ import annotations

import re

UNITS = 100
"""Per point (1/72 inch): what coordinates are rounded to is far below what can be seen."""

_PARTS = re.compile(r"([MLz])|(-?[\d.]+(?:e-?\d+)?)")


def compact(path: str) -> str:
    """The same polygons and lines in relative coordinates, rounded to 1/100 of a point.

    Rounding does not add up along a path. Paths with curves, which are few, stay as they are.
    """
    if re.search(r"[^MLz\d\s.e-]", path):
        return path
    written: list[str] = []
    x = y = start_x = start_y = 0
    command, first = "", None
    for letter, number in _PARTS.findall(path):
        if letter == "z":
            written.append("z")
            x, y = start_x, start_y
        elif letter:
            command = letter
        elif first is None:
            first = round(float(number) * UNITS)
        else:
            to_x, to_y = first, round(float(number) * UNITS)
            first = None
            if command == "M":
                written.append(f"M{_number(to_x)}{_joined(to_y)}")
                start_x, start_y = to_x, to_y
            elif to_y == y:
                written.append(f"h{_number(to_x - x)}")
            elif to_x == x:
                written.append(f"v{_number(to_y - y)}")
            else:
                written.append(f"l{_number(to_x - x)}{_joined(to_y - y)}")
            x, y = to_x, to_y
    return "".join(written)


def _number(hundredths: int) -> str:
    text = f"{hundredths / UNITS:.2f}".rstrip("0").rstrip(".")
    return re.sub(r"^(-?)0\.", r"\1.", text)


def _joined(hundredths: int) -> str:
    text = _number(hundredths)
    return text if text.startswith("-") else f" {text}"
