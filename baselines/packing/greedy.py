"""All requests on few servers, greedily: FF, FFD, BFD, dot, L2, random-fit."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...instances.packing.instance import Packing, Placement
from ...instances.problem.errors import NoSolution
from ...instances.problem.rules import checked
from ...solvers.packing.fitting import Counts, decreasing, fill, fit, fit_at_random
from ...solvers.packing.reduction import Reduced, reduce
from .elastic import fill_elastic

Order = Literal["index", "random"]


@checked
def first_fit_all(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    order: Order = "index",
) -> Placement:
    """FF: each VM in turn on the first open server where it fits, else on a new one.

    Parameters
    ----------
    rng : draws the order when it is random; `default_rng(0)` when not given.
    time_limit : seconds, checked and otherwise not needed.
    order : "index", type by type, or "random", VM by VM.

    Raises
    ------
    InvalidInstance
        A request is elastic or may be served in part.
    NoSolution
        The servers run out; another order or an exact method may still fit them.

    Notes
    -----
    New servers are opened cheapest per capacity first. O(VMs x servers) at worst.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "FF")
    >>> print(result.status, round(result.objective, 3))
    feasible 5.0
    """
    problem = reduce(instance)
    if order == "random":
        generator = rng or np.random.default_rng(0)
        runs = generator.permutation(np.repeat(np.arange(problem.types), problem.request))
        return _answer(problem, fit(problem, runs, np.ones(len(runs), dtype=np.int64)))
    first = np.argsort([group[0] for group in problem.members], kind="stable")
    return _answer(problem, fit(problem, first, problem.request[first]))


@checked
def first_fit_decreasing(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """FFD: first fit, largest VMs first (the sum of their shares of the largest server); see
    `first_fit_all`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "FFD")
    >>> print(result.status, round(result.objective, 3))
    feasible 5.0
    """
    problem = reduce(instance)
    order = decreasing(problem)
    return _answer(problem, fit(problem, order, problem.request[order]))


@checked
def best_fit_decreasing(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """BFD: largest VMs first, each on the server with the least free shares that still holds it;
    see `first_fit_all`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "BFD")
    >>> print(result.status, round(result.objective, 3))
    feasible 5.0
    """
    problem = reduce(instance)
    order = decreasing(problem)
    return _answer(problem, fit(problem, order, problem.request[order], best=True))


@checked
def dot_product(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """dot: fill one server after the other, next the VM with the largest weighted dot product with
    what is free.

    A resource weighs as much as its total demand measured in servers. Raises as `first_fit_all`
    does. Source: Panigrahy, Talwar, Uyeda and Wieder, "Heuristics for vector bin packing" (2011).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "dot")
    >>> print(result.status, round(result.objective, 3))
    feasible 5.0
    """
    problem = reduce(instance)
    return _answer(problem, fill(problem, "dot"))


@checked
def square_norm(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """L2: fill one server after the other, next the VM that leaves the least weighted square norm
    of free shares.

    Weights, errors and source as for `dot_product`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "L2")
    >>> print(result.status, round(result.objective, 3))
    feasible 4.0
    """
    problem = reduce(instance)
    return _answer(problem, fill(problem, "L2"))


@checked
def random_fit(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """random-fit: VMs in random order, each on a server drawn among those where it fits.

    With all requests to be served, a server is opened only when no open one holds the VM. With
    elastic requests (or such as may be served in part) users take turns, each asking for one VM,
    until nothing more fits on the fixed servers.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "random-fit")
    >>> print(result.status, round(result.objective, 3))
    feasible 4.0
    """
    generator = rng or np.random.default_rng(0)
    if instance.partial or instance.elastic.all():
        return fill_elastic(instance, "random", generator)
    problem = reduce(instance)
    return _answer(problem, fit_at_random(problem, generator))


def _answer(problem: Reduced, counts: Counts | None) -> Placement:
    if counts is None:
        raise NoSolution(
            "this order of VMs does not fit the servers there are; try min-servers, which "
            "decides whether any does"
        )
    return problem.placement(*counts)
