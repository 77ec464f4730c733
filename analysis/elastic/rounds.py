"""Simulation of elastic jobs over rounds: utilities of policies, cost of moves, and warm starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import process_time
from typing import Annotated, NamedTuple

import numpy as np

from ...catalog import find
from ...instances.elastic import Configured, Elastic, carried
from ...instances.problem.option_types import AtLeast, Between, validate_options
from ...solvers.elastic import price_devices
from ...solvers.outcome import Clock
from ..run.result import Result
from ..run.solve import solve

Part = Annotated[float, Between(0, 1, "a part")]

LEARNED = 0.2
"""Standard deviation of the logarithm by which the utilities of a job change."""


class MethodRounds(NamedTuple):
    """Totals of a method over all rounds: utility, and loss against a bound.

    Attributes
    ----------
    utility : of all jobs, summed over the rounds, less what moves cost.
    lost : by what part a round's utility is below the bound from the state that the method itself
        left, by prices of devices; the mean of the rounds.
    moved : jobs that were there in both rounds and run in another configuration, or not any more;
        the mean.
    seconds : of the processor for a round.
    """

    method: str
    utility: float
    lost: float
    moved: float
    seconds: float


@validate_options
def trace(
    instance: Elastic,
    *,
    rounds: Annotated[int, AtLeast(1)],
    changed: Part,
    rng: np.random.Generator,
) -> Iterator[Elastic]:
    """Yield the instance of each round. After it the part `changed` of the jobs is replaced by jobs
    of random types, and as many get utilities multiplied by a log-normal factor.
    """
    types = np.repeat(np.arange(len(instance.count)), instance.count)
    number, factor = np.arange(len(types)), np.ones(len(types))
    some = int(np.ceil(changed * len(types)))
    for _ in range(rounds):
        yield instance.replace(
            utility=instance.utility[types] * factor[:, None], count=np.ones_like(types),
            names=tuple(f"job {each}" for each in number.tolist()),
        )  # fmt: skip
        left = rng.choice(len(types), some, replace=False)
        types[left], factor[left] = rng.choice(types, some), 1.0
        number[left] = number.max() + 1 + np.arange(some)
        factor[rng.choice(len(types), some, replace=False)] *= rng.lognormal(0, LEARNED, some)


@validate_options
def with_moves(instance: Elastic, running: Configured, cost: Part) -> Elastic:
    """Instance in which a running job loses a share of its utility in every other configuration."""
    utility = instance.utility.copy()
    utility[running.job] *= 1 - cost
    stay = running.job, running.configuration
    utility[stay] = instance.utility[stay]
    return instance.replace(utility=utility)


@validate_options
def play_rounds(
    instance: Elastic,
    methods: Sequence[str] = ("optimal", "marginal", "equal-split", "density", "FIFO"),
    *,
    rounds: Annotated[int, AtLeast(1, "rounds")] = 10,
    changed: Part = 0.05,
    move: Part = 0.1,
    carry: bool = True,
    seed: Annotated[int, AtLeast(0)] = 0,
) -> list[MethodRounds]:
    """Run each method on the same rounds, with the cost of moves included.

    Parameters
    ----------
    rounds : how many.
    changed : the part of the jobs that leaves after a round, that comes, and that changes.
    move : the part of its utility that a job loses in the round in which it changes its
        configuration.
    carry : whether an exact method begins with the round before.
    seed : of the trace.
    """
    played = []
    for method in methods:
        utility = moved = lost = seconds = 0.0
        running, before = Configured.of(np.zeros(instance.utility.shape, dtype=int)), instance
        result: Result[Configured] | None = None
        rng = np.random.default_rng(seed)
        for index, given in enumerate(trace(instance, rounds=rounds, changed=changed, rng=rng)):
            # 1. the instance of this round, by who runs where from the round before
            there = carried(before, given, running) if index else running
            now = with_moves(given, there, move)
            # 2. the answer of the method, and the bound from here
            exact, begun = find("elastic", method).kind == "exact", process_time()
            result = solve(now, method, start=result if exact and carry else None)
            seconds += process_time() - begun
            value = result.metrics["total_utility"]
            utility += value
            lost += 1 - value / price_devices(now, now.utility, Clock()).bound
            # 3. who has moved
            assert result.solution is not None
            before, running = given, result.solution
            place = dict(zip(running.job.tolist(), running.configuration.tolist(), strict=True))
            pairs = zip(there.job.tolist(), there.configuration.tolist(), strict=True)
            moved += sum(place.get(job, c) != c for job, c in pairs)
        each = (value / rounds for value in (lost, moved, seconds))
        played.append(MethodRounds(method, utility, *each))
    return played
