"""Waiting jobs of a queue in memory, by type and age."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

import numpy as np

from ...analysis.colocation.batches import Batch, Waiting
from ...instances.colocation.instance import Integers
from .action_recommender import Types
from .queue_store import Entry


class WaitingQueue:
    """Waiting jobs of a queue, by type and age.

    Parameters
    ----------
    names : of the types.

    Attributes
    ----------
    types : name -> place.
    queue : how many jobs of each type wait, by age.
    entries, attempts : of every job, by its row; attempts grow as jobs are begun.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self.types = {name: place for place, name in enumerate(names)}
        self.queue = Waiting(len(names))
        self.entries: dict[int, Entry] = {}
        self.attempts: dict[int, int] = {}
        self._ids: dict[tuple[int, int], deque[int]] = defaultdict(deque)

    def arrive(self, entries: Iterable[Entry]) -> None:
        """Add the queue entries in state `waiting` to the waiting jobs, the oldest first."""
        added: dict[int, Integers] = {}
        for entry in entries:
            self.entries[entry.number] = entry
            self.attempts[entry.number] = entry.attempts
            if entry.state == "waiting":
                kind = self.types[entry.kind]
                self._ids[entry.age, kind].append(entry.number)
                counts = added.setdefault(entry.age, np.zeros(len(self.types), dtype=np.int64))
                counts[kind] += 1
        for age, counts in added.items():
            self.queue.add(age, counts)

    def take(self, batch: Batch, groups: Iterable[Types]) -> list[tuple[int, ...]]:
        """Take the oldest waiting jobs of the given types, for each group of types in a batch."""
        taken: list[deque[int]] = [deque() for _ in self.types]
        for age, counts in batch:
            for kind in np.flatnonzero(counts).tolist():
                waits = self._ids[age, kind]
                taken[kind].extend(waits.popleft() for _ in range(counts[kind]))
                if not waits:
                    del self._ids[age, kind]
        return [tuple(taken[kind].popleft() for kind in types) for types in groups]

    def kinds(self, numbers: Iterable[int]) -> Types:
        """Types of jobs by row number."""
        return tuple(self.types[self.entries[number].kind] for number in numbers)

    def put_back(self, numbers: Iterable[int]) -> None:
        """Return jobs to the queue at their original age."""
        batch = []
        for number in numbers:
            entry = self.entries[number]
            kind = self.types[entry.kind]
            counts = np.zeros(len(self.types), dtype=np.int64)
            counts[kind] = 1
            self._ids[entry.age, kind].append(number)
            batch.append((entry.age, counts))
        self.queue.put_back(batch)
