"""Best pairings without blocking pair: egalitarian and minimum regret.

The first level of each is to have no blocking pair, the second what is least among those pairings.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing, check
from ...instances.colocation.lists import has_lists, has_strict_lists, require_lists
from ...instances.colocation.objective import agent_penalties, mean_penalty, scale
from ...instances.colocation.stability import blocking_pairs
from ...instances.problem.option_types import validate_options
from ..engines import EngineName
from ..incumbent import conclude
from ..outcome import Clock, Outcome, Report, Stop, agree, level
from ..roommates import WeakLists, stable_partition
from ..roommates.partition import Goal
from ..roommates.stable_matchings import minimum_regret, stable_table
from .blocking import at_most_blocking
from .common import infeasible
from .to_roommates import lists_of_agents, without_blocking


@validate_options
def egalitarian(
    instance: Colocation,
    *,
    engine: EngineName = "highs",
    time_limit: float | None = None,
    report: Report | None = None,
) -> Outcome:
    """Minimize the mean penalty among the pairings without blocking pair; for preference lists, the
    total rank.

    First proposals, and for strict lists Irving's algorithm, leave few pairs, over which an integer
    program decides, with a bound. NP-hard for roommates.

    Parameters
    ----------
    instance : of preference lists (`has_lists`); with ties, no two agents both strictly prefer each
        other.
    engine : "highs" or "cp-sat".
    time_limit : seconds.
    report : called with (seconds, mean penalty, bound, text).

    Returns
    -------
    Outcome
        Infeasible, with a stable partition for strict lists, where every pairing has a blocking
        pair: `stable` then finds one with the fewest.

    Raises
    ------
    InvalidOption
        It is none of preference lists.

    Notes
    -----
    Source: D. Gusfield, R. W. Irving (1989), section 3.6, for two sides; hardness: T. Feder, A new
    fixed point approach for stable networks and stable marriages, JCSS 45 (1992).

    Examples
    --------
    >>> import cotenant
    >>> lists = {"a": "bcd", "b": "cad", "c": "dba", "d": "abc"}
    >>> instance = cotenant.from_lists({who: list(liked) for who, liked in lists.items()})
    >>> egalitarian(instance).certificate["levels"][1]["value"]
    0.4375
    """
    require_lists(instance, "egalitarian")
    clock, lists = Clock(time_limit, report), lists_of_agents(instance)
    assert lists is not None  # `require_lists`
    none = _none_stable(instance, lists, clock) if lists.strict else None
    possible = without_blocking(instance, lists)
    if none is not None or possible is None:
        return none or infeasible(clock, "first proposals leave an agent nobody")

    def tell(_: float, value: float | None, bound: float | None, text: str) -> None:
        stable = None if value is None else 0.0
        clock.note(stable, 0.0, f"{text}: mean penalty {value}, bound {bound}")

    found = at_most_blocking(possible, time_limit=clock.time_slice(), engine=engine, report=tell)
    if not isinstance(found.solution, Pairing):
        return replace(found, bound=None, trace=tuple(clock.trace))
    value = mean_penalty(instance, found.solution)
    proof = "integer program over the pairs that could be stable"
    return _best(instance, found.solution, "penalty", value, found.bound, found.stop, proof, clock)


@validate_options
def least_regret(
    instance: Colocation, *, time_limit: float | None = None, report: Report | None = None
) -> Outcome:
    """Minimize the largest penalty among the pairings without blocking pair; for preference lists,
    the largest rank.

    By bisection over penalties: lists end where somebody would bear more, and proposals say whether
    a stable matching is left. An agent without partner in one stable matching is without in all,
    and is looked at apart: `certificate["regret"]` is about the others.

    Parameters
    ----------
    instance : of strict preference lists (`has_strict_lists`).
    time_limit : seconds; looked at before the start only.
    report : called when it is done.

    Returns
    -------
    Outcome
        Infeasible, with a stable partition, where every pairing has a blocking pair.

    Raises
    ------
    InvalidOption
        It is none of preference lists, or a list has a tie.

    Notes
    -----
    Source: D. Gusfield, SIAM J. Comput. 16 (1987); Gusfield and Irving (1989), section 4.4.3.

    Examples
    --------
    >>> import cotenant
    >>> lists = {"a": "bcd", "b": "cad", "c": "dba", "d": "abc"}
    >>> instance = cotenant.from_lists({who: list(liked) for who, liked in lists.items()})
    >>> least_regret(instance).certificate["regret"]["agents"]
    ['a']
    """
    require_lists(instance, "minimum-regret", strict=True)
    clock, lists = Clock(time_limit, report), lists_of_agents(instance)
    assert lists is not None  # `require_lists`
    none = _none_stable(instance, lists, clock)
    if none is not None:
        return none
    table = stable_table(lists.place)
    assert table is not None  # no party is odd
    partner = minimum_regret(table, np.where(instance.allowed, instance.penalty, np.inf))
    answer = Pairing.from_partners(np.arange(instance.types), partner, instance.types)
    worst = float(agent_penalties(instance, answer)[1].max())
    paired = np.flatnonzero(partner >= 0)
    borne = instance.penalty[paired, partner[paired]]
    most = borne.max(initial=-np.inf)
    regret = {
        "penalty": float(most) if len(paired) else None,
        "agents": [instance.names[i] for i in paired[borne == most].tolist()],
    }
    proof = "proposals on lists that end before the worst penalty leave somebody nobody"
    stop = Stop.FINISHED
    return _best(
        instance, answer, "worst_penalty", worst, worst, stop, proof, clock, regret=regret
    )  # fmt: skip


def may_be_stable(instance: Colocation) -> bool:
    """Return whether an instance of preference lists may have a pairing without blocking pair, as
    far as known without a search.
    """
    if not has_lists(instance):
        return False
    lists = lists_of_agents(instance)
    assert lists is not None  # `has_lists`
    return not lists.strict or _none_stable(instance, lists, Clock()) is None


def has_stable(instance: Colocation) -> bool:
    """Return whether an instance of strict preference lists has a stable pairing."""
    return has_strict_lists(instance) and may_be_stable(instance)


def _best(
    instance: Colocation, answer: Pairing, metric: str, value: float, bound: float | None,
    stop: Stop, proof: str, clock: Clock, **facts: Any,
) -> Outcome:  # fmt: skip
    """Outcome of a pairing without blocking pair, with a lower bound on the metric among such
    pairings.
    """
    check(instance, answer)
    if blocking_pairs(instance, answer).count:
        raise RuntimeError(f"a pairing of the least {metric} has blocking pairs")
    proved = bound is not None and agree(value, bound, scale(instance, metric))
    levels = [
        level("blocking_pairs", 0, 0, True),
        level(metric, value, None if bound is None else min(bound, value), proved),
    ]
    made = {
        "proof": f"a pairing without blocking pair is its own proof; {proof}",
        "blocking_pairs": [], "levels": levels, **facts,
    }  # fmt: skip
    return conclude(answer, 0.0, 0.0, stop, made, clock)


def _none_stable(instance: Colocation, lists: WeakLists, clock: Clock) -> Outcome | None:
    """Outcome of strict lists without a (complete) stable pairing; None if they have one."""
    partition = stable_partition(lists.place)
    goal: Goal = "perfect" if instance.unpaired is None else "any"
    if partition.bound(goal) == 0:
        return None
    parties = partition.odd_parties
    if goal == "perfect":
        parties += tuple((agent,) for agent in partition.singletons)
    named = "; ".join(" ".join(instance.names[i] for i in party) for party in parties)
    return infeasible(
        clock, f"every pairing has a blocking pair: a stable partition has odd parties, {named}",
        stable_partition=partition.successor.tolist(),
        odd_parties=[list(map(int, party)) for party in partition.odd_parties],
    )  # fmt: skip
