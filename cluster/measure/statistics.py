"""Penalties with intervals from run times: paired logarithms, Student's t, required rounds,
calibrated intervals of predictions, the estimates of all pairs, and the pairs to measure next.

A job that does its work in T seconds beside another, and in W seconds alone in the same round, has
lost l = log(T / W) there; over rounds the mean of l has a t-interval, and the penalty, the share of
throughput lost, is 1 - exp(-l) of the mean and of both ends. Where the other ran only during the
share c of T, the loss was seen diluted: the penalty of that round is (1 - W / T) / c.

A job that is run once for its own sake (in production) has no round. Its run is compared with a run
alone of the same command on a machine of the same kind, at most an hour before or after it; a run
alone serves one run beside each other job, so that the looks at an entry stay independent.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from ...solvers.filtering import fill
from .settings import Time
from .store import StoredMeasurement

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]
Numbers = Any
"""A number, or an array of them."""

LEAST_COVERED = 0.5
"""Share of a run in which the other must have been there; below, too little was seen."""

Entry = tuple[int, int]
"""A job's index, and that of the one beside it."""

CONTROL = -1
"""The place of the control, which only spins, among co-runners."""

FRESH = 3600.0
"""Seconds between a run of production and the run alone it is compared with, at most."""

_MOST_ROUNDS = 10**5


class Observations:
    """Run times of a set of jobs, alone and beside each other, by round.

    Parameters
    ----------
    jobs : rows of the store; their places here are the places of the matrix.
    time : which seconds count.
    others : further rows of the store -> the place of their type's job; only production counts.
    """

    def __init__(
        self, jobs: Sequence[int], time: Time, others: Mapping[int, int] | None = None
    ) -> None:
        self.jobs = tuple(jobs)
        self._place = {job: index for index, job in enumerate(jobs)}
        self._types = {**(others or {}), **self._place}
        self._references: dict[int, list[tuple[float, float]]] = {}
        self._produced: dict[Entry, list[tuple[float, int, float, float]]] = {}
        self._matched: dict[Entry, list[float]] = {}
        self._wall = time == "wall"
        self.alone: list[dict[int, tuple[float, float]]] = [{} for _ in jobs]
        self._beside: dict[tuple[int, int], dict[int, tuple[float, list[tuple[float, float]]]]] = {}

    def add(self, look: StoredMeasurement) -> None:
        """Add a measurement to the observations, unless it has a job that is not among `jobs`."""
        if look.round < 0:
            self._add_produced(look)
            return
        places = [self._place.get(job) for job in look.jobs]
        if any(place is None for place in places):
            return
        first = places[0] or 0
        second = CONTROL if look.kind == "control" else places[-1] or 0
        for member in sorted({run[0] for run in look.runs}):
            runs = [run for run in look.runs if run[0] == member]
            seconds = sum(map(self.seconds, runs)) / len(runs)
            covered = sum(run[3] for run in runs) / len(runs)
            if look.kind == "alone":
                self.alone[first][look.round] = (look.begin, seconds)
                self._refer(look.jobs[0], look.begin, seconds)
                continue
            pair = (first, second) if member == 0 else (second, first)
            rounds = self._beside.setdefault(pair, {})
            # both members of a job beside itself are looks at one entry, in one round
            before = rounds.get(look.round)
            before_it = before[1] if before is not None and before[0] == look.begin else []
            rounds[look.round] = (look.begin, [*before_it, (seconds, covered)])

    def logs(self, job: int, other: int) -> Floats:
        """Logarithms of the slowdowns of a job beside another (or `CONTROL`), one for each round
        with both.
        """
        losses_of_rounds = []
        for number, (_, sides) in self._beside.get((job, other), {}).items():
            alone = self.alone[job].get(number, (0.0, 0.0))[1]
            losses = [
                loss
                for seconds, covered in sides
                if (loss := paired_loss(seconds, alone, covered)) is not None
            ]
            if losses:
                losses_of_rounds.append(sum(losses) / len(losses))
        return np.array(losses_of_rounds + self._production((job, other)))

    def loss(self, row: int, begin: float, seconds: float, covered: float) -> float | None:
        """Logarithm of the slowdown of a production run relative to the run alone nearest in time.
        None if there is none within an hour.
        """
        near = self._nearest(self._references.get(row, []), begin)
        return None if near is None else paired_loss(seconds, near[1], covered)

    def fresh(self, row: int, now: float) -> bool:
        """Return whether a job was run alone within the last hour."""
        return self._nearest(self._references.get(row, []), now) is not None

    def seconds(self, run: tuple[int, float, float, float]) -> float:
        """Seconds of a run that count for the measurement: of the processor or of the clock."""
        return run[1] if self._wall else run[2]

    def _add_produced(self, look: StoredMeasurement) -> None:
        rows = look.jobs
        if any(row not in self._types for row in rows):
            return
        for run in look.runs:
            row = rows[run[0]]
            if len(rows) == 1:
                self._refer(row, look.begin, self.seconds(run))
                continue
            entry = (self._types[row], self._types[rows[1 - run[0]]])
            self._matched.pop(entry, None)
            self._produced.setdefault(entry, []).append(
                (look.begin, row, self.seconds(run), run[3])
            )

    def _refer(self, row: int, begin: float, seconds: float) -> None:
        """Store a run alone as a reference of production runs."""
        insort(self._references.setdefault(row, []), (begin, seconds))
        for entry in [entry for entry in self._matched if entry[0] == self._types[row]]:
            del self._matched[entry]

    def _production(self, entry: Entry) -> list[float]:
        """Logarithms of the slowdowns of production runs, each relative to its own run alone."""
        if entry not in self._matched:
            losses, unused = [], dict[int, list[tuple[float, float]]]()
            for begin, row, seconds, covered in sorted(self._produced.get(entry, [])):
                rest = unused.setdefault(row, list(self._references.get(row, [])))
                near = self._nearest(rest, begin)
                loss = None if near is None else paired_loss(seconds, near[1], covered)
                if near is not None and loss is not None:
                    rest.remove(near)
                    losses.append(loss)
            self._matched[entry] = losses
        return self._matched[entry]

    @staticmethod
    def _nearest(references: list[tuple[float, float]], begin: float) -> tuple[float, float] | None:
        """Run alone (start, seconds) that started nearest to a time; None if not within an hour."""
        place = bisect_left(references, (begin, 0.0))
        near = min(
            references[max(0, place - 1) : place + 1],
            key=lambda reference: abs(reference[0] - begin),
            default=None,
        )
        return None if near is None or abs(near[0] - begin) > FRESH else near


def paired_loss(seconds: float, alone: float, covered: float) -> float | None:
    """Logarithm of a job's slowdown beside another in one measurement; None if not computable."""
    if seconds <= 0 or alone <= 0 or covered < LEAST_COVERED:
        return None
    rate = 1 - (1 - alone / seconds) / covered
    return -math.log(rate) if rate > 0 else None


def interval(
    samples: Numbers, mean: Numbers, deviation: Numbers, level: float
) -> tuple[Numbers, Numbers, Numbers]:
    """Penalties and the ends of their t-intervals from mean logarithms of slowdowns.

    Parameters
    ----------
    samples, mean, deviation : of the logarithms; NaN of what was not measured stays NaN.
    level : probability outside of an interval, both sides together.
    """
    from scipy.special import stdtrit

    reach = stdtrit(samples - 1, 1 - level / 2) * deviation / np.sqrt(samples)
    mid, low, high = (-np.expm1(-(mean + side * reach)) for side in (0, -1, 1))
    return mid, low, high


def rounds_needed(deviation: float, mid: Numbers, half_width: float, level: float) -> Numbers:
    """Number of rounds until a t-interval has the requested half width, for a constant standard
    deviation.
    """
    reach = np.log1p(half_width / np.maximum(1 - mid, 1e-9))  # of the logarithm, on the wider side
    return 2 + np.searchsorted(-_half_widths(level), -reach / max(deviation, 1e-200))


@cache
def _half_widths(level: float) -> Floats:
    """Half widths of the t-intervals of n = 2, 3 and more samples with standard deviation 1."""
    from scipy.special import stdtrit

    looks = np.arange(2, _MOST_ROUNDS)
    widths: Floats = stdtrit(looks - 1, 1 - level / 2) / np.sqrt(looks)
    return widths


def jackknife_plus(
    values: Floats,
    known: Booleans,
    confidence: float,
    measured: tuple[Floats, Floats],
    range: tuple[float, float],
) -> tuple[Floats, Floats, Floats]:
    """Predict the unknown entries of a square matrix with calibrated intervals (jackknife+).

    Each known pair, both its entries, is left out and predicted from the others. What the
    prediction then missed it by, added to what that prediction says of an unknown entry, gives the
    distribution of which the interval takes the quantiles.

    Parameters
    ----------
    values, known : (T, T) entries, and which are known; pairs are known or not as a whole.
    confidence : of each interval by itself, if unknown pairs are like the known ones: about this,
        and for certain at least 1 - 2 (1 - confidence).
    measured : low and high of the known entries, as they are returned.
    range : what an entry can be; the interval of an entry that too few others show.

    Returns
    -------
    (T, T) middle, low and high; known entries as they are.

    Notes
    -----
    Source: Barber, Candes, Ramdas, Tibshirani, "Predictive inference with the jackknife+", Annals
    of Statistics 49 (2021), with a pair as what is left out.
    """
    middle = np.clip(fill(values, known), *range)
    lows, highs = [], []
    for a, c in np.argwhere(np.triu(known)).tolist():
        without = known.copy()
        without[a, c] = without[c, a] = False
        if not without.any():
            continue
        guess = fill(values, without)
        for entry in {(a, c), (c, a)}:
            missed = abs(values[entry] - guess[entry])
            lows.append(guess - missed)
            highs.append(guess + missed)
    outside = 1 - confidence
    rank = math.floor(outside * (len(lows) + 1))  # of the lowest ones, the same of the highest
    if rank < 1:
        low, high = np.full_like(middle, range[0]), np.full_like(middle, range[1])
    else:
        low = np.partition(lows, rank - 1, axis=0)[rank - 1]
        high = -np.partition(-np.array(highs), rank - 1, axis=0)[rank - 1]
    low = np.minimum(np.clip(low, *range), middle)
    high = np.maximum(np.clip(high, *range), middle)
    return (
        np.where(known, values, middle),
        np.where(known, measured[0], low),
        np.where(known, measured[1], high),
    )


Voids = Mapping[tuple[int, int], str]
"""Pairs (the lower index first) that failed twice, with the reason."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimated penalty of each job (row) beside each job and, in the last column (`CONTROL`),
    beside a control that only computes, shape (T, T + 1).

    Attributes
    ----------
    mid, low, high : (T, T + 1) shares of throughput lost, and the ends of their intervals; NaN of
        what was not measured in two rounds.
    deviation : (T, T + 1) standard deviations of the logarithms of one round.
    samples : (T, T + 1) rounds that were used.
    confidence : with which the intervals of all measured entries hold together.
    level : probability outside of one of them (Bonferroni over all T x T entries).
    """

    mid: Floats
    low: Floats
    high: Floats
    deviation: Floats
    samples: npt.NDArray[np.int64]
    confidence: float
    level: float

    @cached_property
    def half(self) -> Floats:
        """Half width of each penalty's interval (wider side), shape (jobs, jobs and control)."""
        return np.maximum(self.high - self.mid, self.mid - self.low)

    @property
    def known(self) -> Booleans:
        """Whether both penalties of each pair of jobs were measured, shape (jobs, jobs)."""
        measured: Booleans = np.isfinite(self.mid[:, :CONTROL])
        return measured & measured.T


def estimate_penalties(seen: Observations, confidence: float) -> Estimates:
    """Estimate penalties with intervals from observations."""
    jobs = len(seen.jobs)
    level = (1 - confidence) / jobs**2
    samples: npt.NDArray[np.int64] = np.zeros((jobs, jobs + 1), dtype=np.int64)
    mean, deviation = np.full((2, jobs, jobs + 1), np.nan)
    for a in range(jobs):
        for c in (CONTROL, *range(jobs)):
            logs = seen.logs(a, c)
            if len(logs) >= 2:
                samples[a, c], mean[a, c] = len(logs), logs.mean()
                deviation[a, c] = logs.std(ddof=1)
    return Estimates(
        *interval(samples, mean, deviation, level), deviation, samples, confidence, level
    )


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
    """Progress of the measurement of a pair from the intervals of both of its penalties."""
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
