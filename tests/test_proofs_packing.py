"""Proofs of packing: what enumeration finds is certified, and nothing else is."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from proved import Document, judged, proof_of, refuses

from cotenant import verify
from cotenant.instances.packing.generators import caprara_toth
from cotenant.instances.packing.instance import Packing
from cotenant.solvers.outcome import Outcome, Status
from cotenant.solvers.packing.minimum import min_cost, min_servers


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
    with pytest.raises(verify.Refused, match="worth more than it costs"):
        judged(content, proof | {"witness": None})
