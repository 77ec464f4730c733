"""Cards inside servers: fields, fillings, and the checker."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.oracles.packing import most_cards, on_some_cards, random_cards
from support.oracles.placement import best, state, with_cards
from support.oracles.vipr_rules import infeasible
from support.proved import case_of, has_point, proved
from support.seeds import ranges, seeds

import cotenant
from cotenant.analysis.run.verify_result import recheck
from cotenant.instances.packing import Packing, Placement, check
from cotenant.instances.packing.cards import on_cards, units_taken, units_there
from cotenant.instances.packing.csv_reader import vms_csv
from cotenant.instances.problem.errors import (
    InvalidFile,
    InvalidInstance,
    NoSolution,
)
from cotenant.models.packing.cards import cards_model, cards_program
from cotenant.models.program import from_pyomo
from cotenant.solvers.engines import WarmStartedProgram, solve_program
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.packing.cards import CardLimits, card_packing, max_gpus, valid_prices
from cotenant.solvers.proofs.vipr import certificates
from cotenant.verify import Refused
from cotenant.verify.packing import Packing as CheckedPacking
from cotenant.verify.packing_cards import cards_program as cards_tree_program

TWO = Packing(
    capacity=[[16, 64], [32, 128]], demand=[[4, 8], [2, 4], [1, 1], [3, 3]], request=[3, 6, 4, 2],
    servers=[2, 1], partial=True, cards=[2, 4], card_model=["T4", "V100"], card_units=100,
    card_demand=[2, 1, 0, 0], card_share=[0, 0, 60, 40],
)  # fmt: skip
"""Two servers of two cards, one of four; two, one, .6 and .4 of a card."""


@pytest.mark.parametrize("count", [[1, 0, 0, 0], [0, 1, 1, 1], [0, 0, 2, 2], [0, 2, 0, 0]])
def test_placement_filling_cards_exactly_is_feasible(count):
    check(TWO, Placement([count], [0]))


def valid(drawn: range, make: Callable[[int], Packing]) -> Iterator[tuple[int, Packing]]:
    """Seeds whose instance is valid, with the instance."""
    for seed in drawn:
        try:
            given = make(seed)
        except InvalidInstance:
            continue
        yield seed, given


def few_types(drawn: range) -> Iterator[tuple[int, Packing]]:
    """Seeds and instances of random cards of at most three types."""
    made = valid(drawn, lambda seed: random_cards(np.random.default_rng(seed)))
    return ((seed, given) for seed, given in made if given.types <= 3)


@pytest.mark.parametrize("drawn", ranges(4000, 60, 400), ids=str)
def test_packing_of_gpu_shares_on_cards_equals_enumeration(drawn):
    for seed in drawn:
        rng = np.random.default_rng(seed)
        units, cards = int(rng.integers(3, 15)), int(rng.integers(1, 4))
        shares = sorted(rng.integers(1, units, int(rng.integers(1, 8))).tolist(), reverse=True)
        sizes = tuple(sorted(set(shares), reverse=True))
        number = [shares.count(size) for size in sizes]
        found = on_cards(sizes, number, cards, units)
        assert (found is not None) == on_some_cards(shares, cards, units)
        if found is not None:
            assert len(found) <= cards
            assert [sum(column) for column in zip(*found, strict=True)] == number
            assert all(np.dot(row, sizes) <= units for row in found)


@pytest.mark.slow
@pytest.mark.parametrize("drawn", ranges(3_000, 12, 500), ids=str)
def test_max_gpus_equals_enumerated_optimum(drawn):
    for seed, given in few_types(drawn):
        found = max_gpus(given, time_limit=60)
        check(given, found.solution)
        taken = int(found.solution.totals(given.types) @ units_taken(given))
        there = units_there(given)
        best = most_cards(given)
        assert Fraction(100 * taken, there) == best, seed
        assert (found.status, found.stop) == (Status.OPTIMAL, Stop.FINISHED)
        assert found.bound == pytest.approx(float(best), abs=1e-9)
        if seed % 4 == 0:
            [level] = proved(given, "max-gpus").proof.levels
            assert level.value == best <= level.bound, seed


def test_pyomo_cards_model_equals_solved_program():
    packing, _, _ = card_packing(cotenant.read("packing/cards"))
    built = cards_program(packing, integer=True).program
    own, stated = solve_program(built), solve_program(from_pyomo(cards_model(packing)))
    assert own.objective == pytest.approx(stated.objective)
    assert own.status is stated.status is Status.OPTIMAL


@pytest.mark.parametrize("seed", seeds(6, 1))
def test_max_gpus_equals_per_server_program(seed):
    rng = np.random.default_rng(seed)
    given = Packing(
        capacity=[[64, 256], [96, 768]], servers=[3, 3], cards=[4, 8], card_units=100,
        demand=rng.integers(2, 12, (10, 2)), request=rng.integers(2, 9, 10), partial=True,
        card_demand=[0] * 7 + [1, 2, 4], card_share=[*rng.integers(5, 90, 7), 0, 0, 0],
    )  # fmt: skip
    found = max_gpus(given, time_limit=20)
    problem, *_ = card_packing(given)
    kind = np.repeat([0, 1], 3)
    alone = replace(problem, able=problem.able[:, kind], capacity=problem.capacity[kind],
                    cards=problem.cards[kind], servers=np.ones(6, dtype=np.int64))  # fmt: skip
    other = solve_program(cards_program(alone, integer=True).program, time_limit=20)
    there = units_there(given)
    taken = int(found.solution.totals(given.types) @ units_taken(given))
    assert taken >= -other.objective - 1e-6
    assert -other.bound >= taken - 1e-6
    assert found.bound >= 100 * -other.objective / there - 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("drawn", ranges(400, 4, 100), ids=str)
def test_packing_with_cards_equals_enumeration(drawn):
    for seed, given in valid(drawn, lambda seed: with_cards(state(50_000 + seed), seed)):
        least = best(given)
        wanted = (None,) * 3 if least is None else (least.servers, least.cost, least.moves)
        methods = ("min-servers", "min-cost", "fewest-moves")
        for method, value in zip(methods, wanted, strict=True):
            result = cotenant.solve(given, method)
            assert result.status == ("infeasible" if value is None else "optimal"), (seed, method)
            assert result.objective == result.bound == value, (seed, method)
        for policy in ("FF", "FFD", "BFD", "dot", "L2", "random-fit", "cp-sat"):
            with contextlib.suppress(NoSolution):
                solution = cotenant.solve(given, policy).solution
                assert (solution is None) == (least is None) or policy != "cp-sat"
                if solution is not None:
                    check(given, solution)


@pytest.mark.parametrize("drawn", ranges(600, 2, 100), ids=str)
def test_bounds_with_cards_are_valid(drawn):
    for seed, given in valid(drawn, lambda seed: with_cards(state(60_000 + seed), seed)):
        if (least := best(given)) is None:
            continue
        for method, value in (("min-servers", least.servers), ("fewest-moves", least.moves)):
            [level] = proved(given, method).proof.levels
            assert level.value == value, (seed, method)
            assert level.bound is None or level.bound <= value, (seed, method)


WASTE = Packing(
    capacity=[[32, 256], [64, 512]], servers=[2, 2], cards=[2, 4], card_units=100, partial=True,
    demand=[[4, 24], [2, 8], [3, 16], [8, 32], [6, 48], [16, 128], [32, 256]],
    request=[2, 1, 5, 7, 1, 1, 1], card_share=[25, 30, 47, 81, 0, 0, 0],
    card_demand=[0, 0, 0, 0, 1, 2, 4], allowed=[[1, 1]] * 4 + [[0, 1], [1, 1], [0, 1]],
)  # fmt: skip
"""Twelve cards that cannot all be full: .81 beside nothing, .47 twice."""


def _cheaper(place: int) -> Any:
    def change(proof: Any) -> None:
        step = proof["steps"][0]
        for name in ("prices", "card"):
            step[name] = [price * place // 100 for price in step[name]]
        step["shares"] = [[price * place // 100 for price in row] for row in step["shares"]]

    return change


def _doubled(proof: Any) -> None:
    """A share of .47 that costs what it takes: twice it is more than a card."""
    step = proof["steps"][0]
    for row in step["shares"]:
        row[1] += step["prices"][2]
    step["prices"][2] = 0
    proof["claim"]["bound"] = None  # the claim is not what is wrong with it


def test_forged_card_price_in_proof_is_refused():
    made = proved(WASTE, "max-gpus", max_gpus(WASTE, limits=CardLimits(columns=0)))
    [level] = made.proof.levels
    assert level.value < level.bound < 100
    assert level.bound == Fraction(100 * 1150, 1200)
    made.refuses(_cheaper(99))
    made.refuses(lambda p: p["steps"][0]["card"].__setitem__(0, p["steps"][0]["card"][0] - 1))
    made.refuses(lambda p: p["steps"][0]["shares"][1].__setitem__(0, 0))
    made.refuses(lambda p: p["steps"][0]["prices"].__setitem__(4, 0))
    made.refuses(_doubled)
    made.refuses(lambda p: p["steps"][0]["shares"].pop())
    made.refuses(lambda p: p["steps"][0].update(over=p["steps"][0]["over"] + 1))
    made.refuses(lambda p: p["claim"].update(bound="9583/100"))
    made.refuses(lambda p: p["witness"]["count"][0].__setitem__(3, 3))


def test_answer_with_too_few_cards_is_refused():
    made = proved(TWO.replace(partial=False, request=[1, 1, 2, 1]), "min-servers")
    assert made.proof.complete
    # .6, .6 and .4 on the two cards of one server: .6 with .4, and no room for a whole one
    made.refuses(
        lambda p: p["witness"].update(count=[[0, 1, 2, 1], [1, 0, 0, 0]], server_class=[0, 1])
    )


@pytest.mark.slow
def test_gpu_bound_at_any_dual_prices_of_card_program_is_valid():
    rng = np.random.default_rng(5)
    problem, *_ = card_packing(WASTE)
    program = cards_program(problem).program
    dual = -WarmStartedProgram(program).solve().row_dual
    best = int(max_gpus(WASTE).solution.totals(WASTE.types) @ units_taken(WASTE))
    for scale in (0.0, 0.01, 1.0, 100.0):
        for _ in range(20):
            noise = scale * rng.normal(size=program.rows)
            prices = valid_prices(problem, (dual + noise) * (rng.random(program.rows) < 0.8))
            assert prices.bound(problem) >= best


@pytest.mark.slow
@pytest.mark.parametrize("most", [3, 8, 12])
def test_rounded_card_shares_keep_valid_bound(most):
    fine = max_gpus(WASTE)
    coarse = max_gpus(WASTE, limits=CardLimits(fillings=most, columns=0))
    check(WASTE, coarse.solution)
    assert coarse.bound >= fine.bound


@pytest.mark.slow
def test_answer_names_cards_of_vms():
    found = max_gpus(WASTE).solution
    frame = found.to_frame(WASTE)
    for _, server in frame.groupby("server"):
        taken: dict[int, int] = {}
        for row in server.itertuples():
            i = int(row.VM.split()[-1])
            for card in map(int, row.cards.split(", ")):
                taken[card] = taken.get(card, 0) + (int(WASTE.card_share[i]) or 100)
        assert max(taken.values()) <= 100
        assert max(taken) < WASTE.cards[int(server["class"].iloc[0].split()[-1])]


def test_card_columns_of_tables_are_read(tmp_path):
    (tmp_path / "hosts.csv").write_text("name,cpu,cards,card_model\nx,16,2,T4\ny,32,4,V100\n")
    vms = "name,cpu,card_demand,card_share,card_models\na,2,,350,\nb,4,1,,V100\nc,1,,,\n"
    (tmp_path / "vms.csv").write_text(vms)
    read = vms_csv(tmp_path)
    assert (read.cards.tolist(), read.card_model) == ([2, 4], ("T4", "V100"))
    assert (read.card_demand.tolist(), read.card_share.tolist()) == ([0, 1, 0], [350, 0, 0])
    assert read.allowed.tolist() == [[True, True], [False, True], [True, True]]
    (tmp_path / "vms.csv").write_text(vms.replace("V100", "V10"))
    with refused(InvalidFile):
        vms_csv(tmp_path)
    (tmp_path / "vms.csv").write_text(vms)
    (tmp_path / "hosts.csv").write_text("name,cpu\nx,16\ny,32\n")
    with refused(InvalidFile):
        vms_csv(tmp_path)


def _on_one_resource(capacity, servers, cards, demand, request, card_demand, card_share):
    """Servers of one class, whose cards have 100 units."""
    return Packing(
        capacity=[[capacity]], servers=[servers], cards=[cards], demand=[[d] for d in demand],
        request=request, partial=True, card_units=100, card_demand=card_demand,
        card_share=card_share,
    )  # fmt: skip


def test_max_gpus_distinguishes_optima_differing_by_1e_12():
    half = 5 * 10**11
    one = {"demand": [[1], [1]], "partial": True, "cards": [1], "card_units": 2 * half}
    instance = Packing(
        capacity=[[1]], servers=[1], request=[1, 1], card_demand=[0, 0], card_share=[half, half + 1],
        **one,
    )  # fmt: skip
    worse = Placement([[1, 0]], [0])
    found = max_gpus(instance, start=worse)
    assert found.solution.totals(2).tolist() == [0, 1]
    assert (found.status, found.bound) == (Status.OPTIMAL, 100 * (half + 1) / (2 * half))


@pytest.mark.parametrize("seed", seeds(120, 6))
def test_max_gpus_bound_holds_at_amounts_of_a_billion_and_more(seed):
    rng = np.random.default_rng([50, seed])
    unit, types = int(rng.choice([10**9, 10**10, 10**12])), int(rng.integers(2, 5))
    demand = [int(rng.integers(1, 5)) * unit + int(rng.integers(-1, 2)) for _ in range(types)]
    share = [int(rng.integers(1, 100)) * int(rng.random() < 0.7) for _ in range(types)]
    instance = _on_one_resource(
        max(int(rng.integers(3, 9)) * unit - int(rng.integers(2)), *demand),
        int(rng.integers(1, 4)), 2, demand, rng.integers(1, 4, types).tolist(),
        [0 if each else 1 for each in share], share,
    )  # fmt: skip
    most = most_cards(instance)
    result = cotenant.solve(instance, "max-gpus", time_limit=5)
    assert result.objective <= float(most) + 1e-9 <= result.bound + 2e-9
    if result.status == "optimal":
        assert result.objective == pytest.approx(float(most), abs=1e-9)


@pytest.mark.slow
def test_max_gpus_proof_with_tree_closes_gap_left_by_price_bound(tmp_path):
    instance = _on_one_resource(
        79_999_999_999, 3, 4, [10**10, *[3 * 10**10] * 3], [2, 3, 2, 3], [1, 0, 0, 0],
        [0, 41, 9, 70],
    )  # fmt: skip
    result = cotenant.solve(instance, "max-gpus", time_limit=10)
    assert cotenant.prove(instance, result, tmp_path).proof_status == "certified"
    assert recheck(instance, result).bound == "proved"
    made = proved(instance, "max-gpus")
    [level] = made.proof.levels
    assert (level.value, level.bound) == (Fraction(533, 12), Fraction(533, 12))
    made.refuses(lambda p: p["steps"][1].update(above=532))
    made.refuses(lambda p: p["steps"][1]["tree"].pop())
    made.refuses(lambda p: p["steps"].pop())
    # its VIPR certificate is of the program of more than 533 units, and none shows that 533 are too many
    document = made.document
    [text] = certificates(made.content, json.dumps(document).encode())
    assert infeasible(text)
    document["steps"][1]["above"] = 532
    with pytest.raises(Refused):
        certificates(made.content, json.dumps(document).encode())
    # without the tree in its certificate the claim is the stronger one
    bare = {name: value for name, value in result.certificate.items() if name != "card_tree"}
    result = replace(result, certificate=bare)
    words = "bound 44.41666667 claimed, 45.91666667 proved"
    assert cotenant.prove(instance, result, tmp_path).weaker == words
    assert recheck(instance, result).claimed == (words,)


@pytest.mark.parametrize("drawn", ranges(3_000, 10, 300), ids=str)
def test_verifier_program_of_cards_is_feasible_iff_gpu_count_is_below_optimum(drawn):
    for seed, given in few_types(drawn):
        best = int(most_cards(given) * units_there(given) / 100)
        checked = CheckedPacking(case_of(given), ruled=True)
        points = [has_point(cards_tree_program(checked, above)) for above in (best - 1, best)]
        assert points == [True, False], seed


def just_enough_room(seed: int) -> Packing:
    """Thirty servers of eight cards, for 1.3 times as many, with a tenth less CPU than all that the
    cards hold needs on average: at the prices of the program CPU costs nothing or little.
    """
    rng = np.random.default_rng(seed)
    share = rng.choice([100, 200, 250, 300, 400, 460, 500, 600, 700, 800, 900], 14)
    whole = np.zeros(14, dtype=np.int64)
    of_cards = rng.choice(14, 3, replace=False)
    share[of_cards], whole[of_cards] = 0, [1, 2, 4]
    units = 1000 * whole + share
    cpu = np.maximum(1, np.rint(units / 100 * rng.lognormal(0, 0.5, 14))).astype(np.int64)
    weight = rng.dirichlet(np.ones(14))
    request = np.ceil(weight / (weight @ units) * 30 * 8000 * 1.3)
    return Packing(
        capacity=[[int(0.9 * (request @ cpu) / 1.3 / 30)]], demand=cpu[:, None], request=request,
        servers=[30], cards=[8], card_demand=whole, card_share=share, partial=True,
    )  # fmt: skip


@pytest.mark.parametrize("seed", [3, 8, 10, 11])
def test_max_gpus_at_prices_of_reduced_capacity_allocates_more_cards(seed: int) -> None:
    instance = just_enough_room(seed)
    units = 1000 * instance.card_demand + instance.card_share
    taken = []
    for less in ((), CardLimits().less_room):
        limits = CardLimits(less_room=less, routes=frozenset())
        found = max_gpus(instance, rng=np.random.default_rng(0), limits=limits)
        taken.append(found.solution.totals(instance.types) @ units / (30 * 8000))
    assert taken[1] > taken[0] + 0.05
