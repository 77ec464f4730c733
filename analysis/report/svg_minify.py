"""The SVG of a picture in fewer letters: a page of twenty instances is to stay small."""

from __future__ import annotations

import re
from collections import Counter

_NUMBER = r"-?[\d.]+(?:e-?\d+)?"
_STRAIGHT = re.compile(rf'<path d="((?:(?:[ML] {_NUMBER} {_NUMBER}|z)\s*)+)"([^>]*)/>')
_LONG = 200
"""Letters of a path from which on it is drawn once and used again where it stands twice."""
_TICK = re.compile(rf'<path id="([^"]+)" d="M 0 0\s*L {_NUMBER} {_NUMBER}\s*" style=')
"""The shape of a tick: one line, which says how it is drawn."""


def slim(text: str, mark: str) -> str:
    """The same drawing: numbers to a hundredth of a point, no groups that say nothing, shapes that
    stand several times as one.

    Parameters
    ----------
    text : an SVG as matplotlib writes it.
    mark : put before the names of shapes.
    """
    text = re.sub(r">\s*\n\s*<", "><", text)
    text = re.sub(r' style="([^"]*)"', lambda found: f' style="{_tight(found[1])}"', text)
    text = _without_bare_groups(text)
    for tick in _TICK.findall(text):
        text = re.sub(rf'(<use xlink:href="#{re.escape(tick)}"[^>]*?) style="[^"]*"', r"\1", text)
    seen = Counter((_moved(found[1])[1], _style(found[2])) for found in _STRAIGHT.finditer(text))
    names: dict[tuple[str, str], str] = {}

    def drawn(found: re.Match[str]) -> str:
        path, rest = found.groups()
        (x, y), shape = _moved(path)
        key = (shape, _style(rest))
        if sum(map(len, key)) < _LONG // (2 if _is_line(shape) else 1) or seen[key] < 2:
            return f'<path d="{_letters(_points(path))}"{rest}/>'
        made = ""
        if key not in names:
            names[key] = f"{mark}s{len(names)}"
            made = f'<defs><path id="{names[key]}" d="{shape}"{key[1]}/></defs>'
        use = f'<use xlink:href="#{names[key]}" x="{x}" y="{y}"/>'
        clip = re.search(r' clip-path="[^"]*"', rest)
        # what cuts it off is at rest, and does not move with the shape; a line of the grid has ends
        return made + (use if clip is None or _is_line(shape) else f"<g{clip[0]}>{use}</g>")

    text = _STRAIGHT.sub(drawn, text)
    return re.sub(r' (?:d|x|y|width|height)="[^"]*"', _rounded, text)


def _style(attributes: str) -> str:
    """Of a path, what does not depend on its place."""
    return re.sub(r' clip-path="[^"]*"', "", attributes)


def _is_line(shape: str) -> bool:
    """Whether it is one line along an axis, such as those of a grid."""
    return re.fullmatch(r"M0 0[HV][-.\d]+", shape) is not None


def _tight(style: str) -> str:
    return style.replace("; ", ";").replace(": ", ":").rstrip(";")


def _without_bare_groups(text: str) -> str:
    """The text without groups that have no attribute."""
    open_groups: list[bool] = []

    def seen(found: re.Match[str]) -> str:
        if found[0] == "</g>":
            return "</g>" if open_groups.pop() else ""
        if found[0].endswith("/>"):
            return found[0]
        open_groups.append(found[0] != "<g>")
        return found[0] if open_groups[-1] else ""

    return re.sub(r"<g\b[^>]*>|</g>", seen, text)


def _points(path: str) -> list[tuple[str, float, float]]:
    """The corners of a path of straight lines, each with its command; z has no place."""
    found = re.finditer(rf"([ML]) ({_NUMBER}) ({_NUMBER})|z", path)
    return [(each[1] or "z", float(each[2] or 0), float(each[3] or 0)) for each in found]


def _moved(path: str) -> tuple[tuple[str, str], str]:
    """Where a path begins, and the path when it begins at 0, 0."""
    points = _points(path)
    _, x, y = points[0]
    return (_figure(x), _figure(y)), _letters([(how, a - x, b - y) for how, a, b in points])


def _letters(points: list[tuple[str, float, float]]) -> str:
    """A path in letters; lines along an axis say one number."""
    letters, here = [], ("", "")
    for how, x, y in points:
        there = (_figure(x), _figure(y))
        if how == "z":
            letters.append("z")
            continue
        if how == "L" and there[1] == here[1]:
            letters.append(f"H{there[0]}")
        elif how == "L" and there[0] == here[0]:
            letters.append(f"V{there[1]}")
        else:
            letters.append(f"{how}{there[0]} {there[1]}")
        here = there
    return "".join(letters)


def _figure(value: float) -> str:
    text = f"{value:z.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _rounded(found: re.Match[str]) -> str:
    """Numbers of an attribute to a hundredth of a point."""
    return re.sub(r"(\.\d\d)\d+", r"\1", found[0]).replace("\n", "")
