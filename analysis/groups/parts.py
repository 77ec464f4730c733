"""Requirements of a groups instance, one by one: forbidden groups and numbers of machines."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...instances.groups.instance import Groups


def parts(instance: Groups) -> tuple[list[str], Callable[[list[int]], Groups]]:
    """Texts of the groups requirements (forbidden neighbors, numbers of machines), and a function
    that makes the instance with a subset of them.
    """
    machines_of = np.array(instance.machines, dtype=float)
    present, classes = instance.count > 0, np.flatnonzero(np.isfinite(machines_of))
    never = np.zeros((instance.types, instance.types), dtype=bool)
    if instance.penalty is not None:
        anywhere = np.isinf(instance.penalty).reshape(-1, *never.shape).all(axis=0)
        never = (anywhere | anywhere.T) & present & present[:, None]
    ruled = np.flatnonzero(never.any(axis=1))
    labels = []
    for kind in ruled.tolist():
        others = [instance.names[each] for each in np.flatnonzero(never[kind])]
        labels.append(f"{instance.names[kind]} never beside {', '.join(others)}")
    for one in classes.tolist():
        name = f" of {instance.classes[one]}" if len(instance.seats) > 1 else ""
        number, seats = int(machines_of[one]), int(instance.seats[one])
        labels.append(f"{number} machine{'s' * (number != 1)}{name} of {seats} seats")

    def keep(kept: list[int]) -> Groups:
        bound = np.isin(np.arange(instance.types), ruled[[k for k in kept if k < len(ruled)]])
        machines = machines_of.copy()
        machines[classes[[k for k in range(len(classes)) if k + len(ruled) not in kept]]] = np.inf
        changed = {"machines": machines}
        if instance.penalty is not None:
            free = never & ~(bound[:, None] | bound)
            changed["penalty"] = np.where(free, 0.0, instance.penalty)
        return instance.replace(**changed)

    return labels, keep
