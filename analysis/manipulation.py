"""What an agent gains by a misreport: its best one, exactly or by search, and who pays for it.

Every answer to a misreport is judged by the true data. What the agents of a problem report, and
what an answer is worth to them, stands beside its metrics.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from math import inf
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ..catalog import find
from ..instances.problem.base import Instance
from ..instances.problem.errors import (
    CotenantError,
    InvalidInstance,
    InvalidOption,
    NoSolution,
    TimeLimitTooShort,
    UnknownName,
)
from ..instances.problem.option_types import AtLeast, validate_options
from ..instances.problem.options import accepted, accepts, check_options
from ..solvers.outcome import Clock, Report, Stop, raise_if_interrupted
from .registry import analysis_of
from .run.result import run
from .run.starts import Starts

Floats = npt.NDArray[np.float64]

FACTORS = (0.0, 0.1, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, 10.0)
"""What the search multiplies the entries of a report by."""

LEAST_GAIN = 1e-7
"""Gains below this fraction count as none: equilibria are found to about as much."""


@dataclass(frozen=True, eq=False)
class Misreport:
    """An instance as reported, and what else `Reports.utilities` must know, as of jobs in parts."""

    instance: Any
    parts: Any = None

    def changed(self, parts: Any = None, **fields: Any) -> Iterator[Misreport]:
        """The report with some fields changed, if that is an instance; nothing if not."""
        try:
            instance = self.instance.replace(**fields)
        except CotenantError:
            return
        yield Misreport(instance, self.parts if parts is None else parts)


class Reports(ABC):
    """What the agents of a problem report, and what an answer is worth to each, in `unit`."""

    unit = ""

    @abstractmethod
    def utilities(self, truth: Any, shown: Misreport, solution: Any) -> Floats:
        """(n,) what an answer to a report is truly worth to each agent, NaN for one not there."""

    @abstractmethod
    def most(self, truth: Any, agent: int, honest: float, method: str) -> tuple[float, str]:
        """What no report passes in worth to the agent, who has `honest` by the truth, and why."""

    @abstractmethod
    def near(self, truth: Any, here: Misreport, agent: int) -> Iterator[Misreport]:
        """Reports one step from another; steps are taken as long as they gain."""

    @abstractmethod
    def words(self, shown: Misreport, agent: int) -> str:
        """What an agent reports, in words."""

    def orders(self, truth: Any, agent: int) -> Iterator[Misreport]:
        """Reports that are tried once, after the steps."""
        return iter(())

    def every(self, truth: Any) -> str:
        """In words all that an agent can report, where `orders` are all; "" elsewhere."""
        return ""


class RowReports(Reports):
    """Reports of the entries of a `field` whose last axis but one are the agents: some changed, one
    favored (`best`, or the largest, among `worst` ones), all in another order.
    """

    field = ""
    best: float | None = None
    worst = 0.0

    def field_of(self, instance: Any) -> str:
        """The field that holds the agents' entries."""
        return self.field

    def mine(self, instance: Any, table: Any, agent: int) -> Any:
        """Which entries of the field an agent reports."""
        mine = np.zeros(table.shape, dtype=bool)
        mine[..., agent, :] = True
        return mine & np.isfinite(table)

    def shown(self, here: Misreport, agent: int, rows: Callable[[Any], Any]) -> Iterator[Misreport]:
        """The reports with other rows, made of the one here, that are instances."""
        field = self.field_of(here.instance)
        table = getattr(here.instance, field)
        mine = self.mine(here.instance, table, agent)
        for row in rows(table[mine]):
            changed = table.copy()
            changed[mine] = np.rint(row) if table.dtype.kind == "i" else row
            if not np.array_equal(changed, table):
                yield from here.changed(**{field: changed})

    def near(self, truth: Any, here: Misreport, agent: int) -> Iterator[Misreport]:
        """The whole row multiplied, one entry changed, and one favored before all others."""
        yield from self.shown(here, agent, self._steps)

    def _steps(self, row: npt.NDArray[Any]) -> Iterator[Any]:
        yield from (row * factor for factor in FACTORS)
        for place in range(len(row)):
            here = np.arange(len(row)) == place
            yield np.where(here, row.max() if self.best is None else self.best, self.worst)
            further = [row[place] + 1, row[place] - 1] if row.dtype.kind == "i" else []
            for value in (*(row[place] * np.array(FACTORS)), *further):
                yield np.where(here, value, row)

    def orders(self, truth: Any, agent: int) -> Iterator[Misreport]:
        """The true row in all orders."""
        return self.shown(Misreport(truth), agent, permutations)

    def words(self, shown: Misreport, agent: int) -> str:
        """The entries that are reported."""
        table = getattr(shown.instance, field := self.field_of(shown.instance))
        row = table[self.mine(shown.instance, table, agent)].tolist()
        return f"{field} {', '.join(f'{value:.4g}' for value in row[:8])}"


@dataclass(frozen=True, eq=False)
class Manipulation:
    """The best misreport of an agent that was found, and what it does.

    Attributes
    ----------
    agent, method : names.
    truthful, value : its true utility by the truth and by the misreport; equal where none gains.
    gain_at_most : no report gains more; inf where no bound is known.
    status : "exact" where the gain is proved to be the largest, else "at least".
    why : what proves the bound, or all that was tried.
    tried : how many reports.
    report, witness : the misreport in words, and the instance with it; "" and None for none.
    others : by agent, what the misreport brings the others.
    unit : of utilities.
    stop : why the search ended.
    """

    agent: str
    method: str
    truthful: float
    value: float
    gain_at_most: float
    status: str
    why: str
    tried: int
    report: str
    witness: Instance | None
    others: Mapping[str, float]
    unit: str
    stop: Stop

    @property
    def gain(self) -> float:
        """What the misreport brings its agent, 0 or more."""
        return self.value - self.truthful

    @property
    def ratio(self) -> float:
        """The utility by the misreport over that by the truth, the incentive ratio."""
        if not self.gain:
            return 1.0
        return self.value / self.truthful if self.truthful > 0 else inf

    @property
    def lost(self) -> float:
        """What those others who lose by it lose together."""
        return sum(max(0.0, -change) for change in self.others.values())

    def document(self) -> dict[str, Any]:
        """The record as JSON values; the witness is a file of its own."""
        shown = {name: getattr(self, name) for name in self.__dataclass_fields__}
        shown |= {"gain": self.gain, "lost": self.lost, "witness": None}
        shown["gain_at_most"] = None if self.gain_at_most == inf else self.gain_at_most
        return {**shown, "others": dict(self.others), "stop": self.stop.value}


@validate_options
def best_misreport(
    instance: Instance, method: str | Callable[..., Any], agent: str | None = None,
    time_limit: float | None = 60.0, **options: Any,
) -> Manipulation:  # fmt: skip
    """Find the misreport by which an agent gains most.

    Parameters
    ----------
    agent : its name; None for who gains most, `gain_at_most` and `status` then being of all agents.
    **options : as of `misreports`.

    Examples
    --------
    >>> import cotenant
    >>> from cotenant.analysis.manipulation import best_misreport
    >>> found = best_misreport(cotenant.read("admission/tiny"), "proposed")
    >>> found.gain, found.gain_at_most, found.status
    (0.0, 0.0, 'exact')
    """
    agents = None if agent is None else [agent]
    found = misreports(instance, method, agents, time_limit, **options)
    proved = all(each.status == "exact" for each in found)
    return replace(
        max(found, key=lambda each: each.gain),
        gain_at_most=max(each.gain_at_most for each in found),
        status="exact" if proved else "at least",
    )


@validate_options
def misreports(
    instance: Instance, method: str | Callable[..., Any], agents: Iterable[str] | None = None,
    time_limit: float | None = 60.0, *, seed: Annotated[int, AtLeast(0)] = 0,
    seeds: Annotated[int, AtLeast(1)] = 1, report: Report | None = None, **options: Any,
) -> list[Manipulation]:  # fmt: skip
    """Find the best misreport of each of some agents, by the true worth of the method's answers.

    All reports are tried where they are finite in number (those of a short preference list).
    Elsewhere a search takes steps that gain. It ends at once where a gain reaches its bound, such
    as the best that any answer could give the agent. Ctrl-C keeps the best misreport so far.

    Parameters
    ----------
    method : a name of the catalogue, or a function as of `cotenant.solve`.
    agents : names; None for all.
    time_limit : seconds for all, shared equally; None searches to the end.
    seed, seeds : of a method that draws, the first seed, and over how many utilities are means.
    report : called with (seconds, gain, bound, text) as the search goes on.
    **options : of the method, and of the reports (`kinds`).

    Raises
    ------
    InvalidOption
        Nobody reports anything in such a problem, or on such an instance.
    UnknownName
        There is no such agent.
    NoSolution, TimeLimitTooShort
        The method has no answer to the truth, or not in time.
    """
    reports = analysis_of(instance.problem).reports
    if reports is None:
        raise InvalidOption(
            f"manipulation is not defined for {instance.problem}: its methods ask nobody for "
            "anything that could be misreported"
        )
    clock = Clock(time_limit, report)
    mechanism = _Mechanism(instance, method, reports, options, range(seed, seed + seeds), clock)
    chosen = mechanism.present if agents is None else list(agents)
    if unknown := [name for name in chosen if name not in mechanism.present]:
        raise UnknownName("agent", unknown[0], mechanism.present)
    found: list[Manipulation] = []
    for name in chosen:
        stop = found[-1].stop if found else Stop.FINISHED
        part = Clock(clock.time_slice(len(chosen) - len(found)))
        found.append(mechanism.best(name, part, stop is Stop.INTERRUPTED))
    return found


class _Mechanism:
    """A method as a function from reports to true utilities, and the search for the best report."""

    def __init__(
        self, truth: Instance, method: Any, reports: Reports, options: Mapping[str, Any],
        seeds: range, clock: Clock,
    ) -> None:  # fmt: skip
        self.truth, self.reports, self.options = truth, reports, options
        self.entry = entry = find(truth.problem, method) if isinstance(method, str) else None
        self.function = method if entry is None else entry.resolve()
        self.name = getattr(method, "__name__", "method") if entry is None else entry.name
        metrics = analysis_of(truth.problem).metrics
        self.seeds, self.clock = seeds if accepts(self.function, "rng") else seeds[:1], clock
        takers = (self.function, metrics, reports.near, reports.utilities)
        check_options(takers, options, f"method {self.name!r}")
        needed = (entry.objective_of(options), *entry.levels) if entry and entry.starts else ()
        self.metrics = partial(metrics, only=needed) if accepts(metrics, "only") else metrics
        self.honest = self.worth(Misreport(truth), clock)
        self.names = [*map(str, getattr(truth, "names", ()) or range(len(self.honest)))]
        self.present = [name for name, value in self.by_name(self.honest) if not np.isnan(value)]

    def by_name(self, values: Floats) -> Iterator[tuple[str, float]]:
        """Values of agents by their names."""
        return zip(self.names, values.tolist(), strict=True)

    def worth(self, shown: Misreport, clock: Clock) -> Floats:
        """(n,) the true utilities of the answers to a report, means over the seeds."""
        each = [self._answered(shown, seed, clock) for seed in self.seeds]
        return np.asarray(np.mean(each, axis=0))

    def _answered(self, shown: Misreport, seed: int, clock: Clock) -> Floats:
        entry, worth = self.entry, self.reports.utilities
        starts = (
            Starts(shown.instance, entry, self.options, seed) if entry and entry.starts else None
        )
        result = run(
            shown.instance, self.function, method=self.name, objective_name=None,
            metrics=self.metrics, seed=seed, time_limit=clock.left, start=starts,
            options=accepted((self.function, self.metrics), self.options),
        )  # fmt: skip
        raise_if_interrupted(result.stop)
        if result.stop is Stop.TIME_LIMIT:
            raise TimeLimitTooShort(f"{self.name} is not done in time; give more seconds")
        if result.solution is None:
            raise NoSolution(f"{self.name} has no answer to {self.truth.name or 'the instance'}")
        return worth(self.truth, shown, result.solution, **accepted(worth, self.options))

    def best(self, name: str, part: Clock, interrupted: bool) -> Manipulation:
        """The best misreport of an agent that is found in its part of the time."""
        agent, honest, near = self.names.index(name), self.honest, self.reports.near
        own, least = float(honest[agent]), LEAST_GAIN * max(abs(float(honest[agent])), 1e-9)
        bound = accepted(self.reports.most, self.options)
        most, why = self.reports.most(self.truth, agent, own, self.name, **bound)
        best, worth, tried = Misreport(self.truth), honest, 0
        every, stop = self.reports.every(self.truth), Stop.FINISHED

        def candidates() -> Iterator[Misreport]:
            here = None
            while here is not best and not every:
                here = best
                yield from near(self.truth, here, agent, **accepted(near, self.options))
            yield from self.reports.orders(self.truth, agent)

        try:
            if interrupted:
                raise KeyboardInterrupt
            for shown in candidates():
                if most - worth[agent] <= least:
                    break
                if part.expired:
                    raise TimeLimitTooShort
                tried += 1
                try:
                    value = self.worth(shown, part)
                except (InvalidInstance, NoSolution):  # no answer to such a report
                    continue
                if value[agent] - worth[agent] > least:
                    best, worth = shown, value
                gain = float(worth[agent]) - own
                self.clock.note(gain, None, f"{name}: {tried} reports tried")
        except TimeLimitTooShort:
            stop = Stop.TIME_LIMIT
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
        gain, limit = float(worth[agent]) - own, most - own
        exact = abs(limit - gain) <= least
        if every and stop is Stop.FINISHED and not exact:
            exact, limit, why = True, gain, f"all reports were tried: {every}"
        report, witness = "", None
        if best.instance is not self.truth:
            report = self.reports.words(best, agent)
            source = f"{name} reports {report} to {self.name}; truth: {self.truth.source}"
            witness = best.instance.replace(name=f"{self.truth.name}-misreport", source=source)
        others = {who: value for who, value in self.by_name(worth - honest) if who != name}
        return Manipulation(
            name, self.name, own, float(worth[agent]), max(gain, limit),
            "exact" if exact else "at least", why, tried, report, witness, others,
            self.reports.unit, stop,
        )  # fmt: skip
