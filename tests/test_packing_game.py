"""The fairness-utilization game: paper's example, game trees, boxes of counts, joint optimum."""

# mypy: disable-error-code="union-attr,index,no-any-return,dict-item"

from __future__ import annotations

import dataclasses
import decimal
import re
from typing import Any

import numpy as np
import pytest
from support.messages import refused
from support.seeds import numbers
from support.terminal import run as terminal

from cotenant.analysis.packing.trees import game_in_efg
from cotenant.instances.packing import Packing, check
from cotenant.instances.packing.game import FairShare, min_utilization, skewness
from cotenant.instances.packing.generators import paper_example, vm_types
from cotenant.instances.problem import InvalidOption, write
from cotenant.solvers.outcome import Clock, Status, Stop
from cotenant.solvers.packing import fixed_servers
from cotenant.solvers.packing.fixed_servers import UNCAPPED, combinations
from cotenant.solvers.packing.game import joint
from cotenant.solvers.packing.game.algorithm_1 import fuga_algorithm_1
from cotenant.solvers.packing.game.boxes import Boxes
from cotenant.solvers.packing.game.joint import joint_optimum
from cotenant.solvers.packing.game.play import by_lists, equilibrium, fuga
from cotenant.solvers.packing.game.states import OutOfTime, least_states, levels
from cotenant.solvers.packing.game.strategies import (
    Game,
    game_of,
    pre_combination,
    shrunk_eta,
    with_strategies,
)
from cotenant.solvers.packing.game.tree import fuga_tree, game_tree

EXAMPLE = paper_example(rng=np.random.default_rng(0))
PRINTED = [[[2, 0, 0], [1, 2, 0], [1, 0, 1]], [[1, 2, 0], [1, 0, 1], [0, 0, 2]]]
"""The strategy sets the paper prints: d, e, f of server 1, and a, b, c of server 2 (c is not in the
true top three).
"""

D, E, F = ((2, 0, 0), (1, 2, 0), (1, 0, 1))
A, B, C = ((1, 2, 0), (1, 0, 1), (0, 0, 2))

PAYOFFS = {
    (A, D): (-1.5842, -1.5143),
    (A, E): (-1.3618, -1.3983),
    (A, F): (-1.0854, -1.1165),
    (B, D): (-1.6946, -1.5505),
    (B, E): (-1.1595, -1.1219),
    (B, F): (-1.4691, -1.4262),
    (C, D): (-1.5265, -1.3250),
    (C, E): (-1.0454, -0.9504),
    (C, F): (-1.5547, -1.4544),
}
"""(server 2's choice, server 1's) -> their utilities by eq. 14 at alpha 2, recomputed apart from
this package.
"""


def printed_game() -> Game:
    return with_strategies(game_of(EXAMPLE, eta=3), PRINTED)


def test_fair_share_of_paper_example_is_8_over_23() -> None:
    fair = FairShare.of(EXAMPLE)
    assert fair.total.tolist() == [8, 14, 90]
    assert fair.share == pytest.approx(8 / 23, abs=1e-15)
    assert fair.normalized == pytest.approx(
        np.array([[1 / 4, 2 / 7, 2 / 9], [1 / 8, 1 / 14, 1 / 9], [1 / 4, 1 / 7, 1 / 9]])
    )
    assert fair.demand == pytest.approx(
        np.array([[7 / 8, 1, 7 / 9], [1, 4 / 7, 8 / 9], [1, 4 / 7, 4 / 9]])
    )


def test_server_1_of_xu_and_yu_example_has_13_vm_combinations() -> None:
    table = pre_combination(EXAMPLE.demand, EXAMPLE.capacity[0], np.full(3, UNCAPPED))
    printed = {
        D, E, F, (1, 1, 0), (0, 2, 1), (0, 1, 1), (0, 4, 0), (0, 3, 0), (0, 2, 0), (0, 1, 0), C,
        (0, 0, 1),
    }  # fmt: skip
    assert set(map(tuple, table.tolist())) - printed == {(1, 0, 0)}
    assert len(table) == 13
    assert table.tolist() == sorted(table.tolist())


def test_strategies_of_paper_example_are_top_three_in_move_order() -> None:
    game = game_of(EXAMPLE, eta=3)
    first, second = game.strategies
    assert set(map(tuple, first.combination.tolist())) == {D, E, F}
    assert first.threshold == 0.875
    assert second.combination.tolist() == [[1, 2, 0], [0, 4, 0], [0, 2, 1]]
    assert second.least.tolist() == [11 / 12, 0.9, 5 / 6]
    at_five_sixths = [
        tuple(row)
        for row in pre_combination(
            EXAMPLE.demand, EXAMPLE.capacity[1], np.full(3, UNCAPPED)
        ).tolist()
        if min_utilization(
            EXAMPLE.capacity[1], EXAMPLE.initial_capacity[1], np.array(row) @ EXAMPLE.demand
        )
        == 5 / 6
    ]
    assert len(at_five_sixths) == 4
    assert (
        min_utilization(
            EXAMPLE.capacity[1], EXAMPLE.initial_capacity[1], np.array(C) @ EXAMPLE.demand
        )
        == 0.75
    )
    assert game.player.tolist() == [1, 0]


@pytest.mark.parametrize("rows", [1, 2, 5, 2**16])
def test_vm_combinations_in_tables_of_any_size_equal_enumeration(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fixed_servers, "MOST_ROWS", rows)
    demand, cap, free = np.array([[1, 2], [3, 0], [2, 1]]), np.array([3, UNCAPPED, 4]), [12, 9]
    every = np.array(list(np.ndindex(4, 5, 5)))
    right = every[((every @ demand) <= free).all(axis=1)]
    assert (
        np.concatenate(list(combinations(demand, cap, np.array(free)))).tolist() == right.tolist()
    )


@pytest.mark.parametrize("pair", PAYOFFS)
def test_game_payoffs_equal_published_tree(pair: tuple[tuple[int, ...], tuple[int, ...]]) -> None:
    tree = game_tree(printed_game())
    second = next(child for child in tree.successors(0) if tree.nodes[child]["action"] == pair[0])
    leaf = next(
        child for child in tree.successors(second) if tree.nodes[child]["action"] == pair[1]
    )
    assert tuple(round(value, 4) for value in tree.nodes[leaf]["payoffs"]) == PAYOFFS[pair]


def test_best_replies_and_equilibrium_of_published_packing_game_equal_hand_calculation() -> None:
    game = printed_game()
    tree = game_tree(game)
    reply = {}
    for child in tree.successors(0):
        best = next(leaf for _, leaf, chosen in tree.out_edges(child, data="played") if chosen)
        reply[tree.nodes[child]["action"]] = tree.nodes[best]["action"]
    assert reply == {A: F, B: E, C: E}
    choice, _ = equilibrium(game)
    assert choice.tolist() == [list(C), list(E)]


THREE = Packing(capacity=[[6, 5], [5, 4], [4, 3]], demand=[[1, 1], [1, 3]], servers=[1.0, 1.0, 1.0])


def test_algorithm_1_on_three_servers_is_not_the_fuga_equilibrium(brute: Any) -> None:
    game, methods = brute.ExactGame(THREE, 3, 2.0), (fuga, fuga_tree, fuga_algorithm_1)
    right, tree, wrong = (method(THREE, eta=3).certificate["choices"] for method in methods)
    assert right == tree == [[3, 0], [1, 1], [2, 1]]
    assert wrong == [[0, 1], [4, 0], [2, 1]]
    loss = [
        game.disutility(tuple(np.sum(rows, axis=0).tolist()), 0, tuple(rows[0]))
        for rows in (right, wrong)
    ]
    assert float(loss[1] - loss[0]) > 0.6


@pytest.mark.parametrize(
    "call",
    [
        lambda: fuga(EXAMPLE, most_states=2),
        lambda: fuga_tree(vm_types(rng=np.random.default_rng(0))),
        *(
            lambda options=options: fuga(
                vm_types(machines=2000, resources=2, rng=np.random.default_rng(0)),
                eta=10,
                **options,
            )
            for options in ({}, {"alpha": 2.5})
        ),
    ],
    ids=["states", "tree", "memory", "memory with alpha"],
)
def test_game_of_too_many_states_is_refused_with_cure(call):
    with refused(InvalidOption):
        call()


def test_game_strategies_per_server_decrease_with_number_of_servers() -> None:
    assert [shrunk_eta(players) for players in (1, 5, 6, 8, 12, 700)] == [10, 10, 6, 4, 2, 2]
    instance = vm_types(rng=np.random.default_rng(0))
    assert (
        fuga(instance, eta="shrinking").certificate["choices"]
        == fuga(instance, eta=4).certificate["choices"]
    )


def test_skewness_ignores_resources_absent_from_server() -> None:
    instance = Packing(capacity=[[8, 0], [8, 4]], demand=[[1, 0], [2, 2]], servers=[1.0, 1.0])
    outcome = fuga(instance)
    check(instance, outcome.solution)
    assert (
        float(min_utilization(instance.capacity[0], instance.initial_capacity[0], np.array([4, 0])))
        == 0.5
    )
    assert (
        float(skewness(instance.capacity[0], instance.initial_capacity[0], np.array([0, 0]))) == 0.0
    )


def test_fuga_at_time_limit_returns_algorithm_1(monkeypatch) -> None:
    instance = vm_types(machines=60, rng=np.random.default_rng(0))
    outcome = fuga(instance, time_limit=1e-6)
    check(instance, outcome.solution)
    assert outcome.stop is Stop.TIME_LIMIT
    assert "Algorithm 1" in outcome.certificate["equilibrium"]
    with pytest.raises(OutOfTime):
        equilibrium(game_of(instance), Clock(1e-6))


@pytest.mark.slow
def test_fuga_with_more_than_16_bits_of_strategies_fills_server() -> None:
    instance = Packing(capacity=[[33_000]], servers=[1], demand=[[1]])
    assert fuga(instance, eta=33_000).solution.totals(1).tolist() == [33_000]


def test_joint_optimum_with_coarse_rounding_stops_with_gap(monkeypatch) -> None:
    monkeypatch.setattr(joint, "scale", lambda *_, **__: 1e-4)
    instance = Packing(capacity=[[1003]], servers=[10], demand=[[100]])
    outcome = joint_optimum(instance)
    assert (outcome.status, outcome.stop) == (Status.FEASIBLE, Stop.FINISHED)


def test_joint_optimum_of_packing_game_at_fairness_alpha_5_equals_enumeration(brute) -> None:
    instance = Packing(
        capacity=[[1], [4]], initial=[[2], [4]], servers=[1, 3], demand=[[1], [1]],
    )  # fmt: skip
    found = joint_optimum(instance, eta=3, alpha=5)
    with decimal.localcontext(prec=60):
        least, _ = brute.ExactGame(instance, 3, 5.0).joint()
    assert found.status is Status.OPTIMAL
    assert found.bound == pytest.approx(float(least), abs=1e-7)


def payoffs_of_efg(text: str) -> tuple[list[str], list[float]]:
    """The players of a file of Gambit, and their payoffs by backward induction, ties to the first
    action; read by the format's grammar, apart from what writes it.
    """
    token = re.compile(r'"[^"]*"|[^\s,"]+')
    first, comment, *nodes = [token.findall(line) for line in text.splitlines() if line]
    assert (first[:3], comment) == (["EFG", "2", "R"], ['""'])
    players = first[first.index("{") + 1 : -1]
    rest, sets, outcomes = iter(nodes), set(), set()

    def payoffs() -> list[float]:
        kind, label, *others = next(rest)
        assert label == '""'
        if kind == "t":
            number, name, opening, *values, closing = others
            assert (name, opening, closing, len(values)) == ('""', "{", "}", len(players))
            assert number not in outcomes
            outcomes.add(number)
            return list(map(float, values))
        assert kind == "p"
        player, number, name, opening, *actions, closing, outcome = others
        assert (name, opening, closing, outcome) == ('""', "{", "}", "0")
        assert (player, number) not in sets
        sets.add((player, number))
        assert len({*actions}) == len(actions)
        return max([payoffs() for _ in actions], key=lambda worth: worth[int(player) - 1])

    found = payoffs()
    assert next(rest, None) is None
    return players, found


@pytest.mark.parametrize("eta", [1, 2, 3, 5])
@pytest.mark.parametrize(
    "instance",
    [
        EXAMPLE,
        THREE,
        THREE.replace(request=[4, 3], partial=True),
        vm_types(machines=4, rng=np.random.default_rng(3)),
    ],
    ids=["paper", "three", "capped", "four"],
)
def test_game_in_efg_has_the_payoffs_of_fuga(instance: Packing, eta: int, tmp_path) -> None:
    path = write(instance, tmp_path / "game.json")
    players, payoffs = payoffs_of_efg(game_in_efg(path, eta=eta))
    certificate = fuga(instance, eta=eta).certificate
    assert players == [f'"server {server}"' for server in certificate["order"]]
    assert payoffs == pytest.approx(certificate["utilities"], abs=1e-11)


def test_convert_to_efg_writes_gambit_game(tmp_path) -> None:
    out = tmp_path / "game.efg"
    done = terminal(
        "convert", "packing/paper-example", "--from", "json", "--out", str(out), "-o", "eta=2"
    )
    assert done.returncode == 0, done.stderr
    assert out.read_text() == game_in_efg("packing/paper-example", eta=2)


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
def test_fuga_play_by_boxes_of_vm_counts_equals_play_by_listed_counts(brute: Any) -> None:
    rng = np.random.default_rng(5)
    for _ in range(1500):
        game = drawn(brute, rng, near=False)
        right = listed(game)
        assert [on_boxes(game, kept) for kept in (1, 50, 10**7)] == [right] * 3


@pytest.mark.parametrize("number", numbers(300, 5))
def test_fuga_boxes_of_vm_counts_compare_close_utilities_exactly(brute: Any, number: int) -> None:
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
def test_fuga_play_of_vm_types_by_boxes_equals_play_by_listed_counts(
    machines: int, types: str, eta: int
) -> None:
    instance = vm_types(machines=machines, types=types, resources=2, rng=np.random.default_rng(0))
    game = game_of(instance, eta=eta, alpha=5.0)
    boxes = Boxes.of(game)
    identity = np.eye(len(boxes.map), dtype=int)
    assert (boxes.map @ boxes.axes.T == identity).all()
    assert boxes.fits(10**7)
    assert on_boxes(game, 10_000) == listed(game)


def test_fuga_lists_vm_counts_if_their_boxes_are_too_large() -> None:
    users = Packing(capacity=[[40], [30]], demand=np.arange(3, 11)[:, None], servers=[9.0, 9.0])  # type: ignore[arg-type]
    many = game_of(users, eta=3)
    assert not Boxes.of(many).fits(10**9)
    assert equilibrium(many)[0].tolist() == listed(many)
    roots = game_of(vm_types(rng=np.random.default_rng(0)), alpha=2.5)
    assert not Boxes.of(roots).fits(10**9)


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


def test_fuga_lists_vm_counts_if_limit_on_boxes_is_too_small() -> None:
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
