"""Maximum number of GPUs allocated: bounds from dual prices, and a search that fills servers card
by card.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...instances.packing.cards import fillings, share_sizes, units_taken, units_there
from ...instances.packing.instance import Floats, Integers, Packing, Placement, capped_cards
from ...instances.packing.placement_constraints import refuse_rules
from ...instances.problem.errors import InvalidInstance
from ...instances.problem.option_types import validate_options
from ...models.packing.cards import CardPacking, CardsProgram, cards_program
from ...verify.frame import ProofCase
from ...verify.packing import Packing as CheckedPacking
from ...verify.packing_cards import cards_program as cards_tree_program
from ...verify.reading import Refused, parse
from ..engines import WarmStartedProgram, solve_program
from ..incumbent import Incumbent
from ..outcome import Clock, Outcome, Report, raise_if_interrupted
from ..proofs import patience
from ..proofs.tree import tree_step
from ..routes import Routed

MOST_UNITS = 5_000
"""Units of a card of which fillings are listed; beyond them shares are rounded down."""

Objects = npt.NDArray[np.object_]

OVER = 10**7
"""Prices are whole multiples of one part in so many."""


@dataclass(frozen=True)
class CardLimits(Routed):
    """Parameters of `max_gpus`; no proof depends on them.

    Attributes
    ----------
    less_room, clearly : servers are filled at the prices of the program, and of programs whose
        servers have so much less of each resource; these are kept where they fill servers clearly
        better, by a factor. Where the program has just enough room, room costs nothing at its
        prices, and servers filled one by one waste it.
    noise, spread, draws, tries, together : how servers are filled, see `CardArrays`; the noise in
        parts of a card.
    steps : of the search between two looks at the clock.
    pause : seconds between two answers that are checked.
    in_vain : steps for each server without a better answer after which it ends.
    fillings : ways to share a card that are listed; where there are more, shares are rounded down.
    columns, seconds : of the program by single servers: up to which it is solved at all, and for
        how long where time is not limited.
    """

    less_room: tuple[float, ...] = (0.06, 0.07, 0.08, 0.09, 0.1, 0.12)
    clearly: float = 1.02
    noise: float = 0.02
    spread: float = 15.0
    draws: int = 6
    tries: int = 4
    together: int = 3
    steps: int = 200
    pause: float = 0.5
    in_vain: int = 500
    fillings: int = 200_000
    columns: int = 20_000
    seconds: float = 30.0
    routes: frozenset[str] = frozenset({"fillings again", "servers", "tree"})


LIMITS = CardLimits()


@validate_options
def max_gpus(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    start: Placement | None = None,
    report: Report | None = None,
    limits: CardLimits = LIMITS,
) -> Outcome:
    """Maximize the GPUs allocated, whole and in part, with an upper bound.

    Requests are caps: all VMs are known at once, none has to be placed, and in which order they
    would arrive does not matter. The bound is that of one linear program, VMs and fillings of cards
    by class of server, its multipliers rounded to whole numbers and checked. Answers: servers are
    filled card by card by what loses least at these prices; a few at a time are emptied and filled
    again. Where servers times VM types and fillings are few, the program by single servers, in
    whole numbers, follows.

    Parameters
    ----------
    rng : draws the search; `default_rng(0)` when not given.
    time_limit : seconds; the best answer and bound so far are returned when they are up.
    start : an answer to begin from.
    report : progress; may raise KeyboardInterrupt, which like Ctrl-C keeps the best answer.
    limits : the numbers that steer the search.

    Returns
    -------
    Outcome
        `bound` in percent of all cards there are. `certificate`: `found_by`, `bound_by`, `fillings`
        of one card that are listed, and the prices that prove the bound, `card_prices`: `over`,
        `prices` of VMs, and by class the `rates` of resources, of a `card` and of `shares` by size;
        `card_tree`, the tree of cases that proves more, where there is one.

    Raises
    ------
    InvalidInstance
        There are no cards, or not a number of servers, or a request must be served whole, or there
        are rules besides `allowed`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/cards"), "max-gpus")
    >>> print(result.status, round(result.objective, 3))
    optimal 100.0
    """
    if not capped_cards(instance):
        raise InvalidInstance(
            "cards", "not given, or with servers as many as needed or requests to be served whole",
            "cards of a number of servers, and requests that are caps",
            "Give cards and servers, and partial: true",
        )  # fmt: skip
    refuse_rules(instance, known=("allowed", "cards"))
    clock = Clock(time_limit, report)
    search = CardSearch(instance, clock, rng or np.random.default_rng(0), limits)
    with search.keeping_best():
        empty = np.zeros((0, instance.types), dtype=np.int64)
        search.offer(Placement(empty, empty[:, 0]), "nothing")
        search.offer(start, "the start")
        for route in ROUTES["servers with cards"]:
            if search.open and _NAMES.get(route, "") in {"", *limits.routes}:
                route(search)
    return search.finish({"found_by": search.found_by, "bound_by": search.bound_by})


@dataclass(frozen=True, eq=False)
class Prices:
    """Dual prices of the rows of `cards_program`, as integers over the denominator `over`.

    vm (s,), resource (p, k), card (p,), share (p, z), arrays of Python's integers.
    """

    over: int
    vm: Objects
    resource: Objects
    card: Objects
    share: Objects

    def bound(self, problem: CardPacking) -> int:
        """Upper bound on the card units in use that the prices prove.

        Theorem. A VM of type i on class c is worth no more than its price, and its resources and
        cards at the prices of c. A filling costs no more than a card, so what is on a server of c
        costs no more than the server.
        """
        server = (self.resource * problem.capacity).sum(axis=1) + self.card * problem.cards
        total = sum((self.vm * problem.request).tolist() + (server * problem.servers).tolist())
        return int(total // self.over)


def valid_prices(problem: CardPacking, dual: Floats) -> Prices:
    """Round dual multipliers (rows,) of the program and raise them until they are dual feasible."""
    types, (classes, resources) = len(problem.request), problem.capacity.shape
    values = np.round(OVER * np.maximum(np.nan_to_num(dual, posinf=0.0), 0.0))
    integers = np.array([int(n) for n in values], dtype=object)
    _, *parts = np.split(integers, np.cumsum([types, classes * resources, classes]))
    resource, share = parts[0].reshape(classes, resources), parts[2].reshape(classes, -1)
    # 1. no filling of a card is worth more than a card
    worth = (problem.fillings[:, None] * share[None]).sum(axis=2, initial=0)
    card = np.maximum(parts[1], worth.max(axis=0, initial=0))
    # 2. no VM is worth more than its price and what it takes
    paid = (problem.demand[:, None] * resource[None]).sum(axis=2)
    paid = paid + problem.whole[:, None] * card
    shared = problem.share >= 0
    paid[shared] += share.T[problem.share[shared]]
    lacking = np.where(problem.able, OVER * problem.weight.astype(object)[:, None] - paid, 0)
    return Prices(OVER, lacking.max(axis=1, initial=0), resource, card, share)


def card_packing(
    instance: Packing, limits: CardLimits = LIMITS
) -> tuple[CardPacking, Integers, int]:
    """Aggregated packing of an instance with cards, its types (s,) that take cards and fit, and the
    number of card units in one unit of the program.
    """
    assert instance.cards is not None
    assert instance.card_demand is not None
    assert instance.card_share is not None
    taken = units_taken(instance)
    servers = instance.server_count.astype(np.int64)
    needed = np.where(instance.card_share > 0, 1, instance.card_demand)
    able = instance.rules.allowed & (servers > 0) & (needed[:, None] <= instance.cards)
    able &= (instance.demand[:, None] <= instance.capacity).all(axis=2)
    types = np.flatnonzero((taken > 0) & (instance.requested > 0) & able.any(axis=1))
    most_vms = units_there(instance)  # each takes one at least
    share = instance.card_share[types]
    sizes, grain, table = _listed(
        np.unique(share[share > 0])[::-1], instance.card_units, limits.fillings
    )
    index = {size: z for z, size in enumerate(sizes.tolist())}
    packing = CardPacking(
        demand=instance.demand[types],
        request=np.minimum(instance.requested[types], most_vms).astype(np.int64),
        whole=instance.card_demand[types],
        share=np.array([index.get(n // grain, -1) for n in share.tolist()], dtype=np.int64),
        weight=taken[types],
        able=able[types],
        capacity=instance.capacity,
        cards=instance.cards,
        servers=servers,
        sizes=sizes,
        units=instance.card_units // grain,
        fillings=table,
    )
    return packing, types, grain


def _listed(sizes: Integers, units: int, most: int) -> tuple[Integers, int, Integers]:
    """Sizes of shares in units of `grain`, that unit, and the fillings of a card; while fillings
    are too many, sizes are rounded down, which keeps all feasible fillings.
    """
    grain = math.gcd(*sizes.tolist()) or 1
    while True:
        coarse, room = np.unique(sizes // grain)[::-1], units // grain
        coarse = coarse[coarse > 0]
        if room <= MOST_UNITS and _ways(coarse, room) <= most:
            table = list(fillings(coarse.tolist(), room)) if len(sizes) else []
            return coarse, grain, np.array(table, dtype=np.int64).reshape(len(table), len(coarse))
        grain *= 2


def _ways(sizes: Integers, units: int) -> float:
    """Number of fillings of a card, maximal or not."""
    ways = np.zeros(units + 1)
    ways[0] = 1.0
    for size in sizes.tolist():
        for begin in range(size):
            ways[begin::size] = np.cumsum(ways[begin::size])
    return float(ways.sum())


@dataclass(frozen=True, eq=False)
class Filled:
    """Servers filled with VMs on cards so far, and the arrays and prices for filling them.

    Attributes
    ----------
    arrays : of the kernels.
    goal : (p,) value of a server of each class at the prices.
    count, worth : (n, s) VMs on each server, and (n,) their weight.
    left : (s,) VMs that are on none.
    """

    arrays: Any
    goal: Floats
    count: Integers
    worth: Integers
    left: Integers


class CardSearch(Incumbent[Placement, int]):
    """Search state of `max_gpus`, with incumbent and bound in card units, and its routes.

    Attributes
    ----------
    filled : what `fill_at_prices` leaves for `refill_servers`.
    """

    filled: Filled

    def __init__(
        self,
        instance: Packing,
        clock: Clock,
        rng: np.random.Generator,
        limits: CardLimits = LIMITS,
    ) -> None:
        self.taken, there = units_taken(instance), max(units_there(instance), 1)
        super().__init__(
            instance, clock, lambda best: int(best.totals(instance.types) @ self.taken),
            sense="max", bound=units_there(instance),
            shown=lambda units: float(Fraction(100 * units) / there),
        )  # fmt: skip
        self.instance, self.rng, self.limits = instance, rng, limits
        self.bound_by = "the cards there are"
        self.problem, self.types, self.grain = card_packing(instance, limits)
        self.kind = np.repeat(np.arange(instance.classes), self.problem.servers)

    def relaxed(self, less: float = 0.0) -> tuple[CardsProgram, Prices, Floats | None]:
        """Solve the linear program by classes with a part `less` of each resource taken away;
        return the program, valid prices for the full resources, and its point if there was time.
        """
        room = np.floor(self.problem.capacity * (1 - less)).astype(np.int64)
        built = cards_program(replace(self.problem, capacity=room))
        answer = WarmStartedProgram(built.program).solve(self.clock.left)
        raise_if_interrupted(answer.stop)
        dual = np.zeros(built.program.rows) if answer.row_dual is None else -answer.row_dual
        return built, valid_prices(self.problem, dual), answer.point

    def bound_by_prices(self) -> None:
        """Lower the upper bound on GPUs in use by dual prices of one linear program, rounded to
        integers. Its columns are VMs, and fillings of a GPU, by class of server.
        """
        if not len(self.types):
            self.raise_bound(0, "no VM takes a card")
            return
        _, prices, _ = self.relaxed()
        if self.raise_bound(prices.bound(self.problem), "prices of cards"):
            self.certificate["card_prices"] = self.shown(prices)

    def shown(self, prices: Prices) -> dict[str, Any]:
        """Prices by the instance's own types, classes and share sizes, for the certificate."""
        of_type = [0] * self.instance.types
        for i, price in zip(self.types.tolist(), prices.vm.tolist(), strict=True):
            of_type[i] = price
        place = dict(zip(self.problem.sizes.tolist(), range(len(self.problem.sizes)), strict=True))
        sizes = [place.get(size // self.grain) for size in share_sizes(self.instance)]
        shares = [[0 if z is None else row[z] for z in sizes] for row in prices.share.tolist()]
        return {
            "over": prices.over, "prices": of_type, "rates": prices.resource.tolist(),
            "card": prices.card.tolist(), "shares": shares,
        }  # fmt: skip

    def fill_at_prices(self) -> None:
        """Fill servers card by card with the VMs of least loss, at prices of the relaxation with
        all resources and with a part of each taken away; keep the best filling.
        """
        from .card_kernels import fill_again, fill_server

        limits, maximum = self.limits, -1.0
        for less in (0.0, *limits.less_room):
            if less and self.clock.expired:
                break
            arrays, goal = self._arrays(*self.relaxed(less))
            count = np.zeros((len(self.kind), len(self.types)), dtype=np.int64)
            gains, remaining = np.zeros(len(self.kind), dtype=np.int64), self.problem.request.copy()
            seed = int(self.rng.integers(2**31))
            fill_again(arrays, count, self.kind, gains, goal, remaining, 0, seed)
            for m in self.rng.permutation(len(self.kind)).tolist():
                gains[m] = fill_server(arrays, int(self.kind[m]), remaining, count[m])
            if (score := gains.sum() * (1 if less else limits.clearly)) > maximum:
                self.filled, maximum = Filled(arrays, goal, count, gains, remaining), score
        self._offer(self.filled.count, "servers filled at the prices")

    def refill_servers(self) -> None:
        """Empty a few servers of the incumbent at a time and fill them again."""
        from .card_kernels import fill_again

        limits, state = self.limits, self.filled
        if self.best is not None and self.value > state.worth.sum():
            self._resume()
        vain, offered, total = 0, self.clock.seconds, int(state.worth.sum())
        while total < self.bound and self.open and vain < limits.in_vain * len(self.kind):
            seed = int(self.rng.integers(2**31))
            gained = fill_again(
                state.arrays, state.count, self.kind, state.worth, state.goal, state.left,
                limits.steps, seed,
            )  # fmt: skip
            total, vain = total + gained, 0 if gained else vain + limits.steps
            if total > self.value and self.clock.seconds > offered + limits.pause:
                self._offer(state.count, "servers filled again")
                offered = self.clock.seconds
        self._offer(state.count, "servers filled again")

    def _offer(self, count: Integers, text: str) -> None:
        rows = np.zeros((len(count), self.instance.types), dtype=np.int64)
        rows[:, self.types] = count
        self.offer(Placement(rows, self.kind), text)

    def _resume(self) -> None:
        """Put the incumbent's VMs on the servers that `refill_servers` changes."""
        assert self.best is not None
        count = self.filled.count
        count[:] = 0
        for c in range(self.instance.classes):
            rows = self.best.count[self.best.server_class == c][:, self.types]
            first = int(np.searchsorted(self.kind, c))
            count[first : first + len(rows)] = rows
        self.filled.worth[:] = count @ self.problem.weight
        self.filled.left[:] = self.problem.request - count.sum(axis=0)

    def _arrays(
        self, built: CardsProgram, prices: Prices, point: Floats | None
    ) -> tuple[Any, Floats]:
        """Arrays of cards and VMs for the kernels, and the value of a server of each class at the
        prices.
        """
        from .card_kernels import CardArrays

        problem, over = self.problem, float(prices.over)
        vm, resource, card, share = (
            np.array(part, dtype=float) / over
            for part in (prices.vm, prices.resource, prices.card, prices.share)
        )
        share = share.reshape(len(card), -1)
        shared = problem.share >= 0
        loss = vm[:, None] + problem.demand @ resource.T + problem.whole[:, None] * card
        loss[shared] += share.T[problem.share[shared]]
        waste = card[:, None] - share @ problem.fillings.T
        order = np.argsort(waste, axis=1, kind="stable")
        number = max(order.shape[1], 1)
        drawn = np.zeros((len(card), number)) if point is None else point[built.filling]
        likely = np.zeros((len(card), 1000), dtype=np.int64)
        for c, each in enumerate(np.maximum(drawn, 0.0)):
            if not each.any():
                likely[c] = order[c, np.arange(1000) % min(30, number)] if order.size else 0
            else:
                ends = np.cumsum(each) / each.sum()
                likely[c] = np.searchsorted(ends[:-1], (np.arange(1000) + 0.5) / 1000)
        units = np.asarray(self.instance.card_share)[self.types]
        group = np.where(units > 0, np.where(shared, problem.share, len(problem.sizes)), -1)
        groups = [np.flatnonzero(group == z) for z in range(len(problem.sizes) + 1)]
        return CardArrays(
            demand=problem.demand, whole=problem.whole, share=units, weight=problem.weight,
            able=problem.able, capacity=problem.capacity, cards=problem.cards,
            units=self.instance.card_units,
            most_shares=min(
                self.instance.card_units // min(units[units > 0].tolist(), default=1),
                int(problem.request.sum()),
            ),
            alone=np.flatnonzero(problem.whole > 0),
            least_share=np.array([units[z].min(initial=self.instance.card_units) for z in groups]),
            start=np.cumsum([0, *map(len, groups)]), sharing=np.concatenate(groups),
            fillings=problem.fillings, loss=np.maximum(loss - problem.weight[:, None], 0.0),
            waste=waste, order=order, likely=likely, price=share,
            noise=self.limits.noise * self.instance.card_units, spread=self.limits.spread,
            draws=self.limits.draws, tries=self.limits.tries, together=self.limits.together,
        ), (resource * problem.capacity).sum(axis=1) + card * problem.cards  # fmt: skip

    def solve_by_servers(self) -> None:
        """Solve the integer program in which every server is a class of its own.

        Its point is an answer, unless shares were rounded down. Its bound counts where a tree of
        cases in integers proves it: in floats, large amounts hide feasible points.
        """
        problem, kind = in_least_units(self.problem), self.kind
        columns = len(kind) * (len(self.types) + len(problem.fillings))
        if columns > self.limits.columns:
            return
        alone = replace(
            problem, able=problem.able[:, kind], capacity=problem.capacity[kind],
            cards=problem.cards[kind], servers=np.ones_like(kind),
        )  # fmt: skip
        built = cards_program(alone, integer=True)
        left = self.clock.left
        seconds = self.limits.seconds if left is None else left
        answer = solve_program(built.program, time_limit=seconds)
        raise_if_interrupted(answer.stop)
        if answer.point is not None:
            count = np.where(built.count >= 0, answer.point[np.maximum(built.count, 0)], 0.0)
            self._offer(np.round(count.T).astype(np.int64), "the program by servers")
        if answer.bound is not None:
            most = max(math.floor(-answer.bound + 1e-6), self.value)
            if most < self.bound and (tree := self._tree(most)) is not None:
                self.certificate["card_tree"] = {"above": most, **tree}
                self.raise_bound(most, "the program by servers, proved by a tree of cases")

    def _tree(self, most: int) -> dict[str, Any] | None:
        """Tree of cases which proves that no answer allocates more units, in the form of a proof;
        None if there is none or it exceeds the verifier's limits.
        """
        if "tree" not in self.limits.routes:
            return None
        text = json.dumps(self.instance.document()).encode()
        case = ProofCase(parse(text, decimals=True), {}, None, [])
        try:
            with patience():
                program = cards_tree_program(CheckedPacking(case, ruled=True), most)
        except Refused:
            return None
        return tree_step(program, program.rows.pop(), self.clock)


def in_least_units(problem: CardPacking) -> CardPacking:
    """Rewrite a problem with each resource in the greatest common divisor of the demands;
    capacities are rounded down, which keeps all answers.
    """
    unit = np.maximum(np.gcd.reduce(problem.demand, axis=0), 1)
    return replace(problem, demand=problem.demand // unit, capacity=problem.capacity // unit)


ROUTES: dict[str, tuple[Callable[[CardSearch], None], ...]] = {
    "servers with cards": (
        CardSearch.bound_by_prices, CardSearch.fill_at_prices, CardSearch.refill_servers,
        CardSearch.solve_by_servers,
    )
}  # fmt: skip
"""The routes of `max_gpus`, in the order in which they run while value and bound differ."""

_NAMES: dict[Callable[[CardSearch], None], str] = {
    CardSearch.refill_servers: "fillings again", CardSearch.solve_by_servers: "servers",
}  # fmt: skip
"""Of those that can be left out."""
