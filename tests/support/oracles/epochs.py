"""A second account of a queue in batches: jobs arrive, wait, are paired on the processors that are
free, run, and leave, simulated without machines.

Each epoch, in this order: jobs whose time is over leave; new jobs join the queue; the oldest that
the free processors hold (two each) are paired by the policy and start. A pair holds its processor
until the longer job ends. Source: Cooper sections III.A and V.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

import numpy as np
import numpy.typing as npt

from cotenant.analysis.colocation.batches import Policy, pair_oldest
from cotenant.instances.colocation import Colocation
from cotenant.instances.colocation.objective import mean_penalty


@dataclass(frozen=True)
class Epoch:
    """Counts of an epoch: jobs that came, left and started; jobs and processors afterwards; mean
    penalty and waits [epochs] of the started jobs.
    """

    arrived: int
    finished: int
    placed: int
    waiting: int
    running: int
    processors: int
    penalty: float | None
    waits: tuple[int, ...]


def run_epochs(
    instance: Colocation,
    policy: Policy,
    *,
    processors: int,
    arrivals: npt.ArrayLike,
    duration: int | Sequence[int] = 1,
    rng: np.random.Generator | None = None,
) -> list[Epoch]:
    """Simulate epochs until every job has left.

    Parameters
    ----------
    arrivals : (epochs, T) jobs of each type that arrive.
    duration : epochs that a job of each type runs.
    """
    generator = rng or np.random.default_rng(0)
    length = np.broadcast_to(np.asarray(duration, dtype=np.int64), (instance.types,))
    incoming = np.asarray(arrivals, dtype=np.int64)
    queue, free, running = list[tuple[int, int]](), processors, 0  # epochs of arrival, types
    ends: dict[int, list[int]] = defaultdict(lambda: [0, 0])  # of epochs: processors, jobs
    lines = list[Epoch]()
    for epoch in count():
        new = incoming[epoch] if epoch < len(incoming) else np.zeros_like(incoming[0])
        if epoch >= len(incoming) and not queue and not running:
            break
        freed, finished = ends.pop(epoch, [0, 0])
        free, running = free + freed, running - finished
        queue += [(epoch, kind) for kind in np.repeat(np.arange(len(new)), new).tolist()]
        found = pair_oldest(instance, policy, [kind for _, kind in queue], free, generator)
        placed = 0 if found is None else found[0].agents
        waits = tuple(epoch - since for since, _ in queue[:placed])
        del queue[:placed]
        if found is not None:
            pairing = found[1]
            longer = np.maximum(length[pairing.first], length[pairing.second])
            pairs = zip(longer, pairing.pairs, [2] * len(longer), strict=True)
            alone = zip(length, pairing.single, [1] * instance.types, strict=True)
            for epochs, number, jobs in (*pairs, *alone):
                ends[epoch + int(epochs)][0] += int(number)
                ends[epoch + int(epochs)][1] += jobs * int(number)
                free -= int(number)
        running += placed
        lines.append(
            Epoch(
                int(new.sum()),
                finished,
                placed,
                len(queue),
                running,
                processors - free,
                None if found is None else mean_penalty(found[0], pairing),
                waits,
            )
        )
    return lines
