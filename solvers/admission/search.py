"""The steps of a search for most total speed, and what is known when it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ...instances.admission.instance import Admission, Assignment, Booleans, Floats, check
from ...instances.admission.prices import Stopped, pair_bounds
from ...instances.admission.rules import scale, total_speed
from ...instances.problem.errors import InfeasibleSolution
from ...models.admission import AdmissionProgram, assignment_program
from ..engines import EngineAnswer, EngineName, solve_in_subprocess, solve_program
from ..outcome import Clock, Outcome, Status, Stop, agree, raise_if_interrupted
from .local_search import improved
from .max_jobs import most_possible, serve_most
from .prices import RELAXED_UP_TO, good_prices, relaxation_prices

SMALL = 500
"""Entries of J x V x C up to which the assignment program alone is quicker than everything that
prepares it.
"""

EXACT = 1e-9
"""Relative: a bound this near the value proves it (the engines' own precision)."""

ROUNDING = 1e-14
"""Relative: what adding speeds up in another order amounts to."""


PROGRAM_UP_TO = 200_000
"""Columns up to which the assignment program is solved: an engine takes 1 GB for these, and 5 GB
for half a million, of which it looks at no clock.
"""

KEEPS_TIME = 50_000
"""Columns up to which HiGHS keeps its time limit without a process of its own."""

COLUMN_SECONDS = 3e-6
"""What it takes to build a column of the program and hand it to an engine, roughly."""


class Search:
    """The best assignment so far, the bound on total speed, and how they came about."""

    def __init__(self, instance: Admission, clock: Clock, start: Assignment) -> None:
        self.instance = instance
        self.clock = clock  # of the whole run: it keeps the trace and reports
        self.time = clock  # of the step being taken
        self.best = start
        self.value = total_speed(instance, start)
        self._scale = self.bound = scale(instance, "total_speed")  # everybody on an empty VM
        self.stop = Stop.FINISHED
        self.later = Stop.FINISHED  # of the second level, when there is one
        self.certificate: dict[str, Any] = {}

    @property
    def proved(self) -> bool:
        """Whether the bound meets the value."""
        return self.bound <= self.value or agree(self.value, self.bound, self._scale)

    @contextmanager
    def keeping(self) -> Iterator[None]:
        """Ctrl-C ends the search and keeps the best answer."""
        try:
            yield
        except KeyboardInterrupt:
            self.stop = Stop.INTERRUPTED

    def better(self, assignment: Assignment) -> bool:
        """Keep an assignment if it is feasible, by our own check, and faster in all."""
        try:
            check(self.instance, assignment)
        except InfeasibleSolution:  # no solver is believed on its word
            return False
        value = total_speed(self.instance, assignment)
        if value <= self.value:
            return False
        self.best, self.value = assignment, value
        return True

    def lower(self, bound: float) -> None:
        """Keep a bound if it is lower."""
        self.bound = min(self.bound, bound)

    def note(self, text: str) -> None:
        """Tell how far it is."""
        self.clock.note(self.value, self.bound, text)

    def part(self, share: float, most: float | None = None) -> Clock:
        """A clock for one step: a share of the time that is left, and no more than `most`
        seconds.
        """
        return Clock(self.time.time_slice(1 / share, most))

    def search(self, rng: np.random.Generator | None, route: str, engine: EngineName) -> None:
        """Local search, prices, columns, and the assignment program, until one of them proves the
        best.
        """
        self.note("a start")
        small = self.instance.jobs * self.instance.cores.size <= SMALL
        if not self.proved and (route == "columns" or (route == "auto" and not small)):
            self._local_search(rng, 0.1, 60)
            self._prices()
            if not self.proved and not self.time.expired:
                self._columns(rng)
        if not self.proved and not self.time.expired:
            self._program(engine)
        elif not self.proved:
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
            self.better(repaired)
        self.stop = Stop.FINISHED
        if not self.proved and not self.time.expired:
            self._program(engine, least_jobs=most)
        elif not self.proved:
            self.stop = Stop.TIME_LIMIT
        self.later = Stop.FINISHED if self.proved else self.stop

    def then_jobs(self, engine: EngineName) -> None:
        """Among the assignments as fast as the best, one that serves most jobs."""
        level: dict[str, Any] = {
            "objective": "total_speed",
            "value": self.value,
            "bound": self.bound,
        }
        level["status"] = (Status.OPTIMAL if self.proved else Status.FEASIBLE).value
        served = int(self.best.assigned.sum())
        most = most_possible(self.instance)
        bound = float(most)
        if served < most and self.time.expired:
            self.later = Stop.TIME_LIMIT
        elif served < most and not self._within_reach(None):
            self.later = self.stop
        elif served < most:
            least = self.value * (1 - EXACT)
            if self.proved:  # the answer of the second level must be proved of the first, too
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
        status = Status.OPTIMAL if served >= bound else Status.FEASIBLE
        second = {
            "objective": "assigned",
            "value": served / self.instance.jobs,
            "bound": bound / self.instance.jobs,
        }
        self.certificate["levels"] = [level, second | {"status": status.value}]

    def outcome(self, objective: str, value: float, bound: float) -> Outcome:
        """The checked outcome."""
        check(self.instance, self.best)
        if bound < value - 1e-6 * abs(value):
            self.certificate["contradiction"] = (
                f"the bound {bound:.12g} is below the value {value:.12g}; neither is trusted"
            )
            return Outcome(
                self.best,
                None,
                Status.UNKNOWN,
                self.stop,
                self.certificate,
                tuple(self.clock.trace),
            )
        met = bound <= value or agree(value, bound, scale(self.instance, objective))
        if met and self.stop is not Stop.INTERRUPTED:
            self.stop = self.later  # a first level that is proved says nothing of the second
        self.note("done")
        status = Status.OPTIMAL if met else Status.FEASIBLE
        bound = value if met else bound
        return Outcome(
            self.best, bound, status, self.stop, self.certificate, tuple(self.clock.trace)
        )

    def _local_search(self, rng: np.random.Generator | None, share: float, kicks: int) -> None:
        found, interrupted = improved(self.instance, self.best, self.part(share), rng, kicks)
        self.better(found)
        if interrupted:
            raise KeyboardInterrupt
        self.note("local search")

    def _prices(self) -> None:
        """Prices of cores, by subgradient steps and, for programs that are not too large, from the
        relaxation.
        """
        prices, bound = good_prices(self.instance, self.value, self.part(0.1))
        if (
            bound > self.value * (1 + EXACT)
            and self.instance.jobs * self.instance.cores.size <= RELAXED_UP_TO
        ):
            found = relaxation_prices(self.instance, self.part(0.3))
            if found is not None and found[1] < bound:
                prices, bound = found
        self.lower(bound)
        self.certificate |= {
            "prices": prices.tolist(),
            "price_bound": bound,
            "bound_from": "prices",
        }
        self.note("prices of cores")

    def _columns(self, rng: np.random.Generator | None) -> None:
        from .columns import ColumnGeneration

        prices = np.array(self.certificate["prices"])
        try:
            program = ColumnGeneration(self.instance, prices, self.bound, lambda: self.time.expired)
        except Stopped:
            return
        program.take(self.best)
        for bound in program.improve(self.part(0.5), self.value):
            self._bounded_by_columns(bound)
            self.note("sets of jobs")
        answer, found = program.solve(self.best, self.part(0.3, 60.0).left, None)
        faster = self.better(found)
        raise_if_interrupted(answer.stop)
        if faster:
            self._local_search(rng, 0.1, 20)
            program.take(self.best)
        self.certificate["job_prices"] = program.price.tolist()
        if self.proved or self.time.expired:
            return
        listed = program.list_all(self.part(0.5), self.value)
        self._bounded_by_columns(program.bound)
        if not listed:
            return
        answer, found = program.solve(self.best, self.time.left, None)
        self.better(found)
        self.certificate["sets_listed"] = program.size
        if answer.bound is not None:
            self._bounded_by_columns(max(self.value, -answer.bound * program.scale))
        raise_if_interrupted(answer.stop)
        self.note("all sets that matter")

    def _bounded_by_columns(self, bound: float) -> None:
        if bound < self.bound:
            self.certificate["bound_from"] = "sets of jobs"
        self.lower(bound)

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
            self.better(self._read(program, answer.point, engine))
        if answer.bound is not None and answer.status is not Status.UNKNOWN:
            bound = max(
                self.value, -answer.bound * program.scale
            )  # what was ruled out is worth less than the value
            if bound < self.bound:
                self.certificate["bound_from"] = "assignment program"
            self.lower(bound)
        if not self.proved:
            self.stop = answer.stop
        raise_if_interrupted(answer.stop)

    def _within_reach(self, keep: Booleans | None) -> bool:
        """Whether time and memory allow the assignment program over these pairs; says it where
        not.
        """
        pairs = self.instance.jobs * self.instance.machines if keep is None else int(keep.sum())
        columns = pairs * (self.instance.cores.shape[1] + 1)
        if columns > PROGRAM_UP_TO:
            self.certificate["left_out"] = (
                f"the assignment program: {columns} columns, {PROGRAM_UP_TO} at most"
            )
            return False
        if self.time.left is not None and columns * COLUMN_SECONDS > self.time.left:
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
        if engine == "highs" and left is not None and program.program.columns > KEEPS_TIME:
            return solve_in_subprocess(program.program, time_limit=left, start=begin)
        reporter = tell if tells else None
        return solve_program(
            program.program, engine=engine, time_limit=left, start=begin, report=reporter
        )
