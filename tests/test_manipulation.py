"""The best misreport of an agent: witnesses judged by the truth, bounds, theorems, and all misreports
on small instances by code of its own.
"""

from __future__ import annotations

import json
from itertools import pairwise, permutations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused
from support.seeds import numbers
from support.terminal import run, settings_file

import cotenant
from cotenant.analysis.manipulation import Misreport, best_misreport, misreports
from cotenant.analysis.registry import analysis_of
from cotenant.baselines.admission import proposed, simple_matching
from cotenant.baselines.colocation import roommates
from cotenant.baselines.packing import drf
from cotenant.baselines.scheduling import fifo
from cotenant.instances.admission import Admission
from cotenant.instances.colocation.lists import matching
from cotenant.instances.market import Market
from cotenant.instances.packing import Packing
from cotenant.instances.problem.errors import InvalidOption, NoSolution, UnknownName
from cotenant.instances.scheduling import Scheduling

TINY = {
    "colocation/tiny": "SR",
    "groups/tiny": "GR",
    "market/tiny": "PRD",
    "packing/paper-example": "DRF",
    "admission/tiny": "SM",
    "scheduling/tiny": "FAIRSHARE",
    "accelerators/tiny": "max-min",
    "quanta/tiny": "horizon",
}


def chen(e: float) -> Market:
    """Two users, two goods: the first gains a factor of 2 / (1 + e) (Chen and others 2022)."""
    work = [e, 1 - e, e**2, 1 - e**2]
    return Market([1, 1], [e, 1 - e], [0, 0, 1, 1], [0, 1, 0, 1], np.ones(4), work)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "method"), TINY.items(), ids=TINY)
def test_misreport_witness_has_stated_gain_for_one_agent(name: str, method: str) -> None:
    instance = cotenant.read(name)
    some = analysis_of(instance.problem).reports
    for found in misreports(instance, method, time_limit=1):
        assert 0 <= found.gain <= found.gain_at_most
        assert (found.witness is None) == (found.gain == 0) == (not found.report)
        if found.witness is None or instance.problem == "scheduling":
            continue
        shown, truth = (
            some.utilities(
                instance,
                Misreport(each, parts(instance, each)),
                cotenant.solve(each, method).solution,
            )
            for each in (found.witness, instance)
        )
        names = [*map(str, instance.names or range(len(truth)))]
        agent = names.index(found.agent)
        assert (truth[agent], shown[agent]) == pytest.approx((found.truthful, found.value))
        others = {who: shown[i] - truth[i] for i, who in enumerate(names) if i != agent}
        assert found.others == pytest.approx(others, abs=1e-9)


def parts(truth: Any, shown: Any) -> Any:
    """The true job of each job of a market in which a user has one job on a server."""
    if truth.problem != "market":
        return None
    owners = list(zip(truth.user.tolist(), truth.server.tolist(), strict=True))
    return [
        owners.index(pair) for pair in zip(shown.user.tolist(), shown.server.tolist(), strict=True)
    ]


def test_misreport_search_refuses_unknown_agents_and_unanswered_methods() -> None:
    instance = cotenant.read("admission/tiny")
    with refused(UnknownName):
        best_misreport(instance, "SM", "nobody")
    with refused(InvalidOption):
        best_misreport(instance, "SM", alpha=1)
    with refused(UnknownName):
        best_misreport(cotenant.read("market/tiny"), "ES", kinds=("splits",))
    market = cotenant.read("market/tiny")
    cut = list(analysis_of("market").reports.near(market, Misreport(market), 1, kinds=("split",)))
    assert [each.instance.jobs for each in cut] == [6, 6]
    assert all(each.instance.work.sum() == market.work.sum() for each in cut)
    with refused(NoSolution):
        best_misreport(cotenant.read("packing/tiny").replace(servers=[1, 0]), "min-servers")


# Theorems, and published marks.


@pytest.mark.slow
@pytest.mark.parametrize("e", [0.5, 0.3, 0.05, 0.01])
def test_misreport_gain_of_published_linear_markets_is_found(e: float) -> None:
    found = best_misreport(chen(e), "fisher", "0")
    assert found.truthful == pytest.approx(e)
    assert 2 / (1 + e) - 0.01 < found.ratio < 2
    assert found.gain_at_most == pytest.approx(found.truthful)
    assert found.others["1"] < 0
    assert "Chen" in found.why


@pytest.mark.parametrize("number", numbers(2500, 8))
def test_proposed_admission_scheme_is_strategy_proof(number: int) -> None:
    rng = np.random.default_rng(number)
    gained = 0
    for _ in range(number):
        instance = Admission(
            rng.integers(0, 3, (2, 2)), rng.integers(1, 4, 3), rng.integers(1, 6, (3, 2))
        )
        job = int(rng.integers(3))
        for method, function in (("proposed", proposed), ("SM", simple_matching)):
            worth = []
            for row in [instance.speed[job], *product([0.1, 1, 3, 10], repeat=2)]:
                speed = instance.speed.copy()
                speed[job] = row
                cores = function(instance.replace(speed=speed)).cores[job]
                worth.append(float(instance.speed[job] @ cores))
            if method == "proposed":
                assert max(worth) == worth[0]
            if method == "SM" and gained > 20:
                continue
            found = best_misreport(instance, method, str(job))
            assert found.truthful == worth[0]
            assert max(worth) <= worth[0] + found.gain_at_most
            if found.status == "exact":
                assert max(worth) <= found.value
            if method == "proposed":
                assert (found.gain, found.gain_at_most, found.status) == (0, 0, "exact")
            gained += found.gain > 0
    assert gained > 0


def test_misreport_theorems_apply_only_to_their_methods() -> None:
    market, amdahl = chen(0.1), cotenant.read("market/tiny")
    some = analysis_of("market").reports
    for method in ("fisher", "nash-welfare"):
        assert some.most(market, 0, 0.1, method)[0] == 0.2
    assert some.most(market, 0, 0.1, "PRD")[0] == 1
    assert some.most(market, 0, 0.1, "")[0] == 1
    assert some.most(market, 0, 0.1, "fisher", rounding="half-up")[0] == 1
    assert some.most(market, 0, 0.1, "fisher", utility="ces")[0] > 0.2
    assert some.most(amdahl, 1, 5.0, "fisher", utility="linear")[0] > 10
    assert some.most(amdahl, 1, 5.0, "nash-welfare", utility="linear")[0] == 10
    assert some.most(amdahl, 1, 5.0, "nash-welfare", utility="ces", rho=-1.0)[0] != 10

    def proposed(given: Any, *, rng: Any = None, time_limit: Any = None) -> Any:
        return simple_matching(given)

    assert best_misreport(cotenant.read("admission/tiny"), proposed).gain == 6


# Everything tried by code of its own.


def drawn_lists(rng: np.random.Generator, agents: int, ties: bool) -> dict[str, list[Any]]:
    names = [f"a{i}" for i in range(agents)]
    lists: dict[str, list[Any]] = {}
    for who in names:
        liked = rng.permutation([other for other in names if other != who]).tolist()
        liked = liked[: int(rng.integers(1, agents))]
        tied = ties and len(liked) > 1 and rng.random() < 0.5
        lists[who] = [liked[:2], *liked[2:]] if tied else liked
    return lists


def all_lists(possible: list[str], ties: bool) -> Any:
    if not ties:
        for length in range(len(possible) + 1):
            yield from (list(order) for order in permutations(possible, length))
        return
    for levels in product(range(len(possible) + 1), repeat=len(possible)):
        groups = [
            [p for p, at in zip(possible, levels, strict=True) if at == n]
            for n in set(levels) - {0}
        ]
        yield [group for group in groups if group]


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("number", numbers(1500, 6))
def test_misreport_search_tries_all_short_preference_lists(number: int, ties: bool) -> None:
    rng = np.random.default_rng(number)
    gained = 0
    for _ in range(number):
        lists = drawn_lists(rng, int(rng.integers(3, 5)), ties)
        lists["b"] = []  # an odd one, so that the lists have gaps
        instance = cotenant.from_lists(lists)
        who = str(rng.choice([name for name in lists if name != "b"]))
        place, names = list(lists).index(who), np.array(instance.names)
        possible = names[instance.allowed[place]].tolist()
        rank = {None: 1.0, **dict(zip(names, instance.penalty[place], strict=True))}
        worth = [
            1 - rank[matching(told, roommates(told))[who]]
            for told in (
                cotenant.from_lists({**lists, who: reported})
                for reported in all_lists(possible, ties)
            )
        ]
        found = best_misreport(instance, "SR", who)
        best = max([*worth, found.truthful])
        assert found.value <= best + 1e-9
        assert best <= found.truthful + found.gain_at_most + 1e-9
        assert best == pytest.approx(found.value) or not found.exact
        assert found.exact or ties  # lists with ties are searched
        gained += found.gain > 0
    assert gained > 0 or number < 100


@pytest.mark.parametrize("number", numbers(1000, 5))
def test_misreported_vm_size_limits_true_vms(number: int) -> None:
    rng, gained = np.random.default_rng(number), 0
    for _ in range(number):
        instance = Packing(
            rng.integers(4, 9, (1, 2)),
            rng.integers(1, 5, (2, 2)),
            servers=[int(rng.integers(1, 3))],
        )
        true = instance.demand[0]

        def worth(told: Packing, true: Any = true) -> int:
            room = drf(told).count.reshape(-1, 2)[:, :1] * told.demand[0]
            return sum(min(row // true) for row in room)

        every = [
            worth(instance.replace(demand=[row, instance.demand[1]]))
            for row in product(range(1, 5), repeat=2)
            if (np.array(row) <= instance.capacity[0]).all()
        ]
        found = best_misreport(instance, "DRF", "0")
        assert found.truthful == worth(instance)
        assert max(every) <= found.truthful + found.gain_at_most
        assert found.witness is None or worth(found.witness) == found.value
        gained += found.gain > 0
    assert gained > 0 or number < 10


@pytest.mark.slow
def test_misreport_search_tries_all_job_changes() -> None:
    rng, gained = np.random.default_rng(1500), 0
    for _ in range(1500):
        jobs = int(rng.integers(2, 5))
        owner, release = rng.integers(0, 2, jobs), np.sort(rng.integers(0, 4, jobs))
        owner[0], length = 0, rng.integers(1, 5, jobs)
        instance = Scheduling([1, 1], owner, release, length, horizon=8)

        def worth(told: list[tuple[int, int, int, int]]) -> int:
            """Units of work of organization 0 by their age at 8; the last number is what is useful."""
            who, at, units, useful = map(list, zip(*told, strict=True))
            start = fifo(Scheduling([1, 1], who, at, units, horizon=8)).start.tolist()
            return sum(
                8 - (begin + unit)
                for mine, begin, good in zip(who, start, useful, strict=True)
                for unit in range(good)
                if mine == 0 and begin >= 0 and begin + unit < 8
            )

        truth = [
            (int(a), int(r), int(p), int(p)) for a, r, p in zip(owner, release, length, strict=True)
        ]
        told = [truth]
        mine = [place for place in range(jobs) if owner[place] == 0]
        for place in mine:
            before, (_, at, units, _), after = truth[:place], truth[place], truth[place + 1 :]
            told += [
                [*before, (0, at, cut, cut), (0, at, units - cut, units - cut), *after]
                for cut in range(1, units)
            ]
            for more in (1, 2, 4):
                told.append([*before, (0, at + more, units, units), *after])
                told.append([*before, (0, at, units + more, units), *after])
        for one, two in pairwise(mine):
            units = truth[one][2] + truth[two][2]
            rest = [entry for place, entry in enumerate(truth) if place not in (one, two)]
            told.append(
                [
                    *rest[:one],
                    *rest[one : two - 1],
                    (0, truth[two][1], units, units),
                    *rest[two - 1 :],
                ]
            )
        found = best_misreport(instance, "FIFO", "0")
        assert found.truthful == worth(truth)
        assert found.value == max(map(worth, told))
        assert found.gain <= found.gain_at_most
        gained += found.gain > 0
    assert gained > 0


# Time, Ctrl-C, the command line.


def test_misreport_search_keeps_incumbent_at_limit_or_interrupt() -> None:
    instance, calls = cotenant.read("admission/tiny"), [0]

    def interrupted(given: Any, *, rng: Any = None, time_limit: Any = None) -> Any:
        calls[0] += 1
        if calls[0] == 40:
            raise KeyboardInterrupt
        return simple_matching(given)

    found = misreports(instance, interrupted)
    assert [each.stop.value for each in found] == ["finished", *["interrupted"] * 3]
    assert (found[1].gain, found[1].status, found[3].tried) == (6, "at least", 0)
    assert misreports(instance, "SM", ["1"], 1e-3)[0].stop.value == "time_limit"


@pytest.mark.usefixtures("in_this_process")
def test_misreports_command_prints_table_and_writes_witness(tmp_path: Path) -> None:
    out = tmp_path / "lie.json"
    printed = run(
        "analyze", "misreports", "admission/tiny", "-m", "SM", "--out", str(out), COLUMNS="80"
    )
    approved(printed.stdout)
    assert printed.returncode == 0
    assert max(map(len, printed.stdout.splitlines())) <= 80
    assert cotenant.read(out).name == "tiny-misreport"
    rows = json.loads(
        run("analyze", "misreports", "admission/tiny", "-m", "SM", "--agent", "1", "--json").stdout
    )
    assert [(row["gain"], row["gain_at_most"], row["lost"]) for row in rows] == [(6, 8, 7)]
    assert run("analyze", "misreports", "numa/tiny", "-m", "IB").returncode == 2


@pytest.mark.usefixtures("in_this_process")
def test_compare_with_manipulation_adds_rows_to_rows_without_manipulation(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    words = ["compare", "admission/tiny", "-m", "SM", "-m", "proposed", "--out", str(rows)]
    run(*words)
    own = settings_file(tmp_path, manipulation=True, columns=["gain by lying"])
    approved(run(*words, *own, COLUMNS="80").stdout)
    found = [
        json.loads(line).get("manipulation", {}).get("gain")
        for line in rows.read_text().splitlines()
    ]
    assert found == [None, None, 6, 0]
