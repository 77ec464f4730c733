"""An allocation in words: the cores of each user on each server."""

from __future__ import annotations

import numpy as np

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from .instance import Allocation, Market, total_by


def answer_table(instance: Market, allocation: Allocation, most: int | None = None) -> AnswerTable:
    """The cores of each user on each server, users in order."""
    key = instance.user * instance.servers + instance.server
    order = np.argsort(key, kind="stable")  # quick where jobs stand by user
    first = np.flatnonzero(np.diff(key[order], prepend=-1))
    jobs = np.diff(first, append=len(order))[:most]
    listed = order[: jobs.sum()]
    cores = total_by(np.repeat(np.arange(len(jobs)), jobs), allocation.cores[listed], len(jobs))
    named = max(int(instance.user[listed].max(initial=0)) + 1, MAX_IN_SENTENCE)
    users = labels("user", instance.names[:named], min(named, instance.users))
    servers = labels("server", instance.server_names, instance.servers)
    rows: list[tuple[object, ...]] = []
    for place, number, given in zip(
        key[order[first[:most]]].tolist(), jobs.tolist(), cores.tolist(), strict=True
    ):
        user, server = divmod(place, instance.servers)
        paid = () if allocation.price is None else (float(allocation.price[server] * given),)
        rows.append((users[user], servers[server], number, given, *paid))
    whole = total_by(instance.user, allocation.cores, instance.users)
    parts = [
        f"{name} {count:.4g} cores"
        for name, count in zip(users[:MAX_IN_SENTENCE], whole, strict=False)
    ]
    columns = ("user", "server", "jobs", "cores", *(() if allocation.price is None else ("pays",)))
    sentence = f"give {join_first(parts, instance.users, 'users')}"
    return AnswerTable(sentence, columns, tuple(rows), len(first))
