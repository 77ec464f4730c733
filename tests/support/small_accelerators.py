"""Small instances of sharing accelerators: ties, pairs of one type, types of one job, pairs that are
not allowed, gangs.
"""

from __future__ import annotations

import numpy as np

from cotenant.instances.accelerators import Accelerators


def drawn(seed: int, most_jobs: int = 5) -> Accelerators:
    """Up to so many jobs of up to three types on up to three kinds of devices."""
    rng = np.random.default_rng(seed)
    types, kinds = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    count = np.ones(types, dtype=int)
    while count.sum() < most_jobs and rng.random() < 0.8:
        count[rng.integers(types)] += 1
    devices = rng.integers(0, 3, kinds)
    workers = rng.choice([1, 1, 1, 2], types)
    devices[rng.integers(kinds)] += int(workers.max())
    values = [1, 2, 3, 4] if rng.random() < 0.5 else (rng.uniform(0.2, 9, 40)).round(2)
    throughput = rng.choice(values, (types, kinds)).astype(float)
    throughput[rng.random(throughput.shape) < 0.1] = 0.0
    together = rng.choice([0.3, 0.5, 0.5, 0.7, 1.0], (types, types, kinds)) * throughput[:, None]
    together = together.round(3)
    together[rng.random(together.shape) < 0.2] = np.inf
    most = np.where(workers[:, None] <= devices, throughput, 0.0)
    for kind in np.flatnonzero(~(most > 0).any(axis=1)):
        throughput[kind, int(devices.argmax())] = 1.0
    return Accelerators(
        throughput,
        count,
        devices,
        None if rng.random() < 0.1 else together,
        workers,
        weight=rng.choice([1, 1, 2, 0.5], types),
        steps=rng.choice([1, 10, 100, 250], types),
        elapsed=rng.choice([0, 0, 5, 40], types),
        device_cost=rng.choice([1, 2, 0.5], kinds),
        entity_weight=rng.choice([1, 2], 2),
        entity=rng.integers(0, 2, types),
    )
