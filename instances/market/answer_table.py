"""An allocation in words: the cores of each user on each server."""

from __future__ import annotations

import numpy as np

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from .instance import Allocation, Market, total_by


def answer_table(instance: Market, allocation: Allocation, most: int | None = None) -> AnswerTable:
    """The cores of each user on each server, users in order."""
    users = labels("user", instance.names, instance.users)
    servers = labels("server", instance.server_names, instance.servers)
    places, tenancy = np.unique(
        instance.user * instance.servers + instance.server, return_inverse=True
    )
    cores = np.bincount(tenancy.reshape(-1), weights=allocation.cores, minlength=len(places))
    jobs = np.bincount(tenancy.reshape(-1), minlength=len(places))
    rows: list[tuple[object, ...]] = []
    for number in range(len(places) if most is None else min(most, len(places))):
        user, server = divmod(int(places[number]), instance.servers)
        row = (users[user], servers[server], int(jobs[number]), float(cores[number]))
        paid = () if allocation.price is None else (float(allocation.price[server] * row[3]),)
        rows.append((*row, *paid))
    whole = total_by(instance.user, allocation.cores, instance.users)
    parts = [
        f"{name} {count:.4g} cores"
        for name, count in zip(users[:MAX_IN_SENTENCE], whole, strict=False)
    ]
    columns = ("user", "server", "jobs", "cores", *(() if allocation.price is None else ("pays",)))
    sentence = f"give {join_first(parts, instance.users, 'users')}"
    return AnswerTable(sentence, columns, tuple(rows), len(places))
