"""Fewest moves from the current placement to one on few or cheap servers."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np

from ...instances.packing.instance import Packing, Placement
from ...instances.packing.placement_constraints import stays
from ...instances.problem.errors import InvalidInstance
from ...instances.problem.option_types import AtLeast, validate_options
from ..outcome import Clock, Outcome, Report, Status, Stop, raise_if_interrupted
from .aggregate import aggregate_bound
from .minimum import min_servers
from .moves_routes import (
    FIRST,
    IN_TURNS,
    LIMITS,
    NAMES,
    MovesLimits,
    MovesSearch,
    relaxation,
    within,
)  # fmt: skip
from .presolve import presolve

ROUTES = {"the beginning": FIRST, "turns, each of twice the time": IN_TURNS}
"""The routes of `fewest_moves`, in the order in which they run."""


@validate_options
def fewest_moves(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    servers: Annotated[int, AtLeast(1, "a number of servers")] | None = None,
    cost: Annotated[int, AtLeast(1, "a whole cost of servers")] | None = None,
    limits: MovesLimits = LIMITS,
) -> Outcome:
    """Minimize the VMs that leave their server, with at most `servers` servers in use or at most
    `cost` in all, with a proof.

    A VM stays if it is on the server that it is on now; VMs that do not run now are no moves. The
    bound is the aggregate program's with the VMs that stay (its multipliers are checked in whole
    numbers), or CP-SAT's where servers times types are few.

    Parameters
    ----------
    rng : draws the search; `default_rng(0)` when not given.
    time_limit : seconds; the best answer and bound so far are returned when they are up.
    start : an answer to begin from; it is left out when it uses more servers, or dearer ones.
    report : progress.
    servers : how many may be in use; without it and `cost`, as few as `min_servers` finds in half
        of the time.
    cost : what the servers in use may cost in all, in the unit of the instance's `cost`.
    limits : the numbers that steer the search.

    Returns
    -------
    Outcome
        `bound` in VMs. `certificate`: `servers`, how many may be in use (without the option: are);
        `fewest_servers`, a proved bound on them; with the option `cost`, that and `least_cost`, a
        proved bound on it, instead (or too, where both are asked); `found_by`, `bound_by`; `on`,
        the server of each row of the answer.

    Raises
    ------
    InvalidInstance
        Nothing is said of what runs now, or a request is elastic or may be served in part.

    Notes
    -----
    With too few servers, or too little for them, the status is `infeasible`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/cluster-12-40"), "fewest-moves")
    >>> print(result.status, round(result.objective, 3))
    optimal 26.0
    """
    if instance.placed is None:
        raise InvalidInstance(
            "placed", "not given", "what runs now, rows of server, VM type and VMs",
            "Give it, or use min-servers, which may move every VM",
        )  # fmt: skip
    clock = Clock(time_limit, report)
    search = MovesSearch(instance, clock, rng or np.random.default_rng(0), limits, cost)
    with search.keeping_best():
        _limit(search, servers, start)
        if not search.impossible:
            search.offer(start, "the start")
            _run(search)
    if search.stop is Stop.INTERRUPTED and search.asked and search.best is None:
        search.offer(Placement(search.present, instance.server_class), "what runs now")
    return _outcome(search)


def moves_bound(
    instance: Packing,
    servers: int | None,
    seconds: float | None = None,
    cost: int | None = None,
    quick: bool = False,
) -> int:
    """Lower bound on the VMs that leave their server, with at most `servers` servers in use of
    total cost at most `cost`. It is from changes of single servers where VMs arrive, and, unless
    `quick` and these prove something, from the aggregate program.
    """
    search = MovesSearch(instance, Clock(seconds), np.random.default_rng(0), cost=cost)
    search.servers = search.servers if servers is None else servers
    search.arrivals()
    if not (quick and search.bound):
        relaxation(search)
    return search.bound


def _limit(search: MovesSearch, servers: int | None, start: Placement | None) -> None:
    """Set the limits on servers and cost, and a lower bound on the least value of each."""
    given = {"servers": servers, "cost": search.cost}
    search.asked = {name: limit for name, limit in given.items() if limit is not None}
    search.least = dict.fromkeys(search.asked or ["servers"], 1)
    search.servers = search.asked.get("servers", search.servers)
    if not search.asked:
        found = min_servers(
            search.instance, rng=search.rng, time_limit=search.clock.time_slice(2), start=start
        )
        search.least["servers"] = int(found.bound or 1)
        search.impossible = found.status is Status.INFEASIBLE
        if isinstance(found.solution, Placement):
            search.servers = found.solution.servers
            search.offer(found.solution, "min-servers")
        raise_if_interrupted(found.stop)
    for name, limit in search.asked.items():
        problem = presolve(search.instance, costs=name == "cost", merge_classes=True)
        seconds = search.clock.time_slice(2)
        if name == "cost":  # the least may take long, and is no more than a first look
            known = start is not None and within(search.instance, start, cost=limit) is not None
            part = 0.1 if known else 1.0
            seconds = search.seconds(0.2 * part, search.limits.cost_seconds * part)
        search.least[name] = aggregate_bound(
            problem, search.clock, upper=limit + 1, seconds=seconds
        ).bound
        search.impossible |= search.least[name] > limit


def _run(search: MovesSearch) -> None:
    """Search from the current placement, by one route after another, until the best is proved."""
    search.offer(Placement(search.present, search.instance.server_class), "what runs now")
    effort, routes, named = 1.0, FIRST, search.limits.routes
    while search.open:
        for route in routes:
            if search.open and NAMES.get(route, "") in {"", *named}:
                route(search, effort)
        large = search.counts > search.limits.counts or "cp-sat" not in named
        effort, routes = effort * (1 if routes is FIRST else 2), IN_TURNS
        if large and effort > 64 and search.clock.left is None:
            return


def _outcome(search: MovesSearch) -> Outcome:
    """Outcome of the search for the fewest moves."""
    words = {"servers": "fewest_servers", "cost": "least_cost"}
    certificate: dict[str, Any] = search.asked or {"servers": search.servers}
    certificate = certificate | {words[name]: least for name, least in search.least.items()}
    certificate |= {"found_by": search.found_by, "bound_by": search.bound_by}
    impossible = search.best is None and search.impossible
    if search.stop is Stop.FINISHED and not (search.closed or impossible):
        late = search.clock.expired or search.best is None
        search.stop = Stop.TIME_LIMIT if late else Stop.ITERATION_LIMIT
    if search.best is None:
        status = Status.INFEASIBLE if impossible else Status.UNKNOWN
        return Outcome(None, None, status, search.stop, certificate, tuple(search.clock.trace))
    if not search.asked:
        certificate["servers"] = search.best.servers
    on, _ = stays(search.instance, search.best.count, search.best.server_class)
    return search.finish(certificate | {"on": on.tolist()})
