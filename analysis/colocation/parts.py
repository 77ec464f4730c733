"""Requirements of a colocation instance, one by one: the partners of each type of job."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...instances.colocation.instance import Colocation


def parts(instance: Colocation) -> tuple[list[str], Callable[[list[int]], Colocation]]:
    """Texts of the colocation requirements (which types a type may share with), and a function that
    makes the instance with a subset of them, where types without a requirement may share at no
    penalty.
    """
    present = instance.present
    allowed = instance.allowed[np.ix_(present, present)]
    ruled = present[~(allowed | np.eye(len(present), dtype=bool)).all(axis=1)]
    labels = []
    for kind in ruled.tolist():
        others = [instance.names[each] for each in present if instance.allowed[kind, each]]
        beside = f"beside {', '.join(others)} only" if others else "beside nobody"
        labels.append(f"{instance.names[kind]} runs {beside}")

    def keep(kept: list[int]) -> Colocation:
        bound = np.zeros(instance.types, dtype=bool)
        bound[ruled[kept]] = True
        open_now = ~instance.allowed & ~(bound[:, None] | bound[None, :])
        penalty = np.where(open_now & ~np.eye(instance.types, dtype=bool), 0.0, instance.penalty)
        return instance.without_intervals(penalty=penalty)

    return labels, keep
