"""Programs for the fewest blocking agents, or the fewest blocking pairs of any one agent.

An a-agent beside b is in a blocking pair with a c-agent for each c-agent who gains by an a-agent,
W[c, a] of them, where it gains by c itself, which is where b is in the gain set G[a, c]. If it
gains by its own type, it is one of the W[a, a] and does not block with itself. So it is in

    sum over c with b in G[a, c] of W[c, a]  -  [b in G[a, a]]

blocking pairs. At most K: that, for every a and b that are paired at all. Blocking agents: those
a-agents beside b for whom one of these W[c, a] is not 0, or W[a, a] is more than 1.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ...instances.colocation.instance import Colocation, Floats
from ...instances.colocation.stability import AlphaMode
from ...instances.problem.option_types import AtLeast, validate_options
from .assignment import Assignment, PairingProgram
from .gain_sets import GainSets, gain_sets
from .order import WillingCounts

AgentObjective = Literal["agents", "minimax"]


@validate_options
def agent_program(
    instance: Colocation,
    objective: AgentObjective,
    most: Annotated[int, AtLeast(0, "blocking agents, or blocking pairs of one")] | None = None,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    *,
    penalty: bool = True,
) -> PairingProgram:
    """Program that minimizes blocking agents, or the largest number of an agent's blocking pairs.

    Parameters
    ----------
    objective : "agents" or "minimax".
    most : where given, the pairings of least total penalty with no more than so many instead.
    instance, alpha, alpha_mode : as in `gains`.
    penalty : False asks for any with no more than `most`.
    """
    shared = Assignment(instance)
    sets = gain_sets(instance, alpha, alpha_mode)
    counts = WillingCounts(shared, sets)
    build = _agents if objective == "agents" else _minimax
    counted = build(shared, sets, counts, most)
    cost: Floats = shared.cost if penalty else np.zeros(0)
    if most is None:
        cost = np.zeros(int(max(counted, default=-1)) + 1)
        cost[counted] = 1.0
    return shared.finish(cost)


@validate_options
def agent_terms(instance: Colocation) -> int:
    """Upper bound on the entries of an `agent_program`, which determine its build time."""
    return len(instance.present) ** 3


def _minimax(
    shared: Assignment, sets: GainSets, counts: WillingCounts, most: int | None
) -> np.ndarray:
    """Add a column, at most `most`, that bounds the blocking pairs of every agent; return it."""
    builder, willing = shared.builder, counts.columns(shared)
    upper = float(shared.instance.agents if most is None else most)
    allowed = builder.columns(1, upper=upper, integer=True)
    # 0/1 columns `used`: whether a pair of types (or a type alone) occurs at all
    base = np.concatenate([shared.x, shared.single])
    room = np.zeros(len(base))
    for a in range(shared.instance.types):
        _, column, agents = shared.beside(a)
        room[column] = shared.room(a) / agents
    used = builder.columns(len(base), upper=1.0, integer=True)
    builder.at_most(0.0, (base, 1.0), (used, -room))
    # where it occurs, the sum of W[c, a] over c that an a-agent gains by is at most `allowed`
    for a in np.flatnonzero(sets.blocks.any(axis=1)).tolist():
        partner, column, _ = shared.beside(a)
        for rank, pair in zip(sets.ranks(a, partner).tolist(), column.tolist(), strict=True):
            rivals = np.flatnonzero(sets.blocks[a] & (sets.size[a] > rank))
            its_type = int(a in rivals)
            terms = counts.of_pair[rivals, a]
            upto = float(counts.most[terms].sum()) - its_type
            if upto > 0:
                where = np.concatenate([willing[terms], used[[pair]], allowed])
                values = np.concatenate([np.ones(len(terms)), [upto], [-1.0]])
                builder.row(where, values, upper=upto + its_type)
    return allowed


def _agents(
    shared: Assignment, sets: GainSets, counts: WillingCounts, most: int | None
) -> np.ndarray:
    """Add columns that count blocking agents by type and partner, `most` in all; return indices."""
    builder, willing = shared.builder, counts.columns(shared)
    some = builder.columns(len(willing), upper=1.0, integer=True)
    builder.at_most(0.0, (willing, 1.0), (some, -counts.most))
    blocking = [np.zeros(0, dtype=np.int64)]
    for a in np.flatnonzero(sets.blocks.any(axis=1)).tolist():
        partner, column, agents = shared.beside(a)
        ranks, room = sets.ranks(a, partner), shared.room(a)
        flags = some[counts.of_pair[:, a]]  # of another type one is enough
        if sets.blocks[a, a]:
            own = counts.of_pair[a, a]
            second = builder.columns(1, upper=1.0, integer=True)
            builder.at_most(
                1.0, (willing[[own]], 1.0), (second, -max(float(counts.most[own]) - 1.0, 0.0))
            )
            flags[a] = second[0]
        # the partner that fewest would be left for first: who blocks beside it does beside the next
        before: int | None = None
        known = np.zeros(shared.instance.types, dtype=bool)
        for at in np.argsort(-ranks, kind="stable").tolist():
            rivals = sets.blocks[a] & (sets.size[a] > ranks[at])
            if not rivals.any():
                continue
            flag = int(builder.columns(1, upper=1.0, integer=True)[0])
            new = flags[rivals & ~known].tolist() + ([] if before is None else [before])
            implied = np.array(new, dtype=np.int64)
            builder.at_most(0.0, (implied, 1.0), (np.full(len(implied), flag), -1.0))
            number = builder.columns(1, upper=room[at], integer=True, implied=True)
            builder.row([column[at], flag, number[0]], [agents[at], room[at], -1.0], upper=room[at])
            blocking.append(number)
            before, known = flag, known | rivals
    counted = np.concatenate(blocking)
    if most is not None and len(counted):
        builder.row(counted, np.ones(len(counted)), upper=float(most))
    return counted
