"""Cells of a comparison: which method runs on which instance, seed and options."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Annotated, Any

from ... import catalog
from ...instances.problem.base import Instance
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import Above, validate_options
from ...instances.problem.options import accepted, accepts, parse_options
from ..registry import analysis_of
from .cell import Cell, predictor
from .measures import own_name

Function = Callable[..., Any]
Methods = Sequence[str | Function] | None


def validate_lists(instances: Sequence[Instance], methods: Any, seeds: Sequence[int]) -> None:
    """Refuse arguments that are no nonempty lists of instances, methods and seeds."""
    if not instances:
        raise InvalidOption("no instances were given; name at least one file")
    for instance in instances:
        if not isinstance(instance, Instance):
            raise InvalidOption(
                f"instances holds a {type(instance).__name__}; expected instances, as "
                "cotenant.read returns them"
            )
    if methods is not None and (isinstance(methods, str) or len(methods) == 0):
        raise InvalidOption(
            f"methods is {methods!r}; expected a list of names or functions, or None for all"
        )
    if not seeds:
        raise InvalidOption("seeds is empty; expected at least one seed")
    for seed in seeds:
        if isinstance(seed, bool) or not isinstance(seed, Integral) or seed < 0:
            raise InvalidOption(f"seeds holds {seed!r}; expected whole numbers, 0 or more")
    named: dict[str, Any] = {}
    for method in methods or ():
        name = method if isinstance(method, str) else own_name(method)
        if named.setdefault(name, method) is not method and named[name] != method:
            raise InvalidOption(
                f"two methods are both called {name!r}; give each function a name of its own"
            )


@validate_options
def validate_predict(
    predict: Annotated[float, Above(0, "the share of penalties that is sampled", most=1)] | None,
    instances: Sequence[Instance],
) -> None:
    """Refuse an invalid share, and instances of a problem without a predictor."""
    if predict is None:
        return
    for problem in dict.fromkeys(instance.problem for instance in instances):
        predictor(problem)


def parse_comparison_options(
    instances: Sequence[Instance],
    methods: Methods,
    texts: Sequence[str],
    *,
    frontier: bool = False,
) -> dict[str, Any]:
    """Parse options of a comparison from `key=value` texts; one of its problems must know each.

    Raises
    ------
    UnknownName, InvalidOption
        A method is not known to any problem; a key is not known to any method that is compared, or
        its value is of no type that one of them takes.
    """
    problems = list(dict.fromkeys(instance.problem for instance in instances))
    names = [method for method in methods or () if isinstance(method, str)]
    own = [method for method in methods or () if not isinstance(method, str)]
    chosen = [method for name in names for method in catalog.find_among(problems, name).values()]
    takers: list[Callable[..., Any]] = list(own)
    for problem in problems:
        entries = (
            catalog.methods(problem)
            if methods is None
            else [method for method in chosen if method.problem == problem]
        )
        takers += [method.resolve() for method in entries]
        takers += [analysis_of(problem).metrics] if entries or own else []
        found = analysis_of(problem).frontiers if frontier else None
        takers += [] if found is None else [found]
    return parse_options(tuple(takers), texts, "this comparison")


def cells_of(
    instances: Sequence[Instance],
    methods: Methods,
    seeds: Sequence[int],
    options: Mapping[str, Any],
    time_limit: float | None,
    predict: float | None = None,
    frontier: Sequence[Instance] = (),
) -> list[Cell]:
    """Make every cell of a comparison once, in the order of the tables.

    Parameters
    ----------
    options : each cell gets those that its method or its problem's metrics take.
    frontier : the instances whose frontiers are found.

    Raises
    ------
    UnknownName, InvalidOption
        A method that no problem knows, an option that nothing takes, or no cell at all.
    """
    # 1. A cell for each instance, method and seed.
    problems = list(dict.fromkeys(instance.problem for instance in instances))
    cells = []
    for instance in instances:
        for function, entry in _chosen(problems, instance, methods):
            own = accepted((function, analysis_of(instance.problem).metrics), options)
            exact = entry is not None and entry.kind == "exact"
            # no seed changes what is exact, or draws nothing
            once = predict is None and (exact or not accepts(function, "rng"))
            method = function if entry is None else entry.name
            cells += [
                Cell(instance, method, seed, time_limit, own, predict)
                for seed in (seeds[:1] if once else seeds)
            ]
    # 2. Each exact method on the true penalties too: its bound judges predictions.
    if predict is not None:
        exact_methods = {(one.problem, one.name) for one in catalog.METHODS if one.kind == "exact"}
        judges = [cell for cell in cells if (cell.instance.problem, cell.name) in exact_methods]
        cells = [replace(cell, seed=0, predict=None) for cell in judges] + cells
    # 3. The frontiers of each instance of a problem that has some.
    found = [(instance, analysis_of(instance.problem).frontiers) for instance in frontier]
    cells += [
        Cell(instance, "frontier", 0, time_limit, accepted(function, options), kind="frontier")
        for instance, function in found
        if function is not None
    ]
    if frontier and not any(function for _, function in found):
        raise InvalidOption(
            f"frontier is asked for, and there is none for {frontier[0].problem}; leave it out"
        )
    # 4. Options that nothing takes, and no cell at all, are refused.
    if unknown := set(options) - {name for cell in cells for name in cell.options}:
        raise InvalidOption(
            f"no method of this comparison takes the option {min(unknown)!r}, nor do its metrics"
        )
    if not cells:
        lacking = sorted({need for each in instances for need in catalog.left_out(each)})
        raise InvalidOption(
            "no method given works on an instance given; see cotenant.methods()"
            if methods is not None
            else f"no method works on an instance given; expected {', or '.join(lacking)}"
        )
    return list({cell.key: cell for cell in cells}.values())


def _chosen(
    problems: Sequence[str], instance: Instance, methods: Methods
) -> list[tuple[Function, Any]]:
    """Methods to run on an instance, each with its catalog entry; None for the user's own."""
    if methods is None:
        return [(entry.resolve(), entry) for entry in catalog.usual_methods(instance)]
    chosen: list[tuple[Function, Any]] = []
    for method in methods:
        if not isinstance(method, str):
            chosen.append((method, None))
        elif (entry := catalog.find_among(problems, method).get(instance.problem)) is not None:
            chosen.append((entry.resolve(), entry))
    return chosen
