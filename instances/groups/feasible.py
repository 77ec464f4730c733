"""Feasibility of a grouping, and the answer as a table."""

from __future__ import annotations

import numpy as np

from ..problem.answer_table import MAX_IN_SENTENCE, AnswerTable, join_first, labels
from ..problem.fields import raise_first_broken
from ..problem.option_types import validate_options
from .instance import FORBIDDEN, UNIT, Grouping, Groups, group_name
from .penalties import units


@validate_options
def check(instance: Groups, grouping: Grouping) -> None:
    """Raise InfeasibleSolution, naming the first broken constraint, unless a grouping places every
    job once, with no group forbidden or larger than its machine, on the available machines.
    """
    members, where = grouping.members, grouping.where
    classes, machines = len(instance.seats), instance.machines
    raise_first_broken((members < -1) | (members >= instance.types), lambda *at: (
        f"members holds {members[at]}; the instance has 0 to {instance.types - 1}"
    ))  # fmt: skip
    raise_first_broken((where < 0) | (where >= classes), lambda at: (
        f"where holds {where[at]}; the instance has 0 to {classes - 1}"
    ))  # fmt: skip
    placed = grouping.placed(instance.types)
    raise_first_broken(placed != instance.count, lambda kind: (
        f"{placed[kind]} jobs of type {instance.names[kind]!r} are placed; there are "
        f"{instance.count[kind]}"
    ))  # fmt: skip
    size = (members >= 0).sum(axis=1)
    raise_first_broken(size > instance.seats[where], lambda at: (
        f"{group_name(instance.names, members[at])} is a group of {size[at]} on a machine of "
        f"{instance.seats[where[at]]} seats"
    ))  # fmt: skip
    used = np.bincount(where, weights=grouping.number, minlength=classes)
    raise_first_broken(used > machines, lambda place: (
        f"{used[place]:.0f} machines of class {instance.classes[place]!r} are used; there are "
        f"{machines[place]:g}"
    ))  # fmt: skip
    for place in np.unique(where).tolist():
        here = np.flatnonzero(where == place)
        broken = units(instance, place, members[here]).max(axis=1) >= FORBIDDEN
        raise_first_broken(broken, lambda at, here=here: (
            f"{group_name(instance.names, members[here[at]])} is a forbidden group"
        ))  # fmt: skip


def answer_table(instance: Groups, grouping: Grouping, most: int | None = None) -> AnswerTable:
    """Table of a grouping: a row for each kind of group, the most frequent first."""
    names = labels("type", instance.names, instance.types)
    places = labels("class", instance.classes, len(instance.seats))
    order = np.argsort(-grouping.number, kind="stable")
    total = len(order)
    made = total if most is None else max(most, MAX_IN_SENTENCE)
    rows: list[tuple[object, ...]] = []
    parts = []
    for at in order[:made].tolist():
        place, many = int(grouping.where[at]), int(grouping.number[at])
        members = grouping.members[at][grouping.members[at] >= 0]
        lost = units(instance, place, members[None, :])[0] / UNIT
        group = group_name(names, members)
        where = [places[place]] if len(places) > 1 else []
        rows.append((group, *where, many, float(lost.mean()), float(lost.max())))
        parts.append(f"{group}{'' if many == 1 else f' ({many}x)'}")
    classes = ["class"] if len(places) > 1 else []
    columns = ("together", *classes, "machines", "mean penalty", "worst penalty")
    sentence = f"group {join_first(parts, total, 'kinds of groups')}"
    return AnswerTable(sentence, columns, tuple(rows[:most]), total)
