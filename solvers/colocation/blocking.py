"""Programs over types for pairings without blocking pair, with at most K of them, or with the
fewest.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.objective import mean_penalty
from ...instances.colocation.stability import AlphaMode, Uncertainty
from ...instances.problem.base import Solution
from ...instances.problem.option_types import validate_options
from ...instances.problem.registry import feasible
from ...models.colocation import (
    PairingProgram,
    blocking_program,
    order_program,
    order_terms,
    stable_program,
)
from ..engines import EngineAnswer, EngineName
from ..outcome import Clock, Outcome, Report, Status
from .aggregate_relaxation import SHARE_LIMITS, ShareLimits, solve_in_shares
from .common import NOT_GIVEN, Blocking, best_of, infeasible, outcome, run, size
from .feasible import NO_PAIRING

MOST_TERMS = 100_000
"""Pairs of steps up to which the order encoding is made: beyond, that alone takes seconds."""

KINDS: dict[Uncertainty, str] = {"none": "", "certain": "certainly ", "possible": "possibly "}
"""What such blocking pairs are called."""


@validate_options
def at_most_blocking(
    instance: Colocation,
    most: int = 0,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    *,
    uncertainty: Uncertainty = "none",
    penalty: bool = True,
    time_limit: float | None = None,
    engine: EngineName | None = None,
    start: Solution | None = None,
    report: Report | None = None,
    limits: ShareLimits = SHARE_LIMITS,
) -> Outcome:
    """Find the pairing of least mean penalty with at most `most` blocking pairs, or any such
    pairing, or prove that there is none.

    For none at all one integer program over types decides (`stable_program`). If every count is
    even and every type may be paired with itself the answer is always yes (Scarf's lemma on rows =
    types, columns = pairs and loops; compare Chiappori, Galichon and Salanie, "The roommate problem
    is more stable than you think").

    Parameters
    ----------
    most : K, at least 0.
    alpha, alpha_mode : least gain for which an agent moves, as in `gains`.
    uncertainty : which gains count, as in `blocking_pairs`; "possible" asks for a pairing that is
        stable for every matrix within the intervals.
    penalty : False asks only whether there is one (no bound then); deciding is much quicker than
        minimizing.
    time_limit : seconds, more than 0.
    engine : "cp-sat", or "highs" for K at most 1 and where all agents are different; whichever can
        when not given.
    start : a pairing; used when it has at most K blocking pairs.
    report : progress, in mean penalty.
    limits : of programs of many agents of a type.

    Returns
    -------
    Outcome
        Bound and trace are on the *mean penalty* among such pairings. Status infeasible: proved
        that every pairing has more blocking pairs (or that there is no pairing). Unknown without a
        solution: not decided.
    """
    # 1. the program: linear for K = 0 and 1, else with products or the order encoding
    clock, counted = Clock(time_limit, report), Blocking(alpha, alpha_mode, uncertainty)
    begin = _usable(instance, start, most, counted)
    if most == 0 or (most == 1 and engine == "highs" and uncertainty != "possible"):
        first = "first phase" in limits.routes
        keep = counted.usable_pairs(instance, most) if first else instance.allowed
        if keep is None and begin is None:
            proof = f"every pairing {_needed(most, uncertainty)}: first proposals of types show it"
            return infeasible(clock, proof)
        program = stable_program(
            instance, alpha, alpha_mode, uncertainty=uncertainty, objective=penalty, one=most == 1,
            keep=keep
        )  # fmt: skip
    else:
        # for agents all different both are the same but for prefix sums, which are far sparser
        several = int(instance.count.max()) > 1 and order_terms(instance, most) <= MOST_TERMS
        program = (order_program if several else blocking_program)(
            instance, most, alpha, alpha_mode, uncertainty=uncertainty,
            objective="penalty" if penalty else "none",
        )  # fmt: skip
    # 2. the answer of an engine
    if engine is None:
        exactly = len(program.program.products) > 0 or (most > 0 and not penalty)
        engine = "cp-sat" if exactly else "highs"
    engine, answer = _asked(instance, program, clock, engine, begin, limits)
    if answer.status is Status.INFEASIBLE and begin is None:
        return infeasible(
            clock,
            f"every pairing {_needed(most, uncertainty)}: the integer program over types has no "
            "solution",
            **size(program, engine),
        )  # fmt: skip
    # 3. its pairing, whose blocking pairs are counted again, and its bound
    best = best_of(instance, program, answer, begin, partial(mean_penalty, instance))
    certificate = {**counted.facts, **size(program, engine)}
    bound = answer.bound / instance.agents if penalty and answer.bound is not None else None
    value = None if best is None else mean_penalty(instance, best)
    if best is None:
        certificate |= {"proof": NOT_GIVEN, "engine_message": answer.message}
    # no engine's word is final: its pairing's blocking pairs are counted again
    elif (count := counted.count(instance, best)) > most:
        certificate["contradiction"] = (
            f"recounted {count} blocking pairs where the program allows {most}"
        )
        best, bound = None, None
    else:
        certificate["blocking_pairs"] = count
        certificate["proof"] = (
            "recount of the blocking pairs; integer program over types for the least penalty "
            "among such pairings"
        )
    return outcome(instance, best, value, bound, answer.stop, certificate, clock)


@validate_options
def fewest_blocking(
    instance: Colocation,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    *,
    uncertainty: Uncertainty = "none",
    steps: int | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Minimize the number of blocking pairs by one program over types (`order_program`), whose
    bound CP-SAT raises by unsatisfiable cores.

    Bound and trace are on the number of blocking pairs. Uncertainty as in `at_most_blocking`.

    Parameters
    ----------
    steps : of the encoding, for a bound from below: see `order_program`.
    """
    clock, counted = Clock(time_limit, report), Blocking(alpha, alpha_mode, uncertainty)
    program = order_program(instance, None, alpha, alpha_mode, uncertainty=uncertainty, steps=steps)
    answer = run(program, clock, engine="cp-sat", by_cores=True)
    if answer.status is Status.INFEASIBLE:
        return infeasible(clock, NO_PAIRING)
    best = best_of(instance, program, answer, None, partial(counted.count, instance))
    certificate = {"proof": "order encoding over types", **size(program, "cp-sat")}
    bound = None if answer.bound is None else max(0.0, float(np.ceil(answer.bound - 1e-6)))
    value = None if best is None else float(counted.count(instance, best))
    return outcome(instance, best, value, bound, answer.stop, certificate, clock, "blocking_pairs")


def _needed(most: int, uncertainty: Uncertainty) -> str:
    """Text which states the proof that every pairing has more than `most` blocking pairs."""
    kind = KINDS[uncertainty]
    return f"has more than {most} {kind}blocking pairs" if most else f"has a {kind}blocking pair"


def _asked(
    instance: Colocation,
    program: PairingProgram,
    clock: Clock,
    engine: EngineName,
    start: Pairing | None,
    limits: ShareLimits,
) -> tuple[EngineName, EngineAnswer]:
    """Solve a program with an engine, and with the other one if the point violates a row."""
    many = limits.fewest <= int(instance.count.max()) < limits.most and "shares" in limits.routes
    if engine == "highs" and len(program.flag) and many:
        answer = solve_in_shares(program, clock, agents=instance.agents, start=start, limits=limits)
    else:
        answer = run(program, clock, engine=engine, scale=instance.agents, start=start)
    broken = answer.point is None and answer.status is Status.UNKNOWN and answer.bound is not None
    other: EngineName = "cp-sat" if engine == "highs" else "highs"
    products = len(program.program.products)
    if not broken or clock.expired or (other == "highs" and products):
        return engine, answer
    return other, run(program, clock, engine=other, scale=instance.agents, start=start)


def _usable(
    instance: Colocation, start: Solution | None, most: int, counted: Blocking
) -> Pairing | None:
    """The start if it is feasible and has at most `most` blocking pairs, else None."""
    if not isinstance(start, Pairing) or not feasible(instance, start):
        return None
    return start if counted.count(instance, start) <= most else None
