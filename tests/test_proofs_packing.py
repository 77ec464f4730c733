"""Proofs of packing: what enumeration finds is certified, and nothing else is."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from support.messages import approved, refused
from support.oracles.packing import fewest, totals_possible
from support.proved import Proved, case_of, judged, proved
from support.seeds import ranges, seeds
from support.small_cases import gap, largest_least_share, most_utilization, packing, shared

from cotenant.analysis.run.proving import prove_file
from cotenant.analysis.run.solve import solve
from cotenant.baselines.packing import fuga_algorithm_1
from cotenant.instances.packing import Packing
from cotenant.instances.packing.generators import caprara_toth
from cotenant.instances.problem.files import read, write
from cotenant.solvers.outcome import Clock, Outcome, Status
from cotenant.solvers.packing.minimum import min_cost
from cotenant.solvers.proofs import Claimed
from cotenant.solvers.proofs.rounding import option
from cotenant.solvers.proofs.tree import tree_step
from cotenant.verify.packing import Packing as CheckedPacking
from cotenant.verify.packing_game import Play
from cotenant.verify.packing_prices import server_patterns
from cotenant.verify.packing_shares import Shares, packing_utilization
from cotenant.verify.reading import Refused


@pytest.mark.sampled(2)
@pytest.mark.parametrize("method", ["min-servers", "min-cost", "cp-sat"])
@pytest.mark.parametrize("seed", seeds(6, 2))
def test_enumerated_packing_optimum_is_certified(seed: int, method: str) -> None:
    instance = packing(seed)
    proof = proved(instance, method)
    assert proof.sentence.endswith("optimal")
    assert proof.bound == fewest(instance, costs=method == "min-cost")


@pytest.mark.slow
def test_infeasible_packing_is_certified_only_if_infeasible() -> None:
    kinds = set()
    for seed in range(30):
        instance = packing(seed, limited=True)
        try:
            outcome = min_cost(instance)
        except Exception:
            continue
        [level] = proved(instance, "min-cost", outcome).proof.levels
        least = fewest(instance, costs=True)
        assert level.claim_kind == ("infeasible" if least is None else "optimal")
        assert level.bound == least
        kinds.add(level.claim_kind)
    assert kinds == {"optimal", "infeasible"}


@cache
def nine_bins() -> Proved:
    return proved(gap(), "min-servers")


@pytest.mark.slow
def test_min_servers_proof_with_tree_improves_relaxation_bound() -> None:
    assert nine_bins().bound == 9
    assert "tree" in nine_bins().document["steps"][0]
    assert nine_bins().sentence.endswith("optimal")


@pytest.mark.parametrize("number", range(1, 11))
def test_caprara_toth_optima_are_certified(number: int) -> None:
    instance = caprara_toth(number=number, items=24, rng=np.random.default_rng(1))
    assert proved(instance, "min-servers").sentence.endswith("optimal")


def test_false_packing_infeasibility_is_not_certified() -> None:
    none = Outcome(None, None, Status.INFEASIBLE)
    with pytest.raises(Exception, match="not proved"):
        proved(packing(0), "min-servers", none)


def test_packing_proof_is_refused_if_vms_of_one_server_exceed_its_price() -> None:
    proof = proved(packing(1), "min-servers")
    document = proof.document | {"witness": None}
    step = document["steps"][0]
    step["prices"] = [2 * price for price in step["prices"]]
    wanted = zip(step["prices"], packing(1).requested.tolist(), strict=True)
    bound = -(-sum(price * int(number) for price, number in wanted) // step["scale"])
    document["claim"] |= {"value": None, "bound": bound, "claim_kind": "gap"}
    with refused(Refused):
        proof.judge(document)


@pytest.mark.parametrize("drawn", ranges(600, 100, 100))
def test_verifier_server_patterns_equal_enumeration(drawn: range) -> None:
    for seed in drawn:
        rng = np.random.default_rng(seed)
        types, resources = int(rng.integers(0, 5)), int(rng.integers(1, 4))
        room = rng.integers(0, 20, resources) * int(rng.choice([1, 10**9]))
        size = (rng.integers(0, 12, (types, resources)) * room) // 10
        size[:, 0] = np.maximum(size[:, 0], 1)
        most, price = rng.integers(1, 4, types), rng.integers(1, 30, types)
        weights, least = rng.integers(0, 50, resources).tolist(), int(rng.integers(1, 60))
        given = cast("CheckedPacking", SimpleNamespace(room=[room.tolist()], servers=[None]))
        items = list(zip(price.tolist(), most.tolist(), size.tolist(), strict=True))
        nothing_fits = not (size <= room).all(axis=1).any()
        expected = []
        for counts in itertools.product(*(range(int(n) + 1) for n in most)):
            left = room - np.array(counts, dtype=np.int64) @ size
            more = any(n < most[i] and (size[i] <= left).all() for i, n in enumerate(counts))
            worth = int(np.array(counts, dtype=np.int64) @ price)
            if (left >= 0).all() and not more and (worth >= least or nothing_fits):
                expected.append((worth, [(i, n) for i, n in enumerate(counts) if n]))
        listed = server_patterns(given, 0, items, weights, least)
        assert sorted((w, sorted(counts.items())) for w, counts in listed) == sorted(expected)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_levels_of_max_min_share_are_certified(seed: int) -> None:
    instance = shared(seed)
    proof = proved(instance, "max-min-share")
    assert proof.bound == largest_least_share(instance)
    if seed < 5:
        given = Shares(CheckedPacking(case_of(instance)))
        best = max(
            sorted(vms[i] * given.unit[i] for i in given.users) for vms in totals_possible(instance)
        )
        assert [level.bound for level in proof.proof.levels] == best
        assert proof.proof.complete


@pytest.mark.parametrize("seed", [0, 2, 5])
def test_verifier_program_of_share_level_is_feasible_iff_fairer_placement_exists(seed: int) -> None:
    """And none where there is no better one, as the producer's trees show."""
    instance = shared(seed)
    for vms in sorted(totals_possible(instance))[-8::3]:
        given = CheckedPacking(case_of(instance))
        given.total = list(vms)
        shares = Shares(given)
        others = [
            sorted(other[i] * shares.unit[i] for i in shares.users)
            for other in totals_possible(instance)
        ]
        for level, share in enumerate(shares.order):
            better = any(
                other[level] > share
                and all(x >= y for x, y in zip(other[:level], shares.order[:level], strict=True))
                for other in others
            )
            assert (tree_step(shares.program(level), None, Clock()) is None) == better


def test_share_bound_below_achievable_share_is_refused() -> None:
    proof = proved(shared(1), "max-min-share")
    document, low = proof.document | {"witness": None}, str(proof.bound / 2)
    document["steps"][0]["above"] = low
    document["claim"] |= {"value": None, "bound": low, "claim_kind": "gap"}
    with refused(Refused):
        proof.judge(document)


@pytest.mark.parametrize("method", ["FUGA", "FUGA-tree"])
@pytest.mark.parametrize("seed", seeds(25, 5))
def test_fuga_proof_replays_the_game(seed: int, method: str) -> None:
    rng = np.random.default_rng(seed)
    options: dict[str, Any] = {"alpha": float(rng.integers(2, 6)), "eta": int(rng.integers(1, 6))}
    if seed % 3 == 0:
        options["overload"] = float(rng.choice([0.5, 0.9, 1.0]))
    if seed % 5 == 0:
        options["eta"] = "shrinking"
    if seed % 4 == 0:
        options["alpha"] -= 0.5
    sentence = proved(shared(seed), method, **options).sentence
    exact = {key: n if isinstance(n, str) else option(n) for key, n in sorted(options.items())}
    given = " ".join(f"{key}={value!a}" for key, value in exact.items())
    head = f"packing 'shared-{seed}', {method} {given}"
    assert sentence == f"{head}: disutility: an equilibrium, to within regret 0"


@pytest.mark.parametrize("name", ["paper-example", "vm-types-8"])
def test_bundled_fuga_plays_are_certified(name: str) -> None:
    approved(proved(read(f"packing/{name}"), "FUGA", alpha=3.0).sentence)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(6))
def test_joint_optimum_proof_bounds_least_disutility(seed: int) -> None:
    options: dict[str, Any] = {"alpha": [2.0, 2.5, 3.0][seed % 3], "eta": 3}
    proof = proved(shared(seed), "joint-optimum", **options)
    value, bound, little = proof.value, proof.bound, Fraction(1, 10**6)
    assert bound <= value <= bound + little
    proof.refuses(lambda p: p["claim"].update(bound=str(bound + little)))
    proof.refuses(lambda p: p["claim"].update(value=str(value - little)))


@pytest.mark.slow
def test_joint_optimum_bound_is_below_disutility_of_every_play() -> None:
    """Every play of two servers, by the definition."""
    for seed in range(8):
        case = case_of(shared(seed), None, {"eta": 4}, [])
        play = Play(CheckedPacking(case), case.options)
        plays = [([], (0,) * len(play.cap))]  # type: ignore[var-annotated]
        for index in range(len(play.kinds)):
            plays = [
                ([*squares, square], more)
                for squares, total in plays
                for _, square, more in play.after(total, index)
            ][:20_000]
        worth = [
            len(play.kinds) * float(play.variance(total)[0]) ** 0.5
            + sum(float(square) ** 0.5 for square in squares)
            for squares, total in plays
        ]
        assert float(play.least()) <= min(worth) * (1 + 1e-12) + 1e-12
        if len(plays) < 20_000:
            assert float(play.least()) == pytest.approx(min(worth), abs=1e-9)


@pytest.mark.slow
def test_joint_optimum_proof_refuses_witness_that_is_no_play() -> None:
    instance = read("packing/vm-types-8")
    nothing = [0] * instance.types
    proved(instance, "joint-optimum").refuses(
        lambda p: p["witness"]["count"].__setitem__(0, nothing), approved=True
    )


@pytest.mark.slow
def test_fuga_algorithm_1_placement_is_refused_as_equilibrium_of_packing_game() -> None:
    instance = read("packing/vm-types-8")
    given = fuga_algorithm_1(instance)
    proof = proved(instance, "FUGA")
    proof.refuses(lambda p: p.update(witness=given.solution.document()), approved=True)
    with refused(Claimed):
        proved(instance, "FUGA", given)


def test_fuga_play_at_fairness_alpha_of_many_digits_has_no_proof() -> None:
    with refused(Claimed):
        proved(read("packing/paper-example"), "FUGA", alpha=2.37)


def test_min_cost_with_server_costs_beyond_64_bit_prices_has_no_proof(tmp_path: Path) -> None:
    demand = [[1, 3], [6, 2], [4, 1], [5, 3]]
    dear = Packing([[17, 18]], demand=demand, request=[2, 1, 1, 1], cost=[6 * 10**12])
    path = write(dear, tmp_path / "dear.json")
    proof = prove_file(dear, path, solve(dear, "min-cost"), tmp_path / "proof.json")
    assert proof.proof_status == "claimed"
    approved(proof.says)


def test_verifier_compares_utilities_closer_than_float_precision() -> None:
    play = Play.__new__(Play)
    play.roots, play.alpha, play.over = {}, 2, 1
    near = Fraction(10**60 + 1, 10**60)
    one, two = ((Fraction(1),), Fraction(2)), ((near,), Fraction(2))
    assert play.less(one, two)
    assert not play.less(two, one)
    assert not play.less(one, one)
    with refused(Refused):
        play.less(((Fraction(1),), Fraction(2)), ((Fraction(2),), Fraction(1)))


def test_packing_game_utilities_with_fractional_alpha_are_compared_exactly() -> None:
    """(1 + sqrt 2)^(2 / 3) is 1.7996...: against that and 0, and against one part less."""
    play = Play.__new__(Play)
    play.roots, play.alpha, play.over = {}, 3, 2
    parts, nothing = (Fraction(1), Fraction(2)), Fraction(0)
    for bits in (64, 300):
        low, high = play.around((parts, nothing), bits)
        assert high - low < 9
        assert abs(low / 2**bits - (1 + 2**0.5) ** (2 / 3)) < 1e-12
    assert play.less((parts[:1], nothing), (parts, nothing))
    assert not play.less((parts, nothing), (parts, nothing))
    assert not play.less(
        ((Fraction(1), Fraction(2) + Fraction(1, 10**40)), nothing), (parts, nothing)
    )


@pytest.mark.parametrize("index", [2, 3, 5, 64])
def test_verifier_rounds_roots_down(index: int) -> None:
    play = Play.__new__(Play)
    play.roots = {}
    rng = np.random.default_rng(index)
    for _ in range(200):
        value = Fraction(int(rng.integers(0, 10**9)), int(rng.integers(1, 10**9)))
        low = Fraction(play.root(value, index, 40), 2**40)
        assert low**index <= value < (low + Fraction(1, 2**40)) ** index


@pytest.mark.parametrize("seed", range(12))
def test_max_utilization_proof_equals_enumeration(seed: int) -> None:
    instance = shared(seed)
    if seed % 2:
        instance = instance.replace(initial=instance.capacity + seed)
    proof = proved(instance, "max-utilization")
    assert proof.value == most_utilization(instance) <= proof.bound


@cache
def vm_types() -> Proved:
    return proved(read("packing/vm-types-8"), "max-utilization")


def test_bundled_utilizations_are_certified_exactly() -> None:
    assert vm_types().proof.complete
    assert proved(read("packing/paper-example"), "max-utilization").proof.complete


@pytest.mark.parametrize("seed", range(30))
def test_utilization_bound_at_any_vm_prices_is_valid(seed: int) -> None:
    instance, rng = shared(seed % 10), np.random.default_rng(seed)
    step = proved(instance, "max-utilization").document["steps"][0]
    step["prices"] = [int(rng.integers(0, 2 * price + 2)) for price in step["prices"]]
    step["rents"] = [int(rng.integers(0, 2 * rent + 2)) for rent in step["rents"]]
    with suppress(Refused):
        [level] = packing_utilization(case_of(instance, None, {}, [step]))
        assert level.bound >= most_utilization(instance)


def test_packing_tree_proof_counts_leaf_multiplier_of_server_limit() -> None:
    proof = proved(packing(0), "min-servers")
    document, least = proof.document | {"witness": None}, int(proof.bound)
    step = document["steps"][0]
    items = len(
        {
            (price, tuple(size))
            for price, size in zip(step["prices"], packing(0).demand, strict=True)
        }
    )
    target = items + packing(0).classes  # its row
    step |= {"target": least, "sums": [], "tree": [-1]}
    step["leaves"] = [[n for r in range(items) for n in (r, 1)] + [target, 10**6]]
    document["claim"] |= {"value": None, "bound": least + 1, "claim_kind": "gap"}
    with refused(Refused):
        proof.judge(document)


def _step(change: dict[str, Any]) -> Any:
    return lambda proof: proof["steps"][0].update(change)


SERVERS: dict[str, Any] = {
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
    "a tree without sums": lambda p: p["steps"][0].pop("sums"),
    "a tree cut off": lambda p: p["steps"][0]["tree"].pop(),
    "a tree that goes on": lambda p: p["steps"][0]["tree"].append(-1),
    "a tree of nothing": _step({"tree": []}),
    "one leaf": _step({"tree": [-1]}),
    "a leaf of nothing": lambda p: p["steps"][0].update(leaves=[[], []]),
    "a leaf cut off": lambda p: p["steps"][0]["leaves"][0].pop(),
    "a leaf left out": lambda p: p["steps"][0]["leaves"].pop(),
    "a leaf of no row": lambda p: p["steps"][0]["leaves"][0].__setitem__(0, 10**6),
    "a leaf below 0": lambda p: p["steps"][0]["leaves"][0].__setitem__(1, -1),
    "the same leaf twice": lambda p: p["steps"][0].update(leaves=p["steps"][0]["leaves"][:1] * 2),
    "a sum that holds half a copy": lambda p: p["steps"][0]["sums"][0].__setitem__(2, "1/2"),
    "a sum of other fillings": lambda p: p["steps"][0]["sums"][0].__setitem__(1, 2),
    "a sum below 0": lambda p: p["steps"][0]["sums"][0].__setitem__(1, -1),
    "a sum of half a pair": lambda p: p["steps"][0]["sums"][0].pop(),
    "a split beyond all": lambda p: p["steps"][0]["tree"].__setitem__(1, 99),
    "a split of no column": lambda p: p["steps"][0]["tree"].__setitem__(0, 10**6),
    "a tree of another kind": lambda p: p["steps"][0].update(tree=7),
    "a tree in a tree": lambda p: p["steps"][0].update(tree=[p["steps"][0]["tree"]]),
    "a step twice over": lambda p: p["steps"][0].update(trust=1),
    "half a server": lambda p: p["witness"]["count"].pop(),
    "a server too full": lambda p: p["witness"]["count"].__setitem__(
        0, [1] * len(p["witness"]["count"][0])
    ),
    "an unknown class": lambda p: p["witness"]["server_class"].__setitem__(0, 9),
    "a lower value": lambda p: p["claim"].update(value=8),
    "a higher bound": lambda p: p["claim"].update(bound=10),
    "no answer": lambda p: p["claim"].update(claim_kind="infeasible", value=None, bound=None),
}
UTILIZATION: dict[str, Any] = {
    "lower rents": lambda p: p["steps"][0]["rents"].__setitem__(0, 0),
    "rents below 0": lambda p: p["steps"][0]["rents"].__setitem__(0, -1),
    "no prices": lambda p: p["steps"][0].update(prices=[0, 0, 0]),
    "half a price": lambda p: p["steps"][0]["prices"].__setitem__(0, "1/2"),
    "over less than nothing": lambda p: p["steps"][0].update(over=-1),
    "over more": lambda p: p["steps"][0].update(over=2 * p["steps"][0]["over"]),
    "a weight too many": lambda p: p["steps"][0]["weights"][0].append(1),
    "a higher value": lambda p: p["claim"].update(value=1),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    ("source", "change"),
    [(nine_bins, change) for change in SERVERS.values()]
    + [(vm_types, change) for change in UTILIZATION.values()],
    ids=[*SERVERS, *UTILIZATION],
)
def test_forged_packing_proof_is_refused(source: Callable[[], Proved], change: Any) -> None:
    source().refuses(change)


def test_packing_proof_beyond_work_limit_is_refused() -> None:
    with refused(Refused):
        judged(nine_bins().content, nine_bins().document, most_work=1000)
