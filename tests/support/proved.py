"""Proofs in tests: made of a method's answer, judged, and forged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from cotenant import catalog
from cotenant.analysis.run.solve import solve
from cotenant.instances.problem.base import Instance, to_json_value
from cotenant.instances.problem.files import instance_of, locate
from cotenant.instances.problem.proof import Proof
from cotenant.instances.problem.reading import read_bytes
from cotenant.instances.problem.registry import resolve
from cotenant.solvers.outcome import Clock, Outcome, Status
from cotenant.solvers.proofs import Task
from cotenant.verify import verify
from cotenant.verify.frame import ProofCase
from cotenant.verify.program import Program
from cotenant.verify.reading import MOST_WORK, Refused, Unreadable, parse
from support.messages import refused

Document = dict[str, Any]

REFUSALS = (Refused, Unreadable)
"""All that the verifier raises."""

NOTHING = Outcome(None, None, Status.UNKNOWN)


def content_of(given: Instance | Document) -> bytes:
    """Bytes of an instance file, made from an instance or from its document."""
    if isinstance(given, Instance):
        head = {"cotenant": 1, "problem": given.problem, "name": given.name}
        given = {**head, **to_json_value(given.document())}
    return json.dumps(given).encode()


def task_of(
    given: Instance | Document,
    outcome: Outcome = NOTHING,
    clock: Clock | None = None,
    method: str = "",
    **options: Any,
) -> Task:
    """Task of a proof's producer for an instance and an outcome of its method."""
    content = content_of(given)
    instance = given if isinstance(given, Instance) else instance_of(given, content.decode(), None)  # type: ignore[arg-type]
    return Task.of(content, instance, method, options, outcome, clock or Clock())


def case_of(
    given: Instance | Document, witness: Document | None = None, options: Any = None, *steps: Any
) -> ProofCase:
    """Checker's input for any instance, answer and steps."""
    document = parse(content_of(given), decimals=True)
    for name in ("cotenant", "problem", "name", "source"):
        document.pop(name, None)
    return ProofCase(document, options or {}, witness, [list(level) for level in steps])


def judged(content: bytes, proof: Document, most_work: int = MOST_WORK) -> str:
    """Verdict of the verifier as a text."""
    return verify(content, json.dumps(proof).encode(), most_work)


@dataclass(frozen=True)
class Proved:
    """An instance's file, and the proof that a producer made; `sentence` is what the verifier says."""

    content: bytes
    proof: Proof
    name: str

    @property
    def document(self) -> Document:
        """Fresh copy of the proof's document."""
        document = self.proof.document(self.name, sha256(self.content).hexdigest())
        market: Document = json.loads(json.dumps(document, allow_nan=False))
        return market

    @cached_property
    def sentence(self) -> str:
        return judged(self.content, self.document)

    @property
    def value(self) -> Fraction:
        """Claimed value of the first level."""
        return Fraction(self.document["claim"]["value"])

    @property
    def bound(self) -> Fraction:
        """Claimed bound of the first level."""
        return Fraction(self.document["claim"]["bound"])

    def judge(self, proof: Document) -> str:
        """Verdict of the verifier on a given proof document for this instance."""
        return judged(self.content, proof)

    def refuses(self, change: Callable[[Document], object], *, approved: bool = False) -> None:
        """Assert that the proof, changed in place, is refused, perhaps with the approved reason."""
        assert self.sentence
        forged = self.document
        change(forged)
        assert json.dumps(forged) != json.dumps(self.document)  # true is not 1
        with (refused if approved else pytest.raises)(REFUSALS):
            self.judge(forged)


def proved(
    given: Instance | Document, method: str, outcome: Outcome | None = None, **options: Any
) -> Proved:
    """Accepted proof of a method's answer, or of a given outcome, for an instance or its document."""
    task = task_of(given, **options)
    instance, limit = task.instance, None if isinstance(given, Instance) else 20.0
    outcome = outcome or solve(instance, method, time_limit=limit, **options)
    task = task_of(given, outcome, Clock(limit and 2 * limit), method, **options)
    producer = resolve(catalog.find(instance.problem, method).proof_producer)
    proof = Proved(content_of(given), producer(task), instance.name)
    assert proof.sentence
    return proof


def put(*path: Any, to: Any) -> Callable[[Document], None]:
    """The change that puts a value at a place of a proof, or what a function makes of the old one."""

    def change(document: Document) -> None:
        *above, last = path
        holder: Any = document
        for key in above:
            holder = holder[key]
        holder[last] = to(holder[last]) if callable(to) else to

    return change


def bundled_document(name: str) -> Document:
    """The document of a bundled instance."""
    document: Document = json.loads(read_bytes(locate(name)))
    return document


def has_point(program: Program) -> bool:
    """Whether some whole numbers are within the bounds of a program and keep its rows."""
    rows, limits = np.zeros((len(program.rows), len(program.low))), []
    for r, (terms, most) in enumerate(program.rows):
        limits.append(min(most, 10**9))
        for j, factor in terms:
            rows[r, j] += factor
    high = np.minimum(np.array(program.high, dtype=float), 1e9)
    whole = np.ones(len(high))
    inside = LinearConstraint(rows, -np.inf, limits)
    point = milp(0 * whole, integrality=whole, bounds=Bounds(program.low, high), constraints=inside)
    return bool(point.status == 0)
