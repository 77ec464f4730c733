"""Time shares in words: which jobs run where, beside whom, and how many at a time."""

from __future__ import annotations

import numpy as np

from ..problem.answer_table import AnswerTable, labels
from .answer import TimeShares
from .instance import Accelerators


def answer_table(
    instance: Accelerators, solution: TimeShares, most: int | None = None
) -> AnswerTable:
    """A row for each type, or pair of types, on each kind of device, the largest shares first."""
    types = labels("type", instance.names, instance.types)
    kinds = labels("device", instance.device_names, len(instance.devices))
    rows = []
    for row in np.argsort(-solution.share, kind="stable").tolist():
        first, second = int(solution.first[row]), int(solution.second[row])
        beside = "alone" if second < 0 else types[second]
        share = float(solution.share[row])
        rows.append((types[first], beside, kinds[int(solution.device[row])], share))
    used = float(instance.workers[solution.first] @ solution.share)
    paired = float(solution.share[solution.second >= 0].sum())
    sentence = f"{used:.6g} of {instance.all_devices} devices are in use"
    sentence += f", {paired:.6g} pairs at a time" if paired else ", every job alone"
    return AnswerTable(
        sentence, ("job", "beside", "device", "at a time"), tuple(rows[:most]), len(rows)
    )
