"""No blocking pair, at most K of them, or the fewest: programs over types.

W[a, c], the number of a-agents who would leave for c, is the number of them beside a partner in the
gain set G[a, c]. The gain sets of a type are nested, so its W are prefix sums along one order of
its partners: one column s for each different set, s[r] = s[r - 1] + the agents beside the partners
that join at r. Blocking pairs number exactly

    sum over a < c of W[a, c] W[c, a]  +  sum over a of W[a, a] (W[a, a] - 1) / 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Floats, Integers
from ...instances.colocation.stability import AlphaMode
from ...instances.problem.rules import AtLeast, checked
from ..program import ProgramBuilder
from .assignment import Assignment, PairingProgram
from .gain_sets import UNPAIRED, GainSets, gain_sets


def stable_program(
    instance: Colocation,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    *,
    objective: bool = True,
) -> PairingProgram:
    """Least total penalty among the pairings without a blocking pair.

    With z = 1 where s > 0 (a 0/1 chain along the nested sets): z[a, G(a, c)] + z[c, G(c, a)] <= 1
    for every two types that could block, and at most one a-agent would leave for another a-agent.
    Where s is at most 1 it is its own z; for agents that are all different this is the sparse
    prefix-sum form of the stable roommates program. About T^2 columns and rows, whatever the number
    of agents.

    Parameters
    ----------
    instance, alpha, alpha_mode : as in `gains`.
    objective : False leaves the objective zero: is there any?
    """
    shared = Assignment(instance)
    sets = gain_sets(instance, alpha, alpha_mode)
    chains = _Chains(shared, sets, at_most_one_of_own=True)
    flags = [_flags(shared.builder, chain) for chain in chains.chains]
    flag = chains.column_of_pair([columns for columns, _ in flags])
    a, c = np.nonzero(np.triu(sets.blocks, 1))
    _at_most_one(shared.builder, flag[a, c], flag[c, a])

    def others(chosen: Floats) -> Floats:
        sums = chains.sums(chosen)
        parts = [*sums]  # columns were added s of every chain first, then the flags of every chain
        parts += [
            (s[several] > 0.5).astype(float) for s, (_, several) in zip(sums, flags, strict=True)
        ]
        return np.concatenate(parts) if parts else np.zeros(0)

    return shared.finish(shared.cost if objective else np.zeros(0), others)


@checked
def blocking_program(
    instance: Colocation,
    most: Annotated[int, AtLeast(0, "a number of blocking pairs")] | None = None,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    *,
    objective: Literal["penalty", "blocking", "none"] = "penalty",
) -> PairingProgram:
    """Pairings with at most `most` blocking pairs: of least total penalty, of fewest blocking
    pairs, or any.

    The products W[a, c] W[c, a] are linear when both are 0 or 1 (all agents different); otherwise
    they stand in the program's `products`, which only CP-SAT takes.

    Parameters
    ----------
    instance, alpha, alpha_mode : as in `gains`.
    most : K; None for no limit.
    objective : "penalty" (total over agents), "blocking" (number of blocking pairs), or "none".

    Raises
    ------
    InvalidOption
        most is below 0, or the objective is not one of these.
    """
    # W[a, c], the agents of a better off with c, as prefix sums of who a's agents are with
    shared = Assignment(instance)
    sets = gain_sets(instance, alpha, alpha_mode)
    chains = _Chains(shared, sets, at_most_one_of_own=most == 0)
    column = chains.column_of_pair([chain.s for chain in chains.chains])
    reach = chains.value_of_pair([chain.most for chain in chains.chains])
    # one column for each pair of types that may block: W[a, c] W[c, a] blocking pairs
    a, c = np.nonzero(np.triu(sets.blocks, 1))
    own = np.flatnonzero(np.diag(sets.blocks))
    ceiling = np.inf if most is None else float(most)
    builder = shared.builder
    width = len(shared.first) + len(shared.alone) + sum(len(chain.s) for chain in chains.chains)
    both = builder.columns(
        len(a), upper=np.minimum(reach[a, c] * reach[c, a], ceiling), integer=True
    )
    squares = builder.columns(len(own), upper=reach[own, own] ** 2, integer=True)
    # linear where both are 0 or 1, a product elsewhere
    small = (reach[a, c] <= 1) & (reach[c, a] <= 1)
    _product_of_flags(builder, both[small], column[a, c][small], column[c, a][small])
    builder.products(both[~small], column[a, c][~small], column[c, a][~small])
    builder.products(squares, column[own, own], column[own, own])
    # twice their number: within a type they are W (W - 1) / 2
    twice = np.concatenate([np.full(len(a), 2.0), np.ones(len(own)), -np.ones(len(own))])
    where = np.concatenate([both, squares, column[own, own]])
    if most is not None and len(where):
        builder.row(where, twice, upper=2.0 * most)

    # the same columns of a pairing, for a start
    def others(chosen: Floats) -> Floats:
        full = np.concatenate([chosen, *chains.sums(chosen)])
        assert len(full) == width
        return np.concatenate(
            [
                full[len(chosen) :],
                full[column[a, c]] * full[column[c, a]],
                full[column[own, own]] ** 2,
            ]
        )

    cost = shared.cost if objective == "penalty" else np.zeros(0)
    if objective == "blocking":
        cost = np.zeros(width + len(both) + len(squares))
        np.add.at(cost, where, twice / 2.0)
    return shared.finish(cost, others)


@dataclass(frozen=True)
class _Chain:
    """The prefix sums of one type: columns s, the most each can be, and where each partner
    joins.
    """

    type: int
    levels: Integers
    column: Integers
    agents: Floats
    step: Integers
    most: Floats
    s: Integers


class _Chains:
    """The prefix sums of every type that could block."""

    def __init__(self, shared: Assignment, sets: GainSets, at_most_one_of_own: bool) -> None:
        self.sets = sets
        self.chains: list[_Chain] = []
        for a in np.flatnonzero(sets.blocks.any(axis=1)).tolist():
            levels = sets.levels(a)
            partner, column, agents = shared.beside(a)
            step = np.searchsorted(levels, _ranks(sets.order[a], partner), side="right")
            most = self._most(shared.instance, a, partner, agents, step, levels)
            if at_most_one_of_own and sets.blocks[a, a]:
                upto = int(np.searchsorted(levels, sets.size[a, a])) + 1
                most[:upto] = np.minimum(most[:upto], 1.0)
            s = shared.builder.columns(len(levels), upper=most, integer=True, implied=True)
            joins, row = step < len(levels), np.arange(len(levels))
            rows = np.concatenate([step[joins], row[1:], row])
            where = np.concatenate([column[joins], s[:-1], s])
            values = np.concatenate(
                [agents[joins], np.ones(len(levels) - 1), -np.ones(len(levels))]
            )
            shared.builder.block(
                rows, where, values, np.zeros(len(levels)), np.zeros(len(levels))
            )  # s[j-1] + who joins = s[j]
            self.chains.append(_Chain(a, levels, column, agents, step, most, s))

    def sums(self, chosen: Floats) -> list[Floats]:
        """The value of every chain's s, given the pairing's columns."""
        return [
            np.cumsum(
                np.bincount(chain.step, chain.agents * chosen[chain.column], len(chain.levels) + 1)
            )[:-1].astype(float)
            for chain in self.chains
        ]

    def column_of_pair(self, columns: list[Integers]) -> Integers:
        """(T, T): of one column per level, the one of G[a, c]; -1 where the two types cannot
        block.
        """
        return self.value_of_pair(columns).astype(np.int64)

    def value_of_pair(self, values: list[Integers] | list[Floats]) -> Floats:
        """(T, T): of one value per level, the one of G[a, c]."""
        table = np.full(self.sets.size.shape, -1.0)
        for chain, value in zip(self.chains, values, strict=True):
            rivals = np.flatnonzero(self.sets.blocks[chain.type])
            table[chain.type, rivals] = value[
                np.searchsorted(chain.levels, self.sets.size[chain.type, rivals])
            ]
        return table

    @staticmethod
    def _most(
        instance: Colocation,
        a: int,
        partner: Integers,
        agents: Floats,
        step: Integers,
        levels: Integers,
    ) -> Floats:
        """What each s can reach: all a-agents, or as many as the partners in the set have room
        for.
        """
        count = instance.count
        room = np.where(
            partner == UNPAIRED, count[a], np.minimum(count[a], count[np.maximum(partner, 0)])
        )
        room = np.where(partner == a, count[a] // 2, room)
        reach = np.cumsum(np.bincount(step, agents * room, len(levels) + 1))[:-1]
        return np.asarray(np.minimum(reach, count[a]), dtype=float)


def _ranks(order: Integers, partner: Integers) -> Integers:
    """The place of each partner in the order in which they are left; behind all for one that never
    is (alone).
    """
    place = {int(b): index for index, b in enumerate(order.tolist())}
    return np.array([place.get(int(b), len(place)) for b in partner.tolist()], dtype=np.int64)


def _flags(builder: ProgramBuilder, chain: _Chain) -> tuple[Integers, Booleans]:
    """For each s the column that is 1 when s > 0 (itself when it cannot pass 1), and which of them
    are new columns.
    """
    several = chain.most > 1
    z = chain.s.copy()
    z[several] = builder.columns(int(several.sum()), upper=1.0, integer=True)
    _below(builder, chain.s[several], z[several], chain.most[several])  # s <= most z
    inner = several[:-1] & several[1:]
    _below(builder, z[:-1][inner], z[1:][inner], np.ones(int(inner.sum())))
    return z, several


def _below(builder: ProgramBuilder, low: Integers, high: Integers, factor: Floats) -> None:
    """low <= factor high, row by row."""
    number = np.arange(len(low))
    values = np.concatenate([np.ones(len(low)), -factor])
    builder.block(
        np.tile(number, 2),
        np.concatenate([low, high]),
        values,
        np.full(len(low), -np.inf),
        np.zeros(len(low)),
    )


def _at_most_one(builder: ProgramBuilder, left: Integers, right: Integers) -> None:
    """left + right <= 1, row by row."""
    number = np.arange(len(left))
    builder.block(
        np.tile(number, 2),
        np.concatenate([left, right]),
        1.0,
        np.full(len(left), -np.inf),
        np.ones(len(left)),
    )


def _product_of_flags(
    builder: ProgramBuilder, product: Integers, left: Integers, right: Integers
) -> None:
    """product = left right for 0/1 columns, as three rows each."""
    ones = np.ones(len(product))
    _below(builder, product, left, ones)
    _below(builder, product, right, ones)
    number = np.arange(len(product))
    values = np.concatenate([ones, ones, -ones])
    columns = np.concatenate([left, right, product])
    builder.block(np.tile(number, 3), columns, values, np.full(len(product), -np.inf), ones)
