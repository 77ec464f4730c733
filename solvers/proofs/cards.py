"""Proofs of the maximum GPUs allocated: dual prices."""

from __future__ import annotations

import numpy as np

from ...instances.problem.proof import Proof
from ..packing.cards import CardSearch
from . import Task, strongest_proof


def max_gpus(task: Task) -> Proof:
    """Proof of `max-gpus`: prices of VMs, and of resources, cards and shares by class."""
    step = task.outcome.certificate.get("card_prices")
    if step is None:
        search = CardSearch(task.instance, task.clock, np.random.default_rng(0))
        step = search.shown(search.relaxed()[1])
    return strongest_proof(task, [[{"kind": "prices", **step}]])
