"""Columns and rows common to all colocation programs; programs of least penalty and of repair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Floats, Integers, Pairing
from ...instances.problem.fields import shaped
from ...instances.problem.option_types import validate_options
from ..program import LinearProgram, ProgramBuilder
from .gain_sets import UNPAIRED


@dataclass(frozen=True, eq=False)
class PairingProgram:
    """Linear program whose first columns count the pairs and single jobs of a pairing.

    Attributes
    ----------
    program : columns are x (one for each pair of types), single (one for each type that may run
        alone), then others.
    first, second : (P,) the pairs of types of the first P columns, first <= second.
    alone : (S,) the types of the next S columns.
    types : T.
    others : from the point's first P + S values to all the rest, the least that the rows allow.
    flag, flagged : (F,) each, the columns z and s of the rows s <= most z; none by default.
    """

    program: LinearProgram
    first: Integers
    second: Integers
    alone: Integers
    types: int
    others: Callable[[Floats], Floats] = field(repr=False)
    flag: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64), kw_only=True)
    flagged: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64), kw_only=True)

    def pairing(self, point: Floats) -> Pairing:
        """Pairing that the first columns of a program's solution describe."""
        whole = np.round(np.asarray(point)[: len(self.first) + len(self.alone)]).astype(np.int64)
        single = np.zeros(self.types, dtype=np.int64)
        single[self.alone] = whole[len(self.first) :]
        return Pairing(self.first, self.second, whole[: len(self.first)], single)

    def point(self, pairing: Pairing) -> Floats:
        """Column values of a pairing, with the other columns as low as the rows allow."""
        number = np.zeros((self.types, self.types))
        number[pairing.first, pairing.second] = pairing.pairs
        chosen = np.concatenate(
            [number[self.first, self.second], pairing.single[self.alone].astype(float)]
        )
        return np.concatenate([chosen, self.others(chosen)])


class Assignment:
    """Columns and rows that all pairing programs share, with the agents counted by each column."""

    def __init__(self, instance: Colocation, keep: Booleans | None = None) -> None:
        self.instance = instance
        self.builder = ProgramBuilder()
        present = instance.count > 0
        usable = instance.allowed & present[:, None] & present[None, :]
        if keep is not None:
            usable = usable & shaped("keep", keep, *usable.shape)
        self.first, self.second = np.nonzero(np.triu(usable))
        self.loop = self.first == self.second
        count = instance.count
        most = np.where(
            self.loop, count[self.first] // 2, np.minimum(count[self.first], count[self.second])
        )
        self.x = self.builder.columns(len(self.first), upper=most, integer=True)
        self.alone = (
            np.flatnonzero(present) if instance.singles_allowed > 0 else np.zeros(0, dtype=np.int64)
        )
        fewest = np.minimum(count[self.alone], instance.singles_allowed)
        self.single = self.builder.columns(len(self.alone), upper=fewest, integer=True)
        self._list_entries()
        self._assign(present)

    def _list_entries(self) -> None:
        """List the columns of each type: an entry for each type of a pair, and one for a single
        job.
        """
        apart = ~self.loop
        kind = np.concatenate([self.first, self.second[apart], self.alone])
        order = np.argsort(kind, kind="stable")
        self.kind = kind[order]
        self.column = np.concatenate([self.x, self.x[apart], self.single])[order]
        self.agents = np.concatenate(
            [1.0 + self.loop, np.ones(int(apart.sum()) + len(self.alone))]
        )[order]
        self.partner = np.concatenate(
            [self.second, self.first[apart], np.full(len(self.alone), UNPAIRED)]
        )[order]
        self._ends = np.searchsorted(self.kind, np.arange(self.instance.types + 1))

    def _assign(self, present: Booleans) -> None:
        """Add rows that place every agent once, and at most as many alone as machines allow."""
        place = np.cumsum(present) - 1
        count = self.instance.count[present].astype(float)
        entries = place[self.kind], self.column, self.agents
        self.builder.sums(len(count), entries, lower=count, upper=count)
        allowed = self.instance.singles_allowed
        if len(self.single) and allowed < self.instance.agents:
            self.builder.row(self.single, upper=allowed)

    @property
    def cost(self) -> Floats:
        """Cost (P + S,) of the columns: the total penalty of one pair's agents, or of one single
        job.
        """
        penalty = self.instance.penalty
        pairs = penalty[self.first, self.second] + penalty[self.second, self.first]
        return np.concatenate([pairs, np.full(len(self.alone), self.instance.single_penalty)])

    @property
    def loss(self) -> Floats:
        """Penalty of a type's agents in one unit of a column, for each entry (type, column)."""
        instance = self.instance
        each = instance.penalty[self.kind, np.maximum(self.partner, 0)]
        total: Floats = (
            np.where(self.partner == UNPAIRED, instance.single_penalty, each) * self.agents
        )
        return total

    def beside(self, a: int) -> tuple[Integers, Integers, Floats]:
        """Possible partners b of type a (UNPAIRED for none), the column of each pair a-b, and how
        many a-agents one such pair has.
        """
        here = slice(self._ends[a], self._ends[a + 1])
        return self.partner[here], self.column[here], self.agents[here]

    def room(self, a: int) -> Floats:
        """Largest number of agents of type a beside each partner, in the order of `beside(a)`."""
        partner, _, agents = self.beside(a)
        count = self.instance.count
        pairs = np.where(partner == UNPAIRED, count[a], np.minimum(count[a], count[partner]))
        room: Floats = agents * np.where(partner == a, count[a] // 2, pairs)
        return room

    def finish(
        self, cost: Floats, others: Callable[[Floats], Floats] | None = None
    ) -> PairingProgram:
        """Build the pairing program with costs of its first columns, and 0 for the others."""
        base = self.builder.build()
        padded = np.zeros(base.columns)
        padded[: len(cost)] = cost
        program = replace(base, cost=padded)
        nothing = np.zeros(0)
        types = self.instance.types
        return PairingProgram(
            program, self.first, self.second, self.alone, types, others or (lambda chosen: nothing)
        )


@validate_options
def repair_program(
    instance: Colocation, partial: Pairing, keep: Booleans | None = None, weight: float = 100.0
) -> PairingProgram:
    """Program that completes a partial pairing with fewest changes, then least penalty.

    Parameters
    ----------
    instance : what is given.
    partial : allowed pairs of it, perhaps not everyone placed.
    keep : (T, T) the pairs of types to have columns for (the partial one's must be among them); all
        when not given.
    weight : what an agent kept is worth in points of penalty, far above what moving it could save.
    """
    shared = Assignment(instance, keep)
    number = np.zeros((instance.types, instance.types))
    number[partial.first, partial.second] = partial.pairs
    wanted = np.concatenate(
        [number[shared.first, shared.second], partial.single[shared.alone].astype(float)]
    )
    base = np.concatenate([shared.x, shared.single])
    where = np.flatnonzero(wanted)
    kept = shared.builder.columns(len(where), upper=wanted[where], integer=True)
    shared.builder.at_most(0.0, (kept, 1.0), (base[where], -1.0))
    agents = np.where(where < len(shared.first), 2.0, 1.0)
    cost = np.concatenate([shared.cost, -weight * agents])
    return shared.finish(cost, lambda chosen: np.minimum(chosen[where], wanted[where]))


@validate_options
def penalty_program(instance: Colocation, keep: Booleans | None = None) -> PairingProgram:
    """Build the program that minimizes the total penalty of all agents (n times the mean).

    Parameters
    ----------
    instance : what is given.
    keep : (T, T) the pairs of types to have columns for (upper triangle); all allowed ones when not
        given.
    """
    shared = Assignment(instance, keep)
    return shared.finish(shared.cost)
