"""Search for the assignment of most total speed by a list of routes, and its outcome."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...instances.admission.instance import Admission, Assignment, Booleans, Floats, check
from ...instances.admission.rules import Stopped, pair_bounds, scale, total_speed
from ...models.admission import AdmissionProgram, assignment_program
from ..engines import EngineAnswer, EngineName, solve_in_subprocess, solve_program
from ..incumbent import Incumbent, conclude
from ..outcome import Clock, Outcome, Status, Stop, agree, level, raise_if_interrupted
from ..routes import Routed
from .columns import LIMITS as COLUMN_LIMITS
from .columns import ColumnGeneration, ColumnLimits, good_prices
from .local_search import LocalSearch, improved
from .partial_assignment import most_possible, serve_most

EXACT = 1e-9
"""Relative: a bound this near the value proves it (the engines' own precision)."""

ROUNDING = 1e-14
"""Relative: what adding speeds up in another order amounts to."""


@dataclass(frozen=True)
class AdmissionLimits(Routed):
    """Parameters of the search of `optimal` and `most_jobs`; no proof depends on them.

    Attributes
    ----------
    small : entries of J x V x C up to which the assignment program alone is solved: it is quicker
        than everything that prepares it.
    program_columns : up to which the assignment program is solved: an engine takes 1 GB for these,
        and 5 GB for half a million, of which it looks at no clock.
    keeps_time : columns up to which HiGHS keeps its time limit without a process of its own.
    column_seconds : what it takes to build a column of the program and hand it to an engine,
        roughly.
    columns : of the column generation.
    """

    small: int = 500
    program_columns: int = 200_000
    keeps_time: int = 50_000
    column_seconds: float = 3e-6
    columns: ColumnLimits = COLUMN_LIMITS
    routes: frozenset[str] = frozenset({"columns", "listing", "prices", "program"})


LIMITS = AdmissionLimits()

KICKS = 20
"""Perturbations of the local search from the best set of columns."""


class Search(Incumbent[Assignment, float]):
    """State of the search for the most total speed: incumbent, upper bound, and certificate.

    Attributes
    ----------
    time : the clock of the step being taken; `clock` is that of the whole run, which keeps the
        trace and reports.
    later : why the second level ended, when there is one.
    engine : of the assignment program.
    columns : the sets of jobs found by column generation.
    """

    best: Assignment

    def __init__(
        self,
        instance: Admission,
        clock: Clock,
        start: Assignment,
        limits: AdmissionLimits = LIMITS,
    ) -> None:
        most = scale(instance, "total_speed")  # everybody on an empty VM
        super().__init__(
            instance, clock, partial(total_speed, instance), sense="max", scale=most, bound=most
        )
        self.instance, self.time, self.limits = instance, clock, limits
        self.begin(start)
        self.later = Stop.FINISHED
        self.engine: EngineName = "highs"
        self.columns: ColumnGeneration | None = None

    def part(self, share: float, most: float | None = None) -> Clock:
        """Clock for one step: a share of the remaining time, at most `most` seconds."""
        return Clock(self.time.time_slice(1 / share, most))

    def search(self, engine: EngineName) -> None:
        """Run one method after another (`MOST_SPEED`) until one proves the incumbent best; small
        instances take the last one alone.
        """
        self.report("a start")
        self.engine = engine
        small = self.instance.jobs * self.instance.cores.size <= self.limits.small
        for run in MOST_SPEED[-1:] if small else MOST_SPEED:
            if not self.closed:
                run(self)

    def search_serving(self, most: int, engine: EngineName) -> None:
        """Maximize total speed with `most` jobs served; the fastest assignment often serves them
        already.
        """
        serving, value = self.best, self.value
        self.time = self.part(0.5)
        self.search(engine)
        self.time = self.clock
        if self.best.assigned.sum() < most:
            repaired = serve_most(self.instance, self.best)
            self.best, self.value = serving, value
            self.offer(repaired)
        self.stop = Stop.FINISHED
        if not self.closed and not self.time.expired:
            self.program(engine, least_jobs=most)
        elif not self.closed:
            self.stop = Stop.TIME_LIMIT
        self.later = Stop.FINISHED if self.closed else self.stop

    def then_jobs(self, engine: EngineName) -> None:
        """Among assignments as fast as the best, find one that serves most jobs."""
        first = level("total_speed", self.value, self.bound, self.closed)
        served = int(self.best.assigned.sum())
        most = most_possible(self.instance)
        bound = float(most)
        if served < most and self.time.expired:
            self.later = Stop.TIME_LIMIT
        elif served < most and not self._within_reach(None):
            self.later = self.stop
        elif served < most:
            least = self.value * (1 - EXACT)
            if self.closed:  # the answer of the second level must be proved of the first, too
                least = max(least, self.bound / (1 + EXACT))
            program = assignment_program(
                self.instance, objective="jobs", least_speed=least, whole=True
            )
            answer = self._solved(program, engine, tells=False)
            if answer.bound is not None and answer.status is not Status.UNKNOWN:
                bound = max(float(served), min(bound, np.floor(-answer.bound + 1e-6)))
            if answer.point is not None:
                found = program.assignment(answer.point)
                if found.assigned.sum() > served and total_speed(self.instance, found) >= least * (
                    1 - ROUNDING
                ):
                    check(self.instance, found)
                    self.best, self.value = found, total_speed(self.instance, found)
                    served = int(found.assigned.sum())
            self.later = answer.stop
            if answer.stop is Stop.INTERRUPTED:
                self.stop = answer.stop
        jobs = self.instance.jobs
        second = level("assigned", served / jobs, bound / jobs, served >= bound)
        self.certificate["levels"] = [first, second]

    def outcome(self, objective: str, value: float, bound: float) -> Outcome:
        """Outcome with the incumbent, checked, and the value and bound of the given objective."""
        check(self.instance, self.best)
        unit = scale(self.instance, objective)
        if agree(value, bound, unit):
            bound = value
            if self.stop is not Stop.INTERRUPTED:
                self.stop = self.later  # a first level that is proved says nothing of the second
        found = conclude(
            self.best, value, bound, self.stop, self.certificate, self.clock, sense="max",
            scale=unit,
        )  # fmt: skip
        return replace(found, stop=self.stop) if found.stop is Stop.FINISHED else found

    def bounded_by(self, bound: float, by: str) -> None:
        """Keep a bound, with its source for the certificate, if it is better."""
        if bound < self.bound:
            self.certificate["bound_from"] = by
        self.raise_bound(bound, by)

    def program(self, engine: EngineName, least_jobs: int | None = None) -> None:
        """Solve the assignment program over the pairs that prices do not rule out."""
        keep = None
        if "prices" in self.certificate:
            bounds = pair_bounds(self.instance, np.array(self.certificate["prices"]))
            keep = bounds >= self.value * (1 - EXACT)
            self.certificate["pairs_ruled_out"] = int((~keep).sum())
        if not self._within_reach(keep):
            return
        whole = engine == "cp-sat" or least_jobs is not None
        program = assignment_program(self.instance, keep, least_jobs=least_jobs, whole=whole)
        answer = self._solved(program, engine)
        self.certificate |= {
            "engine": engine,
            "columns": program.program.columns,
            "rows": program.program.rows,
        }
        if answer.point is not None:
            self.offer(self._read(program, answer.point, engine), "assignment program")
        if answer.bound is not None and answer.status is not Status.UNKNOWN:
            # what was ruled out is worth less than the value
            bound = max(self.value, -answer.bound * program.scale)
            self.bounded_by(bound, "assignment program")
        if not self.closed:
            self.stop = answer.stop
        raise_if_interrupted(answer.stop)

    def _within_reach(self, keep: Booleans | None) -> bool:
        """Whether time and memory allow the assignment program over these pairs; reports it
        if not.
        """
        pairs = self.instance.jobs * self.instance.machines if keep is None else int(keep.sum())
        columns = pairs * (self.instance.cores.shape[1] + 1)
        most = self.limits.program_columns
        if columns > most:
            self.certificate["left_out"] = (
                f"the assignment program: {columns} columns, {most} at most"
            )
            return False
        if self.time.left is not None and columns * self.limits.column_seconds > self.time.left:
            self.stop = Stop.TIME_LIMIT
            return False
        return True

    def _read(self, program: AdmissionProgram, point: Floats, engine: EngineName) -> Assignment:
        """Convert a point of a program into an assignment; cores that are not integers are computed
        again, with each job on its VM.
        """
        found = program.assignment(point)
        if program.whole(point):
            return found
        keep = np.zeros((self.instance.jobs, self.instance.machines), dtype=bool)
        chosen = point[: len(program.job)] > 0.5
        keep[program.job[chosen], program.machine[chosen]] = True
        fixed = assignment_program(self.instance, keep, whole=True, ordered=False)
        answer = solve_program(fixed.program, engine=engine, time_limit=self.part(1.0, 60.0).left)
        return found if answer.point is None else fixed.assignment(answer.point)

    def _solved(
        self, program: AdmissionProgram, engine: EngineName, tells: bool = True
    ) -> EngineAnswer:
        """Solve an assignment program from the incumbent in the time left; with `tells`, its bounds
        are on total speed and are reported.
        """
        scale = program.scale

        def tell(seconds: float, objective: float | None, bound: float | None, words: str) -> None:
            if bound is not None:
                self.clock.note(self.value, min(self.bound, max(self.value, -bound * scale)), words)

        begin, left = program.point(self.best), self.time.time_slice()
        large = program.program.columns > self.limits.keeps_time
        if engine == "highs" and left is not None and large:
            return solve_in_subprocess(program.program, time_limit=left, start=begin)
        reporter = tell if tells else None
        return solve_program(
            program.program, engine=engine, time_limit=left, start=begin, report=reporter
        )


def find_prices(search: Search) -> None:
    """Find prices of cores by cutting planes: no assignment has more total speed than all cores
    cost plus each job's best gain on one VM at these prices.
    """
    if "prices" in search.limits.routes:
        prices, bound = good_prices(search.instance, search.part(0.1))
        search.certificate |= {
            "prices": prices.tolist(), "price_bound": bound, "bound_from": "prices",
        }  # fmt: skip
        search.raise_bound(bound, "prices of cores")


def generate_columns(search: Search) -> None:
    """Generate a column for each useful set of jobs on a VM, priced by branch and bound over
    sets.
    """
    if search.time.expired or "columns" not in search.limits.routes:
        return
    instance, limits = search.instance, search.limits.columns
    prices = np.array(search.certificate.get("prices", np.zeros_like(instance.cores, float)))
    try:
        program = ColumnGeneration(
            instance, prices, search.bound, lambda: search.time.expired, limits
        )
    except Stopped:
        return
    program.take(search.best)
    for bound in program.improve(search.part(0.5), search.value):
        search.bounded_by(bound, "sets of jobs")
    answer, found = program.solve(search.best, search.part(0.3, 60.0).left)
    faster = search.offer(found)
    raise_if_interrupted(answer.stop)
    if faster:
        local = LocalSearch(instance, search.part(0.1))
        found, interrupted = improved(instance, search.best, local, None, KICKS)
        search.offer(found, "local search")
        if interrupted:
            raise KeyboardInterrupt
        program.take(search.best)
    search.certificate["job_prices"] = program.price.tolist()
    search.columns = program


def list_sets(search: Search) -> None:
    """List the sets of jobs whose reduced cost lies within the gap, where they are few, and solve
    an integer program over them.
    """
    program = search.columns
    if program is None or search.time.expired or "listing" not in search.limits.routes:
        return
    listed = program.list_all(search.part(0.5), search.value)
    search.bounded_by(program.bound, "sets of jobs")
    if not listed:
        return
    answer, found = program.solve(search.best, search.time.left)
    search.offer(found, "all sets that matter")
    search.certificate["sets_listed"] = program.size
    if answer.bound is not None:
        search.bounded_by(max(search.value, -answer.bound * program.scale), "sets of jobs")
    raise_if_interrupted(answer.stop)


def solve_assignment(search: Search) -> None:
    """Solve the assignment program without the pairs of job and VM whose reduced cost exceeds the
    gap.
    """
    if search.time.expired or "program" not in search.limits.routes:
        search.stop = Stop.TIME_LIMIT
    else:
        search.program(search.engine)


MOST_SPEED = find_prices, generate_columns, list_sets, solve_assignment
