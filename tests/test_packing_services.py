"""Services that ask for a rate, and MIG slices: against every filling of every server, and the
published loads of ParvaGPU (SC 2024).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.measured import DATA
from support.messages import refused
from support.oracles.packing import fewest_for_rates, random_services
from support.proved import Document, case_of, has_point, proved, put
from support.seeds import ranges

import cotenant
from cotenant import catalog
from cotenant.instances.packing import Packing, check
from cotenant.instances.packing.mig import cards, layout, mig
from cotenant.instances.packing.services import Service, covers
from cotenant.instances.problem import (
    InvalidFile,
    InvalidInstance,
    InvalidOption,
    UnknownName,
)
from cotenant.papers.registry import experiment_named
from cotenant.solvers.engines import solve_program
from cotenant.solvers.outcome import Status
from cotenant.solvers.packing.minimum import min_cost, min_servers
from cotenant.solvers.packing.portfolio_state import PortfolioLimits
from cotenant.verify.packing import Packing as CheckedPacking
from cotenant.verify.packing_prices import least_price
from cotenant.verify.packing_servers import services_program

PARVA = DATA / "gpu" / "parva"
FEWEST = (2, 3, 5, 7, 12, 16)
"""Cards of the six loads."""

METHODS = {"min-servers": (min_servers, False), "min-cost": (min_cost, True)}

TWO = Packing(
    capacity=[[7, 8]], demand=[[1, 1], [3, 4], [4, 4]],
    services=[Service((0, 1), (10, 35), 101, "web"), Service((2,), (9,), 20, "search")],
    names=("web 1g", "web 3g", "search 4g"), name="two-services",
)  # fmt: skip
"""Three cards: 20 needs three slices of 4, and 101 all that fits beside them, three of 3: 105."""


@pytest.mark.slow
@pytest.mark.parametrize("some", ranges(400, 4, 40))
def test_services_proof_is_accepted(some: range) -> None:
    for seed in some:
        instance = random_services(np.random.default_rng(10_000 + seed))
        for name, (_, costs) in METHODS.items():
            [level] = proved(instance, name).proof.levels
            best = fewest_for_rates(instance, costs)
            assert (level.value, level.bound, level.infeasible) == (best, best, best is None), seed


@pytest.mark.slow
@pytest.mark.parametrize("some", ranges(600, 20, 60))
def test_services_program_of_verifier_is_feasible_iff_cost_may_reach_optimum(some: range) -> None:
    for seed in some:
        instance = random_services(np.random.default_rng(40_000 + seed))
        given = CheckedPacking(case_of(instance), ruled=True)
        best = fewest_for_rates(instance, costs=True)
        below = [None, None] if best is None else [best, best + 1]
        points = [has_point(services_program(given, given.cost, number)) for number in below]
        assert points == [False, best is not None], seed


@pytest.mark.parametrize(
    "said", [{"status": Status.INFEASIBLE, "point": None}, {"bound": 1e3, "point": None}]
)
def test_services_bound_is_independent_of_highs(
    said: dict[str, Any], engines: Callable[..., None]
) -> None:
    instance = random_services(np.random.default_rng(10_008))
    best = fewest_for_rates(instance, costs=True)
    engines(solve_program=lambda *given, **more: replace(solve_program(*given, **more), **said))
    found = min_cost(instance)
    assert found.solution is not None
    assert found.bound is not None
    assert found.bound <= (best or 0)
    assert found.status is not Status.INFEASIBLE


def test_service_mixes_are_minimal() -> None:
    rates, rate = (5, 3, 2), 11
    every = itertools.product(range(7), repeat=3)
    given = {mix: sum(n * r for n, r in zip(mix, rates, strict=True)) for mix in every}
    least = {
        mix
        for mix, total in given.items()
        if total >= rate and all(total - r < rate for n, r in zip(mix, rates, strict=True) if n)
    }
    listed = list(covers(rates, rate))
    assert sorted(listed) == sorted(least)


@pytest.mark.parametrize("seed", range(40))
def test_cheapest_service_mix_equals_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rates = sorted(rng.integers(1, 20, 3).tolist(), reverse=True)
    prices, rate = rng.integers(0 if seed % 4 == 0 else 1, 30, 3).tolist(), int(rng.integers(1, 60))
    best = min(sum(n * p for n, p in zip(m, prices, strict=True)) for m in covers(rates, rate))
    assert least_price(list(zip(prices, rates, strict=True)), rate) == best


def test_fewest_servers_of_two_services_equal_hand_calculation() -> None:
    result = cotenant.solve(TWO, "min-servers")
    assert (result.status, result.objective, result.bound) == ("optimal", 3.0, 3.0)
    assert result.metrics["served_least"] == pytest.approx(105 / 101)
    frame = result.solution.to_frame(TWO)
    assert set(frame["VM"]) == {"web 3g", "search 4g"}
    assert TWO.summary()["services"].startswith("2,")
    assert {row["method"] for row in cotenant.compare([TWO]).rows} == {"min-servers", "min-cost"}


@pytest.mark.parametrize(
    "name", [m.name for m in catalog.methods("packing") if m.name not in METHODS]
)
def test_method_without_services_support_refuses_services(name: str) -> None:
    few = TWO.replace(servers=[3])
    method = catalog.find("packing", name)
    assert not method.applies_to(few)
    with pytest.raises(InvalidInstance):
        method.resolve()(few)


@pytest.mark.slow
@pytest.mark.parametrize("few", [{"listed_patterns": 0}, {"listed_mixes": 1}])
def test_services_with_too_many_fillings_have_valid_answer_and_bound(few: dict[str, int]) -> None:
    for seed in range(30_000, 30_010):
        instance = random_services(np.random.default_rng(seed))
        best, found = (
            fewest_for_rates(instance),
            min_servers(instance, limits=PortfolioLimits(**few)),
        )
        if found.solution is None:
            assert found.status is Status.UNKNOWN or best is None
            continue
        check(instance, found.solution)
        assert (found.bound or 0) <= (best or 0) <= found.solution.servers
        assert (found.status is Status.OPTIMAL) == (found.bound == found.solution.servers)


@pytest.mark.parametrize("change", [
    put("steps", 0, "prices", 1, to=lambda y: y + 1),
    put("steps", 0, "scale", to=lambda scale: scale - 1),
    put("witness", "count", 0, 1, to=lambda n: n - 1),
    put("claim", "bound", to=4),
])  # fmt: skip
def test_forged_services_proofs_are_refused(change: Callable[[Document], None]) -> None:
    proved(TWO, "min-servers").refuses(change)


def test_services_proof_tree_of_other_bound_is_refused() -> None:
    made = proved(random_services(np.random.default_rng(10_008)), "min-cost")
    made.refuses(put("steps", 0, "below", to=lambda below: below + 1))


def placeable(card: str) -> set[tuple[str, ...]]:
    """Every multiset of profiles that some starts allow, by trying all of them."""
    known, found = cards()[card], set[tuple[str, ...]]()
    stack: list[tuple[int, int, tuple[str, ...]]] = [(0, 0, ())]
    seen = set(stack)
    while stack:
        used, compute, names = stack.pop()
        found.add(names)
        for name, profile in known.profiles.items():
            for start in profile.starts:
                slices = (2**profile.memory - 1) << start
                after = (used | slices, compute + profile.compute, tuple(sorted((*names, name))))
                if not used & slices and after[1] <= known.compute and after not in seen:
                    assert start + profile.memory <= known.memory
                    seen.add(after)
                    stack.append(after)
    return found


def by_amounts(card: str) -> Iterator[tuple[str, ...]]:
    """Every multiset of profiles that two sums allow: compute slices and memory slices."""
    known = cards()[card]
    most = [range(known.memory // p.memory + 1) for p in known.profiles.values()]
    for counts in itertools.product(*most):
        taken = list(zip(counts, known.profiles.values(), strict=True))
        if (
            sum(n * p.compute for n, p in taken) <= known.compute
            and sum(n * p.memory for n, p in taken) <= known.memory
        ):
            names = zip(counts, known.profiles, strict=True)
            yield tuple(sorted(name for n, name in names for _ in range(n)))


@pytest.mark.parametrize("card", cards())
def test_mig_slices_fit_iff_two_sums_fit(card: str) -> None:
    found = placeable(card)
    assert found == set(by_amounts(card))
    for names in found:
        starts = layout(card, list(names))
        assert starts is not None
        taken = [
            start + k
            for name, start in zip(names, starts, strict=True)
            for k in range(cards()[card].profiles[name].memory)
        ]
        assert len(set(taken)) == len(taken)
    largest = max(found, key=len)
    assert layout(card, [*largest, min(cards()[card].profiles)]) is None


def test_a100_has_38_fillings_of_which_12_are_maximal() -> None:
    found = {names for names in placeable("a100-40gb") if "1g.10gb" not in names}
    maximal = [
        names
        for names in found
        if not any(len(more) == len(names) + 1 and _within(names, more) for more in found)
    ]
    assert (len(found), len(maximal)) == (38, 12)


def _within(few: tuple[str, ...], many: tuple[str, ...]) -> bool:
    return all(few.count(name) <= many.count(name) for name in few)


def folder(
    where: Path, *, table: str = "", rates: str = "90,N/A", latencies: str = "100,80"
) -> Path:
    """Two services measured on slices."""
    head = "Mig instance,Batch size,Workload Number,Throughput,Latency\n"
    rows = table or "1,4,1,20.5,0.02\n1,8,2,15,0.05\n3,8,2,40,0.03\n7,8,4,99,0.03\n7,8,1,N/A,N/A\n"
    (where / "bert.csv").write_text(head + rows)
    (where / "vgg.csv").write_text(head + "1,4,1,30,0.01\n")
    (where / "SLO_req_rate.csv").write_text(f"{rates}\n10,10\n")
    (where / "SLO_latency.csv").write_text(f"{latencies}\n100,80\n")
    return where


def test_mig_folder_is_read_exactly(tmp_path: Path) -> None:
    read = mig(folder(tmp_path), load=1)
    assert read.names == ("bert on 1g.10gb, batch 4 x1", "bert on 3g.40gb, batch 8 x2")
    assert read.services == (Service((0, 1), (41, 160), 180, "bert"),)
    assert (read.demand.tolist(), read.capacity.tolist()) == ([[1, 1], [3, 4]], [[7, 8]])
    assert [service.name for service in mig(tmp_path, load=2).services] == ["bert", "vgg"]
    assert mig(tmp_path, processes=4).types == 3
    assert mig(tmp_path, share=1).services[0].rates == (30, 80)


@pytest.mark.parametrize(("change", "options", "error"), [
    ({"table": "5,4,1,20,0.02\n"}, {}, InvalidFile),
    ({"table": "1,4,1,fast,0.02\n"}, {}, InvalidFile),
    ({"latencies": "100"}, {}, InvalidFile),
    ({"latencies": "N/A,80"}, {}, InvalidFile),
    ({"latencies": "10,80"}, {}, InvalidFile),
    ({"latencies": "soon,80"}, {}, InvalidFile),
    ({"rates": "0,80"}, {}, InvalidFile),
    ({"rates": "N/A,N/A"}, {}, InvalidFile),
    ({}, {"load": 3}, InvalidOption),
    ({}, {"card": "a100"}, UnknownName),
    ({}, {"card": "a30-24gb"}, InvalidFile),
])  # fmt: skip
def test_invalid_mig_folder_is_named(
    tmp_path: Path, change: dict[str, str], options: dict[str, object], error: type[Exception]
) -> None:
    with refused(error):
        mig(folder(tmp_path, **change), **options)  # type: ignore[arg-type]


def test_mig_folder_without_tables_or_loads_is_refused(tmp_path: Path) -> None:
    with refused(InvalidFile):
        mig(tmp_path)
    (folder(tmp_path) / "SLO_latency.csv").unlink()
    with refused(InvalidFile):
        mig(tmp_path)
    with refused(UnknownName):
        layout("a100-80gb", ["5g.50gb"])


@pytest.mark.skipif(not PARVA.is_dir(), reason="the profiles of ParvaGPU are not there")
@pytest.mark.parametrize("load", range(1, 7))
def test_published_mig_loads_have_proved_optima(load: int) -> None:
    instance = mig(PARVA, load=load)
    [level] = proved(instance, "min-servers").proof.levels
    assert level.value == level.bound == FEWEST[load - 1]


@pytest.mark.slow
@pytest.mark.skipif(not PARVA.is_dir(), reason="the profiles of ParvaGPU are not there")
def test_published_mig_deployments_are_feasible() -> None:
    done = experiment_named("packing-mig-deployments").run(data=DATA).findings
    cards = [(one.paper, one.ours, one.verdict) for one in done if one.what.endswith("cards")]
    published = (2, 3, 5, 7, 13, 16)
    verdicts = [
        "reproduced" if n == m else "differs" for n, m in zip(published, FEWEST, strict=True)
    ]
    assert cards == [
        (str(n), f"{m}, proved", verdict)
        for n, m, verdict in zip(published, FEWEST, verdicts, strict=True)
    ]
    rates = [one.verdict for one in done if one.what.endswith("its rate")]
    assert rates == ["reproduced"] * 6
    assert done[-1].ours == "32 of 46"
