"""Fewest blocking pairs at alpha, then least mean penalty."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from ...instances.colocation import Colocation
from ...instances.colocation.stability import Alpha, AlphaMode, Uncertainty, compared
from ...instances.problem.base import Solution
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import validate_options
from ..engines import EngineName
from ..outcome import Clock, Outcome, Report, Stop
from .by_agent import fewest_by_agent
from .common import Blocking, require_few_types
from .feasible import starting_pairing
from .stable_routes import OF_DIFFERENT, OF_TYPES, StableLimits, StableSearch

ROUTES = {"agents that all differ": OF_DIFFERENT, "types of several agents": OF_TYPES}
"""The routes of `stable`, in the order in which they run."""


@validate_options
def stable(
    instance: Colocation,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    alpha: Alpha = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    uncertainty: Uncertainty = "none",
    objective: Literal["pairs", "agents", "minimax"] = "pairs",
    engine: EngineName = "highs",
    start: Solution | None = None,
    report: Report | None = None,
    limits: StableLimits | None = None,
) -> Outcome:
    """Minimize the number of blocking pairs at `alpha`, then the mean penalty.

    Layered: when all agents differ, stable partitions and an exact search over deletions (the
    stable roommates problem), and over the ways to break the ties that matter where agents are
    indifferent, or alpha makes them so. Otherwise a program over types says whether zero is
    possible, and if it is not, the order encoding says whether few blocking pairs are enough, or
    bounds many, against the best pairing found by exchanges and by the search over deletions.

    Parameters
    ----------
    instance : what is given.
    rng : for tie-breakings and random orders; it never changes what is proved.
    time_limit : seconds; the best pairing so far is returned when they are up.
    alpha : least gain for which an agent breaks away, in points of penalty (0.05 is five percentage
        points).
    alpha_mode : how alpha is read, see `gains`.
    uncertainty : which gains count where penalties have intervals: "none" the measured ones,
        "certain" those in every matrix within the intervals, "possible" those in some. No possibly
        blocking pair means stable for every matrix within the intervals (the theorem stands in
        `instances.colocation.stability`). Where that is impossible, `certificate["robust_alpha"]`
        is the least alpha at which it is not, and `certificate["measure_again"]` lists the
        intervals that leave open who blocks.
    objective : "pairs", the number of blocking pairs; "agents", the number of agents in one; or
        "minimax", how many the agent is in that is in most. Other than for pairs only the measured
        gains count.
    engine : "highs" or "cp-sat" for the program over types; the decision programs always go to
        CP-SAT.
    start : a pairing to begin with.
    report : called with (seconds, blocking pairs, bound, text).
    limits : what steers the search.

    Returns
    -------
    Outcome
        `bound` and `status` are those of the number of blocking pairs; `certificate["levels"]`
        holds both levels, the mean penalty's with its own bound. `certificate["blocking_pairs"]`
        lists them by type: empty is a proof anyone can check.

    Raises
    ------
    InvalidOption
        alpha below 0, an unknown reading or engine, a time limit of 0 or less, more types than
        `limits.most_types`, an uncertainty where there are no intervals, or one beside another
        objective than pairs.

    Notes
    -----
    Source: Cooper (HPCA 2017) section III.B, fig. 10. The paper finds that stable assignments
    "rarely exist": true of strict lists with ties broken by index, not of the game as defined, in
    which agents of one type are equal.

    Examples
    --------
    >>> from cotenant.instances.colocation import Colocation
    >>> stable(Colocation([[0.1, 0.3], [0.2, 0.9]], [2, 2])).bound
    0.0
    """
    compared(instance, uncertainty)
    clock, counted = Clock(time_limit, report), Blocking(alpha, alpha_mode, uncertainty)
    limits = limits or StableLimits()
    require_few_types(instance, limits.most_types)
    begin = starting_pairing(instance, start, clock)
    if isinstance(begin, Outcome):
        return begin
    generator = np.random.default_rng(0) if rng is None else rng
    if objective != "pairs":
        if uncertainty != "none":
            raise InvalidOption(
                f"uncertainty is {uncertainty!r} and objective {objective!r}; expected objective "
                "'pairs', which alone counts gains within intervals"
            )

        def pairs(seconds: float | None) -> Outcome:
            return stable(
                instance, rng=generator, time_limit=seconds, alpha=alpha, alpha_mode=alpha_mode,
                engine=engine, start=begin, limits=limits,
            )  # fmt: skip

        return fewest_by_agent(instance, objective, counted, clock, begin, pairs)
    search = StableSearch(instance, counted, engine, clock, generator, begin, limits)
    with search.keeping_best():
        for route in _routes(search):
            route(search)
    return search.outcome()


def _routes(search: StableSearch) -> tuple[Callable[[StableSearch], None], ...]:
    """Routes of `stable` for the instance; none if there is no time to build preference lists."""
    instance, limits = search.instance, search.limits
    # stable partitions are of one order of each agent, not of one to leave by and one to go by
    different = search.certain and instance.distinct and search.alone_is_worst
    different = different and "roommates" in limits.routes
    if different and (search.clock.left or np.inf) < limits.listed_pair * instance.agents**2:
        search.stop = Stop.TIME_LIMIT
        return ()
    listed = search.everyone and instance.agents <= limits.different_agents
    return OF_DIFFERENT if different and listed else OF_TYPES
