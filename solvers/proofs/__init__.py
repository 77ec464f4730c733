"""Producers of proofs: they turn an answer with a bound into a file that the verifier accepts.

A method names its producer in the catalogue, `Method.proof_producer =
"solvers.proofs.<file>:<function>"`. A producer is

    def producer(task: Task) -> Proof

and follows these rules.

- What it reads is `task.document`, the instance's fields as the verifier reads them: decimals as
  written, never as the floats of `task.instance`, which are for solvers and for indices.
  `verify.Colocation(task.case())` and the like give whole numbers over one denominator, the same
  that the verifier will compute with.
- `task.outcome` is what the method returned; its solution is the witness (`task.witness`), its
  bound is only a hint.
- It may run solvers in floats. Multipliers become whole numbers by `rounding`; value and bound of
  each level are then worked out again exactly, best by the verifier's own function on the steps
  that were made (`checked_proof`).
- When the time is up (`task.clock.expired`) or Ctrl-C comes it returns what it has: any bound that
  its steps prove, at worst none. A level says "optimal" only where value and bound are equal, and
  "gap" else, of itself.
- Where the verifier may be asked for more work than it has patience for, `patience` counts.
- Numbers are tried from coarse to fine: `strongest_proof` keeps what proves most.
- A case that it cannot prove at all raises `Claimed`, with the reason.
- A kind of step is a theorem: its checker stands beneath it in the problem's file of `verify`, and
  METHODS there names the method, the options that change what is claimed, and its levels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from types import EllipsisType
from typing import Any

from ...instances.problem.base import Instance
from ...instances.problem.errors import CotenantError
from ...instances.problem.proof import Level, Proof
from ...verify import methods_of
from ...verify.frame import ProofCase
from ...verify.reading import MOST_WORK, Refused, WorkLimit, parse
from ..outcome import Clock, Outcome

__all__ = ["Claimed", "Task", "checked_proof", "claimed_if_refused", "patience", "strongest_proof"]


class Claimed(CotenantError):
    """Raised where no proof file can be made; the message says why a result stays a claim."""


@dataclass(frozen=True)
class Task:
    """Input of a producer: instance, method, options, and outcome.

    Attributes
    ----------
    instance : for solvers and indices.
    method : whose answer it is; one producer may serve several.
    document : its fields as `verify.parse` reads them, decimals as text; without format, problem,
        name and source.
    options : of the method, as given.
    outcome : what the method returned.
    clock : of the proof; when it is over, what there is by then is returned.
    patience : how many times its usual work the verifier will do to judge the proof.
    """

    instance: Any
    method: str
    document: Mapping[str, object]
    options: Mapping[str, Any]
    outcome: Outcome
    clock: Clock
    patience: float = 1

    @classmethod
    def of(
        cls,
        content: bytes,
        instance: Instance,
        method: str,
        options: Mapping[str, Any],
        outcome: Outcome,
        clock: Clock,
    ) -> Task:
        """Task to prove an outcome, with the document that the instance file's bytes contain."""
        document = parse(content, decimals=True)
        fields = {
            name: value
            for name, value in document.items()
            if name not in ("cotenant", "problem", "name", "source")
        }
        return cls(instance, method, fields, options, outcome, clock)

    @property
    def witness(self) -> dict[str, Any] | None:
        """Answer as a JSON document; None without an answer."""
        return None if self.outcome.solution is None else self.outcome.solution.document()

    def case(
        self, options: Mapping[str, Any] | None = None, *steps: Sequence[Mapping[str, Any]]
    ) -> ProofCase:
        """Input of the verifier's checker, with options and the steps of each level."""
        return ProofCase(
            dict(self.document), dict(options or {}), self.witness, [list(level) for level in steps]
        )


@contextmanager
def patience(share: float = 1.0) -> Iterator[None]:
    """Context in which the verifier's checkers may use a share of a file's work limit; more is
    refused.
    """
    before, WorkLimit.left = WorkLimit.left, int(share * MOST_WORK)
    try:
        yield
    finally:
        WorkLimit.left = before


@contextmanager
def claimed_if_refused(share: float = 1.0) -> Iterator[None]:
    """Context in which a refusal of the verifier raises `Claimed`."""
    try:
        with patience(share):
            yield
    except Refused as why:
        raise Claimed(str(why)) from None


def checked_proof(
    task: Task,
    *steps: Sequence[Mapping[str, Any]],
    method: str = "",
    options: Mapping[str, Any] | None = None,
    witness: Mapping[str, Any] | EllipsisType | None = ...,
) -> Proof:
    """Proof made of steps for each level, with the values and bounds that the verifier computes;
    `method` and `witness` override the task's.

    Raises
    ------
    Refused
        The checker refuses the answer or a step.
    """
    method = method or task.method
    _, goals, checker = methods_of(task.instance.problem)[method]
    assert callable(checker)
    case = task.case(options, *steps)
    case.witness = case.witness if witness is ... else witness
    levels = []
    for goal, checked, own in zip(goals.split(","), checker(case), steps, strict=False):
        objective, sense = goal.split()
        level = Level(objective, sense, checked.value, checked.bound, tuple(own))  # type: ignore[arg-type]
        if checked.infeasible:
            level = replace(level, value=None, bound=None, infeasible=True)
        levels.append(replace(level, epsilon=checked.epsilon))
    shown: Any = case.witness
    return Proof(task.instance.problem, method, tuple(levels), dict(options or {}), shown)


def strongest_proof(
    task: Task, tries: Iterable[Sequence[Mapping[str, Any]]], *,
    before: Sequence[Sequence[Mapping[str, Any]]] = (), **shown: Any,
) -> Proof:  # fmt: skip
    """Proof from the first candidate steps that prove the value, else from those with the strongest
    bound; refused steps are skipped.

    Parameters
    ----------
    tries : the steps, best from coarse to fine.
    before : the steps of each level before it.
    shown : `method`, `options` and `witness` of `checked_proof`.

    Raises
    ------
    Claimed
        The verifier refuses all of them.
    """

    def strength(proof: Proof) -> float | Fraction:
        level = proof.levels[-1]
        if level.infeasible or level.bound is None:
            return math.inf if level.infeasible else -math.inf
        return level.bound if level.sense == "min" else -level.bound

    best, why = None, "there was no time for a step of a proof"
    for steps in tries:
        try:
            with patience(task.patience):
                proof = checked_proof(task, *before, steps, **shown)
        except Refused as refusal:
            why = str(refusal)
            continue
        best = proof if best is None or strength(proof) > strength(best) else best
        if best.complete:
            break
    if best is None:
        raise Claimed(why)
    return best
