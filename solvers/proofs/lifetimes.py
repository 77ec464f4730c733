"""Proofs of peaks and server-times: steps that the search stored (`verify.lifetimes`)."""

from __future__ import annotations

from ...instances.problem.proof import Proof
from . import Task, strongest_proof


def stored_steps(task: Task) -> Proof:
    """Proof of `min-peak` and `hindsight` by the steps in the method's certificate."""
    certificate = task.outcome.certificate
    steps = certificate.get("search", certificate).get("steps", ())
    return strongest_proof(task, [steps])
