"""The servers' part of the regularized Newton method: see `interior`."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ...instances.market.instance import Floats
from .exchange import Exchange, SummedBlocks
from .linear import solve_blocks
from .user_groups import UserGroup


def follow_central_path(
    exchange: Exchange,
    price: Floats,
    *,
    tolerance: float,
    most: int = 120,
    over: Callable[[], bool] | None = None,
) -> tuple[Floats, int]:
    """Newton steps towards mu = 0 from the last bids; returns the last prices and how many steps it
    took. The cores are the users' source "inside".

    Ends when the gaps and every job's x z are within `tolerance`, when steps become too short, or
    when time is up.
    """
    priced_servers, users = exchange.priced_servers, exchange.users
    price = np.where(priced_servers, price, 1.0)
    users.ask(UserGroup.enter, price)
    for step in range(most):
        answers = users.ask(UserGroup.gaps)
        given, (products, jobs, budget) = answers.sums
        largest, least = answers.most[0], -answers.most[1]
        missing = np.where(priced_servers, exchange.capacity - given - exchange.fixed / price, 0.0)
        size = max(largest, float(np.abs(missing / exchange.capacity).max(initial=0.0)))
        barrier = products / max(budget, 1e-300)
        if size <= tolerance and barrier <= tolerance * 1e-1:
            return price, step
        if over is not None and over():
            return price, step
        if barrier <= 1e-4 * tolerance:
            # what gaps remain are the linear solver's, and further steps do not close them
            return price, step
        # With gaps still open mu must not run ahead of them; the closer, the bolder.
        centering = 0.1 if least > 1e-2 * products / max(jobs, 1.0) else 0.4
        response, pairs, pushed = users.ask(UserGroup.press, centering * barrier).sums
        system = SummedBlocks(users, response + exchange.fixed, pairs)
        right = np.where(priced_servers, price * (pushed - missing), 0.0)
        log_price = solve_blocks(system, right, 1e-12)
        # the prices themselves are among what must stay above 0: every party looks at them
        length = -users.ask(UserGroup.turn, log_price).most[0]
        if length < 1e-9:
            return price, step
        users.ask(UserGroup.advance, length)
        price = price + length * (price * log_price)
    return price, most
