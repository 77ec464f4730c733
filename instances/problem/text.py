"""Foreign text made safe to print: no cursor movements, colors or changes of reading direction."""

from __future__ import annotations

import re
import reprlib
import unicodedata
from collections.abc import Mapping
from html import escape
from typing import Any

_UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f"  # C0, DEL and C1: a terminal takes them for commands
    # marks, overrides and isolates of direction: text is read as what it is not
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
    "\u2028\u2029\ufeff"  # separators of lines and paragraphs, and the mark of byte order
    "\ud800-\udfff]"  # halves of surrogate pairs, which no file and no terminal can hold
)


def sanitize_for_terminal(text: str) -> str:
    r"""Text in which each control character is replaced by its escape, like `\x1b`."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


_IN_ASCII = str.maketrans(
    {
        "±": "+-", "\u00d7": "x", "≤": "<=", "≥": ">=", "→": "->", "\u2212": "-",
        "\u2013": "-", "—": "-", "…": "...", "\u2019": "'", "∞": "inf", "\u03b1": "alpha",
        "ε": "eps", "η": "eta", "λ": "lambda", "τ": "tau", "φ": "phi", "ψ": "psi", "Δ": "delta",
        "Σ": "sum",
    }
)  # fmt: skip
"""Signs that stand in our tables, in words."""


def in_ascii(text: str) -> str:
    """Convert text for an ASCII terminal: signs as words, no accents, "?" for other characters."""
    bare = unicodedata.normalize("NFKD", text.translate(_IN_ASCII))
    kept = "".join(letter for letter in bare if not unicodedata.combining(letter))
    return kept.encode("ascii", errors="replace").decode()


_WITH_UNIT = re.compile(
    r"([-+]?[0-9]*\.?[0-9]+(?:e[-+]?[0-9]+)?) *(%|[a-zµ][a-zµ/]*)", re.IGNORECASE
)
_OF_TIME = {"ms": 0.001, "s": 1, "m": 60, "min": 60, "h": 3600, "d": 86400}


def without_unit(text: str, what: str = "") -> str:
    """Hint to give an option's number without its unit, such as "5s" or "5%"; "" for other texts.

    Parameters
    ----------
    what : what the number is; of seconds, other units of time are taken as such.
    """
    found = _WITH_UNIT.fullmatch(text.strip())
    if found is None:
        return ""
    value, unit = float(found[1]), found[2].lower()
    if unit == "%":
        value /= 100
    elif "second" in what:
        value *= _OF_TIME.get(unit, 1)
    elif found[2] == "m":  # thousandths, as Kubernetes writes them
        value /= 1000
    return f"write the number without unit: {value:.15g}"


def html_facts(title: str, facts: Mapping[str, object]) -> str:
    """Format names and values as a small HTML table with all text escaped."""
    rows = "".join(
        f"<tr><th>{escape(sanitize_for_terminal(str(name)))}</th><td>{escape(sanitize_for_terminal(str(value)))}</td></tr>"
        for name, value in facts.items()
    )
    return f"<table><caption>{escape(sanitize_for_terminal(title))}</caption>{rows}</table>"


def all_printable(value: Any) -> Any:
    """Make every text in a JSON value, keys too, safe to print."""
    if isinstance(value, str):
        return sanitize_for_terminal(value)
    if isinstance(value, dict):
        return {all_printable(key): all_printable(entry) for key, entry in value.items()}
    return [all_printable(entry) for entry in value] if isinstance(value, list) else value


def shortened(value: object) -> str:
    """The `repr` of a value, cut to 60 characters."""
    text = _REPR.repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_REPR = reprlib.Repr()
_REPR.maxstring = _REPR.maxother = _REPR.maxlong = 60
