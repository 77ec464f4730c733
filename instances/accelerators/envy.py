"""Who would rather have another job's time shares."""

from __future__ import annotations

import numpy as np

from .answer import TimeShares
from .instance import Accelerators, Floats, Integers
from .measures import throughputs


def envy(instance: Accelerators, solution: TimeShares) -> float:
    """The largest part by which a job's throughput is less than in another job's place, 0 to 1.

    A job in another's place runs where that one does, alone or beside the same jobs, for the same
    parts of its time, times its own weight over the other's. Only jobs that need equally many
    workers are compared; where a job cannot run it has no throughput. O(T k) for k shares.
    """
    from scipy.sparse import csr_array

    taken = np.zeros((instance.types, instance.types))  # of a job of the row in the column's place
    first, second, device, share = (
        solution.first, solution.second, solution.device, solution.share
    )  # fmt: skip
    for own, beside in ((first, second), (second, first)):
        rows = np.flatnonzero(own >= 0)
        if not len(rows):
            continue
        rate = _rates(instance, beside[rows], device[rows])
        part = share[rows] / (instance.count * instance.weight)[own[rows]]
        places = own[rows], np.arange(len(rows))
        taken += (csr_array((part, places), (instance.types, len(rows))) @ rate.T).T
    most = np.zeros(instance.types)
    for workers in np.unique(instance.workers).tolist():
        alike = np.flatnonzero((instance.workers == workers) & (instance.count > 0))
        most[alike] = taken[np.ix_(alike, alike)].max(axis=1, initial=0.0)
    most *= instance.weight
    behind = most - throughputs(instance, solution)
    return float(np.divide(behind, most, out=np.zeros(len(most)), where=most > 0).max(initial=0.0))


def _rates(instance: Accelerators, beside: Integers, device: Integers) -> Floats:
    """(T, k) steps a second of a job of each type beside a job of the type given (-1: none)."""
    rate: Floats = instance.alone[:, device]
    pair = np.flatnonzero(beside >= 0)
    if len(pair) and instance.together is not None:
        shared = instance.together[:, beside[pair], device[pair]]
        rate[:, pair] = np.where(np.isfinite(shared), shared, 0.0)
    return rate
