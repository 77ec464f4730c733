"""Markets in parts: written and read back, solved where they lie with the numbers of one machine,
and refused in one line when something is wrong.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.messages import approved, refused
from support.seeds import numbers
from support.terminal import run

import cotenant
from cotenant.analysis.market import parts as analysis
from cotenant.analysis.market.parts import solve_parts
from cotenant.analysis.run import stateful_workers
from cotenant.instances.market import Market
from cotenant.instances.market.generators import population
from cotenant.instances.market.parts import HEADER, read_header, read_parts
from cotenant.instances.market.parts_writing import write_parts
from cotenant.instances.problem import CotenantError, EngineError, InvalidFile, InvalidOption
from cotenant.solvers.market import fisher
from cotenant.solvers.market.exchange import Exchange
from cotenant.solvers.market.partitioned_users import PartitionedUsers
from cotenant.solvers.market.user_groups import InBlocks, PartialSums, UserGroup
from cotenant.solvers.outcome import Clock, Stop

pa = pytest.importorskip(
    "pyarrow", reason="pyarrow is not installed; python -m pip install '.[cluster]'"
)

SAME = 1e-9
"""Prices of the same search over parts and on one machine differ by the rounding of sums."""


def drawn(
    seed: int, *, users: int = 12, servers: int = 4, jobs: int = 50, f: float = 0.98
) -> Market:
    """A market whose jobs stand in no order, some of them useless or of f = 0."""
    rng = np.random.default_rng(seed)
    fraction = rng.uniform(0.2, f, jobs) * (rng.random(jobs) > 0.05)
    return Market(
        capacity=rng.uniform(1, 40, servers),
        budget=rng.lognormal(0, 1, users),
        user=rng.integers(users, size=jobs),
        server=rng.integers(servers, size=jobs),
        parallel_fraction=fraction,
        work=rng.lognormal(0, 1, jobs) * (rng.random(jobs) > 0.05),
        name=f"drawn-{seed}",
        source="a test",
    )


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several blocks even of a few jobs: 16 each on four servers."""
    monkeypatch.setattr("cotenant.solvers.market.user_groups.BLOCK", 1)


@pytest.mark.parametrize("seed", range(8))
def test_parts_hold_the_whole_market(seed: int, tmp_path: Path) -> None:
    market = drawn(seed)
    if seed % 2:
        market = market.replace(names=tuple(f"u{i}" for i in range(12)), server_names=tuple("abcd"))
    header = write_parts(market, tmp_path / "m", 1 + seed % 4)
    assert read_parts(tmp_path / "m") == market
    assert header.summary() == read_header(tmp_path / "m").summary()
    assert sum(part.users for part in header.parts) == market.users


def test_generate_convert_and_show_know_parts(tmp_path: Path) -> None:
    options = ("-o", "users=30", "-o", "servers=6", "-o", "jobs=3", "--seed", "4")
    whole, folder = tmp_path / "m.json", tmp_path / "m"
    assert run("generate", "market", *options, "--out", str(whole)).returncode == 0
    done = run("generate", "market", *options, "--parts", "4", "--out", str(folder))
    assert done.returncode == 0, done.stderr
    assert read_parts(folder) == cotenant.read(whole)
    back, again = tmp_path / "back.json", tmp_path / "again"
    assert run("convert", str(folder), "--from", "parts", "--out", str(back)).returncode == 0
    assert back.read_text() == whole.read_text()
    assert (
        run("convert", str(back), "--from", "json", "--parts", "2", "--out", str(again)).returncode
        == 0
    )
    assert read_parts(again) == cotenant.read(whole)
    shown = run("show", str(again))
    approved(shown.stdout)


@pytest.mark.parametrize("number", numbers(100, 10))
def test_markets_in_parts_have_the_prices_of_one_machine(tmp_path: Path, number: int) -> None:
    for seed in range(number):
        market = drawn(seed)
        write_parts(market, tmp_path / str(seed), 3)
        parted, whole = solve_parts(tmp_path / str(seed)), fisher(market)
        assert parted.price == pytest.approx(whole.solution.price, rel=SAME)
        assert rungs(parted) == rungs(whole)
        assert parted.status is whole.status


def rungs(found: Any) -> list[tuple[str, int]]:
    return [(rung["rung"], rung["steps"]) for rung in found.certificate["rungs"]]


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize("seed", range(6))
def test_linear_jobs_in_parts_are_certified_too(seed: int, tmp_path: Path) -> None:
    market = drawn(seed)
    some = np.random.default_rng(seed).random(market.jobs) < (0.3 if seed % 2 else 1.0)
    market = market.replace(parallel_fraction=np.where(some, 1.0, market.parallel_fraction))
    write_parts(market, tmp_path / "m", 2, rows=4)
    parted, whole = solve_parts(tmp_path / "m"), fisher(market)
    assert parted.status.value == whole.status.value == "optimal"
    if seed % 2:
        assert rungs(parted) == rungs(whole)
    assert "forest" not in dict(rungs(parted))


@pytest.mark.parametrize("f", [0.98, 1.0])
def test_blocks_of_a_market_are_one_market(f: float, request: pytest.FixtureRequest) -> None:
    market = drawn(1, f=f)
    if f == 1:
        market = market.replace(parallel_fraction=np.ones(market.jobs))
    whole = fisher(market)
    request.getfixturevalue("small_blocks")
    blocks = fisher(market)
    assert len(InBlocks(market, 1.0).groups) > 1
    assert blocks.status is whole.status
    assert blocks.solution.cores == pytest.approx(whole.solution.cores, rel=1e-7, abs=1e-9)


def test_old_prices_are_a_start(folder: Path) -> None:
    cold = solve_parts(folder)
    warm = solve_parts(folder, start=cold.price * 1.1)
    assert warm.price == pytest.approx(cold.price, rel=1e-7)
    assert [rung for rung, _ in rungs(warm)] == ["newton"]
    with refused(InvalidOption):
        solve_parts(folder, start=[1, 2, 3])
    with refused(InvalidOption):
        solve_parts(folder, "PRD", start=cold.price)


def test_a_part_answers_with_sums_per_server_and_a_few_numbers(tmp_path: Path) -> None:
    """What the other side sees: no array that has an entry for each user or job."""
    market = drawn(3, users=30, servers=5, jobs=90)
    write_parts(market, tmp_path / "m", 2)
    seen: set[tuple[int, ...]] = set()

    class Watched(PartitionedUsers):
        def ask(self, question: Any, *arguments: Any, **options: Any) -> PartialSums:
            tally = super().ask(question, *arguments, **options)
            seen.update(part.shape for part in tally.sums)
            assert len(tally.most) <= 3
            return tally

    users = Watched(str(tmp_path / "m"), range(2))
    for route in ("auto", "interior"):
        exchange = Exchange(users.header.capacity, users.header.unit, users)
        assert analysis.fisher(exchange, Clock(), route=route).status.value == "optimal"
    assert seen <= {(1,), (3,), (5,), (5, 5)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A market in four parts."""
    market = population(users=80, servers=8, jobs=4, work="lognormal", rng=np.random.default_rng(5))
    where = tmp_path_factory.mktemp("parts") / "m"
    write_parts(market, where, 4)
    return where


def cores_in(folder: Path) -> np.ndarray:
    """The cores of an answer's parts, in the order of users."""
    tables = [pa.parquet.read_table(path) for path in sorted(folder.glob("*.parquet"))]
    return pa.concat_tables(tables).column("cores").combine_chunks().flatten().to_numpy()


def test_rounds_over_parts_are_those_of_one_machine(folder: Path) -> None:
    there, here = solve_parts(folder, "PRD"), cotenant.solve(read_parts(folder), "PRD")
    assert there.price == pytest.approx(here.solution.price, rel=SAME)
    assert there.certificate["rounds"] == here.certificate["rounds"]


@pytest.fixture
def placed_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[type], None]:
    """Have places of another kind hold the parts."""
    return partial(monkeypatch.setattr, stateful_workers, "ChildPlace")


@pytest.mark.slow
def test_two_processes_one_of_which_is_killed_find_what_one_finds(
    folder: Path, tmp_path: Path, placed_in: Callable[[type], None]
) -> None:
    market = read_parts(folder)
    here = solve_parts(folder)
    calls = itertools.count(1)

    class Killed(stateful_workers.ChildPlace):
        def send(self, *arguments: Any) -> None:
            super().send(*arguments)
            if next(calls) in (9, 60):
                self._child._process.kill()

    placed_in(Killed)
    there = solve_parts(folder, jobs=2, out=tmp_path / "answer")
    assert there.replaced == 2
    assert any("begun again" in note for note in there.notes)
    assert there.price == pytest.approx(here.price, rel=SAME)
    assert there.certificate["regret"] == pytest.approx(here.certificate["regret"], abs=SAME)
    answer = cotenant.instances.market.Allocation(cores_in(tmp_path / "answer"), there.price)
    cotenant.check(market, answer)
    error = cotenant.instances.market.residuals(market, answer)
    assert error.regret == pytest.approx(there.certificate["regret"], abs=1e-12)
    said = json.loads((tmp_path / "answer" / analysis.ANSWER).read_text())
    assert said["price"] == there.price.tolist()


class Late:
    """A place in this process whose first answers are late, or that dies at every call."""

    name = "a late place"
    dies = False

    def __init__(self, processes: int) -> None:
        self.waits = 1

    def send(self, *arguments: Any) -> None:
        self.arguments = arguments

    def receive(self, seconds: float) -> Any:
        if self.dies:
            return "died", "was killed"
        self.waits -= 1
        return None if self.waits >= 0 else stateful_workers.stateful_call(*self.arguments)

    def end(self) -> None:
        return None


def test_a_straggler_is_told(folder: Path, placed_in: Callable[[type], None]) -> None:
    placed_in(Late)
    lines: list[str] = []
    result = solve_parts(folder, jobs=2, report=lambda *words: lines.append(words[3]))
    assert result.status.value == "optimal"
    assert any(line.startswith("waiting") and "part 0, 2" in line for line in lines)
    assert len(result.notes) == 2


def test_a_process_that_dies_again_and_again_is_an_error(
    folder: Path, placed_in: Callable[[type], None]
) -> None:
    placed_in(type("Dying", (Late,), {"dies": True}))
    with refused(EngineError):
        solve_parts(folder, jobs=2)


@pytest.mark.parametrize("at", [1, 20])
def test_an_interrupt_keeps_the_best_prices(
    folder: Path, at: int, tmp_path: Path, interrupt_at: Any
) -> None:
    asked = interrupt_at("cotenant.solvers.market.partitioned_users.PartitionedUsers.ask", at + 2)
    result = solve_parts(folder, out=tmp_path / "answer")
    assert [given[1] for given, _ in asked[:2]] == [UserGroup.money, UserGroup.opening]
    assert result.stop is Stop.INTERRUPTED
    assert 0 < result.certificate["regret"] < 1
    market = read_parts(folder)
    answer = cotenant.instances.market.Allocation(cores_in(tmp_path / "answer"), result.price)
    cotenant.check(market, answer)


def test_the_command_solves_a_folder(folder: Path, tmp_path: Path) -> None:
    done = run("solve", str(folder), "-m", "fisher", "--json", "--out", str(tmp_path / "o"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "optimal"
    assert (tmp_path / "o" / "part-00003.parquet").exists()


def test_an_answer_in_parts_is_measured_again(folder: Path, tmp_path: Path) -> None:
    answer = tmp_path / "answer"
    result = solve_parts(folder, out=answer)
    found, broken = analysis.check_parts(folder, answer)
    assert not broken
    assert found.regret == pytest.approx(result.certificate["regret"], abs=1e-12)
    assert run("check", str(folder), str(answer)).returncode == 0
    path = answer / "part-00001.parquet"
    table = pa.parquet.read_table(path)
    lists = table.column("cores").combine_chunks()

    def changed(cores: np.ndarray) -> None:
        column = pa.ListArray.from_arrays(lists.offsets, pa.array(cores))
        pa.parquet.write_table(table.set_column(1, "cores", column), path)

    changed(lists.flatten().to_numpy() * 1.01)
    done = run("check", str(folder), str(answer))
    assert done.returncode == 1
    assert "broken: server" in done.stdout
    assert "overspending is" in done.stdout
    assert "optimal claims at most" in done.stdout
    changed(-lists.flatten().to_numpy())
    with refused(CotenantError):
        analysis.check_parts(folder, answer)
    shutil.copy(answer / "part-00000.parquet", path)
    with refused(InvalidFile):
        analysis.check_parts(folder, answer)
    (answer / analysis.ANSWER).write_text('{"cotenant_answer": 3}')
    with refused(InvalidFile):
        analysis.check_parts(folder, answer)


# What is wrong with a folder, and the one line about it.


def changed_header(folder: Path, **changes: Any) -> None:
    content = json.loads((folder / HEADER).read_text())
    (folder / HEADER).write_text(json.dumps(content | changes))


def other_capacities(folder: Path) -> None:
    market = read_parts(folder)
    write_parts(market.replace(capacity=market.capacity * 2), folder.parent / "other", 4)
    shutil.copy(folder.parent / "other" / "part-00001.parquet", folder)


def twice(folder: Path) -> None:
    content = json.loads((folder / HEADER).read_text())
    content["parts"][2]["first"] -= 1
    content["parts"][2]["users"] += 1
    changed_header(folder, parts=content["parts"])


def copied_part(folder: Path) -> None:
    shutil.copy(folder / "part-00000.parquet", folder / "part-00001.parquet")
    fit_sizes(folder)


def fit_sizes(folder: Path) -> None:
    content = json.loads((folder / HEADER).read_text())
    for part in content["parts"]:
        part["bytes"] = (folder / part["file"]).stat().st_size
    changed_header(folder, parts=content["parts"])


def missing(folder: Path) -> None:
    (folder / "part-00003.parquet").unlink()


def unlisted(folder: Path) -> None:
    content = json.loads((folder / HEADER).read_text())
    changed_header(folder, parts=content["parts"][:3])


def cut(folder: Path) -> None:
    path = folder / "part-00002.parquet"
    path.write_bytes(path.read_bytes()[:-40])


def cut_and_hidden(folder: Path) -> None:
    cut(folder)
    fit_sizes(folder)


def other_schema(folder: Path) -> None:
    path = folder / "part-00001.parquet"
    table = pa.parquet.read_table(path)
    said = json.loads(table.schema.metadata[b"cotenant"]) | {"schema": 7}
    pa.parquet.write_table(
        table.replace_schema_metadata({b"cotenant": json.dumps(said).encode()}), path
    )
    fit_sizes(folder)


def wrong_value(folder: Path) -> None:
    path = folder / "part-00001.parquet"
    table = pa.parquet.read_table(path)
    place = table.schema.get_field_index("budget")
    budget = np.full(len(table), -1.0)
    pa.parquet.write_table(
        table.set_column(place, table.schema.field(place), pa.array(budget)), path
    )
    fit_sizes(folder)


def foreign(folder: Path) -> None:
    pa.parquet.write_table(pa.table({"a": [1]}), folder / "part-00001.parquet")
    fit_sizes(folder)


def longer(folder: Path) -> None:
    path = folder / "part-00001.parquet"
    table = pa.parquet.read_table(path)
    pa.parquet.write_table(pa.concat_tables([table, table]), path)
    fit_sizes(folder)


BAD: list[tuple[Any, str]] = [
    lambda folder: (other_capacities(folder), fit_sizes(folder)),
    twice,
    copied_part,
    missing,
    unlisted,
    cut,
    cut_and_hidden,
    other_schema,
    longer,
    wrong_value,
    foreign,
    lambda folder: changed_header(folder, cotenant_parts=9),
    lambda folder: changed_header(folder, cotenant_parts=True),
    lambda folder: changed_header(folder, budget=81.0),
    lambda folder: changed_header(folder, capacity="x"),
    lambda folder: (folder / HEADER).write_text("{"),
]


@pytest.mark.parametrize("spoil", BAD, ids=range(len(BAD)))
def test_a_folder_that_is_wrong_is_refused_in_one_line(
    spoil: Any, folder: Path, tmp_path: Path
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    spoil(copy)
    with refused(CotenantError) as error:
        solve_parts(copy, out=tmp_path / "answer")
    assert "\n" not in str(error.value)
    assert not (tmp_path / "answer").exists()


@pytest.mark.slow
def test_an_error_comes_out_of_another_process_as_it_is(folder: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    cut_and_hidden(copy)
    with refused(InvalidFile):
        solve_parts(copy, jobs=2)


@pytest.mark.parametrize(
    "options",
    [
        {"method": "ES"},
        {"rule": "printed"},
        {"jobs": 1, "dask": "tcp://127.0.0.1:1"},
        {"route": "quick"},
        {"jobs": 0},
    ],
)
def test_impossible_options_are_refused(folder: Path, options: Any) -> None:
    with refused(InvalidOption):
        solve_parts(folder, **options)


def test_small_parts_are_refused_where_a_least_size_is_asked_for(folder: Path) -> None:
    with refused(InvalidFile):
        solve_parts(folder, least_users=21)


def test_a_folder_is_not_written_over(folder: Path, tmp_path: Path) -> None:
    with refused(InvalidFile):
        write_parts(drawn(0), folder, 2)
    with refused(InvalidFile):
        solve_parts(folder, out=folder)
    with refused(InvalidOption):
        write_parts(drawn(0), tmp_path / "x", 13)
    done = run("generate", "numa", "--parts", "2", "--out", str(tmp_path / "y"))
    assert done.returncode != 0
    approved(done.stderr)


def test_without_pyarrow_the_cure_is_named(folder: Path, not_installed: Any) -> None:
    not_installed("pyarrow")
    with refused(InvalidOption):
        solve_parts(folder)


def test_jobs_and_dask_are_for_parts() -> None:
    done = run("solve", "market/tiny", "-m", "fisher", "--jobs", "2")
    approved(done.stderr)


def test_an_exchange_of_parts_cannot_look_into_users(folder: Path) -> None:
    header = read_header(folder)
    users = PartitionedUsers(str(folder), range(4))
    exchange = Exchange(header.capacity, header.unit, users)
    exchange.bid(UserGroup.equal)
    with refused(RuntimeError):
        exchange.jacobian(exchange.reply(exchange.price)).stiff()
    one, other = exchange.jacobian(exchange.reply(exchange.price)).dense(), np.eye(8)
    system = exchange.jacobian(exchange.reply(exchange.price))
    assert np.stack([system.apply(row) for row in other], axis=1) == pytest.approx(one)


@pytest.mark.slow
def test_workers_of_a_cluster_hold_parts_and_one_may_die(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    from test_cluster import started

    here = solve_parts(folder)
    with started(tmp_path, 2) as cluster:
        there = solve_parts(folder, dask=cluster.address)
        assert there.processes == 2
        assert there.price == pytest.approx(here.price, rel=SAME)
        reports = itertools.count(1)

        def deadly(*words: Any) -> None:
            if next(reports) == 1:
                cluster.processes["worker-0"].kill()

        after = solve_parts(folder, dask=cluster.address, report=deadly)
        assert after.replaced == 1
        assert after.price == pytest.approx(here.price, rel=SAME)
