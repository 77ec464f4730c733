"""Proofs for packing: prices of VMs, and trees over the remaining fillings or, with placement
rules, over programs of servers and VMs by class.

What prices prove, and a tree besides, stands above `priced` in the verifier. The programs are the
verifier's own, `servers_program` and `moves_program`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from ...instances.packing.game import FairShare
from ...instances.packing.instance import Integers, Packing, Placement, fits
from ...instances.problem.proof import Level, Proof
from ...models.packing.dominant_shares import utilization_program
from ...verify.frame import ProofCase
from ...verify.packing import Packing as CheckedPacking
from ...verify.packing_prices import Priced
from ...verify.packing_servers import Kinds, moves_program, servers_program
from ...verify.packing_shares import Shares
from ...verify.program import Program
from ...verify.reading import Refused, parse
from ..engines import WarmStartedProgram
from ..outcome import Clock, Status, Stop
from ..packing.aggregate import aggregate_bound
from ..packing.cards import CardSearch
from ..packing.dominant_shares import maximal_combinations
from ..packing.fixed_servers import fixed_cluster
from ..packing.gap_closing import useful_fillings
from ..packing.generation import Prices, generate, prices_of
from ..packing.moves import moves_bound
from ..packing.patterns import Pool, price_patterns, surrogate_mix
from ..packing.presolve import UNLIMITED, Reduced, presolve
from ..packing.services import ServiceCover
from . import Claimed, Task, checked_proof, claimed_if_refused, patience, strongest_proof
from .filling_tree import hints_of, refuted, sums_of
from .rounding import on_grid, option, over_common
from .tree import propagation_steps

SCALES = tuple(10**digits for digits in (3, 4, 5, 6, 8, 10))
"""What a server of cost 1 may be worth: the coarsest prices that prove the bound are taken."""

TINY = 1e-6
"""What prices in floats may be below whole ones."""

MOST_FILLINGS = 6_000

WEIGHED = 10**6
"""The largest weight of a resource."""

NODES = 3_000_000
"""Of a search for fillings: what the verifier, in plain Python, would not finish is not begun."""

MARGIN = Fraction(1, 20)
"""Prices are lowered until they prove their bound by this part of what they could: the search is
shorter.
"""

FEW_COUNTS = 1_500
"""Servers times types up to which servers are distinguished in a program."""

MOST_NODES = 4_000
"""Cases of a tree after which it is given up."""

Steps = tuple[dict[str, Any], ...]


def cheapest(task: Task) -> Proof:
    """Proof of `min-servers`, `cp-sat` and `min-cost`: prices of VMs, and a tree over the remaining
    fillings.
    """
    costs, infeasible = task.method == "min-cost", task.outcome.status is Status.INFEASIBLE
    claimed = math.ceil((task.outcome.bound or 0) - 1e-6)
    if task.instance.services:
        steps = _services(task, claimed, costs=costs)
    elif task.instance.has_constraints:
        steps = servers_steps(task, None if infeasible else claimed, costs=costs)
    else:
        problem = presolve(task.instance, costs=costs)
        if infeasible:
            step = no_answer(problem, task.clock)
        else:
            shown = checked_proof(task, ()).levels[0].value
            step = _by_volume(problem, claimed) or bounded(
                problem, claimed, int(shown or claimed), task.clock, costs=costs,
                stored=_stored(problem, task.outcome.certificate),
            )  # fmt: skip
        steps = (step,) if step else ()
    proof = checked_proof(task, steps)
    if infeasible and not proof.levels[0].infeasible:
        raise Claimed("that the servers are too few is not proved by prices or a tree")
    return proof


def _services(task: Task, claimed: int, *, costs: bool) -> Steps:
    """Steps by the coarsest dual prices that prove the claim; else a tree, or the best prices."""
    below = None if task.outcome.status is Status.INFEASIBLE else claimed
    best: Prices | None = None
    if below is not None:
        cover = ServiceCover(task.instance, costs=costs)
        every = list(cover.prices(task.clock))
        for scale, price in ((scale, price) for scale in SCALES for price in reversed(every)):
            prices = cover.proved(np.floor(price * scale + TINY).astype(np.int64), scale)
            best = prices if best is None or prices.value > best.value else best
            if best.value > claimed - 1:
                return (step_of(cover.problem, best),)
    with claimed_if_refused():
        given = CheckedPacking(task.case({}, []), ruled=True)
        program, _ = servers_program(
            given, given.cost if costs else [1] * len(given.room), below, {}
        )
    last = program.rows.pop() if below is not None else None
    fields = {} if below is None else {"below": below}
    tree = tuple(propagation_steps(program, last, task.clock, None, MOST_NODES, **fields))
    return tree or (() if best is None else (step_of(cover.problem, best),))


def max_min_share(task: Task) -> Proof:
    """Proof of `max-min-share`: prices for the least share, and trees for later levels as far as
    time allows.
    """
    given, solution = task.instance, task.outcome.solution
    if not isinstance(solution, Placement):
        raise Claimed("no placement was found")
    unit = FairShare.of(given).unit
    total = solution.totals(given.types).tolist()
    users = np.flatnonzero(given.requested > 0).tolist()
    share = min(total[i] * unit[i] for i in users)
    # the fewest VMs of each user with more than the least share do not fit together
    owed = [math.floor(share / unit[i]) + 1 if i in users else 0 for i in range(given.types)]
    step: dict[str, Any] = {"kind": "share", "above": option(share)}
    if not any(owed[i] > given.requested[i] for i in users):
        wanted = given.replace(request=np.array(owed, dtype=float), partial=False)
        prices = no_answer(presolve(wanted), task.clock)
        steps = () if prices is None else ({**step, "prices": prices},)
    else:
        steps = (step,)
    with claimed_if_refused():
        proof = checked_proof(task, steps)
    levels = list(proof.levels)
    count = len(task.outcome.certificate.get("levels", [])) if proof.complete else 1
    shares = Shares(CheckedPacking(task.case({}, [])))
    for level in range(1, count):
        try:
            with patience():
                program = shares.program(level)
        except Refused:  # so many fillings that the verifier would not list them
            break
        tree = propagation_steps(program, None, task.clock)
        if not tree:
            break
        best = shares.order[level]
        levels.append(Level("dominant_share", "max", best, best, tuple(tree)))
    return replace(proof, levels=tuple(levels))


def max_utilization(task: Task) -> Proof:
    """Proof of packing's `max-utilization`: multipliers of the program over maximal
    combinations.
    """
    solution = task.outcome.solution
    if task.options.get("least_share"):
        raise Claimed("that every user has a least share is not part of the proof")
    if not isinstance(solution, Placement):
        raise Claimed("no placement was found")
    return strongest_proof(task, [(), *_utilization_steps(task)])


def _utilization_steps(task: Task) -> list[list[dict[str, Any]]]:
    """Proof steps on utilization: dual prices as coarse, then finer integers; [] without time."""
    given: Packing = task.instance
    servers = given.server_count.astype(np.int64)
    tables = maximal_combinations(given, fixed_cluster(given), task.clock)
    if isinstance(tables, Stop):
        return []
    space = (given.initial_capacity * servers[:, None]).sum(axis=0)
    there = np.flatnonzero(space).tolist()
    exact = [
        sum((Fraction(int(row[j]), int(space[j]) * len(there)) for j in there), Fraction(0))
        for row in given.demand
    ]
    weight, _ = over_common(exact)
    shares = np.array([float(part / max(exact)) for part in exact])
    nobody = np.zeros(given.types, dtype=np.int64)
    program, _ = utilization_program(tables, servers, given.requested, shares, nobody)
    relaxed = replace(program, integer=np.zeros_like(program.integer))
    answer = WarmStartedProgram(relaxed).solve(task.clock.left)
    if answer.row_dual is None:
        return []
    dual = np.maximum(answer.row_dual[given.classes :][: given.types], 0.0) * max(weight)
    steps = []
    for over in (1, 2, 6, 60, 10**6):
        prices = on_grid(dual, over)
        free = zip(prices, weight, given.unbounded, strict=True)
        prices = [max(y, w * over) if endless else y for y, w, endless in free]
        price_array = np.array(prices, dtype=object)
        step = {
            "kind": "prices",
            "prices": prices,
            "over": over,
            "rents": [int((table.astype(object) @ price_array).max(initial=0)) for table in tables],
            "weights": [
                [WEIGHED * max(row) // r if r else 0 for r in row]
                for row in given.capacity.tolist()
            ],
        }
        steps.append([step])
    return steps


def max_gpus(task: Task) -> Proof:
    """Proof of `max-gpus`: prices of VMs, and of resources, cards and shares by class; and a tree
    of cases if the method found one.
    """
    step = task.outcome.certificate.get("card_prices")
    if step is None:
        search = CardSearch(task.instance, task.clock, np.random.default_rng(0))
        step = search.shown(search.relaxed()[1])
    steps = [{"kind": "prices", **step}]
    if (tree := task.outcome.certificate.get("card_tree")) is not None:
        steps.append({"kind": "propagation", **tree})
    return strongest_proof(task, [steps])


def _by_volume(problem: Reduced, claimed: int) -> dict[str, Any] | None:
    """Step whose prices are the VMs' use of one resource, if they prove the bound; else None."""
    for j, size in enumerate(problem.demand.T):
        room = problem.capacity[:, j].tolist()
        prices = prices_of(problem, size, room, 1)
        if prices.value > claimed - 1:
            alone = np.zeros_like(problem.capacity)
            alone[:, j] = WEIGHED
            return step_of(problem, prices, alone)
    return None


def _stored(problem: Reduced, certificate: Mapping[str, Any]) -> Prices | None:
    """Dual prices of VMs in a method's certificate, with their bound; None without any."""
    if not {"prices", "scale", "rent"} <= certificate.keys():
        return None
    profit = np.array([certificate["prices"][group[0]] for group in problem.members])
    rent = tuple(int(certificate["rent"][c]) for c in problem.classes)
    scale, income = int(certificate["scale"]), sum(map(int, profit * problem.request))
    paid = sum(r * int(n) for r, n in zip(rent, problem.servers, strict=True) if r)
    return Prices(profit, scale, rent, Fraction(income - paid, scale))


def bounded(
    problem: Reduced, claimed: int, upper: int, clock: Clock, *, costs: bool,
    stored: Prices | None = None,
) -> dict[str, Any] | None:  # fmt: skip
    """Step that proves a bound on the cost of servers: the reported one, or a better one up to
    `upper`.

    As near to it as can be, where they do not; None for nothing. Prices that are `stored` save the
    search for them, where they prove it.
    """
    prices, cost = stored, claimed
    if prices is None or prices.value <= claimed - 1:
        relaxation = generate(problem, Pool(problem.types), clock, upper=max(claimed, upper))
        prices, cost = relaxation.prices, min(max(claimed, relaxation.bound), max(claimed, upper))
    if prices.value > cost - 1:
        share = (cost - 1 + MARGIN * (prices.value - cost + 1)) / prices.value
        for scale in SCALES:
            coarse = coarser(problem, prices, scale, share)
            if coarse.value > cost - 1:
                return step_of(problem, coarse)
    coarse = coarser(problem, prices, 10**6)
    step = None if clock.expired else _tree(problem, coarse, cost - 1, clock, costs=costs)
    return step or (step_of(problem, coarse) if coarse.value > 0 else None)


def no_answer(problem: Reduced, clock: Clock) -> dict[str, Any] | None:
    """Proof step that there are too few servers; None if no prices or tree show it.

    Types that fit servers without limit cannot be the reason. Of the others, what would cost more
    than all servers there are at prices, a scale and rents is impossible at the same prices, the
    scale 0, and rents that are higher by it.
    """
    endless = problem.servers >= UNLIMITED
    limited = ~fits(problem.demand, problem.capacity[endless]).any(axis=1)
    if not limited.any():
        return None
    types = np.flatnonzero(limited)
    part = problem.part(types, problem.request[types], np.flatnonzero(~endless))
    part = replace(part, price=np.ones_like(part.price))
    if len(part.price) == 0:
        return None
    prices = generate(part, Pool(part.types), clock, upper=None).prices
    for scale in SCALES:
        coarse = coarser(part, prices, scale)
        if coarse.value > int(part.servers.sum()):
            return step_of(part, _without_scale(coarse))
    rented = _without_scale(coarser(part, prices, 10**6))
    return None if clock.expired else _tree(part, rented, None, clock, costs=False)


def coarser(problem: Reduced, prices: Prices, scale: int, share: Fraction = Fraction(1)) -> Prices:
    """Multiply the prices of VMs by `share`, round them down to integers over `scale` (at least 1),
    and compute the exact bound that they prove.
    """
    profit = np.array(
        [max(1, int(int(price) * share * scale / prices.scale)) for price in prices.profit]
    )
    tops = [
        price_patterns(problem, c, profit, scale * int(cost), nodes=NODES).best
        for c, cost in enumerate(problem.price)
    ]
    return prices_of(problem, profit, tops, scale)


def _without_scale(prices: Prices) -> Prices:
    return replace(prices, scale=0, rent=tuple(rent + prices.scale for rent in prices.rent))


def _tree(
    problem: Reduced, prices: Prices, target: int | None, clock: Clock, *, costs: bool
) -> dict[str, Any] | None:
    """Proof step with prices and a tree over the remaining fillings that no answer costs at most
    `target`; None without one.
    """
    given = useful_fillings(problem, prices, target, most=MOST_FILLINGS, nodes=NODES)
    if given is None:
        return None
    order = np.argsort([min(members) for members in problem.members])  # as the verifier meets them
    given = replace(given, table=given.table[:, order], request=given.request[order])
    tree = refuted(given, clock)
    if tree is None:
        return None
    text = json.dumps(problem.instance.document()).encode()
    checked = CheckedPacking(ProofCase(parse(text, decimals=True), {}, None, []))
    cost = checked.cost if costs else [1] * len(checked.room)
    step = {**step_of(problem, prices), "sums": sums_of(tree)}
    step |= {} if target is None else {"target": target}
    owed = [int(number or 0) for number in checked.request]
    try:
        with patience():
            return {**step, **hints_of(tree, step["sums"], Priced(checked, owed, cost, step))}
    except Refused:  # longer than the verifier has patience for
        return None


def step_of(problem: Reduced, prices: Prices, heavy: Integers | None = None) -> dict[str, Any]:
    """Step with prices and rents of the instance's own types and classes, and resource weights (p,
    k) that shorten the verifier's search.
    """
    given = problem.instance
    of_type, of_class = [0] * given.types, [0] * given.classes
    for price, members in zip(prices.profit.tolist(), problem.members, strict=True):
        for member in members:
            of_type[member] = price
    weights = np.zeros((given.classes, given.capacity.shape[1]), dtype=np.int64)
    for k, c in enumerate(problem.classes):
        of_class[c] = int(prices.rent[k])
        if heavy is not None:
            weights[c] = heavy[k]
            continue
        _, mix, _, _ = surrogate_mix(problem, k, prices.profit)
        own = problem.capacity[k] > 0
        part = mix / problem.capacity[k][own]
        weights[c, own] = np.round(part / part.max() * WEIGHED).astype(np.int64)
    step = {"kind": "prices", "prices": of_type, "scale": prices.scale, "rents": of_class}
    return {**step, "weights": weights.tolist()}


def servers_steps(task: Task, claimed: int | None, *, costs: bool) -> Steps:
    """Tree which proves that no answer costs less than the reported one, or that there is no
    answer.
    """
    given = _given(task)
    cost = given.cost if costs else [1] * len(given.room)

    def tree(below: int | None, head: dict[str, Any]) -> Steps:
        return _propagation(task, servers_program(given, cost, below, head), below, head)

    def weaker_bound() -> int:
        problem = presolve(task.instance, costs=costs)
        return aggregate_bound(
            problem, task.clock, upper=claimed, seconds=task.clock.time_slice(2)
        ).bound

    return _best_tree(task, given, tree, claimed, weaker_bound)


def fewest_moves(task: Task) -> Proof:
    """Proof of `fewest-moves` with its number of servers, or within the given limits."""
    given, outcome = _given(task), task.outcome
    stated = outcome.certificate
    options: dict[str, Any] = {
        name: int(stated[name]) for name in ("servers", "cost") if name in stated
    }
    infeasible = outcome.status is Status.INFEASIBLE
    steps: Steps = ()
    if outcome.solution is not None:
        steps = ({"kind": "witness", "on": list(map(int, outcome.certificate["on"]))},)
    claimed = 0 if outcome.bound is None else math.ceil(outcome.bound - 1e-6)

    def tree(below: int | None, head: dict[str, Any]) -> Steps:
        return _propagation(task, moves_program(given, options, below, head), below, head)

    def weaker_bound() -> int:
        limits = {"servers": None, **options}
        return moves_bound(task.instance, seconds=task.clock.time_slice(2), **limits)

    if claimed > 0 or infeasible:
        steps += _best_tree(task, given, tree, None if infeasible else claimed, weaker_bound)
    proof = checked_proof(task, steps, options=options)
    if infeasible and not proof.levels[0].infeasible:
        raise Claimed("that the servers are too few, or too dear, is not proved by a tree")
    return proof


def _given(task: Task) -> CheckedPacking:
    with claimed_if_refused():
        return CheckedPacking(task.case({}, []), ruled=True)


def _best_tree(
    task: Task,
    given: CheckedPacking,
    tree: Callable[[int | None, dict[str, Any]], Steps],
    claimed: int | None,
    weaker_bound: Callable[[], int],
) -> Steps:
    """Proof steps with the first tree that proves the claimed bound: over server classes, else over
    single servers if these are few. Else the tree proves the weaker bound of the aggregate program.
    """
    steps, weaker = Steps(), Steps()
    with suppress(KeyboardInterrupt):  # what there is by then is proved
        if steps := tree(claimed, {}):
            return steps
        if claimed is not None and not task.clock.expired:
            bound = weaker_bound()
            weaker = tree(bound, {}) if 0 < bound < claimed else ()
        vms = sum(int(number or 0) for number in given.request)
        servers = sum(vms if number is None else number for number in given.servers)
        if servers * len(given.size) <= FEW_COUNTS and not task.clock.expired:
            steps = tree(claimed, {"each": True})
    return steps or weaker


def _propagation(
    task: Task, built: tuple[Program, Kinds], below: int | None, head: dict[str, Any]
) -> Steps:
    program, kinds = built
    last = program.rows.pop() if below is not None else None
    at = None if "each" in head else [used for _, used, _ in kinds]
    fields = head | ({} if below is None else {"below": below})
    return tuple(propagation_steps(program, last, task.clock, at, MOST_NODES, **fields))
