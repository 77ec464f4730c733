"""A pairing in words: who runs beside whom, and what it costs each."""

from __future__ import annotations

import numpy as np

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from .instance import Colocation, Pairing


def answer_table(instance: Colocation, pairing: Pairing, most: int | None = None) -> AnswerTable:
    """Who runs beside whom: a row a pair of types, the most frequent first, then who runs alone."""
    names = labels("type", instance.names, instance.types)
    order = np.argsort(-pairing.pairs, kind="stable")
    alone = np.flatnonzero(pairing.single)
    total = len(order) + len(alone)
    rows: list[tuple[object, ...]] = []
    made = total if most is None else max(most, MAX_IN_SENTENCE)  # the sentence tells the first few
    for place in order[:made].tolist():
        a, b = int(pairing.first[place]), int(pairing.second[place])
        count, penalty = int(pairing.pairs[place]), instance.penalty
        rows.append((names[a], names[b], count, float(penalty[a, b]), float(penalty[b, a])))
    for kind in alone[: max(made - len(rows), 0)].tolist():
        count, penalty_alone = int(pairing.single[kind]), float(instance.single_penalty)
        rows.append((names[kind], None, count, penalty_alone, None))
    each = instance.distinct
    parts = [
        f"{job} {'alone' if other is None else f'beside {other}'}{'' if each else f' ({count}x)'}"
        for job, other, count, *_ in rows[:MAX_IN_SENTENCE]
    ]
    sentence = f"put {join_first(parts, total, 'pairs' if each else 'kinds of pairs')}"
    columns = ("job", "beside", "machines", "penalty of job", "penalty of the other")
    return AnswerTable(sentence, columns, tuple(rows[:most]), total)
