"""The questions of `cotenant.ask`: the user's own container back, and answers as brute force has."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, assert_type

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from support.messages import refused

import cotenant
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


def test_pairs_of_a_frame_of_14_jobs_are_proved_and_keep_its_index_and_columns() -> None:
    given = slowdowns(14)
    answer = cotenant.pair_jobs(given.assign(team=list("abcdefg" * 2)))
    pairs = assert_type(answer.data, pd.DataFrame)
    assert list(pairs) == ["team", "beside", "slowdown"]
    assert list(pairs.index) == list(given.index)
    assert list(pairs.loc[pairs["beside"], "beside"]) == list(pairs.index)
    assert [given.loc[job, pairs.beside[str(job)]] for job in given] == list(pairs.slowdown)
    assert (answer.status, answer.gap, answer.certified) == ("optimal", 0, True)
    assert answer.bound == answer.value == pytest.approx(1 - (1 / pairs.slowdown).mean())


@pytest.mark.parametrize("seed", range(5))
def test_pairs_lose_as_little_as_those_of_enumeration(seed: int) -> None:
    table = slowdowns(8, seed)
    assert cotenant.pair_jobs(table).value == pytest.approx(least_loss(table.to_numpy()))


def test_pairs_are_the_same_from_every_container_and_come_back_in_it() -> None:
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


def test_an_odd_job_runs_alone_and_has_no_partner() -> None:
    table = slowdowns(3)
    pairs = cotenant.pair_jobs(table).data
    alone = pairs[pairs.beside.isna()]
    assert list(alone.slowdown) == [1]
    assert cotenant.pair_jobs(table.to_numpy()).data.tolist().count(-1) == 1


def fewest(sizes: list[int], room: int) -> int:
    """Bins of a size that hold items of these sizes, by enumeration."""
    loads: list[int] = []

    def used(place: int) -> float:
        if place == len(sizes):
            return len(loads)
        found: float = math.inf
        for server in range(len(loads)):
            if loads[server] + sizes[place] <= room:
                loads[server] += sizes[place]
                found = min(found, used(place + 1))
                loads[server] -= sizes[place]
        loads.append(sizes[place])
        found = min(found, used(place + 1))
        loads.pop()
        return found

    return int(used(0))


@pytest.mark.parametrize("seed", range(5))
def test_servers_are_as_few_as_those_of_enumeration(seed: int) -> None:
    sizes = np.random.default_rng(seed).integers(2, 8, 7)
    answer = cotenant.fewest_servers(sizes[:, None], np.array([[10]]))
    assert answer.value == fewest(sizes.tolist(), 10) == len(set(answer.data.tolist()))
    loads = np.bincount(answer.data, weights=sizes)
    assert loads.max() <= 10


def test_counted_vms_have_a_list_of_servers_and_rules_keep_vms_apart() -> None:
    vms = pd.DataFrame({"cpu": [2, 3], "count": [3, 1], "zone": "a"}, index=["web", "db"])
    hosts = {"m5": {"cpu": 9, "cost": 3}}
    assert cotenant.fewest_servers(vms, hosts).data.server.tolist() == [[0, 0, 0], [0]]
    answer = cotenant.fewest_servers(vms, hosts, apart=[("web", "db")], objective="min-cost")
    assert answer.data.server.tolist() == [[0, 0, 0], [1]]
    assert answer.data.host.tolist() == [["m5"] * 3, ["m5"]]
    assert (answer.value, list(answer.data)) == (6, ["cpu", "count", "zone", "server", "host"])


def test_cores_of_equal_users_are_equal_and_all_are_given_away() -> None:
    jobs = pd.DataFrame({"server": "s", "parallel_fraction": [0.7, 0.7, 0.7]}, index=list("xyz"))
    for servers in ({"s": 12}, pd.Series({"s": 12}), pd.DataFrame({"cores": [12]}, index=["s"])):
        answer = cotenant.share_cores(jobs, servers)
        assert answer.data.cores.tolist() == pytest.approx([4] * 3)
        assert list(answer.data) == ["server", "parallel_fraction", "cores", "pays"]
    rich = cotenant.share_cores(jobs, {"s": 12}, budget={"x": 2, "y": 1, "z": 1})
    assert rich.data.pays.tolist() == pytest.approx([2, 1, 1])


def test_a_line_is_printed_whenever_value_or_bound_moves(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cotenant.pair_jobs(slowdowns(4), verbose=True)
    *moves, last = capsys.readouterr().out.splitlines()
    assert all(" s  value " in line and "  bound " in line for line in moves)
    assert len({line.partition("value")[2] for line in moves}) == len(moves) > 0
    assert last.startswith("Result(optimal on colocation, optimal, penalty")


def test_a_wrong_value_is_named_as_the_user_names_it() -> None:
    table = slowdowns(4)
    with refused(InvalidInstance):
        cotenant.pair_jobs(table.rename(columns={"job-1": "job-11"}))
    with refused(InvalidInstance):
        cotenant.pair_jobs(table.replace(table.loc["job-0", "job-1"], -1))
    with refused(InvalidInstance):
        cotenant.pair_jobs([1, 2])  # type: ignore[type-var]
    with refused(InvalidInstance):
        cotenant.fewest_servers({"web": {"cpu": 9}}, {"m5": {"cpu": 4}})
    with refused(InvalidInstance):
        cotenant.fewest_servers({"web": {"cpu": 9}}, {"m5": {"cpu": 9, "gb": 4}})
    with refused(InvalidInstance):
        cotenant.share_cores([{"server": "s2", "parallel_fraction": 0.5}], {"s1": 4})


if TYPE_CHECKING:
    assert_type(cotenant.share_cores([{"server": 1}], {1: 2}).data, list[dict[str, int]])
