"""Annealing of packings, and upper bounds on the worth of knapsacks."""

from __future__ import annotations

import numpy as np
import pytest

from cotenant.instances.packing import Packing, check
from cotenant.solvers.outcome import Clock
from cotenant.solvers.packing.annealing import anneal_steps
from cotenant.solvers.packing.fitting import decreasing, fit
from cotenant.solvers.packing.patterns import price_patterns
from cotenant.solvers.packing.portfolio_state import PortfolioState
from cotenant.solvers.packing.presolve import presolve


def cut_up(bins: int, resources: int, seed: int, **fields: object) -> Packing:
    """VMs that servers of room 60 were cut into, for servers of room 63: as many hold them."""
    rng = np.random.default_rng(seed)
    demand = []
    for _ in range(bins):
        cuts = np.sort(rng.integers(0, 61, size=(resources, 3)), axis=1)
        ends = np.column_stack([np.zeros(resources, int), cuts, np.full(resources, 60)])
        demand += np.diff(ends, axis=1).T.tolist()
    rows = [row for row in demand if any(row)]
    given = {"capacity": [[63] * resources], "demand": rows, "request": [1.0] * len(rows)}
    return Packing(**{**given, **fields})  # type: ignore[arg-type]


@pytest.mark.parametrize("resources", [2, 3])
@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"capacity": [[63] * 3, [75] * 3], "servers": [3.0, np.inf], "cost": [2, 3]},
    ],
)
def test_annealing_answer_is_feasible_and_below_first_fit(
    resources: int, fields: dict[str, list[object]]
) -> None:
    if fields:
        fields = {**fields, "capacity": [row[:resources] for row in fields["capacity"]]}  # type: ignore[index]
    instance = cut_up(8, resources, 4 - resources, **fields)
    problem = presolve(instance, costs=True)
    search = PortfolioState(problem, Clock(), np.random.default_rng(0))
    search.offer(fit(problem, decreasing(problem)), "FFD")
    before, patterns = search.value, len(search.pool)
    search.raise_bound(8, "by hand")
    for effort in (1.0, 3.0):
        anneal_steps(search, effort, None)
    assert search.value < before
    assert search.found_by == "annealing"
    assert search.best is not None
    placement = problem.placement(*search.best)
    check(instance, placement)
    assert instance.server_cost[placement.server_class].sum() == search.value
    assert len(search.pool) > patterns
    table, kind = search.pool.arrays()
    assert (table @ problem.demand <= problem.capacity[kind]).all()


@pytest.mark.slow
def test_pricing_of_many_types_in_coarse_units_bounds_best_pattern() -> None:
    sizes = np.stack(np.divmod(np.arange(11_000), 110), axis=1) + 1
    instance = Packing(capacity=[[300, 300]], demand=sizes, request=np.ones(11_000))  # type: ignore[arg-type]
    problem = presolve(instance)
    profit = problem.demand.sum(axis=1)
    priced = price_patterns(problem, 0, profit, 0, nodes=1000)
    assert (priced.patterns @ problem.demand <= 300).all()
    assert 598 <= (priced.patterns @ profit).max() <= priced.best <= 602
