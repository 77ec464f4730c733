"""Gains of agents by misreports: the best misreport, exactly or by search, and the losses of
others.

Every answer to a misreport is judged by the true data. What the agents of a problem report, and
what an answer is worth to them, stands beside its metrics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, permutations
from math import inf
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ..catalog import find
from ..instances.problem import errors
from ..instances.problem.base import Instance
from ..instances.problem.option_types import AtLeast, validate_options
from ..instances.problem.options import accepted, accepts, check_options
from ..solvers.outcome import Clock, Report, Stop, raise_if_interrupted
from .registry import analysis_of
from .run.question import Question
from .run.solve import run
from .run.starts import Starts

Floats = npt.NDArray[np.float64]

FACTORS = (0.0, 0.1, 0.5, 0.9, 0.99, 1.01, 1.1, 2.0, 10.0)
"""What the search multiplies the entries of a report by."""

LEAST_GAIN = 1e-7
"""Gains below this fraction count as none: equilibria are found to about as much."""


@dataclass(frozen=True, eq=False)
class Misreport:
    """Instance as an agent misreports it, with data that `Reports.utilities` needs."""

    instance: Any
    parts: Any = None

    def changed(self, parts: Any = None, **fields: Any) -> Iterator[Misreport]:
        """Yield this misreport with some instance fields changed, if the instance stays valid."""
        try:
            instance = self.instance.replace(**fields)
        except errors.CotenantError:
            return
        yield Misreport(instance, self.parts if parts is None else parts)


class Reports:
    """Possible misreports of a problem's agents, and what an answer is worth to each agent. Agents
    report their entries of those `fields` that are given, and utilities are in `unit`. Of what it
    likes most an agent reports `best`, or its largest entry where that is None, and of what it
    likes least `worst`; `changes` are kinds of reports beside those of fields.
    """

    unit, fields, changes = "", tuple[str, ...](), tuple[str, ...]()
    best: float | None = None
    worst = 0.0

    def utilities(self, truth: Any, shown: Misreport, solution: Any) -> Floats:
        """True utility of each agent from an answer to a report, shape (n,); NaN for absent
        agents.
        """
        raise NotImplementedError

    def most(self, truth: Any, agent: int, honest: float, method: str) -> tuple[float, str]:
        """Upper bound on the utility that the agent can reach by any report, and the reason of the
        bound; `honest` is the agent's utility when it reports the truth.
        """
        raise NotImplementedError

    def mine(self, instance: Any, name: str, agent: int) -> Any:
        """Entries of a field of the instance that belong to an agent's report."""
        table = getattr(instance, name)
        mine = np.zeros(table.shape, dtype=bool)
        mine[(..., agent, slice(None)) if table.ndim > 1 else agent] = True
        return mine & np.isfinite(table)

    def rows(
        self, here: Misreport, name: str, agent: int, rows: Callable[[Any], Iterable[Any]]
    ) -> Iterator[Misreport]:
        """Yield the valid misreports that replace one agent's entries of the field `name`. From
        these entries the function `rows` makes the arrays that take their place.
        """
        table, mine = getattr(here.instance, name), self.mine(here.instance, name, agent)
        for row in rows(table[mine]):
            changed = table.copy()
            changed[mine] = np.rint(row) if table.dtype.kind == "i" else row
            if not np.array_equal(changed, table):
                yield from here.changed(**{name: changed})

    def near(
        self, truth: Any, here: Misreport, agent: int, *, kinds: Sequence[str] | None = None
    ) -> Iterator[Misreport]:
        """Misreports that differ from the misreport `here` in one change to the agent's entries of
        one field, for all `fields` or the given kinds.
        """

        def steps(row: npt.NDArray[Any]) -> Iterator[Any]:
            yield from (row * factor for factor in FACTORS)
            units = np.array([1, -1]) * (row.dtype.kind == "i")  # steps of a field of integers
            for index in range(len(row)):
                one = np.arange(len(row)) == index  # the entry that is changed
                yield np.where(one, row.max() if self.best is None else self.best, self.worst)
                for value in (*(row[index] * np.array(FACTORS)), *(row[index] + units)):
                    yield np.where(one, value, row)

        for name in self.fields:
            if (kinds is None or name in kinds) and getattr(here.instance, name) is not None:
                yield from self.rows(here, name, agent, steps)

    def orders(self, truth: Any, agent: int) -> Iterator[Misreport]:
        """Yield misreports that permute an agent's first given field; all are tried at the end."""
        name = next(name for name in self.fields if getattr(truth, name) is not None)
        return self.rows(Misreport(truth), name, agent, permutations)

    def every(self, truth: Any) -> str:
        """Text on all possible misreports if the method `orders` yields every one; else ""."""
        return ""

    def words(self, truth: Any, shown: Misreport, agent: int) -> str:
        """Description of the entries in which an agent's report differs from the truth."""
        changed = []
        for name in self.fields:
            if not np.array_equal(getattr(truth, name), getattr(shown.instance, name)):
                row = getattr(shown.instance, name)[self.mine(shown.instance, name, agent)]
                changed.append(f"{name} {', '.join(f'{value:.4g}' for value in row[:8].tolist())}")
        return "; ".join(changed)


@dataclass(frozen=True, eq=False)
class Manipulation:
    """Best misreport found for an agent, with its effects.

    Attributes
    ----------
    agent, method, unit : names, and the unit of utilities.
    truthful, value : its true utility by the truth and by the misreport; equal where none gains.
    gain_at_most, why : no report gains more, and what proves that.
    exact : whether the gain is proved to be the largest.
    tried : how many reports.
    report, witness : the misreport in words, and the instance with it; "" and None for none.
    others : by agent, what the misreport brings the others.
    stop : why the search ended.
    """

    agent: str
    method: str
    unit: str
    truthful: float
    value: float
    gain_at_most: float
    why: str
    exact: bool
    tried: int
    report: str
    witness: Instance | None
    others: Mapping[str, float]
    stop: Stop

    @property
    def status(self) -> str:
        """Status of the gain: "exact", or "at least" if a larger gain is not excluded."""
        return "exact" if self.exact else "at least"

    @property
    def gain(self) -> float:
        """Gain of the agent by its misreport, 0 or more."""
        return self.value - self.truthful

    @property
    def ratio(self) -> float:
        """Utility by the misreport over utility by the truth (the incentive ratio)."""
        return 1.0 if not self.gain else self.value / self.truthful if self.truthful > 0 else inf

    @property
    def lost(self) -> float:
        """Total loss of the other agents who lose by the misreport."""
        return sum(max(0.0, -change) for change in self.others.values())

    def document(self) -> dict[str, Any]:
        """Return a misreport's gain and bounds as JSON values, without the misreported instance."""
        shown = {**vars(self), "status": self.status, "gain": self.gain, "lost": self.lost}
        shown["gain_at_most"] = None if self.gain_at_most == inf else self.gain_at_most
        return {name: value for name, value in shown.items() if name not in ("witness", "exact")}


@validate_options
def best_misreport(
    instance: Instance, method: str | Callable[..., Any], agent: str | None = None,
    time_limit: float | None = 60.0, **options: Any,
) -> Manipulation:  # fmt: skip
    """Find the misreport of largest gain for an agent.

    Parameters
    ----------
    agent : its name; None for who gains most, `gain_at_most` and `exact` then being of all agents.
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
    best, most = max(found, key=lambda each: each.gain), max(each.gain_at_most for each in found)
    return replace(best, gain_at_most=most, exact=all(each.exact for each in found))


@validate_options
def misreports(
    instance: Instance, method: str | Callable[..., Any], agents: Iterable[str] | None = None,
    time_limit: float | None = 60.0, *, seed: Annotated[int, AtLeast(0)] = 0,
    seeds: Annotated[int, AtLeast(1)] = 1, report: Report | None = None, **options: Any,
) -> list[Manipulation]:  # fmt: skip
    """Find the best misreport of each of some agents, by the true utilities of the method's
    answers.

    All reports are tried where they are finite in number (strict preference lists). Elsewhere a
    search takes steps that gain. It ends at once where a gain reaches its bound, such as the best
    that any answer could give the agent. Ctrl-C keeps the best misreports so far.

    Parameters
    ----------
    method : a name of the catalogue, or a function as of `cotenant.solve`.
    agents : names; None for all.
    time_limit : seconds for all, shared equally; None searches to the end.
    seed, seeds : of a method that draws, the first seed, and over how many utilities are means.
    report : called with (seconds, gain, bound, text) as the search goes on.
    **options : of the method, and `kinds` of reports: fields, or changes of jobs.

    Raises
    ------
    InvalidOption
        Nobody reports anything in such a problem, or on such an instance.
    UnknownName
        There is no such agent.
    NoSolution, TimeLimitTooShort
        The method has no answer to the truth, or not in time.
    """
    if analysis_of(instance.problem).reports is None:
        raise errors.InvalidOption(
            f"manipulation is not defined for {instance.problem}: its methods ask nobody for "
            "anything that could be misreported"
        )
    reports, kinds = analysis_of(instance.problem).reports, options.get("kinds") or ()
    if unknown := [kind for kind in kinds if kind not in (*reports.fields, *reports.changes)]:
        raise errors.UnknownName("kind of report", unknown[0], (*reports.fields, *reports.changes))
    clock = Clock(time_limit, report)
    mechanism = _Mechanism(instance, method, options, range(seed, seed + seeds), clock)
    honest = mechanism.worth(Misreport(instance), clock)
    names = [*map(str, getattr(instance, "names", ()) or range(len(honest)))]
    there = [name for name, value in zip(names, honest, strict=True) if not np.isnan(value)]
    chosen = there if agents is None else list(agents)
    if unknown := [name for name in chosen if name not in there]:
        raise errors.UnknownName("agent", unknown[0], there)
    found: list[Manipulation] = []
    for name in chosen:
        part = Clock(clock.time_slice(len(chosen) - len(found)))
        interrupted = any(each.stop is Stop.INTERRUPTED for each in found)
        found.append(mechanism.best(names, names.index(name), honest, part, interrupted))
    return found


class _Mechanism:
    """Method as a function from reports to true utilities, and the search for the best report."""

    def __init__(
        self, truth: Instance, method: Any, options: Mapping[str, Any], seeds: range, clock: Clock
    ) -> None:
        analysis = analysis_of(truth.problem)
        self.truth, self.options, self.clock = truth, options, clock
        self.reports, self.metrics = analysis.reports, analysis.metrics
        self.entry = entry = find(truth.problem, method) if isinstance(method, str) else None
        self.function = method if entry is None else entry.resolve()
        self.name = getattr(method, "__name__", "method") if entry is None else entry.name
        takers = (self.function, self.metrics, self.reports.near, self.reports.utilities)
        check_options(takers, options, f"method {self.name!r}")
        self.seeds = seeds if accepts(self.function, "rng") else seeds[:1]

    def ask(self, function: Callable[..., Any], *given: Any) -> Any:
        """Call a method of `Reports` with those options of the run that it takes."""
        return function(*given, **accepted(function, self.options))

    def measured(self, instance: Any, solution: Any, **options: Any) -> dict[str, float]:
        """Metrics by which an exact method compares starting solutions; empty for other methods."""
        if self.entry is None or not self.entry.starts:
            return {}
        needed = {"only": (self.entry.objective_of(self.options), *self.entry.levels)}
        return self.metrics(instance, solution, **accepted(self.metrics, {**options, **needed}))

    def worth(self, shown: Misreport, clock: Clock) -> Floats:
        """True utilities (n,) of the answers to a report, averaged over the seeds."""
        total = np.zeros(1)
        for seed in self.seeds:
            given = shown.instance
            question = Question(given, self.function, self.name, None, self.options, self.entry)
            question.metrics = self.measured
            begins = self.entry is not None and self.entry.starts
            start = Starts(question, seed) if begins else None
            result = run(question, start, seed, clock.left)
            raise_if_interrupted(result.stop)
            if result.stop is Stop.TIME_LIMIT:
                raise errors.TimeLimitTooShort(f"{self.name} is not done in time; give more")
            if result.solution is None:
                raise errors.NoSolution(f"{self.name} has no answer to {given.name or 'this'}")
            total = total + self.ask(self.reports.utilities, self.truth, shown, result.solution)
        return total / len(self.seeds)

    def best(
        self, names: list[str], agent: int, honest: Floats, part: Clock, interrupted: bool
    ) -> Manipulation:
        """Search for the best misreport of one agent within its own share of the search time."""
        truth, reports, own = self.truth, self.reports, float(honest[agent])
        # theorems are of the catalogue's methods
        known = "" if self.entry is None else self.name
        most, why = self.ask(reports.most, truth, agent, own, known)
        least = LEAST_GAIN * max(abs(own), 1e-9)
        every = "" if self.options.get("kinds") else reports.every(truth)  # 1. Bound.
        best, worth, tried, stop = Misreport(truth), honest, 0, Stop.FINISHED

        def steps() -> Iterator[Misreport]:  # 2. Try reports near the best one, then orders.
            here = None
            while here is not best and not every:
                here = best
                yield from self.ask(reports.near, truth, here, agent)

        try:
            if interrupted:
                raise KeyboardInterrupt
            orders = reports.orders(truth, agent) if not self.options.get("kinds") else ()
            for shown in chain(steps(), orders):
                if most - worth[agent] <= least:
                    break
                if part.expired:
                    raise errors.TimeLimitTooShort
                tried += 1
                try:
                    value = self.worth(shown, part)
                except errors.TimeLimitTooShort:
                    raise
                except (errors.InvalidInstance, errors.InvalidOption, errors.NoSolution):
                    continue  # the method has no answer to such a report
                if value[agent] - worth[agent] > least:
                    best, worth = shown, value
                self.clock.note(
                    float(worth[agent]) - own, None, f"{names[agent]}: {tried} reports tried"
                )
        except errors.TimeLimitTooShort:
            stop = Stop.TIME_LIMIT
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
        gain, report, witness = float(worth[agent]) - own, "", None
        exact, limit = abs(most - own - gain) <= least, most - own
        if every and stop is Stop.FINISHED and not exact:
            exact, limit, why = True, gain, f"all reports were tried: {every}"
        if best.instance is not truth:  # 3. The witness.
            report = reports.words(truth, best, agent)
            source = f"{names[agent]} reports {report} to {self.name}; truth: {truth.source}"
            witness = best.instance.replace(name=f"{truth.name}-misreport", source=source)
        changes = zip(names, (worth - honest).tolist(), strict=True)
        others = {w: change for w, change in changes if w != names[agent] and not np.isnan(change)}
        return Manipulation(
            names[agent], self.name, reports.unit, own, own + gain, max(gain, limit), why, exact,
            tried, report, witness, others, stop,
        )  # fmt: skip
