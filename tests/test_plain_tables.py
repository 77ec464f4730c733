"""Own data as tables with plain headers: what is read, what is missing, and what is told."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import terminal
from support.messages import approved, refused

import cotenant
from cotenant.analysis.colocation.prediction import predicted_penalties
from cotenant.instances.accelerators.formats import accelerators_csv
from cotenant.instances.admission.formats import admission_csv
from cotenant.instances.colocation.formats import penalty_csv, slowdown_csv
from cotenant.instances.colocation.pairs import pairs_csv, read_pairs
from cotenant.instances.elastic import elastic_csv
from cotenant.instances.groups.formats import curves_csv, groups_csv
from cotenant.instances.market.formats import jobs_csv
from cotenant.instances.market.profile import read_profile
from cotenant.instances.numa.formats import classes_csv
from cotenant.instances.packing.csv_reader import vms_csv
from cotenant.instances.problem import InvalidFile, InvalidOption
from cotenant.instances.problem.tables import CsvTable, plain_form, plain_forms
from cotenant.instances.quanta import quanta_csv
from cotenant.instances.scheduling.formats import organizations_csv

PAIRS = """service,beside,slowdown
web,web,1.10
web,db,1.2
web,db,1.4
db,web,1.25
db,db,forbidden
"""


def penalty_csv_of(folder: Path, **options: Any) -> object:
    """What the reader of a square matrix makes of the table x."""
    return penalty_csv(folder / "x.csv", **options)


def slowdown_csv_of(folder: Path, **options: Any) -> object:
    """What the reader of slowdowns makes of the table x and a table of bandwidths."""
    return slowdown_csv(folder / "x.csv", bandwidth=str(folder / "bandwidth.csv"), **options)


def profile_of(folder: Path) -> object:
    """What the reader of measured speedups makes of the table x."""
    return read_profile(folder / "x.csv")


def put(folder: Path, **tables: str) -> Path:
    """A folder with these tables."""
    folder.mkdir(exist_ok=True)
    for name, text in tables.items():
        (folder / f"{name}.csv").write_bytes(text.encode())
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


def test_missing_self_pair_of_single_job_is_accepted(tmp_path: Path) -> None:
    text = "service,beside,penalty\na,b,.1\nb,a,.2\na,c,forbidden\nb,c,.1\nc,b,.3\n"
    instance = pairs_csv(put(tmp_path, pairs=text), machines=2.0)
    assert not instance.allowed[0, 2]  # c beside a was never run, and need not be


CORES = {
    "cores": "vm,gpu,cpu\nleft,2,1\nright,0,3\n",
    "jobs": "job,threads,length\nfirst,2,10\nsecond,4,2.5\n",
    "speed": "job,cpu,gpu\nsecond,3,2\nfirst,1,5\n",
}
DEVICES = {
    "throughputs": "job,device,throughput\na,new,4\na,old,2\nb,old,1\n",
    "jobs": "job,count,weight,steps,deadline,entity\na,2,1,100,,red\nb,1,2,50,60,blue\n",
    "devices": "device,count,cost\nold,3,0.5\nnew,1,2\n",
    "pairs": "job,beside,device,throughput\na,b,old,1.5\nb,a,old,0.5\n",
}
USERS = {
    "jobs": "user,server,parallel_fraction\nann,s2,.9\nbob,s1,.5\n",
    "users": "user,budget\nbob,3\nann,1\n", "servers": "server,cores\ns1,8\ns2,16\n",
}  # fmt: skip
LOG = {
    "jobs": "organization,release,processing\nbio,0,5\nphy,2,3\n",
    "organizations": "organization,machines\nphy,1\nbio,2\nlab,1\n",
}
CLASSES = {
    "classes": "class,share,service_mean,ht1,pcie,bandwidth\na,3,.01,1.2,2,100\nb,1,.02,1,1.5,50\n",
    "memories": "memory,share\n0,1\n3,3\n",
}
CONFIGURED = "job,kind,devices,utility\na,x,1,2\na,x,2,3\nb,y,1,1.5\n"
CURVES = "job,kind,alone,efficiency,count\na,x,1,1,3\na,y,2,0.5,3\n"

READ: list[tuple[Callable[..., Any], dict[str, str], dict[str, Any], dict[str, Any]]] = [
    (penalty_csv_of, {"x": "job,b,a\na,0.2,0.1\nb,0.4,0.3\n"}, {"copies": 2},
     {"penalty": [[0.1, 0.2], [0.3, 0.4]], "count": [2, 2]}),
    (slowdown_csv_of,
     {"x": ",a,b\na,1,2\nb,1.25,forbidden\n", "bandwidth": "name,GB/s\na,1.5\nb,20\n"},
     {"copies": 2, "machines": 4.0},
     {"penalty": [[0, 0.5], [0.2, np.inf]], "bandwidth": [1.5, 20]}),
    (pairs_csv, {"pairs": PAIRS, "services": "service,count,bandwidth\ndb,1,20\nweb,3,1.5\n"}, {},
     {"names": ("db", "web"), "count": [1, 3], "bandwidth": [20, 1.5],
      "penalty": [[np.inf, 0.2], [round(1 - 1 / 1.3, 12), round(1 - 1 / 1.1, 12)]]}),
    (jobs_csv, USERS, {},
     {"budget": [3, 1], "names": ("bob", "ann"), "server_names": ("s1", "s2"), "capacity": [8, 16],
      "user": [1, 0], "server": [1, 0],
      "source": "jobs of jobs.csv; users of users.csv; servers of servers.csv"}),
    (jobs_csv, {"jobs": "user,server,parallel_fraction,work,budget\nann,s1,0.5,1,2\nbob,s1,0.9,3,1\n"
                        "ann,s2,0.7,1,2\n"}, {"cores": 16},
     {"user": [0, 1, 0], "server": [0, 0, 1], "budget": [2, 1], "capacity": [16, 16],
      "work": [1, 3, 1]}),
    # Amdahl with f = .8: 100 s on one core, 60 s on two, 40 s on four
    (jobs_csv, {"jobs": "user,server,seconds@1,seconds@2,seconds@4\na,x,100,60,40\na,y,100,,40\n"},
     {}, {"parallel_fraction": pytest.approx([0.8, 0.8])}),
    (vms_csv, {"vms": "name,cpu,mem,count\nsmall,0.5,2,10\nbig,4,16.25,2\n",
               "hosts": "name,mem,cpu,count,cost\nold,64,8,3,5\nnew,128,16,inf,9\n"}, {},
     {"resources": ("cpu [1/10]", "mem [1/100]"), "demand": [[5, 200], [40, 1625]],
      "capacity": [[80, 6400], [160, 12800]], "names": ("small", "big"),
      "class_names": ("old", "new"), "request": [10, 2], "servers": [3, np.inf], "cost": [5, 9]}),
    (vms_csv, {"vms": "name,cpu\na,1\nb,2\n", "hosts": "name,cpu\nx,4\n"}, {},
     {"request": [1, 1], "servers": [1]}),
    # lines of an old Mac, and a name with an accent in two forms
    (vms_csv, {"vms": "name,weight,allowed\r\u00e4,48,a\u0308\rb,60,\r",
               "hosts": "name,weight\r\nä,100\r\nb,100\r\n"}, {},
     {"resources": ("weight",), "demand": [[48], [60]], "allowed": [[True, False], [True, True]]}),
    (admission_csv, CORES, {},
     {"cores": [[2, 1], [0, 3]], "threads": [2, 4], "speed": [[5, 1], [2, 3]], "length": [10, 2.5],
      "names": ("first", "second"), "machine_names": ("left", "right")}),
    (organizations_csv, LOG, {"horizon": 20},
     {"names": ("phy", "bio", "lab"), "machines": [1, 2, 1], "organization": [1, 0], "horizon": 20}),
    (classes_csv, CLASSES, {"rate": 100.0, "blades": 1},
     {"class_share": [0.75, 0.25], "location_share": [0.25, 0, 0, 0.75], "names": ("a", "b")}),
    (accelerators_csv, DEVICES, {},
     {"throughput": [[2, 4], [1, 0]], "devices": [3, 1], "device_cost": [0.5, 2],
      "deadline": [np.inf, 60], "entity_names": ("red", "blue"),
      "together": [[[np.inf] * 2, [1.5, np.inf]], [[0.5, np.inf], [np.inf] * 2]]}),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "tables", "options", "fields"), READ)
def test_plain_table_gives_fields_of_the_instance(
    reader: Callable[..., Any], tables: dict[str, str], options: dict[str, Any],
    fields: dict[str, Any], tmp_path: Path,
) -> None:  # fmt: skip
    found = reader(put(tmp_path, **tables), **options)
    seen = {name: getattr(found, name) for name in fields}
    assert {
        name: value.tolist() if isinstance(value, np.ndarray) else value
        for name, value in seen.items()
    } == fields
    cotenant.write(found, tmp_path / "again.json")
    assert cotenant.read(tmp_path / "again.json") == found


def test_reader_refuses_missing_table_and_missing_horizon(tmp_path: Path) -> None:
    with refused(InvalidOption):
        organizations_csv(put(tmp_path, **LOG))
    with refused(InvalidOption):
        organizations_csv(tmp_path / "jobs.csv", horizon=20)
    put(tmp_path, **CORES)
    (tmp_path / "speed.csv").unlink()
    with refused(InvalidFile):
        admission_csv(tmp_path)


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
        ("name,cpu,count\na,1,1.5\n", "name,cpu\nx,1\n"),
        ("name,cpu\na,0.12345678\n", "name,cpu\nx,1\n"),
        ("name\na\n", "name,cpu\nx,1\n"),
    )),
    *((jobs_csv, USERS | change) for change in (
        {"users": "user,budget\nbob,3\n"}, {"users": "user,budget\nbob,3\nbob,3\n"},
        {"jobs": "user,server,parallel_fraction,budget\nann,s2,.9,1\n"},
    )),
    *((accelerators_csv, DEVICES | change) for change in (
        {"throughputs": "job,device,throughput\nc,new,4\n"},
        {"throughputs": "job,device,throughput\na,new,4\na,new,5\n"},
        {"devices": "device\nnew\n"}, {"jobs": "job,count\na,1.5\n"},
    )),
    (partial(organizations_csv, horizon=20), LOG | {"organizations": "organization,machines\nphy,1\n"}),
    (partial(classes_csv, rate=100.0, blades=1), CLASSES | {"memories": "memory,share\n4,1\n"}),
    *((admission_csv, CORES | change) for change in (
        {"speed": "job,cpu,gpu\nthird,3,2\nfirst,1,5\n"},
        {"speed": "job,cpu\nsecond,3\nfirst,1\n"},
        {"jobs": "job,length\nfirst,10\nsecond,2\n"},
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
    )),
    (curves_csv, {"curves": "job,pressure,penalty\na,0,0\n"}),
    (curves_csv, {"curves": "job,pressure,penalty\na,0,0\n", "jobs": "job,count\na,1\n"}),
    (curves_csv, {
        "curves": "job,pressure,penalty\na,0,0\n", "jobs": "job,pressure\na,1\nb,1\n",
    }),
    *((lambda folder: elastic_csv(folder / "jobs.csv", devices="x:2,y:1"), {"jobs": text}) for text in (
        *(f"{CONFIGURED}{row}\n" for row in ("a,x,2,4", "b,z,1,1", "b,x,3,1", "b,x,0,1", "b,x,1,-1")),
        f"{CURVES}a,x,1,1,2\n", CURVES.replace("0.5", "1.5"), "job,kind,devices\na,x,1\n",
    )),
    *((lambda folder: quanta_csv(folder / "demands.csv", share=2), {"demands": text}) for text in (
        "ann,3,0\nbob,1,4\n", "quantum,ann,bob\nmon,3,1\ntue,0,4\n",
    )),
    *((profile_of, {"x": text}) for text in (
        "workload,cores,seconds\na,1,0\n", "workload,cores,seconds\na,1,1e308\na,4,1\n",
        "workload,cores\na,1\n", 'workload,"co\nres\n",seconds\na,1,1\n',
        "workload,cores,Seconds,seconds\na,1,2,3\n",
    )),
]  # fmt: skip


@pytest.mark.parametrize(("reader", "tables"), WRONG)
def test_invalid_plain_table_names_position(
    reader: Callable[[Path], object], tables: dict[str, str], tmp_path: Path
) -> None:
    with refused(InvalidFile):
        reader(put(tmp_path, **tables))


def test_penalty_intervals_in_pair_table_are_read_unchanged(tmp_path: Path) -> None:
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


def test_plain_csv_form_is_recognized_by_header(tmp_path: Path) -> None:
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
