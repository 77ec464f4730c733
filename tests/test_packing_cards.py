"""Cards inside servers: fields, fillings, and the checker."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.messages import refused
from support.oracles.packing import on_some_cards
from support.seeds import ranges

from cotenant.instances.packing import Packing, Placement, check
from cotenant.instances.packing.cards import fillings, on_cards
from cotenant.instances.problem.errors import InfeasibleSolution, InvalidInstance

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
