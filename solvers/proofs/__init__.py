"""Producers of proofs: from an answer with a bound to a file that `verify.py` accepts, one file for
each theory.

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
  that were made.
- When the time is up (`task.clock.over`) or Ctrl-C comes it returns what it has: any bound that its
  steps prove, at worst none. A level says "optimal" only where value and bound are equal, and "gap"
  else, of itself.
- Where the verifier may be asked for more work than it has patience for, `patience` counts.
- A case that it cannot prove at all raises `Claimed`, with the reason.
- A kind of step is a theorem: its checker stands in `verify.py` beneath it, and METHODS there names
  the method, the options that change what is claimed, and its levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ... import verify
from ...instances.problem.base import Instance
from ...instances.problem.errors import CotenantError
from ..outcome import Clock, Outcome

__all__ = ["Claimed", "Task", "patience"]


class Claimed(CotenantError):
    """There is no proof as a file for this: what the method says stays a claim. The message says of
    what, and why.
    """


@dataclass(frozen=True)
class Task:
    """What a producer gets.

    Attributes
    ----------
    instance : for solvers and indices.
    document : its fields as `verify.parse` reads them, decimals as text; without format, problem,
        name and source.
    options : of the method, as given.
    outcome : what the method returned.
    clock : of the proof; when it is over, what there is by then is returned.
    """

    instance: Any
    document: Mapping[str, object]
    options: Mapping[str, Any]
    outcome: Outcome
    clock: Clock

    @classmethod
    def of(
        cls,
        content: bytes,
        instance: Instance,
        options: Mapping[str, Any],
        outcome: Outcome,
        clock: Clock,
    ) -> Task:
        """The task of an instance whose file holds `content` (unpacked)."""
        document = verify.parse(content, decimals=True)
        own = {
            name: value
            for name, value in document.items()
            if name not in ("cotenant", "problem", "name", "source")
        }
        return cls(instance, own, options, outcome, clock)

    @property
    def witness(self) -> dict[str, Any] | None:
        """The answer as its JSON document; None when there is none."""
        return None if self.outcome.solution is None else self.outcome.solution.document()

    def case(
        self, options: Mapping[str, Any] | None = None, *steps: Sequence[Mapping[str, Any]]
    ) -> verify.ProofCase:
        """What the verifier's checker will get, with these options and these steps of each
        level.
        """
        return verify.ProofCase(
            dict(self.document), dict(options or {}), self.witness, [list(level) for level in steps]
        )


@contextmanager
def patience(share: float = 1.0) -> Iterator[None]:
    """Within it `verify` has a share of the patience that it has for a file, and refuses what takes
    longer; outside it does not count.
    """
    before, verify.WorkLimit.left = verify.WorkLimit.left, int(share * verify.MOST_WORK)
    try:
        yield
    finally:
        verify.WorkLimit.left = before
