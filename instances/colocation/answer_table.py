"""A pairing in words: who runs beside whom, and what it costs each."""

from __future__ import annotations

import numpy as np

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from ..problem.tables import CsvTable
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


def read_table(instance: Colocation, table: CsvTable) -> Pairing:
    """The pairing in a CSV: a row for each pair, and perhaps how many `machines` run it; jobs in no
    row, or beside nobody, run alone. Pairs of different agents may be listed from both sides.
    """
    names, number = labels("type", instance.names, instance.types), dict[tuple[int, int], int]()
    for row in table:
        job, many = row.place("job", names), row.whole("machines") if row["machines"] else 1
        if row["beside"]:
            other = row.place("beside", names)
            pair = min(job, other), max(job, other)
            number[pair] = many + (0 if instance.distinct else number.get(pair, 0))
    pairs = np.array(list(number), dtype=np.int64).reshape(-1, 2)
    many_of = np.array(list(number.values()), dtype=np.int64)
    paired = np.zeros(instance.types, dtype=np.int64)
    np.add.at(paired, pairs, many_of[:, None])
    return Pairing(pairs[:, 0], pairs[:, 1], many_of, np.maximum(instance.count - paired, 0))
