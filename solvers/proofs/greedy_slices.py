"""Proofs of slices over time: the fractional answer, from which the bound follows
(`verify.quanta`).
"""

from __future__ import annotations

from ...instances.problem.proof import Proof, multipliers
from ...instances.quanta import Slices
from . import Task, strongest_proof
from .rounding import over_common


def greedy_slices(task: Task) -> Proof:
    """Proof of `horizon` and `leximin` of quanta: the slices."""
    assert isinstance(task.outcome.solution, Slices)
    rows = task.outcome.solution.exact()
    witness = {"slices": [multipliers(*over_common(row)) for row in rows]}
    return strongest_proof(task, [[{"kind": "greedy"}]], witness=witness)
