"""Values of coalitions under first in, first out: a game whose exact Shapley value is feasible for
16 organizations.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ...instances.scheduling import Scheduling
from ...instances.scheduling.instance import Integers

_SLICE = 20_000_000
"""Jobs served between two moments at which Ctrl-C is received: about a second."""


def fifo_values(instance: Scheduling, masks: npt.ArrayLike, times: npt.ArrayLike) -> Integers:
    """Total utility psi_sp of the organizations of each coalition at each time, shape (n, q).

    Jobs are served by release, then organization, then as listed. Nobody overtakes, but with
    backfilling the first waiting job of an organization passes what does not fit, as in the event
    loop's FIFO. Machines are alike; times rise. O(n j log j), times k with backfilling.
    """
    from .queue_kernels import serve

    masks = np.asarray(masks, dtype=np.int64)
    times = np.asarray(times, dtype=np.int64)
    order, jobs, heap = _served(instance)
    values = np.zeros((len(masks), len(times)), dtype=np.int64)
    starts = np.empty(len(order), dtype=np.int64)
    step = max(1, _SLICE // max(1, len(order)))
    for first in range(0, len(masks), step):
        part = slice(first, first + step)
        serve(
            masks[part], instance.machines, *jobs, instance.backfilling, instance.horizon, times,
            heap, values[part], starts,
        )  # fmt: skip
    return values


def fifo_starts(instance: Scheduling, mask: int) -> Integers:
    """Start times (j,) of a coalition's jobs under first in, first out; -1 for jobs not started and
    for others' jobs.
    """
    from .queue_kernels import serve

    order, jobs, heap = _served(instance)
    values = np.zeros((1, 0), dtype=np.int64)
    starts = np.empty(len(order), dtype=np.int64)
    none = np.zeros(0, dtype=np.int64)
    serve(
        np.array([mask]), instance.machines, *jobs, instance.backfilling, instance.horizon, none,
        heap, values, starts,
    )  # fmt: skip
    found = np.empty(len(order), dtype=np.int64)
    found[order] = starts
    return found


def _served(
    instance: Scheduling,
) -> tuple[Integers, tuple[Integers, Integers, Integers, Integers], Integers]:
    """Order of service, jobs in that order for the kernel, and work arrays."""
    order = np.lexsort((np.arange(instance.jobs), instance.organization, instance.release))
    jobs = (
        instance.organization[order],
        instance.release[order],
        instance.processing[order],
        instance.width[order],
    )
    return order, jobs, np.zeros(instance.jobs + 1, dtype=np.int64)


def joined(orders: Sequence[Sequence[int]]) -> tuple[list[int], Integers]:
    """Coalitions met when players join in these orders, and their indices (N, k + 1), where column
    i is the coalition of the first i players.
    """
    place = {0: 0}
    rows = []
    for order in orders:
        mask, row = 0, [0]
        for player in order:
            mask |= 1 << player
            row.append(place.setdefault(mask, len(place)))
        rows.append(row)
    return list(place), np.array(rows, dtype=np.int64)
