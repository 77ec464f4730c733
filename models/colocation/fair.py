"""Fair attribution: jobs with more memory pressure lose at least as much (Cooper section II)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Floats, Integers
from ...instances.problem.option_types import validate_options
from .assignment import Assignment, PairingProgram

FINE = 1024
"""Rows over means are multiplied by about this, divided by the type's agents: an engine holds rows
to 1e-9, and slacks of few agents may be as near to each other.
"""


@dataclass(frozen=True, eq=False)
class FairProgram(PairingProgram):
    """Pairing program with rows that bound each type's mean penalty from both sides.

    Attributes
    ----------
    below, above : (T,) the rows that keep a type's mean at most h of its own bandwidth, and at
        least h of the next smaller one less the slack; -1 for a type without agents, and in `above`
        for those of least bandwidth.
    factor : (T,) what those rows are multiplied by: a power of 2, so that nothing is rounded.
    """

    below: Integers
    above: Integers
    factor: Floats


@dataclass(frozen=True, eq=False)
class Surroundings:
    """Rest of a pairing of which one part is paired anew: agents placed, and bounds on means.

    Attributes
    ----------
    count, loss : (T,) all agents of each type, and the total penalty of those among them who are
        placed already.
    least, most : (T,) no type's mean may be below `least` less the slack, nor above `most` plus the
        slack; -inf and inf for any.
    slack : the slack among the types that stay as they are.
    """

    count: Integers
    loss: Floats
    least: Floats
    most: Floats
    slack: float


@validate_options
def fair_program(
    instance: Colocation,
    slack: float | None = None,
    keep: Booleans | None = None,
    around: Surroundings | None = None,
    least: float = 0.0,
) -> FairProgram:
    """Program that minimizes the slack of fair attribution: mean penalty[x] <= mean penalty[y] +
    slack whenever bandwidth[x] < bandwidth[y].

    With the running maximum h[k] of the mean penalties of the k lowest bandwidths, one row for each
    type on either side suffices. Types without agents have no mean and are left out.

    Parameters
    ----------
    instance : with bandwidth.
    slack : given, the objective is the least total penalty with no more slack than this.
    keep : (T, T) the pairs of types to have columns for (upper triangle); all allowed ones when not
        given.
    around : the pairing that this one is a part of; the instance then counts only the agents that
        are free.
    least : less slack than this counts as this, where slack is the objective.
    """
    # 1. types with agents, by the step of their bandwidth
    assert instance.bandwidth is not None
    shared = Assignment(instance, keep)
    builder = shared.builder
    present = instance.present
    steps, level = np.unique(instance.bandwidth[present], return_inverse=True)
    count = instance.count if around is None else around.count
    count = count[present].astype(float)
    factor = 2.0 ** np.maximum(np.floor(np.log2(FINE / count)), 0.0)
    placed = np.zeros(len(present)) if around is None else around.loss[present]
    # 2. columns: h[k] for each step, and the slack
    low = lowest_penalty(instance) + min(0.0, float((placed / count).min()))
    highest = builder.columns(len(steps), lower=low, upper=1.0)
    fixed = least if around is None else around.slack
    room = builder.columns(
        1, lower=fixed if slack is None else 0.0, upper=1.0 - low if slack is None else slack
    )
    # 3. rows: h does not fall
    builder.at_most(0.0, (highest[:-1], float(FINE)), (highest[1:], -float(FINE)))
    # a type's mean is on or below its step's h, and not below the step before, less the slack
    number = np.arange(len(present))
    place = np.cumsum(instance.count > 0) - 1
    row, total = place[shared.kind], shared.loss
    below = builder.sums(  # mean <= h[k]
        len(present), (row, shared.column, total * factor[row]),
        (number, highest[level], -count * factor), upper=-placed * factor,
    )  # fmt: skip
    above_first = level > 0
    row_above_first = np.cumsum(above_first) - 1
    entries = above_first[row]
    several, each = np.arange(int(above_first.sum())), count * factor
    slacks = np.repeat(room, len(several))
    above = builder.sums(  # h[k-1] <= mean + slack
        len(several),
        (row_above_first[row[entries]], shared.column[entries], (total * factor[row])[entries]),
        (several, slacks, each[above_first]),
        (several, highest[level[above_first] - 1], -each[above_first]),
        lower=-(placed * factor)[above_first],
    )
    # and within what the types outside allow
    if around is not None:
        for sign, most in (
            (-1.0, -around.least[present]),
            (1.0, around.most[present]),
        ):  # sign mean <= most + slack
            builder.sums(
                len(present), (row, shared.column, sign * total * factor[row]),
                (number, np.repeat(room, len(number)), -each),
                upper=each * most - sign * placed * factor,
            )  # fmt: skip
    # 4. the rows of each type
    rows = np.full((2, instance.types), -1)
    rows[0, present], rows[1, present[above_first]] = below, above
    factors = np.ones(instance.types)
    factors[present] = factor

    # 5. the least h and slack of a pairing, for a start
    def others(chosen: Floats) -> Floats:
        mean = (placed + np.bincount(row, total * chosen[shared.column], len(present))) / count
        running = np.full(len(steps), -np.inf)
        np.maximum.at(running, level, mean)
        running = np.maximum.accumulate(running)
        short = running[level[above_first] - 1] - mean[above_first]
        worst = max(fixed, float(short.max(initial=0.0)))
        if around is not None:
            worst = max(worst, *(around.least[present] - mean), *(mean - around.most[present]))
        return np.append(running, worst)

    cost = shared.cost
    if slack is None:
        cost = np.zeros(int(room[0]) + 1)
        cost[-1] = 1.0
    made = shared.finish(cost, others)
    return FairProgram(**vars(made), below=rows[0], above=rows[1], factor=factors)


def lowest_penalty(instance: Colocation) -> float:
    """Lower bound on every type's mean penalty: 0, or the lowest penalty of an agent."""
    present = instance.count > 0
    usable = instance.allowed & present & present[:, None]
    return min(float(instance.penalty.min(where=usable, initial=0.0)), instance.single_penalty)
