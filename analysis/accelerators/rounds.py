"""Conversion of time shares to integer placements, round by round."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ...instances.accelerators.feasible import check, rates
from ...instances.accelerators.instance import Accelerators, Floats, Integers, TimeShares
from ...instances.accelerators.measures import throughputs
from ...instances.problem.answer_table import AnswerTable, answer_table
from ...instances.problem.option_types import AtLeast, validate_options

Rounds = Annotated[int, AtLeast(1, "rounds")]

_LEAST = 1e-9
"""A part of a placement that is due, and is rounding."""


@dataclass(frozen=True, eq=False)
class WholeRounds:
    """Schedule of the jobs that run in each round.

    Attributes
    ----------
    shares : the rows that the placements are of.
    number : (R, k) jobs, or pairs, of each row in each round.
    throughput : (n,) steps a second of every job over all rounds, type by type.
    loss : (n,) by which part that is less than the shares promise, below 0 where it is more.
    """

    shares: TimeShares
    number: Integers
    throughput: Floats
    loss: Floats

    def placement(self, place: int) -> TimeShares:
        """Integer time shares of one round; rounds are counted from 0."""
        return self.shares.replace(share=self.number[place].astype(float))


@validate_options
def whole_rounds(
    instance: Accelerators, solution: TimeShares, *, rounds: Rounds = 100
) -> WholeRounds:
    """Convert time shares to rounds in which every row has an integer number of jobs or pairs.

    Each round gives every row the whole part of its share, which always fits, and then one more to
    the rows that are the furthest behind, as long as devices and jobs are left. Of a type, the jobs
    with the least throughput so far run, the worst-off where it is the most.

    Parameters
    ----------
    rounds : how many, of equal length.

    Raises
    ------
    InfeasibleSolution
        The shares are no answer to the instance.

    Notes
    -----
    O(R (k + n) log (k + n)) for R rounds of k rows and n jobs. The round-based mechanism of Gavel
    (OSDI 2020, section 5) orders rows by what is due over what was given; here jobs of a type take
    turns, so that no job's part is left to chance.

    Examples
    --------
    >>> import cotenant
    >>> instance = cotenant.read("accelerators/tiny")
    >>> shares = cotenant.solve(instance, "max-min").solution
    >>> found = whole_rounds(instance, shares, rounds=9)
    >>> found.number.sum(axis=0).tolist(), float(found.loss.max().round(4))
    ([3, 6, 3, 6], 0.0769)
    """
    check(instance, solution)
    number = _numbers(instance, solution, rounds)
    one, two = rates(instance, solution)
    start = np.cumsum(instance.count) - instance.count
    owner = np.repeat(np.arange(instance.types), instance.count)
    total = np.zeros(len(owner))
    second = np.flatnonzero(solution.second >= 0)
    types = np.concatenate([solution.first, solution.second[second]])
    rate = np.concatenate([one, two[second]])
    for row in number:
        # runs by type, the fastest first; the jobs furthest behind get them
        many = np.concatenate([row, row[second]])
        runs = np.repeat(np.lexsort((-rate, types)), many[np.lexsort((-rate, types))])
        rank = np.arange(len(runs)) - np.searchsorted(types[runs], types[runs])
        behind = np.lexsort((total, owner))
        total[behind[start[types[runs]] + rank]] += rate[runs]
    promised = throughputs(instance, solution)[owner]
    reached = total / rounds
    loss = 1 - np.divide(reached, promised, out=np.ones(len(owner)), where=promised > 0)
    return WholeRounds(solution, number, reached, loss)


def _numbers(instance: Accelerators, solution: TimeShares, rounds: int) -> Integers:
    """Number of jobs or pairs that run in each round, by row of the time shares: (rounds, rows)."""
    first, second, device, share = (
        solution.first, solution.second, solution.device, solution.share
    )  # fmt: skip
    whole, workers = np.floor(share).astype(np.int64), instance.workers[first]
    pair = second >= 0
    devices = instance.devices - np.bincount(device, whole * workers, len(instance.devices))
    jobs = instance.count - np.bincount(first, whole, instance.types)
    jobs -= np.bincount(second[pair], whole[pair], instance.types)
    number = np.tile(whole, (rounds, 1))
    given = np.zeros(len(share))
    for index in range(rounds):
        due = (index + 1) * share - given - whole
        room, idle = devices.astype(np.int64).tolist(), jobs.astype(np.int64).tolist()
        for row in np.argsort(-due, kind="stable").tolist():
            if due[row] <= _LEAST:
                break
            a, b, d, w = int(first[row]), int(second[row]), int(device[row]), int(workers[row])
            needed = 2 if a == b else 1
            if room[d] < w or idle[a] < needed or (b >= 0 and idle[b] < 1):
                continue
            room[d] -= w
            idle[a] -= 1
            if b >= 0:
                idle[b] -= 1
            number[index, row] += 1
        given += number[index]
    return number


def rounds_table(
    instance: Accelerators, solution: TimeShares, most: int | None, *, rounds: Rounds | None = None
) -> AnswerTable | None:
    """Table of the placements in each round; None if no rounds are requested."""
    if rounds is None:
        return None
    found = whole_rounds(instance, solution, rounds=rounds)
    rows: list[tuple[object, ...]] = []
    for index in range(rounds):
        named = answer_table(instance, found.placement(index)).rows
        rows += [(index + 1, *row[:-1], int(row[-1])) for row in named if row[-1]]
    worst = max(0.0, float(found.loss.max()))
    sentence = f"{rounds} rounds; of its throughput by shares a job loses at most {worst:.2%}"
    columns = ("round", "job", "beside", "device", "number")
    return AnswerTable(sentence, columns, tuple(rows[:most]), len(rows))
