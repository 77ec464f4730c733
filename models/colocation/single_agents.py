"""Least penalty with few blocking pairs, of agents that all differ: the program over some pairs,
and what its multipliers say of all the others.

x is 1 for a pair, A[i, k] for an agent whose partner is among its first k, and e for a pair that
blocks. With need[i, j] partners for none of whom agent i would go with j,

    A[i, need[i, j]] + A[j, need[j, i]] - x[i, j] + e[i, j] >= 1, and the sum of e is at most K.

Two who are paired need nobody else: without x the relaxation is several percent weaker. Pairs that
are left out have no row, which only lowers the bound. Compare M. Delorme and others, "Mathematical
models for stable matching problems with ties and incomplete lists" (EJOR 277, 2019).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..program import Booleans, Floats, Integers, LinearProgram, ProgramBuilder


@dataclass(frozen=True, eq=False)
class SingleAgents:
    """Agents that all differ, each of whom has a partner.

    Parameters
    ----------
    cost : (n, n) symmetric, what a pair costs; inf where it is none.
    place : (n, n) position of j in i's list, from 0.
    need : (n, n) how many of the first in i's list i would not leave for j; above `place`.
    most : K, blocking pairs at most.
    """

    cost: Floats
    place: Integers
    need: Integers
    most: int

    def program(self, chosen: Booleans) -> PairsProgram:
        """The program over the chosen pairs, (n, n) and symmetric."""
        first, second = np.nonzero(np.triu(chosen))
        n, pairs = len(chosen), np.arange(len(first))
        agent, other = np.concatenate([first, second]), np.concatenate([second, first])
        wanted = self._key(agent, self.need[agent, other])
        ends = np.unique(wanted)
        builder, every = ProgramBuilder(), np.arange(len(ends))
        x = builder.columns(len(first), upper=1.0, cost=self.cost[first, second], integer=True)
        e = builder.columns(len(first) if self.most else 0, upper=1.0, integer=True)
        first_a = builder.columns(len(ends), upper=1.0, integer=True, implied=True)
        both = np.concatenate([x, x])
        builder.sums(n, (agent, both, 1.0), lower=1.0, upper=1.0)
        joins = np.searchsorted(ends, self._key(agent, self.place[agent, other]), side="right")
        goes_on = np.flatnonzero(ends[1:] // (n + 1) == ends[:-1] // (n + 1)) + 1
        builder.sums(
            len(ends), (every, first_a, 1.0), (goes_on, first_a[goes_on - 1], -1.0),
            (joins, both, -1.0), lower=0.0, upper=0.0,
        )  # fmt: skip
        here, there = first_a[np.searchsorted(ends, wanted)].reshape(2, -1)
        rows = [(pairs, here, 1.0), (pairs, there, 1.0), (pairs, x, -1.0)]
        builder.sums(len(first), *rows, *([(pairs, e, 1.0)] if self.most else []), lower=1.0)
        if self.most:
            builder.row(e, upper=self.most)
        return PairsProgram(self, chosen, builder.build(), ends)

    def _key(self, agent: Integers, number: Integers) -> Integers:
        """Numbers up to n of agents, in one order of agents and numbers."""
        return agent * (len(self.cost) + 1) + number


@dataclass(frozen=True, eq=False)
class PairsProgram:
    """A program over the `chosen` pairs; `ends` are the keys of its A[i, k]."""

    of: SingleAgents
    chosen: Booleans
    program: LinearProgram
    ends: Integers

    @cached_property
    def pairs(self) -> tuple[Integers, Integers]:
        """The pairs of the first columns."""
        first, second = np.nonzero(np.triu(self.chosen))
        return first, second

    def partners(self, point: Floats) -> Integers:
        """(n,) the partner of each agent."""
        mate = np.full(len(self.chosen), -1)
        first, second = (side[point[: len(side)] > 0.5] for side in self.pairs)
        mate[first], mate[second] = second, first
        return mate

    def priced(self, dual: Floats) -> tuple[float, Floats]:
        """What multipliers of the relaxation's rows prove: a bound on the cost of all pairings
        with so few blocking pairs, chosen or not; (n, n) by how much more one costs at least that
        uses a pair.
        """
        program, n = self.program, len(self.chosen)
        below, above = np.isfinite(program.row_lower), np.isfinite(program.row_upper)
        dual = np.clip(dual, np.where(above, -np.inf, 0.0), np.where(below, np.inf, 0.0))
        rest = program.cost - program.matrix.T @ dual
        side = np.where(dual > 0, np.where(below, program.row_lower, 0.0),
                        np.where(above, program.row_upper, 0.0))  # fmt: skip
        first, second = self.pairs
        own, chain = dual[:n], np.append(dual[n : n + len(self.ends)], 0.0)
        agent = np.arange(n)[:, None]
        joins = np.searchsorted(self.ends, agent * (n + 1) + self.of.place, side="right")
        owner = np.append(self.ends // (n + 1), n)[joins]
        step = np.where(owner == agent, chain[joins], 0.0) - own[:, None]
        reduced = self.of.cost + step + step.T
        outside = float(reduced.min(initial=0.0, where=~self.chosen & ~np.eye(n, dtype=np.bool_)))
        reduced[first, second] = reduced[second, first] = rest[: len(first)]
        # no column passes 1, and of those that are left out n / 2 are used at most
        return float(dual @ side + np.minimum(rest, 0.0).sum()) + n / 2 * outside, reduced
