"""Fairness of Kueue's queues (their objects read, what they cannot say, weights), and of shares as given
in GPUs, memory and billing.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fairness_clock import UNITS, wrongs
from support.kueue_objects import (
    VERSIONS,
    Object,
    cluster_queue,
    cohort,
    flavor,
    listed,
    local_queue,
    workload,
)
from support.messages import approved, refused
from support.sacct import holding, text_of
from support.sacct import job as sacct_job
from support.terminal import run

from cotenant.analysis.scheduling.audit import audit
from cotenant.analysis.scheduling.fairness import Fairness, fairness
from cotenant.analysis.scheduling.fit import fit, played, present_weights
from cotenant.cluster.fairness.emit import emit
from cotenant.cluster.fairness.words import (
    debts_table,
    fairness_head,
    fairness_lines,
    headline,
    known_to,
    rests_on,
)
from cotenant.instances.problem.errors import InvalidFile, InvalidOption
from cotenant.instances.scheduling.accounts import Source
from cotenant.instances.scheduling.kueue import read_kueue
from cotenant.instances.scheduling.log import window
from cotenant.instances.scheduling.units import gres, tres


def state(version: str = "v1beta2", *more: Object, **limits: Any) -> list[Object]:
    """bio holds all eight GPUs for an hour while phy waits, and works again after an eviction."""
    return [
        flavor("a100", version), flavor("default", version), cohort("all", version),
        cluster_queue("bio", {"a100": 4}, version, weight="2", **limits),
        cluster_queue("phy", {"a100": 4}, version, **limits),
        local_queue("bio", version), local_queue("phy", version),
        workload("j1", "bio", 0, 0, 3600, 4, version), workload("j2", "bio", 0, 0, 3600, 4, version),
        workload("j3", "phy", 900, 3600, 5400, 4, version),
        workload("j4", "phy", 1000, gpus=2, version=version),
        workload("j5", "bio", 1200, gpus=1, version=version, past=300, evicted=4500),
        *more,
    ]  # fmt: skip


@pytest.fixture
def written(tmp_path: Path):
    def write(items: list[Object], name: str = "kueue.json") -> str:
        (tmp_path / name).write_text(json.dumps(listed(items)))
        return str(tmp_path / name)

    return write


def judged(path: str, **more: Any) -> Fairness:
    return fairness(path, Source(unit="gpu", **more), ties=0)


@pytest.mark.parametrize("version", VERSIONS)
def test_kueue_api_versions_are_read_equally(written, version: str) -> None:
    found = judged(written(state(version)))
    assert (found.names, found.machines.tolist()) == (("bio", "phy"), [4, 4])
    assert found.work == pytest.approx([8 + 300 / 3600, 2])
    assert found.owed[1] > 3
    assert [queue.weight for queue in found.found.log.queues] == [2.0, 1.0]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("unit", UNITS)
def test_debts_in_small_kueue_logs_equal_second_by_second_count(unit: str, tmp_path: Path) -> None:
    assert [text for seed in range(12) for text in wrongs(seed, unit, tmp_path)] == []


def test_evicted_kueue_work_counts_as_run(written) -> None:
    again = workload("again", "bio", 100, 2000, 2500, past=50, requeued=400)
    unplaced = workload("unplaced", "phy", 100, 3000, 3001, past=60)
    log = read_kueue(written(state("v1beta2", again, unplaced)))
    runs = {
        (name, int(start), int(length))
        for name, start, length in zip(log.jobs, log.submit + log.wait, log.run, strict=True)
    }
    begin = int(log.submit.min())
    assert {
        ("team-bio/j5", begin + 4200, 300), ("team-bio/again", begin + 350, 50),
        ("team-bio/again", begin + 2000, 500), ("team-phy/unplaced", begin + 2940, 60),
        ("team-phy/unplaced", begin + 3000, 1),
    } <= runs  # fmt: skip
    waits = {each.job: each.submit - begin for each in log.waiting}
    assert waits == {"team-phy/j4": 1000, "team-bio/j5": 4500}
    approved("\n".join(log.notes))


def test_incomplete_or_stale_kueue_export_is_noted(written) -> None:
    items = state()
    used = {"name": "a100", "resources": [{"name": "nvidia.com/gpu", "total": "3"}]}
    items[3]["status"] = {"flavorsReservation": [used]}
    stray = workload("stray", "none", 0, 0, 60)
    lost = workload("lost", "phy", 0) | {"status": {}}
    lost["spec"]["queueName"] = "elsewhere"
    idle = workload("idle", "phy", 50)
    idle["spec"]["active"] = False
    bad = workload("bad", "phy", 0, 1, 2)
    bad["metadata"]["creationTimestamp"] = "yesterday"
    path = written([*items, stray, lost, idle, bad, cluster_queue("new", {"h100": 1})])
    found = judged(path)
    assert found.names == ("bio", "new", "phy")
    approved("\n".join(found.found.notes))
    with refused(InvalidFile):
        read_kueue(path, strict=True)


def test_workload_under_eviction_counts_as_running(written) -> None:
    again = workload("again", "phy", 0, 4000, None, 1, past=100, evicted=5000)
    limited = workload("limited", "phy", 1000)
    container = limited["spec"]["podSets"][0]["template"]["spec"]["containers"][0]
    container["resources"] = {"limits": {"nvidia.com/gpu": "2"}}
    del limited["status"]["resourceRequests"]
    log = read_kueue(written([*state(), again, limited]))
    begin = int(log.submit.min())
    runs = zip(log.jobs, (log.submit + log.wait - begin).tolist(), log.run.tolist(), strict=True)
    mine = [(start, length) for name, start, length in runs if name == "team-phy/again"]
    assert mine == [(3900, 100), (4000, 1401)]
    asked = {each.job: each.resources for each in log.waiting}
    assert asked["team-phy/limited"] == {"gres/gpu": 2, "gres/gpu:a100": 2}


def test_workload_of_new_uid_is_a_new_job(written) -> None:
    items = [workload("j1", "bio", second, second, second + 60) for second in (0, 100)]
    for uid, item in zip("ab", items, strict=True):
        item["metadata"]["uid"] = uid
    assert len(read_kueue(written([cluster_queue("bio", {"a100": 4}), *items])).submit) == 2


def test_kueue_cohort_quotas_are_divided_among_queues_and_noted(written) -> None:
    items = [*state(), cohort("all", parent="root", gpus=3), cohort("root")]
    found = judged(written(items))
    assert found.machines.tolist() == [6, 5]
    approved("\n".join(found.found.notes))


def test_separate_cohorts_are_computed_one_by_one(written) -> None:
    other = cluster_queue("art", {"a100": 2}, cohort="")
    path = written([*state(), other, local_queue("art"), workload("j9", "art", 0, 1, 60)])
    with refused(InvalidOption):
        judged(path)
    assert judged(path, partition="art").names == ("art",)
    assert judged(path, partition="all").names == ("bio", "phy")


QUOTA: Any = {"a100": 4}
RAN = workload("j1", "bio", 0, 0, 60)


@pytest.mark.parametrize(
    "items",
    [
        [], [RAN], [cluster_queue("bio", QUOTA)],
        [cluster_queue("bio", QUOTA, cohort="x"), cohort("x", parent="x")],
        [cluster_queue("bio", {"a100": "many"}), RAN],  # type: ignore[dict-item]
        [cluster_queue("bio", QUOTA, borrowing=-1), RAN], [cluster_queue("bio", QUOTA, weight="-1"), RAN],
    ],
)  # fmt: skip
def test_file_without_kueue_objects_is_refused_with_command(written, items: list[Object]) -> None:
    with refused(InvalidFile):
        read_kueue(written(items))


# admission by borrowed share


def by_hand(judged: Fairness, weights: np.ndarray) -> list[int]:
    """Starts, second by second, from the words of `queue_kernels.admit`."""
    one = judged.audits[0].instance
    queues = {queue.name: queue for queue in judged.found.log.queues}
    each = [queues[name] for name in one.names]
    quota = one.machines.tolist()
    borrow, lend = (
        [limit.get("gres/gpu", 10**6) for limit in limits]
        for limits in ([q.borrowing for q in each], [q.lending for q in each])
    )
    lend = [min(pair) for pair in zip(lend, quota, strict=True)]
    start = [-1] * one.jobs
    for now in range(one.horizon):
        while True:
            used = [0] * len(quota)
            for job, began in enumerate(start):
                if 0 <= began <= now < began + one.processing[job]:
                    used[one.organization[job]] += int(one.width[job])
            ready = []
            for u in range(len(quota)):
                rest = sum(quota[v] - lend[v] for v in range(len(quota)) if v != u)
                most = min(quota[u] + borrow[u], sum(quota) - rest)
                waiting = [
                    job
                    for job in one.order.tolist()
                    if one.organization[job] == u and start[job] < 0 and one.width[job] <= most
                ]
                if not waiting or one.release[waiting[0]] > now:
                    continue
                after = [*used]
                after[u] += int(one.width[waiting[0]])
                taken = sum(max(a, q - n) for a, q, n in zip(after, quota, lend, strict=True))
                above = max(after[u] - quota[u], 0)
                if taken <= sum(quota) and above <= borrow[u]:
                    share = 0.0 if not above else above / weights[u] if weights[u] else np.inf
                    ready.append((share, int(one.release[waiting[0]]), u, waiting[0]))
            if not ready:
                break
            start[min(ready)[3]] = now
    return start


def crowd(seed: int, number: int = 12, **limits: Any) -> list[Object]:
    """Workloads of three queues, more than eight GPUs can run at once."""
    rng = np.random.default_rng(seed)
    items = [
        cluster_queue(name, {"a100": quota}, weight=weight, **limits)
        for name, quota, weight in (("a", 4, "1"), ("b", 3, "2"), ("c", 1, "0"))
    ]
    for n in range(number):
        came, queue = int(rng.integers(0, 20)), "abc"[int(rng.integers(3))]
        start = came + int(rng.integers(0, 20))
        end = start + int(rng.integers(1, 15))
        items.append(workload(f"j{n:02}", queue, came, start, end, int(rng.integers(1, 4))))
    return items


@pytest.mark.parametrize(
    "limits", [{}, {"borrowing": 1}, {"lending": 0}, {"lending": 1, "borrowing": 2}]
)
def test_kueue_admission_by_borrowed_share_follows_definition(written, limits: Any) -> None:
    for seed in range(8):
        found = judged(written(crowd(seed, **limits)))
        weights = present_weights(found)
        start = played(found, found.audits[0].instance, weights)
        assert start.tolist() == by_hand(found, weights)


def test_queue_weights_are_fitted_and_emitted(written) -> None:
    nothing, found = judged(written(crowd(2, 60))), judged(written(crowd(4, 60), "other.json"))
    approved(emit(nothing, "kueue"))
    _, now, weights = fit(found)
    assert weights.nearer(now)
    assert weights.error < now.error
    approved(emit(found, "kueue"))
    with refused(InvalidOption):
        emit(found, "slurm")
    with refused(InvalidOption):
        emit(found, "yaml")


def test_fairness_command_prints_debts_to_queues_by_time_window(written, tmp_path: Path) -> None:
    path = written(state())
    settings = tmp_path / "settings.toml"
    settings.write_text('form = "kueue"\n')
    more = ("--unit", "gpu", "--window", "1h", "--settings", str(settings))
    shown = run("advise", "fairness", path, *more)
    assert shown.returncode == 0
    tables, _, details = shown.stdout.partition("phy is owed")
    approved(tables)
    approved(details[details.index("still waiting") :])
    for wrong in ("top = 0", "rule = true", 'by = "job"', "x"):
        settings.write_text(wrong)
        refusal = run("advise", "fairness", path, *more)
        assert refusal.returncode == 2
        approved(refusal.stderr.replace(str(tmp_path), ""))


Job = tuple[str, int, int, int, int]
"""Account, submission, start and length in minutes, CPUs."""


def exported(folder: Path, jobs: Sequence[Job]) -> str:
    lines = [
        sacct_job(str(number), account, 60 * sent, 60 * start, 60 * run, cpus)
        for number, (account, sent, start, run, cpus) in enumerate(jobs)
    ]
    (folder / "sacct.txt").write_text(text_of(lines))
    return str(folder / "sacct.txt")


LIKE: list[Job] = [
    ("big", 0, 0, 180, 8),
    *((f"lab{n}", 0, 180, 60, 1) for n in range(8)),
    ("last", 0, 240, 60, 1),
]


def crowd_of_jobs(seed: int, accounts: Sequence[str], number: int = 40) -> list[Job]:
    """Jobs that wait for eight CPUs, no two of which are sent in one minute."""
    rng = np.random.default_rng(seed)
    sent = np.sort(rng.choice(300, number, replace=False))
    return [
        (accounts[int(rng.integers(len(accounts)))], int(minute), int(minute + rng.integers(0, 90)),
         int(rng.integers(5, 60)), int(rng.integers(1, 5)))
        for minute in sent
    ]  # fmt: skip


def owed(judged: Fairness) -> dict[str, float]:
    return dict(zip(judged.names, judged.owed.tolist(), strict=True))


@pytest.mark.parametrize("shares", [None, ",".join(f"{job[0]}=7" for job in [LIKE[0], *LIKE[1:]])])
def test_ten_equal_accounts_on_eight_cpus_are_owed_equal_amounts(tmp_path, shares) -> None:
    found = fairness(exported(tmp_path, LIKE), Source(machines=8, shares=shares))
    assert found.shares.tolist() == [0.1] * 10
    assert (found.machines * float(found.unit.size)).tolist() == pytest.approx([0.8] * 10)
    alike = [value for name, value in owed(found).items() if name.startswith("lab")]
    assert alike == pytest.approx([alike[0]] * 8, abs=1e-9)
    assert owed(found)["last"] > alike[0] > 0 > owed(found)["big"]


@pytest.mark.parametrize("seed", range(3))
def test_debts_to_renamed_accounts_differ_within_printed_error(tmp_path, seed) -> None:
    jobs = crowd_of_jobs(seed, "abcde")
    names = dict(zip("abcde", "ecabd", strict=True))
    source = Source(machines=8)
    found = fairness(exported(tmp_path, jobs), source)
    other = fairness(exported(tmp_path, [(names[job[0]], *job[1:]) for job in jobs]), source)
    for u, name in enumerate(found.names):
        sure = known_to(found, u) + known_to(other, other.names.index(names[name]))
        assert abs(found.owed[u] - owed(other)[names[name]]) <= sure


@pytest.mark.parametrize("seed", range(3))
def test_debts_to_accounts_of_rounded_machines_differ_within_printed_error(tmp_path, seed) -> None:
    path = exported(tmp_path, crowd_of_jobs(seed, "abc"))
    source = Source(machines=8, shares="a=37,b=41,c=29")
    exact = fairness(path, source, ties=0)
    assert exact.rounding == 0
    errors = []
    for most in (8, 80, 800):
        accounts = source.read(path).cut(most=most)
        coarse = Fairness(accounts, (audit(window(*accounts.span())),), 0, None)
        assert (coarse.machines.sum(), coarse.shares.tolist()) == (most, exact.shares.tolist())
        assert present_weights(coarse).tolist() == present_weights(exact).tolist()
        assert headline(coarse) == headline(exact)
        errors.append(np.abs(coarse.owed - exact.owed).max())
        assert errors[-1] <= max(coarse.rounding, 1e-9)
        assert coarse.rounding == 0 or known_to(coarse, 0) >= coarse.rounding
        said = any("shares are played in parts of" in line for line in fairness_lines(coarse))
        assert said == (coarse.rounding > 0)
    assert errors[0] > 0.1 > errors[2]


def test_debts_to_accounts_use_shares_finer_than_machines_exactly_as_given(tmp_path) -> None:
    jobs: list[Job] = [("a", 0, 0, 60, 4), ("b", 0, 0, 60, 3), ("e", 0, 0, 60, 1)]
    found = fairness(
        exported(tmp_path, [*jobs, ("c", 0, 60, 60, 1), ("d", 0, 60, 60, 1)]),
        Source(machines=8, shares="a=50,b=30,c=10,d=5,e=5"),
    )
    assert "a 50 %, b 30 %, c 10 %, d 5 %, e 5 %." in " ".join(
        " ".join(fairness_head(found)).split()
    )
    assert present_weights(found).tolist() == [1000, 600, 200, 100, 100]


def test_slurm_level_fs_is_printed_beside_debts_and_disagreement_noted(tmp_path) -> None:
    (tmp_path / "shares.txt").write_text(
        "Account|User|RawShares|FairShare|LevelFS\n"
        " a||1||0.500000\n  a|ann|1|0.750000|1\n  a|bob|1|0.250000|0.5\n b||1||inf\n  b|cat|1\n"
    )
    jobs: list[Job] = [("b", 0, 0, 60, 8), ("a", 0, 60, 60, 8)]
    source = Source(machines=8, shares=str(tmp_path / "shares.txt"))
    table = debts_table(fairness(exported(tmp_path, jobs), source))
    assert [row[0] for row in table.rows] == ["a", "b"]
    assert [row[-2:] for row in table.rows] == [("0.500000", "0.250000 to 0.750000"), ("inf", "-")]
    (note,) = table.notes
    assert note.startswith("Level FS ")
    assert "half-lives" in note


NODES = """NodeName=a CPUTot=64 RealMemory=64000 Gres=gpu:a100:4(S:0-1) State=IDLE Partitions=batch
NodeName=b CPUTot=64 RealMemory=64000 Gres=gpu:v100:4 State=IDLE Partitions=batch CfgTRES=cpu=64,mem=62.50G,gres/gpu=4
"""


def of(kind: str, number: int, more: str = "cpu=2,mem=8G,billing=7") -> str:
    return f"{more},gres/gpu={number},gres/gpu:{kind}={number}"


# bio holds all eight GPUs for an hour while phy, which also runs a job without any, waits
JOBS = [
    holding("1", "bio", 0, 0, 3600, of("a100", 4)),
    holding("2", "bio", 0, 0, 3600, of("v100", 4)),
    holding("3", "phy", 900, 3600, 1800, of("a100", 4)),
    holding("4", "phy", 1000, 1000, 600, "cpu=2,mem=4G,billing=3"),
]


@pytest.fixture
def judged_jobs(tmp_path: Path):
    """Judge jobs in a unit, with the nodes unless machines are given."""

    def judge(jobs: list[dict[str, str]], **more: object) -> Fairness:
        (tmp_path / "sacct.txt").write_text(text_of(jobs))
        (tmp_path / "nodes.txt").write_text(NODES)
        nodes = {} if "machines" in more else {"nodes": str(tmp_path / "nodes.txt")}
        source = Source(**nodes, **more)  # type: ignore[arg-type]
        return fairness(str(tmp_path / "sacct.txt"), source, ties=0)

    return judge


def test_amounts_are_read_as_slurm_prints_them() -> None:
    assert dict(tres("cpu=2,mem=3.50G,node=1,gres/gpu:a100=2,x,license/y=")) == {
        "cpu": 2000, "mem": 7 * 2**29, "node": 1, "gres/gpu:a100": 2,
    }  # fmt: skip
    assert dict(tres("mem=512")) == {"mem": 2**29}
    assert gres("(null)") == {}
    assert gres("gpu:1g.5gb:7(S:0),craynetwork:4,gpu:2") == {"gres/gpu": 9, "gres/gpu:1g.5gb": 7}
    assert gres("gpu:a100:4(S:0-1),gpu:a100:2") == {"gres/gpu:a100": 6, "gres/gpu": 6}


def test_fairness_names_unit_and_omitted_jobs(judged_jobs) -> None:
    found = judged_jobs(JOBS, unit="gpu")
    approved(" ".join(fairness_lines(found)).partition("bio owes")[0])
    approved(rests_on(found))
    document = found.document()
    assert document["gpus"] == [4, 4]
    assert document["work_gpu_hours"] == [8, 2]


def test_shares_are_read_from_name_value_pairs(judged_jobs) -> None:
    found = judged_jobs(JOBS, unit="gpu", shares="bio=6,phy=2")
    assert found.machines.tolist() == [6, 2]
    for text in ("bio=much", "bio=1,bio=2", "=3", "bio=0"):
        with refused(InvalidOption, shown=text):
            judged_jobs(JOBS, shares=text)


def test_fairness_note_states_rounding_of_large_memory_amounts(judged_jobs) -> None:
    jobs = [
        holding(str(n), "ab"[n % 2], 0, 0, 80_000, f"cpu=1,mem={1000 + n}.5T") for n in range(20)
    ]
    approved("\n".join(judged_jobs(jobs, unit="memory", machines=10**9).found.notes))
    for number, machines in (("999999999999999E", 10), ("40.5G", 10)):
        with refused(InvalidOption):
            judged_jobs(
                [holding("1", "a", 0, 0, 60, f"mem={number}")], unit="memory", machines=machines
            )
