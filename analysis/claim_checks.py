"""What a second look at a stored result sees: claims borne out or not, limits of all answers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..instances.problem.base import Solution

SAME = 1e-9
"""How far a number worked out again may differ, as a fraction: sums are rounded differently."""

NOISE = 1e-12
"""And by this much, where rounding is all that a number is made of."""


@dataclass
class ClaimChecks:
    """A stored result as a problem's own checks get it, and what they find; a claim that nothing
    here names has not been looked at.

    Attributes
    ----------
    method : its name in the catalogue; "" for a user's function.
    solution : the answer, feasible; None where the result has none.
    certificate : as stored.
    options : as stored, with the catalogue's defaults of those not given.
    objective, bound : the objective's name, and the bound claimed on it.
    broken : what is not borne out, in sentences.
    checked : the claims of the certificate that were looked at, by their place: "psi",
        "levels[0].value", "mix.class".
    limits : by metric, a value that no feasible answer passes, in closed form.
    unseen : fields of the solution that `check` and the metrics do not bear out.
    senses : "min" or "max" of a metric that this method optimizes, where the metric has no sense.
    other_question : a proof is about other answers than the claim is.
    """

    method: str
    solution: Solution | None
    certificate: Mapping[str, Any]
    options: Mapping[str, Any]
    objective: str | None
    bound: float | None
    broken: list[str] = field(default_factory=list)
    checked: set[str] = field(default_factory=set)
    limits: dict[str, float] = field(default_factory=dict)
    unseen: set[str] = field(default_factory=set)
    senses: dict[str, str] = field(default_factory=dict)
    other_question: bool = False

    def compare(self, expected: Mapping[str, Any], needed: Iterable[str] | None = None) -> None:
        """Compare the certificate with what was worked out again; of what is `needed` (else all),
        nothing may be left out, but where a policy gave the answer, not the search.
        """
        for name, value in expected.items():
            if name in self.certificate:
                same = alike(value, stated := self.certificate[name])
                self.record(
                    name, "" if same else f"is {short(value)}, not {short(stated)} as claimed"
                )
        for name in expected if needed is None else needed:
            if name not in self.certificate and "answer_by" not in self.certificate:
                self.broken.append(f"certificate: {name} is missing")

    def belong_together(self, *names: str) -> None:
        """Require all of some entries where there is one of them."""
        self.compare({}, names if any(name in self.certificate for name in names) else ())

    def record(self, name: str, why_not: str = "") -> None:
        """Note that an entry of the certificate was looked at, and why it is not borne out."""
        self.checked.add(name)
        if why_not:
            self.broken.append(f"certificate: {name} {why_not}")


def alike(expected: Any, claimed: Any) -> bool:
    """Whether a stored JSON value is the one worked out again; whole numbers must be equal."""
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
    return {
        inner: claim
        for name, entry in inside.items()
        for inner, claim in places(entry, name).items()
    }


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
