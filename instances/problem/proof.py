"""Proof files: the claims about an instance, and the steps from which the verifier recomputes them.

Everything in it is a whole number, a text, or a fraction: the verifier takes no float. A proof has
one level, or several when a method asks for the best of one objective first and then, among the
answers as good, for the best of another.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from .files import write_text

VERSION = 2
"""Of the format, the value of "cotenant_proof"."""

MOST_DIGITS = 60
"""Digits of a claimed denominator; longer fractions are rounded to claim less."""

MOST_EXACT = 3_900
"""The same where value and bound are one number; the verifier reads 4,000 digits."""

ClaimKind = Literal["optimal", "gap", "infeasible", "equilibrium"]


@dataclass(frozen=True)
class Level:
    """Claim of a proof about one objective, with its proof steps.

    Attributes
    ----------
    objective, sense : its name in the catalogue, and "min" or "max".
    value : what the answer is worth, exactly; None without an answer.
    bound : no answer is worth less (min) or more (max); None when nothing is proved.
    steps : JSON objects, each with its "kind", from which the verifier works the bound out.
    infeasible : the steps show that there is no answer at all.
    epsilon : of an equilibrium, by what name it is off by how much.
    """

    objective: str
    sense: Literal["min", "max"]
    value: Fraction | None
    bound: Fraction | None
    steps: tuple[Mapping[str, Any], ...] = ()
    infeasible: bool = False
    epsilon: Mapping[str, Fraction] | None = None

    @property
    def claim_kind(self) -> ClaimKind:
        """Kind of the claim about an objective; "optimal" only where value equals bound exactly."""
        if self.infeasible:
            return "infeasible"
        if self.epsilon is not None:
            return "equilibrium"
        return "optimal" if self.value is not None and self.value == self.bound else "gap"

    def document(self) -> dict[str, Any]:
        """Claim about one objective, and its proof steps, as JSON values."""
        up, most = self.sense == "min", MOST_EXACT if self.claim_kind == "optimal" else MOST_DIGITS
        claim: dict[str, Any] = {
            "objective": self.objective,
            "sense": self.sense,
            "value": None if self.value is None else written(self.value, up=up, most=most),
            "bound": None if self.bound is None else written(self.bound, up=not up, most=most),
            "claim_kind": self.claim_kind,
        }
        if self.epsilon is not None:
            claim["epsilon"] = {
                name: written(value, up=True) for name, value in self.epsilon.items()
            }
        return {"claim": claim, "steps": [dict(step) for step in self.steps]}


@dataclass(frozen=True)
class Proof:
    """Claims about an instance, which the verifier accepts or refuses.

    Attributes
    ----------
    problem, method : names of the catalogue.
    levels : the first is the method's own objective.
    options : those that change what is claimed, as whole numbers and texts ("1/20").
    witness : the answer as its JSON document; None when none is shown.
    """

    problem: str
    method: str
    levels: tuple[Level, ...]
    options: Mapping[str, Any] = field(default_factory=dict)
    witness: Mapping[str, Any] | None = None

    @property
    def complete(self) -> bool:
        """Whether every objective of the proof has a claim stronger than a gap."""
        return all(level.claim_kind != "gap" for level in self.levels)

    def document(self, name: str, sha256: str) -> dict[str, Any]:
        """Proof as JSON values, with an instance's name and the sha256 of its (unpacked) file."""
        first, *rest = [level.document() for level in self.levels]
        return {
            "cotenant_proof": VERSION,
            "problem": self.problem,
            "method": self.method,
            "options": dict(self.options),
            "instance": {"sha256": sha256, "name": name},
            "claim": first["claim"],
            "witness": None if self.witness is None else dict(self.witness),
            "levels": rest,
            "steps": first["steps"],
        }

    def write(self, path: str | os.PathLike[str], name: str, sha256: str) -> Path:
        """Write the proof as `.json` or `.json.gz` atomically."""
        text = json.dumps(self.document(name, sha256), allow_nan=False, separators=(",", ":"))
        return write_text(path, text + "\n")


def written(value: Fraction, *, up: bool, most: int = MOST_DIGITS) -> int | str:
    """Format a fraction for proof files; a long one is rounded up or down, as is allowed."""
    if value.denominator >= 10**most:
        over = 10 ** (MOST_DIGITS // 2) * (value.denominator // abs(value.numerator) + 1)
        low = value.numerator * over // value.denominator
        value = Fraction(low + 1 if up else low, over)
    return value.numerator if value.denominator == 1 else f"{value.numerator}/{value.denominator}"


def multipliers(numbers: Iterable[int], over: int) -> dict[str, Any]:
    """Convert dual multipliers to integers with a common denominator, as proof files have."""
    return {"over": over, "numbers": [int(number) for number in numbers]}
