"""Annealing over types for fewer blocking pairs: several equal pairs exchange partners at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...instances.colocation import Colocation, Pairing
from ...instances.colocation.instance import Booleans, Integers
from ...instances.colocation.stability import willing
from ...models.colocation import gain_sets
from .common import Blocking

MOST_AGENTS = 2**31
"""Agents up to which the blocking pairs, at most half their square, fit into 64 bits."""

STEPS = 2**17
"""Exchanges tried in a call of the kernel on 32 types, a tenth of a second: fewer on more types, as
each looks at every type, and among few agents.
"""

COLD = 0.2
"""The last temperature, in blocking pairs: an exchange that adds one is then hardly ever made."""

HOT = 4.0
"""The least first temperature; the highest grows with the square of how many agents a type has, as
the blocking pairs of an exchange do.
"""


class Exchanges:
    """Neighborhood of exchanges over types: m pairs a-b and m pairs c-d become a-c and b-d.

    Half of the exchanges tried are drawn at random, in the others a and c block. Nobody is a type
    like the others, of as many as there are places left over, so that a job is left alone or taken
    in by an exchange too. An exchange changes the counts `willing` of four types only, in O(T).

    Parameters
    ----------
    counted : which pairs block.
    """

    def __init__(self, instance: Colocation, counted: Blocking) -> None:
        self.instance = instance
        self._counted = counted.alpha, counted.mode, counted.uncertainty
        sets = gain_sets(instance, *self._counted)
        types = instance.types
        shape = (types + 1, types + 1)
        self._blocks = sets.blocks
        self.size = np.zeros(shape, dtype=np.int64)
        self.size[:types, :types] = np.where(sets.blocks, sets.size, 0)
        self.own = np.zeros(shape, dtype=bool)
        self.own[:types, :types] = sets.own & sets.blocks
        self.place = np.full(shape, types + 1, dtype=np.int64)
        for a, order in enumerate(sets.order):
            self.place[a, order] = np.arange(len(order))  # UNPAIRED, -1, is the last type
        self.allowed: Booleans = np.ones(shape, dtype=bool)
        self.allowed[:types, :types] = instance.allowed

    def state(self, pairing: Pairing) -> tuple[Integers, Integers, int]:
        """Matrices (T + 1, T + 1) of agents by type and partner type, and of agents that gain by
        each type; and the number of blocking pairs.
        """
        types, instance = self.instance.types, self.instance
        number = np.zeros_like(self.size)
        np.add.at(number, (pairing.first, pairing.second), pairing.pairs)
        np.add.at(number, (pairing.second, pairing.first), pairing.pairs)
        number[:types, types] = number[types, :types] = pairing.single
        places = int(min(instance.singles_allowed, instance.agents))
        number[types, types] = (places - int(pairing.single.sum())) // 2 * 2
        moved = np.zeros_like(self.size)
        moved[:types, :types] = willing(instance, pairing, *self._counted) * self._blocks
        own = np.diag(moved)
        twice = int((moved * moved.T).sum()) - int(own.sum())
        return number, moved, twice // 2

    def pairing(self, number: Integers) -> Pairing:
        """Pairing that a matrix (T + 1, T + 1) of agents by type and partner type describes."""
        types = self.instance.types
        pairs = np.triu(number[:types, :types])
        pairs[np.diag_indices(types)] //= 2
        return Pairing.from_matrix(pairs, number[:types, types].copy())

    def search(
        self, start: Pairing, rng: np.random.Generator, enough: int = 0
    ) -> Iterator[Pairing | None]:
        """Anneal repeatedly from the best pairing, longer each time; yield after each kernel call
        the pairing if it improved, else None.
        """
        from .exchange_kernels import anneal

        if self.instance.agents > MOST_AGENTS or not self._blocks.any():
            return
        number, moved, least = self.state(start)
        best, value = number.copy(), least
        each = float(self.instance.count[self.instance.present].mean())
        steps = min(STEPS, 64 * self.instance.agents**2) * 32 // (32 + self.instance.types) + 1
        slices = 1
        while least > enough:
            if slices > 1:
                number, moved, value = self.state(self.pairing(best))
            hot = HOT * (1.0 + each * each / 8.0) ** rng.random()
            heat = hot * (COLD / hot) ** (np.arange(slices + 1) / slices)
            for first, last in zip(heat[:-1].tolist(), heat[1:].tolist(), strict=True):
                before = least
                value, least = anneal(
                    number, moved, best, value, least, self.place, self.size, self.own,
                    self.allowed, steps, first, last, enough, int(rng.integers(2**31)),
                )  # fmt: skip
                yield self.pairing(best) if least < before else None
                if least <= enough:
                    return
            slices = min(2 * slices, 64)
