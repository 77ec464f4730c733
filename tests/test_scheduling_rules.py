"""DIRECTCONTR, RAND's convergence and guarantee, and inputs that rules refuse."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant.analysis.scheduling.metrics import metrics
from cotenant.baselines.scheduling import (
    direct_contribution,
    fair_share,
    guarantee,
    rand,
    sample_orderings,
)
from cotenant.instances.problem.errors import InvalidInstance, InvalidOption
from cotenant.instances.scheduling import Schedule, Scheduling, assign_machines
from cotenant.instances.scheduling.generators import unit_jobs, workload
from cotenant.solvers.outcome import Stop
from cotenant.solvers.scheduling import simulate


class EveryOrder(np.random.Generator):
    """In the place of a generator: each order of joining once."""

    def __init__(self, organizations: int) -> None:
        super().__init__(np.random.PCG64(0))
        self._orders = permutations(range(organizations))

    def permutation(self, _: int, axis: int = 0) -> np.ndarray:  # type: ignore[override]
        return np.array(next(self._orders))


@pytest.mark.parametrize("options", [{}, {"reading": "figure"}, {"reading": "definition"}])
def test_rand_over_all_orderings_has_zero_unfairness_in_its_own_reading(
    options: dict[str, Any],
) -> None:
    unlike = 0
    for number in range(20):
        instance = unit_jobs(
            organizations=4, machines=4, jobs=60, horizon=15, rng=np.random.default_rng(number)
        )
        outcome = rand(instance, orderings=24, rng=EveryOrder(4), **options)  # type: ignore[arg-type]
        assert isinstance(outcome.solution, Schedule)
        assert metrics(instance, outcome.solution, **options).get("unfairness", 0.0) == 0
        other = "definition" if options.get("reading", "figure") == "figure" else "figure"
        unlike += metrics(instance, outcome.solution, reading=other).get("unfairness", 0.0) > 0  # type: ignore[arg-type]
    assert unlike > 0  # the readings are two


def test_guarantee_of_rand_with_15_orderings_is_vacuous() -> None:
    # The printed formula gives 2.55 and 1.14 at k = 5, lambda = .9; two-sided Hoeffding 1.96 and
    # .88.
    for orderings, printed, two_sided, vacuous in ((15, 2.55, 1.96, True), (75, 1.14, 0.88, False)):
        found = guarantee(5, orderings, 0.9)
        assert found["epsilon_printed"] == pytest.approx(printed, abs=0.005)
        assert found["epsilon_hoeffding"] == pytest.approx(two_sided, abs=0.005)
        assert found["vacuous"] is vacuous


def test_rand_estimates_add_up_to_the_grand_coalition_value() -> None:
    outcome = rand(cotenant.read("scheduling/tiny"))
    instance = cotenant.read("scheduling/tiny")
    fifo = simulate(instance, "FIFO").own[:, -1].sum()
    assert sum(outcome.certificate["phi_estimate"]) == pytest.approx(fifo)
    assert outcome.certificate["guarantee"]["vacuous"] is True
    assert outcome.stop is Stop.FINISHED


def test_share_of_zero_is_served_only_without_other_waiting_organizations() -> None:
    instance = Scheduling([0, 1], [0, 0, 1, 1], [0, 0, 0, 5], [2, 2, 2, 2], horizon=20)
    assert fair_share(instance).start.tolist() == [2, 4, 0, 6]


def test_direct_contribution_puts_jobs_on_machines_at_random() -> None:
    instance = workload(
        organizations=2, machines=40, jobs=30, horizon=1000, load=0.3, rng=np.random.default_rng(0)
    )
    first, second = (
        direct_contribution(instance, rng=np.random.default_rng(seed)) for seed in (0, 1)
    )
    assert first.start.tolist() == second.start.tolist()  # machines are never short here
    assert first.machine.tolist() != second.machine.tolist()
    assert first.machine.tolist() != assign_machines(instance, first.start).tolist()


def test_rand_refuses_orders_whose_utilities_pass_64_bits() -> None:
    long = Scheduling(
        machines=[1, 0],
        organization=[0, 1],
        release=[0, 0],
        processing=[2**30, 2**30],
        horizon=2**31 - 10,
    )
    with refused(InvalidOption):
        rand(long)
    with refused(InvalidOption):
        rand(cotenant.read("scheduling/tiny"), orderings=2**60)


def test_rand_refuses_more_organizations_than_a_mask_holds() -> None:
    with refused(InvalidOption):
        rand(Scheduling([1] * 70, [0], [0], [1], horizon=5))


@pytest.mark.parametrize(
    ("rule", "options"),
    [
        ("LOTTERY", {}),
        ("RAND", {}),
        ("FIFO", {"sampling": sample_orderings([np.array([0, 1, 2])])}),
        ("DIRECTCONTR", {}),
        ("random", {"draws": np.zeros(5)}),
        ("FIFO", {"samples": [31]}),
        ("FIFO", {"samples": [-1]}),
    ],
)
def test_event_loop_refuses_invalid_input(rule: str, options: dict[str, object]) -> None:
    with refused(InvalidOption):
        simulate(cotenant.read("scheduling/tiny"), rule, **options)


def test_ut_fair_share_refuses_products_beyond_int64() -> None:
    with refused(InvalidInstance):
        simulate(
            Scheduling([4000], [0] * 4000, [0] * 4000, [2**24] * 4000, horizon=2**24), "UTFAIRSHARE"
        )
