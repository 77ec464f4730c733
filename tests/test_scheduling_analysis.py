"""Metrics, windows of a trace, the strategy search, prices, audits, experiments and the command
line.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.messages import approved, refused

import cotenant
from cotenant.analysis.scheduling.audit import audit
from cotenant.analysis.scheduling.fairness import fairness
from cotenant.analysis.scheduling.metrics import metrics
from cotenant.analysis.scheduling.windows import prices, study
from cotenant.instances.problem.errors import InvalidOption
from cotenant.instances.scheduling import Schedule, Scheduling, utilities
from cotenant.instances.scheduling.accounts import Source
from cotenant.instances.scheduling.generators import workload
from cotenant.instances.scheduling.log import Log, Settings, window
from cotenant.instances.scheduling.utility import units_done
from cotenant.solvers.scheduling import reference, simulate
from cotenant.solvers.scheduling.shapley_schedule import affordable


def made_log(jobs: int = 400, length: int = 4000, users: int = 12, seed: int = 0) -> Log:
    """A busy synthetic log of serial jobs, some started late."""
    rng = np.random.default_rng(seed)
    submit = np.sort(rng.integers(0, length, jobs))
    run = rng.integers(20, 400, jobs)
    user = rng.integers(0, users, jobs)
    zeros = np.zeros(jobs, dtype=np.int64)
    names = tuple(f"user{number}" for number in range(users))
    return Log(
        "made", submit, rng.integers(0, 60, jobs), run, np.ones(jobs, dtype=np.int64), user, zeros,
        names, ("g",),
        {"MaxProcs": "12"},
    )  # fmt: skip


def swf_text(log: Log) -> str:
    rows = zip(
        log.submit.tolist(), log.wait.tolist(), log.run.tolist(), log.user.tolist(), strict=True
    )
    lines = [
        f"{n} {s} {w} {r} 1 -1 -1 1 -1 -1 1 {u} 0 -1 1 1 -1 -1"
        for n, (s, w, r, u) in enumerate(rows, start=1)
    ]
    return "\n".join(["; MaxProcs: 12", *lines]) + "\n"


def test_unfairness_equals_absolute_differences_over_ref_work() -> None:
    instance = cotenant.read("scheduling/tiny")
    found = reference(instance)
    schedule = simulate(instance, "FIFO").schedule
    expected = np.abs(utilities(instance, schedule) - found.psi).sum() / found.units
    measured = metrics(instance, schedule)
    assert measured["unfairness"] == pytest.approx(expected)
    assert measured["unfairness"] > 0
    assert (
        found.units
        == units_done(
            cotenant.solve(instance, "REF").solution.start, instance.processing, instance.horizon
        ).sum()
    )


def test_flow_time_includes_waiting_until_horizon() -> None:
    instance = Scheduling([1], [0, 0, 0], [0, 2, 9], [3, 20, 5], horizon=8)
    measured = metrics(instance, Schedule([0, 3, -1], [0, 0, -1]))
    assert measured["flow_time"] == (3 + 6) / 2
    assert (measured["started"], measured["completed"]) == (2, 1)
    assert measured["utilization"] == 1.0
    assert metrics(instance, Schedule([-1] * 3, [-1] * 3))["flow_time"] == (8 + 6) / 2


def test_unfairness_is_omitted_without_work_or_with_too_many_organizations() -> None:
    nothing = Scheduling([1], [0], [9], [1], horizon=3)
    assert "unfairness" not in metrics(nothing, Schedule([-1], [-1]))
    many = workload(organizations=24, jobs=50, rng=np.random.default_rng(0))
    assert not affordable(many)
    schedule = simulate(many, "FIFO").schedule
    assert "unfairness" not in metrics(many, schedule)
    with refused(InvalidOption):
        metrics(many, schedule, reference="REF")
    with refused(InvalidOption):
        metrics(many, schedule, reference="x")
    with refused(InvalidOption):
        metrics(many, schedule, reading="x")


def test_rule_study_distance_equals_unfairness_metric() -> None:
    log = made_log()
    found = study(
        log,
        Settings(length=600, organizations=3, machines=8),
        windows=3,
        rules=("FAIRSHARE",),
        seed=5,
    )
    for index in range(3):
        rng = np.random.default_rng([5, index])
        begin = int(rng.integers(log.begin, log.end - 600 + 1))
        instance = window(
            log, Settings(begin=begin, length=600, organizations=3, machines=8), rng
        ).instance
        measured = metrics(instance, cotenant.solve(instance, "FAIRSHARE").solution)["unfairness"]
        assert found.distance["FAIRSHARE"][index] == measured


def test_prices_of_fairness_are_shares_of_proved_optimum() -> None:
    instance = cotenant.read("scheduling/figure-7")
    found = {price.rule: price for price in prices(instance) or []}
    assert found["FIFO"].work == 0.75
    assert all(0.75 <= price.work <= 1 and 0 < price.utility <= 1 for price in found.values())
    assert prices(cotenant.read("scheduling/lpc-like"), time_limit=0.01) is None


def test_audit_of_ref_schedule_has_zero_debts() -> None:
    instance = cotenant.read("scheduling/tiny")
    start = cotenant.solve(instance, "REF").solution.start
    judged = window(made_log(), Settings(length=600))
    found = audit(type(judged)(instance, start, 0))
    assert found.wanted.tolist() == found.received[:, -1].tolist()
    assert found.received[:, -1].tolist() == reference(instance).psi.tolist()
    assert found.contributed[:, -1].tolist() == [
        float(share) for share in reference(instance).phi()
    ]
    assert found.times[-1] == instance.horizon


@pytest.mark.parametrize("name", ["REF", "RAND"])
def test_audit_debts_sum_to_zero_at_every_time(name: str) -> None:
    found = audit(
        window(made_log(), Settings(length=2000, organizations=4)), reference=name, points=5
    )
    assert found.reference == name
    assert found.owed.shape == (4, 5)
    assert found.owed.sum(axis=0) == pytest.approx(np.zeros(5), abs=1e-3)
    assert (np.diff(found.received, axis=1) >= 0).all()


def test_fairness_of_swf_log_uses_groups_as_organizations(tmp_path: Path) -> None:
    path = tmp_path / "made.swf"
    path.write_text(swf_text(made_log()))
    found = fairness(path, Source(machines=3), windows="0/1000", ties=0)
    document = json.loads(json.dumps(found.document(), allow_nan=False))
    (seen,) = document["windows"]
    assert sum(row[-1] for row in seen["owed"]) == pytest.approx(0, abs=1e-3)
    approved(" ".join(seen["notes"]))
