"""Proofs of peaks and server-times: the steps that the search kept (`verify.lifetimes`)."""

from __future__ import annotations

from ...instances.problem.proof import Proof
from . import Task, checked_proof, claimed_if_refused


def stored_steps(task: Task) -> Proof:
    """Of `min-peak` and `hindsight`."""
    certificate = task.outcome.certificate
    steps = certificate.get("search", certificate).get("steps", ())
    with claimed_if_refused(task.patience):
        return checked_proof(task, steps)
