"""Placement as a table of the VMs on each server."""

from __future__ import annotations

import numpy as np

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from ..problem.tables import CsvTable
from .cards import card_numbers
from .instance import Integers, Packing, Placement


def answer_table(instance: Packing, placement: Placement, most: int | None = None) -> AnswerTable:
    """Table of a placement: a row for each server and VM type on it, with the cards in use."""
    names = labels("VM", instance.names, instance.types)
    classes = labels("class", instance.class_names, instance.classes)
    server, kind = np.nonzero(placement.count)
    shown = len(server) if most is None else min(most, len(server))
    rows: tuple[tuple[object, ...], ...] = tuple(
        (
            int(server[index]),
            classes[int(placement.server_class[server[index]])],
            names[int(kind[index])],
            int(placement.count[server[index], kind[index]]),
        )
        for index in range(shown)
    )
    columns: tuple[str, ...] = ("server", "class", "VM", "count")
    if instance.cards is not None:
        columns += ("cards",)
        on = {
            m: card_numbers(instance, placement.count[m], int(placement.server_class[m]))
            for m in np.unique(server[:shown]).tolist()
        }
        cards = (on[m].get(i, []) for m, i in zip(server.tolist(), kind.tolist(), strict=True))
        rows = tuple((*row, ", ".join(map(str, next(cards)))) for row in rows)
    parts = []
    for number in range(min(MAX_IN_SENTENCE, placement.servers)):
        types = np.flatnonzero(placement.count[number])
        counts = placement.count[number]
        texts = [f"{counts[each]} x {names[each]}" for each in types[:MAX_IN_SENTENCE].tolist()]
        rest = len(types) - MAX_IN_SENTENCE
        more = [f"{rest} more type{'s' * (rest > 1)}"] if rest > 0 else []
        where = classes[int(placement.server_class[number])]
        parts.append(f"{' + '.join([*texts, *more])} on server {number} ({where})")
    sentence = f"put {join_first(parts, placement.servers, 'servers')}" if parts else "put nothing"
    return AnswerTable(sentence, columns, rows, len(server))


def read_table(instance: Packing, table: CsvTable) -> Placement:
    """Read a placement from CSV: a row for each type of VM on a server, perhaps with its `count`,
    and the server's `class` where there are several; servers are told apart by their column.
    """
    names = labels("VM", instance.names, instance.types)
    classes = labels("class", instance.class_names, instance.classes)
    count, of_class = dict[str, Integers](), dict[str, int]()
    for row in table:
        server = row.word("server")
        kind = row.place("class", classes) if row["class"] or len(classes) > 1 else 0
        if of_class.setdefault(server, kind) != kind:
            raise row.wrong("class", f"that of server {server!r} in the rows before")
        loads = count.setdefault(server, np.zeros(instance.types, dtype=np.int64))
        loads[row.place("VM", names)] += row.whole("count") if row["count"] else 1
    return Placement(np.array(list(count.values())), np.array(list(of_class.values())))
