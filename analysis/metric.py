"""Metric (name, direction, unit, description), and the view of a stored result from which the
`facts` functions of the problems recompute its certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Sense = Literal["min", "max", ""]


@dataclass(frozen=True)
class Metric:
    """Metric of a problem.

    Attributes
    ----------
    name : key in `Result.metrics`.
    label : words for people.
    sense : "min" when less is better, "max" when more is, "" when neither.
    unit : unit of the value, "" for a pure number.
    digits : digits after the point in tables; below 0: so many significant ones, scientific.
    short : heading in comparison tables, where the label is too long for one.
    compared : whether comparison tables show it; the others they show where a method bounds it, and
        are in results, `--json` and frames.
    whole : it counts, so that values are equal as whole numbers or not at all.
    fraction : of integers; bounds that are claimed are the floats nearest to it.
    """

    name: str
    label: str
    sense: Sense = "min"
    unit: str = ""
    digits: int = 4
    short: str = ""
    compared: bool = True
    whole: bool = False
    fraction: bool = False

    @property
    def heading(self) -> str:
        """Heading of the metric in comparison tables."""
        return self.short or self.label


BLOCKING_SHARE = Metric(
    "blocking_share", "share of the pairs that could block", "", short="blocking share"
)
"""Beside the number of blocking pairs, of every problem that has pairs."""

Facts = dict[str, Any]
"""The entries of a certificate by name; `...` for one that must be there, whatever it is."""


class Stated(NamedTuple):
    """Stored result: the answer (or None), the certificate as JSON values, and the options with
    defaults for those that were not given.
    """

    method: str
    instance: Any
    answer: Any
    certificate: Mapping[str, Any]
    options: Mapping[str, Any]

    def together(self, *names: str) -> Facts:
        """Certificate entries that must be there together if one of them is, as a dictionary of
        facts. They are for a reader: their values are not recomputed.
        """
        return dict.fromkeys(names, ...) if self.certificate.keys() & {*names} else {}

    def echoed(self, *names: str) -> Facts:
        """Certificate entries that repeat the given options of the run."""
        return {name: self.options[name] for name in names}
