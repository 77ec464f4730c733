"""Question of a run: a method, its options and an instance; it checks, measures and compares
answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from numbers import Real
from typing import Any, Generic

from ...catalog import Method, find
from ...instances.problem.base import Answer, Instance, Solution
from ...instances.problem.errors import InfeasibleSolution, InvalidOption
from ...instances.problem.options import accepted, accepts, check_options
from ...instances.problem.registry import resolve
from ...solvers.outcome import Outcome, Status, Stop, agree
from ..registry import Analysis, analysis_of

LOOSEST = 1e-3
"""An equilibrium claimed within more than this is not accepted as one."""

Worth = tuple[Any, ...]
Metrics = dict[str, float]


@dataclass
class Question(Generic[Answer]):
    """Method with its options on an instance; it checks, measures and compares answers.

    Attributes
    ----------
    function, name : the method, and what results call it.
    objective : the metric it optimizes; None when it optimizes none of ours.
    options : of the method and the metrics.
    entry : the method in the catalogue; None for a function of the user's own.
    """

    instance: Instance[Answer]
    function: Callable[..., Any]
    name: str
    objective: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    entry: Method | None = None

    @classmethod
    def of(
        cls,
        instance: Instance[Answer],
        method: str | Callable[..., Any],
        options: Mapping[str, Any],
    ) -> Question[Answer]:
        """Make the question of a method, by its name or as a function, on an instance.

        Raises
        ------
        UnknownName, InvalidOption
            No method has that name, or neither it nor the metrics take an option.
        """
        if isinstance(method, str):
            entry = find(instance.problem, method)
            objective = entry.objective_of(options)
            made = cls(instance, entry.resolve(), entry.name, objective, options, entry)
        else:
            name = getattr(method, "__name__", type(method).__name__)
            made = cls(instance, method, name, None, options)
        check_options((made.function, made.metrics), options, f"method {made.name!r}")
        return made

    @cached_property
    def analysis(self) -> Analysis:
        """Analysis of the instance's problem: the problem with its metrics."""
        return analysis_of(self.instance.problem)

    @cached_property
    def metrics(self) -> Callable[..., Metrics]:
        """Function that measures every metric of an answer to the instance."""
        return self.analysis.metrics

    @cached_property
    def levels(self) -> tuple[str, ...]:
        """Metrics that a cataloged method compares lexicographically, in order."""
        entry = self.entry
        return () if entry is None else (entry.objective_of(self.options), *entry.levels)

    @cached_property
    def signs(self) -> tuple[float, ...]:
        """Sign of each level: -1 where it is maximized, 1 where it is minimized."""
        senses = {metric.name: metric.sense for metric in self.analysis.metric_table}
        return tuple(-1.0 if senses[level] == "max" else 1.0 for level in self.levels)

    @cached_property
    def units(self) -> tuple[float, ...]:
        """Unit of each level of the method."""
        return tuple(map(self.unit, self.levels))

    def unit(self, name: str | None) -> float:
        """Unit of a metric on this instance to which tolerances are relative,
        `instances.problem.scale`; 1 without a metric.
        """
        problem = self.analysis.problem
        return 1.0 if name is None else problem.unit(self.instance, name, self.options)

    def measure(self, solution: Solution, **only: Any) -> Metrics:
        """Every metric of a solution that passes `check`; raises InfeasibleSolution."""
        self.analysis.problem.require(self.instance, solution)
        given = accepted(self.metrics, self.options)
        return self.metrics(self.instance, solution, **given, **only)

    def asked(self, solution: Solution) -> Worth | None:
        """Values by which the method compares an answer before its objective: none for most
        methods; None if the method cannot return the answer.
        """
        if self.entry is None or not self.entry.asks:
            return ()
        asks = resolve(self.entry.asks)
        found: Worth | None = asks(self.instance, solution, **accepted(asks, self.options))
        return found

    def worth(self, solution: Solution, measured: Mapping[str, float]) -> Worth | None:
        """Values by which a method compares answers, level by level, smaller being better; None for
        an answer that the method cannot return, or in which a level is not measured.
        """
        before = self.asked(solution)
        if before is None or any(level not in measured for level in self.levels):
            return None
        signed = zip(self.signs, self.levels, strict=True)
        return (*before, *(sign * measured[level] for sign, level in signed))

    def before(self, one: Worth, other: Worth) -> bool:
        """Whether one answer's values are better than another's by more than rounding."""
        place = len(one) - len(self.levels)
        if one[:place] != other[:place]:
            return one[:place] < other[:place]
        for mine, theirs, unit in zip(one[place:], other[place:], self.units, strict=True):
            if not agree(mine, theirs, unit):
                return bool(mine < theirs)
        return False

    @cached_property
    def takes(self) -> frozenset[str]:
        """Arguments in which a method accepts an earlier answer: "start", a solution; "previous",
        the answer of an earlier round.
        """
        return frozenset(name for name in ("start", "previous") if accepts(self.function, name))

    def judged(self, answer: Any) -> tuple[Outcome[Any], Metrics]:
        """Check and measure what a method returned: its outcome, and every metric of its answer. No
        metrics without an answer or after Ctrl-C, when optimality is not claimed either. Raises
        InfeasibleSolution for an infeasible answer, and InvalidOption for other objects.
        """
        outcome = outcome_of(answer, self.analysis.problem.solutions, self.name)
        if outcome.solution is None:
            return outcome, {}
        try:
            return outcome, self.measure(outcome.solution)
        except InfeasibleSolution as error:
            said = f"{self.name} returned an answer that is not feasible: {error}"
            raise InfeasibleSolution(said) from error
        except KeyboardInterrupt:  # the method is done: its answer is kept
            # quick, and nothing is handed on without it
            self.analysis.problem.require(self.instance, outcome.solution)
        why = "interrupted before the answer was measured; `cotenant check` measures it"
        status = Status.FEASIBLE if outcome.status is Status.OPTIMAL else outcome.status
        certificate = {**outcome.certificate, "unmeasured": why}
        stopped = replace(outcome, status=status, stop=Stop.INTERRUPTED, certificate=certificate)
        return stopped, {}

    def settled(self, outcome: Outcome[Any], measured: Mapping[str, float]) -> Outcome[Any]:
        """Outcome with the statuses that recomputed values and bounds imply: optimal where they
        agree; a claim of optimality where they do not is withdrawn, with the reason.
        """
        objective, bound = measured.get(self.objective or ""), outcome.bound
        if outcome.status not in (Status.OPTIMAL, Status.FEASIBLE) or objective is None:
            return outcome
        certificate, unit = dict(outcome.certificate), self.unit(self.objective)
        if bound is not None and proves(objective, bound, unit, outcome.tolerance):
            if levels := certificate.get("levels"):
                certificate["levels"] = self._settled_levels(levels, measured)
            return replace(outcome, status=Status.OPTIMAL, certificate=certificate)
        if outcome.status is Status.FEASIBLE:
            return outcome
        certificate["withdrawn"] = (
            f"{self.name} said optimal with bound {bound}, but its answer is worth {objective}; "
            "not accepted as a proof"
        )
        left = (outcome.stop, certificate, outcome.trace)
        return Outcome(outcome.solution, None, Status.FEASIBLE, *left)

    def _settled_levels(
        self, levels: list[dict[str, Any]], measured: Mapping[str, float]
    ) -> list[dict[str, Any]]:
        """Levels of a certificate with recomputed statuses: optimal if value and bound agree at
        this and all earlier levels. The method decides about levels that are no metrics.
        """
        optimal, settled = True, list[dict[str, Any]]()
        for level in levels:
            name, bound = level["objective"], level["bound"]
            if optimal and bound is not None and name in measured:
                optimal = agree(measured[name], bound, self.unit(name))
                level = level | ({"status": Status.OPTIMAL.value} if optimal else {})
            optimal = optimal and level["status"] == Status.OPTIMAL
            settled.append(level)
        return settled


def proves(value: float, bound: float, scale: float, tolerance: float | None = None) -> bool:
    """Whether a bound proves a value: they agree, or are within the tolerance of an equilibrium."""
    return (
        agree(value, bound, scale)
        if tolerance is None
        else abs(value - bound) <= min(tolerance, LOOSEST)
    )


def outcome_of(answer: Any, kinds: tuple[type[Solution], ...], method: str) -> Outcome[Any]:
    """Return a method's answer, a solution or an Outcome, as an Outcome. Raises InvalidOption,
    naming the user's function, unless it is of these kinds, and complete.
    """
    if type(answer) is Outcome:
        outcome: Outcome[Any] = answer
    else:
        outcome = Outcome(answer, None, Status.FEASIBLE)
    wanted = f"a {' or '.join(kind.__name__ for kind in kinds)}, or an Outcome that holds one"
    solution, bound = outcome.solution, outcome.bound
    returned = f"method {method!r} returned {_named(answer)}"
    if not isinstance(outcome.status, Status) or not isinstance(outcome.stop, Stop):
        seen = f"status {outcome.status!r} and stop {outcome.stop!r}"
        raise InvalidOption(f"{returned} with {seen}; expected a Status and a Stop")
    if bound is not None and (
        isinstance(bound, bool) or not isinstance(bound, Real) or bound != bound
    ):
        raise InvalidOption(f"{returned} whose bound is {bound!r}; expected a number or None")
    empty = answer is not outcome or outcome.status in (Status.OPTIMAL, Status.FEASIBLE)
    if not isinstance(solution, kinds) and (empty or solution is not None):
        seen = "" if answer is solution else f" that holds {_named(solution)}"
        cure = "; does every way through it end in return?" if answer is None else ""
        raise InvalidOption(f"{returned}{seen}; expected {wanted}{cure}")
    return outcome


def _named(value: Any) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"
