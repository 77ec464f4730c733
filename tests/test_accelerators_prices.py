"""Prices of time on accelerators: the equilibrium against its definition, in fractions."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from support.lotteries import best_exactly, exact_errors
from support.messages import refused
from support.proved import Document, proved
from support.seeds import seeds
from support.small_accelerators import drawn

import cotenant
from cotenant.instances.accelerators import Accelerators, TimeShares
from cotenant.instances.accelerators.envy import envy
from cotenant.instances.accelerators.equilibrium import best_reply, residuals
from cotenant.instances.problem.errors import InvalidInstance, InvalidOption
from cotenant.solvers.accelerators.hylland_zeckhauser import hylland_zeckhauser
from cotenant.solvers.accelerators.simplices import NoPath, follow_path
from cotenant.verify.accelerators_prices import best_within

TOLERANCE = 1e-8


@pytest.mark.parametrize("seed", seeds(40, 4))
@pytest.mark.parametrize("budget", ["equal", "weight"])
def test_the_errors_are_those_of_the_definition(seed: int, budget: str) -> None:
    instance = drawn(seed)
    result = cotenant.solve(instance, "hylland-zeckhauser", budget=budget)
    found = residuals(instance, result.solution, budget=budget)
    assert found is not None
    exact = exact_errors(instance, result.solution, budget)
    stated = (found.clearing, found.overspending, found.regret)
    assert stated == pytest.approx([float(error) for error in exact], abs=1e-12)
    assert result.objective == found.worst
    assert result.status == ("optimal" if found.worst <= TOLERANCE else "feasible")


def test_nearly_all_small_markets_are_settled() -> None:
    settled = [
        cotenant.solve(drawn(seed), "hylland-zeckhauser").status == "optimal" for seed in range(12)
    ]
    assert sum(settled) >= 11


def one_device(**fields: object) -> Accelerators:
    return Accelerators(throughput=[[2.0], [5.0]], count=[1, 1], devices=[1], **fields)  # type: ignore[arg-type]


def shares_of(instance: Accelerators, **options: object) -> tuple[list[float], list[float]]:
    outcome = hylland_zeckhauser(instance, **options)  # type: ignore[arg-type]
    assert outcome.status == "optimal"
    found = np.zeros(instance.types)
    np.add.at(found, outcome.solution.first, outcome.solution.share)
    return found.tolist(), outcome.solution.price.tolist()


def test_equal_budgets_share_a_device_equally_whatever_the_throughputs() -> None:
    shares, price = shares_of(one_device())
    assert shares == pytest.approx([0.5, 0.5])
    assert price == pytest.approx([2.0])


def test_weights_are_budgets_where_that_is_asked_for() -> None:
    shares, price = shares_of(one_device(weight=[1, 3]), budget="weight")
    assert shares == pytest.approx([0.25, 0.75])
    assert price == pytest.approx([4.0])


def test_a_job_of_two_workers_pays_for_both() -> None:
    instance = Accelerators([[2.0], [5.0]], [2, 1], [2], workers=[1, 2])
    shares, price = shares_of(instance)
    assert price == pytest.approx([1.5])  # 2 + 1 budgets for two devices
    assert shares == pytest.approx([2 / 1.5, 1 / 3])


def test_devices_for_everybody_are_free() -> None:
    shares, price = shares_of(one_device().replace(devices=[3]))
    assert shares == pytest.approx([1, 1])
    assert price == [0]


def test_a_job_takes_the_cheaper_of_two_equal_kinds() -> None:
    reply = best_reply(np.array([[3.0, 3.0]]), np.array([0.9, 0.4]), np.ones(1))
    assert (reply.low.tolist(), reply.high.tolist()) == ([1], [1])


def test_a_mixture_of_a_cheap_and_a_dear_kind_spends_the_budget() -> None:
    reply = best_reply(np.array([[1.0, 3.0]]), np.array([0.5, 2.0]), np.ones(1))
    assert reply.part.tolist() == [pytest.approx(1 / 3)]
    assert reply.value.tolist() == [pytest.approx(5 / 3)]


def test_devices_left_idle_money_overspent_and_worse_shares_are_measured() -> None:
    shares = TimeShares([0, 1], [-1, -1], [0, 0], [0.2, 0.3], price=[2.0])
    found = residuals(one_device(), shares)
    assert found is not None
    assert found.clearing == pytest.approx(0.5)
    assert found.overspending == 0
    assert found.regret == pytest.approx(1 - 0.2 / 0.5)
    dear = residuals(one_device(), shares.replace(price=[5.0]))
    assert dear is not None
    assert dear.overspending == pytest.approx(0.5)
    assert residuals(one_device(), shares.replace(price=None)) is None


def many(jobs: int) -> Accelerators:
    """Every job a type of its own, on three kinds that are not enough for all."""
    rng = np.random.default_rng(0)
    speed = np.array([[1, 3, 5], [1, 2, 8], [1, 1.5, 2]])[rng.integers(3, size=jobs)]
    noisy = speed * np.exp(0.1 * rng.standard_normal((jobs, 3)))
    return Accelerators(noisy.round(4), np.ones(jobs), [jobs // 4] * 3)  # type: ignore[arg-type]


def test_many_different_jobs_clear_and_nobody_envies_another() -> None:
    instance = many(500)
    outcome = hylland_zeckhauser(instance)
    assert outcome.status == "optimal"
    assert envy(instance, outcome.solution) <= TOLERANCE
    assert cotenant.solve(instance, "max-min").metrics["envy"] > 0.1


def test_envy_is_by_what_another_place_would_give() -> None:
    instance = one_device(weight=[1, 2])
    shares = TimeShares([0, 1], [-1, -1], [0, 0], [0.25, 0.75])
    # a third is what the first has now; of weight 1 instead of 2 it is due half of the other's .75
    assert envy(instance, shares) == pytest.approx(1 - 0.25 / 0.375)


def test_envy_in_a_pair_is_of_the_place_beside_the_same_job() -> None:
    instance = Accelerators(
        [[4.0], [4.0], [4.0]], [1, 1, 1], [2],
        together=[[[np.inf], [np.inf], [2.0]], [[np.inf], [np.inf], [3.0]],
                  [[1.0], [1.0], [np.inf]]],
    )  # fmt: skip
    shares = TimeShares([0, 1], [2, -1], [0, 0], [1.0, 0.4])
    # the second would have 3 in the first's place, and has 1.6
    assert envy(instance, shares) == pytest.approx(1 - 1.6 / 3)


def test_prices_go_through_a_file_and_shares_without_them_do_not_mention_them() -> None:
    instance = cotenant.read("accelerators/tiny")
    result = cotenant.solve(instance, "hylland-zeckhauser")
    assert TimeShares.from_document(result.solution.document()) == result.solution
    assert "price" not in cotenant.solve(instance, "max-min").solution.document()
    with refused(InvalidInstance):
        result.solution.replace(price=[-1.0, 0.0])


def test_wrong_options_are_refused() -> None:
    for options in ({"budget": "rich"}, {"tolerance": 0}, {"starts": 0}):
        with refused(InvalidOption):
            hylland_zeckhauser(one_device(), **options)  # type: ignore[arg-type]


def test_without_time_the_answer_is_feasible_and_its_error_is_stated() -> None:
    instance = many(50)
    result = cotenant.solve(instance, "hylland-zeckhauser", time_limit=1e-9)
    assert result.status == "feasible"
    assert result.bound is None
    assert result.objective > TOLERANCE
    cotenant.check(instance, result.solution)


@pytest.mark.parametrize("jump", [0.3, -2.0, 5.0])
def test_a_path_ends_where_a_map_jumps_over_zero(jump: float) -> None:
    def function(point: np.ndarray) -> np.ndarray:
        return np.array([np.sign(point[0] - jump) + 0.1 * point[0], point[1] - point[0]])

    simplex = follow_path(function, np.zeros(2), 0.01, 5000)
    assert simplex.center[0] == pytest.approx(jump, abs=0.02)
    values = np.array([function(point) for point in simplex.points])
    assert simplex.weights @ values == pytest.approx(np.zeros(2), abs=1e-12)


def test_a_path_that_is_too_long_is_given_up() -> None:
    with pytest.raises(NoPath, match="longer than 3"):
        follow_path(lambda point: point - 5, np.zeros(2), 0.01, 3)


@pytest.mark.parametrize("seed", seeds(40, 6))
@pytest.mark.parametrize("budget", ["equal", "weight"])
def test_an_equilibrium_is_certified_with_its_exact_errors(seed: int, budget: str) -> None:
    instance = drawn(seed)
    outcome = cotenant.solve(instance, "hylland-zeckhauser", budget=budget).outcome
    level = proved(instance, "hylland-zeckhauser", outcome, budget=budget).proof.levels[0]
    assert level.epsilon is not None
    exact = exact_errors(instance, outcome.solution, budget)
    stated = [float(level.epsilon[name]) for name in ("clearing", "overspending", "regret")]
    assert stated == pytest.approx([float(error) for error in exact], abs=1e-11)
    assert level.value == max(level.epsilon.values())


FORGERIES: dict[str, Callable[[Document], object]] = {
    "another budget": lambda p: p["options"].update(budget="weight"),
    "no known budget": lambda p: p["options"].update(budget="rich"),
    "a lower price": lambda p: p["steps"][0]["price"]["numbers"].__setitem__(0, 1),
    "a price below 0": lambda p: p["steps"][0]["price"]["numbers"].__setitem__(0, -1),
    "a price left out": lambda p: p["steps"][0]["price"]["numbers"].pop(),
    "a share left out": lambda p: p["witness"]["shares"].pop(),
    "a pair": lambda p: p["witness"]["shares"][0].__setitem__(1, 1),
    "no answer": lambda p: p.update(witness=None),
    "no clearing error": lambda p: p["claim"]["epsilon"].update(clearing="-1/10"),
    "a smaller error": lambda p: p["claim"].update(value=0, epsilon=dict.fromkeys(
        ("clearing", "overspending", "regret"), 0)),
    "an optimum": lambda p: p["claim"].update(claim_kind="optimal"),
}  # fmt: skip


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_refused(change: Callable[[Document], object]) -> None:
    tiny = cotenant.read("accelerators/tiny")
    # far from an equilibrium, so that every error counts
    instance = tiny.replace(together=None, weight=[1, 2], count=[3, 2])
    outcome = hylland_zeckhauser(instance, tolerance=0.5)
    proved(instance, "hylland-zeckhauser", outcome).refuses(change)


def test_what_is_best_within_a_budget_is_so_of_drawn_lotteries() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        value, cost = rng.integers(0, 6, 3).tolist(), rng.integers(0, 6, 3).tolist()
        budget = int(rng.integers(1, 5))
        best = best_within(value, cost, budget)
        worth, paid = list(map(Fraction, value)), list(map(Fraction, cost))
        assert best == best_exactly(worth, paid, Fraction(budget))
        part = rng.dirichlet(np.ones(4))[:3]
        part *= min(1.0, budget / max(part @ cost, 1e-12))
        assert part @ value <= float(best) + 1e-12


def test_many_different_jobs_are_certified() -> None:
    instance = many(300)
    sentence = proved(instance, "hylland-zeckhauser").sentence
    assert "an equilibrium," in sentence
