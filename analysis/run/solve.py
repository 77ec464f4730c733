"""Running one method on one instance: found in the catalogue, checked, measured again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from ...catalog import find
from ...instances.problem.base import Answer, Instance
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import AtLeast, validate_options
from ...instances.problem.options import accepts, check_options
from ...instances.problem.registry import check
from ...solvers.outcome import Report
from ..registry import analysis_of
from .result import Result, run
from .starts import Starts


@validate_options
def solve(
    instance: Instance[Answer],
    method: str | Callable[..., Any],
    *,
    seed: Annotated[int, AtLeast(0)] = 0,
    time_limit: float | None = None,
    start: Answer | None = None,
    report: Report | None = None,
    **options: Any,
) -> Result[Answer]:
    """Run a method on an instance; the answer is checked and its objective recomputed by this
    package.

    Parameters
    ----------
    instance : as `cotenant.read` returns it.
    method : a name of the catalogue, or a function `f(instance, *, rng, time_limit, **options)`
        that returns a Solution or an Outcome.
    seed : of the random generator handed to the method.
    time_limit : seconds, above 0; the best answer so far is returned when they are up.
    start : an answer to begin from; when none is given, exact methods get the best that the quick
        policies of the problem find in half of the time at most, by the method's own objective, and
        end no worse.
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
    >>> result = cotenant.solve(cotenant.read("colocation/tiny"), "optimal")
    >>> result.status.value, round(result.objective, 4), result.gap
    ('optimal', 0.0425, 0.0)
    """
    if isinstance(method, str):
        entry = find(instance.problem, method)
        function, name, objective = entry.resolve(), entry.name, entry.objective_of(options)
    else:
        entry, function, objective = None, method, None
        name = getattr(method, "__name__", type(method).__name__)
    metrics = analysis_of(instance.problem).metrics
    check_options((function, metrics), options, f"method {name!r}")
    if start is not None:
        check(instance, start)
        if not accepts(function, "start"):
            raise InvalidOption(f"method {name!r} does not take a start")
    return run(
        instance,
        function,
        method=name,
        objective_name=objective,
        metrics=metrics,
        seed=seed,
        time_limit=time_limit,
        start=(
            Starts(instance, entry, options, seed)
            if start is None and entry is not None and entry.starts
            else start
        ),
        report=report,
        options=options,
    )
