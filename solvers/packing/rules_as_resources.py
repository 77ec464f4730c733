"""Conversion of placement rules on single servers to additional resources."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...instances.packing.instance import Integers, Packing
from ...instances.packing.placement_constraints import given_rules, rules_of

MOST_MASKS = 16
"""Sets of types that a class forbids, each of which is a resource, at most."""


class WithoutRules(NamedTuple):
    """Instance without rules whose placements are those of an instance with rules.

    Attributes
    ----------
    origin : (q,) the class of that instance of each class here.
    """

    instance: Packing
    origin: Integers


def rules_as_resources(instance: Packing) -> WithoutRules | None:
    """Convert the rules on single servers to resources; None if the instance has other rules.

    A limit on VMs of some types is a resource of which each takes 1. Where a class forbids some
    types, it has none of a resource of which each of them takes 1. Servers on which two types are
    apart are two classes, each of which forbids one of the two.
    """
    known = ("allowed", "most_per_server", "apart", "limits")
    if set(given_rules(instance)) - {*known} or instance.placed is not None:
        return None
    rules, unlimited = rules_of(instance), np.isinf(instance.server_count)
    if rules.zone_limits:
        return None
    # 1. classes by the types that they forbid
    origin, masks = list[int](), list[tuple[bool, ...]]()
    for c, column in enumerate(rules.allowed.T.tolist()):
        own = {tuple(column)}
        for pair in rules.apart:
            torn = {mask for mask in own if mask[pair[0]] and mask[pair[1]]}
            own -= torn
            for i in pair:
                own |= {(*mask[:i], False, *mask[i + 1 :]) for mask in torn}
            if len(own) > (MOST_MASKS if unlimited[c] else 1):
                return None
        masks += sorted(own)
        origin += [c] * len(own)
    forbidding = sorted({mask for mask in masks if not all(mask)})
    if len(forbidding) > MOST_MASKS:
        return None
    # 2. resources of limits, and of types that are forbidden
    every = max(1, int(instance.requested.sum()))
    room = [[most] * len(masks) for _, most in rules.limits]
    takes = [[i in members for i in range(instance.types)] for members, _ in rules.limits]
    room += [[0 if mask == own else every for own in masks] for mask in forbidding]
    takes += [[not each for each in mask] for mask in forbidding]
    rows, extra = np.array(origin), np.array(takes, dtype=np.int64).reshape(-1, instance.types)
    plain = Packing(
        capacity=np.hstack([instance.capacity[rows], np.array(room).reshape(-1, len(rows)).T]),
        demand=np.hstack([instance.demand, extra.T]), request=instance.request,
        servers=instance.server_count[rows], cost=instance.server_cost[rows],
    )  # fmt: skip
    return WithoutRules(plain, rows)
