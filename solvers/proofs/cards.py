"""Proofs of the maximum GPUs allocated: dual prices, or a tree of cases beyond them."""

from __future__ import annotations

import numpy as np

from ...instances.problem.proof import Proof
from ..packing.cards import CardSearch
from . import Task, strongest_proof


def max_gpus(task: Task) -> Proof:
    """Proof of `max-gpus`: prices of VMs, and of resources, cards and shares by class; and a tree
    of cases if the method found one.
    """
    step = task.outcome.certificate.get("card_prices")
    if step is None:
        search = CardSearch(task.instance, task.clock, np.random.default_rng(0))
        step = search.shown(search.relaxed()[1])
    steps = [{"kind": "prices", **step}]
    if (tree := task.outcome.certificate.get("card_tree")) is not None:
        steps.append({"kind": "propagation", **tree})
    return strongest_proof(task, [steps])
