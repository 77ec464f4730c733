"""Lower bounds on the servers in use at every instant, from dual prices of VM types.

What `verify.lifetimes` calls the static bound. Prices that are proved at one instant bound every
other too, so that a handful bounds a trace of hundreds of thousands of VMs.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from ...instances.lifetimes import Integers, Lifetimes
from ...verify.frame import ProofCase
from ...verify.packing import Packing
from ...verify.packing_prices import Priced
from ...verify.reading import Refused
from ..outcome import Clock
from ..packing.generation import generate
from ..packing.patterns import Pool, penalty_of
from ..packing.presolve import presolve
from ..packing.restricted_master import RestrictedMaster
from ..proofs import patience
from ..proofs.packing import coarser, step_of

PATIENCE = 60
"""So many intervals in a row that raise no bound end the search for prices."""


SCALE = 10**6
"""What a server may be worth, in whole prices."""

PATIENCE_SHARE = 0.005
"""Of the verifier's patience that prices may take: what it would refuse bounds nothing here."""


class StaticBound:
    """Lower bound on the servers in each interval; at first by volume.

    Attributes
    ----------
    bound : (T,) proved for every answer.
    steps : what proves it, as the verifier reads it.
    """

    def __init__(self, instance: Lifetimes, clock: Clock) -> None:
        self.instance, self.clock = instance, clock
        self.problem = presolve(instance.packing(instance.most))
        self.pool = Pool(self.problem.types)
        penalty = float(penalty_of(self.problem))
        self.master = RestrictedMaster(self.problem, self.pool, penalty, clock)
        packed = {"capacity": [instance.capacity.tolist()], "demand": instance.demand.tolist()}
        self.checked = Packing(ProofCase(packed, {}, None, []))
        self.bound = np.zeros(len(instance.length), dtype=np.int64)
        self.settled = self.bound > 0
        self.steps: list[dict[str, Any]] = []
        for j, room in enumerate(instance.capacity.tolist()):
            if room:
                weights = np.eye(len(instance.capacity), dtype=np.int64)[[j]].tolist()
                step = {"kind": "prices", "prices": instance.demand[:, j].tolist(), "scale": room}
                self._add({**step, "rents": [0], "weights": weights})

    def _add(self, step: dict[str, Any]) -> bool:
        """Keep the dual prices of a proof step if they raise the lower bound in some interval."""
        worth = self.instance.load(np.array(step["prices"], dtype=np.int64))
        place = step.get("at", slice(None))
        bound = self.bound.copy()
        bound[place] = np.maximum(bound, -(-worth // step["scale"]))[place]
        if better := bool((bound > self.bound).any()):
            self.bound = bound
            self.steps.append(step)
        return better

    def settle(self, interval: int) -> bool:
        """Optimize the prices for one interval by column generation over fillings of a server;
        return whether any interval improved.
        """
        self.settled[interval] = True
        count, before = self.instance.count(self.instance.times[interval]), self.bound[interval]
        request = np.array([count[list(types)].sum() for types in self.problem.members])
        here, enough = replace(self.problem, request=request), float(before)
        ends = {"upper": None, "enough": enough, "master": self.master}
        found = generate(here, self.pool, self.clock, **ends)  # type: ignore[arg-type]
        if found.bound <= before:
            return False
        # prices of all VMs that run at some time bound every interval, those of VMs here this one
        for where in ({}, {"at": interval}):
            problem = here if where else self.problem
            step = {**step_of(problem, coarser(problem, found.prices, SCALE)), **where}
            if -(-int(count @ np.array(step["prices"])) // step["scale"]) <= before:
                continue
            most = count if where else self.instance.most
            with suppress(Refused), patience(PATIENCE_SHARE):
                Priced(self.checked, most.tolist(), [1], step)
                return self._add(step)
        return False

    def tighten(self, use: Integers, weight: Integers | None) -> Iterator[int]:
        """Raise the bounds of intervals one by one, until each equals the servers in use, time is
        up, or `PATIENCE` in a row raised nothing; yield the bound on the objective before each.

        Parameters
        ----------
        use : (T,) servers that are on in an answer.
        weight : (T,) what a server less is worth in each interval; None where the peak counts.
        """
        idle, places = 0, np.arange(len(use))
        while True:
            yield int(self.bound.max() if weight is None else self.bound @ weight)
            needed, score = self.bound.max(), self.bound.astype(float)
            if weight is not None:  # the farther from intervals that are settled, the more
                known = [-len(use), *np.flatnonzero(self.settled), 2 * len(use)]
                after = np.searchsorted(known, places)
                before, behind = np.take(known, after - 1), np.take(known, after)
                apart = np.minimum(places - before, behind - places)
                needed, score = self.bound, (use - self.bound) * weight * apart.astype(float)
            left = (use > needed) & ~self.settled
            if not left.any() or idle == PATIENCE or self.clock.expired:
                return
            idle = 0 if self.settle(int(np.argmax(np.where(left, score, -1.0)))) else idle + 1
