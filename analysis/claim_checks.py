"""What a second look at a stored result finds: claims that are borne out, claims that are not,
bounds that are proved again.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..instances.problem.base import Solution
from ..solvers.outcome import Status

Floats = NDArray[np.float64]

SAME = 1e-9
"""A number worked out again may differ from the one stored by this fraction of it: elsewhere sums
are rounded differently.
"""

NOISE = 1e-12
"""And by this much, where rounding is all that a number is made of."""


@dataclass(frozen=True)
class Stored:
    """What a problem's own claims are looked over with.

    Attributes
    ----------
    method : its name in the catalogue; "" for a user's function.
    solution : the answer, feasible; None where the result has none.
    certificate : as stored.
    options : as stored, with the catalogue's defaults of those not given.
    objective, bound : the objective's name, and the bound claimed on it.
    status : as claimed.
    """

    method: str
    solution: Solution | None
    certificate: Mapping[str, Any]
    options: Mapping[str, Any]
    objective: str | None
    bound: float | None
    status: Status


@dataclass
class ClaimChecks:
    """What was found; a claim that nothing here names has not been looked at.

    Attributes
    ----------
    broken : what is not borne out, in sentences.
    checked : the claims that were looked at, by their place: "prices" of the certificate,
        "levels[0].bound", "mix.class".
    bounds : what was proved again, by metric, or by level ("levels[1]") where it holds for that
        level alone: no feasible answer is better in it.
    impossible : whether there is no answer, proved again; False when there is one; None when that
        was not looked at.
    unseen : fields of the solution that `check` and the metrics do not bear out.
    senses : "min" or "max" of a metric that this method optimizes, where the metric itself is
        neither better nor worse.
    """

    broken: list[str] = field(default_factory=list)
    checked: set[str] = field(default_factory=set)
    bounds: dict[str, float] = field(default_factory=dict)
    impossible: bool | None = None
    unseen: set[str] = field(default_factory=set)
    senses: dict[str, str] = field(default_factory=dict)

    def compare(
        self,
        certificate: Mapping[str, Any],
        expected: Mapping[str, Any],
        needed: Iterable[str] = (),
    ) -> None:
        """Hold a certificate against what was worked out again; of what is `needed`, nothing may be
        left out, but where a policy gave the answer: the search then said nothing of it.
        """
        for name, value in expected.items():
            if name in certificate:
                self.checked.add(name)
                if not alike(value, certificate[name]):
                    self.broken.append(
                        f"certificate: {name} is {short(value)}, not "
                        f"{short(certificate[name])} as claimed"
                    )
        self.broken += [
            f"certificate: {name} is missing"
            for name in needed
            if name not in certificate and "answer_by" not in certificate
        ]

    def numbers(
        self, certificate: Mapping[str, Any], name: str, shape: tuple[int, ...]
    ) -> Floats | None:
        """Finite numbers of a shape, to prove something with; None, and said, when what the
        certificate has is no such thing.
        """
        if name not in certificate:
            return None
        try:
            found = np.asarray(certificate[name], dtype=float)
        except (TypeError, ValueError, OverflowError):
            found = np.zeros(())
        if found.shape != shape or not np.isfinite(found).all():
            self.record_check(name, f"is not {' x '.join(map(str, shape))} numbers")
            return None
        self.checked.add(name)
        return found

    def record_check(self, name: str, why_not: str = "") -> None:
        """Note that something in the certificate proves what it is there for, or why it does
        not.
        """
        self.checked.add(name)
        if why_not:
            self.broken.append(f"certificate: {name} {why_not}")


def alike(expected: Any, claimed: Any) -> bool:
    """Whether a stored JSON value is the one that was worked out again; whole numbers are equal or
    they are not.
    """
    if isinstance(expected, bool) or isinstance(claimed, bool):
        return expected is claimed
    if isinstance(expected, int) and isinstance(claimed, int | float):
        return expected == claimed
    if isinstance(expected, float) and isinstance(claimed, int | float):
        return bool(expected == claimed or abs(expected - claimed) <= SAME * abs(expected) + NOISE)
    if isinstance(expected, list | tuple) and isinstance(claimed, list):
        return len(expected) == len(claimed) and all(
            alike(*pair) for pair in zip(expected, claimed, strict=True)
        )
    if isinstance(expected, dict) and isinstance(claimed, dict):
        return expected.keys() == claimed.keys() and all(
            alike(value, claimed[name]) for name, value in expected.items()
        )
    return type(expected) is type(claimed) and bool(expected == claimed)


def places(value: Any, place: str = "") -> dict[str, Any]:
    """The claims of a JSON value by their place: what objects hold one by one, levels too; of a
    list of objects what each key says of all of them ("rungs[].steps"), any other list as one.
    """
    objects = isinstance(value, list) and value and all(isinstance(row, dict) for row in value)
    if isinstance(value, dict):
        inside = {f"{place}.{name}" if place else str(name): entry for name, entry in value.items()}
    elif objects and place.rpartition(".")[2] == "levels":
        inside = {f"{place}[{number}]": entry for number, entry in enumerate(value)}
    elif objects:
        keys = dict.fromkeys(key for row in value for key in row)
        inside = {f"{place}[].{key}": [row.get(key) for row in value] for key in keys}
    else:
        return {place: value}
    found: dict[str, Any] = {}
    for name, entry in inside.items():
        found |= places(entry, name)
    return found


def covered(place: str, by: Iterable[str]) -> bool:
    """Whether a claim, or something it is a part of, is among those named."""
    named = set(by)
    return place in named or any(
        place[:end] in named for end, letter in enumerate(place) if letter in ".["
    )


def short(value: Any) -> str:
    """A value as a message shows it."""
    text = str(value)
    return text if len(text) <= 80 else text[:77] + "..."
