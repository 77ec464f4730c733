"""Proportional response dynamics as in the thesis: rounds until the bids converge."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import numpy as np

from ...instances.market.instance import Market
from ...instances.problem.option_types import AtLeast, validate_options
from ...solvers.market.exchange import Exchange
from ...solvers.market.proportional import Rule, equal_bids
from ...solvers.market.rounding import Rounding, round_until, validate_rounding
from ...solvers.outcome import Clock, Outcome, Report, Status, Stop


@validate_options
def proportional_response(
    instance: Market,
    *,
    time_limit: float | None = None,
    report: Report | None = None,
    rule: Rule = "corrected",
    rounds: Annotated[int, AtLeast(1)] = 200,
    movement: Annotated[float, AtLeast(0, "a share of the budget", infinite=True)] = 1e-4,
    rounding: Rounding = "none",
) -> Outcome:
    """PRD: users bid in proportion to the utility that their cores give, and prices follow, until
    bids converge.

    Thesis section 3.3.2. The text does not state the first bids (ours: equal money on each job, all
    positive, since a bid of 0 stays 0) nor when bids count as standing still (ours: `movement`).
    Its rule U_ij = sqrt(f_ij p_j) w_ij s_ij (`rule="printed"`) leads to the equilibrium of the
    market with works w^2; the conditions for a best reply give sqrt(w_ij f_ij p_j) s_ij
    (`corrected`). Jobs with f = 0 bid a sliver (see `solvers.market.scaled_market`).

    Parameters
    ----------
    rule : which bid update.
    rounds : most rounds; the thesis reports fewer than 200.
    movement : a round in which no bid changes by more than this share of its user's budget ends it.
    rounding : how fractions become whole cores; they stay with "none". See `round_cores`.

    Returns
    -------
    Outcome
        Status `feasible`: how near an equilibrium it came stands in the certificate.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("market/tiny"), "PRD")
    >>> print(result.status, round(result.objective, 4))
    feasible 0.0
    """
    validate_rounding(instance, rounding, time_limit)
    clock = Clock(time_limit, report)
    exchange = Exchange(instance)
    scaled = exchange.scaled_market
    exchange.bid(equal_bids(scaled))
    stop, done = Stop.ITERATION_LIMIT, 0
    try:
        while done < rounds:
            done += 1
            before = exchange.bids
            exchange.round(rule)
            change = np.abs(exchange.bids - before) / scaled.budget[scaled.user]
            if change.max(initial=0.0) <= movement:
                stop = Stop.FINISHED
                break
            if clock.expired:
                stop = Stop.TIME_LIMIT
                break
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    allocation, error = exchange.judge(exchange.bought, exchange.price)
    clock.note(error.worst, None, "proportional response")
    certificate = {**asdict(error), "rounds": done, "rule": rule}
    answer, stop = round_until(instance, allocation, rounding, clock.left, stop)
    return Outcome(answer, None, Status.FEASIBLE, stop, certificate, tuple(clock.trace))
