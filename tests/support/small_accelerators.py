"""Small instances of accelerators (ties, pairs of one type, single jobs, forbidden pairs, gangs),
and exact methods compared with programs over every job in fractions.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import cotenant
from cotenant.instances.accelerators import Accelerators
from cotenant.instances.accelerators.measures import entitlements, hierarchical_weights, throughputs
from cotenant.models.accelerators import share_program
from cotenant.solvers.engines import solve_refined
from support.oracles.accelerators import Jobs


def drawn(seed: int, most_jobs: int = 5) -> Accelerators:
    """Random accelerator instance of at most `most_jobs` jobs, three types and three kinds of
    devices.
    """
    rng = np.random.default_rng(seed)
    types, kinds = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    count = np.ones(types, dtype=int)
    while count.sum() < most_jobs and rng.random() < 0.8:
        count[rng.integers(types)] += 1
    devices = rng.integers(0, 3, kinds)
    workers = rng.choice([1, 1, 1, 2], types)
    devices[rng.integers(kinds)] += int(workers.max())
    values = [1, 2, 3, 4] if rng.random() < 0.5 else (rng.uniform(0.2, 9, 40)).round(2)
    throughput = rng.choice(values, (types, kinds)).astype(float)
    throughput[rng.random(throughput.shape) < 0.1] = 0.0
    together = rng.choice([0.3, 0.5, 0.5, 0.7, 1.0], (types, types, kinds)) * throughput[:, None]
    together = together.round(3)
    together[rng.random(together.shape) < 0.2] = np.inf
    most = np.where(workers[:, None] <= devices, throughput, 0.0)
    for kind in np.flatnonzero(~(most > 0).any(axis=1)):
        throughput[kind, int(devices.argmax())] = 1.0
    return Accelerators(
        throughput,
        count,
        devices,
        None if rng.random() < 0.1 else together,
        workers,
        weight=rng.choice([1, 1, 2, 0.5], types),
        steps=rng.choice([1, 10, 100, 250], types),
        elapsed=rng.choice([0, 0, 5, 40], types),
        device_cost=rng.choice([1, 2, 0.5], kinds),
        entity_weight=rng.choice([1, 2], 2),
        entity=rng.integers(0, 2, types),
    )


CLOSE = 1e-9
"""How far a value may be from that of the program of every job, as a fraction."""


def optima(instance: Accelerators) -> dict[str, Fraction | None]:
    """Optimal objective value by method, from programs over every job in fractions."""
    jobs = Jobs(instance)
    return {
        "max-min": jobs.max_min(),
        "leximin": jobs.max_min(),
        "hierarchical": jobs.hierarchical(),
        "makespan": jobs.makespan(),
        "max-throughput": jobs.most_total(Fraction(0)),
        "min-cost": jobs.least_cost(Fraction(1)),
    }


def wrongs(instance: Accelerators) -> Iterator[str]:
    """Differences between exact accelerator methods and programs over every job in fractions."""
    jobs = Jobs(instance)
    for name, least, best in (
        *((name, None, best) for name, best in optima(instance).items()),
        ("max-throughput", 0.5, jobs.most_total(Fraction(1, 2))),
        ("min-cost", 1.5, jobs.least_cost(Fraction(3, 2))),
    ):
        result = cotenant.solve(instance, name, **({} if least is None else {"least": least}))
        said = (str(result.status), result.objective, result.bound)
        if best is None:
            if said != ("infeasible", None, None):
                yield f"{name} {least}: {said}, there is no answer"
        elif said[0] != "optimal" or not all(
            value is not None and abs(value - best) <= CLOSE * best for value in said[1:]
        ):
            yield f"{name} {least}: {said}, not {float(best)}"
    yield from finish_time_wrongs(instance, jobs)


def finish_time_wrongs(instance: Accelerators, jobs: Jobs) -> Iterator[str]:
    """Differences between the finish-time result and the least ratio: a slightly larger ratio is
    feasible for all jobs, and a slightly smaller one is not.
    """
    result = cotenant.solve(instance, "finish-time")
    if result.status != "optimal" or result.objective > 1 + CLOSE:
        yield f"finish-time: {result.status}, {result.objective}"
    if not jobs.within(Fraction(result.objective) * (1 + Fraction(CLOSE))):
        yield f"finish-time: {result.objective} cannot be had"
    if jobs.within(Fraction(result.bound) * (1 - Fraction(CLOSE))):
        yield f"finish-time: less than {result.bound} can be had"


def leximin_wrongs(instance: Accelerators) -> Iterator[str]:
    """Differences between the leximin throughput of every job and the oracle's."""
    result = cotenant.solve(instance, "leximin")
    if {result.status, *(level["status"] for level in result.certificate["levels"])} != {"optimal"}:
        yield f"leximin: {result.status}, {result.certificate['levels']}"
    ratio = throughputs(instance, result.solution) / entitlements(instance)
    mine, best = np.repeat(ratio, instance.count), Jobs(instance).leximin()
    if not np.allclose(mine, [float(value) for value in best], rtol=10 * CLOSE, atol=0):
        yield f"leximin: {mine.tolist()}, not {[float(value) for value in best]}"


def filled(instance: Accelerators, *, by_entities: bool) -> np.ndarray:
    """Normalized throughputs (T,) by one program per level: all rise together, and those it names
    are at their maximum.
    """
    due, frozen = entitlements(instance), instance.count == 0
    base = np.zeros(instance.types)
    while not frozen.all():
        weights = hierarchical_weights(instance, frozen) / instance.weight
        rate = np.where(frozen, 0.0, weights if by_entities else 1.0)
        program = share_program(instance, due, floor=base, rate=rate)
        answer = solve_refined(program.program)
        assert answer.point is not None
        assert program.theta is not None
        base = base + answer.point[program.theta] * rate
        worth = program.prices(instance, answer.row_dual).step * due * instance.count * rate
        frozen = frozen | (worth > 0.05 * worth.sum() / (~frozen).sum())
    return base
