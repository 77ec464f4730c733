"""Generators of accelerators instances."""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ..problem.option_types import AtLeast, Between, validate_options
from .instance import Accelerators


@validate_options
def random(
    *,
    types: Annotated[int, AtLeast(1, "types of jobs")] = 6,
    kinds: Annotated[int, AtLeast(1, "kinds of devices")] = 3,
    jobs: Annotated[int, AtLeast(1, "jobs")] = 40,
    devices: Annotated[int, AtLeast(1, "devices")] = 20,
    allowed: Annotated[float, Between(0, 1, "a share of the pairs")] = 0.8,
    rng: np.random.Generator,
) -> Accelerators:
    """Draw throughputs uniformly, regardless of type and kind, and pairs that lose up to 60 %.

    Parameters
    ----------
    types : of jobs; each has at least one job if there are as many.
    kinds : of devices, each of at least one if there are as many.
    jobs, devices : how many, in all.
    allowed : share of the pairs of types, on each kind of device, that may run beside each other.
    """
    throughput = rng.uniform(1, 10, (types, kinds)).round(2)
    loss = rng.uniform(0, 0.6, (types, types, kinds))
    together = (throughput[:, None] * (1 - loss)).round(2)
    none = np.triu(rng.random((types, types, kinds)).transpose(2, 0, 1)).transpose(1, 2, 0)
    together[np.maximum(none, none.transpose(1, 0, 2)) > allowed] = np.inf
    return Accelerators(
        throughput,
        _spread(jobs, types, rng),
        _spread(devices, kinds, rng),
        together,
        steps=rng.uniform(1e3, 1e5, types).round(),
        elapsed=rng.uniform(0, 1e4, types).round(),
        device_cost=rng.uniform(0.5, 4, kinds).round(2),
        names=tuple(f"job-{kind + 1}" for kind in range(types)),
        device_names=tuple(f"gpu-{kind + 1}" for kind in range(kinds)),
        name=f"random-{types}-types-{jobs}",
        source=f"synthetic: {jobs} jobs of {types} types, {devices} devices of {kinds} kinds",
    )


def _spread(number: int, over: int, rng: np.random.Generator) -> np.ndarray:
    """Random integers with a given sum, at least 1 each while possible."""
    sure = (np.arange(over) < number).astype(np.int64)
    return sure + rng.multinomial(number - int(sure.sum()), np.full(over, 1 / over))
