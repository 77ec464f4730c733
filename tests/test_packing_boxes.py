"""The game on boxes of total counts against the same on lists of all counts that can be reached."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.seeds import numbers

from cotenant.instances.packing import Packing, check
from cotenant.instances.packing.generators import vm_types
from cotenant.instances.problem import InvalidOption
from cotenant.solvers.outcome import Clock, Status, Stop
from cotenant.solvers.packing.game.boxes import Boxes
from cotenant.solvers.packing.game.play import by_lists, equilibrium, fuga
from cotenant.solvers.packing.game.states import least_states, levels
from cotenant.solvers.packing.game.strategies import Game, game_of


def listed(game: Game) -> list[list[int]]:
    rows: list[list[int]] = by_lists(game, levels(game, Clock()), Clock()).tolist()
    return rows


def on_boxes(game: Game, kept: int) -> list[list[int]]:
    rows = Boxes.of(game, small=0).solve(Clock(), kept)
    assert rows is not None
    played: list[list[int]] = rows.tolist()
    return played


def drawn(brute: Any, rng: np.random.Generator, *, near: bool) -> Game:
    """A game with ties; all utilities may count as too near for floats."""
    instance = brute.random_game(rng, bool(rng.integers(2)))
    servers = rng.integers(1, 4, instance.classes).astype(float)
    options = {"eta": int(rng.integers(1, 7)), "alpha": float(rng.integers(2, 6))}
    game = game_of(instance.replace(servers=servers), **options)
    if near:
        game.__dict__["worths"] = dataclasses.replace(game.worths, slack=1e9)
    return game


@pytest.mark.slow
def test_fuga_box_representation_gives_same_play_as_lists(brute: Any) -> None:
    rng = np.random.default_rng(5)
    for _ in range(1500):
        game = drawn(brute, rng, near=False)
        right = listed(game)
        assert [on_boxes(game, kept) for kept in (1, 50, 10**7)] == [right] * 3


@pytest.mark.parametrize("number", numbers(300, 5))
def test_fuga_boxes_compare_close_utilities_exactly(brute: Any, number: int) -> None:
    rng, asked = np.random.default_rng(6), 0
    for _ in range(number):
        game = drawn(brute, rng, near=True)
        boxes = Boxes.of(game, small=0)
        play = boxes.solve(Clock(), 1)
        assert play is not None
        assert play.tolist() == listed(game)
        asked += len(boxes.keys)
    assert asked


@pytest.mark.parametrize(
    ("machines", "types", "eta"),
    [(60, "Tiny,Medium,Large", 10), (24, "Tiny,Small,Medium,Large", 5), (40, "Tiny,Tiny,Large", 7)],
)
def test_fuga_on_box_coordinates_equals_fuga_on_listed_strategies(
    machines: int, types: str, eta: int
) -> None:
    instance = vm_types(machines=machines, types=types, resources=2, rng=np.random.default_rng(0))
    game = game_of(instance, eta=eta, alpha=5.0)
    boxes = Boxes.of(game)
    identity = np.eye(len(boxes.map), dtype=int)
    assert (boxes.map @ boxes.axes.T == identity).all()
    assert boxes.fits(10**7)
    assert on_boxes(game, 10_000) == listed(game)


def test_fuga_with_large_boxes_falls_back_to_lists() -> None:
    users = Packing(capacity=[[40], [30]], demand=np.arange(3, 11)[:, None], servers=[9.0, 9.0])  # type: ignore[arg-type]
    many = game_of(users, eta=3)
    assert not Boxes.of(many).fits(10**9)
    assert equilibrium(many)[0].tolist() == listed(many)
    roots = game_of(vm_types(rng=np.random.default_rng(0)), alpha=2.5)
    assert not Boxes.of(roots).fits(10**9)


def test_game_beyond_memory_is_refused_before_listing_states() -> None:
    large = vm_types(machines=2000, resources=2, rng=np.random.default_rng(0))
    for options in ({}, {"alpha": 2.5}):
        with refused(InvalidOption):
            fuga(large, eta=10, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", numbers(400, 20))
def test_estimated_number_of_game_states_is_lower_bound(brute: Any, number: int) -> None:
    rng, close = np.random.default_rng(7), 0
    for _ in range(number):
        game = drawn(brute, rng, near=False)
        if not game.capped:
            states = sum(map(len, levels(game, Clock())))
            assert game.players < least_states(game) <= states
            close += least_states(game) == states
    assert close


def test_fuga_uses_lists_if_box_limit_is_too_small() -> None:
    game = game_of(Packing(capacity=[[9]], demand=[[1]], servers=[1.0]), eta=3)  # type: ignore[arg-type]
    boxes = Boxes.of(game)
    # 4 states; boxes hold 6 values of the 3 counts of the last level
    assert boxes.fits(6)
    assert not boxes.fits(4)
    assert equilibrium(game, most_states=4)[0].tolist() == equilibrium(game)[0].tolist()
    with refused(InvalidOption):
        boxes.fits(3)


@pytest.mark.parametrize("options", [{}, {"alpha": 2.5}])
def test_fuga_interrupted_at_any_report_returns_a_play(options: dict[str, Any]) -> None:
    instance, seen, last = vm_types(machines=9, rng=np.random.default_rng(0)), 0, 0

    def report(*_: Any) -> None:
        nonlocal seen
        seen += 1
        if seen == last:
            raise KeyboardInterrupt

    assert fuga(instance, report=report, **options).stop is Stop.FINISHED
    for moment in range(1, seen + 1):
        seen, last = 0, moment
        outcome = fuga(instance, report=report, **options)
        check(instance, outcome.solution)
        assert (outcome.status, outcome.stop) == (Status.FEASIBLE, Stop.INTERRUPTED)
        assert "states" not in outcome.certificate
