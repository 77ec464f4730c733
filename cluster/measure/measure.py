"""Measurement of jobs alone and together, in random rounds, until all intervals are as narrow as
requested.

One round visits every open cell once, in an order of its own: each job alone, pairs beside each
other, and each job beside the control, which only spins. A pair is compared with the runs alone of
its own round, so that a slow drift of the machine cancels out. See `statistics` for what a round
says and which cells are open, `supervisor` for how a visit runs.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np

from ...analysis.run.lock import locked
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ...instances.problem.options import require_settings
from .command import Computer, fingerprint, kill_leftovers, machine_facts, require_linux
from .jobs import Job
from .measurement import Machine, Measurement, MeasurementRequest
from .settings import Settings
from .statistics import (
    ALONE,
    CONTROL,
    LEAST_LOOKS,
    MOST_LOOKS,
    Cell,
    CellProgress,
    Estimates,
    Observations,
    cell_progress,
    estimate_penalties,
    first_pairs,
)
from .store import Store, opened
from .topology import choose_seats, read_topology, require_pinning

FIRST_TIMEOUT = 600.0
"""Seconds that the first run of a job without timeout may take."""

LEAST_SECONDS = 0.05
"""A run that ends sooner is mostly its own start."""

SHORT_SECONDS = 1.0
"""Runs below are noted as short: what restarting and starting take is seen in them."""

MOSTLY_WAITING = 0.5
"""Share of its time on a processor below which a job is noted as mostly waiting."""

BUSY_ROUNDS = 3
"""Rounds without anything that counts after which the machine is called busy."""

ROUND_GAP = 600.0
"""Seconds of standstill after which a round that was cut is left as it is, and a new one begun."""

_MARGIN = 1.2  # of a co-run over the longer run alone, for what is expected

Stop = Literal["reached", "budget", "hopeless", "busy", "interrupted"]


@dataclass(frozen=True)
class MeasurementStatus:
    """Progress of a measurement campaign, for display.

    Attributes
    ----------
    now : what runs.
    done, cells : cells as narrow as wished, and all.
    widest : half width of the widest one; inf while one has no interval.
    busy : share of visits that pressure made useless.
    left : seconds that are left, of the budget or of what is expected; None while nobody knows.
    """

    now: str
    done: int
    cells: int
    widest: float
    busy: float
    left: float | None


@dataclass(frozen=True)
class Summary:
    """Result of a measurement campaign.

    Attributes
    ----------
    stop : "reached" (every wanted cell is as narrow as wished), "budget" (the time is up),
        "hopeless" (what is open needs more rounds than there is time for), "busy" (nothing that
        was seen counts), or "interrupted".
    why : a sentence.
    done, cells, rounds : cells as narrow as wished, all of them, rounds so far.
    widest : half width of the widest cell.
    busy, failed : visits of this command that did not count, by reason.
    visits : of this command.
    seconds : it took.
    notes : what is worth knowing of single jobs.
    """

    stop: Stop
    why: str
    done: int
    cells: int
    rounds: int
    widest: float
    busy: int
    failed: int
    visits: int
    seconds: float
    notes: tuple[str, ...] = ()


@dataclass
class Profiler:
    """System profiler: chooses which jobs are measured together, in which order, and when to stop.

    Parameters
    ----------
    jobs, rows, machine, settings, progress : see `measure`.
    machine_row : the machine's row of the store.
    """

    jobs: Sequence[Job]
    rows: Store
    machine_row: int
    machine: Machine
    settings: Settings
    progress: Callable[[MeasurementStatus], None] | None
    counts: Counter[str] = field(default_factory=Counter)  # visits, and those that are good, ...

    def __post_init__(self) -> None:
        self.begin = self.machine.now()
        self.ids = [self.rows.job(job) for job in self.jobs]
        self.seen = Observations(self.ids, self.settings.time)
        for look in self.rows.looks(self.machine_row):
            self.seen.add(look)
        counts = [job.count for job in self.jobs]
        rng = np.random.default_rng([self.settings.seed, 0])
        self.pairs = first_pairs(counts, self.settings.pairs, rng)
        self.voids: dict[Cell, str] = {}
        self.typical: list[float] = []
        self.timeouts: list[float] = []
        self.notes: list[str] = []
        self.number, last = self.rows.last_visit(self.machine_row)
        self.cut = self.number > 0 and self.begin - last < ROUND_GAP
        self.session = self.rows.begin_session(
            self.machine_row,
            self.begin,
            asdict(self.settings)
            | {
                "jobs": self.ids,
                "names": [job.name for job in self.jobs],
                "counts": counts,
                "bandwidth": [job.bandwidth for job in self.jobs],
            },
        )

    def run(self) -> Summary:
        """Measure the jobs alone and in pairs until a stopping rule applies; return a summary."""
        stop: Stop
        try:
            self._first_runs()
            stop, why = self._rounds()
        except KeyboardInterrupt:
            stop, why = "interrupted", "the run in progress is lost, and nothing else"
        self.rows.end_session(self.session, self.machine.now(), stop)
        return Summary(
            stop=stop,
            why=why,
            rounds=self.number,
            **_totals(self._progress(self._estimates())),
            busy=self.counts["busy"],
            failed=self.counts["failed"],
            visits=self.counts["visits"],
            seconds=self.machine.now() - self.begin,
            notes=tuple(self.notes),
        )

    def _first_runs(self) -> None:
        """Run every job once alone, which fills its caches and shows whether it can be measured."""
        for index, job in enumerate(self.jobs):
            self._tell(f"{job.name}, first run")
            limit = job.timeout or FIRST_TIMEOUT
            visit = self.machine.visit(MeasurementRequest([job], [limit], keep_errors=True))
            self._add(visit, (index, ALONE), 0)
            if visit.error:
                cure = (
                    "give it a longer timeout, or less work"
                    if visit.error.startswith("timeout")
                    else "mend its command: a run has to end with exit code 0"
                )
                raise InvalidOption(f"job {job.name!r}, run alone: {visit.error}; {cure}")
            run = visit.members[0].runs[0]
            if run.wall < LEAST_SECONDS:
                raise InvalidOption(
                    f"job {job.name!r} ends after {run.wall:.3f} s; expected at least "
                    f"{LEAST_SECONDS:g} s. Give it more work: 5 s measure well"
                )
            by_cpu = self.settings.time == "cpu"
            if by_cpu and run.cpu < LEAST_SECONDS / 2:
                raise InvalidOption(
                    f"job {job.name!r} uses its processor for {run.cpu:.3f} of {run.wall:.1f} s; "
                    "so processor seconds do not measure it. Give --time wall"
                )
            if by_cpu and run.cpu < MOSTLY_WAITING * run.wall:
                self.notes.append(
                    f"{job.name} had its processor for {run.cpu / run.wall:.0%} of its time: "
                    "others ran, or it waited, which only --time wall sees"
                )
            if run.wall < SHORT_SECONDS:
                self.notes.append(
                    f"{job.name} runs for {run.wall:.2f} s: its start is part of what is measured; "
                    "5 s measure better"
                )
            self.typical.append(run.wall)
            self.timeouts.append(job.timeout or max(60.0, 10 * run.wall))

    def _rounds(self) -> tuple[Stop, str]:
        """Measure round by round until a stopping rule applies; return that rule and the reason."""
        for taken in range(1, MOST_LOOKS + 1):
            estimates = self._estimates()
            standings = self._progress(estimates)
            opened = [cell for cell, one in standings.items() if not one.done]
            if not opened:
                return "reached", "every wanted pair is as narrow as wished"
            worth, why = self._worth(opened, standings)
            if not worth:
                return "hopeless", why
            if not self._round(worth):
                return "budget", f"the budget of {self.settings.budget:g} s is used up"
            if taken >= BUSY_ROUNDS and self.counts["busy"] and not self.counts["good"]:
                return "busy", (
                    f"in {taken} rounds somebody waited for a processor of this machine for more "
                    f"than {self.settings.pressure:.0%} of every run: nothing counts. Run it when "
                    "the machine is idle; --pressure sets the limit"
                )
        return "hopeless", f"{MOST_LOOKS} rounds did not do"

    def _worth(
        self, opened: list[Cell], standings: dict[Cell, CellProgress]
    ) -> tuple[list[Cell], str]:
        """Cells (pairs of jobs) whose required rounds fit into the remaining time. Returns also a
        sentence on the cell that needs the most rounds.
        """
        seconds = self._seconds(self._with_alone(opened))
        rounds = MOST_LOOKS
        if self.settings.budget is not None:
            rounds = max(1, math.floor(self._left() / max(seconds, 1e-9)))
        worth = [
            cell for cell in opened if standings[cell].needed - standings[cell].samples <= rounds
        ]
        worst = max(opened, key=lambda cell: standings[cell].needed)
        one = standings[worst]
        return worth, (
            f"not worth going on: {self._name(worst)} needs {one.needed} rounds for "
            f"+-{100 * self.settings.half_width:g} points and has {one.samples} (+-"
            f"{100 * one.half:.1f}); there is time for {rounds} more. Give a wider --half-width, "
            "longer jobs, or a quieter machine"
        )

    def _round(self, cells: list[Cell]) -> bool:
        """Run one round of measurements of the given cells (pairs of jobs); return False if the
        budget ended it.
        """
        done: set[Cell] = set()
        if self.cut:
            done = self._done_in(self.number)
        else:
            self.number += 1
        self.cut = False
        rng = np.random.default_rng([self.settings.seed, 1, self.number])
        todo = self._with_alone(cells)
        order = [todo[index] for index in rng.permutation(len(todo))]
        swaps = rng.integers(2, size=len(order)).astype(bool).tolist()
        again: list[tuple[Cell, bool]] = []
        for attempt, part in enumerate((list(zip(order, swaps, strict=True)), again)):
            for cell, swapped in part:
                if cell in done:
                    continue
                if self._left() < self._expected(cell):
                    return False
                self._tell(self._name(cell))
                visit = self._visit(cell, swapped, keep_errors=attempt > 0)
                state = self._add(visit, cell, self.number)
                if state == "failed" and attempt == 0:
                    again.append((cell, swapped))
                elif state == "failed":
                    self.voids[cell] = visit.error
                    self.notes.append(f"{self._name(cell)} failed twice: {visit.error}")
        return True

    def _visit(self, cell: Cell, swapped: bool, *, keep_errors: bool) -> Measurement:
        first, second = cell
        indices = [first] if second in (ALONE, CONTROL) else [first, second]
        members: list[Job | None] = [self.jobs[index] for index in indices]
        limits = [self.timeouts[index] for index in indices]
        if second == CONTROL:
            members.append(None)
            limits.append(math.inf)
        return self.machine.visit(MeasurementRequest(members, limits, swapped, keep_errors))

    def _add(self, visit: Measurement, cell: Cell, number: int) -> str:
        """Store the result of a measurement and return its state: "ok", "busy" or "failed"."""
        look = self.rows.add(
            visit, [self.ids[index] for index in cell if index >= 0], session=self.session,
            machine=self.machine_row, round=number, most_pressure=self.settings.pressure,
            control=cell[1] == CONTROL,
        )  # fmt: skip
        self.counts["visits"] += 1
        self.counts["good"] += look.state == "ok" and number > 0
        self.counts["busy"] += look.state == "busy" and number > 0
        self.counts["failed"] += look.state == "failed"
        if look.state == "ok" and number > 0:
            self.seen.add(look)
        return look.state

    def _done_in(self, number: int) -> set[Cell]:
        """Cells (pairs of jobs, or jobs alone) that a round of measurements already contains."""
        index_of = {job: at for at, job in enumerate(self.ids)}
        cells = set()
        for look in self.rows.looks(self.machine_row):
            if look.round == number and look.jobs[0] in index_of:
                beside = CONTROL if look.kind == "control" else ALONE
                second = index_of.get(look.jobs[-1], ALONE) if look.kind == "pair" else beside
                cells.add((index_of[look.jobs[0]], second))
        return cells

    def _with_alone(self, cells: list[Cell]) -> list[Cell]:
        """Return the given cells (pairs of jobs), and for every job in them the cell of its run
        alone.
        """
        jobs = sorted({job for cell in cells for job in cell if job >= 0})
        return [*cells, *((job, ALONE) for job in jobs)]

    def _estimates(self) -> Estimates:
        return estimate_penalties(self.seen, self.settings.confidence)

    def _progress(self, estimates: Estimates) -> dict[Cell, CellProgress]:
        """Measurement progress of each requested pair of jobs, without pairs that failed twice."""
        controls = [(a, CONTROL) for a in range(len(self.jobs))] if self.settings.control else []
        failed = {job for job, other in self.voids if other == ALONE}
        return {
            cell: cell_progress(cell, estimates, self.settings.half_width)
            for cell in [*self.pairs, *controls]
            if cell not in self.voids and not failed & set(cell)
        }

    def _expected(self, cell: Cell) -> float:
        """Expected duration in seconds of a measurement of jobs, alone or together."""
        jobs = [job for job in cell if job >= 0]
        return max(self.typical[job] for job in jobs) * (_MARGIN if len(jobs) == 2 else 1.0)

    def _seconds(self, cells: list[Cell]) -> float:
        return sum(map(self._expected, cells))

    def _left(self) -> float:
        """Remaining seconds of the time budget of a campaign."""
        if self.settings.budget is None:
            return math.inf
        return self.settings.budget - (self.machine.now() - self.begin)

    def _name(self, cell: Cell) -> str:
        first, second = cell
        beside = {ALONE: "alone", CONTROL: "beside the control"}.get(second)
        return f"{self.jobs[first].name} {beside or f'beside {self.jobs[second].name}'}"

    def _tell(self, now: str) -> None:
        if self.progress is None:
            return
        standings = self._progress(self._estimates())
        left = self._left()
        if math.isinf(left) and len(self.typical) == len(self.jobs):
            opened = {cell: one for cell, one in standings.items() if not one.done}
            needed = [max(one.needed, LEAST_LOOKS) - one.samples for one in opened.values()]
            left = max([1, *needed]) * self._seconds(self._with_alone(list(opened)))
        self.progress(
            MeasurementStatus(
                now=now,
                **_totals(standings),
                busy=self.counts["busy"] / max(1, self.counts["visits"]),
                left=None if math.isinf(left) else max(0.0, left),
            )
        )


def _totals(standings: dict[Cell, CellProgress]) -> dict[str, Any]:
    """Numbers of measured and of all pairs and jobs, and the widest half width of an interval."""
    return {
        "done": sum(one.done for one in standings.values()),
        "cells": len(standings),
        "widest": max((one.half for one in standings.values()), default=math.inf),
    }


@validate_options
def measure(
    jobs: Sequence[Job],
    store: Path,
    *,
    cpus: str | None = None,
    other_machine: bool = False,
    machine: Machine | None = None,
    progress: Callable[[MeasurementStatus], None] | None = None,
    **settings: Any,
) -> Summary:
    """Measure the penalties of jobs beside each other and add every run to a store.

    Parameters
    ----------
    jobs : of different names; see `jobs.read_jobs`.
    store : file of the rows; an existing one is gone on with.
    cpus : that the two seats are made of; see `topology.choose_seats`.
    other_machine : whether a store of another machine may get a second matrix.
    machine : runs the visits, and has `facts`; this computer when not given.
    progress : called before each visit.
    settings : half_width, budget, pairs, time, pressure, confidence, control and seed; see
        `Settings`.

    Returns
    -------
    Where it stands, and why it stopped. Ctrl-C is a stop too: the run in progress is lost.

    Raises
    ------
    InvalidOption
        An option or a job that cannot be measured so: CPUs, permissions, a command that ends at
        once, fails or does not end in its first run.
    InvalidFile
        The store is somebody else's, of another machine or version, in use, or cannot be written.
    """
    if not jobs:
        raise InvalidOption("jobs is empty; expected one at least")
    require_settings(measure, Settings, settings)
    wanted = Settings(**settings)
    with ExitStack() as stack:
        if machine is None:
            require_linux()
            seats = choose_seats(read_topology(), cpus)
            require_pinning(seats)
            facts = machine_facts(seats)
        else:
            facts = dict(getattr(machine, "facts", {"machine": type(machine).__name__}))
        stack.enter_context(locked(store, "--store", required=True))
        rows = stack.enter_context(opened(store, new=True))
        machine_row = rows.machine(fingerprint(facts), facts, other=other_machine)
        if machine is None:
            kill_leftovers(rows.token)
            machine = stack.enter_context(Computer(seats, rows.token))
        return Profiler(jobs, rows, machine_row, machine, wanted, progress).run()
