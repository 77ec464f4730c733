"""Program of fewest blocking pairs by the order encoding: 0/1 columns say whether a count is t or
more.

W[a, c], the number of a-agents who would leave for c, is the number of them beside a partner in the
gain set G[a, c]. A 0/1 column q[a, c, t] says whether W[a, c] is t or more, and one more column for
each two of these says that both hold:

    W[a, c] >= t q[a, c, t],     W[a, c] <= t - 1 + (U - t + 1) q[a, c, t],
    both[a, c, t, u] >= q[a, c, t] + q[c, a, u] - 1.

With every t from 1 to the most that W can be, U, blocking pairs number exactly the sum of all
`both`, and of (t - 1) q[a, a, t] within a type. With fewer steps W is rounded down to the next
step, so that the sum, weighted with the steps' heights, bounds their number from below.

Source: the order encoding of N. Tamura and others, Compiling Finite Linear CSP into SAT,
Constraints 14, 2009.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np

from ...instances.colocation.instance import Colocation, Floats, Integers
from ...instances.colocation.stability import AlphaMode, Uncertainty
from ...instances.problem.option_types import AtLeast, validate_options
from .assignment import Assignment, PairingProgram
from .gain_sets import UNPAIRED, GainSets, gain_sets


@validate_options
def order_program(
    instance: Colocation,
    most: Annotated[int, AtLeast(0, "a number of blocking pairs")] | None = None,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    *,
    uncertainty: Uncertainty = "none",
    objective: Literal["blocking", "penalty", "none"] = "blocking",
    steps: Annotated[int, AtLeast(2, "steps a type")] | None = None,
) -> PairingProgram:
    """Program that minimizes blocking pairs, or penalty with at most `most` of them.

    Parameters
    ----------
    instance, alpha, alpha_mode : as in `gains`.
    most : K; None for no limit. Steps above K + 2 say nothing then and are left out.
    uncertainty : as in `stable_program`.
    objective : "blocking" (number of blocking pairs), "penalty" (total over agents), or "none".
    steps : of each type: 1, and up to four evenly below the number of its agents (of 20 agents 1,
        5, 10, 15 are four), more of them farther and farther apart (1, 3, 6, 10, 15 are five). What
        is counted is then a bound from below on the blocking pairs. All steps when not given.
    """
    # 1. W[a, c], the a-agents who would leave for c: a column for each different G[a, c]
    shared = Assignment(instance)
    sets = gain_sets(instance, alpha, alpha_mode, uncertainty)
    counts = WillingCounts(shared, sets)
    builder, member, willing = shared.builder, counts.member, counts.columns(shared)
    # 2. q, a 0/1 column for each step t of each count W: t q <= W <= t - 1 + (most - t + 1) q
    taken = [
        _steps(int(instance.count[a]), upto, steps, most)
        for a, upto in zip(counts.type.tolist(), counts.most.tolist(), strict=True)
    ]
    size = np.array([len(low) for low in taken], dtype=np.int64)
    # all steps one behind the other: the first of each count, and the count of each step
    first, count_of = np.cumsum(size) - size, np.repeat(np.arange(len(size)), size)
    step = np.concatenate([np.zeros(0), *taken])
    reached = builder.columns(len(step), upper=1.0, integer=True)
    builder.at_most(0.0, (reached, step), (willing[count_of], -1.0))
    builder.at_most(
        step - 1.0, (willing[count_of], 1.0), (reached, step - 1.0 - counts.most[count_of])
    )
    # 3. A step is reached after the one below it, and in a larger set wherever in a smaller one
    above = np.flatnonzero(np.arange(len(step)) > first[count_of])
    builder.at_most(0.0, (reached[above], 1.0), (reached[above - 1], -1.0))
    smaller, larger = _alike(first, size, counts.inner, counts.outer)
    builder.at_most(0.0, (reached[smaller], 1.0), (reached[larger], -1.0))
    # 4. Both steps reached, for every two steps of W[a, c] and W[c, a], weighted with their heights
    below = np.zeros(len(step))
    below[above] = step[above - 1]
    a, c = np.nonzero(np.triu(sets.blocks, 1))
    left, right = _all_pairs(first, size, counts.of_pair[a, c], counts.of_pair[c, a])
    both = builder.columns(len(left), upper=1.0, integer=True)
    builder.at_most(1.0, (reached[left], 1.0), (reached[right], 1.0), (both, -1.0))
    # 5. Within a type a: W[a, a] (W[a, a] - 1) / 2 blocking pairs
    own = np.flatnonzero(np.isin(count_of, counts.of_pair.diagonal()[np.diag(sets.blocks)]))
    grows = (step * (step - 1.0) - below * (below - 1.0))[own] / 2.0
    where = np.concatenate([both, reached[own]])
    weight = np.concatenate([(step - below)[left] * (step - below)[right], grows])
    if most is not None and len(where):
        builder.row(where, weight, upper=float(most))
    cost = shared.cost if objective == "penalty" else np.zeros(0)
    if objective == "blocking":
        cost = np.zeros(int(max(where, default=-1)) + 1)
        cost[where] = weight

    def others(chosen: Floats) -> Floats:
        agents = member @ chosen
        holds = (agents[count_of] >= step).astype(float)
        return np.concatenate([agents, holds, holds[left] * holds[right]])

    return shared.finish(cost, others)


@validate_options
def order_terms(instance: Colocation, most: int | None = None, steps: int | None = None) -> int:
    """Upper bound on the entries of an `order_program`, which determine its build time."""
    count = instance.count
    for least in (steps, None if most is None else most + 2):
        count = count if least is None else np.minimum(count, least)
    return int(count.sum()) ** 2 // 2


class WillingCounts:
    """Numbers of agents of one type who would leave for another, as columns of a program.

    W[a, c] agents of type a would leave for c. There are K columns, one for all c with the same
    gain set G[a, c].

    Attributes
    ----------
    type, most : (K,) whose agents are counted, and how many at most.
    of_pair : (T, T) index of the count of G[a, c]; -1 where the two types cannot block.
    member : (K, P + S) sparse, the agents that one unit of each column of a pairing adds.
    inner, outer : pairs of counts of one type: inner's gain set is the next smaller than outer's.
    """

    def __init__(self, shared: Assignment, sets: GainSets) -> None:
        from scipy.sparse import csr_array

        instance = shared.instance
        self.of_pair = np.full(sets.size.shape, -1)
        nothing = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0))
        parts: list[tuple[Integers, Integers, Floats]] = [nothing]
        types: list[int] = []
        most: list[float] = []
        inner, outer = [nothing[0]], [nothing[0]]
        for a in np.flatnonzero(sets.blocks.any(axis=1)).tolist():
            partner, column, agents = shared.beside(a)
            rank, room = sets.ranks(a, partner), shared.room(a)
            rivals = np.flatnonzero(sets.blocks[a])
            out = np.where(sets.own[a, rivals], rivals, UNPAIRED - 1)
            keys, which = np.unique(
                np.stack([sets.size[a, rivals], out]), axis=1, return_inverse=True
            )
            self.of_pair[a, rivals] = len(types) + which.reshape(-1)
            whole = len(types) + np.flatnonzero(keys[1] < UNPAIRED)
            inner.append(whole[:-1])
            outer.append(whole[1:])
            for upto, apart in keys.T.tolist():
                inside = (rank < upto) & (partner != apart)
                parts.append(
                    (np.full(int(inside.sum()), len(types)), column[inside], agents[inside])
                )
                types.append(a)
                most.append(min(float(instance.count[a]), float(room[inside].sum())))
        self.type = np.array(types, dtype=np.int64)
        self.most = np.array(most, dtype=float)
        self.inner, self.outer = (np.concatenate(side) for side in (inner, outer))
        rows, columns, values = (np.concatenate(side) for side in zip(*parts, strict=True))
        width = len(shared.first) + len(shared.alone)
        self.member = csr_array((values, (rows, columns)), shape=(len(types), width))

    def columns(self, shared: Assignment) -> Integers:
        """Add and define columns that count agents who would leave for a type; return indices."""
        builder, entries = shared.builder, self.member.tocoo()
        willing = builder.columns(len(self.most), upper=self.most, integer=True, implied=True)
        members = (entries.row, entries.col, entries.data)
        total = (np.arange(len(willing)), willing, -1)
        builder.sums(len(willing), members, total, lower=0.0, upper=0.0)
        return willing


def _steps(agents: int, upto: float, steps: int | None, most: int | None) -> Floats:
    """Thresholds t of 0/1 columns that say whether t of the `agents` agents or more would leave."""
    number = agents if steps is None else min(steps, agents)
    place = np.arange(1, number + 1)
    if number == agents:
        taken = place
    elif number <= 4:
        taken = -(-agents * np.arange(number) // number)
    else:
        taken = (agents + 1) * place * (place + 1) // ((number + 1) * (number + 2))
    found: Floats = np.unique(np.append(1, np.maximum(taken[1:], 1))).astype(float)
    return found[found <= min(upto, np.inf if most is None else most + 2)]


def _alike(
    first: Integers, size: Integers, left: Integers, right: Integers
) -> tuple[Integers, Integers]:
    """Pair the r-th threshold of count `left[k]` with the r-th of `right[k]`: two index arrays."""
    number = np.minimum(size[left], size[right])
    within = _within(number)
    return np.repeat(first[left], number) + within, np.repeat(first[right], number) + within


def _all_pairs(
    first: Integers, size: Integers, left: Integers, right: Integers
) -> tuple[Integers, Integers]:
    """Pair each threshold of count `left[k]` with every one of `right[k]`: two index arrays."""
    number = size[left] * size[right]
    within, wide = _within(number), np.repeat(size[right], number)
    return (
        np.repeat(first[left], number) + within // wide,
        np.repeat(first[right], number) + within % wide,
    )


def _within(number: Integers) -> Integers:
    """Concatenate the ranges 0, 1, ..., n - 1 for each number n."""
    return np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
