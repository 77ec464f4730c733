"""Pairings without a blocking pair, with at most K of them, or with the fewest, by programs over
types.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing, check
from ...instances.colocation.objective import mean_penalty
from ...instances.colocation.stability import (
    AlphaMode,
    Uncertainty,
    blocking_pairs,
    validate_alpha,
)
from ...instances.problem.base import Solution
from ...instances.problem.errors import InfeasibleSolution
from ...instances.problem.option_types import validate_options
from ...models.colocation import (
    PairingProgram,
    blocking_program,
    order_program,
    order_terms,
    stable_program,
)
from ..engines import EngineName
from ..outcome import Clock, Outcome, Report, Status
from .aggregate_relaxation import MANY, solve_in_shares
from .common import NOT_GIVEN, best_of, infeasible, outcome, run, size
from .feasible import NO_PAIRING

MOST_TERMS = 100_000
"""Pairs of steps up to which the order encoding is made: beyond, that alone takes seconds."""

KINDS: dict[Uncertainty, str] = {"none": "", "certain": "certainly ", "possible": "possibly "}
"""What such blocking pairs are called."""


@validate_options
def find_stable(
    instance: Colocation,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    *,
    uncertainty: Uncertainty = "none",
    penalty: bool = True,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    engine: EngineName = "highs",
    start: Solution | None = None,
    report: Report | None = None,
) -> Outcome:
    """Is there a pairing without a blocking pair, and which of them has the least mean penalty?

    One integer program over types decides both (`stable_program`). If every count is even and every
    type may be paired with itself the answer is always yes (Scarf's lemma on rows = types, columns
    = pairs and loops; compare Chiappori, Galichon and Salanie, "The roommate problem is more stable
    than you think").

    Parameters
    ----------
    instance : what is given.
    alpha, alpha_mode : least gain for which an agent moves, as in `gains`.
    uncertainty : which gains count, as in `blocking_pairs`; "possible" asks for a pairing that is
        stable for every matrix within the intervals.
    penalty : False asks only whether there is one (no bound then).
    rng : not used; the method is deterministic.
    time_limit : seconds, more than 0.
    engine : the solver of the program: "highs" or "cp-sat".
    start : a pairing; used when it has no blocking pair.
    report : progress, in mean penalty.

    Returns
    -------
    Outcome
        Bound and trace are on the *mean penalty* among the pairings without a blocking pair. Status
        infeasible: proved that every pairing has a blocking pair (or that there is no pairing).
        Unknown without a solution: not decided.
    """
    validate_alpha(alpha, alpha_mode)
    return _within(
        instance,
        stable_program(instance, alpha, alpha_mode, uncertainty=uncertainty, objective=penalty),
        0,
        alpha,
        alpha_mode,
        uncertainty,
        time_limit,
        engine,
        start,
        report,
        penalty,
    )


@validate_options
def at_most_blocking(
    instance: Colocation,
    most: int,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    *,
    uncertainty: Uncertainty = "none",
    penalty: bool = True,
    time_limit: float | None = None,
    engine: EngineName | None = None,
    start: Solution | None = None,
    report: Report | None = None,
) -> Outcome:
    """The pairing of least mean penalty with at most `most` blocking pairs, or any such pairing.

    Parameters
    ----------
    most : K, at least 0.
    uncertainty : as in `find_stable`.
    penalty : False asks only whether there is one (no bound then); deciding is much quicker than
        minimizing.
    engine : "cp-sat", or "highs" where all agents are different; whichever can when not given.
    others : as in `find_stable`, whose answer this is for K = 0.
    """
    validate_alpha(alpha, alpha_mode)
    if most == 0:
        program = stable_program(
            instance, alpha, alpha_mode, uncertainty=uncertainty, objective=penalty
        )
    else:
        # for agents all different both are the same but for prefix sums, which are far sparser
        several = int(instance.count.max()) > 1 and order_terms(instance, most) <= MOST_TERMS
        program = (order_program if several else blocking_program)(
            instance, most, alpha, alpha_mode, uncertainty=uncertainty,
            objective="penalty" if penalty else "none",
        )  # fmt: skip
    if engine is None:
        engine = "cp-sat" if len(program.program.products) or not penalty else "highs"
    return _within(
        instance, program, most, alpha, alpha_mode, uncertainty, time_limit, engine, start, report,
        penalty,
    )  # fmt: skip


@validate_options
def fewest_blocking(
    instance: Colocation,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    *,
    uncertainty: Uncertainty = "none",
    most: int | None = None,
    encoding: Literal["products", "order"] = "products",
    steps: int | None = None,
    time_limit: float | None = None,
    engine: EngineName | None = None,
    start: Solution | None = None,
    report: Report | None = None,
) -> Outcome:
    """The fewest blocking pairs by one program over types.

    Bound and trace are on the number of blocking pairs. Uncertainty and engines as in
    `at_most_blocking`.

    Parameters
    ----------
    most : only pairings with no more than so many are looked at; infeasible then proves that more
        are needed.
    encoding : "products", the plain bilinear program, the obvious way, for checking others; or
        "order" (`order_program`), for which CP-SAT raises the bound by unsatisfiable cores.
    steps : of the order encoding, for a bound from below: see `order_program`.
    """
    validate_alpha(alpha, alpha_mode)
    clock = Clock(time_limit, report)
    if encoding == "order":
        program = order_program(
            instance, most, alpha, alpha_mode, uncertainty=uncertainty, steps=steps
        )
    else:
        program = blocking_program(
            instance, most, alpha, alpha_mode, uncertainty=uncertainty, objective="blocking"
        )
    cp_sat = encoding == "order" or len(program.program.products)
    chosen = engine or ("cp-sat" if cp_sat else "highs")
    begin = _usable(instance, start, most, alpha, alpha_mode, uncertainty)
    answer = run(program, clock, engine=chosen, start=begin, by_cores=encoding == "order")
    if answer.status is Status.INFEASIBLE and begin is None:
        return infeasible(
            clock, NO_PAIRING if most is None else f"no pairing has {most} blocking pairs or fewer"
        )

    def count(pairing: Pairing) -> float:
        return float(blocking_pairs(instance, pairing, alpha, alpha_mode, uncertainty).count)

    best = best_of(instance, program, answer, begin, count)
    kind = "bilinear integer program" if encoding == "products" else "order encoding"
    certificate: dict[str, Any] = {"proof": f"{kind} over types", **size(program, chosen)}
    bound = None if answer.bound is None else max(0.0, float(np.ceil(answer.bound - 1e-6)))
    value = None if best is None else count(best)
    return outcome(instance, best, value, bound, answer.stop, certificate, clock, "blocking_pairs")


def _within(
    instance: Colocation,
    program: PairingProgram,
    most: int,
    alpha: float,
    alpha_mode: AlphaMode,
    uncertainty: Uncertainty,
    time_limit: float | None,
    engine: EngineName,
    start: Solution | None,
    report: Report | None,
    penalty: bool,
) -> Outcome:
    """Run a program whose pairings have at most `most` blocking pairs, and recount them."""
    # solve the program, from the given pairing where it keeps the limit
    clock = Clock(time_limit, report)
    begin = _usable(instance, start, most, alpha, alpha_mode, uncertainty)
    if engine == "highs" and len(program.flag) and int(instance.count.max()) in MANY:
        answer = solve_in_shares(program, clock, agents=instance.agents, start=begin)
    else:
        answer = run(program, clock, engine=engine, scale=instance.agents, start=begin)
    if (
        answer.point is None
        and answer.status is Status.UNKNOWN
        and answer.bound is not None
        and not clock.expired
    ):
        other: EngineName = (
            "cp-sat" if engine == "highs" else "highs"
        )  # a point was found but broke a row: ask the other engine
        if other == "cp-sat" or not len(program.program.products):
            engine, answer = (
                other,
                run(program, clock, engine=other, scale=instance.agents, start=begin),
            )
    # infeasible by proof
    if answer.status is Status.INFEASIBLE and begin is None:
        kind = KINDS[uncertainty]
        needed = (
            f"has a {kind}blocking pair"
            if most == 0
            else f"has more than {most} {kind}blocking pairs"
        )
        return infeasible(
            clock,
            f"every pairing {needed}: the integer program over types has no solution",
            **size(program, engine),
        )
    # the better of the engine's pairing and the given one, both checked
    best = best_of(
        instance, program, answer, begin, lambda pairing: mean_penalty(instance, pairing)
    )
    certificate: dict[str, Any] = {
        "alpha": alpha,
        "alpha_mode": alpha_mode,
        **size(program, engine),
    }
    if best is None:
        certificate["proof"] = NOT_GIVEN
        certificate["engine_message"] = answer.message
        return outcome(
            instance,
            None,
            None,
            _mean(instance, answer.bound) if penalty else None,
            answer.stop,
            certificate,
            clock,
        )
    # no engine is believed: its pairing's blocking pairs are counted again
    count = blocking_pairs(instance, best, alpha, alpha_mode, uncertainty).count
    if count > most:
        certificate["contradiction"] = (
            f"recounted {count} blocking pairs where the program allows {most}"
        )
        return outcome(instance, None, None, None, answer.stop, certificate, clock)
    certificate["blocking_pairs"] = count
    certificate["proof"] = (
        "recount of the blocking pairs; integer program over types for the least penalty "
        "among such pairings"
    )
    bound = _mean(instance, answer.bound) if penalty else None
    return outcome(
        instance, best, mean_penalty(instance, best), bound, answer.stop, certificate, clock
    )


def _mean(instance: Colocation, total: float | None) -> float | None:
    return None if total is None else total / instance.agents


def _usable(
    instance: Colocation,
    start: Solution | None,
    most: int | None,
    alpha: float,
    alpha_mode: AlphaMode,
    uncertainty: Uncertainty,
) -> Pairing | None:
    """The start, if it is a feasible pairing with no more blocking pairs than allowed."""
    if not isinstance(start, Pairing) or not _feasible(instance, start):
        return None
    count = blocking_pairs(instance, start, alpha, alpha_mode, uncertainty).count
    return start if most is None or count <= most else None


def _feasible(instance: Colocation, start: Pairing) -> bool:
    try:
        check(instance, start)
    except InfeasibleSolution:
        return False
    return True
