"""Least cost of throughputs at prices of devices, for jobs that all run alone.

The most steps a second that a job can make in a part of its time on each kind, over what it pays
for the devices, lie on a hull of at most D + 1 points (the kinds, and to be idle). A job that is to
make `need` steps a second is cheapest on one kind, or on two kinds for parts of its time that make
the need exactly. So prices of the D kinds bound what all jobs can have together (`programs`), and
all but about D types of an optimal basis have one such mix at its prices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...instances.accelerators.instance import Accelerators, Floats, Integers
from ...models.accelerators import Prices
from ..outcome import Clock
from ..prices import ROUNDING, Reply, search

SAME_RATE = 1e-12
"""A need that differs by no more than this fraction from what a kind makes is met by it alone."""

TIED = 40
"""Types that the first program places: those that lose least by another mix."""

DEAR = 1e3
"""A device costs at most so many times what the dearest rent, or the most worth of one, is."""

SETTLED = 1e-8
"""Part of all devices' cost by which jobs need too much at least, for prices to rule it out."""

NEWTON = 20
"""Steps of Newton's method at the same prices."""

CLOSE = 1e-12
"""A mix may cost more than the cheapest one by this part of the mean cost."""


class Terms(NamedTuple):
    """Terms of a program of time shares: with a rate, maximize theta such that each job has floor +
    theta x rate; without one, minimize cost less gain such that each job has its floor.

    Attributes
    ----------
    unit, floor, rate : (T,) as `share_program` takes them.
    gain : (T,) what a step a second of each type is worth besides.
    rent : (D,) what a device of each kind costs while it is in use.
    price : (D,) of devices, at which the search for the most theta begins.
    """

    unit: Floats
    floor: Floats
    rate: Floats | None = None
    gain: Floats | float = 0.0
    rent: Floats | float = 0.0
    price: Floats | None = None


class Mixes:
    """Mixes of two kinds of devices (the last "kind" is idling) with which types meet their need.

    Parameters
    ----------
    need : (T,) steps a second, no more than the fastest kind makes.
    gain : (T,) what each step a second is worth besides.
    """

    def __init__(self, instance: Accelerators, need: Floats, gain: Floats | float = 0.0) -> None:
        self.kinds, self.rows = len(instance.devices), np.arange(instance.types)
        self.count, self.workers = instance.count.astype(float), instance.workers[:, None]
        self.rate = np.append(instance.alone, np.zeros((instance.types, 1)), axis=1)
        self.need, gain = need[:, None], np.broadcast_to(gain, need.shape)[:, None]
        self.worth = gain * self.rate
        single = np.arange(self.kinds + 1)
        one, two = np.triu_indices(self.kinds + 1, 1)
        self.mixed = len(one)
        # 1. the part of the time on the first kind of each two; all of it where a kind suffices
        first, second = self.rate[:, one], self.rate[:, two]
        with np.errstate(divide="ignore", invalid="ignore"):
            part = (self.need - second) / (first - second)
        able = (part > SAME_RATE) & (part < 1 - SAME_RATE)
        alone = abs(self.rate - self.need) <= SAME_RATE * self.rate.max(axis=1, keepdims=True)
        alone |= (gain > 0) & (self.rate >= self.need)
        alone[:, :-1] &= instance.alone > 0
        able &= ((first > 0) | (one == self.kinds)) & ((second > 0) | (two == self.kinds))
        # 2. what each mix takes of both, and what it is worth
        self.first, self.second = np.append(one, single), np.append(two, single)
        self.part = np.append(np.where(able, part, 1.0), np.ones(self.rate.shape), axis=1)
        steps = self.part * self.worth[:, self.first] + (1 - self.part) * self.worth[:, self.second]
        self.paid = np.where(np.append(able, alone, axis=1), -steps, np.inf)
        self.on_first = self.part * self.workers
        self.on_second = self.workers - self.on_first

    def costs(self, rent: Floats) -> Floats:
        """(T, P) rents of each mix for a job of each type, less what its steps are worth; inf for a
        mix below the type's needed throughput.
        """
        prices = np.append(rent, 0.0)
        rented = self.on_first * prices[self.first] + self.on_second * prices[self.second]
        return np.asarray(rented + self.paid)

    def replies(self, rent: Floats) -> tuple[float, Floats]:
        """Total gain of all jobs at given rents, by their cheapest mixes, and the devices (D,)
        used.
        """
        costs = self.costs(rent)
        mix = costs.argmin(axis=1)
        return -float(self.count @ costs[self.rows, mix]), self.devices(mix, self.count)

    def devices(self, mix: Integers, count: Floats) -> Floats:
        """(D,) devices that `count` (T,) jobs of each type use by their mixes."""
        use = np.zeros(self.kinds + 1)
        for kinds, part in ((self.first, self.on_first), (self.second, self.on_second)):
            use += np.bincount(kinds[mix], count * part[self.rows, mix], self.kinds + 1)
        return use[:-1]

    def slopes(self, rent: Floats) -> Floats:
        """Cost (T,) of one more step a second for a job of each type at given rents of devices. If
        no kind is faster than its needed throughput: the cost that one step less saves.
        """
        prices = self.workers * np.append(rent, 0.0) - self.worth
        cost = self.costs(rent).min(axis=1, keepdims=True)
        apart = self.rate - self.need
        known = np.append(self.rate[:, :-1] > 0, np.ones((len(cost), 1), dtype=bool), axis=1)
        small = SAME_RATE * self.rate.max(axis=1, keepdims=True)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (prices - cost) / apart
        dearer = np.where(known & (apart > small), slope, np.inf).min(axis=1)
        cheaper = np.where(known & (apart < -small), slope, 0.0).max(axis=1)
        return np.asarray(np.maximum(np.where(np.isfinite(dearer), dearer, cheaper), 0.0))


class FixedMixes:
    """Mixes of device kinds, one for each type, that are cheapest near the best prices. A program
    decides for the types whose two best mixes cost nearly the same, and for those whose mix is no
    longer the cheapest.

    Attributes
    ----------
    theta : such that each job makes floor + theta x rate times its unit.
    price : (D,) of a device of each kind, rent included, at which the mixes are cheapest.
    free : (T,) types that the program places.
    at_most : (T,) types that make the most that they can and would make more; where there are any,
        devices are enough for this theta, and no prices say that they are not for more.
    """

    def __init__(self, instance: Accelerators, terms: Terms, clock: Clock) -> None:
        there, (unit, floor, rate, self.gain, rent, price) = instance.count > 0, terms
        self.instance, self.rent = instance, np.broadcast_to(rent, instance.devices.shape)
        self.count = instance.count.astype(float)
        self.devices = np.maximum(instance.devices, 1).astype(float)
        self.floor = np.where(there, unit * floor, 0.0)
        self.rate = np.zeros(len(unit)) if rate is None else np.where(there, unit * rate, 0.0)
        self.theta, self.at_most = 0.0, np.zeros(len(unit), dtype=bool)
        self.price = self._least(clock) if rate is None else self._most(clock, price)
        self.mixes = Mixes(instance, self.floor + self.theta * self.rate, self.gain)
        costs = self.mixes.costs(self.price)
        self.mix = costs.argmin(axis=1)
        nearest = np.partition(costs, 1, axis=1)
        gap = np.where(there & np.isfinite(nearest[:, 1]), nearest[:, 1] - nearest[:, 0], np.inf)
        self.order, self.free = np.argsort(gap, kind="stable"), np.zeros(len(unit), dtype=bool)
        self.free[self.order[:TIED]] = True
        self.free |= (self.mix >= self.mixes.mixed) & (self.rate > 0)
        self.again = False

    def _least(self, clock: Clock) -> Floats:
        """Dual prices (D,) of devices, rent included, where jobs' cost less gain is minimized."""
        mixes = Mixes(self.instance, self.floor, self.gain)
        dearest = np.append(self.rent, (mixes.worth / mixes.workers).max())
        most = np.full(len(self.rent), DEAR * (dearest.max() or 1.0))
        return self.rent + search(
            lambda price: mixes.replies(price + self.rent), self.devices, most,
            start=most / DEAR / 2, clock=clock,
        ).price  # fmt: skip

    def _most(self, clock: Clock, start: Floats | None) -> Floats:
        """Maximize the common growth `theta` of throughputs by Newton's method; return prices."""
        instance, most = self.instance, 1 / self.devices
        with np.errstate(divide="ignore", invalid="ignore"):
            tops = np.where(self.rate > 0, (instance.alone.max(1) - self.floor) / self.rate, np.inf)
        self.theta, self.at_most = float(tops.min()), tops <= tops.min()
        price, tolerance, known = most / len(most), 0.01, list[Reply]()
        if start is not None and start.any():
            price = start / (start @ self.devices)
        while not clock.expired:
            # 1. the theta at which jobs need what there is at these prices
            mixes = Mixes(instance, self.floor + self.theta * self.rate)
            for _ in range(0 if known else NEWTON):
                surplus = -mixes.replies(price)[0] - price @ self.devices
                slope = float(mixes.slopes(price) @ (self.count * self.rate))
                if surplus <= ROUNDING or slope <= 0:
                    break
                self.theta, self.at_most[:] = max(0.0, self.theta - surplus / slope), False
                mixes = Mixes(instance, self.floor + self.theta * self.rate)
            # 2. prices at which they need most beyond it
            found = search(
                mixes.replies, self.devices, most, start=price, scale=1.0, tolerance=tolerance,
                known=known, clock=clock,
            )  # fmt: skip
            if found.bound > -SETTLED and tolerance <= SETTLED:
                break
            if found.bound > -SETTLED:
                tolerance, known = SETTLED, found.met
            else:
                price, known = found.price, []
                tolerance = float(np.clip(-found.bound / 100, SETTLED, tolerance))
        return 1 / self.devices if self.at_most.any() else price

    def uses(self) -> Floats:
        """(2, D) devices that types with a fixed mix use: a constant, and more per `theta`."""
        first, second = self.mixes.first[self.mix], self.mixes.second[self.mix]
        rows, fixed = self.mixes.rows, ~self.free
        use = self.mixes.devices(self.mix, self.count * fixed)
        apart = self.mixes.rate[rows, first] - self.mixes.rate[rows, second]
        moves = fixed & (self.rate > 0)
        more = np.zeros(len(rows))
        more[moves] = (self.rate * self.count * self.instance.workers)[moves] / apart[moves]
        kinds = len(self.devices)
        each = np.bincount(first, more, kinds + 1) - np.bincount(second, more, kinds + 1)
        return np.array([use - self.theta * each[:-1], each[:-1]])

    def move(self, prices: Prices, theta: float) -> None:
        """Take theta (the level of throughputs), prices and mixes from a program's optimum. The
        next program also places the types whose fixed mix is no longer the cheapest.
        """
        self.theta, self.price = theta, prices.device + self.rent
        self.mixes = Mixes(self.instance, self.floor + theta * self.rate, self.gain)
        prices.step[~self.free] = self.mixes.slopes(self.price)[~self.free]
        costs = self.mixes.costs(self.price)
        least = costs.min(axis=1)
        worse = costs[self.mixes.rows, self.mix] > least + CLOSE * abs(least[self.count > 0]).mean()
        self.again = bool((worse & ~self.free).any())
        self.free |= worse

    def enlarge(self) -> bool:
        """Let the program place four times as many types, because those with a fixed mix use too
        many devices. Returns False if it placed all types already.
        """
        more = not self.free.all()
        self.free[self.order[: 4 * int(self.free.sum())]] = True
        return more

    def rows(self) -> tuple[Integers, Integers, Floats]:
        """Time shares of the types with a fixed mix, as parallel arrays of type, kind and share."""
        fixed, mixes = np.flatnonzero(~self.free & (self.count > 0)), self.mixes
        mix, part = self.mix[fixed], mixes.part[fixed, self.mix[fixed]]
        device = np.concatenate([mixes.first[mix], mixes.second[mix]])
        share = np.concatenate([part, 1 - part]) * np.tile(self.count[fixed], 2)
        runs = (device < len(self.devices)) & (share > 0)
        return np.tile(fixed, 2)[runs], device[runs], share[runs]
