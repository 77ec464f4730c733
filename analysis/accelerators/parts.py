"""Requirements of an accelerators instance, one by one: the deadlines of its jobs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...instances.accelerators.instance import Accelerators


def parts(instance: Accelerators) -> tuple[list[str], Callable[[list[int]], Accelerators]]:
    """Text of each requirement, and a function that returns the instance with some of them, where
    the other jobs have no deadline.
    """
    deadline = np.full(instance.types, np.inf) if instance.deadline is None else instance.deadline
    bound = np.flatnonzero(np.isfinite(deadline) & (instance.count > 0))
    labels = [f"{instance.names[kind]} within {deadline[kind]:g} s" for kind in bound.tolist()]

    def keep(kept: list[int]) -> Accelerators:
        left = np.full(instance.types, np.inf)
        left[bound[kept]] = deadline[bound[kept]]
        return instance.replace(deadline=left)

    return labels, keep
