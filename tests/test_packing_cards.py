"""Cards inside servers: fields, fillings, and the checker."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from support.messages import refused
from support.oracles.packing import most_cards, on_some_cards, random_cards
from support.seeds import ranges, seeds

import cotenant
from cotenant.instances.packing import Packing, Placement, check
from cotenant.instances.packing.cards import fillings, on_cards, units_taken, units_there
from cotenant.instances.problem.errors import InfeasibleSolution, InvalidInstance
from cotenant.models.packing.cards import cards_model, cards_program
from cotenant.models.program import from_pyomo
from cotenant.solvers.engines import solve_program
from cotenant.solvers.outcome import Status, Stop
from cotenant.solvers.packing.cards import card_packing, max_gpus

TWO = Packing(
    capacity=[[16, 64], [32, 128]], demand=[[4, 8], [2, 4], [1, 1], [3, 3]], request=[3, 6, 4, 2],
    servers=[2, 1], partial=True, cards=[2, 4], card_model=["T4", "V100"], card_units=100,
    card_demand=[2, 1, 0, 0], card_share=[0, 0, 60, 40],
)  # fmt: skip
"""Two servers of two cards, one of four; two, one, .6 and .4 of a card."""


@pytest.mark.parametrize(
    "fields",
    [
        {"cards": None},
        {"cards": None, "card_demand": None, "card_share": None},
        {"card_share": [0, 0, 100, 40]},
        {"card_demand": [2, 1, 1, 0]},
        {"card_demand": [5, 1, 0, 0]},
        {"cards": [0, 0], "card_demand": None},
        {"cards": [-1, 2]},
        {"cards": [2]},
        {"card_units": 0},
        {"cards": [2**52, 1]},
        {"card_model": ["T4"]},
    ],
    ids=str,
)
def test_fields_that_do_not_go_together_are_refused(fields):
    with refused(InvalidInstance):
        TWO.replace(**fields)


@pytest.mark.parametrize(
    ("count", "kind"),
    [([1, 1, 0, 0], 0), ([0, 0, 3, 0], 0), ([0, 1, 1, 2], 0), ([0, 0, 4, 2], 0)],
    ids=["three cards of two", "three of .6 on two", ".6, .4 and .4 on one", "more units"],
)
def test_cards_that_are_too_few_are_named(count, kind):
    with refused(InfeasibleSolution):
        check(TWO, Placement([count], [kind]))


@pytest.mark.parametrize("count", [[1, 0, 0, 0], [0, 1, 1, 1], [0, 0, 2, 2], [0, 2, 0, 0]])
def test_servers_filled_to_their_last_unit_are_answers(count):
    check(TWO, Placement([count], [0]))


def test_first_fit_decreasing_is_not_the_last_word():
    # 3+2+2 fills a card of 7 twice; first fit decreasing puts 3 and 3 together
    assert on_cards((3, 2), (2, 4), 2, 7) == [(1, 2), (1, 2)]


@pytest.mark.parametrize("drawn", ranges(4000, 60, 400), ids=str)
def test_shares_fit_cards_as_enumeration_says(drawn):
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


@pytest.mark.parametrize("drawn", ranges(1000, 20, 500), ids=str)
def test_fillings_are_all_that_are_maximal(drawn):
    for seed in drawn:
        rng = np.random.default_rng(seed)
        units = int(rng.integers(3, 15))
        sizes = tuple(sorted(set(rng.integers(1, units, 4).tolist()), reverse=True))
        every = [
            row
            for row in itertools.product(*(range(units // size + 1) for size in sizes))
            if np.dot(row, sizes) <= units
        ]
        maximal = [row for row in every if np.dot(row, sizes) + min(sizes) > units]
        found = list(fillings(sizes, units))
        assert sorted(found) == sorted(maximal)


@pytest.mark.parametrize("drawn", ranges(14_000, 12, 500), ids=str)
def test_no_placement_allocates_more_cards_than_max_gpus(drawn):
    for seed in drawn:
        try:
            given = random_cards(np.random.default_rng(seed))
        except InvalidInstance:
            continue
        if given.types > 3:
            continue
        found = max_gpus(given, time_limit=60)
        check(given, found.solution)
        taken = int(found.solution.totals(given.types) @ units_taken(given))
        there = units_there(given)
        best = most_cards(given)
        assert Fraction(100 * taken, there) == best, seed
        assert (found.status, found.stop) == (Status.OPTIMAL, Stop.FINISHED)
        assert found.bound == pytest.approx(float(best), abs=1e-9)


def test_the_program_of_pyomo_is_the_one_that_is_solved():
    packing, _, _ = card_packing(cotenant.read("packing/cards"))
    built = cards_program(packing, integer=True).program
    own, stated = solve_program(built), solve_program(from_pyomo(cards_model(packing)))
    assert own.objective == pytest.approx(stated.objective)
    assert own.status is stated.status is Status.OPTIMAL


@pytest.mark.parametrize("seed", seeds(6, 1))
def test_middle_instances_end_as_the_program_by_servers_does(seed):
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
