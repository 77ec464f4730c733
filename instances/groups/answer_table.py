"""A grouping in words: who runs together, and what it costs each."""

from __future__ import annotations

import numpy as np

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from .instance import UNIT, Grouping, Groups
from .penalties import units


def answer_table(instance: Groups, grouping: Grouping, most: int | None = None) -> AnswerTable:
    """Who runs together: a row a kind of group, the most frequent first."""
    names = labels("type", instance.names, instance.types)
    places = labels("class", instance.classes, len(instance.seats))
    order = np.argsort(-grouping.number, kind="stable")
    total = len(order)
    made = total if most is None else max(most, MAX_IN_SENTENCE)
    rows: list[tuple[object, ...]] = []
    parts = []
    for at in order[:made].tolist():
        place, many = int(grouping.where[at]), int(grouping.number[at])
        members = grouping.members[at][grouping.members[at] >= 0]
        lost = units(instance, place, members[None, :])[0] / UNIT
        kinds, number = np.unique(members, return_counts=True)
        group = " + ".join(
            f"{'' if times == 1 else f'{times} '}{names[kind]}"
            for kind, times in zip(kinds.tolist(), number.tolist(), strict=True)
        )
        where = [places[place]] if len(places) > 1 else []
        rows.append((group, *where, many, float(lost.mean()), float(lost.max())))
        parts.append(f"{group}{'' if many == 1 else f' ({many}x)'}")
    classes = ["class"] if len(places) > 1 else []
    columns = ("together", *classes, "machines", "mean penalty", "worst penalty")
    sentence = f"group {join_first(parts, total, 'kinds of groups')}"
    return AnswerTable(sentence, columns, tuple(rows[:most]), total)
