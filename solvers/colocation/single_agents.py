"""The least penalty with few blocking pairs, of agents that all differ: only pairs that may be in a
better pairing are in the program.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Floats, Pairing
from ...models.colocation.single_agents import SingleAgents
from ..engines import EngineName, WarmStartedProgram, solve_program
from ..outcome import Clock, Status, Stop
from ..roommates import WeakLists, blocking_pairs
from ..roommates.first_phase import possible_pairs
from ..roommates.ranks import UNRANKED

_NEGATIVE = 1e-7
"""A reduced cost above minus this part of the largest cost is 0 to the engines."""

_SHARE = 0.05
"""Part of what the best pairing lies above the relaxation, up to which pairs are tried first."""


def agents_of(instance: Colocation, lists: WeakLists, most: int) -> SingleAgents:
    """The agents, with the pairs that a pairing with so few blocking pairs can use."""
    usable = lists.place < UNRANKED
    if most == 0:
        usable &= possible_pairs(lists)
    usable &= usable.T
    reached = np.take_along_axis(lists.better, np.maximum(lists.order, 0), axis=1)
    reached[lists.order < 0] = UNRANKED
    need = np.stack([
        np.searchsorted(row, place, side="right")
        for row, place in zip(reached, lists.place, strict=True)
    ])  # fmt: skip
    types = instance.agent_types()
    penalty = instance.penalty[np.ix_(types, types)]
    cost = np.where(usable, penalty + penalty.T, np.inf)
    return SingleAgents(cost, lists.place.astype(np.int64), need.astype(np.int64), most)


def least_penalty(
    instance: Colocation,
    lists: WeakLists,
    start: Pairing,
    most: int,
    clock: Clock,
    engine: EngineName,
    cheapest: int = 12,
) -> tuple[Pairing, float | None, Stop]:
    """The pairing of least mean penalty with at most `most` blocking pairs, and a bound on all of
    them, None where there was no time for one.

    Parameters
    ----------
    lists : of all agents, each of whom has a partner.
    start : a pairing with so few blocking pairs.
    cheapest : pairs of each agent that the first relaxation has, and that each one after it adds.

    Pairs are added to the relaxation until its multipliers bound the cost of all. Whoever uses a
    pair pays its reduced cost on top of that; so a program over the pairs of little reduced cost
    has the best pairing of all, where that lies no further above the relaxation than the least of
    the others.
    """
    agents = agents_of(instance, lists, most)
    mate, best = start.partners(instance), start
    here, usable = np.arange(len(mate)), np.isfinite(agents.cost)
    least_gap = _NEGATIVE * float(agents.cost.max(initial=0.0, where=usable))
    needed = np.zeros(usable.shape, dtype=np.bool_)
    needed[here, mate] = True
    # 1. A bound by multipliers, and how much more a pairing costs that uses a pair
    found = _relaxed(agents, needed, least_gap, clock, cheapest)
    if isinstance(found, Stop):
        return best, None, found
    bound, reduced = found
    proved = bound
    cost = float(agents.cost[here, mate].sum()) / 2
    room = max(_SHARE * (cost - bound), least_gap)
    # 2. The best pairing of pairs that cost little more, and more of them until none is better
    while not clock.expired:
        some = agents.program(needed | (usable & (reduced <= room)))
        answer = solve_program(some.program, engine=engine, time_limit=clock.left)
        if answer.status is Status.INFEASIBLE:
            proved = max(proved, bound + room)
        elif answer.bound is not None:
            proved = max(proved, min(answer.bound, bound + room))
        if answer.point is not None:
            mate = some.partners(answer.point)
            blocking = blocking_pairs(lists.place, mate, lists.better)
            sides = tuple(blocking.T)
            if len(blocking) > most and not needed[sides].all():
                needed[sides] = needed[sides[::-1]] = True
                continue
            now = float(agents.cost[here, mate].sum()) / 2
            if len(blocking) <= most and now < cost:
                types = instance.agent_types()
                cost, best = now, Pairing.from_partners(types, mate, instance.types)
        if answer.stop is not Stop.FINISHED or cost - bound <= room:
            return best, proved / len(mate), answer.stop
        room = min(4 * room, cost - bound)
    return best, proved / len(mate), Stop.TIME_LIMIT


def _relaxed(
    agents: SingleAgents, needed: Booleans, least_gap: float, clock: Clock, cheapest: int
) -> tuple[float, Floats] | Stop:
    """A bound on all pairings, and (n, n) by how much more one costs that uses a pair; or why
    there is none. Cheap pairs first, then those that the multipliers ask for.
    """
    usable = np.isfinite(agents.cost)
    chosen = needed | (usable & _cheapest(agents.cost, cheapest))
    while not clock.expired:
        some = agents.program(chosen)
        relaxed = replace(some.program, integer=np.zeros_like(some.program.integer))
        answer = WarmStartedProgram(relaxed).solve(clock.left)
        if answer.row_dual is None or answer.stop is not Stop.FINISHED:
            return Stop.TIME_LIMIT if answer.stop is Stop.FINISHED else answer.stop
        bound, reduced = some.priced(answer.row_dual)
        new = usable & ~chosen & (reduced < -least_gap)
        if not new.any():
            return bound, reduced
        chosen |= new & _cheapest(np.where(new, reduced, np.inf), cheapest)
    return Stop.TIME_LIMIT


def _cheapest(cost: Floats, number: int) -> Booleans:
    """(n, n) symmetric: the pairs of least cost of each agent."""
    most = np.sort(cost, axis=1)[:, min(number, len(cost)) - 1][:, None]
    found: Booleans = (cost <= most) | (cost <= most.T)
    return found
