"""Fewest moves: from what runs now to a placement on few servers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from ...instances.packing.instance import Floats, Integers, Packing, Placement
from ...instances.packing.placement_constraints import present_counts, stays
from ...instances.problem.errors import InvalidInstance
from ...instances.problem.option_types import AtLeast, validate_options
from ...models.packing.aggregate import Moves, moves_program
from ...models.packing.assignment import assignment_model
from ..engines import WarmStartedProgram, solve_cp_sat
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Report, Status, Stop, raise_if_interrupted
from ..routes import Routed
from .aggregate import WHOLE, Dive, ExactProgram, aggregate_bound, counted
from .arrivals import ArrivalProgram, arrival_program
from .constrained import Ruled, reduce_ruled
from .constrained_search import Filling
from .minimum import min_cost, min_servers


@dataclass(frozen=True)
class MovesLimits(Routed):
    """The numbers that steer `fewest_moves`; what is proved rests on none of them.

    Attributes
    ----------
    counts, first_counts : servers x types up to which CP-SAT is tried at all, and before anything
        else.
    spare : how much more empty room counts than in `even_program`: at first, and where VMs find no
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
    """The fewest VMs that leave their server so that no more than some servers are in use, or none
    that cost more than some amount in all, with a proof.

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
        of the time. To free servers that are named, ask for `instance.cordoned(names)` instead.
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
        search.limit(servers, start)
        if not search.impossible:
            search.offer(start, "the start")
            search.run()
    if search.stop is Stop.INTERRUPTED and search.asked and search.best is None:
        search.offer(Placement(search.present, instance.server_class), "what runs now")
    return search.outcome()


def within(
    instance: Packing, placement: Placement, *, servers: int | None = None, cost: int | None = None
) -> tuple[int, ...] | None:
    """What `fewest_moves` compares before the moves: the servers, unless so many may be in use, or
    they may cost so much; None for a placement beyond these limits.
    """
    if servers is None and cost is None:
        return (placement.servers,)
    many = servers is not None and placement.servers > servers
    dear = cost is not None and instance.server_cost[placement.server_class].sum() > cost
    return None if many or dear else ()


def moves_bound(
    instance: Packing,
    servers: int | None,
    seconds: float | None = None,
    cost: int | None = None,
    quick: bool = False,
) -> int:
    """A proved bound on the VMs that leave their server where at most some are in use, and cost
    so much at most, by changes of single servers where VMs arrive, and by the aggregate program
    (unless it has to be `quick` and the first says something).
    """
    search = MovesSearch(instance, Clock(seconds), np.random.default_rng(0), cost=cost)
    search.servers = search.servers if servers is None else servers
    search.arrivals()
    if not (quick and search.bound):
        search.relaxed(search.program())
    return search.bound


class MovesSearch(Incumbent[Placement, int]):
    """The best answer and the best bound, on how many servers of what cost, and where VMs are
    now.
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
        super().__init__(instance, clock, self._moves, bound=0, value=self.total + 1)
        self.instance, self.rng, self.limits = instance, rng, limits
        self.problem: Ruled = reduce_ruled(instance, costs=cost is not None, merge=False)
        where = {c: place for place, group in enumerate(self.problem.kinds) for c in group}
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

    def limit(self, servers: int | None, start: Placement | None) -> None:
        """How many servers may be in use, and bounds on how many are needed and what they cost."""
        given = {"servers": servers, "cost": self.cost}
        self.asked = {name: most for name, most in given.items() if most is not None}
        self.least = dict.fromkeys(self.asked or ["servers"], 1)
        self.servers = self.asked.get("servers", self.servers)
        if not self.asked:
            left = self.clock.left
            found = min_servers(
                self.instance, rng=self.rng, time_limit=None if left is None else left / 2,
                start=start,
            )  # fmt: skip
            self.least["servers"] = int(found.bound or 1)
            self.impossible = found.status is Status.INFEASIBLE
            if isinstance(found.solution, Placement):
                self.servers = found.solution.servers
                self.offer(found.solution, "min-servers")
            raise_if_interrupted(found.stop)
        for name, most in self.asked.items():
            problem = reduce_ruled(self.instance, costs=name == "cost")
            seconds = self.clock.time_slice(2)
            if name == "cost":  # the least may take long, and is no more than a first look
                known = start is not None and within(self.instance, start, cost=most) is not None
                part = 0.1 if known else 1.0
                seconds = self.seconds(0.2 * part, self.limits.cost_seconds * part)
            self.least[name] = aggregate_bound(
                problem, self.clock, upper=most + 1, seconds=seconds
            ).bound
            self.impossible |= self.least[name] > most

    def offer(self, answer: Placement | None, text: str = "") -> bool:
        """Keep an answer on no more than so many servers of so much cost if it is the best."""
        if answer is None or within(
            self.instance, answer, servers=self.servers, cost=self.cost
        ) is None:  # fmt: skip
            return False
        return super().offer(answer, text)

    @property
    def open(self) -> bool:
        """Whether there is anything left to decide, and time to do it."""
        return super().open and not self.impossible

    def run(self) -> None:
        """What runs now; the aggregate program, its fillings; CP-SAT where it is small."""
        self.offer(Placement(self.present, self.instance.server_class), "what runs now")
        if not self.open:
            return
        self.relaxed(self.program())
        routes = self.limits.routes
        if "room" in routes:
            self._make_room()
        counts = len(self.kind) * self.problem.types
        small = counts <= self.limits.counts and "cp-sat" in routes
        if small and counts <= self.limits.first_counts and self.open:
            self._by_cp_sat(1.0)
        effort = 1.0
        while self.open:
            if "homewards" in routes:
                self._homewards(effort)
            if "fillings" in routes:
                self._fillings(effort)
            if self.best is None and self.open and "any answer" in routes:
                self._any_answer(effort)
                self._homewards(effort)
            if self.open and "anew" in routes:
                self._anew(effort)
            if small and self.open:
                self._by_cp_sat(effort)
            effort *= 2
            if not small and effort > 64 and self.clock.left is None:
                return

    def arrivals(self) -> ArrivalProgram | None:
        """The bound of VMs that run nowhere yet, where there are some."""
        program = arrival_program(self.problem, self.kind, self.placed)
        if program is not None:
            program.solve(self.clock, self.seconds(0.3, 20.0))
            self.raise_bound(program.bound, "changes of single servers")
            self.impossible |= self.bound > self.total
        return program

    def _make_room(self) -> None:
        """Place the VMs that run nowhere, and as few others anew, among more and more servers."""
        program = self.arrivals()
        if program is None or not self.open:
            return
        order, number = program.between(self.spare(), self.seconds(0.1, 10.0))
        now = self.placed.copy()
        arriving = np.maximum(self.problem.request - now.sum(axis=0), 0)
        number, end = max(number, 1), self.clock.seconds + self.seconds(0.5, 60.0)
        while self.open and self.clock.seconds < end:
            servers = np.sort(order[:number])
            until = min(end, self.clock.seconds + self.seconds(0.25, 8.0))
            self._placed_anew(now, servers, until, arriving)
            if number == len(order):
                return
            number = min(number + number // 2 + 1, len(order))

    def spare(self) -> Floats:
        """(n,) the part of each server that is empty, of the resource of which it has least."""
        free = self.problem.capacity[self.kind] - self.placed @ self.problem.demand
        part: Floats = (free / np.maximum(self.problem.capacity[self.kind], 1)).min(axis=1)
        return part

    def _any_answer(self, effort: float) -> None:
        """An answer, however many move, or that there is none."""
        minima = {"servers": min_servers, "cost": min_cost}
        for name in self.asked or ["servers"]:
            if self.best is not None or not self.open:
                return
            left = self.clock.left
            seconds = 30.0 * effort if left is None else left / 2
            found = minima[name](self.instance, rng=self.rng, time_limit=seconds)
            if isinstance(found.solution, Placement):
                self.offer(found.solution, f"min-{name}")
            raise_if_interrupted(found.stop)
            most = self.asked.get(name, self.servers)
            if found.bound is not None and found.bound > most:
                self.impossible = True

    def program(self, spare: float = 0.0) -> Moves:
        """The aggregate program of moves, with room to spare or without."""
        problem = self.problem
        stay = np.minimum(self.placed, problem.most.T[self.kind])
        return moves_program(
            problem.pooled, stay, problem.pooled.of[self.kind], self.servers,
            self.total + len(self.kind) + 1, problem.capacity[self.kind], spare, self.cost,
        )  # fmt: skip

    def relaxed(self, built: Moves) -> None:
        """The bound of the program without whole numbers."""
        exact, program = ExactProgram(built.program), built.program
        left = self.clock.left
        living = WarmStartedProgram(exact.scaled(program.lower, program.upper))
        answer = living.solve(None if left is None else left / 2)
        raise_if_interrupted(answer.stop)
        if answer.row_dual is not None:
            value = exact.bound(answer.row_dual, program.lower, program.upper)
            self.raise_bound(self.total + math.ceil(value), "aggregate program of moves")
            self.impossible |= self.bound > self.total  # some VM is left out by every point

    def _fixed(self, spare: float) -> tuple[Integers, Integers, Floats] | None:
        """The servers that may be in use, the VMs that stay on them (n, s), and the VMs by class of
        `pooled`, as the program with room to spare says; None where it leaves one out.

        A dive: servers by class are fixed at whole numbers, those nearest to one first, then the
        servers of each class of which most is kept.
        """
        built, pooled = self.program(spare), self.problem.pooled
        dive = Dive(built, self.problem.request, self.clock)
        lower, upper = dive.lower, dive.upper

        def fixed(columns: Integers, values: Floats) -> Floats | None:
            lower[columns] = upper[columns] = values
            return dive.solve()

        point, free = dive.solve(), built.servers
        while point is not None and len(free):
            apart = np.abs(point[free] - np.round(point[free]))
            near = np.argsort(apart, kind="stable")[: max(len(free) // 2, (apart < WHOLE).sum(), 1)]
            columns, whole = free[near], np.round(point[free[near]])
            before = lower[columns], upper[columns]
            found = fixed(columns, whole)
            if found is None and len(near) > 1:  # one at a time, at the next number too
                lower[columns], upper[columns] = before
                near, columns, whole = near[:1], columns[:1], whole[:1]
                found = fixed(columns, whole)
            if found is None:
                found = fixed(columns, whole + np.where(whole < point[columns], 1, -1))
            point, free = found, np.delete(free, near)
        if point is None and self.best is not None:  # as many of each class as the best answer has
            used = pooled.of[self.kind[self._on_servers(self.best).any(axis=1)]]
            many = np.bincount(used, minlength=len(pooled.size))
            point = fixed(built.servers, np.where(pooled.size > 1, 1.0, many))
        if point is None:
            return None
        # of each class those of which most is kept
        number = np.round(point[built.servers]).astype(np.int64) * pooled.size
        used = np.flatnonzero(np.minimum(self.placed, self.problem.most.T[self.kind]).any(axis=1))
        kind, staying = pooled.of[self.kind], self.placed.sum(axis=1)
        chosen: list[int] = []
        for c in range(len(pooled.size)):
            here = np.flatnonzero(kind[used] == c)
            order = np.lexsort((-staying[used[here]], -np.round(point[built.kept[here]], 6)))
            keep = here[order][: number[c]]
            idle = np.setdiff1d(np.flatnonzero(kind == c), used)
            chosen += [*used[keep].tolist(), *idle[: number[c] - len(keep)].tolist()]
            lower[built.kept[keep]] = 1.0
            upper[built.kept[np.setdiff1d(here, keep)]] = 0.0
        point = dive.solve()
        if point is None:
            return None
        stay = np.zeros_like(self.placed)
        stay[used[built.stay_at], built.stay_type] = np.round(point[built.stay])
        return np.array(chosen, dtype=np.int64), stay, counted(built.count, point)

    def _fillings(self, effort: float) -> None:
        """Servers kept as the program says; the VMs of the others are placed among those, with more
        room to spare where they do not all find a place.
        """
        for spare in self.limits.spare:
            if not self.open:
                return
            known = spare, self.best is None
            if known not in self.fixed:
                self.fixed[known] = self._fixed(spare)
            if (fixed := self.fixed[known]) is None:
                continue
            chosen, stay, count = fixed
            filling = Filling(self.problem, self.kind[chosen], count, self.rng, shuffles=0)
            filling.place_now(stay[chosen], self.placed[chosen])
            filling.place_evenly(count)
            if filling.mend(self.clock, self.clock.seconds + self.seconds(0.1, 2.0 * effort)):
                self._home(filling, chosen, effort)
                return

    def seconds(self, share: float, most: float) -> float:
        """Seconds for one part: a share of what is left, and no more than `most`."""
        left = self.clock.left
        return most if left is None else min(share * left, most)

    def _home(self, filling: Filling, chosen: Integers, effort: float) -> None:
        """Offer what is filled on these servers, with VMs brought home."""
        filling.bring_home(self.clock, self.clock.seconds + self.seconds(0.25, 10.0 * effort))
        self._offer_rows(filling.room.vms[: len(chosen)], chosen)

    def _homewards(self, effort: float) -> None:
        """Bring VMs of the best answer home, on its servers."""
        pooled = self.problem.pooled
        before = self.value + 1
        while self.open and self.best is not None and self.value < before:
            before, now = self.value, self._on_servers(self.best)
            chosen = np.flatnonzero(now.any(axis=1))
            count = np.zeros((self.problem.types, len(pooled.size)))
            np.add.at(count.T, pooled.of[self.kind[chosen]], now[chosen])
            filling = Filling(self.problem, self.kind[chosen], count, self.rng, shuffles=0)
            filling.place_now(now[chosen], self.placed[chosen])
            if filling.waiting:
                return
            self._home(filling, chosen, effort)

    def _anew(self, effort: float) -> None:
        """Of some servers of one zone at a time, place the VMs anew among them so that more stay:
        what zones hold remains as it is, and the servers in use remain within what is asked.
        """
        left = self.clock.left
        until = self.clock.seconds + (10.0 * effort if left is None else 0.75 * left)
        vain = 0
        while (
            self.open
            and self.best is not None
            and vain < self.limits.in_vain
            and self.clock.seconds < until
        ):
            before, now = self.value, self._on_servers(self.best)
            used = np.asarray(now.any(axis=1))
            moved = np.maximum(now - self.placed, 0).sum(axis=1)  # VMs that come from elsewhere
            zone = self.problem.zone[self.kind]
            first = int(self.rng.choice(len(used), p=moved / moved.sum()))
            near = self.rng.permutation(np.flatnonzero(zone == zone[first]))
            some = near[used[near] & (near != first)][: self.limits.at_once - 1]
            others = near[~used[near]][: self.limits.besides]
            self._placed_anew(now, np.sort([first, *some, *others]), until)
            vain = 0 if self.value < before else vain + 1

    def _on_servers(self, placement: Placement) -> Integers:
        """(n, s) VMs of the reduction's types on each server, where most stay."""
        on, _ = stays(self.instance, placement.count, placement.server_class)
        now: Integers = np.zeros_like(self.placed)
        now[on] = placement.count[:, [group[0] for group in self.problem.members]]
        return now

    def _placed_anew(
        self, now: Integers, servers: Integers, until: float, arriving: Integers | None = None
    ) -> None:
        """The most VMs that can stay on these servers with what they hold together, and with those
        of each type (s,) that arrive.
        """
        problem, wanted = self.problem, now[servers].sum(axis=0)
        wanted = wanted if arriving is None else wanted + arriving
        here = np.flatnonzero(wanted)
        part = problem.part(here, wanted[here])
        others = np.delete(np.arange(len(now)), servers)
        others = others[now[others].any(axis=1)]
        cost = self.cost
        if cost is not None:
            cost -= int(problem.price[self.kind[others]].sum())
        model, counts, moves = _moves_model(
            part, self.kind[servers], self.placed[np.ix_(servers, here)],
            self.servers - len(others), cost, now[np.ix_(servers, here)],
        )  # fmt: skip
        model.minimize(moves)
        most = 2.0 if arriving is None else 8.0
        seconds = min(most, max(until - self.clock.seconds, 0.1))
        answer = solve_cp_sat(model, time_limit=self.clock.time_slice(most=seconds))
        raise_if_interrupted(answer.stop)
        if answer.values is not None:
            rows = now.copy()
            rows[np.ix_(servers, here)] = counts(answer.values)
            full = np.flatnonzero(rows.any(axis=1))
            self._offer_rows(rows[full], full)

    def _by_cp_sat(self, effort: float) -> None:
        """CP-SAT with servers that are distinguished."""
        model, counts, moves = _moves_model(
            self.problem, self.kind, self.placed, self.servers, self.cost
        )
        model.add(moves >= self.bound)
        model.add(moves <= self.value)
        model.minimize(moves)  # instead of the servers
        answer = solve_cp_sat(model, time_limit=self.clock.time_slice(most=5.0 * effort))
        raise_if_interrupted(answer.stop)
        if answer.status is Status.INFEASIBLE:
            self.impossible = self.best is None
            return
        if answer.values is not None:
            self._offer_rows(counts(answer.values), np.arange(len(self.kind)))
        if answer.integer_bound is not None:
            self.raise_bound(answer.integer_bound, "CP-SAT")

    def _offer_rows(self, count: Integers, server: Integers) -> None:
        """Offer VMs of the reduction's types on these servers."""
        rows = np.zeros((len(count), self.instance.types), dtype=np.int64)
        rows[:, [group[0] for group in self.problem.members]] = count
        placement = Placement(rows, self.instance.server_class[server])
        self.offer(placement, "search from what runs now")

    def outcome(self) -> Outcome:
        """What the search ends with."""
        words = {"servers": "fewest_servers", "cost": "least_cost"}
        certificate: dict[str, Any] = self.asked or {"servers": self.servers}
        certificate = certificate | {words[name]: least for name, least in self.least.items()}
        certificate |= {"found_by": self.found_by, "bound_by": self.bound_by}
        impossible = self.best is None and self.impossible
        if self.stop is Stop.FINISHED and not (self.closed or impossible):
            late = self.clock.expired or self.best is None
            self.stop = Stop.TIME_LIMIT if late else Stop.ITERATION_LIMIT
        if self.best is None:
            status = Status.INFEASIBLE if impossible else Status.UNKNOWN
            return Outcome(None, None, status, self.stop, certificate, tuple(self.clock.trace))
        if not self.asked:
            certificate["servers"] = self.best.servers
        on, _ = stays(self.instance, self.best.count, self.best.server_class)
        return self.finish(certificate | {"on": on.tolist()})


def _moves_model(
    problem: Ruled, kind: Integers, placed: Integers, servers: int, cost: int | None,
    hint: Integers | None = None,
) -> tuple[Any, Callable[[Integers], Integers], Any]:  # fmt: skip
    """CP-SAT with servers (n,) that are distinguished, of which so many may be in use, of so much
    cost at most; what its values mean; and the VMs placed (n, s) that leave their server. The hint
    (n, s) is an answer.
    """
    built = assignment_model(problem, kind, named=True, rules=problem)
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


__all__ = ["fewest_moves"]
