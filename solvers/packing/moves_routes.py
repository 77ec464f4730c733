"""Routes of `fewest_moves` in the order in which they run; each improves the state of the
search.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...instances.packing.instance import Floats, Integers, Packing, Placement
from ...instances.packing.placement_constraints import present_counts, stays
from ...models.packing.aggregate import Moves, moves_program
from ...models.packing.assignment import assignment_model
from ..engines import WarmStartedProgram, solve_cp_sat
from ..incumbent import Incumbent
from ..outcome import Clock, Status, raise_if_interrupted
from ..routes import Routed
from .aggregate import WHOLE, Dive, ExactProgram, counted
from .arrivals import ArrivalProgram, arrival_program
from .constrained_search import Filling
from .minimum import min_cost, min_servers
from .presolve import Reduced, presolve


@dataclass(frozen=True)
class MovesLimits(Routed):
    """Parameters of `fewest_moves`; no proof depends on them.

    Attributes
    ----------
    counts, first_counts : servers x types up to which CP-SAT is tried at all, and before anything
        else.
    spare : how much more empty room counts than `SPARE` says: at first, and where VMs find no
        place.
    at_once, besides : servers in use, and others, of one zone whose VMs CP-SAT places anew
        together.
    in_vain : such choices without a move less after which others are tried first.
    cost_seconds : in which a bound on the least cost is first looked for, where one is asked; a
        tenth of them where an answer is known.
    """

    counts: int = 40_000
    first_counts: int = 400
    spare: tuple[float, ...] = (1.0, 8.0, 64.0)
    at_once: int = 5
    besides: int = 3
    in_vain: int = 12
    cost_seconds: float = 5.0
    routes: frozenset[str] = frozenset(
        {"anew", "any answer", "cp-sat", "fillings", "homewards", "room"}
    )


LIMITS = MovesLimits()


def within(
    instance: Packing, placement: Placement, *, servers: int | None = None, cost: int | None = None
) -> tuple[int, ...] | None:
    """Empty tuple if a placement keeps the limits on servers and cost, else None. Without limits
    the tuple has the servers in use, which `fewest_moves` then minimizes before the moves.
    """
    if servers is None and cost is None:
        return (placement.servers,)
    many = servers is not None and placement.servers > servers
    dear = cost is not None and instance.server_cost[placement.server_class].sum() > cost
    return None if many or dear else ()


class MovesSearch(Incumbent[Placement, int]):
    """State of the search for the fewest VMs that move: incumbent, bound, limits on servers and
    cost, and current positions of VMs.
    """

    def __init__(
        self,
        instance: Packing,
        clock: Clock,
        rng: np.random.Generator,
        limits: MovesLimits = LIMITS,
        cost: int | None = None,
    ) -> None:
        self.present = present_counts(instance)
        self.total = int(self.present.sum())
        super().__init__(instance, clock, self._moves, bound=0)
        self.value = self.total + 1
        self.instance, self.rng, self.limits = instance, rng, limits
        self.problem = presolve(instance, costs=cost is not None, merge=False, merge_classes=True)
        where = {c: index for index, group in enumerate(self.problem.kinds) for c in group}
        self.kind = np.array([where[c] for c in instance.server_class.tolist()], dtype=np.int64)
        self.placed: Integers = self.present[:, [group[0] for group in self.problem.members]]
        self.servers, self.cost = len(self.kind), cost
        # the limits that are asked, and a bound on the least servers, or cost
        self.asked: dict[str, int] = {}
        self.least: dict[str, int] = {}
        self.bound_by, self.impossible = "none", False
        self.fixed: dict[tuple[float, bool], tuple[Integers, Integers, Floats] | None] = {}

    def _moves(self, placement: Placement) -> int:
        return stays(self.instance, placement.count, placement.server_class)[1]

    def offer(self, answer: Placement | None, text: str = "") -> bool:
        """Keep an answer that is within the limits and better than the incumbent."""
        if answer is None or within(
            self.instance, answer, servers=self.servers, cost=self.cost
        ) is None:  # fmt: skip
            return False
        return super().offer(answer, text)

    @property
    def counts(self) -> int:
        """Number of servers times number of types."""
        return len(self.kind) * self.problem.types

    @property
    def open(self) -> bool:
        """Whether the search goes on: value and bound differ, and time is left."""
        return super().open and not self.impossible

    def seconds(self, share: float, most: float) -> float:
        """Seconds for one route: a share of the remaining time, at most `most`."""
        left = self.clock.left
        return most if left is None else min(share * left, most)

    def program(self, spare: float = 0.0) -> Moves:
        """Program of the fewest VMs that move, by type; `spare` weighs free room on servers."""
        problem = self.problem
        stay = np.minimum(self.placed, problem.most.T[self.kind])
        return moves_program(
            problem.pooled, stay, problem.pooled.of[self.kind], self.servers,
            self.total + len(self.kind) + 1, problem.capacity[self.kind], spare, self.cost,
        )  # fmt: skip

    def arrivals(self) -> ArrivalProgram | None:
        """Raise the bound on the moves that make room for new VMs. Returns the solved program, or
        None if it does not apply.
        """
        program = arrival_program(self.problem, self.kind, self.placed)
        if program is not None:
            program.solve(self.clock, self.seconds(0.3, 20.0))
            self.raise_bound(program.bound, "changes of single servers")
            self.impossible |= self.bound > self.total
        return program

    def on_servers(self, placement: Placement) -> Integers:
        """VMs of the reduction's types on each server, shape (n, s), with identical servers
        permuted such that most VMs stay.
        """
        on, _ = stays(self.instance, placement.count, placement.server_class)
        now: Integers = np.zeros_like(self.placed)
        now[on] = placement.count[:, [group[0] for group in self.problem.members]]
        return now

    def offer_rows(self, count: Integers, server: Integers) -> None:
        """Offer a placement, given by VMs of reduced types on servers, as incumbent."""
        rows = np.zeros((len(count), self.instance.types), dtype=np.int64)
        rows[:, [group[0] for group in self.problem.members]] = count
        placement = Placement(rows, self.instance.server_class[server])
        self.offer(placement, "search from what runs now")


def relaxation(search: MovesSearch, _: float = 1.0) -> None:
    """Bound the VMs that must move by the linear relaxation of the aggregate program."""
    program = search.program().program
    exact = ExactProgram(program)
    left = search.clock.left
    living = WarmStartedProgram(exact.scaled(program.lower, program.upper))
    answer = living.solve(None if left is None else left / 2)
    raise_if_interrupted(answer.stop)
    if answer.row_dual is not None:
        value = exact.bound(answer.row_dual, program.lower, program.upper)
        search.raise_bound(search.total + math.ceil(value), "aggregate program of moves")
        search.impossible |= search.bound > search.total  # some VM is left out by every point


def make_room(search: MovesSearch, _: float = 1.0) -> None:
    """Place VMs that run nowhere yet by CP-SAT, together with the VMs of more and more servers."""
    program = search.arrivals()
    if program is None or not search.open:
        return
    order, number = program.between(_empty_part(search), search.seconds(0.1, 10.0))
    now = search.placed.copy()
    arriving = np.maximum(search.problem.request - now.sum(axis=0), 0)
    number, end = max(number, 1), search.clock.seconds + search.seconds(0.5, 60.0)
    while search.open and search.clock.seconds < end:
        servers = np.sort(order[:number])
        until = min(end, search.clock.seconds + search.seconds(0.25, 8.0))
        _placed_anew(search, now, servers, until, arriving)
        if number == len(order):
            return
        number = min(number + number // 2 + 1, len(order))


def homewards(search: MovesSearch, effort: float) -> None:
    """Move VMs of the incumbent back to the servers on which they run now."""
    pooled = search.problem.pooled
    before = search.value + 1
    while search.open and search.best is not None and search.value < before:
        before, now = search.value, search.on_servers(search.best)
        chosen = np.flatnonzero(now.any(axis=1))
        count = np.zeros((search.problem.types, len(pooled.size)))
        np.add.at(count.T, pooled.of[search.kind[chosen]], now[chosen])
        filling = Filling(search.problem, search.kind[chosen], count, search.rng, shuffles=0)
        filling.place_now(now[chosen], search.placed[chosen])
        if filling.waiting:
            return
        _home(search, filling, chosen, effort)


def fillings(search: MovesSearch, effort: float) -> None:
    """Keep the servers that the program keeps, and place the VMs of all other servers among them.

    Where they do not all find a place the program is solved with more room to spare.
    """
    for spare in search.limits.spare:
        if not search.open:
            return
        known = spare, search.best is None
        if known not in search.fixed:
            search.fixed[known] = _fixed(search, spare)
        if (fixed := search.fixed[known]) is None:
            continue
        chosen, stay, count = fixed
        filling = Filling(search.problem, search.kind[chosen], count, search.rng, shuffles=0)
        filling.place_now(stay[chosen], search.placed[chosen])
        filling.place_evenly(count)
        if filling.mend(search.clock, search.clock.seconds + search.seconds(0.1, 2.0 * effort)):
            _home(search, filling, chosen, effort)
            return


def any_answer(search: MovesSearch, effort: float) -> None:
    """Without an answer, find the fewest or cheapest servers, however many VMs move."""
    minima = {"servers": min_servers, "cost": min_cost}
    for name in search.asked or ["servers"]:
        if search.best is not None or not search.open:
            return
        left = search.clock.left
        seconds = 30.0 * effort if left is None else left / 2
        found = minima[name](search.instance, rng=search.rng, time_limit=seconds)
        if isinstance(found.solution, Placement):
            search.offer(found.solution, f"min-{name}")
        raise_if_interrupted(found.stop)
        most = search.asked.get(name, search.servers)
        if found.bound is not None and found.bound > most:
            search.impossible = True
    homewards(search, effort)


def anew(search: MovesSearch, effort: float) -> None:
    """Place the VMs of a few servers of one zone anew among them, if there is an answer.

    What zones hold remains as it is, and the servers in use remain within what is asked.
    """
    left = search.clock.left
    until = search.clock.seconds + (10.0 * effort if left is None else 0.75 * left)
    vain = 0
    while (
        search.open
        and search.best is not None
        and vain < search.limits.in_vain
        and search.clock.seconds < until
    ):
        before, now = search.value, search.on_servers(search.best)
        used = np.asarray(now.any(axis=1))
        moved = np.maximum(now - search.placed, 0).sum(axis=1)  # VMs that come from elsewhere
        zone = search.problem.zone[search.kind]
        first = int(search.rng.choice(len(used), p=moved / moved.sum()))
        near = search.rng.permutation(np.flatnonzero(zone == zone[first]))
        some = near[used[near] & (near != first)][: search.limits.at_once - 1]
        others = near[~used[near]][: search.limits.besides]
        _placed_anew(search, now, np.sort([first, *some, *others]), until)
        vain = 0 if search.value < before else vain + 1


def by_cp_sat(search: MovesSearch, effort: float) -> None:
    """Solve by CP-SAT with servers that are distinguished, where servers times types are few."""
    if search.counts > search.limits.counts:
        return
    model, counts, moves = _moves_model(
        search.problem, search.kind, search.placed, search.servers, search.cost
    )
    model.add(moves >= search.bound)
    model.add(moves <= search.value)
    model.minimize(moves)  # instead of the servers
    answer = solve_cp_sat(model, time_limit=search.clock.time_slice(most=5.0 * effort))
    raise_if_interrupted(answer.stop)
    if answer.status is Status.INFEASIBLE:
        search.impossible = search.best is None
        return
    if answer.values is not None:
        search.offer_rows(counts(answer.values), np.arange(len(search.kind)))
    if answer.integer_bound is not None:
        search.raise_bound(answer.integer_bound, "CP-SAT")


def few_servers(search: MovesSearch, effort: float) -> None:
    """Solve by CP-SAT before later routes, where servers times types are very few."""
    if search.counts <= search.limits.first_counts:
        by_cp_sat(search, effort)


def _empty_part(search: MovesSearch) -> Floats:
    """Free share of each server in its scarcest resource, shape (n,)."""
    free = search.problem.capacity[search.kind] - search.placed @ search.problem.demand
    part: Floats = (free / np.maximum(search.problem.capacity[search.kind], 1)).min(axis=1)
    return part


def _fixed(search: MovesSearch, spare: float) -> tuple[Integers, Integers, Floats] | None:
    """Plan moves by a dive into the aggregate program with spare capacity: servers (m,) to use, VMs
    (n, s) that stay on them, and other VMs (s, q) by server class; None if a VM is left out.

    A dive: servers by class are fixed at whole numbers, those nearest to one first, then the
    servers of each class of which most is kept.
    """
    # 1. fix the servers by class, half of them at a time
    built, pooled = search.program(spare), search.problem.pooled
    dive = Dive(built, search.problem.request, search.clock)
    lower, upper = dive.lower, dive.upper

    def fixed(columns: Integers, values: Floats) -> Floats | None:
        lower[columns] = upper[columns] = values
        return dive.solve()

    point, free = dive.solve(), built.servers
    while point is not None and len(free):
        apart = np.abs(point[free] - np.round(point[free]))
        near = np.argsort(apart, kind="stable")[: max(len(free) // 2, (apart < WHOLE).sum(), 1)]
        columns, numbers = free[near], np.round(point[free[near]])
        before = lower[columns], upper[columns]
        found = fixed(columns, numbers)
        if found is None and len(near) > 1:  # one at a time, at the next number too
            lower[columns], upper[columns] = before
            near, columns, numbers = near[:1], columns[:1], numbers[:1]
            found = fixed(columns, numbers)
        if found is None:
            found = fixed(columns, numbers + np.where(numbers < point[columns], 1, -1))
        point, free = found, np.delete(free, near)
    if point is None and search.best is not None:  # as many of each class as the best answer has
        used = pooled.of[search.kind[search.on_servers(search.best).any(axis=1)]]
        many = np.bincount(used, minlength=len(pooled.size))
        point = fixed(built.servers, np.where(pooled.size > 1, 1.0, many))
    if point is None:
        return None
    # 2. of each class, the servers of which most is kept
    number = np.round(point[built.servers]).astype(np.int64) * pooled.size
    occupied = np.flatnonzero(
        np.minimum(search.placed, search.problem.most.T[search.kind]).any(axis=1)
    )
    kind, staying = pooled.of[search.kind], search.placed.sum(axis=1)
    chosen: list[int] = []  # servers that may be in use
    for c in range(len(pooled.size)):
        members = np.flatnonzero(kind[occupied] == c)
        order = np.lexsort((-staying[occupied[members]], -np.round(point[built.kept[members]], 6)))
        keep = members[order][: number[c]]
        idle = np.setdiff1d(np.flatnonzero(kind == c), occupied)
        chosen += [*occupied[keep].tolist(), *idle[: number[c] - len(keep)].tolist()]
        lower[built.kept[keep]] = 1.0
        upper[built.kept[np.setdiff1d(members, keep)]] = 0.0
    point = dive.solve()
    if point is None:
        return None
    # 3. the VMs that stay on them
    stay = np.zeros_like(search.placed)
    stay[occupied[built.stay_at], built.stay_type] = np.round(point[built.stay])
    return np.array(chosen, dtype=np.int64), stay, counted(built.count, point)


def _home(search: MovesSearch, filling: Filling, chosen: Integers, effort: float) -> None:
    """Move VMs on the chosen servers back to their home servers, and offer the placement."""
    filling.bring_home(search.clock, search.clock.seconds + search.seconds(0.25, 10.0 * effort))
    search.offer_rows(filling.room.vms[: len(chosen)], chosen)


def _placed_anew(
    search: MovesSearch, now: Integers, servers: Integers, until: float,
    arriving: Integers | None = None,
) -> None:  # fmt: skip
    """Place the VMs of some servers, and those that arrive (s,), anew among these servers by CP-SAT
    such that the most stay, and offer the placement.
    """
    problem, wanted = search.problem, now[servers].sum(axis=0)
    wanted = wanted if arriving is None else wanted + arriving
    types = np.flatnonzero(wanted)
    part = problem.part(types, wanted[types])
    others = np.delete(np.arange(len(now)), servers)
    others = others[now[others].any(axis=1)]
    cost = search.cost
    if cost is not None:
        cost -= int(problem.price[search.kind[others]].sum())
    model, counts, moves = _moves_model(
        part, search.kind[servers], search.placed[np.ix_(servers, types)],
        search.servers - len(others), cost, now[np.ix_(servers, types)],
    )  # fmt: skip
    model.minimize(moves)
    most = 2.0 if arriving is None else 8.0
    seconds = min(most, max(until - search.clock.seconds, 0.1))
    answer = solve_cp_sat(model, time_limit=search.clock.time_slice(most=seconds))
    raise_if_interrupted(answer.stop)
    if answer.values is not None:
        rows = now.copy()
        rows[np.ix_(servers, types)] = counts(answer.values)
        full = np.flatnonzero(rows.any(axis=1))
        search.offer_rows(rows[full], full)


def _moves_model(
    problem: Reduced, kind: Integers, placed: Integers, servers: int, cost: int | None,
    hint: Integers | None = None,
) -> tuple[Any, Callable[[Integers], Integers], Any]:  # fmt: skip
    """CP-SAT model of VMs (n, s) on given servers (n,) with limits on number and cost; with it a
    function that reads the counts, and the number of VMs that leave their server.
    """
    built = assignment_model(problem, kind, named=True)
    model = built.model
    used = [model.get_bool_var_from_proto_index(int(place)) for place in built.used]
    model.add(sum(used) <= servers)
    if cost is not None:
        model.add(sum(int(problem.price[kind[m]]) * flag for m, flag in enumerate(used)) <= cost)
    stay: list[Any] = []
    for m, i in np.argwhere(placed > 0).tolist():
        if built.count[m, i] >= 0:
            entry = model.get_int_var_from_proto_index(int(built.count[m, i]))
            stay.append(model.new_int_var(0, int(placed[m, i]), f"stay_{m}_{i}"))
            model.add(stay[-1] <= entry)
            if hint is not None:
                model.add_hint(stay[-1], int(min(placed[m, i], hint[m, i])))
    if hint is not None:
        for m, i in np.argwhere(built.count >= 0).tolist():
            entry = model.get_int_var_from_proto_index(int(built.count[m, i]))
            model.add_hint(entry, int(hint[m, i]))
        for m, flag in enumerate(used):
            model.add_hint(flag, bool(hint[m].any()))
    return model, built.counts, int(placed.sum()) - sum(stay)


Routes = tuple[Callable[[MovesSearch, float], None], ...]
FIRST: Routes = relaxation, make_room, few_servers
IN_TURNS: Routes = homewards, fillings, any_answer, anew, by_cp_sat
NAMES = {
    make_room: "room", few_servers: "cp-sat", homewards: "homewards", fillings: "fillings",
    any_answer: "any answer", anew: "anew", by_cp_sat: "cp-sat",
}  # fmt: skip
"""Of the routes that can be left out."""
