"""Files that hold nothing, in every format: refused in our own words."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Callable
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

import cotenant
from cotenant.analysis.run.result import Result
from cotenant.cluster.state.reading import read_state
from cotenant.instances.coalitions import game_document
from cotenant.instances.problem import PROBLEM_NAMES, CotenantError
from cotenant.instances.problem.registry import problem_named, resolve

ROOT = Path(cotenant.__file__).parent
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
OPTIONS: dict[str, dict[str, Any]] = {
    "organizations-csv": {"horizon": 20}, "classes-csv": {"rate": 1000}, "quanta-csv": {"share": 2},
    "lifetimes-csv": {"capacity": "4"},
    "elastic-csv": {"devices": "v100:1"},
}  # fmt: skip
EMPTY = ("", "\n \n", "{}", "[]", "null", '{"items": []}', '{"kind": "List", "items": []}')


READERS: dict[str, Callable[..., Any]] = {
    **{f"{problem} {form}": resolve(place) for problem in PROBLEM_NAMES
       for form, place in problem_named(problem).formats.items()},
    "kubernetes": lambda path: read_state([str(path)]),
    "json": cotenant.read, "game": game_document, "result": Result.read,
}  # fmt: skip
"""Of every format of every problem, and of documents."""


@pytest.mark.parametrize("name", READERS)
def test_empty_file_is_refused_with_message(tmp_path: Path, name: str) -> None:
    form = name.rpartition(" ")[2]
    given = dict(OPTIONS.get(form, {}))
    for option, text in BESIDE.items():
        (tmp_path / f"{option}.csv").write_text(text)
        if option in signature(READERS[name]).parameters:
            given[option] = str(tmp_path / f"{option}.csv")
    path = tmp_path / ("bert.csv" if form == "mig" else "file")
    for text in (*EMPTY, HEADERS.get(form, "a,b") + "\n"):
        path.write_text(text)
        with pytest.raises(CotenantError) as caught:
            READERS[name](tmp_path if form == "mig" else path, **given)
        require_own_words(caught.value)


def test_every_reader_is_covered_by_header_or_json_case() -> None:
    assert {name.rpartition(" ")[2] for name in READERS} == {
        *HEADERS, "gavel", "colocation", "kubernetes", "json", "game",
        "result",
    }  # fmt: skip


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


PYTHON = re.compile(
    r"NoneType|Error\b|Traceback|not iterable|not subscriptable|'(int|str|list|dict|float|bool)'"
    r"|attribute|unhashable|positional argument|ufunc|numpy\.|<class|__"
)
"""Words of Python and its libraries, which no message has."""


def require_own_words(error: CotenantError) -> None:
    assert not PYTHON.search(str(error)), str(error)
    assert str(error).strip()


@pytest.mark.parametrize("seen", ["1e308", "1e200", "-1e308"])
def test_absurd_run_times_are_refused_without_overflow(tmp_path: Path, seen: str) -> None:
    path = tmp_path / "pairs.csv"
    for column in ("slowdown", "penalty"):
        path.write_text(f"service,beside,{column}\nx,x,0.9\nx,x,{seen}\n")
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(CotenantError):
                READERS["colocation pairs-csv"](path)
