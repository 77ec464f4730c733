"""The checker of an answer."""

from __future__ import annotations

import numpy as np

from ..problem.errors import InfeasibleSolution
from ..problem.option_types import validate_options
from .instance import FORBIDDEN, Grouping, Groups, group_name
from .penalties import units


@validate_options
def check(instance: Groups, grouping: Grouping) -> None:
    """Decide whether a grouping is feasible: every job placed once, no group larger than its
    machine or forbidden, and no more machines than there are.

    Raises
    ------
    InfeasibleSolution
        Naming the first rule that is broken.
    """
    members, where = grouping.members, grouping.where
    for what, value, most in (
        ("members", members, instance.types),
        ("where", where, len(instance.seats)),
    ):
        least = -1 if what == "members" else 0
        wrong = (value < least) | (value >= most)
        if wrong.any():
            raise InfeasibleSolution(
                f"{what} holds {int(value[wrong][0])}; the instance has 0 to {most - 1}"
            )
    placed = grouping.placed(instance.types)
    if (placed != instance.count).any():
        place = int(np.argmax(placed != instance.count))
        raise InfeasibleSolution(
            f"{placed[place]} jobs of type {instance.names[place]!r} are placed; there are "
            f"{instance.count[place]}"
        )
    large = (members >= 0).sum(axis=1) > instance.seats[where]
    if large.any():
        place = int(np.argmax(large))
        raise InfeasibleSolution(
            f"{group_name(instance, members[place])} is a group of {(members[place] >= 0).sum()} "
            f"on a machine of {instance.seats[where[place]]} seats"
        )
    used = np.bincount(where, weights=grouping.number, minlength=len(instance.seats))
    assert instance.machines is not None
    if (used > instance.machines).any():
        place = int(np.argmax(used > instance.machines))
        raise InfeasibleSolution(
            f"{used[place]:.0f} machines of class {instance.classes[place]!r} are used; there are "
            f"{instance.machines[place]:g}"
        )
    for place in np.unique(where).tolist():
        here = np.flatnonzero(where == place)
        broken = units(instance, place, members[here]).max(axis=1) >= FORBIDDEN
        if broken.any():
            group = group_name(instance, members[here[int(np.argmax(broken))]])
            raise InfeasibleSolution(f"{group} is a forbidden group")
