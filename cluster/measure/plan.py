"""Choice of the next measurements: which pairs, and how many more rounds each needs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .statistics import CONTROL, Estimates, rounds_needed

ALONE = -2
"""The index of nobody, among co-runners."""

Cell = tuple[int, int]
"""A job and whom it runs beside: another (the lower index first), `CONTROL`, or `ALONE`."""

LEAST_LOOKS = 6
"""Looks below which no cell is done: a deviation of fewer is too often too small by chance."""

PILOT_LOOKS = 4
"""Looks after which the rounds that a cell needs are estimated."""

MOST_LOOKS = 200
"""Looks that a cell without a budget may need."""


def first_pairs(counts: Sequence[int], share: float, rng: np.random.Generator) -> list[Cell]:
    """Draw a random share of the pairs with at least one for each job."""
    jobs = len(counts)
    pairs = [
        (a, c) for a in range(jobs) for c in range(a, jobs) if a != c or counts[a] >= 2 or jobs == 1
    ]
    most = math.ceil(share * len(pairs) - 1e-9)
    if most >= len(pairs):
        return pairs
    order = rng.permutation(jobs).tolist()
    if jobs % 2:
        order.append(int(rng.choice(order[:-1])))
    chosen = {(min(pair), max(pair)) for pair in zip(order[::2], order[1::2], strict=True)}
    rest = [pair for pair in pairs if pair not in chosen]
    for index in rng.permutation(len(rest))[: max(0, most - len(chosen))]:
        chosen.add(rest[index])
    return sorted(chosen)


@dataclass(frozen=True)
class CellProgress:
    """Progress of the measurement of a cell (a pair, or a job alone).

    Attributes
    ----------
    samples : rounds used so far.
    half : half width of its wider interval; inf while there is none.
    needed : rounds it needs in all; 0 while too few are seen to estimate it.
    done : whether it is as narrow as wished.
    """

    samples: int = 0
    half: float = math.inf
    needed: int = 0
    done: bool = False


def cell_progress(cell: Cell, estimates: Estimates, half_width: float) -> CellProgress:
    """Progress of a cell from the intervals of both of its entries."""
    a, c = cell
    alike = np.zeros(estimates.mid.shape, dtype=bool)  # cells whose looks vary as those of this one
    if c == CONTROL:
        both = ([a], [c])
        alike[a, c] = True
    else:
        both = ([a, c], [c, a])
        alike[both[0], :CONTROL] = alike[:, both[0]] = True
    samples, half = int(estimates.samples[both].min()), float(estimates.half[both].max())
    if math.isnan(half):
        return CellProgress()
    needed = 0
    if samples >= PILOT_LOOKS:
        # the deviations of a few looks are pooled with those of the same jobs' other cells
        alike &= np.isfinite(estimates.mid)
        weights, squares = estimates.samples[alike] - 1, estimates.deviation[alike] ** 2
        pooled = math.sqrt(np.average(squares, weights=weights))
        rounds = rounds_needed(pooled, estimates.mid[both], half_width, estimates.level)
        needed = int(rounds.max())
    return CellProgress(samples, half, needed, half <= half_width and samples >= LEAST_LOOKS)
