"""Readers: Gavel's throughputs with a list of jobs, and tables with plain headers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import numpy as np

from ..problem.errors import InvalidFile
from ..problem.gavel import gavel_table, is_trace, numbers_of_devices, read_gavel, trace_jobs
from ..problem.option_types import AtLeast, validate_options
from ..problem.reading import parse_any_json, read_text
from ..problem.tables import AMOUNT, CsvTable, PathLike, name_of, tables_of
from ..problem.text import shortened
from .instance import Accelerators, Floats

_JOBS = 'a list of models, or of [model, scale factor], perhaps under "jobs"'
_OF_JOBS = ("workers", "weight", "steps", "elapsed", "deadline")
_WHOLE = ("count", "workers")
_RATE = ("job", "device", "throughput")


@validate_options
def gavel(
    path: PathLike,
    *,
    jobs: str | None = None,
    devices: str = "v100:1,p100:1,k80:1",
    copies: Annotated[int, AtLeast(1, "jobs of each model")] = 1,
    pairs: bool = True,
) -> Accelerators:
    """Read Gavel's throughputs (OSDI 2020) of training jobs alone and in pairs on several kinds of
    GPU, with the numbers of jobs and GPUs.

    A type is a model and its scale factor, the GPUs that it runs on at once, which is its
    `workers`. Two jobs of one scale factor whose throughputs beside each other are not 0 may share.

    Parameters
    ----------
    path : the project's throughput file.
    jobs : path of a JSON list of models, one for each job, or of [model, scale factor], or of one
        of Gavel's traces, whose steps and priorities are kept: all its jobs at once, without their
        arrivals and SLOs. Without it every model of scale factor 1.
    devices : GPUs and how many there are of each, such as "v100:512,p100:512,k80:512".
    copies : jobs of each entry of the list.
    pairs : whether jobs may share GPUs at all.

    Raises
    ------
    InvalidFile
        A file is of another form, or has no throughputs of a job.
    InvalidOption
        `devices` is not of its form.
    """
    number = numbers_of_devices(devices)  # 1. Tables of the kinds, types of jobs.
    tables = read_gavel(path)
    found = {gpu: gavel_table(path, tables, gpu) for gpu in number}
    first = next(iter(found.values()))
    alike = [(*job, 1.0, np.inf) for job in first.jobs if job[1] == 1]
    wanted = Counter(alike if jobs is None else _listed(Path(jobs)))
    types = sorted(wanted)
    alone = np.zeros((len(types), len(number)))  # 2. Throughputs on each kind.
    together = np.zeros((len(types), len(types), len(number)))
    for column, (gpu, table) in enumerate(found.items()):
        place = {job: row for row, job in enumerate(table.jobs)}
        if missing := [job for job in types if job[:2] not in place]:
            raise InvalidFile(
                f"{os.fspath(path)} has no throughputs of {missing[0][0]!r} with scale factor "
                f"{missing[0][1]} on {gpu}; leave that job out of {jobs}"
            )
        rows = [place[job[:2]] for job in types]
        alone[:, column] = table.alone[rows]
        together[:, :, column] = table.together[np.ix_(rows, rows)]
    fits = (together > 0) & (together.transpose(1, 0, 2) > 0)
    scales = Counter(model for model, _ in {job[:2] for job in types})  # 3. Names that differ.
    names = [name if scales[name] == 1 else f"{name} x{scale}" for name, scale, *_ in types]
    several, seen = Counter(names), Counter[str]()
    for row, name in enumerate(names):  # those of a trace that differ in steps or priority
        seen[name] += 1
        names[row] += f" #{seen[name]}" * (several[name] > 1)
    steps = [steps for *_, steps in types]
    return Accelerators(
        throughput=alone,
        together=np.where(fits, together, np.inf) if pairs else None,
        count=[copies * wanted[job] for job in types],  # type: ignore[arg-type]
        devices=list(number.values()),  # type: ignore[arg-type]
        workers=[scale for _, scale, *_ in types],  # type: ignore[arg-type]
        weight=[weight for _, _, weight, _ in types],  # type: ignore[arg-type]
        steps=None if np.inf in steps else steps,  # type: ignore[arg-type]
        names=tuple(names),
        device_names=tuple(number),
        name=name_of(path if jobs is None else jobs),
        source=f"Gavel's throughputs, {Path(path).name}"
        + (f", and the jobs of {Path(jobs).name}" if jobs else "")
        + ", all at once, without arrivals and SLOs" * (np.inf not in steps),
    )


def _listed(path: Path) -> list[tuple[str, int, float, float]]:
    """Read the model, scale factor, priority and steps of each job of a job list or Gavel trace."""
    text = read_text(path)
    if is_trace(text):
        return trace_jobs(text, path)
    content = parse_any_json(text, path, _JOBS)
    jobs = content.get("jobs") if isinstance(content, dict) else content
    if not isinstance(jobs, list) or not jobs:
        raise InvalidFile(f"{path} holds no jobs; expected {_JOBS}")
    found = []
    for place, job in enumerate(jobs):
        name, scale = job if isinstance(job, list) and len(job) == 2 else (job, 1)
        if not isinstance(name, str) or type(scale) is not int or scale < 1:
            raise InvalidFile(f"{path}: job {place} is {shortened(job)}; expected {_JOBS}")
        found.append((name, scale, 1.0, np.inf))
    return found


@validate_options
def accelerators_csv(
    path: PathLike, *, jobs: str | None = None, devices: str | None = None, pairs: str | None = None
) -> Accelerators:
    """Accelerators from CSV tables with plain headers, rows in any order.

    - throughputs: `job,device,throughput` [steps/s]; what is not there cannot run;
    - jobs: `job` and perhaps `count` (1), `workers`, `weight`, `steps`, `elapsed`, `deadline` and
      `entity`;
    - devices: `device,count` and perhaps `cost`;
    - pairs, optional: `job,beside,device,throughput`, of the job beside the other, a row each way.

    Parameters
    ----------
    path : the table of throughputs, or a folder that holds `throughputs.csv`, `jobs.csv`,
        `devices.csv` and perhaps `pairs.csv`.
    jobs, devices, pairs : paths of the other tables.

    Raises
    ------
    InvalidFile
        A table is missing or cannot be read, with its line.
    """
    main, others = tables_of(path, "throughputs.csv", jobs=jobs, devices=devices, pairs=pairs)
    measured = CsvTable(main, *_RATE, lower=True)
    for name, columns in (("jobs", "job,count"), ("devices", "device,count")):
        if name not in others:
            raise InvalidFile(f"{main}: no table of {name}; expected {columns}")
    listed = CsvTable(others["jobs"], "job", lower=True)
    types = listed.by_name("job")
    fields: dict[str, Any] = {"count": [1] * len(types)}
    for column in ("count", *_OF_JOBS):
        if column in listed.places:
            fields[column] = [
                row.whole(column) if column in _WHOLE else row.number(column, None, _INFINITE)
                for row in types.values()
            ]
    if "entity" in listed.places:
        owners = list(dict.fromkeys(row.word("entity") for row in types.values()))
        fields["entity"] = [owners.index(row["entity"]) for row in types.values()]
        fields["entity_names"] = tuple(owners)
    offered = CsvTable(others["devices"], "device", "count", lower=True)
    kinds = offered.by_name("device")
    fields["devices"] = [row.whole("count") for row in kinds.values()]
    if "cost" in offered.places:
        fields["device_cost"] = [row.number("cost", AMOUNT) for row in kinds.values()]
    size = (len(types), len(kinds))
    fields["throughput"] = _rates(measured, {"job": types, "device": kinds}, np.zeros(size))
    if "pairs" in others:
        table = CsvTable(others["pairs"], "beside", *_RATE, lower=True)
        keys = {"job": types, "beside": types, "device": kinds}
        fields["together"] = _rates(table, keys, np.full((len(types), *size), np.inf))
    return Accelerators(
        names=tuple(types),
        device_names=tuple(kinds),
        name=name_of(path),
        source=f"CSV tables {', '.join(each.name for each in (main, *others.values()))}",
        **fields,
    )


_INFINITE: Mapping[str, float] = MappingProxyType({"": np.inf, "inf": np.inf})


def _rates(table: CsvTable, keys: Mapping[str, Mapping[str, Any]], rates: Floats) -> Floats:
    """Fill an array of throughputs from the rows of a CSV table, refusing an entry given twice."""
    places = {column: {name: at for at, name in enumerate(known)} for column, known in keys.items()}
    filled = set()
    for row in table:
        for column, known in places.items():
            if row[column] not in known:
                raise row.wrong(column, "a name of the table of jobs or devices")
        at = tuple(known[row[column]] for column, known in places.items())
        if at in filled:
            raise row.error(": the same names as in a row before; expected every one once")
        filled.add(at)
        rates[at] = row.number("throughput", AMOUNT)
    return rates
