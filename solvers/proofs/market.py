"""Proofs for markets, by fractional cores within capacities and the fewest decimals that prove
enough: equilibria, and tangents of concave objectives with, for integer cores, the gain of the last
core or a tree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np

from ...instances.market.instance import Floats, ratio
from ...instances.market.utility import best_reply, user_utilities
from ...instances.problem.proof import Level, Proof, multipliers
from ...verify.market import Market
from ...verify.reading import Refused, scaled
from ..market.utilitarian import weighted_optimum
from . import Claimed, Task, checked_proof
from .nash_tree import nash_tree
from .rounding import on_grid

FULL = 1e-9
"""A server that gives all its cores but for this fraction is meant to give all of them."""

ATTEMPTS = ((10, False), (10, True), (13, False), (13, True), (16, False), (16, True))
"""Decimals of cores, and whether tangents get points of their own: the first that proves enough
makes the smallest file.
"""

ENOUGH = 5e-10
"""A gap, relative to the value, that is not worth more digits, nor points of their own for the
tangents.
"""

RESIDUAL = 1e-9
"""A residual of an equilibrium that is not worth more digits."""


def equilibrium(task: Task) -> Proof:
    """Proof of `fisher`; its three residuals are defined in `verify.market_equilibrium`."""
    solution: Any = task.outcome.solution
    if task.options.get("rounding", "none") != "none":
        raise Claimed("an equilibrium in whole cores is none; leave rounding at none")
    if solution is None or solution.price is None:
        raise Claimed("there are no prices")
    # Cores that nobody has a use for beyond a sliver are free: the verifier refuses only what would
    # be of use.
    market = task.instance
    moving = market.useful & (market.parallel_fraction > 0)
    wanted = np.bincount(market.server[moving], minlength=market.servers) > 0
    price = np.where(wanted, solution.price, 0.0)
    least = price[price > 0].min(initial=1.0)

    def attempt(digits: int, own: bool) -> Proof:
        per = 10 ** max(0, digits + 2 - int(np.floor(np.log10(least))))
        cores = fractional_cores(task, solution.cores, digits)
        step: dict[str, Any] = {"kind": "equilibrium"}
        if own:  # tangents where nobody would change anything at these prices
            step["at"] = points(best_reply(market, price).amount, cores["over"])
        witness = {"cores": cores, "price": multipliers(on_grid(price, per), per)}
        return checked_proof(task, [step], witness=witness)

    return best_attempt(task, attempt, lambda level: float(level.value or 0), RESIDUAL)


def utilitarian(task: Task) -> Proof:
    """Proof of `utilitarian`: cores with equal marginal utilities, or integer cores by the gain of
    the last core.
    """
    if not task.options.get("whole"):
        return _tangents(task, {})
    witness = {"cores": multipliers(on_grid(_cores(task), 1), 1)}
    options = {"whole": True}
    return checked_proof(task, [{"kind": "dual"}], options=options, witness=witness)


def nash_welfare(task: Task) -> Proof:
    """Proof of `nash-welfare` with Amdahl or linear utilities; for integer cores the bound of
    fractional ones.
    """
    utility = task.options.get("utility", "amdahl")
    if utility not in ("amdahl", "linear"):
        raise Claimed(f"logarithms of {utility} utilities are not proved as a file")
    options: dict[str, Any] = {} if utility == "amdahl" else {"utility": utility}
    options |= {"whole": True} if task.options.get("whole") else {}
    proof = _tangents(task, options, own_points=utility == "amdahl")
    if not options.get("whole"):
        return proof
    case = task.case(options, [])
    case.witness = proof.witness
    nodes = nash_tree(task, Market(case))
    if nodes is None:
        return proof
    step = {"kind": "tree", "nodes": nodes}
    other = checked_proof(task, [step], options=options, witness=proof.witness)
    return other if _gap(other.levels[0]) < _gap(proof.levels[0]) else proof


def _tangents(task: Task, options: dict[str, Any], own_points: bool = False) -> Proof:
    """Proof by tangents at the cores or, with `own_points`, also at the optimum for weights budget
    / utility of the users, where the verifier's bound is tightest.
    """
    cores, given = _cores(task), task.instance

    def attempt(digits: int, own: bool) -> Proof:
        whole = multipliers(on_grid(cores, 1), 1) if options.get("whole") else None
        witness = {"cores": whole or fractional_cores(task, cores, digits)}
        step: dict[str, Any] = {"kind": "tangent"}
        if own:
            weight = ratio(given.budget, user_utilities(given, cores))
            step["at"] = points(weighted_optimum(given, weight[given.user])[0], 10**digits)
        return checked_proof(task, [step], options=options, witness=witness)

    attempts = [(digits, own) for digits, own in ATTEMPTS if own_points or not own]
    return best_attempt(task, attempt, _gap, ENOUGH, attempts)


def _cores(task: Task) -> Floats:
    solution: Any = task.outcome.solution
    if solution is None:
        raise Claimed("there is no answer")
    cores: Floats = solution.cores
    return cores


def _gap(level: Level) -> float:
    if level.value is None or level.bound is None:
        return np.inf
    gap = (level.bound - level.value) / (abs(level.value) or 1)
    return float(min(gap, Fraction(10**9)))


def fractional_cores(task: Task, cores: Floats, digits: int) -> dict[str, Any]:
    """Cores (k,) with at most `digits` decimals (more on servers smaller than a core), within
    capacities.

    What rounding leaves over on a server that is meant to be full, or takes too much, its largest
    job gets or gives.
    """
    market = task.instance
    digits += max(0, -int(np.floor(np.log10(market.capacity.min()))))
    over = 10**digits
    numbers = on_grid(np.maximum(cores, 0.0), over)
    for job in np.flatnonzero(market.useful & (cores > 0)).tolist():
        numbers[job] = max(1, numbers[job])  # a sliver may be all that a job with f near 0 needs
    written, unit = scaled(list(task.document["capacity"]), "capacity")  # type: ignore[call-overload]
    given, largest = [0] * market.servers, [-1] * market.servers
    for job, server in enumerate(market.server.tolist()):
        given[server] += numbers[job]
        if largest[server] < 0 or numbers[job] > numbers[largest[server]]:
            largest[server] = job
    for server, job in enumerate(largest):
        most = Fraction((written[server] or 0) * over, unit)
        left = int(most // 1) - given[server]
        if job >= 0 and numbers[job] and (left < 0 or left <= FULL * most):
            numbers[job] = max(0, numbers[job] + left)
    return multipliers(numbers, over)


def best_attempt(
    task: Task,
    attempt: Callable[[int, bool], Proof],
    error: Callable[[Level], float],
    enough: float,
    attempts: Iterable[tuple[int, bool]] = ATTEMPTS,
) -> Proof:
    """First attempted proof with an error of at most `enough`, else that of about the least."""
    best: Proof | None = None
    with suppress(KeyboardInterrupt):  # the best by then
        for digits, own in attempts:
            try:
                proof = attempt(digits, own)
            except Refused:  # numbers beyond all measure, before there are enough decimals
                continue
            if best is None or error(proof.levels[0]) < error(best.levels[0]) / 2:
                best = proof
            if error(proof.levels[0]) <= enough or task.clock.expired:
                break
    if best is None:
        raise Claimed("numbers so unequal, or so little time, allow no fractions that prove")
    return best


def points(cores: Floats, over: int) -> dict[str, Any]:
    """Tangent points near given cores: integers over `over`, at least 1."""
    return multipliers([max(1, number) for number in on_grid(cores, over)], over)
