"""The steps of a search for most total speed, and what is known when it ends."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ...instances.admission.instance import Admission, Assignment, Booleans, Floats, check
from ...instances.admission.prices import Stopped, pair_bounds
from ...instances.admission.rules import scale, total_speed
from ...models.admission import AdmissionProgram, assignment_program
from ..engines import EngineAnswer, EngineName, solve_in_subprocess, solve_program
from ..incumbent import Incumbent, conclude
from ..outcome import Clock, Outcome, Status, Stop, agree, level, raise_if_interrupted
from ..routes import Routed
from .columns import LIMITS as COLUMN_LIMITS
from .columns import ColumnGeneration, ColumnLimits
from .local_search import LocalSearch, improved
from .max_jobs import most_possible, serve_most
from .prices import good_prices

EXACT = 1e-9
"""Relative: a bound this near the value proves it (the engines' own precision)."""

ROUNDING = 1e-14
"""Relative: what adding speeds up in another order amounts to."""


@dataclass(frozen=True)
class AdmissionLimits(Routed):
    """The numbers that steer `optimal` and `most_jobs`; what is proved rests on none of them.

    Attributes
    ----------
    small : entries of J x V x C up to which the assignment program alone is quicker than everything
        that prepares it.
    program_columns : up to which the assignment program is solved: an engine takes 1 GB for these,
        and 5 GB for half a million, of which it looks at no clock.
    keeps_time : columns up to which HiGHS keeps its time limit without a process of its own.
    column_seconds : what it takes to build a column of the program and hand it to an engine,
        roughly.
    kicks : of the local search before the columns.
    columns : of the column generation.
    """

    small: int = 500
    program_columns: int = 200_000
    keeps_time: int = 50_000
    column_seconds: float = 3e-6
    kicks: int = 60
    columns: ColumnLimits = COLUMN_LIMITS
    routes: frozenset[str] = frozenset({"columns", "listing", "local search", "prices", "program"})


LIMITS = AdmissionLimits()


class Search(Incumbent[Assignment, float]):
    """The best assignment so far, the bound on total speed, and how they came about.

    Attributes
    ----------
    time : the clock of the step being taken; `clock` is that of the whole run, which keeps the
        trace and reports.
    later : why the second level ended, when there is one.
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

    def part(self, share: float, most: float | None = None) -> Clock:
        """A clock for one step: a share of the time that is left, and no more than `most`
        seconds.
        """
        return Clock(self.time.time_slice(1 / share, most))

    def search(self, rng: np.random.Generator | None, route: str, engine: EngineName) -> None:
        """Local search, prices, columns, and the assignment program, until one of them proves the
        best.
        """
        self.report("a start")
        small = self.instance.jobs * self.instance.cores.size <= self.limits.small
        routes = self.limits.routes
        if not self.closed and (route == "columns" or (route == "auto" and not small)):
            if "local search" in routes:
                self._local_search(rng, 0.1, self.limits.kicks)
            if "prices" in routes:
                self._prices()
            if not self.closed and not self.time.expired and "columns" in routes:
                self._columns(rng)
        if not self.closed and not self.time.expired and "program" in routes:
            self._program(engine)
        elif not self.closed:
            self.stop = Stop.TIME_LIMIT

    def search_serving(
        self, rng: np.random.Generator | None, most: int, engine: EngineName
    ) -> None:
        """Most total speed while `most` jobs are served: often the fastest assignment serves them
        all anyway.
        """
        serving, value = self.best, self.value
        self.time = self.part(0.5)
        self.search(rng, "auto", engine)
        self.time = self.clock
        if self.best.assigned.sum() < most:
            repaired = serve_most(self.instance, self.best)
            self.best, self.value = serving, value
            self.offer(repaired)
        self.stop = Stop.FINISHED
        if not self.closed and not self.time.expired:
            self._program(engine, least_jobs=most)
        elif not self.closed:
            self.stop = Stop.TIME_LIMIT
        self.later = Stop.FINISHED if self.closed else self.stop

    def then_jobs(self, engine: EngineName) -> None:
        """Among the assignments as fast as the best, one that serves most jobs."""
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
        """The checked outcome, of total speed or of the jobs served."""
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

    def _local_search(self, rng: np.random.Generator | None, share: float, kicks: int) -> None:
        found, interrupted = improved(
            self.instance, self.best, LocalSearch(self.instance, self.part(share)), rng, kicks
        )
        self.offer(found, "local search")
        if interrupted:
            raise KeyboardInterrupt

    def _prices(self) -> None:
        """Prices of cores, by cutting planes."""
        prices, bound = good_prices(self.instance, self.part(0.1))
        self.certificate |= {
            "prices": prices.tolist(),
            "price_bound": bound,
            "bound_from": "prices",
        }
        self.raise_bound(bound, "prices of cores")

    def _columns(self, rng: np.random.Generator | None) -> None:
        prices = np.array(self.certificate.get("prices", np.zeros_like(self.instance.cores, float)))
        try:
            program = ColumnGeneration(
                self.instance, prices, self.bound, lambda: self.time.expired, self.limits.columns
            )
        except Stopped:
            return
        program.take(self.best)
        for bound in program.improve(self.part(0.5), self.value):
            self._bounded_by(bound, "sets of jobs")
        answer, found = program.solve(self.best, self.part(0.3, 60.0).left, None)
        faster = self.offer(found)
        raise_if_interrupted(answer.stop)
        if faster:
            self._local_search(rng, 0.1, 20)
            program.take(self.best)
        self.certificate["job_prices"] = program.price.tolist()
        if self.closed or self.time.expired or "listing" not in self.limits.routes:
            return
        listed = program.list_all(self.part(0.5), self.value)
        self._bounded_by(program.bound, "sets of jobs")
        if not listed:
            return
        answer, found = program.solve(self.best, self.time.left, None)
        self.offer(found, "all sets that matter")
        self.certificate["sets_listed"] = program.size
        if answer.bound is not None:
            self._bounded_by(max(self.value, -answer.bound * program.scale), "sets of jobs")
        raise_if_interrupted(answer.stop)

    def _bounded_by(self, bound: float, by: str) -> None:
        if bound < self.bound:
            self.certificate["bound_from"] = by
        self.raise_bound(bound, by)

    def _program(self, engine: EngineName, least_jobs: int | None = None) -> None:
        """The assignment program, over the pairs that prices do not rule out."""
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
            self._bounded_by(bound, "assignment program")
        if not self.closed:
            self.stop = answer.stop
        raise_if_interrupted(answer.stop)

    def _within_reach(self, keep: Booleans | None) -> bool:
        """Whether time and memory allow the assignment program over these pairs; says it where
        not.
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
        """The assignment of a point; should its cores not be whole, they are found again with the
        VMs fixed.
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
        """What the engine makes of a program, begun at the best answer; it `tells` its bounds when
        they are on speed.
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
