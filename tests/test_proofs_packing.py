"""Proofs of packing: what enumeration finds is certified, and nothing else is."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from proved import Document, judged, proof_of, refuses

from cotenant import verify
from cotenant.baselines.packing import fuga_algorithm_1
from cotenant.instances.packing.generators import caprara_toth
from cotenant.instances.packing.instance import Packing
from cotenant.instances.problem.files import read
from cotenant.solvers.outcome import Outcome, Status
from cotenant.solvers.packing.minimum import min_cost, min_servers
from cotenant.solvers.proofs import Claimed


def drawn(seed: int, *, limited: bool = False) -> Packing:
    """A few VMs of few types on one to three classes of servers."""
    rng = np.random.default_rng(seed)
    classes, types = int(rng.integers(1, 4)), int(rng.integers(2, 5))
    capacity = rng.integers(8, 20, (classes, 2))
    return Packing(
        capacity=capacity,
        demand=np.minimum(rng.integers(1, 9, (types, 2)), capacity.min(axis=0)),
        request=rng.integers(1, 4, types).astype(float),
        servers=rng.integers(1, 3, classes).astype(float) if limited else None,
        cost=rng.integers(1, 9, classes),
        name=f"drawn-{seed}",
    )


def cheapest(instance: Packing, *, costs: bool) -> int | None:
    """The least cost of all answers, by enumeration; None when there is none."""
    wanted = tuple(int(number) for number in instance.wanted)
    price = instance.price.tolist() if costs else [1] * instance.classes
    fillings = {
        c: [
            row
            for row in itertools.product(*(range(number + 1) for number in wanted))
            if any(row) and (np.array(row) @ instance.demand <= instance.capacity[c]).all()
        ]
        for c in range(instance.classes)
    }
    start = tuple(99 if np.isinf(n) else int(n) for n in instance.available)

    @cache
    def least(left: tuple[int, ...], servers: tuple[int, ...]) -> float:
        if not any(left):
            return 0
        first = next(i for i, number in enumerate(left) if number)
        options = [np.inf]
        for c, rows in fillings.items():
            if not servers[c]:
                continue
            rest = tuple(number - (k == c) for k, number in enumerate(servers))
            for row in rows:
                if row[first] and all(n <= most for n, most in zip(row, left, strict=True)):
                    after = tuple(most - n for n, most in zip(row, left, strict=True))
                    options.append(price[c] + least(after, rest))
        return min(options)

    found = least(wanted, start)
    return None if np.isinf(found) else int(found)


@pytest.mark.parametrize("method", ["min-servers", "min-cost", "cp-sat", "arc-flow"])
@pytest.mark.parametrize("seed", range(6))
def test_the_optimum_by_enumeration_is_certified(tmp_path: Path, seed: int, method: str) -> None:
    instance = drawn(seed)
    content, proof = proof_of(tmp_path, instance, method)
    assert judged(content, proof).endswith("optimal")
    assert proof["claim"]["bound"] == cheapest(instance, costs=method == "min-cost")


def test_too_few_servers_are_certified_and_nobody_else_is_told_so(tmp_path: Path) -> None:
    said = set()
    for seed in range(30):
        instance = drawn(seed, limited=True)
        try:
            outcome = min_cost(instance)
        except Exception:
            continue
        content, proof = proof_of(tmp_path, instance, "min-cost", outcome)
        least = cheapest(instance, costs=True)
        assert judged(content, proof).endswith("no answer at all" if least is None else "optimal")
        assert proof["claim"]["bound"] == least
        said.add(proof["claim"]["says"])
    assert said == {"optimal", "infeasible"}


def gap() -> Packing:
    """Thirty items whose relaxation needs 8 bins, and which need 9."""
    return caprara_toth(number=1, items=30, rng=np.random.default_rng(135))


def test_a_tree_over_the_fillings_left_proves_more_than_the_relaxation(tmp_path: Path) -> None:
    content, proof = proof_of(tmp_path, gap(), "min-servers")
    assert proof["claim"]["bound"] == 9
    assert "tree" in proof["steps"][0]
    assert judged(content, proof).endswith("optimal")


@pytest.mark.parametrize("number", range(1, 11))
def test_caprara_and_toth_are_certified(tmp_path: Path, number: int) -> None:
    instance = caprara_toth(number=number, items=24, rng=np.random.default_rng(1))
    content, proof = proof_of(tmp_path, instance, "min-servers")
    assert judged(content, proof).endswith("optimal")


@pytest.mark.parametrize("seed", range(8))
def test_a_wrong_bound_of_the_method_is_not_certified(tmp_path: Path, seed: int) -> None:
    instance = drawn(seed)
    outcome = min_servers(instance)
    assert outcome.bound is not None
    wrong = replace(outcome, bound=outcome.bound + 1)
    content, proof = proof_of(tmp_path, instance, "min-servers", wrong)
    assert proof["claim"]["bound"] <= outcome.bound
    proof["claim"] |= {"bound": int(outcome.bound) + 1, "says": "gap"}
    with pytest.raises(verify.Refused, match="bound"):
        judged(content, proof)


def test_that_there_is_no_answer_is_not_certified_where_there_is_one(tmp_path: Path) -> None:
    none = Outcome(None, None, Status.INFEASIBLE)
    with pytest.raises(Exception, match="not proved"):
        proof_of(tmp_path, drawn(0), "min-servers", none)


def deep(tree: Any) -> Any:
    """The tree below so many questions that nothing can read it."""
    for _ in range(700):
        tree = {**tree, "low": tree}
    return tree


def _step(change: dict[str, Any]) -> Any:
    return lambda proof: proof["steps"][0].update(change)


FORGERIES: dict[str, Any] = {
    "a price too high": lambda p: p["steps"][0]["prices"].__setitem__(0, 10**9),
    "a price below 0": lambda p: p["steps"][0]["prices"].__setitem__(0, -1),
    "half a price": lambda p: p["steps"][0]["prices"].__setitem__(0, "1/2"),
    "a price that is true": lambda p: p["steps"][0]["prices"].__setitem__(0, True),
    "a price without end": lambda p: p["steps"][0]["prices"].__setitem__(0, 10**3999),
    "a price too many": lambda p: p["steps"][0]["prices"].append(0),
    "a smaller scale": lambda p: p["steps"][0].update(scale=p["steps"][0]["scale"] // 2),
    "no scale": _step({"scale": 0}),
    "a scale below 0": _step({"scale": -1}),
    "a rent without limit": _step({"rents": [1]}),
    "weights below 0": _step({"weights": [[-1, 1]]}),
    "no weights": _step({"weights": []}),
    "a target above": lambda p: p["steps"][0].update(target=p["steps"][0]["target"] + 1),
    "no target": lambda p: p["steps"][0].pop("target"),
    "no tree": lambda p: p["steps"][0].pop("tree"),
    "a tree cut off": lambda p: p["steps"][0]["tree"].pop("low"),
    "a tree that goes on": lambda p: p["steps"][0]["tree"].update(
        third=p["steps"][0]["tree"]["low"]
    ),
    "a leaf of nothing": lambda p: p["steps"][0]["tree"].update(
        low=[0] * len(p["steps"][0]["tree"]["low"])
    ),
    "a leaf cut off": lambda p: p["steps"][0]["tree"]["low"].pop(),
    "a leaf below 0": lambda p: p["steps"][0]["tree"]["low"].__setitem__(-1, -1),
    "a branch left out": lambda p: p["steps"][0].update(tree=p["steps"][0]["tree"]["low"]),
    "the same branch twice": lambda p: p["steps"][0]["tree"].update(
        high=p["steps"][0]["tree"]["low"]
    ),
    "a node that holds half a copy": lambda p: p["steps"][0]["tree"].update(holds=[[0, "1/2"]]),
    "a node below 0": lambda p: p["steps"][0]["tree"].update(most=-1),
    "a node of another kind": lambda p: p["steps"][0].update(tree=7),
    "a tree without end": lambda p: p["steps"][0].update(tree=deep(p["steps"][0]["tree"])),
    "a step twice over": lambda p: p["steps"][0].update(trust=1),
    "half a server": lambda p: p["witness"]["count"].pop(),
    "a server too full": lambda p: p["witness"]["count"].__setitem__(
        0, [1] * len(p["witness"]["count"][0])
    ),
    "an unknown class": lambda p: p["witness"]["server_class"].__setitem__(0, 9),
    "a lower value": lambda p: p["claim"].update(value=8),
    "a higher bound": lambda p: p["claim"].update(bound=10),
    "no answer": lambda p: p["claim"].update(says="infeasible", value=None, bound=None),
}


@pytest.fixture(scope="module")
def nine_bins(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, Document]:
    return proof_of(tmp_path_factory.mktemp("nine"), gap(), "min-servers")


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_forgery_is_refused(nine_bins: tuple[bytes, Document], change: Any) -> None:
    refuses(*nine_bins, change)


def test_a_search_without_end_is_refused(
    nine_bins: tuple[bytes, Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "MOST_STEPS", 1000)
    with pytest.raises(verify.Refused, match="search"):
        judged(*nine_bins)


def test_prices_that_a_filling_beats_are_refused_whatever_is_claimed(tmp_path: Path) -> None:
    content, proof = proof_of(tmp_path, drawn(1), "min-servers")
    step = proof["steps"][0]
    step["prices"] = [2 * price for price in step["prices"]]
    wanted = zip(step["prices"], drawn(1).wanted.tolist(), strict=True)
    bound = -(-sum(price * int(number) for price, number in wanted) // step["scale"])
    proof["claim"] |= {"value": None, "bound": bound, "says": "gap"}
    with pytest.raises(verify.Refused, match="worth more than the server"):
        judged(content, proof | {"witness": None})


def shared(seed: int) -> Packing:
    """Two or three servers for users who want as many VMs as they get, or up to a cap."""
    rng = np.random.default_rng(seed)
    instance = drawn(seed)
    caps = np.where(rng.random(instance.types) < 0.6, np.inf, rng.integers(0, 4, instance.types))
    caps[0] = np.inf
    return Packing(
        capacity=instance.capacity,
        demand=instance.demand,
        request=caps,
        servers=np.full(instance.classes, 3 - instance.classes // 2).astype(float),
        partial=True,
        name=f"shared-{seed}",
    )


def largest_least_share(instance: Packing) -> Fraction:
    """Over all placements, by the totals that can be reached server by server."""
    total = [int(n) for n in (instance.capacity * instance.available[:, None]).sum(axis=0)]
    unit = [
        max(Fraction(int(d), n) for d, n in zip(row, total, strict=True)) for row in instance.demand
    ]
    reached = {(0,) * instance.types}
    for c in np.repeat(np.arange(instance.classes), instance.available.astype(int)):
        most = (instance.capacity[c] // np.maximum(instance.demand, 1)).min(axis=1)
        rows = [
            row
            for row in itertools.product(*(range(n + 1) for n in most))
            if (np.array(row) @ instance.demand <= instance.capacity[c]).all()
        ]
        reached = {tuple(map(sum, zip(a, row, strict=True))) for a in reached for row in rows}
    users = [i for i, n in enumerate(instance.wanted) if n]
    cap = instance.wanted
    return max(min(Fraction(min(vms[i], cap[i])) * unit[i] for i in users) for vms in reached)


@pytest.mark.parametrize("seed", range(8))
def test_the_largest_least_share_is_certified(tmp_path: Path, seed: int) -> None:
    content, proof = proof_of(tmp_path, shared(seed), "max-min-share")
    assert judged(content, proof).endswith("optimal")
    bound = verify.rational(proof["claim"]["bound"], "bound")
    assert bound == largest_least_share(shared(seed))


def test_a_share_that_others_could_pass_is_no_bound(tmp_path: Path) -> None:
    content, proof = proof_of(tmp_path, shared(1), "max-min-share")
    low = verify.rational(proof["claim"]["bound"], "bound") / 2
    proof["steps"][0]["above"] = str(low)
    proof["claim"] |= {"value": None, "bound": str(low), "says": "gap"}
    with pytest.raises(verify.Refused):
        judged(content, proof | {"witness": None})


@pytest.mark.parametrize("method", ["FUGA", "FUGA-tree"])
@pytest.mark.parametrize("seed", range(25))
def test_the_play_is_played_again(tmp_path: Path, seed: int, method: str) -> None:
    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {"alpha": float(rng.integers(2, 6)), "eta": int(rng.integers(1, 6))}
    if seed % 3 == 0:
        options["overload"] = float(rng.choice([0.5, 0.9, 1.0]))
    if seed % 5 == 0:
        options["eta"] = "shrinking"
    content, proof = proof_of(tmp_path, shared(seed), method, **options)
    assert judged(content, proof).endswith("an equilibrium, to within regret 0")


@pytest.mark.parametrize("name", ["paper-example", "vm-types-8"])
def test_bundled_plays_are_certified(tmp_path: Path, name: str) -> None:
    content, proof = proof_of(tmp_path, read(f"packing/{name}"), "FUGA", alpha=3.0)
    assert judged(content, proof).endswith("an equilibrium, to within regret 0")


def test_another_placement_is_no_equilibrium(tmp_path: Path) -> None:
    instance = read("packing/vm-types-8")
    content, proof = proof_of(tmp_path, instance, "FUGA")
    given = fuga_algorithm_1(instance)
    other = given.solution.document()
    assert proof["witness"] != other
    with pytest.raises(Claimed, match="subgame"):
        proof_of(tmp_path, instance, "FUGA", given)
    with pytest.raises(verify.Refused, match="regret"):
        judged(content, proof | {"witness": other})


def test_other_weights_of_fairness_stay_claimed(tmp_path: Path) -> None:
    with pytest.raises(Claimed, match="alpha"):
        proof_of(tmp_path, read("packing/paper-example"), "FUGA", alpha=2.5)


def test_utilities_are_compared_beyond_floats() -> None:
    play = verify.Play.__new__(verify.Play)
    play.roots, play.alpha = {}, 2
    play.given = type("Left", (), {"left": 10**6})()  # type: ignore[assignment]
    near = Fraction(10**60 + 1, 10**60)
    one, two = (Fraction(1), Fraction(2)), (near, Fraction(2))
    assert play.less(one, two)
    assert not play.less(two, one)
    assert not play.less(one, one)
    with pytest.raises(verify.Refused, match="thousand digits"):
        play.less((Fraction(1), Fraction(2)), (Fraction(2), Fraction(1)))


@pytest.mark.parametrize("index", [2, 3, 5, 64])
def test_roots_are_rounded_down(index: int) -> None:
    play = verify.Play.__new__(verify.Play)
    play.roots = {}
    rng = np.random.default_rng(index)
    for _ in range(200):
        value = Fraction(int(rng.integers(0, 10**9)), int(rng.integers(1, 10**9)))
        low = Fraction(play.root(value, index, 40), 2**40)
        assert low**index <= value < (low + Fraction(1, 2**40)) ** index
