"""Who is owed what on a real Slurm: its exports read, accounts judged, causes, and what is said."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from support.measured import DATA
from support.messages import approved, refused
from support.sacct import COLUMNS, at, job, text_of
from support.terminal import run

from cotenant.analysis.scheduling.audit import audit, sampling_bound
from cotenant.analysis.scheduling.causes import flows
from cotenant.analysis.scheduling.fairness import Fairness, fairness
from cotenant.analysis.scheduling.fit import Fitted, fit
from cotenant.cluster.fairness.emit import emit
from cotenant.cluster.fairness.words import (
    debts_table,
    fairness_head,
    rests_on,
    verdict,
    write_fairness_report,
)
from cotenant.instances.problem.errors import InvalidFile, InvalidOption
from cotenant.instances.scheduling import Scheduling, psi
from cotenant.instances.scheduling.accounts import Source, waits
from cotenant.instances.scheduling.formats import read_log
from cotenant.instances.scheduling.log import Window
from cotenant.instances.scheduling.slurm import read_nodes, read_sacct, read_shares, remarks
from cotenant.instances.scheduling.utility import rates
from cotenant.solvers.scheduling.event_loop import simulate
from cotenant.solvers.scheduling.fifo import fifo_starts, fifo_values
from cotenant.solvers.scheduling.shapley import scaled_shares

SLURM = DATA / "clusters" / "slurm"
needs_slurm = pytest.mark.skipif(not SLURM.exists(), reason="the exports are not at hand")

# bio takes all four CPUs for an hour while phy waits half an hour
LATE = [
    job("1", "bio", 0, 0, 3600, 2),
    job("2", "bio", 0, 0, 3600, 2),
    job("3", "phy", 1800, 3600, 1800, 2),
]


@pytest.fixture
def exported(tmp_path: Path):
    """Write jobs, or a text, as a file; its path."""

    def write(content: str | list[dict[str, str]], name: str = "sacct.txt", **more: object) -> str:
        text = content if isinstance(content, str) else text_of(content, **more)  # type: ignore[arg-type]
        (tmp_path / name).write_text(text)
        return str(tmp_path / name)

    return write


def judged(path: str, source: Source | None = None, **options: object) -> Fairness:
    return fairness(path, source or Source(machines=4), **options)  # type: ignore[arg-type]


# reading


@pytest.mark.parametrize("delimiter", ["|", ",", ";", "\t", "^_^", "%"])
@pytest.mark.parametrize("end", ["", "last"])
def test_sacct_reader_accepts_any_delimiter_and_column_order(exported, delimiter, end) -> None:
    plain = read_log(exported(LATE))
    jobs = [each | {"ReqTRES": "cpu=2", "AllocTRES": "cpu=2"} for each in LATE]
    order = sorted(COLUMNS, key=lambda name: (name == "JobName", name[::-1]))
    found = read_log(
        exported(jobs, delimiter=delimiter, columns=order, end=delimiter if end else "")
    )
    for name in ("submit", "wait", "run", "processors", "group", "jobs", "groups", "eligible"):
        assert np.array_equal(getattr(found, name), getattr(plain, name)), name


def test_sacct_job_name_may_contain_bars(exported) -> None:
    jobs = [each | {"JobName": "align|v2|"} for each in LATE]
    for columns in (COLUMNS, ["JobName", *COLUMNS[:-1]], [*COLUMNS[:4], "JobName", *COLUMNS[4:-1]]):
        found = read_log(exported(jobs, columns=columns))
        assert (found.bad, found.jobs, found.run.tolist()) == (
            (),
            ("1", "2", "3"),
            [3600, 3600, 1800],
        )


@needs_slurm
def test_real_slurm_exports_are_read() -> None:
    final = read_log(SLURM / "sacct-recommended.txt")
    assert (len(final.run), final.groups, final.bad) == (
        40, ("biology", "physics", "chemistry", "root"), (),
    )  # fmt: skip
    approved(str(dict(final.dropped)))
    place = final.jobs.index("41")  # suspended for 12 s
    assert (final.run[place], final.processors[final.jobs.index("4")]) == (4, 16)
    assert {"38+0", "38+1", "2_5"} <= set(final.jobs)
    middle = read_log(SLURM / "sacct-X.txt")
    assert {each.job for each in middle.waiting} == {"12", "31", "33", "34", "35"}
    assert middle.eligible is not None
    assert len(read_log(SLURM / "sacct-wide.txt").run) == len(middle.run)
    assert (
        sum(node.resources["cpu"] for node in read_nodes(SLURM / "scontrol-show-node-o.txt"))
        == 48_000
    )
    shares, said = read_shares(SLURM / "sshare-a-l-P.txt")
    assert shares == {"biology": 0.25, "chemistry": 0.25, "physics": 0.5}
    assert (said["Level FS"]["physics"], said["fair-tree factor"]["biology"]) == ("inf", "1.000000")


def test_sacct_lines_of_every_kind_are_counted(exported) -> None:
    jobs = [
        *LATE,
        job("3.batch", "phy", 1800, 3600, 1800),
        job("4", "phy", 100, None, 0, 3),
        job("5", "phy", 100, None, 0, Eligible="Unknown"),
        job("6_[1-4%2]", "bio", 200, None, 0, 2),
        job("7", "bio", 200, None, 0, State="CANCELLED by 0", Start="None"),
        job("8", "bio", 300, 400, 0),
        job("9", "phy", 300, 400, 50, State="RUNNING", End="Unknown"),
        job("10", "phy", 300, 400, 50, End=at(500)),
        job("11", "phy", 300, 400, 50, 8, ReqTRES="cpu=2,gres/gpu=1", AllocTRES="cpu=8"),
        job("12", "bio", 5000, 4900, 60),
        job("13", "bio", 300, 400, 50, State="REQUEUED"),
        job("13", "bio", 450, 500, 50),
        job("2", "bio", 0, 0, 3600, 2),
    ]
    found = read_sacct(exported(jobs))
    assert sorted(found.jobs) == sorted(["1", "2", "3", "9", "10", "11", "12", "13", "13"])
    assert {each.job: each.processors for each in found.waiting} == {"4": 3, "5": 1, "6_[1-4%2]": 8}
    approved(str(dict(found.dropped)))  # fmt: skip
    words = " ".join(remarks(found))
    for what in ("eligible or submitted: 1", "suspended jobs: 1", "(whole nodes): 1",
                 "still run: 1", "not seen: 1", "not eligible yet: 1"):  # fmt: skip
        assert what in words
    assert found.processors[found.jobs.index("11")] == 8
    late = found.jobs.index("12")
    assert (found.wait[late], found.submit[late]) == (0, found.submit[0] + 4900)
    table = waits(Source(machines=4).read(exported(jobs)))
    assert {name: row[:2] for name, row in table.items()} == {"phy": (1, 3), "bio": (1, 8)}


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"ElapsedRaw": "INVALID"}, "Elapsed is 'INVALID'"),
        ({"Submit": "yesterday"}, "Submit is 'yesterday'"),
        ({"Submit": "Unknown"}, "Submit is 'Unknown'"),
        ({"Start": "2026-13-41T00:00:00"}, "Start is '2026-13-41T00:00:00'"),
        ({"AllocTRES": "", "AllocCPUS": "many"}, "AllocCPUS is 'many'"),
        ({"ElapsedRaw": "", "End": at(1)}, "it ends before it starts"),
        ({"JobID": "", "JobIDRaw": ""}, "no JobID"),
    ],
)
def test_invalid_sacct_line_is_counted_or_refused_if_strict(exported, changed, words) -> None:
    path = exported([*LATE, job("4", "phy", 10, 20, 30) | changed])
    found = read_sacct(path)
    assert len(found.run) == 3
    assert len(found.bad) == 1
    assert f"line 5: {words}" in found.bad[0]
    approved("\n".join(Source(machines=4).read(path).notes))
    with refused(InvalidFile):
        read_sacct(path, strict=True)


HUMAN = """JobID           JobName  Partition    Account  AllocCPUS      State ExitCode
------------ ---------- ---------- ---------- ---------- ---------- --------
1               align|v2      batch    biology          8  COMPLETED      0:0
"""


@pytest.mark.parametrize(
    "content",
    [
        HUMAN,
        text_of(LATE).partition("\n")[2],
        text_of(LATE, columns=[n for n in COLUMNS if n != "Start"]),
        text_of([job("4", "phy", 100, None, 0)]),
        '{"cotenant": 1, "problem": "scheduling"}',
        "NodeName=n1 CPUTot=8\n",
        "",
    ],
)
def test_non_sacct_file_is_refused_with_command(exported, content) -> None:
    with refused(InvalidFile):
        read_log(exported(content))


def test_fairness_output_escapes_control_characters(exported) -> None:
    evil = "\x1b]0;owned\x07\u202ebio"
    jobs = [each | {"Account": evil} if each["Account"] == "bio" else each for each in LATE]
    path = exported([*jobs, job("4\x1b[2J", "phy", 10, 20, 30, Submit="\x1b[31m")])
    shown = run("advise", "fairness", path, "--machines", "4")
    assert shown.returncode == 0
    assert not set("\x1b\x07\u202e") & set(shown.stdout + shown.stderr)
    assert "\\x1b]0;owned" in shown.stdout
    emitted = run("advise", "fairness", path, "--machines", "4", "--emit", "slurm")
    assert not set("\x1b\x07\u202e") & set(emitted.stdout)


def test_sshare_tree_shares_are_multiplied_down(exported) -> None:
    head = "Account|User|RawShares|NormShares\n"
    tree = """root|||
 root|root|1|
 science||3|
  bio||1|
   bio|ann|1|
  phy||2|
   phy|bob|1|
   phy|cat|7|
 art||1|
  art|dan|parent|
"""
    found, _ = read_shares(exported(head + tree, "shares.txt"))
    assert found == pytest.approx({"bio": 0.25, "phy": 0.5, "art": 0.25})
    # an account with users of its own beside the accounts below it keeps their part
    mixed = head + "root|||\n a||1|\n  a|ann|3|\n  b||1|\n   b|bob|1|\n"
    assert read_shares(exported(mixed, "mixed.txt"))[0] == pytest.approx({"a": 0.75, "b": 0.25})
    with refused(InvalidFile):
        read_shares(exported(head + " a||much|\n", "bad.txt"))
    with refused(InvalidFile):
        read_shares(exported(HUMAN, "nodes.txt"))
    with refused(InvalidFile):
        read_shares(exported(head + " a||0|\n", "none.txt"))
    with refused(InvalidFile):
        read_nodes(exported(HUMAN, "nodes.txt"))


# judging


def test_accounts_are_read_as_organizations(exported) -> None:
    found = judged(exported(LATE))
    assert found.names == ("bio", "phy")
    assert found.machines.tolist() == [2, 2]
    assert found.owed.sum() == pytest.approx(0)
    assert found.owed[1] > 0
    audited = found.audits[0]
    assert (audited.reference, audited.instance.horizon) == ("REF", 5400)
    cause = found.causes(1)[0]
    assert (cause.kind, cause.loser, cause.gainer, cause.amount) == ("waited", 1, 0, 2 * 1800.0)
    assert [found.job(place) for place, _ in cause.waited] == ["3"]
    assert {found.job(place) for place, _ in cause.ran} == {"1", "2"}
    approved(verdict(found))
    assert debts_table(found).texts()[0][0] == "phy", "who is owed stands first"
    chart = found.picture()
    assert (chart.x_scale, chart.series[0].x[0]) == ("time", audited.judged.begin)
    assert chart.table().texts()[0][1] == "2026-03-01 00:00"


def test_missing_shares_and_jobs_are_noted(exported) -> None:
    head = "Account|User|RawShares\nroot||\n bio||1\n  bio|ann|1\n art||1\n  art|dan|1\n"
    found = judged(exported(LATE), Source(machines=4, shares=exported(head, "shares.txt")))
    assert dict(zip(found.names, found.machines.tolist(), strict=True)) == {
        "art": 2, "bio": 2, "phy": 0,
    }  # fmt: skip
    words = " ".join(found.found.notes)
    approved(words)
    assert found.owed[found.names.index("art")] > 0
    with refused(InvalidOption):
        Source(shares="x", by="user").read(exported(LATE))


def test_held_jobs_do_not_count_as_waiting_by_default(exported) -> None:
    held = [LATE[0], LATE[1], LATE[2] | {"Eligible": at(3600)}]
    from_eligible = judged(exported(held))
    from_submit = judged(exported(held), Source(machines=4, release="submit"))
    assert from_eligible.owed[1] < from_submit.owed[1]
    approved([words for words in rests_on(from_eligible) if "eligible" in words])


def test_fairness_windows_cover_the_job_log_and_are_computed_separately(exported) -> None:
    path = exported(LATE)
    whole = judged(path)
    hourly = judged(path, windows="1h")
    assert [each.instance.horizon for each in hourly.audits] == [3600, 1800]
    assert hourly.work.sum() == pytest.approx(whole.work.sum()) == pytest.approx(5.0)
    one = judged(path, windows=f"{at(0)}/{at(3600)}")
    assert one.owed == pytest.approx(hourly.course[0])
    for text in ("fortnight", "0h", "2026-03-02/2026-03-03", f"{at(5)}/{at(5)}", "x/y"):
        with refused(InvalidOption):
            judged(path, windows=text)
    empty = [job("1", "a", 0, 0, 60), job("2", "a", 10000, 10000, 60)]
    assert judged(exported(empty), windows="1h").empty == 1


def test_partition_option_restricts_jobs_and_nodes(exported) -> None:
    path = exported([*LATE, job("4", "phy", 0, 1, 60, Partition="gpu")])
    nodes = (
        "NodeName=a CPUTot=4 State=IDLE Partitions=batch\n"
        "NodeName=b CPUEfctv=7 CPUTot=8 State=DOWN Partitions=gpu,big\n"
    )
    source = Source(nodes=exported(nodes, "nodes.txt"))
    assert source.read(path).settings.machines == 11
    approved("\n".join(source.read(path).notes))
    one = Source(nodes=source.nodes, partition="gpu").read(path)
    assert (one.settings.machines, one.log.jobs) == (7, ("4",))
    approved(" ".join(one.notes))
    with refused(InvalidOption):
        Source(partition="x").read(path)


def test_root_account_contributes_nothing_beside_others(exported) -> None:
    path = exported([*LATE, job("4", "root", 0, 1, 60)])
    found = judged(path, Source(machines=4))
    assert (found.names, found.machines.tolist()) == (("bio", "phy", "root"), [2, 2, 0])
    approved(fairness_head(found))
    approved(" ".join(found.found.notes))
    assert judged(exported([job("4", "root", 0, 1, 60)]), Source(machines=4)).machines.tolist() == [
        4
    ]


def test_fairness_audit_options_select_users_or_largest_accounts(exported) -> None:
    jobs = [job(str(n), f"a{n}", n, n, 100 + n) for n in range(70)]
    path = exported(jobs)
    with refused(InvalidOption):
        Source(machines=4).read(path)
    found = judged(path, Source(machines=4, top=2))
    assert found.names == ("(others)", "a68", "a69")
    users = Source(machines=4, by="user", top=3).read(path)
    assert (users.kind, len(users.log.groups)) == ("user", 4)


def random_window(rng: np.random.Generator, jobs: int = 12) -> Window:
    """A small window whose schedule is nobody's in particular: starts at or after release."""
    k, horizon = int(rng.integers(1, 5)), int(rng.integers(5, 25))
    machines = rng.integers(0, 4, k)
    machines[0] += 1
    release = rng.integers(0, 20, jobs)
    instance = Scheduling(
        machines=machines, organization=rng.integers(0, k, jobs), release=release,
        processing=rng.integers(1, 9, jobs), horizon=horizon,
        processors=rng.integers(1, min(4, int(machines.sum())) + 1, jobs),
        backfilling=bool(rng.integers(0, 2)),
    )  # fmt: skip
    start = release + rng.integers(0, 6, jobs)
    start = np.where(start < horizon, start, -1)
    return Window(instance, start, 0, rng.integers(0, 1, jobs) + np.arange(jobs))


def test_waiting_and_lent_time_of_accounts_equal_second_by_second_simulation() -> None:
    rng = np.random.default_rng(5)
    for _ in range(60):
        judged = random_window(rng)
        instance = judged.instance
        k = instance.organizations
        waited, lent = np.zeros((k, k)), np.zeros((k, k))
        begin = np.where(judged.start >= 0, judged.start, instance.horizon)
        for t in range(instance.horizon):
            running = (begin <= t) & (t < begin + instance.processing)
            waiting = (instance.release <= t) & (t < begin)
            runs, waits_for = (
                np.bincount(instance.organization[jobs], instance.width[jobs], k)
                for jobs in (running, waiting)
            )
            short = np.maximum(instance.machines - runs, 0)
            deficit = np.minimum(waits_for, short)
            over = np.maximum(runs - instance.machines, 0)
            if most := max(short.sum(), over.sum()):
                waited += np.outer(deficit, over) / most
                lent += np.outer(short - deficit, over) / most
        found = flows(judged)
        assert found.waited == pytest.approx(waited)
        assert found.lent == pytest.approx(lent)
        for u in range(k):
            for cause in found.largest(u, owed=True, number=8):
                table = waited if cause.kind == "waited" else lent
                assert cause.amount == pytest.approx(table[u, cause.gainer])
                assert sum(amount for _, amount in cause.ran) <= cause.amount * (1 + 1e-9)


@pytest.mark.slow
def test_fifo_coalition_values_equal_event_loop() -> None:
    rng = np.random.default_rng(7)
    for _ in range(60):
        instance = random_window(rng).instance
        k, times = instance.organizations, np.unique([1, 4, instance.horizon])
        values = fifo_values(instance, np.arange(1 << k), times)
        assert values is not None
        for mask in range(1 << k):
            inside = np.array([mask >> u & 1 for u in range(k)])
            total = (instance.machines * inside).sum()
            mine = (inside[instance.organization] == 1) & (instance.width <= total)
            if not mine.any():
                assert not values[mask].any()
                continue
            part = instance.replace(
                machines=instance.machines * inside, organization=instance.organization[mine],
                release=instance.release[mine], processing=instance.processing[mine],
                processors=instance.width[mine],
            )  # fmt: skip
            start = simulate(part, "FIFO").start
            assert fifo_starts(instance, mask)[mine].tolist() == start.tolist()
            expected = [psi(start, part.work, int(t), rates(part)).sum() for t in times]
            assert values[mask].tolist() == expected
        table = scaled_shares(values, k)
        assert [row[-1] for row in table] == scaled_shares(values[:, -1], k)


def test_sampled_shapley_values_approach_exact_ones() -> None:
    rng = np.random.default_rng(8)
    judged = random_window(rng, jobs=30)
    exact = audit(judged, reference="FIFO")
    sampled = audit(judged, reference="RAND", orderings=4000)
    assert (exact.error == 0).all()
    assert (np.abs(sampled.contributed[:, -1] - exact.contributed[:, -1]) <= sampled.error).all()
    assert (sampled.bound >= sampled.error).all()
    assert (sampled.error > 0).all()
    assert exact.owed.sum(axis=0) == pytest.approx(np.zeros(exact.owed.shape[1]), abs=1e-6)
    many = Window(Scheduling(np.ones(21, int), [0], [0], [1], 5), np.array([0]), 0)
    with refused(InvalidOption):
        audit(many, reference="FIFO")


def test_shapley_sampling_bound_contains_true_mean() -> None:
    rng = np.random.default_rng(9)
    inside = 0
    for _ in range(200):
        draws = rng.random((300, 3))
        error = sampling_bound(draws, 1.0)
        inside += bool((np.abs(draws.mean(axis=0) - 0.5) <= error).all())
    assert inside >= 190
    assert sampling_bound(rng.random((1, 2)), 1.0).tolist() == [1.0, 1.0]


def crowd(seed: int, number: int = 80) -> list[dict[str, str]]:
    """Jobs of three accounts, far more than four CPUs can run at once."""
    rng, jobs, now = np.random.default_rng(seed), [], 0
    for n in range(number):
        now += int(rng.integers(0, 40))
        account = "abc"[int(rng.integers(0, 3))]
        start = now + int(rng.integers(0, 200))
        jobs.append(job(str(n), account, now, start, int(rng.integers(60, 600))))
    return jobs


def test_fitted_account_weights_reduce_distance_to_fair_schedule(exported) -> None:
    jobs = crowd(3)
    found = judged(exported(jobs), windows="1h")
    _, now, weights = fit(found)
    assert weights.error <= now.error
    assert (weights.values > 0).all()
    assert weights.nearer(now)
    text = emit(found)
    approved(text)
    active = [line for line in text.splitlines() if not line.startswith("#")]
    assert active
    assert all(line.startswith("sacctmgr -i ") for line in active)
    with refused(InvalidOption):
        emit(judged(exported(jobs), Source(machines=4, by="user")))


def test_account_weights_are_advised_only_if_better_on_held_out_time_windows() -> None:
    def fitted(error: float, later: float | None) -> Fitted:
        return Fitted(np.array([1, 0]), error, later)

    now, one = fitted(50, 50), fitted(300, None)
    assert fitted(30, 40).nearer(now)
    assert not fitted(10, 60).nearer(now)
    assert fitted(290, None).nearer(one)
    assert not fitted(298, None).nearer(one)
    # what is right already is not to be changed for less than the clock can tell
    assert not fitted(0, 0).nearer(fitted(0.9, 0.9))


# the command line


def test_fairness_command_exit_code_follows_limit(exported) -> None:
    path = exported(LATE)
    said = run("advise", "fairness", path, "--machines", "4")
    assert said.returncode == 0
    approved(said.stdout)
    for share, code in ((0.01, 1), (0.9, 0), ('"lots"', 2)):
        rare = exported(f"machines = 4\nfail_above = {share}\n", "settings.toml")
        assert run("advise", "fairness", path, "--settings", rare).returncode == code
    rare = exported('unit = "gpu"\nmachines = 9\n', "settings.toml")
    before = ("--unit", "cpu", "--machines", "4", "--settings", rare, "--json")
    document = json.loads(run("advise", "fairness", path, *before).stdout)
    assert document["cpus"] == [2, 2]
    assert document["accounts"] == ["bio", "phy"]
    assert document["causes"]["phy"][0]["waited"] == {"3": 1.0}
    refused = run("advise", "fairness", path, "--emit", "yaml")
    assert refused.returncode == 2
    approved(refused.stderr)
    two = run("advise", "fairness", path, "--partition", "batch", "--partition", "batch")
    assert two.stdout.count("partition batch:") == 2


@pytest.mark.slow
def test_fairness_page_has_debts_to_accounts_causes_and_picture(exported, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    pytest.importorskip("jinja2")
    jobs = [*LATE, job("4", "<i>art", 0, 1, 60, Partition="gpu")]
    page = tmp_path / "page.html"
    parts = [
        (name, judged(exported(jobs), Source(machines=4, partition=name), ties=0))
        for name in ("batch", "gpu")
    ]
    write_fairness_report(parts, page, ["cotenant", "advise", "fairness"])
    text = page.read_text()
    for words in (
        "partition batch", "partition gpu", "its job 3 waited while bio ran jobs 1, 2 above its",
        "alone on its 2 CPUs", "Who is owed what over time", "<svg", "&lt;i&gt;art",
    ):  # fmt: skip
        assert words in text, words
    assert "<i>art" not in text
    nowhere = run("advise", "fairness", exported(LATE), "--report", str(tmp_path / "no" / "p.html"))
    assert (nowhere.returncode, nowhere.stdout) == (2, "")
