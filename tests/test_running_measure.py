"""Measurement on a simulated machine, and `cotenant measure` and `cotenant profiles`."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from support.fake_machine import SimulatedMachine, simulated_jobs
from support.messages import approved, refused
from support.terminal import run

import cotenant
from cotenant.cli.measuring import _seconds
from cotenant.cluster.measure.jobs import Job
from cotenant.cluster.measure.measure import MeasurementStatus, Summary, measure
from cotenant.cluster.measure.profiles import profiles
from cotenant.cluster.measure.statistics import (
    CONTROL,
    LEAST_LOOKS,
    Observations,
    estimate_penalties,
    first_pairs,
    interval,
    jackknife_plus,
    paired_loss,
    rounds_needed,
)
from cotenant.cluster.measure.store import StoredMeasurement, opened
from cotenant.instances.problem.errors import InvalidOption

TRUTH = np.array([[0.10, 0.30, 0.02], [0.05, 0.20, 0.01], [0.00, 0.15, 0.05]])
WORK = (5.0, 8.0, 12.0)
ENDS = ("low", "mid", "high")


def machine(**given: object) -> SimulatedMachine:
    return SimulatedMachine(TRUTH, WORK, **{"noise": 0.01, "gap": 0.05, **given})


@pytest.mark.slow
def test_simulated_penalties_are_recovered_within_two_points(tmp_path: Path) -> None:
    told: list[MeasurementStatus] = []
    found = measure(simulated_jobs(3), tmp_path / "lab.db", machine=machine(), progress=told.append)
    assert (found.stop, found.done, found.cells) == ("reached", 9, 9)  # 6 pairs, 3 controls
    assert found.widest <= 0.01
    assert told[-1].cells == 9
    assert 0 < told[20].left < math.inf
    shown = profiles(tmp_path / "lab.db")
    guess, truth = shown.estimates, np.column_stack([TRUTH, np.zeros(3)])  # and beside the control
    assert (abs(guess.mid - truth) < [0.02, 0.02, 0.02, 0.01]).all()
    assert ((guess.low <= truth) & (truth <= guess.high)).all()
    made = shown.instance()
    assert made.names == ("0", "1", "2")
    assert made.confidence == 0.95
    assert (made.looks >= LEAST_LOOKS).all()
    approved(made.certainty)


@pytest.mark.slow
def test_95_percent_intervals_contain_penalties_of_200_random_matrices(tmp_path: Path) -> None:
    inside = close = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        truth, work = rng.uniform(-0.01, 0.35, (4, 4)), rng.uniform(5, 20, 4)
        store = tmp_path / f"{seed}.db"
        simulated = SimulatedMachine(truth, work, noise=0.015, gap=0.1, drift=0.02, seed=seed)
        jobs = simulated_jobs(4)
        measure(jobs, store, half_width=0.02, machine=simulated, control=False, seed=seed)
        low, mid, high = (getattr(profiles(store).estimates, end)[:, :4] for end in ENDS)
        inside += ((low <= truth) & (truth <= high)).all()
        close += (abs(mid - truth) <= 0.02).all()
        store.unlink()
    assert 180 <= inside <= 198
    assert close >= 198


def test_measurement_round_has_each_unfinished_penalty_once_in_random_order(tmp_path: Path) -> None:
    simulated = machine()
    measure(simulated_jobs(3), tmp_path / "lab.db", machine=simulated, half_width=0.2)
    rounds = [simulated.asked[3 + 12 * k : 15 + 12 * k] for k in range(LEAST_LOOKS)]
    cells = [Counter(tuple(members) for members in one) for one in rounds]
    assert all(one == cells[0] for one in cells)
    assert set(cells[0].values()) == {1}
    assert len({str(one) for one in rounds}) == LEAST_LOOKS


def interrupted(store: Path, simulated: SimulatedMachine, runs: int) -> Summary:
    """A command that ends by Ctrl-C after so many runs."""
    calls: list[str] = []

    def stop(status: MeasurementStatus) -> None:
        calls.append(status.now)
        if len(calls) > runs:
            raise KeyboardInterrupt

    return measure(simulated_jobs(3), store, machine=simulated, progress=stop)


def test_interrupted_penalty_measurement_continues_round_and_loses_one_run(tmp_path: Path) -> None:
    store, simulated = tmp_path / "lab.db", machine()
    found = interrupted(store, simulated, 29)
    assert (found.stop, found.visits) == ("interrupted", 29)
    before = simulated.asked[3:]
    measure(simulated_jobs(3), store, machine=simulated, half_width=0.1)
    rest = simulated.asked[29 + 3 :]
    assert len(before) == 26  # two rounds of twelve, and two of the third
    third = before[24:] + rest[:10]
    assert Counter(map(tuple, third)) == Counter(map(tuple, before[:12]))
    with opened(store) as rows:
        keys = Counter((k.round, k.jobs, k.kind) for k in rows.looks(1))
    assert set(keys.values()) == {1}


def test_penalty_measurement_begins_new_round_after_an_hour_without_runs(tmp_path: Path) -> None:
    simulated = machine()
    interrupted(tmp_path / "lab.db", simulated, 9)
    simulated.clock += 3600
    found = measure(simulated_jobs(3), tmp_path / "lab.db", machine=simulated, half_width=0.3)
    assert found.rounds == LEAST_LOOKS + 1


def test_measurement_on_too_noisy_machine_stops_as_hopeless(tmp_path: Path) -> None:
    simulated = machine(noise=0.13)
    found = measure(simulated_jobs(3), tmp_path / "lab.db", machine=simulated)
    assert found.stop == "hopeless"
    assert found.rounds <= 6
    approved(found.why)
    on = measure(simulated_jobs(3), tmp_path / "lab.db", machine=simulated, half_width=0.4)
    assert on.stop == "reached"  # the rows so far serve the wider one


def test_time_budget_ends_penalty_measurement_between_runs(tmp_path: Path) -> None:
    simulated = machine()
    found = measure(simulated_jobs(3), tmp_path / "lab.db", machine=simulated, budget=100.0)
    assert (found.stop, simulated.clock - 1e9 <= 100) == ("budget", True)


def test_runs_on_busy_machine_are_not_used(tmp_path: Path) -> None:
    simulated = machine(pressure=lambda number: 0.6)
    found = measure(simulated_jobs(3), tmp_path / "lab.db", machine=simulated)
    assert (found.stop, found.rounds) == ("busy", 3)
    shown = profiles(tmp_path / "lab.db")
    assert not shown.estimates.samples.any()
    assert shown.surroundings["median pressure"] == 0.6
    with refused(InvalidOption):
        shown.instance()


def test_occasional_runs_on_busy_machine_are_stored_but_not_used(tmp_path: Path) -> None:
    simulated = machine(pressure=lambda number: 0.6 if number % 3 == 0 else 0.01)
    found = measure(simulated_jobs(3), tmp_path / "lab.db", machine=simulated, half_width=0.03)
    assert found.stop == "reached"
    with opened(tmp_path / "lab.db") as rows:
        assert rows.surroundings(1)["busy"] == found.busy > 10
        assert len(rows.looks(1)) == found.visits - found.busy - 3


def test_pair_that_fails_twice_is_a_void_of_the_profiles(tmp_path: Path) -> None:
    def crash(number: int, members: list[int | None]) -> str:
        return "signal 11" if members in ([0, 1], [1, 0]) else ""

    simulated = machine(error=crash)
    store = tmp_path / "lab.db"
    found = measure(simulated_jobs(3), store, machine=simulated, half_width=0.05)
    assert (found.stop, found.failed, found.cells) == ("reached", 2, 8)
    approved(found.notes)
    assert simulated.asked.count([0, 1]) == 2
    shown = profiles(store)
    assert shown.voids == {(0, 1): "signal 11"}
    with refused(InvalidOption):
        shown.instance()
    assert not shown.instance("forbid").allowed[0, 1]
    guess = shown.instance("predict")
    assert guess.allowed.all()
    assert guess.looks is not None
    assert guess.looks[0, 1] == 0
    assert guess.confidence is None  # a prediction's interval is not one that holds with the others
    with opened(store) as rows:
        bad = rows._rows.execute("SELECT DISTINCT wall, cpu FROM run WHERE state = 'failed'")
        assert bad.fetchall() == [(None, None)]


@pytest.mark.parametrize(
    ("error", "seconds"), [("", 0.01), ("timeout after 600 s", 8.0), ("exit 3: no such file", 8.0)]
)
def test_unmeasurable_job_is_refused_after_first_runs(
    tmp_path: Path, error: str, seconds: float
) -> None:
    def fails(number: int, members: list[int | None]) -> str:
        return error if members == [1] else ""

    alone = SimulatedMachine(TRUTH, (5.0, seconds, 12.0), error=fails)
    with refused(InvalidOption):
        measure(simulated_jobs(3), tmp_path / "lab.db", machine=alone)


def test_sampled_pairs_include_every_job() -> None:
    for jobs in (2, 3, 7, 20):
        for seed in range(20):
            rng = np.random.default_rng(seed)
            pairs = first_pairs([2] * jobs, 0.25, rng)
            assert {job for pair in pairs for job in pair} == set(range(jobs))
            assert len(pairs) == max(math.ceil(jobs * (jobs + 1) / 8), math.ceil(jobs / 2))
    assert first_pairs([1, 2], 1.0, np.random.default_rng(0)) == [(0, 1), (1, 1)]


@pytest.mark.slow
def test_prediction_intervals_have_stated_coverage() -> None:
    inside = entries = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        truth = np.outer(rng.uniform(0.5, 1.5, 10), rng.uniform(0, 0.3, 10))
        truth += rng.normal(0, 0.02, truth.shape)
        known = np.triu(rng.random(truth.shape) < 0.5)
        known |= known.T
        middle, low, high = jackknife_plus(truth, known, 0.9, (truth, truth), (-1, 1))
        assert (middle[known] == truth[known]).all()
        assert ((low <= middle) & (middle <= high)).all()
        inside += ((low <= truth) & (truth <= high))[~known].sum()
        entries += (~known).sum()
    assert 0.86 <= inside / entries <= 0.97


def test_prediction_interval_from_few_entries_is_unbounded() -> None:
    truth = np.full((3, 3), 0.1)
    known = np.array([[True, True, False], [True, False, False], [False, False, False]])
    _, low, high = jackknife_plus(truth, known, 0.95, (truth, truth), (-1, 1))
    assert (low[~known] == -1).all()
    assert (high[~known] == 1).all()


def test_measured_loss_is_divided_by_share_of_time_beside_other_job() -> None:
    alone, penalty, covered = 10.0, 0.3, 0.9
    seconds = alone / (1 - penalty * covered)
    assert 1 - math.exp(-paired_loss(seconds, alone, covered)) == pytest.approx(penalty)
    assert paired_loss(seconds, alone, 0.4) is None
    assert paired_loss(0.0, alone, 1.0) is None


def test_production_run_mostly_alone_adds_no_pair_sample() -> None:
    seen = Observations([1, 2], "wall")
    seen.add(StoredMeasurement(-1, (1,), "alone", 0.0, ((0, 5.0, 5.0, 0.0),)))
    for begin, covered, looks in ((1.0, 0.3, 0), (2.0, 0.9, 1)):
        runs = ((0, 6.0, 6.0, covered),)
        seen.add(StoredMeasurement(-2, (1, 2), "pair", begin, runs))
        assert len(seen.logs(0, 1)) == looks


def test_penalty_intervals_and_number_of_rounds_follow_students_t() -> None:
    logs = np.array([0.1, 0.12, 0.08, 0.1])
    seen = SimpleNamespace(jobs=[0], logs=lambda a, c: logs if c == 0 else logs[:1])
    guess = estimate_penalties(seen, 0.95)
    reach = 3.182446 * math.sqrt(0.0008 / 3) / 2
    for end, side in zip(ENDS, (-1, 0, 1), strict=True):
        value = getattr(guess, end)
        assert value[0, 0] == pytest.approx(1 - math.exp(-(0.1 + side * reach)), rel=1e-6)
        assert np.isnan(value[0, CONTROL])  # one look is none
    needed = int(rounds_needed(0.13, 0.0, 0.01, 0.05))
    assert 640 <= needed <= 665  # the note of the design: 13 % of noise, one point, 650 rounds
    for looks in (needed, needed - 1):
        mid, low, high = interval(looks, 0.0, 0.13, 0.05)
        assert (max(high - mid, mid - low) <= 0.01) == (looks == needed)


def test_job_that_fails_once_is_measured_again_with_odd_number_of_agents(tmp_path: Path) -> None:
    simulated = machine(error=lambda number, members: "signal 9" if number == 8 else "")
    jobs = simulated_jobs(3, agents=1)
    found = measure(jobs, tmp_path / "lab.db", machine=simulated, half_width=0.05)
    assert (found.stop, found.failed, found.done) == ("reached", 1, 6)
    shown = profiles(tmp_path / "lab.db")
    assert shown.voids == {}
    assert (shown.instance().agents, shown.instance().machines) == (3, 2)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of eight jobs, of which one pair fails."""
    truth = np.random.default_rng(0).uniform(0, 0.3, (8, 8))

    def crash(number: int, members: list[int | None]) -> str:
        return "exit 139: no memory" if members in ([2, 5], [5, 2]) else ""

    machine = SimulatedMachine(truth, [5.0] * 8, noise=0.01, drift=0.02, error=crash)
    jobs = [Job(str(index), ("true",)) for index in range(8)]
    store = tmp_path_factory.mktemp("lab") / "lab.db"
    measure(jobs, store, machine=machine, half_width=0.03)
    return store


def test_profiles_table_with_intervals_and_failed_pairs_fits_80_columns(lab: Path) -> None:
    done = run("profiles", str(lab), COLUMNS="80")
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    for words in ("19.0±2.6", "control", "void"):
        assert words in done.stdout
    assert "Failed twice: 2 beside 5: exit 139: no memory" in " ".join(done.stdout.split())
    approved(done.stdout[done.stdout.index("All measured") :])


def test_profiles_command_writes_instance_with_failed_pairs_only_with_voids_option(
    lab: Path,
) -> None:
    out = lab.with_name("jobs.json")
    done = run("profiles", str(lab), "--out", str(out))
    assert done.returncode == 2
    approved(done.stderr)
    assert not out.exists()
    done = run("profiles", str(lab), "--out", str(out), "--voids", "forbid", "--json")
    assert done.returncode == 0, done.stderr
    approved(json.loads(done.stdout)["voids"][0]["reason"])
    made = cotenant.read(out)
    assert not made.allowed[2, 5]
    assert made.confidence == 0.95
    assert "uncertainty=possible" in done.stderr
    wider = run("profiles", str(lab), "--confidence", "0.99", "--json")
    ends = [
        np.mean([entry["high"] - entry["low"] for entry in json.loads(text)["penalties"]])
        for text in (done.stdout, wider.stdout)
    ]
    assert ends[0] < ends[1]


def test_measure_refuses_invalid_options_in_one_line(tmp_path: Path) -> None:
    jobs = tmp_path / "jobs.toml"
    jobs.write_text('[[job]]\nname = "a"\ncommand = ["true"]\n')
    store = tmp_path / "lab.db"
    for options in (
        ["--cpus", "0"], ["--budget", "soon"], ["--half-width", "0"],
        ["--store", str(tmp_path / "no" / "lab.db")], ["--store", str(jobs)],
    ):  # fmt: skip
        done = run("measure", str(jobs), "--store", str(store), *options)
        assert (done.returncode, done.stderr.count("\n")) == (2, 1), options
        approved(done.stderr)
        assert not store.exists()
    done = run("measure", str(jobs), "--store", str(store))
    assert (done.returncode, "job 'a'" in done.stderr) == (2, True)  # too short to be measured


def test_durations_are_read_with_units() -> None:
    assert [_seconds(text) for text in ("90", "90s", "1.5 min", "2h", "1d")] == [
        90, 90, 90, 7200, 86400,
    ]  # fmt: skip
    for text in ("", "h", "-3", "0s", "2 weeks", "1h30"):
        with refused(InvalidOption, shown=text):
            _seconds(text)
