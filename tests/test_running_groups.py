"""Machines of more than two seats: what is believed of groups, what their agents are told, what the
coordinator makes of it, and a real queue on real workers.
"""

from __future__ import annotations

import itertools
import json
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.fake_cluster import SimulatedMachines
from support.messages import approved, refused
from support.processes import lenient_settings, needs_two_cpus, write_queue
from support.running_cases import Begin, measured_lab, runs_on_the_store, store_copied  # noqa: F401
from support.terminal import run

from cotenant.analysis.colocation.batches import Waiting
from cotenant.cluster.measure.jobs import Job
from cotenant.cluster.measure.predictor import Predictor
from cotenant.cluster.measure.profiles import profile_of
from cotenant.cluster.measure.statistics import Estimate
from cotenant.cluster.measure.store import opened
from cotenant.cluster.run.action_recommender import ActionRecommender
from cotenant.cluster.run.placement import GroupEstimates, Placer, group_estimates
from cotenant.cluster.run.queue import QueuedJob
from cotenant.cluster.run.run import policy_of
from cotenant.cluster.run.settings import RunSettings
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.colocation.stability import blocking_pairs
from cotenant.instances.groups import check
from cotenant.instances.groups.instance import MOST_SEATS
from cotenant.instances.groups.stability import mean_penalty
from cotenant.instances.problem.errors import InvalidOption

Box = tuple[np.ndarray, np.ndarray, np.ndarray]


def box(rng: np.random.Generator, types: int) -> Box:
    """Penalties with their intervals; in a grid, so that ties happen."""
    middle = rng.integers(0, 20, (types, types)) / 100
    half = rng.integers(0, 4, (types, types)) / 100
    return middle, middle - half, middle + half


def grouped(rng: np.random.Generator, types: int, sizes: Sequence[int]) -> list[tuple[int, ...]]:
    return [tuple(rng.integers(0, types, size).tolist()) for size in sizes]


def gains(ends: Box, kind: int, old: Sequence[int], new: Sequence[int]) -> tuple[float, float]:
    """The least and the most that a job gains, over all corners of the box."""
    entries = sorted({*old, *new})
    found = []
    for corner in itertools.product((1, 2), repeat=len(entries)):
        lost = {other: ends[end][kind, other] for other, end in zip(entries, corner, strict=True)}
        found.append(sum(lost[o] for o in old) - sum(lost[o] for o in new))
    return round(min(found), 12), round(max(found), 12)


@pytest.mark.parametrize("seed", range(12))
def test_agents_break_away_exactly_when_all_corners_of_the_intervals_say_so(seed: int) -> None:
    rng = np.random.default_rng(seed)
    seats = 3 + seed % 2
    ends = box(rng, 3)
    groups = grouped(rng, 3, [seats, seats, 1 + seed % 3])
    alpha = (seed % 3) / 50
    agents = [(g, s) for g, types in enumerate(groups) if len(types) > 1 for s in range(len(types))]
    advised: dict[str, set[tuple[int, int]]] = {"certain": set(), "possible": set()}
    sets: Counter[tuple[tuple[int, int], tuple[int, ...]]] = Counter()
    for chosen in itertools.combinations(agents, seats):
        types = [groups[g][s] for g, s in chosen]
        least, most = [], []
        for place, (g, s) in enumerate(chosen):
            old = groups[g][:s] + groups[g][s + 1 :]
            new = types[:place] + types[place + 1 :]
            low, high = gains(ends, types[place], old, new)
            least.append(low)
            most.append(high if sorted(old) != sorted(new) else -1.0)
        if min(least) > alpha:
            advised["certain"] |= set(chosen)
            for place, agent in enumerate(chosen):
                sets[agent, tuple(sorted(types[:place] + types[place + 1 :]))] += 1
        if min(most) > alpha:
            advised["possible"] |= set(chosen)
    told = ActionRecommender(ends, {}, seats, groups, alpha)
    assert (told.certain, told.possible) == tuple(map(len, advised.values()))
    for g, s in agents:
        others = tuple(sorted(groups[g][:s] + groups[g][s + 1 :]))
        offers = told.offers((groups[g][s], *others), "certain")
        assert {one.others: one.sets for one in offers} == {
            types: number for (agent, types), number in sets.items() if agent == (g, s)
        }
        assert all(one.least > alpha and one.least <= one.gain <= one.most for one in offers)
    gone = told.leaving(groups)
    assert bool(gone) == bool(told.certain)
    flat = [agent for one in gone for agent in one]
    assert len(flat) == len(set(flat))
    places = [{g for g, _ in one} for one in gone]
    assert sum(map(len, places)) == len(set().union(*places))  # each group is left once
    for one in gone:
        types = [groups[g][s] for g, s in one]
        for place, (g, s) in enumerate(one):
            old = groups[g][:s] + groups[g][s + 1 :]
            assert gains(ends, types[place], old, types[:place] + types[place + 1 :])[0] > alpha


@pytest.mark.parametrize("seed", range(8))
def test_on_two_seats_agents_are_told_what_pairs_are(seed: int) -> None:
    rng = np.random.default_rng(seed)
    middle, low, high = box(rng, 4)
    pairs = grouped(rng, 4, [2] * 6 + [1])
    count = np.bincount([kind for types in pairs for kind in types], minlength=4)
    whole = Colocation(middle, count, low=low, high=high, machines=7.0)
    first, second = np.array(pairs[:-1]).T
    alone = np.bincount(pairs[-1], minlength=4)
    pairing = Pairing(first, second, np.ones(6, dtype=int), alone)
    told = [
        blocking_pairs(whole, pairing, 0.02, uncertainty=sure).agents
        for sure in ("certain", "possible")
    ]
    found = ActionRecommender((middle, low, high), {}, 2, pairs, 0.02)
    assert [found.certain, found.possible] == told


def test_what_was_measured_of_a_group_stands_instead_of_the_sum() -> None:
    ends = (np.full((2, 2), 0.1), np.full((2, 2), 0.09), np.full((2, 2), 0.11))
    pairs = Colocation(ends[0], np.full(2, 2), low=ends[1], high=ends[2], names=("a", "b"))
    seen = Estimate(0.5, 0.45, 0.55, 3, 0.01)
    estimates = GroupEstimates(pairs, {(0, 1, 1): seen, (0, 0, 0, 0): seen}, 3)
    assert estimates.losses((0, 1, 1)).penalty == pytest.approx((0.5, 0.2, 0.2))
    assert estimates.losses((1, 0, 1)).high == pytest.approx((0.22, 0.55, 0.22))
    assert estimates.losses((0, 1)).penalty == pytest.approx((0.1, 0.1))
    approved(estimates.words)
    assert (
        estimates.instance(np.array([3, 0]), 1).model == "additive"
    )  # none of its groups was measured
    table = estimates.instance(np.array([3, 3]), 2)
    assert table.model == "table"
    answer = policy_of("optimal", {}, 5.0, 3)(table, rng=np.random.default_rng(0)).solution
    check(table, answer)
    assert answer.members.tolist() == [[0, 0, 0], [1, 1, 1]]  # the measured mixture is avoided
    agents = ActionRecommender(estimates.ends, estimates.measured, 3, [(0, 1, 1), (0, 0, 1)], 0.2)
    assert (agents.certain, agents.possible) == (0, 0)  # the one at (0, 1, 1) finds nobody willing
    forbidden = Colocation([[0.1, np.inf], [np.inf, 0.1]], np.full(2, 2), names=("a", "b"))
    apart = GroupEstimates(forbidden, {(0, 0, 0): seen}, 3).instance(np.array([3, 2]), 2)
    assert not any({0, 1} <= set(row) for row in apart.members.tolist())


def test_a_table_gives_what_the_sum_gives_where_nothing_else_was_seen(store: Path) -> None:
    with opened(store) as rows:
        predictor = Predictor(profile_of(rows))
    plain = group_estimates(predictor, 4)
    entry = (0, 0, 1, 2)
    same = plain.losses((0, 0, 1, 2))
    seen = Estimate(same.penalty[0], same.low[0], same.high[0], 2, 0.0)
    tabled = GroupEstimates(plain.pairs, {entry: seen}, 4)
    count, policy = np.array([4, 3, 2]), policy_of("optimal", {}, 5.0, 3)
    problems = [estimates.instance(count, 3) for estimates in (plain, tabled)]
    assert [problem.model for problem in problems] == ["additive", "table"]
    one, two = (
        mean_penalty(problem, policy(problem, rng=np.random.default_rng(0)).solution)
        for problem in problems
    )
    assert one == pytest.approx(two, abs=1e-11)


@pytest.mark.parametrize("method", ["core", "optimal", "hierarchical", "GR"])
def test_a_queue_on_three_seats_is_done_oldest_first_each_job_once(
    begin: Begin, method: str
) -> None:
    machines = SimulatedMachines(2)
    policy = policy_of(method, {}, 2.0, 3)
    made = begin("012" * 5, machines, policy=policy, seats=3)
    assert made.whole().states == {"done": 15}
    assert [len(kinds) for _, kinds in machines.begun] == [3] * 5
    first = Counter(kind for _, kinds in machines.begun[:2] for kind in kinds)
    assert first == {"0": 2, "1": 2, "2": 2}
    rows = made.rows.rows("SELECT penalty, low, high, certain, possible FROM epoch")
    assert all(low <= middle <= high for middle, low, high, _, _ in rows)
    assert all(certain <= possible for *_, certain, possible in rows)


def test_on_two_seats_groups_decide_as_pairs_do(store: Path) -> None:
    with opened(store) as rows:
        predictor = Predictor(profile_of(rows))
    queue, other = Waiting(3), Waiting(3)
    for one in (queue, other):
        one.add(0, np.array([3, 2, 3]))
    pairs = Placer(predictor, policy_of("optimal", {}, 5.0), 0.0, 2)
    groups = Placer(predictor, policy_of("optimal", {}, 5.0, 3), 0.0, 2)
    draws = np.random.default_rng(0)
    one, two = pairs.place(queue, 4, draws), groups._groups(other, 4, draws)
    assert one is not None
    assert two is not None
    of_pairs = [lost for types in one.groups for lost in pairs.losses(types).penalty]
    of_groups = [lost for types in two[1] for lost in groups.losses(types).penalty]
    assert sum(of_pairs) == pytest.approx(sum(of_groups))


def test_jobs_that_may_be_beside_nobody_get_machines_and_the_youngest_wait(begin: Begin) -> None:
    matrix = np.array([[np.inf, np.inf, np.inf], [np.inf, 0.1, 0.1], [np.inf, 0.1, 0.1]])
    known = Colocation(matrix, np.array([1, 2, 2]), machines=5.0, names=("0", "1", "2"))
    machines = SimulatedMachines(3)
    policy = policy_of("optimal", {}, 2.0, 3)
    made = begin("00112212", machines, matrix=known, policy=policy, seats=3)
    assert made.whole().states == {"done": 8}
    begun = [sorted(kinds) for _, kinds in machines.begun]
    assert begun.count(["0"]) == 2
    assert sorted(map(len, begun[:3])) == [1, 1, 3]


def test_strict_agents_of_groups_leave_and_are_together_next(begin: Begin) -> None:
    from cotenant.instances.groups import Grouping

    matrix = Colocation(np.where(np.eye(2), 0.0, 0.2), np.full(2, 3), names=("0", "1"))

    def worst(problem: Any, *, rng: np.random.Generator) -> Any:
        if problem.count.tolist() == [3, 3]:
            return Grouping([[0, 0, 1], [0, 1, 1]], [0, 0], [1, 1])
        return policy_of("optimal", {}, 2.0, 3)(problem, rng=rng)

    jobs = [QueuedJob(f"j{n}", Job(kind, ("true",)), True) for n, kind in enumerate("001011")]
    machines = SimulatedMachines(2)
    made = begin(jobs, machines, matrix=matrix, policy=worst, agents="strict", seats=3,
    )  # fmt: skip
    assert made.whole().states == {"done": 6}
    assert sorted(kinds for _, kinds in machines.begun) == [("0", "0", "0"), ("1", "1", "1")]
    approved("\n".join(made.lines))  # fmt: skip


def test_production_of_groups_is_believed_after_two_looks_and_pairs_stay(begin: Begin) -> None:
    machines = SimulatedMachines(1, lambda kinds: 5 / (1 - 0.4 * (len(kinds) == 3)))
    made = begin("012" * 4, machines, policy=policy_of("GR", {}, 2.0, 3), seats=3)
    before = profile_of(made.rows).estimates.estimates
    assert made.whole().states == {"done": 12}
    assert {(look.kind, len(look.jobs)) for look in made.rows.produced(1)} == {("group", 3)}
    again = profile_of(made.rows)
    assert again.estimates.estimates == before  # a group says nothing of a pair for sure
    estimates = group_estimates(Predictor(again), 3)
    assert estimates.measured.keys() == {(0, 1, 2), (1, 0, 2), (2, 0, 1)}
    assert estimates.losses((0, 1, 2)).penalty == pytest.approx((0.4,) * 3, abs=0.01)
    live = made.coordinator.predictor.seen.group_estimates(0.01)
    assert {entry: guess.samples for entry, guess in live.items()} == {
        entry: guess.samples for entry, guess in again.seen.group_estimates(0.01).items()
    }
    seen = made.rows.rows("SELECT measured FROM seat WHERE measured IS NOT NULL")
    assert seen
    assert all(value == pytest.approx(0.4, abs=0.01) for (value,) in seen)
    done = run("advise", "job", made.rows.path, "1")
    text = " ".join(done.stdout.split())
    approved(text)


def test_a_job_that_was_not_among_all_for_most_of_its_time_teaches_nothing_of_the_group(
    begin: Begin,
) -> None:
    from cotenant.cluster.measure.store import StoredMeasurement

    seen = profile_of(begin([], SimulatedMachines(1, lambda kinds: 1.0)).rows).seen
    for number in range(3):
        begin = 1e9 + 100 * number
        runs = ((0, 9.0, 9.0, 1.0), (1, 9.0, 9.0, 0.8), (2, 9.0, 9.0, 0.95))
        seen.add(StoredMeasurement(-1, (1, 2, 3), "group", begin, runs))
    assert set(seen.group_estimates(0.05)) == {(0, 1, 2), (2, 0, 1)}


@pytest.mark.slow
@needs_two_cpus
def test_sleeping_jobs_on_three_seats_of_two_machines_are_done_and_their_groups_measured(
    tmp_path: Path,
) -> None:
    pytest.importorskip("psutil", reason="python -m pip install '.[measure]'")
    from cotenant.cluster.measure import sleeper
    from cotenant.cluster.measure.command import TOKEN
    from cotenant.cluster.measure.measure import measure

    truth = {"a": {"a": 0.1, "b": 0.3}, "b": {"a": 0.05, "b": 0.1}}
    jobs = []
    for name, beside in truth.items():
        others = " ".join(f"{other}={lost}" for other, lost in beside.items())
        # those of one machine see each other: its worker's token names their folder
        text = f"mkdir -p ${TOKEN}; exec {sys.executable} -I -S {sleeper.__file__} {name} 0.8 "
        command = ("sh", "-c", f"{text} ${TOKEN} {others}")
        jobs.append(Job(name, command, directory=tmp_path))
    settings: dict[str, Any] = {"time": "wall", "pressure": 1.0, "control": False}
    measure(jobs, tmp_path / "lab.db", half_width=0.5, **settings)
    names = [
        (f"{job.name}-{number}", job.name, job.command) for number in range(12) for job in jobs
    ]
    path = write_queue(tmp_path, ((*job, "yes") for job in names))
    words = ["run", path, "--store", str(tmp_path / "lab.db"), "--json"]
    words += [
        "--local",
        "2",
        "--seats",
        "3",
        "--settings",
        lenient_settings(tmp_path),
        "--other-machine",
    ]
    done = run(*words, TMPDIR=str(tmp_path))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["states"] == {"done": 24}
    with opened(tmp_path / "lab.db") as rows:
        looks = [look for look in rows.produced(2) if look.kind == "group"]
        sizes = rows.rows("SELECT COUNT(*) FROM seat GROUP BY placed")
        assert max(sizes) == (3,)
        assert rows.rows("SELECT COUNT(DISTINCT machine) FROM placed") == [(2,)]
    assert found["measured"] is not None
    assert abs(found["measured"] - found["predicted"]) < 0.1
    assert all(len(look.jobs) == 3 for look in looks)


def test_a_machine_of_a_queue_has_as_many_seats_as_one_of_groups() -> None:
    RunSettings(seats=MOST_SEATS)
    with refused(InvalidOption):
        RunSettings(seats=MOST_SEATS + 1)
