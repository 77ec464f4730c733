"""The questions of `cotenant.ask`: the user's own container back, and answers as brute force has."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, assert_type

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from support.messages import approved, refused

import cotenant
from cotenant.analysis.packing.metrics import parts
from cotenant.instances.problem.errors import InvalidInstance


def slowdowns(jobs: int, seed: int = 0) -> pd.DataFrame:
    """Run times of jobs beside each other over those alone."""
    names = [f"job-{number}" for number in range(jobs)]
    values = 1 + np.random.default_rng(seed).random((jobs, jobs)).round(3)
    return pd.DataFrame(values, index=names, columns=names)


def least_loss(times: Any) -> float:
    """The least mean loss of throughput of a perfect pairing, by enumeration."""

    def best(left: tuple[int, ...]) -> float:
        if not left:
            return 0.0
        first, *rest = left
        return min(
            2 - 1 / times[first, other] - 1 / times[other, first]
            + best(tuple(job for job in rest if job != other))
            for other in rest
        )  # fmt: skip

    return best(tuple(range(len(times)))) / len(times)


def test_pair_jobs_of_a_frame_is_optimal_and_keeps_index_and_columns() -> None:
    given = slowdowns(8)
    answer = cotenant.pair_jobs(given.assign(team=list("abcdefgh")))
    pairs = assert_type(answer.data, pd.DataFrame)
    assert list(pairs) == ["team", "beside", "slowdown"]
    assert list(pairs.index) == list(given.index)
    assert list(pairs.loc[pairs["beside"], "beside"]) == list(pairs.index)
    assert [given.loc[job, pairs.beside[str(job)]] for job in given] == list(pairs.slowdown)
    assert (answer.status, answer.gap, answer.certified) == ("optimal", 0, True)
    assert answer.bound == answer.value == pytest.approx(1 - (1 / pairs.slowdown).mean())


@pytest.mark.parametrize("seed", range(5))
def test_pair_jobs_equals_enumeration(seed: int) -> None:
    table = slowdowns(8, seed)
    assert cotenant.pair_jobs(table).value == pytest.approx(least_loss(table.to_numpy()))


def test_pair_jobs_returns_the_given_container() -> None:
    table = slowdowns(6)
    beside = list(cotenant.pair_jobs(table).data.beside)
    rows: dict[str, dict[str, Any]] = {
        str(job): {**row, "team": "a"} for job, row in table.iterrows()
    }
    by_dict = assert_type(cotenant.pair_jobs(rows).data, dict[str, dict[str, Any]])
    assert [by_dict[str(job)]["beside"] for job in table] == beside
    assert set(by_dict["job-0"]) == {"team", "beside", "slowdown"}
    graph = nx.from_pandas_adjacency(table, nx.DiGraph)
    graph.nodes["job-0"]["team"] = "a"
    by_graph = cotenant.pair_jobs(graph).data
    assert [by_graph.nodes[job]["beside"] for job in table] == beside
    assert by_graph.nodes["job-0"]["team"] == "a"
    assert "beside" not in graph.nodes["job-0"]
    by_array = cotenant.pair_jobs(table.to_numpy()).data
    assert [f"job-{job}" for job in by_array] == beside


def fewest(sizes: list[int], size: int) -> int:
    """Bins of a size that hold items of these sizes, by enumeration of all assignments."""
    items = range(len(sizes))
    return min(
        len(set(bins))
        for bins in itertools.product(items, repeat=len(sizes))
        if all(sum(s for s, b in zip(sizes, bins, strict=True) if b == one) <= size for one in bins)
    )


@pytest.mark.parametrize("seed", range(5))
def test_fewest_servers_equals_enumeration(seed: int) -> None:
    sizes = np.random.default_rng(seed).integers(2, 8, 5)
    answer = cotenant.fewest_servers(sizes[:, None], np.array([[10]]))
    assert answer.value == fewest(sizes.tolist(), 10) == len(set(answer.data.tolist()))
    assert np.bincount(answer.data, weights=sizes).max() <= 10


def test_fewest_servers_places_vms_by_count_and_separates_apart_pairs() -> None:
    vms = pd.DataFrame({"cpu": [2, 3], "count": [3, 1], "zone": "a"}, index=["web", "db"])
    hosts = {"m5": {"cpu": 9, "cost": 3}}
    assert cotenant.fewest_servers(vms, hosts).data.server.tolist() == [[0, 0, 0], [0]]
    answer = cotenant.fewest_servers(vms, hosts, apart=[("web", "db")], objective="min-cost")
    assert answer.data.server.tolist() == [[0, 0, 0], [1]]
    assert answer.data.host.tolist() == [["m5"] * 3, ["m5"]]
    assert (answer.value, list(answer.data)) == (6, ["cpu", "count", "zone", "server", "host"])


def test_share_cores_of_equal_users_is_equal_and_complete() -> None:
    jobs = pd.DataFrame({"server": "s", "parallel_fraction": [0.7, 0.7, 0.7]}, index=list("xyz"))
    for servers in ({"s": 12}, pd.Series({"s": 12}), pd.DataFrame({"cores": [12]}, index=["s"])):
        answer = cotenant.share_cores(jobs, servers)
        assert answer.data.cores.tolist() == pytest.approx([4] * 3)
        assert list(answer.data) == ["server", "parallel_fraction", "cores", "pays"]
    rich = cotenant.share_cores(jobs, {"s": 12}, budget={"x": 2, "y": 1, "z": 1})
    assert rich.data.pays.tolist() == pytest.approx([2, 1, 1])


def test_verbose_prints_line_at_each_change_of_value_or_bound(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cotenant.pair_jobs(slowdowns(4), verbose=True)
    *moves, last = capsys.readouterr().out.splitlines()
    assert all(" s  value " in line and "  bound " in line for line in moves)
    assert len({line.partition("value")[2] for line in moves}) == len(moves) > 0
    assert last.startswith("Result(optimal on colocation, optimal, penalty")


WEB, M5 = {"web": {"cpu": 9}}, {"m5": {"cpu": 9, "gb": 4}}
WRONG: list[Callable[[], object]] = [
    lambda: cotenant.pair_jobs(slowdowns(4).rename(columns={"job-1": "job-11"})),
    lambda: cotenant.pair_jobs(slowdowns(4).assign(**{"job-1": -1.0})),
    lambda: cotenant.pair_jobs([1, 2]),  # type: ignore[type-var]
    lambda: cotenant.fewest_servers(WEB, {"m5": {"cpu": 4}}),
    lambda: cotenant.fewest_servers(WEB, M5),
    lambda: cotenant.share_cores([{"server": "s2", "parallel_fraction": 0.5}], {"s1": 4}),
    lambda: cotenant.host_over_time({"a": {"cpu": 2, "start": 0, "end": 3}}, {"gb": 5}),
]


@pytest.mark.parametrize("call", WRONG)
def test_functions_on_tables_name_their_own_arguments_in_errors(call: Callable[[], object]) -> None:
    with refused(InvalidInstance):
        call()


@pytest.mark.parametrize("seed", range(3))
def test_group_jobs_of_two_equals_pairs(seed: int) -> None:
    table = slowdowns(6, seed)
    answer = cotenant.group_jobs((1 - 1 / table).assign(team=list("ababab")), seats=2)
    assert answer.value == pytest.approx(least_loss(table.to_numpy()))
    assert answer.data.loss.mean() == pytest.approx(answer.value)
    assert list(answer.data) == ["team", "group", "loss"]
    assert answer.data.group.value_counts().tolist() == [2, 2, 2]


@pytest.mark.slow
def test_place_jobs_equals_enumeration() -> None:
    rng = np.random.default_rng(1)
    speed, cores = rng.integers(1, 9, (4, 2)), np.array([[1, 1], [1, 0]])
    answer = cotenant.place_jobs(speed, cores)  # a job runs on one core, a thread each
    vms, types = [0, 0, 1], [0, 1, 0]
    best = max(
        sum(speed[job, kind] for job, kind in zip(jobs, types, strict=True))
        for jobs in itertools.permutations(range(4), len(vms))
    )
    assert answer.value == answer.bound == best
    assert sorted(answer.data) == [-1, 0, 0, 1]


def test_schedule_fairly_respects_releases_and_keeps_index_of_jobs_table() -> None:
    jobs = pd.DataFrame(
        {"organization": list("aabb"), "release": [0, 0, 1, 5], "processing": [2, 3, 1, 1]},
        index=["w", "x", "y", "z"],
    )
    found = cotenant.schedule_fairly(jobs, pd.DataFrame({"machines": [1, 1]}, index=list("ab")))
    assert (found.data.start >= jobs.release).all()
    assert (found.data.end - found.data.start).tolist() == jobs.processing.tolist()
    assert list(found.data.index) == list("wxyz")
    early = cotenant.schedule_fairly(jobs, {"a": 1, "b": 1}, horizon=3)
    assert early.data.start.isna().tolist() == [False, False, False, True]


def test_share_gpus_throughput_follows_from_time_shares() -> None:
    jobs = pd.DataFrame({"v100": [4.0, 2, 3], "k80": [1.0, 1, 0], "weight": 1, "team": "t"})
    answer = cotenant.share_gpus(jobs, {"v100": 1, "k80": 1})
    on = answer.data[["on v100", "on k80"]].to_numpy()
    throughput = (on * jobs[["v100", "k80"]].to_numpy()).sum(axis=1)
    assert throughput == pytest.approx(answer.data.throughput.to_numpy())
    assert max(on.sum(axis=0).max(), on.sum(axis=1).max()) <= 1 + 1e-9
    assert answer.certified


def infeasible_packing(servers: int, cpu: int) -> Any:
    vms = {name: {"cpu": 1, "count": many} for name, many in (("web", 3), ("db", 2), ("job", 1))}
    apart = [("web", "db"), ("web", "job")]
    return cotenant.fewest_servers(vms, {"m5": {"cpu": cpu, "count": servers}}, apart=apart)


def infeasible_pairs() -> Any:
    table = slowdowns(6)
    for job in ("job-0", "job-1"):
        table.loc[job, [other for other in table if other != "job-2"]] = math.inf
    return cotenant.pair_jobs(table)


def infeasible_groups() -> Any:
    losses = pd.DataFrame(np.zeros((4, 4)), list("abcd"), list("abcd"))
    for one, other in itertools.combinations("abc", 2):
        losses.loc[one, other] = math.inf
    return cotenant.group_jobs(losses, seats=2, machines=2)


def infeasible_rate() -> Any:
    row = {"service_mean": 0.1, "ht1": 1.2, "pcie": 2, "bandwidth": 100}
    tasks = {"db": {"class_share": 0.9, **row}, "web": {"class_share": 0.1, **row}}
    server = {"blades": 2, "rows": 1, "columns": 2, "cores": 4}
    return cotenant.refuse_cores(tasks, **server, rate=1000, objective="fluid-power")


def infeasible_deadline() -> Any:
    gan, lm = ({"v100": 1, "steps": n, "deadline": end} for n, end in ((99, 9), (1, 99)))
    return cotenant.share_gpus({"gan": gan, "lm": lm}, {"v100": 1}, objective="min-cost")


@pytest.mark.parametrize(
    "asked",
    [
        partial(infeasible_packing, 1, 14), partial(infeasible_packing, 2, 1), infeasible_pairs,
        infeasible_groups, infeasible_rate, infeasible_deadline,
    ],
)  # fmt: skip
def test_conflict_of_infeasible_request_names_conflicting_parts(asked: Callable[[], Any]) -> None:
    answer = asked()
    assert answer.status == "infeasible"
    approved(str(answer.conflict))


def test_infeasible_packing_has_minimal_conflict_and_feasible_pairing_has_none() -> None:
    answer = infeasible_packing(1, 14)
    assert answer.data["web"] == {"cpu": 1, "count": 3, "server": None, "host": None}
    assert answer.conflict.minimal
    assert cotenant.pair_jobs(slowdowns(4)).conflict.parts == ()


@pytest.mark.parametrize("seed", range(4))
def test_parts_of_packing_conflict_are_infeasible_together_and_minimal(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance = cotenant.Packing(
        [[7], [9]], rng.integers(2, 6, (5, 1)), rng.integers(2, 5, 5), [2, 1],
        most_per_server=[1, np.inf, 2, np.inf, np.inf], apart=[[0, 1], [2, 3]],
    )  # fmt: skip
    found = cotenant.conflict(instance, cotenant.solve(instance, "min-servers"))
    labels, keep = parts(instance)
    kept = [labels.index(part) for part in found.parts]
    assert found.minimal
    assert cotenant.solve(keep(kept), "cp-sat").status == "infeasible"
    for gone in kept:
        rest = keep([part for part in kept if part != gone])
        assert rest is None or cotenant.solve(rest, "cp-sat").status == "optimal"


def test_solve_and_compare_return_tables_with_every_column() -> None:
    assert cotenant.solve("colocation/tiny", "optimal").status == "optimal"
    rows = cotenant.compare("colocation/tiny", "GR")
    assert len(rows.table) == 1
    assert list(cotenant.solve("colocation/tiny", "GR").to_frame().beside) == [
        "regression", "decisiontree",
    ]  # fmt: skip
    failed = cotenant.compare("colocation/tiny", fails)
    assert set(rows.table) - {"gap_penalty", "difference_penalty"} == set(failed.table)
    assert failed.table.penalty.isna().all()


def fails(instance: cotenant.Colocation) -> None:
    """A method without an answer."""


if TYPE_CHECKING:
    assert_type(cotenant.share_cores([{"server": 1}], {1: 2}).data, list[dict[str, int]])
