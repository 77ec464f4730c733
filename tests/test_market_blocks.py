"""The search for equilibrium prices over blocks of users: the sums of several are those of one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.market_cases import answer

import cotenant
from cotenant.baselines.market import proportional_response
from cotenant.instances.market import Market
from cotenant.solvers.market import fisher
from cotenant.solvers.market.exchange import Exchange
from cotenant.solvers.market.user_groups import InBlocks, UserGroup
from cotenant.solvers.outcome import Stop


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks even of a few jobs: 16 each on four servers."""
    monkeypatch.setattr("cotenant.solvers.market.user_groups.BLOCK", 1)


def drawn(seed: int, *, linear: float = 0.0) -> Market:
    """A market whose jobs stand in no order, some useless, of f = 0, or (a part) of f = 1."""
    rng = np.random.default_rng(seed)
    fraction = rng.uniform(0.2, 0.98, 50) * (rng.random(50) > 0.05)
    return Market(
        capacity=rng.uniform(1, 40, 4),
        budget=rng.lognormal(0, 1, 12),
        user=rng.integers(12, size=50),
        server=rng.integers(4, size=50),
        parallel_fraction=np.where(rng.random(50) < linear, 1.0, fraction),
        work=rng.lognormal(0, 1, 50) * (rng.random(50) > 0.05),
    )


@pytest.mark.parametrize("linear", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("method", [fisher, proportional_response])
def test_blocks_of_a_market_have_the_answer_of_one_block(
    method: Any, linear: float, request: pytest.FixtureRequest
) -> None:
    market = drawn(1, linear=linear)
    whole = method(market)
    request.getfixturevalue("small_blocks")
    blocks = method(market)
    assert len(InBlocks(market, 1.0).groups) > 1
    assert blocks.status is whole.status
    assert blocks.solution.cores == pytest.approx(whole.solution.cores, rel=1e-7, abs=1e-9)


@pytest.mark.usefixtures("small_blocks")
def test_jacobian_of_blocks_times_unit_vectors_is_its_matrix() -> None:
    exchange = Exchange(drawn(2))
    exchange.bid(UserGroup.equal)
    system = exchange.jacobian(exchange.reply(exchange.price))
    assert np.stack([system.apply(row) for row in np.eye(4)], axis=1) == pytest.approx(
        system.dense()
    )


@pytest.mark.parametrize("at", [2, 20])
def test_interrupted_price_search_keeps_best_prices(at: int, interrupt_at: Any) -> None:
    market = drawn(3)
    interrupt_at("cotenant.solvers.market.user_groups.InBlocks.ask", at)
    outcome = fisher(market)
    assert outcome.stop is Stop.INTERRUPTED
    assert 0 < outcome.certificate["regret"] < 1
    cotenant.check(market, answer(outcome))
