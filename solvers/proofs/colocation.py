"""Proofs of colocation results, with the steps of the verifier's colocation files."""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from ...instances.colocation.objective import agent_penalties
from ...instances.problem.proof import Level, Proof
from ...instances.problem.proof import multipliers as proof_multipliers
from ...models.colocation import fair_program
from ...verify.colocation import Colocation as CheckedColocation
from ...verify.colocation import no_pairing
from ...verify.colocation_fair import bandwidths, colocation_fair, slack_program
from ...verify.colocation_stable import Gains, stable_program
from ...verify.program import Program, Terms
from ...verify.reading import Refused
from ..colocation.feasible import feasible_pairing
from ..colocation.matching import Multipliers, least_penalty_matching, multipliers
from ..colocation.to_roommates import lists_of_agents
from ..engines import WarmStartedProgram
from ..outcome import Clock, Status
from ..roommates.arrays import UNRANKED
from . import Claimed, Task, checked_proof, patience
from .deletions import deletions_step
from .rounding import on_grid, option
from .tree import propagation_steps, relaxed_bound

if TYPE_CHECKING:
    from ...instances.colocation.instance import Colocation, Floats, Pairing
    from ..roommates.partition import Goal

MOST_FEW = 30
"""Blocking pairs up to which a tree over types is looked for."""

MOST_FLAGS = 200_000
"""Types x types x blocking pairs up to which that is done: beyond, the program alone takes long."""

MOST_TYPES = 40
"""Types up to which a tree over slack is looked for."""

BEYOND = 10.0
"""Seconds for showing that more blocking pairs are needed than the method knew."""

GRID = 10**6
"""Parts of the last decimal of the instance in which multipliers are written: far finer than what a
bound is rounded up by.
"""


def stable(task: Task) -> Proof:
    """Proof of `stable`: a pairing without blocking pairs proves itself; for different agents, a
    tree of stable partitions.
    """
    if task.outcome.solution is None:
        return _no_pairing(task)
    if task.options.get("uncertainty", "none") != "none":
        raise Claimed("what holds within intervals of penalties is not proved as a file")
    options: dict[str, Any] = {}
    if task.options.get("alpha"):
        options["alpha"] = option(task.options["alpha"])
        options["alpha_mode"] = task.options.get("alpha_mode", "penalty-points")
    given = CheckedColocation(task.case({}, []))
    gains = Gains(given, options)
    steps: list[list[dict[str, Any]]] = [[], []]
    value = int(gains.blocking() or 0)
    objective = task.options.get("objective", "pairs")
    with suppress(KeyboardInterrupt):  # what there is by then proves a gap
        steps[0] = [{"kind": "witness"}] if value == 0 else _few_blocking(task)
        if value > 0 and not steps[0]:
            steps[0] = _too_few(task, given, gains, value)
        if value <= MOST_FEW and objective == "pairs":
            steps[1] = _cheap_among_few(task, given, gains, value)
        if not any(step["below"] == _cost(given) for step in steps[1]):
            steps[1] += _least_mean(task, given)
    method = "" if objective == "pairs" else f"stable-{objective}"
    return checked_proof(task, *steps, method=method, options=options)


def egalitarian(task: Task) -> Proof:
    """Proof of `egalitarian`, made as that of `stable`."""
    _require_stable(task)
    return stable(task)


def minimum_regret(task: Task) -> Proof:
    """Proof of `minimum-regret`: a stable partition of the lists truncated before the largest
    penalty.
    """
    _require_stable(task)
    instance, answer = task.instance, cast("Pairing", task.outcome.solution)
    _, borne, _ = agent_penalties(instance, answer)
    kept = instance.allowed & (instance.penalty < borne.max())
    lists = lists_of_agents(instance)
    step = None
    if lists is not None and lists.strict and not answer.single.any():
        rank = np.where(kept & kept.T, lists.place, UNRANKED).astype(np.int32)
        step = deletions_step(rank, "perfect", 1, task.clock)
    return checked_proof(task, [{"kind": "witness"}], [] if step is None else [step])


def _require_stable(task: Task) -> None:
    if task.outcome.solution is None:
        raise Claimed("that no pairing is stable is proved of the method stable: one blocking pair")


def _too_few(
    task: Task, given: CheckedColocation, gains: Gains, value: int
) -> list[dict[str, Any]]:
    """Steps which prove that each number of blocking pairs from 0 on is impossible, at least up to
    the method's claim.
    """

    def never(few: int, clock: Clock) -> list[dict[str, Any]]:
        built = _program(given, gains, few)
        return [] if built is None else propagation_steps(built[0], None, clock, few=few)

    claimed = min(int(task.outcome.bound or 0), MOST_FEW + 1)
    steps = never(claimed - 1, Clock(task.clock.time_slice(2))) if claimed > 1 else []
    beyond = Clock(task.clock.time_slice(2, BEYOND))
    for few in range(claimed if steps else 0, min(value, MOST_FEW + 1)):
        further = never(few, task.clock if few < claimed else beyond)
        if not further:
            break
        steps = further
    return steps


def _program(given: CheckedColocation, gains: Gains, few: int) -> tuple[Program, Terms] | None:
    """Constraints of pairings with at most `few` blocking pairs; None if too large."""
    agents = few == 0 and all(number == 1 for number in given.count)  # then few pairs are left
    if not agents and given.size**2 * (few + 1) > MOST_FLAGS:
        return None
    try:
        with patience():
            return stable_program(given, gains, few)
    except Refused:
        return None


def _cost(given: CheckedColocation) -> int:
    """Sum of the penalties in the answer, as an integer in units of the instance's last decimal."""
    mean = given.mean()
    assert mean is not None
    return int(mean * given.unit * given.agents)


def _cheap_among_few(
    task: Task, given: CheckedColocation, gains: Gains, few: int
) -> list[dict[str, Any]]:
    """Proof steps that no pairing with at most `few` blocking pairs is cheaper than the answer. If
    that is not proved in time, they prove that none is cheaper than the bound of the relaxation.
    """

    def dearer(below: int, clock: Clock) -> list[dict[str, Any]]:
        built = _program(given, gains, few)
        if built is None:
            return []
        return propagation_steps(built[0], (built[1], below - 1), clock, below=below)

    steps = dearer(_cost(given), Clock(task.clock.time_slice(1.5)))
    if not steps and not task.clock.expired:
        built = _program(given, gains, few)
        least = None if built is None else relaxed_bound(*built, task.clock)
        steps = [] if least is None else dearer(least, task.clock)
    return steps


def _few_blocking(task: Task) -> list[dict[str, Any]]:
    """Steps which prove that fewer blocking pairs are impossible, for different agents with strict
    lists.
    """
    instance: Colocation = task.instance
    if not instance.distinct:
        return []
    alpha, mode = task.options.get("alpha", 0.0), task.options.get("alpha_mode", "penalty-points")
    lists = lists_of_agents(instance, alpha, mode)
    if lists is None or not lists.strict:
        return []
    goal: Goal = "perfect" if instance.unpaired is None else "any"
    least = int(task.outcome.bound or 0)
    if task.options.get("objective", "pairs") != "pairs":  # its bound is of agents
        least = 1
    step = deletions_step(lists.place, goal, least, task.clock)
    return [] if step is None else [step]


def optimal(task: Task) -> Proof:
    """Proof of `optimal`: integer multipliers of the relaxation with odd sets
    (`verify.pairing_bound`).
    """
    if task.outcome.solution is None:
        return _no_pairing(task)
    if task.options.get("worst"):
        raise Claimed("the worst case within intervals of penalties is not proved as a file")
    given = CheckedColocation(task.case({}, []))
    return checked_proof(task, _least_mean(task, given))


def _no_pairing(task: Task, method: str = "", options: dict[str, Any] | None = None) -> Proof:
    """Proof that no pairing exists: if forbidden pairs cost 1 and others 0, every pairing has
    positive cost.
    """
    if task.outcome.status is not Status.INFEASIBLE:
        raise Claimed("no pairing was found, nor that there is none")
    instance: Colocation = task.instance
    anybody = instance.without_intervals(penalty=np.where(instance.allowed, 0.0, 1.0))
    matching = least_penalty_matching(anybody, feasible_pairing(anybody, task.clock), task.clock)
    hints = multipliers(anybody, matching.best, task.clock)
    given = CheckedColocation(task.case({}, []))
    for over in (1, 2, GRID) if hints else ():
        assert hints is not None
        step = {**_dual(given, hints, over), "kind": "infeasible", "over": 1}
        if no_pairing(given, [step]):
            return checked_proof(task, [step], method=method, options=options)
    raise Claimed("that there is no pairing is not shown by odd sets, or not in this time")


def _least_mean(task: Task, given: CheckedColocation) -> list[dict[str, Any]]:
    """Step that proves a bound on the mean penalty of all pairings; none at the time limit."""
    with suppress(KeyboardInterrupt):
        hints = multipliers(task.instance, cast("Pairing", task.outcome.solution), task.clock)
        return [] if hints is None else [_dual(given, hints)]
    return []


def fair(task: Task) -> Proof:
    """Proof of `fair`: multipliers of the linear program of each level; a slack of 0 proves
    itself.
    """
    if task.options.get("slack") is not None:
        return _fair_within(task, option(task.options["slack"]))
    if task.outcome.solution is None:
        return _no_pairing(task)
    steps: list[list[dict[str, Any]]] = [[], []]
    slack, _ = colocation_fair(task.case({}, *steps))
    assert slack.value is not None
    with suppress(KeyboardInterrupt):
        if slack.value > 0:
            steps[0] = _flow(task, None)
        steps[1] = _flow(task, float(slack.value))
        for level in (0, 1):
            one = colocation_fair(task.case({}, *steps))[level]
            if one.value is not None and one.value != one.bound:
                steps[level] = _fair_tree(task, one.value, slack.value, level) or steps[level]
    return checked_proof(task, *steps)


def _fair_within(task: Task, slack: int | str) -> Proof:
    """Proof of `fair` with an allowance of slack: a bound on the penalty, or that no pairing keeps
    within the allowance.
    """
    options, allowed = {"slack": slack}, Fraction(slack)
    if task.outcome.solution is None and "least_slack" not in task.outcome.certificate:
        return _no_pairing(task, "fair-within", options)
    steps: list[dict[str, Any]] = []

    def proved() -> Level:
        return checked_proof(task, steps, method="fair-within", options=options).levels[0]

    given = CheckedColocation(task.case(options, steps))
    with suppress(KeyboardInterrupt):
        steps = _flow(task, float(allowed) if given.answered else None)
        one = proved()
        if one.value is not None and one.value != one.bound:
            steps = _fair_tree(task, one.value, allowed, 1) or steps
        elif not given.answered and not one.infeasible:
            steps = _fair_tree(task, allowed + Fraction(1, _parts(given)), allowed, 0) or steps
    proof = checked_proof(task, steps, method="fair-within", options=options)
    if proof.levels[0].value is None and not proof.levels[0].infeasible:
        raise Claimed("that every pairing has more slack is not shown, or not in this time")
    return proof


def _fair_tree(task: Task, value: Fraction, slack: Fraction, level: int) -> list[dict[str, Any]]:
    """Tree which proves that no pairing has less slack, or less penalty at this slack, if time
    allows.
    """
    given = CheckedColocation(task.case({}, []))
    if given.size > MOST_TYPES:
        return []
    parts = _parts(given)
    below = int(value * (given.unit * given.agents if level else parts))
    most = int(slack * parts) if level else below - 1
    program, cost = slack_program(given, bandwidths(given), most)
    objective = (cost, below - 1) if level else None
    return propagation_steps(program, objective, task.clock, below=below)


def _parts(given: CheckedColocation) -> int:
    """Denominator with which the slack of every pairing is an integer."""
    return given.unit * math.lcm(*(n for n in given.count if n))


def _flow(task: Task, slack: float | None) -> list[dict[str, Any]]:
    """Proof step with dual multipliers of the program of least slack or, at a given slack, of least
    penalty; empty without any.
    """
    instance: Colocation = task.instance
    program = fair_program(instance, slack)
    whole = program.program
    relaxed = replace(whole, integer=np.zeros(whole.columns, dtype=bool))
    answer = (
        None if task.clock.expired else WarmStartedProgram(relaxed).solve(task.clock.time_slice())
    )
    if answer is None or answer.status is not Status.OPTIMAL or answer.row_dual is None:
        return []
    dual, present = answer.row_dual, instance.present
    carried = np.zeros(instance.types)  # dual weight of each type in the rows of slack
    for rows in (program.below, program.above):
        there = rows >= 0
        carried[there] -= (dual[rows[there]] * program.factor[there]) * instance.count[there]
    flow = _along(carried, instance)
    prices = np.zeros(instance.types)
    prices[present] = dual[: len(present)]
    rent = -float(dual[len(present)]) if 0 < instance.singles_allowed < instance.agents else 0.0
    given = CheckedColocation(task.case({}, []))
    times = math.lcm(*(n for n in given.count if n)) * given.unit * GRID
    step = {
        "over": 1,
        "prices": on_grid(prices, times),
        "rent": max(0, on_grid(rent, times)[0]),
        "sets": [],
    }
    return (
        [{"kind": "dual", **step, "flow": proof_multipliers(flow, GRID)}]
        if slack is not None or any(flow)
        else []
    )


def _along(carried: Floats, instance: Colocation) -> list[int]:
    """Round net outflows of types to integers; flow goes only from lower to larger bandwidth."""
    assert instance.bandwidth is not None
    flow = [0] * instance.types
    waiting: list[tuple[int, int]] = []
    order = np.argsort(instance.bandwidth, kind="stable").tolist()
    band = instance.bandwidth.tolist()
    for a in order:
        amount = on_grid(carried[a], GRID)[0]
        if amount > 0:
            waiting.append((a, amount))
        for index, (source, there) in enumerate(waiting):
            part = min(there, -amount) if band[source] < band[a] else 0
            if part > 0:
                flow[source], flow[a], amount = flow[source] + part, flow[a] - part, amount + part
                waiting[index] = (source, there - part)
    return flow


def _dual(given: CheckedColocation, hints: Multipliers, over: int | None = None) -> dict[str, Any]:
    """Convert a matching's dual prices to a step: integers in 1/`GRID` unit, or in 1/`over`."""
    times = Fraction(over or given.unit * GRID, hints.over)

    def parts(number: float) -> int:
        return round(Fraction(number) * times)

    sets = [(parts(price), members) for price, members in hints.sets]
    return {
        "kind": "dual",
        "over": GRID,
        "prices": [parts(price) for price in hints.prices.tolist()],
        "rent": max(0, parts(hints.rent)),
        "sets": [
            [price, *np.flatnonzero(members).tolist()] for price, members in sets if price > 0
        ],
    }
