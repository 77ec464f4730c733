"""One reader for every path that takes a file: bounded, of regular files and standard input, one
error for what is wrong.
"""

from __future__ import annotations

import gzip
import json
import os
import pty
import re
import stat
import sys
import warnings
from collections.abc import Callable
from functools import partial
from inspect import signature
from pathlib import Path
from typing import Any

import pytest
from support.files import text_file
from support.messages import refused
from support.terminal import piped

import cotenant
from cotenant.analysis.run.result import Result
from cotenant.analysis.run.rows import finished_rows, read_rows
from cotenant.analysis.scheduling.fairness import fairness
from cotenant.cluster.state.reading import read_state
from cotenant.instances.coalitions import game_document
from cotenant.instances.market.profile import read_profile
from cotenant.instances.problem import (
    PROBLEM_NAMES,
    CotenantError,
    InvalidFile,
    InvalidInstance,
    InvalidOption,
    UnknownName,
    problem_named,
    read_all,
    reading,
)
from cotenant.instances.problem.base_document import document_type
from cotenant.instances.problem.files import write_bytes
from cotenant.instances.problem.reading import csv_rows, parse_any_json, parse_json, read_text
from cotenant.instances.problem.registry import resolve
from cotenant.instances.scheduling.log import read_mapping
from cotenant.papers.thesis_market import _is_p3arsec

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pipes and devices of Unix")

TINY = {
    "cotenant": 1,
    "problem": "colocation",
    "penalty": [[0.1, 0.2], [0.3, 0.4]],
    "count": [2, 2],
}
NEEDED: dict[str, dict[str, Any]] = {
    "alibaba-openb": {"nodes": "nodes.csv"}, "classes-csv": {"rate": 1.0},
    "quanta-csv": {"share": 2}, "lifetimes-csv": {"capacity": "4"},
    "elastic-csv": {"devices": "v100:1"},
}  # fmt: skip
"""Options that a format cannot do without."""

FORMATS = {
    name: partial(resolve(function), **NEEDED.get(name, {}))
    for problem in PROBLEM_NAMES
    for name, function in problem_named(problem).formats.items()
}


def read_one_state(path: Path) -> Any:
    """The state of a cluster in one file."""
    return read_state([str(path)])


READERS: dict[str, Callable[[Path], Any]] = {
    **FORMATS,
    "an instance": cotenant.read,
    "several instances": lambda path: read_all([path]),
    "a result": Result.read,
    "rows": read_rows,
    "rows to go on with": finished_rows,
    "a log to judge": fairness,
    "a schedule to judge": lambda path: fairness("scheduling/figure-7", schedule=str(path)),
    "a mapping of users": read_mapping,
    "a profile": read_profile,
    "a profile to reproduce with": lambda path: _is_p3arsec(str(path)),
}
"""Everything that takes the path of a file. A format that is added comes in by itself."""


@pytest.mark.parametrize(("name", "reader"), READERS.items(), ids=READERS)
def test_every_reader_refuses_long_file_long_name_pipe_and_device(
    name: str, reader: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTENANT_FILE_LIMIT", "1kB")
    long = {
        "x.json": b"1 " * 501, "x.json.gz": gzip.compress(b" " * 1001),
        "x": gzip.compress(b" " * 5000),
    }  # fmt: skip
    for file, content in long.items():
        (tmp_path / file).write_bytes(content)
        with refused(InvalidFile):
            reader(tmp_path / file)
    os.mkfifo(tmp_path / "pipe.json")
    no_files = [tmp_path / "pipe.json", Path("/dev/null")]
    for path in (*no_files, *map(Path, ("x" * 300, "x/" + "y" * 300, "x" * 5000))):
        if name == "rows to go on with":  # rows are added to these, and nothing is read of them
            assert finished_rows(path) == {}
        else:
            with refused((InvalidFile, UnknownName)):
                reader(path)


@pytest.mark.parametrize(
    ("text", "size"),
    [("5", 5), ("5 B", 5), ("64kB", 64_000), ("500MB", 5 * 10**8), ("2g", 2 * 10**9)],
)
def test_file_limit_variable_is_parsed_with_units(
    text: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTENANT_FILE_LIMIT", text)
    assert reading.file_limit() == size


@pytest.mark.parametrize("text", ["0", "many", "-5", "1e9", "5TB", "1.5GB"])
def test_invalid_file_limit_is_refused(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTENANT_FILE_LIMIT", text)
    with refused(InvalidOption, shown=text):
        cotenant.read("colocation/tiny")


def test_documented_file_limits_are_enforced() -> None:
    page = " ".join((Path(__file__).parents[1] / "docs" / "security.md").read_text().split())
    share = {what: reading.FILE_LIMIT // size / 10**6 for what, size in reading._BYTES.items()}
    assert f"{reading.FILE_LIMIT / 10**6:.0f} MB, counted after it is gunzipped" in page
    assert (
        f"{share['lists and objects']:.0f} million lists and objects, {reading.MOST_NESTED} "
        "levels deep" in page
    )
    wide = f"{reading.FILE_LIMIT // reading._BYTES['columns']:,} columns"
    assert f"numbers of {reading._MOST_DIGITS} digits; in tables a million lines, {wide}" in page
    assert share["lines"] == 1
    assert f"arrives at least every {reading.STDIN_SECONDS:.0f} s" in page
    assert f"`{reading.LIMIT_VARIABLE}=2GB`" in page


def test_process_substitution_is_read_up_to_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps(TINY).encode()
    for content in (text, gzip.compress(text)):
        assert cotenant.read(piped(content)) == cotenant.read(piped(text))
    monkeypatch.setenv("COTENANT_FILE_LIMIT", "10B")
    with refused(InvalidFile):
        read_text(piped(text))


@pytest.mark.parametrize("kind", [os.pipe, pty.openpty])
def test_silent_pipe_times_out_and_terminal_is_refused(
    kind: Callable[[], tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading, "STDIN_SECONDS", 0.01)
    reader, writer = kind()
    with refused(InvalidFile):
        read_text(f"/dev/fd/{reader if kind is os.pipe else writer}")
    os.close(reader)
    os.close(writer)


JSON: list[tuple[str, str]] = [
    ("a number of 400 digits", "9" * 400),
    ("a number of 5000 digits", "-" + "9" * 5000),
    ("a number beyond every float", "1e400"),
    ("a long number beyond every float", "9" * 400 + ".5"),
    ("20,000 levels", "[" * 20_000 + "]" * 20_000),
    ("120 levels", "[" * 120 + "]" * 120),
    ("objects in objects", '{"a":' * 120 + "1" + "}" * 120),
    ("a field twice among many", "{" + ", ".join(f'"a{n}": 0' for n in range(5000)) + ', "a7": 1}'),
    ("a field twice, and a text of colons", '{"b": "::", "b": 1, "c": "::"}'),
    ("a field twice, and a colon escaped", '{"b": 1, "b": "\\u003a"}'),
]


@pytest.mark.parametrize("text", dict(JSON).values(), ids=dict(JSON))
def test_pathological_json_is_refused(text: str, tmp_path: Path) -> None:
    with refused(InvalidFile):
        parse_json(f'{{"a": {text}}}', "x.json")
    rows = text_file(tmp_path, f'{{"key": "k", "x": {text}}}\n', "rows.jsonl")
    with refused(InvalidFile):
        read_rows(rows)


AS_PYTHON_READS = (
    '{"a:": [1, -0, -0.0, 1e5, 9007199254740993, 4.9e-324], ":": {"b": ["x:y", null, true]}}',
    '{"\\u003a": 1, ":b": "\\ud83d\\ude00"}',
    "[" * 100 + "]" * 100,
    f"[{10**298}, {-(10**298)}, 1.7976931348623157e308, 0.{'1' * 400}]",
    str([[0.1 * n for n in range(200)], [*range(200)], [[n] for n in range(200)]]),
    '"a lone surrogate: \\ud800"',
    "3",
)


@pytest.mark.parametrize("text", AS_PYTHON_READS)
def test_parsed_json_equals_python_json(text: str) -> None:
    assert repr(parse_any_json(text, "x")) == repr(json.loads(text))


def test_table_of_too_many_lines_is_refused_early(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COTENANT_FILE_LIMIT", "64kB")
    path = text_file(tmp_path, "1\n" * 1001, "x")
    for name in ("a mapping of users", "a profile", "rows", "swf", "jobs-csv", "azure-vm"):
        with refused(InvalidFile):
            READERS[name](path)
    path.write_text("user," * 101)
    for name in ("jobs-csv", "penalty-csv", "azure-vm"):
        with refused(InvalidFile):
            READERS[name](path)
    path.write_text("1 " * 8001)
    with refused(InvalidFile):
        FORMATS["vbp"](path)
    path.write_text(json.dumps({f"a{place}": [] for place in range(200)}))
    with refused(InvalidFile):  # before the matrix of its instance is made
        FORMATS["preferences"](path)


def test_json_of_too_many_lists_is_refused_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COTENANT_FILE_LIMIT", "160kB")
    assert parse_json('{"a": [' + "[]," * 9_000 + "[]]}", "x.json")
    with refused(InvalidFile):
        parse_json('{"a": [' + "[]," * 10_000 + "[]]}", "x.json")


@pytest.mark.parametrize("problem", PROBLEM_NAMES)
def test_first_of_many_invalid_entries_is_named(problem: str) -> None:
    """All of them would take a hundred times the memory of the file."""
    import pydantic

    document = document_type(problem)

    def spoilt(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: spoilt(entry) for key, entry in value.items()}
        return [[{}] * 1000] * 10 if isinstance(value, list) else value

    content = spoilt(
        json.loads(
            read_text(Path(cotenant.__path__[0]) / "instances" / "data" / problem / "tiny.json")
        )
    )
    with pytest.raises(pydantic.ValidationError) as caught:
        document.model_validate(content, strict=True)
    assert caught.value.error_count() < 20, "at most one for each field"


@pytest.mark.parametrize(
    "form", [name for name in FORMATS if name not in ("swf", "vbp", "gavel", "preferences")]
)
def test_csv_cell_above_field_limit_is_refused_by_line(form: str, tmp_path: Path) -> None:
    path = text_file(tmp_path, "job,a\na," + "x" * 131_073 + "\n", "x.csv")
    with refused(InvalidFile):
        list(csv_rows(read_text(path), path))
    with pytest.raises(InvalidFile):
        FORMATS[form](path)


def test_gzip_file_with_any_flipped_byte_is_refused(tmp_path: Path) -> None:
    whole = gzip.compress(json.dumps(TINY).encode())
    path = tmp_path / "x.json.gz"
    for index in range(len(whole)):
        path.write_bytes(whole[:index] + bytes([whole[index] ^ 0xFF]) + whole[index + 1 :])
        try:
            cotenant.read(path)
        except (InvalidFile, InvalidInstance):
            continue
        assert index < 10, "only the file's name, time and system may change without harm"


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o444, 0o4755])
def test_replaced_file_keeps_mode_without_setuid_and_new_file_has_default(
    mode: int, tmp_path: Path
) -> None:
    path, new = tmp_path / "x.json", tmp_path / "made"
    path.write_text("before")
    default = stat.S_IMODE(path.stat().st_mode)
    path.chmod(mode)
    for target in (path, new):
        write_bytes(target, b"after")
    assert path.read_bytes() == b"after"
    assert stat.S_IMODE(path.stat().st_mode) == mode & 0o777
    assert stat.S_IMODE(new.stat().st_mode) == default


def test_file_name_of_maximum_length_is_written(tmp_path: Path) -> None:
    path = tmp_path / ("x" * 250 + ".json")
    cotenant.write(cotenant.read("colocation/tiny"), path)
    assert cotenant.read(path) == cotenant.read("colocation/tiny")
    with refused(InvalidFile):
        write_bytes(tmp_path / ("x" * 300), b"")
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


HEADERS = {
    "penalty-csv": "job,a", "slowdown-csv": "job,a", "fair-co2": "job,a,alone",
    "pairs-csv": "service,beside,slowdown", "jobs-csv": "user,server,seconds@1,budget,work",
    "vms-csv": "name,cpu,mem,count", "azure-vm": "vm,cpu_cores,mem_gb,start_s,end_s_lo",
    "alibaba-openb": "cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time",
    "mig": "Mig instance,Batch size,Workload Number,Throughput,Latency",
    "admission-csv": "vm,fast,slow", "organizations-csv": "organization,release,processing",
    "swf": "; MaxProcs: 4",
    "sacct": "JobID|Account|Submit|Eligible|Start|End|ElapsedRaw|AllocCPUS|State|JobName",
    "classes-csv": "class,share,service_mean,ht1,pcie,bandwidth",
    "groups-csv": "group,job,penalty", "curves-csv": "job,pressure,penalty",
    "accelerators-csv": "job,device,throughput", "quanta-csv": "user,mon",
    "lifetimes-csv": "start,end,cores", "azure-2020": "SQLite format 3", "azure-2017": "cpu_cores,mem_gb,start_s,end_s_lo",
    "elastic-csv": "job,kind,devices,utility",
    "temporal-bin-packing": "0 100", "preferences": "agent,list", "vbp": "2\n10 20\n0",
}  # fmt: skip
BESIDE = {
    "nodes": "cpu_milli,memory_mib,gpu\n32000,65536,4\n", "hosts": "name,cpu,mem,count\nh,8,16,2\n",
    "organizations": "organization,machines\nA,1\n", "devices": "device,count\nV100,1\n",
    "jobs": "job,count,threads,length,pressure\nx,3,2,5,1\n", "speed": "job,fast,slow\nx,2,1\n",
}  # fmt: skip
EMPTY = ("", "\n \n", "{}", "[]", "null", '{"items": []}', '{"kind": "List", "items": []}')
NO_HEADER = ("gavel", "colocation")
"""Formats of JSON."""

PYTHON = re.compile(
    r"NoneType|Error\b|Traceback|not iterable|not subscriptable|'(int|str|list|dict|float|bool)'"
    r"|attribute|unhashable|positional argument|ufunc|numpy\.|<class|__"
)
"""Words of Python and its libraries, which no message has."""


def require_own_words(error: CotenantError) -> None:
    assert not PYTHON.search(str(error)), str(error)
    assert str(error).strip()


@pytest.mark.parametrize("form", FORMATS)
def test_empty_file_is_refused_without_python_error_text(tmp_path: Path, form: str) -> None:
    given = {"horizon": 20} if form == "organizations-csv" else {}
    for option, text in BESIDE.items():
        (tmp_path / f"{option}.csv").write_text(text)
        if option in signature(FORMATS[form]).parameters:
            given[option] = str(tmp_path / f"{option}.csv")
    path = tmp_path / ("bert.csv" if form == "mig" else "file")
    assert (form in HEADERS) != (form in NO_HEADER)
    for text in (*EMPTY, HEADERS.get(form, "a,b") + "\n"):
        path.write_text(text)
        with pytest.raises(CotenantError) as caught:
            FORMATS[form](tmp_path if form == "mig" else path, **given)
        require_own_words(caught.value)


@pytest.mark.parametrize("reader", [cotenant.read, game_document, Result.read, read_one_state])
def test_empty_document_is_refused_without_python_error_text(
    tmp_path: Path, reader: Callable[[Path], Any]
) -> None:
    for text in EMPTY:
        (tmp_path / "file").write_text(text)
        with pytest.raises(CotenantError) as caught:
            reader(tmp_path / "file")
        require_own_words(caught.value)


@pytest.mark.parametrize("problem", PROBLEM_NAMES)
def test_instance_of_empty_lists_is_refused_with_message(tmp_path: Path, problem: str) -> None:
    path, head = tmp_path / "a.json", {"cotenant": 1, "problem": problem}
    fields = cotenant.read(f"{problem}/tiny").document()
    for content in ({}, {name: [] if isinstance(value, list) else value
                         for name, value in fields.items()}):  # fmt: skip
        path.write_text(json.dumps(head | content))
        with pytest.raises(CotenantError) as caught:
            cotenant.read(path)
        require_own_words(caught.value)


@pytest.mark.parametrize("seen", ["1e308", "1e200", "-1e308"])
def test_absurd_run_times_are_refused_without_overflow(tmp_path: Path, seen: str) -> None:
    path = tmp_path / "pairs.csv"
    for column in ("slowdown", "penalty"):
        path.write_text(f"service,beside,{column}\nx,x,0.9\nx,x,{seen}\n")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(CotenantError):
                FORMATS["pairs-csv"](path)
