"""A policy's shares in words: how far from their data the tasks of each class run."""

from __future__ import annotations

import numpy as np

from ..problem.answer_table import AnswerTable, labels
from .answer import Flow, Simulation
from .feasible import flow_by_distance
from .instance import Numa


def answer_table(
    instance: Numa, solution: Simulation | Flow, most: int | None = None
) -> AnswerTable:
    """The share of each class's tasks at each distance from their data."""
    if isinstance(solution, Simulation):
        counts, window, who = solution.served.astype(float), solution.window, solution.policy
    else:
        counts, window, who = flow_by_distance(instance, solution), 1.0, "the flow"
    names = labels("class", instance.names, instance.classes)
    far = ["local", *(f"{hops} hop{'s' * (hops > 1)}" for hops in range(1, counts.shape[1] - 1))]
    far = [*far[: counts.shape[1] - 1], "another blade"]
    rates = counts.sum(axis=1) / window
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), np.finfo(float).tiny)
    shown = instance.classes if most is None else min(most, instance.classes)
    rows = tuple((names[kind], float(rates[kind]), *shares[kind].tolist()) for kind in range(shown))
    total = counts.sum(axis=0) / max(float(counts.sum()), np.finfo(float).tiny)
    parts = [f"{100 * share:.0f} % {name}" for name, share in zip(far, total, strict=True) if share]
    sentence = f"{who} runs {rates.sum():.4g} tasks/s: {', '.join(parts) or 'none'}"
    return AnswerTable(sentence, ("class", "tasks/s", *far), rows, instance.classes)
