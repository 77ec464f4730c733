"""Runs of one method on one instance, checked and measured by this package."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Annotated, Any

import numpy as np

from ...instances.problem.base import Answer, Instance, Solution
from ...instances.problem.files import read
from ...instances.problem.option_types import AtLeast, validate_options
from ...instances.problem.options import accepted
from ...solvers.interrupts import deferred
from ...solvers.outcome import Clock, Earlier, Outcome, Report, Status, Stop
from .question import Question
from .result import Result, fingerprint, versions
from .starts import Starts, beginning


@validate_options
def solve(
    instance: Instance[Answer] | str,
    method: str | Callable[..., Any],
    *,
    seed: Annotated[int, AtLeast(0)] = 0,
    time_limit: float | None = None,
    start: Answer | Result[Answer] | None = None,
    report: Report | None = None,
    **options: Any,
) -> Result[Answer]:
    """Run a method on an instance; the answer is checked and its objective recomputed by this
    package.

    Parameters
    ----------
    instance : as `cotenant.read` returns it, or what that reads: a file, or a bundled instance.
    method : a name of the catalogue, or a function `f(instance, *, rng, time_limit, **options)`
        that returns a Solution or an Outcome.
    seed : of the random generator handed to the method.
    time_limit : seconds, above 0; the best answer so far is returned when they are up.
    start : an answer to begin from; when none is given, exact methods get the best that the quick
        policies of the problem find in half of the time at most, by the method's own objective, and
        end no worse. Or the result of the round before, of another instance: what its method can
        carry over to this one is kept, and what is proved holds for this instance alone.
    report : called with (seconds, objective, bound, text) as the method goes on.
    **options : the method's own, and those of the problem's metrics (`alpha` counts blocking pairs
        for every method).

    Raises
    ------
    UnknownName, InvalidOption
        Before any work starts; InvalidOption also when a function returns nothing, or no answer to
        such an instance.
    InfeasibleSolution
        A function returns an answer that breaks a rule of the instance.
    NoSolution
        A heuristic found the instance to have no feasible answer; exact methods say so in their
        status.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve("colocation/tiny", "optimal")
    >>> result.status.value, round(result.objective, 4), result.gap
    ('optimal', 0.0425, 0.0)
    """
    given: Instance[Any] = read(instance) if isinstance(instance, str) else instance
    question = Question.of(given, method, options)
    return run(question, beginning(question, start, seed), seed, time_limit, report)


@validate_options
def run(
    question: Question[Answer],
    start: Solution | Starts | Earlier | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Result[Answer]:
    """Run a method on an instance and judge its answer by our own `check` and metrics, whatever
    status it claims.

    `start` is an answer to begin from, the policies that are asked for one, or the round before.
    Ctrl-C while they are asked keeps the best so far, Ctrl-C while the metrics are worked out keeps
    the answer without metrics, and `stop` says "interrupted".

    Raises
    ------
    InfeasibleSolution
        The method returned an answer that breaks a rule: a defect, never passed on silently.
    InvalidOption
        The method returned nothing, or no answer to such an instance.
    """
    instance, function = question.instance, question.function
    clock = Clock(time_limit)  # 1. Answers of policies as a start.
    answer: Any = None
    starts = start if isinstance(start, Starts) else None
    if starts is not None:
        stop = starts.look(clock)
        start = None if starts.best is None else starts.best.solution
        if stop is Stop.INTERRUPTED:
            answer = Outcome(start, None, Status.FEASIBLE, stop)
    if answer is None:  # 2. The method itself.
        # Finding the start is part of the method's time.
        house = {
            "rng": np.random.default_rng(seed),
            "time_limit": clock.left,
            "previous" if isinstance(start, Earlier) else "start": start,
            "report": report,
        }
        given = accepted(function, house) | accepted(function, question.options)
        answer = function(instance, **given)
    seconds = clock.seconds
    outcome, measured = question.judged(answer)  # 3. Check and measure the answer.
    if starts is not None:
        outcome, measured = starts.kept(outcome, measured)
    with deferred() as late:  # 4. The result with settled statuses.
        name, objective = question.objective, measured.get(question.objective or "")
        unit, outcome = question.unit(name), question.settled(outcome, measured)
        end = (objective, outcome.bound)
        if outcome.bound is not None and (not outcome.trace or outcome.trace[-1][1:] != end):
            # many methods note nothing on the way
            outcome = replace(outcome, trace=(*outcome.trace, (seconds, *end)))
        result = Result(
            **{each.name: getattr(outcome, each.name) for each in fields(Outcome)},
            problem=instance.problem,
            instance=instance.name,
            method=question.name,
            objective_name=name,
            objective=objective,
            metrics=measured,
            seconds=seconds,
            seed=seed,
            options=dict(question.options),
            versions=versions(),
            fingerprint=fingerprint(instance),
            scale=unit,
            given=instance,
        )
        if late.interrupted:
            result = replace(result, stop=Stop.INTERRUPTED)
    return result
