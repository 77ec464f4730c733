"""A placement in words: which VMs run on which server."""

from __future__ import annotations

import numpy as np

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from .instance import Packing, Placement


def answer_table(instance: Packing, placement: Placement, most: int | None = None) -> AnswerTable:
    """Which VMs run on which server: a row for each server and type of VM on it."""
    names = labels("VM", instance.names, instance.types)
    classes = labels("class", instance.class_names, instance.classes)
    server, kind = np.nonzero(placement.count)
    shown = len(server) if most is None else min(most, len(server))
    rows = tuple(
        (
            int(server[place]),
            classes[int(placement.server_class[server[place]])],
            names[int(kind[place])],
            int(placement.count[server[place], kind[place]]),
        )
        for place in range(shown)
    )
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
    return AnswerTable(sentence, ("server", "class", "VM", "count"), rows, len(server))
