"""Elastic jobs: maximum total utility and maximum least utility, by dual prices of devices.

At a price for each kind of device every job has a best configuration of its own, so a bound takes
one look at every job (`solvers.prices`). In the answer most jobs have their best configuration at
the best prices; the types that are nearest to a tie share what is left by a small integer program.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np

from ..instances.elastic import (
    MEASURES,
    Configured,
    Elastic,
    Floats,
    Integers,
    carried,
    same_configurations,
    scale,
)
from ..instances.problem.option_types import validate_options
from ..models.elastic import configuration_program
from .engines import solve_program
from .engines.cpsat import EXACT
from .incumbent import Incumbent
from .outcome import Clock, Earlier, Outcome, Report, raise_if_interrupted
from .prices import ROUNDING, Prices, Reply, search
from .proofs.tree import integer_bound

TIED = 100
"""Types that the first integer program places: those that lose least by another configuration."""

NEAR = 0.02
"""Part of the mean utility in the best configuration that another may lose at the prices, for the
integer program to place its type.
"""

SECONDS = 5.0
"""Of an integer program at most."""

SMALL = 1000
"""Entries of utility up to which the whole integer program is solved, and its bound proved."""

DEAR = 1e3
"""Where no job may be idle, a device costs at most so many times the most utility of one."""

MARGIN = 1e-9
"""Devices are too few where all of them cost less than what the jobs need, by this part."""

CARRIED = 12
"""Cuts that the next round begins with, at most: those that are nearest to tight."""

DECIMALS = 9
"""Of utilities that are taken as integers in smaller units."""


@validate_options
def optimal(
    instance: Elastic,
    *,
    time_limit: float | None = None,
    start: Configured | None = None,
    previous: Earlier | None = None,
    report: Report | None = None,
) -> Outcome:
    """Maximize the total utility, by prices of devices and an integer program of the types nearest
    to a tie.

    Parameters
    ----------
    time_limit : seconds.
    start : an answer to begin with.
    previous : the round before, whose cuts and configurations are carried over.

    Returns
    -------
    Outcome
        Configured jobs, and a bound on `total_utility`, by the prices in the certificate; of small
        instances the optimum.

    Raises
    ------
    InvalidOption
        A time limit that is not above 0.

    Notes
    -----
    The integer program of Sia (SOSP 2023, section 3.3) for one round. By the theorem of Shapley and
    Folkman at most as many jobs as there are kinds of devices are torn between configurations at
    the best prices: the gap grows with the kinds and not with the jobs.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("elastic/tiny"), "optimal")
    >>> print(result.status, result.objective)
    optimal 12.0
    """
    best = _incumbent(instance, Clock(time_limit, report), "total_utility")
    with best.keeping_best():
        if previous is not None:
            best.offer(carried(previous.instance, instance, previous.solution), "the round before")
        best.offer(start, "a start")
        known = _carried_cuts(instance, previous)
        prices = price_devices(instance, instance.utility, best.clock, known=known)
        best.certificate |= {"prices": prices.price.tolist(), "cuts": _kept(prices)}
        best.raise_bound(prices.bound * (1 + ROUNDING), "prices of devices")
        best.offer(_settled(instance, instance.utility, prices.price, best.clock), "ties")
        if instance.utility.size <= SMALL and not best.closed:
            _solve_complete(instance, best)
    return best.finish()


@validate_options
def max_min(
    instance: Elastic, *, time_limit: float | None = None, report: Report | None = None
) -> Outcome:
    """Maximize the least utility, with prices of devices at which any larger level exceeds the
    capacity.

    Parameters
    ----------
    time_limit : seconds.

    Returns
    -------
    Outcome
        Configured jobs, with much total utility among those that are found to be best for the
        worst-off job, and a bound on `least_utility`, one of the utilities.

    Raises
    ------
    InvalidOption
        A time limit that is not above 0.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("elastic/tiny"), "max-min")
    >>> print(result.status, result.objective)
    optimal 2.5
    """
    best = _incumbent(instance, Clock(time_limit, report), "least_utility")
    with best.keeping_best():
        levels = _levels(instance)
        best.raise_bound(levels[-1], "the best configuration of each job")
        # 1. the first level that prices rule out: all below it are open
        low, high = 0, len(levels)
        while high - low > 1 and not best.clock.expired:
            middle = (low + high) // 2
            price = _too_few(instance, levels[middle], best.clock)
            if price is None:
                low = middle
                continue
            high = middle
            best.certificate |= {"prices": price.tolist(), "ruled_out": levels[high]}
            best.raise_bound(levels[high - 1], "prices of devices")
        # 2. an answer at the highest level at which the ties can be settled
        step = 1
        while not best.clock.expired and best.value < levels[low]:
            enough = (instance.utility >= levels[low]) | (instance.count == 0)[:, None]
            worth = np.where(enough, instance.utility, -np.inf)
            idle = levels[low] <= 0
            found = price_devices(instance, worth, best.clock, idle)
            best.offer(_settled(instance, worth, found.price, best.clock, idle), "ties")
            low, step = max(0, low - step), 2 * step
    return best.finish()


def _incumbent(instance: Elastic, clock: Clock, objective: str) -> Incumbent[Configured, float]:
    """Search state for an objective, with the answer of all jobs idle as first incumbent."""
    best = Incumbent[Configured, float](
        instance, clock, lambda answer: MEASURES[objective](instance, answer), sense="max",
        scale=scale(instance, objective),
    )  # fmt: skip
    best.begin(Configured.of(np.zeros(instance.utility.shape, dtype=np.int64)))
    return best


class _Jobs:
    """Best replies of jobs to prices of devices.

    Parameters
    ----------
    worth : (n, C) of a job in a configuration; -inf where it may not be.
    count : (n,) jobs of each type.
    idle : whether a job may be left without devices.
    """

    def __init__(
        self, instance: Elastic, worth: Floats, count: Integers, idle: bool = True
    ) -> None:
        self.kind, self.size, self.kinds = instance.kind, instance.workers, len(instance.devices)
        self.worth, self.count, self.idle = worth, count, idle

    def best(self, price: Floats) -> tuple[Integers, Integers, Floats]:
        """Best configuration of each type at prices, the number of jobs in it, and their gain."""
        gain, rows = self.worth - self.size * price[self.kind], np.arange(len(self.count))
        best = gain.argmax(axis=1)
        gains = gain[rows, best] + ROUNDING * self.worth[rows, best]
        runs = self.count * ((gains > 0) | (not self.idle))
        return best, runs, np.where(runs > 0, gains, 0.0)

    def replies(self, price: Floats) -> tuple[float, Floats]:
        """Total gain and device use (D,) of the jobs' best replies to prices."""
        best, runs, gains = self.best(price)
        used = np.bincount(self.kind[best], runs * self.size[best], self.kinds)
        return float(runs @ gains), used.astype(float)


def price_devices(
    instance: Elastic,
    worth: Floats,
    clock: Clock,
    idle: bool = True,
    known: Sequence[Reply] = (),
) -> Prices:
    """Find prices of devices that bound the total utility; parameters as in `_Jobs` and
    `prices.search`.
    """
    jobs, devices = _Jobs(instance, worth, instance.count, idle), instance.devices.astype(float)
    best = np.where(instance.count > 0, worth.max(axis=1), 0.0)
    most = np.full(len(devices), max(1e-300, float((best / instance.workers.min()).max())))
    most *= 1.0 if idle else DEAR
    start = np.minimum(most, best @ instance.count / devices.sum() / 2)
    found = search(jobs.replies, devices, most, start=start, known=known, clock=clock)
    _, runs, gains = jobs.best(found.price)
    return found._replace(bound=math.fsum(devices * found.price) + math.fsum(runs * gains))


def _kept(found: Prices) -> list[list[Any]]:
    """Cuts nearest to the optimum: their prices, gains and device use."""
    near = [float(each.gain[0] + each.use[0] @ (each.price - found.price)) for each in found.met]
    return [
        [found.met[index].price.tolist(), *found.met[index].gain.tolist(),
         found.met[index].use[0].tolist()]
        for index in np.argsort(near)[-CARRIED:].tolist()
    ]  # fmt: skip


def _carried_cuts(instance: Elastic, previous: Earlier | None) -> list[Reply]:
    """Cuts (prices with the jobs' replies) of an earlier round, adjusted for the jobs that changed.
    Empty if the configurations of jobs differ.
    """
    old = None if previous is None else previous.instance
    if previous is None or not isinstance(old, Elastic) or not same_configurations(old, instance):
        return []
    # 1. the types of which there are as many jobs of the same utilities in both rounds
    rows = {name: row for row, name in enumerate(old.names)}
    before = np.array([rows.get(name, -1) for name in instance.names])
    same = (before >= 0) & (old.count[before] == instance.count)
    same &= (old.utility[before] == instance.utility).all(axis=1)
    gone = np.full(len(old.count), True)
    gone[before[same]] = False
    # 2. the others leave with what they did at the prices of a cut, and come with what they do
    leave = _Jobs(old, old.utility[gone], old.count[gone])
    come = _Jobs(instance, instance.utility[~same], instance.count[~same])
    cuts = list[Reply]()
    for price, gain, use in previous.certificate.get("cuts", ()):
        at = np.array(price)
        (lost, freed), (won, used) = leave.replies(at), come.replies(at)
        cuts.append(Reply(at, np.array([gain - lost + won]), np.array([use - freed + used])))
    return cuts


def _levels(instance: Elastic) -> list[float]:
    """Possible values of the least utility, in increasing order."""
    utility = instance.utility[instance.count > 0]
    highest = utility.max(axis=1).min()
    levels: list[float] = np.unique(np.append(utility[utility <= highest], 0.0)).tolist()
    return levels


def _too_few(instance: Elastic, level: float, clock: Clock) -> Floats | None:
    """Prices (D,) of devices at which giving all jobs this utility costs more than the capacity;
    None if none are found.
    """
    present = instance.count > 0
    count, enough = instance.count[present], instance.utility[present] >= level
    kinds, devices = range(len(instance.devices)), instance.devices.astype(float)
    need = np.full((len(count), len(devices)), np.inf)  # devices of each kind that are enough
    for d in kinds:
        of_kind = instance.kind == d
        needed = np.where(enough[:, of_kind], instance.workers[of_kind], np.inf)
        need[:, d] = needed.min(axis=1, initial=np.inf)

    def replies(price: Floats) -> tuple[float, Floats]:
        cost = np.where(np.isfinite(need), need, 1.0) * price
        cost[np.isinf(need)] = np.inf
        best, rows = cost.argmin(axis=1), np.arange(len(count))
        use = np.bincount(best, count * need[rows, best], len(devices)).astype(float)
        return -float(count @ cost[rows, best]), use

    most = 1 / np.maximum(devices, 1)
    found = search(
        replies, devices, most, start=most / len(devices), scale=1.0, tolerance=MARGIN / 2,
        enough=-MARGIN, clock=clock,
    )  # fmt: skip
    return found.price if found.bound < -MARGIN else None


def _settled(
    instance: Elastic, worth: Floats, price: Floats, clock: Clock, idle: bool = True
) -> Configured | None:
    """Answer with all jobs in their best configuration, except types near a tie, which an integer
    program places; None if infeasible.
    """
    count, size, kind, rows = instance.count, instance.workers, instance.kind, np.arange(len(worth))
    # 1. what each type loses by its second-best choice, which may be to be idle
    gain = worth - size * price[kind]
    best = gain.argmax(axis=1)
    top = gain[rows, best]
    gain[rows, best] = -np.inf
    second = gain.max(axis=1)
    gain[rows, best] = top
    other = np.maximum(second, 0.0) if idle else second
    runs = (top > 0) if idle else np.full(len(top), True)
    loss = np.where(runs, top - other, -top)
    loss[count == 0] = np.inf
    order = np.argsort(loss, kind="stable")
    tied = TIED
    while not clock.expired:
        # 2. the others at their best choice
        types = order[:tied]
        number = np.zeros(worth.shape, dtype=np.int64)
        number[rows, best] = count * runs
        number[types] = 0
        used = np.bincount(kind, size * number.sum(axis=0), len(instance.devices))
        left = instance.devices - used.astype(np.int64)
        if (left >= 0).all():
            # 3. those that are near a tie in configurations that lose little, or all in any
            few = max(loss[types].max(), NEAR * worth.max(axis=1).mean())
            near = gain[types] >= (np.maximum(top, 0.0) if idle else top)[types, None] - few
            allowed = np.where(near | (tied >= len(worth)), worth[types], -np.inf)
            program, job, configuration = configuration_program(
                instance, allowed, types, left, idle
            )
            answer = solve_program(program, time_limit=clock.time_slice(most=SECONDS))
            if answer.point is not None:
                number[job, configuration] = np.rint(answer.point)
                return Configured.of(number)
            raise_if_interrupted(answer.stop)
        if tied >= len(worth):
            break
        tied *= 4
    return None


def _solve_complete(instance: Elastic, best: Incumbent[Configured, float]) -> None:
    """Solve the complete integer program, with an integer bound if utilities are decimals."""
    worth = np.where(instance.utility > 0, instance.utility, -np.inf)
    program, job, configuration = configuration_program(instance, worth)
    unit = unit_of_decimals(instance.utility)
    if unit is not None:
        program = replace(program, cost=np.rint(program.cost * unit))
    answer = solve_program(program, time_limit=best.clock.time_slice(most=SECONDS))
    if answer.point is not None:
        number = np.zeros(instance.utility.shape, dtype=np.int64)
        number[job, configuration] = np.rint(answer.point)
        best.offer(Configured.of(number), "the integer program")
    raise_if_interrupted(answer.stop)
    if unit is not None:
        bound = integer_bound(program, answer, best.clock, most=SECONDS)
        if bound is not None:
            best.raise_bound(-bound / unit, "the integer program")


def unit_of_decimals(values: Floats) -> int | None:
    """Power of ten that makes all values integers; None beyond `DECIMALS` or 2^48."""
    exponents = [int(Decimal(repr(x)).as_tuple().exponent) for x in values.ravel().tolist()]
    unit = int(10 ** max(0, -min(exponents)))
    return unit if unit <= 10**DECIMALS and values.max() * unit < EXACT else None
