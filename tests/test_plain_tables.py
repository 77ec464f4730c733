"""Own data as tables with plain headers: what is read, what is missing, and what is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from support import terminal
from support.messages import approved, refused

from cotenant.analysis.colocation.prediction import predicted_penalties
from cotenant.instances.admission.formats import admission_csv
from cotenant.instances.colocation.formats import penalty_csv
from cotenant.instances.colocation.pairs import pairs_csv, read_pairs
from cotenant.instances.groups.formats import curves_csv, groups_csv
from cotenant.instances.market.formats import jobs_csv
from cotenant.instances.market.profile import read_profile
from cotenant.instances.numa.formats import classes_csv
from cotenant.instances.packing.csv_reader import vms_csv
from cotenant.instances.problem import InvalidFile, InvalidOption
from cotenant.instances.problem.tables import CsvTable, plain_form, plain_forms
from cotenant.instances.scheduling.csv_reader import organizations_csv

PAIRS = """service,beside,slowdown
web,web,1.10
web,db,1.2
web,db,1.4
db,web,1.25
db,db,forbidden
"""


def penalty_csv_of(folder: Path) -> object:
    """What the reader of a square matrix makes of the table x."""
    return penalty_csv(folder / "x.csv")


def profile_of(folder: Path) -> object:
    """What the reader of measured speedups makes of the table x."""
    return read_profile(folder / "x.csv")


def put(folder: Path, **tables: str) -> Path:
    """A folder with these tables."""
    folder.mkdir(exist_ok=True)
    for name, text in tables.items():
        (folder / f"{name}.csv").write_text(text)
    return folder


def test_pairs_csv_runs_give_mean_and_interval(tmp_path: Path) -> None:
    found = read_pairs(put(tmp_path, pairs=PAIRS) / "pairs.csv")
    assert found.names == ("web", "db")
    assert found.mean[0, 1] == pytest.approx(1.3)
    assert found.runs.tolist() == [[1, 2], [1, 1]]
    # two values .2 apart: the t quantile of one degree of freedom, 12.706, times .1
    assert found.half[0, 1] == pytest.approx(1.2706, abs=1e-4)
    assert np.isnan(found.half[0, 0])
    instance = pairs_csv(tmp_path, copies=2)
    assert instance.penalty[0, 1] == round(1 - 1 / 1.3, 12)
    assert instance.allowed.tolist() == [[True, True], [True, False]]
    approved(instance.source)


def test_pairs_csv_services_table_gives_counts_and_bandwidths(tmp_path: Path) -> None:
    services = "service,count,bandwidth\ndb,1,20\nweb,3,1.5\n"
    instance = pairs_csv(put(tmp_path, pairs=PAIRS, services=services))
    assert instance.names == ("db", "web")
    assert instance.count.tolist() == [1, 3]
    assert instance.bandwidth is not None
    assert instance.bandwidth.tolist() == [20, 1.5]
    assert instance.penalty[1, 0] == round(1 - 1 / 1.3, 12)


def test_missing_pairs_follow_fill_option(tmp_path: Path) -> None:
    text = PAIRS.replace("db,web,1.25\n", "") + "db,gpu,1.5\nweb,gpu,1.6\ngpu,web,1.1\ngpu,db,1.2\n"
    folder = put(tmp_path, pairs=text)
    with refused(InvalidFile):
        pairs_csv(folder, machines=3.0)
    forbidden = pairs_csv(folder, machines=3.0, missing="forbid")
    assert not forbidden.allowed[0, 1]
    guessed = pairs_csv(folder, machines=3.0, missing=predicted_penalties)
    assert guessed.allowed[0, 1]
    assert 0 < guessed.penalty[1, 0] < 1
    approved(guessed.source)


def test_self_pair_of_single_job_is_not_missing(tmp_path: Path) -> None:
    text = "service,beside,penalty\na,b,.1\nb,a,.2\na,c,forbidden\nb,c,.1\nc,b,.3\n"
    instance = pairs_csv(put(tmp_path, pairs=text), machines=2.0)
    assert not instance.allowed[0, 2]  # c beside a was never run, and need not be


CORES = {
    "cores": "vm,gpu,cpu\nleft,2,1\nright,0,3\n",
    "jobs": "job,threads\nfirst,2\nsecond,4\n",
    "speed": "job,cpu,gpu\nsecond,3,2\nfirst,1,5\n",
}

WRONG: list[tuple[Callable[[Path], object], dict[str, str]]] = [
    *((pairs_csv, {"pairs": f"service,beside,{text}\n"}) for text in (
        "slowdown,penalty\na,b,1.1,.1", "slowdown\na,b,0", "slowdown\na,b,0.06",
        "penalty\na,b,1.3", "slowdown\na,b,1.1\na,b,forbidden", "slowdown\na,b,x",
        "penalty,low\na,b,.1,.1", "penalty,low,high\na,b,.1,.2,.3",
        "slowdown,low,high\na,b,1,0,3", "penalty,low,high\na,b,.1,0,1.3",
        "penalty,low,high\na,b,.1,,.3", "penalty,looks\na,b,.1,0", "penalty,looks\na,b,.1,",
        "penalty,looks\na,b,.1,2\na,b,.2,2",
    )),
    (pairs_csv, {"pairs": "service beside slowdown\na b 1\n"}),
    *((pairs_csv, {"pairs": PAIRS, "services": text}) for text in (
        "service,count\nweb,2\n", "service,number\nweb,2\n", "service\nweb\nweb\n",
    )),
    *((penalty_csv_of, {"x": text}) for text in (
        "x,a,b\na,1,2\n", "x,a,b\na,.1\nb,.1,.2\n", "x,a,b\na,.1,?\nb,.1,.2\n",
        "x,a,b\na,.1,nan\nb,.1,.2\n", "x,a,b\na,1,1.2\nb,1.1,1.3\n",
        "x,a,a\na,.1,.2\na,.1,.2\n", "",
    )),
    *((vms_csv, {"vms": vms, "hosts": hosts}) for vms, hosts in (
        ("name,cpu\na,1\n", "name,mem\nx,1\n"),
        ("name,cpu\na,1\na,1\n", "name,cpu\nx,1\n"),
        ("name,cpu,count\na,1,1.5\n", "name,cpu\nx,1\n"),
        ("name,cpu\na,0.12345678\n", "name,cpu\nx,1\n"),
        ("name\na\n", "name,cpu\nx,1\n"),
    )),
    *((admission_csv, CORES | change) for change in (
        {"speed": "job,cpu,gpu\nthird,3,2\nfirst,1,5\n"},
        {"speed": "job,cpu\nsecond,3\nfirst,1\n"},
        {"cores": "vm,gpu,cpu\nleft,two,1\nright,0,3\n"},
        {"cores": "vm,gpu,cpu\nleft,2\nright,0,3\n"},
        {"jobs": "job,length\nfirst,10\nsecond,2\n"},
        {"jobs": "job,threads\nfirst,2\nfirst,4\n"},
        {"cores": "vm,gpu,cpu\n"},
    )),
    *((jobs_csv, {"jobs": f"user,{text}\n"}) for text in (
        "parallel_fraction\na,0.5", "server,color,parallel_fraction\na,b,c,0.5",
        "server\na,b", "server,parallel_fraction\na,b,1.2",
        "server,parallel_fraction\na,b,0.5\n\na,b", "server,parallel_fraction\na,b,half",
        "server,parallel_fraction,budget\na,b,0.5,1\na,c,0.5,2", "server,seconds@2\na,b,3",
        "server,seconds@1,seconds@2\na,b,3,", "server,parallel_fraction\n,b,0.5",
        "server,parallel_fraction",
    )),
    *((groups_csv, texts) for texts in (
        {"groups": "group,job,loss\na + a,a,1\n"},
        {"groups": "group,job,penalty\na + b,a,.1\n"},
        {"groups": "group,job,penalty\na + b,c,.1\n"},
        {"groups": "group,job,slowdown\na + b,a,0\n"},
        {"groups": "group,job,penalty\na,a,1.5\n"},
        {"groups": "group,job,penalty,class\na,a,0,x\n"},
        {"groups": "group,job,penalty\na,a,0\n", "jobs": "job,count\nb,1\n"},
        {"groups": "group,job,penalty\na,a,0\n", "jobs": "job,count\na,1\na,2\n"},
    )),
    (curves_csv, {"curves": "job,pressure,penalty\na,0,0\n"}),
    (curves_csv, {"curves": "job,pressure,penalty\na,0,0\n", "jobs": "job,count\na,1\n"}),
    (curves_csv, {
        "curves": "job,pressure,penalty\na,0,0\n", "jobs": "job,pressure\na,1\nb,1\n",
    }),
    *((profile_of, {"x": text}) for text in (
        "workload,cores,seconds\na,1,12\na,two,6\n", "workload,cores,seconds\na,1\n",
        "workload,cores,seconds\na,1,0\n", "workload,cores,seconds\na,1,1e308\na,4,1\n",
        "workload,cores\na,1\n", 'workload,"co\nres\n",seconds\na,1,1\n',
        "cores,seconds\n1,1\n", "workload,cores,seconds\n",
        "workload,cores,Seconds,seconds\na,1,2,3\n",
    )),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "tables"), WRONG)
def test_invalid_plain_table_names_position(
    reader: Callable[[Path], object], tables: dict[str, str], tmp_path: Path
) -> None:
    with refused(InvalidFile):
        reader(put(tmp_path, **tables))


def test_table_intervals_are_read_unchanged(tmp_path: Path) -> None:
    text = """service,beside,slowdown,low,high,looks
web,web,1.25,1,2,3
web,db,1.25,1.25,1.6,4
db,web,1.6,1.25,2,5
db,db,forbidden,,,
"""
    given = pairs_csv(put(tmp_path, pairs=text), copies=2)
    assert given.low is not None
    assert given.high is not None
    assert given.low[:, 0].tolist() == [0.0, 0.2]
    assert given.high[0].tolist() == [0.5, 0.375]
    assert given.looks is not None
    assert given.looks.tolist() == [[3, 4], [5, 0]]
    approved(str((given.confidence, given.intervals)))
    plain = pairs_csv(tmp_path, copies=2, intervals="none")
    assert plain.low is None
    assert (plain.looks == given.looks).all()
    with refused(InvalidOption):
        pairs_csv(tmp_path, copies=2, intervals="each")
    short = "\n".join(line.rpartition(",")[0] for line in text.splitlines())
    unknown = pairs_csv(put(tmp_path / "short", pairs=short), copies=2)
    assert unknown.looks is None
    assert (unknown.low == given.low).all()


@pytest.mark.parametrize("first", ["", "sep=;\n"])
def test_semicolons_and_decimal_commas_are_read_with_note(first: str, tmp_path: Path) -> None:
    text = PAIRS.replace(",", ";").replace(".", ",")
    instance = pairs_csv(put(tmp_path, pairs=first + text), copies=2)
    assert instance == pairs_csv(put(tmp_path / "x", pairs=PAIRS), copies=2).replace(
        name=instance.name, source=instance.source
    )
    approved(instance.source)


def test_two_decimal_marks_in_one_table_are_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("name;size\na;1,5\nb;1.250\n")
    table = CsvTable(tmp_path / "x.csv", "name", "size")
    with refused(InvalidFile):
        [row.number("size") for row in table]
    (tmp_path / "x.csv").write_text('name,size\na,"1,5"\n')
    with refused(InvalidFile):
        [row.number("size") for row in CsvTable(tmp_path / "x.csv", "name", "size")]


def test_jobs_csv_reads_tables_of_users_and_servers(tmp_path: Path) -> None:
    jobs = "user,server,parallel_fraction\nann,s2,.9\nbob,s1,.5\n"
    users, servers = "user,budget\nbob,3\nann,1\n", "server,cores\ns1,8\ns2,16\n"
    market = jobs_csv(put(tmp_path, jobs=jobs, users=users, servers=servers))
    assert market.budget.tolist() == [3, 1]
    assert (market.names, market.server_names) == (("bob", "ann"), ("s1", "s2"))
    assert market.capacity.tolist() == [8, 16]
    assert market.user.tolist() == [1, 0]
    assert market.server.tolist() == [1, 0]
    for name, text in (
        ("users", "user,budget\nbob,3\n"),
        ("users", "user,budget\nbob,3\nbob,3\n"),
        ("jobs", "user,server,parallel_fraction,budget\nann,s2,.9,1\n"),
    ):
        tables = {"jobs": jobs, "users": users, "servers": servers} | {name: text}
        with refused(InvalidFile):
            jobs_csv(put(tmp_path, **tables))


def test_vms_csv_reads_counts_and_decimals(tmp_path: Path) -> None:
    vms = "name,cpu,mem,count\nsmall,0.5,2,10\nbig,4,16.25,2\n"
    hosts = "name,mem,cpu,count,cost\nold,64,8,3,5\nnew,128,16,inf,9\n"
    packing = vms_csv(put(tmp_path, vms=vms, hosts=hosts))
    assert packing.resources == ("cpu [1/10]", "mem [1/100]")
    assert packing.demand.tolist() == [[5, 200], [40, 1625]]
    assert packing.capacity.tolist() == [[80, 6400], [160, 12800]]
    assert packing.names == ("small", "big")
    assert packing.class_names == ("old", "new")
    assert packing.request is not None
    assert packing.request.tolist() == [10, 2]
    assert packing.servers is not None
    assert packing.servers.tolist() == [3, np.inf]
    assert packing.cost is not None
    assert packing.cost.tolist() == [5, 9]
    single = vms_csv(put(tmp_path, vms="name,cpu\na,1\nb,2\n", hosts="name,cpu\nx,4\n"))
    assert (single.request.tolist(), single.servers.tolist()) == ([1, 1], [1])  # type: ignore[union-attr]


def test_scheduling_tables_are_read(tmp_path: Path) -> None:
    jobs = "organization,release,processing\nbio,0,5\nphy,2,3\n"
    folder = put(tmp_path, jobs=jobs, organizations="organization,machines\nphy,1\nbio,2\nlab,1\n")
    instance = organizations_csv(folder, horizon=20)
    assert instance.names == ("phy", "bio", "lab")
    assert instance.machines.tolist() == [1, 2, 1]
    assert instance.organization.tolist() == [1, 0]
    assert instance.horizon == 20
    with refused(InvalidOption):
        organizations_csv(folder)
    put(tmp_path, organizations="organization,machines\nphy,1\n")
    with refused(InvalidFile):
        organizations_csv(folder, horizon=20)
    with refused(InvalidOption):
        organizations_csv(folder / "jobs.csv", horizon=20)


def test_numa_tables_are_read(tmp_path: Path) -> None:
    classes = "class,share,service_mean,ht1,pcie,bandwidth\na,3,.01,1.2,2,100\nb,1,.02,1,1.5,50\n"
    folder = put(tmp_path, classes=classes, memories="memory,share\n0,1\n3,3\n")
    instance = classes_csv(folder, rate=100.0, blades=1)
    assert instance.class_share.tolist() == [0.75, 0.25]
    assert instance.location_share.tolist() == [0.25, 0, 0, 0.75]
    assert instance.names == ("a", "b")
    put(tmp_path, memories="memory,share\n4,1\n")
    with refused(InvalidFile):
        classes_csv(folder, rate=100.0, blades=1)


def test_plain_form_is_known_by_header(tmp_path: Path) -> None:
    six = {"colocation", "market", "packing", "admission", "scheduling", "numa"}
    assert six <= set(plain_forms())
    for plain in plain_forms().values():
        header = ",".join(plain.columns)
        folder = put(tmp_path / plain.form, **{plain.file.partition(".")[0]: f"{header}\n"})
        assert plain_form(folder) == plain.form
        assert plain_form(folder / plain.file) == plain.form
    with refused(InvalidFile):
        plain_form(put(tmp_path, x="a,b\n1,2\n") / "x.csv")
    square = put(tmp_path, x="job,web,sort\nsort,1.1,1.2\nweb,1,1.3\n") / "x.csv"
    with refused(InvalidFile):
        plain_form(square)
    with refused(InvalidFile):
        plain_form(put(tmp_path, x="user server work\n1 2 3\n") / "x.csv")
    with refused(InvalidFile):
        plain_form("-")


def test_convert_command_reads_plain_tables_and_fills_pairs(tmp_path: Path) -> None:
    folder = put(tmp_path, pairs=PAIRS.replace("db,web,1.25\n", ""))
    out = tmp_path / "x.json"
    start = ("convert", str(folder), "--out", str(out), "--from")
    refused = terminal.run(*start, "csv", "-o", "copies=2")
    assert refused.returncode == 2
    approved(refused.stderr)
    assert not out.exists()
    done = terminal.run(*start, "csv", "-o", "copies=2", "--fill", "predict")
    assert done.returncode == 0, done.stderr
    approved(done.stderr)
    assert json.loads(out.read_text())["names"] == ["web", "db"]
    for fill, form, words in (
        ("guess", "csv", "expected predict or forbid"),
        ("predict", "vbp", "has no pairs to fill"),
    ):
        no = terminal.run(*start, form, "--fill", fill)
        assert (no.returncode, words in no.stderr) == (2, True), no.stderr


def test_nearly_matching_header_and_unread_table_are_named(tmp_path: Path) -> None:
    folder = put(tmp_path / "jobs", pairs=PAIRS.replace("service,", "job,", 1))
    with refused(InvalidFile):
        plain_form(folder)
    with refused(InvalidFile):
        plain_form(folder / "pairs.csv")
    folder = put(tmp_path / "services", pairs=PAIRS, counts="service,count\nweb,3\ndb,1\n")
    done = terminal.run("convert", str(folder), "--from", "csv", "--out", str(tmp_path / "x.json"))
    assert done.returncode == 0
    approved(done.stderr)
