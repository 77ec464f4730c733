"""Programs over types for pairings with no, at most K, or the fewest blocking pairs.

W[a, c], the number of a-agents who would leave for c, is the number of them beside a partner in the
gain set G[a, c]. The gain sets of a type are nested, so its W are prefix sums along one order of
its partners: one column s for each different set, s[r] = s[r - 1] + the agents beside the partners
that join at r. Blocking pairs number exactly

    sum over a < c of W[a, c] W[c, a]  +  sum over a of W[a, a] (W[a, a] - 1) / 2.

Of possible gains within intervals c itself may be among the first partners of a's order, and nobody
gains by what it has: W[a, c] is then a column of its own, s less the a-agents beside c.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Floats, Integers
from ...instances.colocation.stability import AlphaMode, Uncertainty
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import AtLeast, validate_options
from ..program import ProgramBuilder
from .assignment import Assignment, PairingProgram
from .gain_sets import GainSets, gain_sets


@validate_options
def stable_program(
    instance: Colocation,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    *,
    uncertainty: Uncertainty = "none",
    objective: bool = True,
    one: bool = False,
    keep: Booleans | None = None,
) -> PairingProgram:
    """Build the program that minimizes total penalty without a blocking pair, or with at most one.

    With z = 1 where s > 0 (a 0/1 chain along the nested sets): z[a, G(a, c)] + z[c, G(c, a)] <= 1
    for every two types that could block, and at most one a-agent would leave for another a-agent.
    Where s is at most 1 it is its own z; for agents that are all different this is the sparse
    prefix-sum form of the stable roommates program, in whose rows x[a, c] joins the two z. About
    T^2 columns and rows, whatever the number of agents.

    Parameters
    ----------
    instance, alpha, alpha_mode : as in `gains`.
    uncertainty : which gains count, as in `blocking_pairs`; with "possible" the pairings are those
        that are stable for every matrix within the intervals.
    objective : False leaves the objective zero: is there any?
    one : one blocking pair is allowed, not where `uncertainty` is "possible". A column e of two
        types is then 1 where both are flagged, at most one e is 1, and there W is at most 1 on both
        sides; within a type W is then at most 2.
    keep : (T, T), symmetric: pairs without which the program has all the pairings that it is about;
        others get no column. All allowed ones when not given.
    """
    if one and uncertainty == "possible":
        raise InvalidOption("one is True; expected False where uncertainty is 'possible'")
    # 1. agents who would gain, as chains of nested sets, and a flag for each
    shared = Assignment(instance, keep)
    sets = gain_sets(instance, alpha, alpha_mode, uncertainty)
    sets = sets if keep is None else sets.among(keep)
    chains = _Chains(shared, sets, at_most_one_of_own=not one)
    flags = [_flags(shared.builder, chain, chains.shared(chain)) for chain in chains.chains]
    flag = chains.value_of_pair([columns for columns, _ in flags]).astype(np.int64)
    several = chains.own_most > 1
    flag[chains.own] = chains.own_column
    here, there = (side[several] for side in chains.own)
    flag[here, there] = own_flags = shared.builder.columns(len(here), upper=1.0, integer=True)
    shared.builder.at_most(
        0.0, (chains.own_column[several], 1.0), (own_flags, -chains.own_most[several])
    )
    # 2. no two flags of a pair that blocks, or one of all
    a, c = np.nonzero(np.triu(sets.blocks, 1))
    inside = np.flatnonzero(np.diag(sets.blocks)) if one else np.zeros(0, dtype=np.int64)
    blocked = shared.builder.columns((len(a) if one else 0) + len(inside), upper=1.0, integer=True)
    if one:
        across, within = blocked[: len(a)], blocked[len(a) :]
        column = chains.value_of_pair([chain.s for chain in chains.chains]).astype(np.int64)
        most = chains.value_of_pair([chain.most for chain in chains.chains])
        shared.builder.at_most(1.0, (flag[a, c], 1.0), (flag[c, a], 1.0), (across, -1.0))
        for here, there in ((a, c), (c, a)):
            wide = most[here, there] > 1
            upto, e = most[here, there][wide], across[wide]
            shared.builder.at_most(upto, (column[here, there][wide], 1.0), (e, upto - 1.0))
            # not needed, but the relaxation is far from integers without
            shared.builder.at_most(0.0, (across, 1.0), (flag[here, there], -1.0))
        shared.builder.at_most(1.0, (column[inside, inside], 1.0), (within, -1.0))
        shared.builder.row(blocked, np.ones(len(blocked)), upper=1.0)
    else:
        # two agents of one processor do not block with each other
        beside = np.full(flag.shape, -1)
        beside[shared.first, shared.second] = shared.x
        one_each = np.maximum(instance.count[a], instance.count[c]) == 1
        own = sets.own[a, c] | sets.own[c, a]
        joins = (one_each & ~own & (beside[a, c] >= 0)).astype(float)
        shared.builder.at_most(
            1.0, (flag[a, c], 1.0), (flag[c, a], 1.0), (np.maximum(beside[a, c], 0), joins)
        )

    # 3. the further columns of a pairing, for a start
    def others(chosen: Floats) -> Floats:
        sums = chains.sums(chosen)
        own = chains.own_sums(chosen, sums)
        # columns were added s of every chain first, then W of who is among its own leavers, then
        # the flags in the same order
        parts = [*sums, own]
        parts += [
            (s[needed] > 0.5).astype(float) for s, (_, needed) in zip(sums, flags, strict=True)
        ]
        parts.append((own[several] > 0.5).astype(float))
        if one:
            w = chains.value_of_pair(sums)
            each = np.minimum(w[a, c], w[c, a]) > 0.5, w[inside, inside] > 1.5
            parts += [side.astype(float) for side in each]
        return np.concatenate(parts)

    program = shared.finish(shared.cost if objective else np.zeros(0), others)
    if one:  # shares of agents know no single pair
        return program
    pairs = [(z[new], chain.s[new]) for chain, (z, new) in zip(chains.chains, flags, strict=True)]
    pairs.append((own_flags, chains.own_column[several]))
    flag, flagged = (np.concatenate(side) for side in zip(*pairs, strict=True))
    return replace(program, flag=flag, flagged=flagged)


@validate_options
def blocking_program(
    instance: Colocation,
    most: Annotated[int, AtLeast(0, "a number of blocking pairs")] | None = None,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    *,
    uncertainty: Uncertainty = "none",
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
    uncertainty : as in `stable_program`.
    objective : "penalty" (total over agents), "blocking" (number of blocking pairs), or "none".

    Raises
    ------
    InvalidOption
        most is below 0, or the objective is not one of these.
    """
    # 1. W[a, c], the agents of a better off with c, as prefix sums of who a's agents are with
    shared = Assignment(instance)
    sets = gain_sets(instance, alpha, alpha_mode, uncertainty)
    chains = _Chains(shared, sets, at_most_one_of_own=most == 0)
    column = chains.value_of_pair([chain.s for chain in chains.chains]).astype(np.int64)
    reach = chains.value_of_pair([chain.most for chain in chains.chains])
    column[chains.own], reach[chains.own] = chains.own_column, chains.own_most
    # 2. one column for each pair of types that may block: W[a, c] W[c, a] blocking pairs
    a, c = np.nonzero(np.triu(sets.blocks, 1))
    own = np.flatnonzero(np.diag(sets.blocks))
    ceiling = np.inf if most is None else float(most)
    builder = shared.builder
    width = len(shared.first) + len(shared.alone) + sum(len(chain.s) for chain in chains.chains)
    width += len(chains.own_column)
    both = builder.columns(
        len(a), upper=np.minimum(reach[a, c] * reach[c, a], ceiling), integer=True
    )
    squares = builder.columns(len(own), upper=reach[own, own] ** 2, integer=True)
    # 3. linear where both are 0 or 1, a product elsewhere
    small = (reach[a, c] <= 1) & (reach[c, a] <= 1)
    _product_of_flags(builder, both[small], column[a, c][small], column[c, a][small])
    builder.products(both[~small], column[a, c][~small], column[c, a][~small])
    builder.products(squares, column[own, own], column[own, own])
    # twice their number: within a type they are W (W - 1) / 2
    twice = np.concatenate([np.full(len(a), 2.0), np.ones(len(own)), -np.ones(len(own))])
    where = np.concatenate([both, squares, column[own, own]])
    if most is not None and len(where):
        builder.row(where, twice, upper=2.0 * most)

    # 4. the same columns of a pairing, for a start
    def others(chosen: Floats) -> Floats:
        sums = chains.sums(chosen)
        full = np.concatenate([chosen, *sums, chains.own_sums(chosen, sums)])
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
    """Prefix sums of one type's agents, counted by partner from the worst partner on.

    Attributes
    ----------
    levels, room, most, s : (L,) sizes of the type's gain sets; for each the agents that fit beside
        its partners, the largest value of the prefix sum, and its column.
    column, agents, step : (E,) columns of the type's pairs, its agents in one, and the index of the
        first prefix sum that counts them (L for none).
    """

    type: int
    levels: Integers
    column: Integers
    agents: Floats
    step: Integers
    room: Floats
    most: Floats
    s: Integers


class _Chains:
    """Prefix sums of agents by partner, the worst first, for every type that can block.

    Attributes
    ----------
    own : the types a and c, (K,) each, with c among the first partners of a's order for c.
    own_column, own_most : (K,) the column of W[a, c] there, and the most it can be.
    """

    def __init__(self, shared: Assignment, sets: GainSets, at_most_one_of_own: bool) -> None:
        self.sets = sets
        self.chains: list[_Chain] = []
        for a in np.flatnonzero(sets.blocks.any(axis=1)).tolist():
            levels = sets.levels(a)
            partner, column, agents = shared.beside(a)
            step = np.searchsorted(levels, sets.ranks(a, partner), side="right")
            room = np.cumsum(np.bincount(step, shared.room(a), len(levels) + 1))[:-1].astype(float)
            most = np.minimum(room, float(shared.instance.count[a]))
            if at_most_one_of_own and sets.blocks[a, a] and not sets.own[a, a]:
                upto = int(np.searchsorted(levels, sets.size[a, a])) + 1
                most[:upto] = np.minimum(most[:upto], 1.0)
            s = shared.builder.columns(len(levels), upper=most, integer=True, implied=True)
            joins, row = step < len(levels), np.arange(len(levels))
            joining = step[joins], column[joins], agents[joins]
            shared.builder.sums(  # s[j-1] + who joins = s[j]
                len(levels), joining, (row[1:], s[:-1], 1.0), (row, s, -1.0), lower=0.0, upper=0.0
            )
            self.chains.append(_Chain(a, levels, column, agents, step, room, most, s))
        self._leave_own_out(shared, at_most_one_of_own)

    def _leave_own_out(self, shared: Assignment, at_most_one_of_own: bool) -> None:
        """Add columns that count who would leave for a type c, less those already beside c.

        Only where c is in the gain set G[a, c], the partners that type a would leave for c.
        """
        here, there = self.own = np.nonzero(self.sets.own & self.sets.blocks)
        count = shared.instance.count
        beside = np.where(
            here == there, count[here] // 2 * 2, np.minimum(count[here], count[there])
        )
        room = self.value_of_pair([chain.room for chain in self.chains])[self.own] - beside
        most = np.minimum(room, count[here].astype(float))
        if at_most_one_of_own:
            most = np.where(here == there, np.minimum(most, 1.0), most)
        self.own_most = most
        builder = shared.builder
        self.own_column = builder.columns(len(here), upper=most, integer=True, implied=True)
        # the column that counts a-c, and its a-agents
        number = np.zeros(self.sets.size.shape, dtype=np.int64)
        number[shared.first, shared.second] = number[shared.second, shared.first] = shared.x
        self._beside, self._each = number[self.own], np.where(here == there, 2.0, 1.0)
        sums = self.value_of_pair([chain.s for chain in self.chains])[self.own].astype(np.int64)
        every = np.arange(len(here))
        both = (every, self._beside, -self._each), (every, self.own_column, -1.0)
        builder.sums(len(here), (every, sums, 1.0), *both, lower=0.0, upper=0.0)

    def own_sums(self, chosen: Floats, sums: list[Floats]) -> Floats:
        """Agents who would leave for a type, less those beside it already, at a pairing's point."""
        return self.value_of_pair(sums)[self.own] - self._each * chosen[self._beside]

    def shared(self, chain: _Chain) -> Booleans:
        """Whether each prefix sum counts exactly the agents who would leave for some type."""
        whole = self.sets.blocks[chain.type] & ~self.sets.own[chain.type]
        return np.isin(chain.levels, self.sets.size[chain.type, whole])

    def sums(self, chosen: Floats) -> list[Floats]:
        """Prefix sums of agents by partner, the worst first, at a pairing: an array a chain."""
        return [
            np.cumsum(
                np.bincount(chain.step, chain.agents * chosen[chain.column], len(chain.levels) + 1)
            )[:-1].astype(float)
            for chain in self.chains
        ]

    def value_of_pair(self, values: list[Integers] | list[Floats]) -> Floats:
        """Table (T, T) of the value of each pair of types in its chain; -1 where none can block."""
        table = np.full(self.sets.size.shape, -1.0)
        for chain, value in zip(self.chains, values, strict=True):
            rivals = np.flatnonzero(self.sets.blocks[chain.type])
            table[chain.type, rivals] = value[
                np.searchsorted(chain.levels, self.sets.size[chain.type, rivals])
            ]
        return table


def _flags(builder: ProgramBuilder, chain: _Chain, needed: Booleans) -> tuple[Integers, Booleans]:
    """Columns that are 1 where a `needed` prefix sum is positive, and a mask of those added."""
    several = needed & (chain.most > 1)
    z = chain.s.copy()
    z[several] = builder.columns(int(several.sum()), upper=1.0, integer=True)
    builder.at_most(0.0, (chain.s[several], 1.0), (z[several], -chain.most[several]))
    inner = several[:-1] & several[1:]
    builder.at_most(0.0, (z[:-1][inner], 1.0), (z[1:][inner], -1.0))
    return z, several


def _product_of_flags(
    builder: ProgramBuilder, product: Integers, left: Integers, right: Integers
) -> None:
    """Add columns equal to the product of two 0/1 columns, with three rows each."""
    builder.at_most(0.0, (product, 1.0), (left, -1.0))
    builder.at_most(0.0, (product, 1.0), (right, -1.0))
    builder.at_most(1.0, (left, 1.0), (right, 1.0), (product, -1.0))
