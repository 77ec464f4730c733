"""Bounds on the servers in use at every instant, from a few prices of VM types.

What `verify.lifetimes` calls the static bound. Prices that are proved at one instant bound every
other too, so that a handful bounds a trace of hundreds of thousands of VMs.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...instances.lifetimes import Integers, Lifetimes
from ..outcome import Clock
from ..packing.generation import generate
from ..packing.patterns import Pool, penalty_of
from ..packing.presolve import presolve
from ..packing.restricted_master import RestrictedMaster
from ..proofs.prices import SCALES, coarser, step_of

PATIENCE = 60
"""So many instants in a row that raise no bound end the search for prices."""


class StaticBound:
    """Servers that are needed in each interval by the prices found so far; at first by volume.

    Attributes
    ----------
    bound : (T,) proved for every answer.
    steps : what proves it, as the verifier reads it.
    settled : (T,) intervals where no prices prove more.
    """

    def __init__(self, instance: Lifetimes, clock: Clock) -> None:
        self.instance, self.clock = instance, clock
        self.problem = presolve(instance.packing(instance.most))
        self.pool = Pool(self.problem.types)
        penalty = float(penalty_of(self.problem))
        self.master = RestrictedMaster(self.problem, self.pool, penalty, clock)
        self.bound = np.zeros(len(instance.length), dtype=np.int64)
        self.settled = np.zeros(len(instance.length), dtype=bool)
        self.steps: list[dict[str, Any]] = []
        for j, room in enumerate(instance.capacity.tolist()):
            weights = [int(k == j) for k in range(len(instance.capacity))]
            prices = instance.demand[:, j].tolist()
            if any(prices):
                self._add({"kind": "prices", "prices": prices, "scale": room, "rents": [0],
                           "weights": [weights]})  # fmt: skip

    def _add(self, step: dict[str, Any]) -> bool:
        """Keep the prices of a step where they prove more anywhere."""
        worth = self.instance.load(np.array(step["prices"], dtype=np.int64))
        bound = np.maximum(self.bound, -(-worth // step["scale"]))
        if (bound == self.bound).all():
            return False
        self.bound = bound
        self.steps.append(step)
        return True

    def settle(self, interval: int) -> bool:
        """Find the prices that prove most in an interval, by column generation over fillings of a
        server; returns whether they prove more than those before, there or elsewhere.
        """
        self.settled[interval] = True
        count = self.instance.count(interval)
        request = np.array([count[list(types)].sum() for types in self.problem.members])
        here, before = replace(self.problem, request=request), int(self.bound[interval])
        found = generate(
            here, self.pool, self.clock, upper=None, enough=float(before), master=self.master
        )
        if found.bound <= before:
            return False
        for scale in SCALES:  # the coarsest prices will do: the verifier is the sooner done
            step = step_of(self.problem, coarser(self.problem, found.prices, scale))
            worth = int(count @ np.array(step["prices"]))
            if -(-worth // step["scale"]) >= found.bound:
                break
        return self._add(step)

    def tighten(self, use: Integers, weight: Integers | None) -> None:
        """Settle one interval after the other, until no interval is left in which an answer has
        more servers on than are proved to be needed, the time is over, or it is of no use.

        Parameters
        ----------
        use : (T,) servers that are on in an answer.
        weight : (T,) what a server less is worth in each interval; None where the peak counts.
        """
        idle, places = 0, np.arange(len(use))
        while idle < PATIENCE and not self.clock.expired:
            left = (use > (self.bound if weight is not None else self.bound.max())) & ~self.settled
            if not left.any():
                break
            if weight is None:
                score = self.bound.astype(float)
            else:  # the farther from intervals that are settled, the more
                known = np.flatnonzero(self.settled)
                after = np.searchsorted(known, places)
                ends = np.concatenate([[-len(use)], known, [2 * len(use)]])
                apart = np.minimum(places - ends[after], ends[after + 1] - places)
                score = (use - self.bound) * weight * apart.astype(float)
            idle = 0 if self.settle(int(np.argmax(np.where(left, score, -1.0)))) else idle + 1
