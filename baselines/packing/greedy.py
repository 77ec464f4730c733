"""Greedy packings of all requests on few servers: FF, FFD, BFD, dot, L2, random-fit."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ...instances.packing.instance import Packing, Placement
from ...instances.problem.errors import NoSolution
from ...instances.problem.option_types import validate_options
from ...solvers.packing.fitting import decreasing, fill, fit, runs
from ...solvers.packing.presolve import Counts, Reduced, presolve
from ..job_order import Order
from .elastic import fill_elastic, require_time

A_VM = 5e-9
"""Seconds that compiled policies take for a number of a VM."""


@validate_options
def first_fit_all(
    instance: Packing, *, rng: np.random.Generator | None = None, order: Order = "index"
) -> Placement:
    """FF: each VM in turn on the first open server where it fits, else on a new one.

    Parameters
    ----------
    order : "index", type by type, or "random", VM by VM.

    Raises
    ------
    InvalidInstance
        A request is elastic or may be served in part.
    NoSolution
        The servers run out; another order or an exact method may still fit them.

    Notes
    -----
    New servers are opened cheapest per capacity first. O(VMs x servers) at worst. Rules on where
    VMs may run are kept at every step: a VM that they keep out of all servers waits for others to
    be placed.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "FF")
    >>> print(result.status, round(result.objective, 3))
    feasible 5.0
    """
    problem = presolve(instance)
    if order == "random":
        return _in_random_order(problem, "first", rng or np.random.default_rng(0))
    first = np.argsort([group[0] for group in problem.members], kind="stable")
    return _answer(problem, fit(problem, first))


@validate_options
def first_fit_decreasing(instance: Packing) -> Placement:
    """FFD: first fit, largest VMs first (the sum of their shares of the largest server); see
    `first_fit_all`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "FFD")
    >>> print(result.status, round(result.objective, 3))
    feasible 5.0
    """
    return _decreasing(instance, "first")


@validate_options
def best_fit_decreasing(instance: Packing) -> Placement:
    """BFD: largest VMs first, each on the server with the least free shares that still holds it;
    see `first_fit_all`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "BFD")
    >>> print(result.status, round(result.objective, 3))
    feasible 5.0
    """
    return _decreasing(instance, "best")


@validate_options
def dot_product(instance: Packing, *, time_limit: float | None = None) -> Placement:
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
    return _filled(instance, "dot", time_limit)


@validate_options
def square_norm(instance: Packing, *, time_limit: float | None = None) -> Placement:
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
    return _filled(instance, "L2", time_limit)


@validate_options
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
    if instance.partial or instance.unbounded.all():
        return fill_elastic(instance, "random", generator, time_limit)
    problem = presolve(instance)
    if not instance.has_constraints:
        require_time(problem.vms, A_VM * 100, time_limit)  # an array of all VMs, too
    return _in_random_order(problem, "random", generator)


def _in_random_order(
    problem: Reduced, rule: Literal["first", "random"], rng: np.random.Generator
) -> Placement:
    """Place VM by VM in random order, on the first server with room, or on a random one."""
    each = rng.permutation(runs(problem))
    return _answer(problem, fit(problem, each, np.ones_like(each), rule=rule, rng=rng))


def _decreasing(instance: Packing, rule: Literal["first", "best"]) -> Placement:
    """Place the largest VMs first, on the first server with room, or on the fullest."""
    problem = presolve(instance)
    return _answer(problem, fit(problem, decreasing(problem), rule=rule))


def _filled(instance: Packing, rule: Literal["dot", "L2"], time_limit: float | None) -> Placement:
    """Fill one server after the other, choosing the next VM by a score."""
    problem = presolve(instance)
    if not instance.has_constraints:
        require_time(problem.vms, A_VM * problem.demand.size, time_limit)
    return _answer(problem, fill(problem, rule))


def _answer(problem: Reduced, counts: Counts | None) -> Placement:
    if counts is None:
        raise NoSolution(
            "this order of VMs does not fit the servers there are, or not within the rules; try "
            "min-servers, which decides whether any does"
        )
    return problem.placement(*counts)
