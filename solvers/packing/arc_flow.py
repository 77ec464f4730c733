"""Arc-flow: a compressed graph of partial loads per server class, and its program on HiGHS."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ...instances.packing.instance import Integers, Packing, Placement
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import AtLeast, validate_options
from ...models.packing.arc_flow import arc_flow_program
from ..engines import solve_in_subprocess
from ..incumbent import conclude
from ..outcome import Clock, Outcome, Report, Status, Stop, raise_if_interrupted
from ..proofs.tree import integer_bound
from .bounds import best_bound
from .fitting import trimmed
from .presolve import Counts, Reduced, presolve

Load = tuple[int, ...]


class GraphTooLarge(InvalidOption):
    """The graph has more partial loads than allowed."""


@dataclass(frozen=True, eq=False)
class FlowGraph:
    """Arcs between partial loads.

    Attributes
    ----------
    tail, head, item : (arcs,) nodes, and the VM type an arc adds (-1: none).
    nodes : how many.
    ends : (source, target) of each class.
    """

    tail: Integers
    head: Integers
    item: Integers
    nodes: int
    ends: list[tuple[int, int]]


@validate_options
def arc_flow(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    most_nodes: Annotated[int, AtLeast(1, "a number of partial loads")] = 200_000,
) -> Outcome:
    """Fewest servers by the arc-flow program on HiGHS: strong bounds, good when VM types are few.

    Parameters
    ----------
    time_limit : seconds; HiGHS may overrun its own limit on such programs, so it runs in a process
        of its own that is ended when it does (its answer so far is then lost, and `start` is
        returned).
    start : an answer returned when none better is found.
    most_nodes : how many partial loads of each server class may be looked at.

    Raises
    ------
    InvalidInstance
        A request is elastic or may be served in part.
    InvalidOption
        There are more partial loads than `most_nodes`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/tiny"), "arc-flow")
    >>> print(result.status, round(result.objective, 3))
    optimal 4.0
    """
    # bounds that need no graph, and the graph
    clock = Clock(time_limit, report)
    problem = presolve(instance)
    floor = best_bound(problem).value
    if clock.expired:
        return _given(start, floor, Stop.TIME_LIMIT, {"bound_by": "volume and large items"})
    try:
        graph = flow_graph(problem, most=most_nodes)
    except KeyboardInterrupt:
        return _given(start, floor, Stop.INTERRUPTED, {"bound_by": "volume and large items"})
    # what the bounds alone refuse
    certificate: dict[str, Any] = {
        "nodes": graph.nodes,
        "arcs": len(graph.tail),
        "bound_by": "arc-flow",
    }
    if floor > problem.budget:
        return Outcome(
            None, None, Status.INFEASIBLE, Stop.FINISHED, {**certificate, "bound_by": "volume"}
        )
    # the program on the graph
    try:
        counts, bound = solve_graph(problem, graph, clock, above=floor)
    except KeyboardInterrupt:
        return _given(start, floor, Stop.INTERRUPTED, certificate)
    # the better of its answer and the start, with the better bound
    solution = start if counts is None else problem.placement(*counts)
    if counts is not None and start is not None and start.servers < solution.servers:  # type: ignore[union-attr]
        solution = start
    if bound is not None and bound > problem.budget:
        return Outcome(None, None, Status.INFEASIBLE, Stop.FINISHED, certificate)
    lower = max(floor, bound or 0)
    if solution is None:
        return Outcome(None, None, Status.UNKNOWN, Stop.TIME_LIMIT, certificate)
    value = float(solution.servers)
    return conclude(solution, value, float(lower), Stop.TIME_LIMIT, certificate, clock)


def _given(start: Placement | None, floor: int, stop: Stop, certificate: dict[str, Any]) -> Outcome:
    """What there is before HiGHS has answered: the start, if any, and the simple bounds."""
    if start is None:
        return Outcome(None, None, Status.UNKNOWN, stop, certificate)
    return Outcome(start, float(min(floor, start.servers)), Status.FEASIBLE, stop, certificate)


def flow_graph(problem: Reduced, *, most: int) -> FlowGraph:
    """The graph of every class, each load lifted as far up as what can follow it allows (which
    merges most of them).

    Raises
    ------
    GraphTooLarge
        A class has more than `most` partial loads.
    """
    tails, heads, items = [], [], []
    ends = []
    nodes = 0
    for c in range(len(problem.price)):
        builder = _GraphBuilder(problem, c, most)
        source, index = builder.run()
        for (low, high, item), _ in builder.arcs.items():
            tails.append(index[low] + nodes)
            heads.append(index[high] + nodes)
            items.append(item)
        ends.append((index[source] + nodes, index[builder.full] + nodes))
        nodes += len(index)
    return FlowGraph(np.array(tails), np.array(heads), np.array(items), nodes, ends)


class _GraphBuilder:
    """Loads of one class, types taken in the order of the reduction (largest first), copies of a
    type in a row.
    """

    def __init__(self, problem: Reduced, kind: int, most: int) -> None:
        self.size = [tuple(row) for row in problem.demand.tolist()]
        self.request = problem.request.tolist()
        self.full: Load = tuple(problem.capacity[kind].tolist())
        self.most = most
        self.memory: dict[tuple[int, int, Load], Load] = {}
        self.arcs: dict[tuple[Load, Load, int], None] = {}

    def run(self) -> tuple[Load, dict[Load, int]]:
        """The source's load and the numbering of all loads."""
        empty = tuple(0 for _ in self.full)
        deepest = len(self.size) + sum(self._copies(i, empty) for i in range(len(self.size)))
        limit = sys.getrecursionlimit()
        if deepest > 20_000:
            raise GraphTooLarge(
                f"a server could hold {deepest} VMs, too many for arc-flow; use min-servers"
            )
        sys.setrecursionlimit(max(limit, 3 * deepest + 1000))
        try:
            source = self._lifted(0, self._copies(0, empty), empty)
        finally:
            sys.setrecursionlimit(limit)
        loads = {load for low, high, _ in self.arcs for load in (low, high)} | {source, self.full}
        return source, {load: place for place, load in enumerate(sorted(loads))}

    def _copies(self, i: int, load: Load) -> int:
        fit = min(
            (room - used) // need
            for room, used, need in zip(self.full, load, self.size[i], strict=True)
            if need > 0
        )
        return int(min(fit, self.request[i]))

    def _lifted(self, i: int, copies: int, load: Load) -> Load:
        """The highest load from which everything that can follow still fits; its arcs are recorded
        on the way.
        """
        if i == len(self.size):
            return self.full
        key = (i, copies, load)
        if key in self.memory:
            return self.memory[key]
        if len(self.memory) >= self.most:
            raise GraphTooLarge(
                f"there are more than {self.most} partial loads; raise most_nodes, or use "
                "min-servers"
            )
        following = self._copies(i + 1, load) if i + 1 < len(self.size) else 0
        skipped = self._lifted(i + 1, following, load)
        result = skipped
        taken = None
        if copies > 0:
            after = tuple(used + need for used, need in zip(load, self.size[i], strict=True))
            taken = self._lifted(i, min(copies - 1, self._copies(i, after)), after)
            result = tuple(
                min(up, top - need)
                for up, top, need in zip(skipped, taken, self.size[i], strict=True)
            )
            self.arcs[(result, taken, i)] = None
        if result != skipped:
            self.arcs[(result, skipped, -1)] = None
        self.memory[key] = result
        return result


def solve_graph(
    problem: Reduced, graph: FlowGraph, clock: Clock, *, above: int, most: float | None = None
) -> tuple[Counts | None, int | None]:
    """An answer and a bound that is better than `above`, either of them None without one; a bound
    above all servers' cost says there is no answer. `most`: seconds, besides the clock's.
    """
    program = arc_flow_program(
        graph.tail,
        graph.head,
        graph.item,
        graph.nodes,
        graph.ends,
        problem.request,
        problem.servers,
        problem.price,
    )
    answer = solve_in_subprocess(program, time_limit=clock.time_slice(2, most=most))
    raise_if_interrupted(answer.stop)
    proved = integer_bound(program, answer, clock, most, above=above)
    bound = None if proved is None else int(min(proved, problem.budget + 1))
    if answer.point is None:
        return None, bound
    flow = np.round(answer.point).astype(np.int64)
    return _paths(problem, graph, flow), bound


def _paths(problem: Reduced, graph: FlowGraph, flow: Integers) -> Counts:
    """Servers from a flow: paths from each source, one unit at a time."""
    left = flow[: len(graph.tail)].copy()
    leaving: dict[int, list[int]] = {}
    for arc, node in enumerate(graph.tail.tolist()):
        if left[arc] > 0:
            leaving.setdefault(node, []).append(arc)
    rows, kinds = [], []
    for c, (source, target) in enumerate(graph.ends):
        for _ in range(int(flow[len(graph.tail) + c])):
            row = np.zeros(problem.types, dtype=np.int64)
            node = source
            while node != target:
                arcs = leaving[node]
                while left[arcs[-1]] == 0:
                    arcs.pop()
                arc = arcs[-1]
                left[arc] -= 1
                if graph.item[arc] >= 0:
                    row[graph.item[arc]] += 1
                node = int(graph.head[arc])
            rows.append(row)
            kinds.append(c)
    return trimmed(
        np.array(rows).reshape(-1, problem.types), np.array(kinds, dtype=np.int64), problem.request
    )
