"""A cluster's log: who submitted what, when, how long it ran; windows as instances."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from math import gcd
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from ..problem.documents import shortened
from ..problem.errors import InvalidFile, InvalidInstance, InvalidOption
from ..problem.option_types import AtLeast, validate_options
from ..problem.quantities import proportional
from ..problem.tables import CsvTable, PathLike, in_a_line
from .instance import Integers, Scheduling
from .split import MOST_UNITS, Organizations, machine_split
from .units import CPUS, GPU, Amounts, Queue, Unit, amount_of, summed

Initial = Literal["empty", "warm"]
By = Literal["user", "group", "job", "account"]
JobsAs = Literal["sequential", "parallel"]
Begin = Annotated[int, AtLeast(0, "seconds")]
Length = Annotated[int, AtLeast(1, "seconds", cure="none is the whole log")]
Machines = Annotated[int, AtLeast(1, "a number of processors")]


@dataclass(frozen=True)
class Waiting:
    """A job that waits at the end of a log; how long it will run is not known.

    Attributes
    ----------
    job, account, user, partition : names.
    submit : seconds; `eligible` too, None where the user holds it.
    processors : of all its tasks.
    resources : that it asks for.
    """

    job: str
    account: str
    user: str
    partition: str
    submit: int
    eligible: int | None
    processors: int
    resources: Amounts = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Log:
    """The jobs of a log that ran, in order of submission.

    Attributes
    ----------
    name : of the file.
    submit, wait, run : (n,) seconds; wait is -1 where the log does not say.
    processors : (n,) how many each job used, at least 1.
    user, group : (n,) index into `users`, `groups`.
    users, groups : their names.
    header : the log's own header lines.
    dropped : reason -> how many lines were left out.
    jobs, partition : (n,) names, where the log has them.
    eligible : (n,) seconds from which a job could start for all its user did; None where the log
        does not say, and the submission stands for it.
    waiting : jobs that had not started when the log ended.
    last : the log's last second, where it says more than its jobs.
    bad : lines that could not be read, and why.
    marks : (n,) what was decided of each job in reading, by `slurm.remarks`; empty for nothing.
    resources : (n,) what each job held; empty where the log does not say.
    queues : what queues bring, where the log says it.
    notes : what the reading decided, in sentences.
    unit : what `processors` counts.
    dated : whether seconds count from 1970.
    """

    name: str
    submit: Integers
    wait: Integers
    run: Integers
    processors: Integers
    user: Integers
    group: Integers
    users: tuple[str, ...]
    groups: tuple[str, ...]
    header: Mapping[str, str] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    jobs: tuple[str, ...] = ()
    partition: tuple[str, ...] = ()
    eligible: Integers | None = None
    waiting: tuple[Waiting, ...] = ()
    last: int | None = None
    bad: tuple[str, ...] = ()
    marks: tuple[tuple[str, ...], ...] = ()
    dated: bool = False
    resources: tuple[Amounts, ...] = ()
    queues: tuple[Queue, ...] = ()
    notes: tuple[str, ...] = ()
    unit: Unit = CPUS

    @property
    def machines(self) -> int | None:
        """Number of processors that the header of a log states, or None."""
        for key in ("MaxProcs", "MaxNodes"):
            word = self.header.get(key, "").split()
            if word and word[0].isdecimal() and 0 < len(word[0]) < 16 and int(word[0]) > 0:
                return int(word[0])
        return None

    @property
    def begin(self) -> int:
        """Time of the first submission of a log."""
        return int(self.submit[0])

    @property
    def end(self) -> int:
        """Time of the last submission of a log."""
        return int(self.submit[-1])

    @property
    def over(self) -> int:
        """The second after the log's last: a submission, or the end of a job known to have run."""
        began = np.where(self.wait >= 0, self.submit + self.wait + self.run, self.submit + 1)
        return max(int(began.max()), self.end + 1, self.last or 0)


@dataclass(frozen=True, eq=False)
class Window:
    """Window of a log as an instance, with the schedule that the log itself has in it.

    Attributes
    ----------
    instance : the jobs, as sequential copies or parallel; time counts from the window's begin.
    start : (j,) when the log started each job, in the window's time; 0 for jobs that were running
        at the begin, -1 when unknown or not before the end.
    begin : the window's begin in the log's time.
    job : (j,) the job of the log that each is a copy of; empty where there is no log.
    title : whose schedule that is, for people.
    size : how much of the unit that is counted a machine is.
    """

    instance: Scheduling
    start: Integers
    begin: int
    job: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    title: str = ""
    size: Fraction = Fraction(1)


@validate_options
@dataclass(frozen=True)
class Settings:
    """Options that turn a log into organizations with machines and jobs.

    Attributes
    ----------
    begin : first second of the window, in the log's time (from 1970 on when it has dates); the
        first submission when not given.
    length : seconds; none for all of the log.
    organizations : how many; taken from the mapping when there is one.
    machines : in all; the header's MaxProcs (or MaxNodes) when not given.
    split : of the machines among organizations: "zipf", "uniform", or the numbers themselves, see
        `machine_split`.
    initial : "empty": only jobs submitted in the window. "warm": also the jobs in the system at its
        begin, released at 0: those running keep their remaining time and come first, then those
        waiting, by submission. Jobs whose start the log does not say are left out there: they may
        be long done.
    by : "account": each group with jobs is an organization. "user": each user belongs to an
        organization drawn uniformly; "group": each group does; "job": each job does.
    mapping : path of a CSV file with the columns user (or group) and organization, header first;
        instead of a draw.
    assignment_seed : of the draw.
    jobs : "sequential": a job that used q processors becomes q sequential jobs of the same length
        (section 7.2). "parallel": one job that takes q machines at once.
    backfilling : whether parallel jobs may pass one that does not fit, see `Scheduling`.
    shares : organization -> its part of the machines, in any unit, with by="account" or a mapping;
        those it does not name have none. `split` when not given.
    """

    begin: Begin | None = None
    length: Length | None = 50_000
    organizations: Organizations = 5
    machines: Machines | None = None
    split: str = "zipf"
    initial: Initial = "empty"
    by: By = "user"
    mapping: str | None = None
    assignment_seed: Annotated[int, AtLeast(0)] = 0
    jobs: JobsAs = "sequential"
    backfilling: bool = False
    shares: Mapping[str, Fraction] | None = None

    def __post_init__(self) -> None:
        if self.backfilling and self.jobs == "sequential":
            raise InvalidOption("backfilling is for parallel jobs; give jobs=parallel with it")
        if self.mapping is not None and self.by == "job":
            raise InvalidOption("a mapping names users or groups; leave it out with by=job")

    @property
    def of_groups(self) -> bool:
        """Whether organizations are made of groups, not of users."""
        return self.by in ("group", "account")


@validate_options
def window(log: Log, settings: Settings, rng: np.random.Generator | None = None) -> Window:
    """Cut the window that settings describe out of a log, as an instance with the log's own
    schedule.

    Organizations without machines or jobs are kept: they take part in the Shapley value.

    Parameters
    ----------
    rng : of the draw of organizations; a generator seeded with `assignment_seed` when not given.

    Raises
    ------
    InvalidInstance
        No job is in the window, or the mapping misses one of its users.
    InvalidOption
        The number of machines is not known, or smaller than what a parallel job takes; or a time
        is out of the log.
    """
    # 1. The jobs of the window.
    source = np.random.default_rng(settings.assignment_seed) if rng is None else rng
    begin = log.begin if settings.begin is None else settings.begin
    length = log.end - begin + 1 if settings.length is None else settings.length
    if length < 1 or begin < 0:
        raise InvalidOption(
            f"begin is {begin}; expected a time between 0 and the last submission, {log.end}"
        )
    chosen, release, processing, start = _in_window(log, begin, length, settings.initial)
    if len(chosen) == 0:
        raise InvalidInstance(
            "window", f"{begin} to {begin + length} without a job",
            f"a window with submissions; the log's are from {log.begin} to {log.end}",
            "Choose another begin or a longer length",
        )  # fmt: skip
    # 2. The organization of each job.
    owner, names = organizations_of(log, settings, source)
    organization = (
        source.integers(0, len(names), len(chosen)) if settings.by == "job" else owner[chosen]
    )
    missing = organization < 0
    if missing.any():
        labels, index = (log.groups, log.group) if settings.of_groups else (log.users, log.user)
        what = "group" if settings.of_groups else "user"
        who = sorted({labels[index[job]] for job in chosen[missing]})
        raise InvalidInstance(
            "mapping", f"without {', '.join(who[:4])}{' ...' if len(who) > 4 else ''}",
            f"an organization for each {what} with jobs in the window ({len(who)} have none)",
            "Add them to the mapping file",
        )  # fmt: skip
    # 3. The machines of each organization.
    total = settings.machines or log.machines
    given = "," in settings.split or settings.split.isdigit()
    if total is None and not given:
        raise InvalidOption(
            f"{log.name} does not say how many processors there are; give machines="
        )
    machines = (
        proportional(total or 0, [float(settings.shares.get(name, 0)) for name in names])
        if settings.shares is not None
        else machine_split(
            settings.machines or 0 if given else total or 0, len(names), settings.split
        )
    )
    # 4. Jobs as they are, or as sequential copies.
    used = log.processors[chosen]
    parallel = settings.jobs == "parallel"
    if parallel and used.max() > (most := int(machines.sum())):
        widest = int(chosen[used.argmax()])
        name = f"job {log.jobs[widest]}" if log.jobs else "a job"
        available, needed = (float(log.unit.size * n) for n in (most, int(used.max())))
        what = "processors" if log.unit.resource == CPUS.resource else log.unit.nouns
        user = log.users[log.user[widest]]
        raise InvalidOption(
            f"machines is {available:.10g}; {name} of user {user} in the window, "
            f"submitted at {log.submit[widest]}, takes {needed:.10g} {what} at once. Give as "
            "many machines; or, with jobs=sequential, it is so many jobs of one"
        )
    copies = np.ones(len(used), dtype=np.int64) if parallel else used
    thanks = log.header.get("Acknowledge")
    instance = Scheduling(
        machines=machines,
        organization=np.repeat(organization, copies),
        release=np.repeat(release, copies),
        processing=np.repeat(processing, copies),
        horizon=length,
        names=names,
        processors=used if parallel else None,
        backfilling=settings.backfilling,
        name=f"{log.name}-{begin}-{length}",
        source=f"{log.name} from second {begin} for {length}, {settings.initial} start; "
        f"{'accounting log' if thanks is None else f'acknowledge {thanks}'}",
    )
    job = np.repeat(chosen, copies)
    return Window(instance, np.repeat(start, copies), begin, job, size=log.unit.size)


def of_partition(log: Log, name: str) -> Log:
    """Jobs of one partition; a pending job that requests several partitions is in each of them.
    Raises InvalidOption if no job ran in it.
    """
    inside = np.array([each == name for each in log.partition], dtype=bool)
    if not inside.any():
        names = sorted(set(log.partition))
        raise InvalidOption(
            f"partition is {name!r}; expected one of those with jobs that ran: "
            f"{in_a_line(names) or 'the log names none'}"
        )
    return replace(
        of_jobs(log, np.flatnonzero(inside)),
        waiting=tuple(job for job in log.waiting if name in job.partition.split(",")),
        queues=tuple(queue for queue in log.queues if queue.cohort == name),
        last=log.over,
    )


def released_when_eligible(log: Log) -> Log:
    """Copy a log in which each job is submitted when it became eligible to start."""
    if log.eligible is None:
        return log
    began = log.submit + log.wait
    order = np.argsort(log.eligible, kind="stable")
    moved = replace(
        log, submit=log.eligible, wait=np.where(log.wait >= 0, began - log.eligible, -1)
    )
    return of_jobs(moved, order)


def most_processors(log: Log) -> int:
    """Maximum number of processors that jobs of a log used at one time, at least the most of one
    job.
    """
    began = log.submit + log.wait
    started = log.wait >= 0
    times = np.concatenate([began[started] + log.run[started], began[started]])
    change = np.concatenate([-log.processors[started], log.processors[started]])
    order = np.lexsort((change, times))
    return max(int(np.cumsum(change[order]).max(initial=0)), int(log.processors.max()))


def of_jobs(log: Log, chosen: Integers) -> Log:
    """Restrict a log to the jobs of the given indices, in their order."""
    return replace(
        log,
        submit=log.submit[chosen], wait=log.wait[chosen], run=log.run[chosen],
        processors=log.processors[chosen], user=log.user[chosen], group=log.group[chosen],
        eligible=None if log.eligible is None else log.eligible[chosen],
        jobs=tuple(log.jobs[n] for n in chosen) if log.jobs else (),
        partition=tuple(log.partition[n] for n in chosen) if log.partition else (),
        marks=tuple(log.marks[n] for n in chosen) if log.marks else (),
        resources=tuple(log.resources[n] for n in chosen) if log.resources else (),
    )  # fmt: skip


def _in_window(
    log: Log, begin: int, length: int, initial: Initial
) -> tuple[Integers, Integers, Integers, Integers]:
    """Index, release, run time and start of each job in a window of a log, in the window's time."""
    began = np.where(log.wait >= 0, log.submit + log.wait, -1)
    chosen = np.flatnonzero((log.submit >= begin) & (log.submit < begin + length))
    left = log.run.copy()
    if initial == "warm":
        started = began >= 0
        running = np.flatnonzero(
            (log.submit < begin) & started & (began < begin) & (began + log.run > begin)
        )
        waiting = np.flatnonzero((log.submit < begin) & started & (began >= begin))
        left[running] -= begin - began[running]
        running = running[np.argsort(began[running], kind="stable")]
        chosen = np.concatenate([running, waiting, chosen])
    release = np.maximum(log.submit[chosen] - begin, 0)
    start = np.where(began[chosen] >= 0, np.maximum(began[chosen] - begin, 0), -1)
    return chosen, release, left[chosen], np.where(start < length, start, -1)


def read_mapping(path: PathLike, by: str = "user") -> dict[str, str]:
    """User (or group) -> organization, from a CSV file with a header."""
    rows = CsvTable(path)
    if rows.columns != [by, "organization"]:
        begin = in_a_line(rows.columns) or "nothing"
        raise InvalidFile(f"{rows.path} begins with {begin}; expected {by},organization")
    table: dict[str, str] = {}
    for row in rows:
        who, where = row.word(by), row.word("organization")
        if table.setdefault(who, where) != where:
            raise row.error(f": {by} {who!r} is in {table[who]} and in {where}")
    return table


def organizations_of(
    log: Log, settings: Settings, rng: np.random.Generator
) -> tuple[Integers, tuple[str, ...]]:
    """Organization (n,) of each job, -1 for one that the mapping omits; and the names of
    organizations. `rng` assigns users or groups at random; jobs assigned this way have no entry.
    Raises InvalidFile for a bad mapping.
    """
    labels, index = (log.groups, log.group) if settings.of_groups else (log.users, log.user)
    if settings.mapping is not None:
        table = read_mapping(settings.mapping, "group" if settings.of_groups else "user")
        names = tuple(sorted(set(table.values())))
        place = {name: number for number, name in enumerate(names)}
        owner = np.array(
            [place[table[label]] if label in table else -1 for label in labels], dtype=np.int64
        )
        return owner[index], names
    if settings.by == "account":
        ran = {labels[number] for number in np.unique(index).tolist()}
        names = tuple(sorted({*ran, *(settings.shares or {})}))
        place = {name: number for number, name in enumerate(names)}
        return np.array([place.get(label, -1) for label in labels], dtype=np.int64)[index], names
    names = tuple(str(number) for number in range(settings.organizations))
    if settings.by == "job":
        return np.zeros(0, dtype=np.int64), names
    return rng.integers(0, settings.organizations, len(labels))[index], names


def labeled(values: Sequence[object]) -> tuple[tuple[str, ...], Integers]:
    """The distinct values as text, in order of first appearance, and each entry's index."""
    place: dict[object, int] = {}
    index = np.array([place.setdefault(value, len(place)) for value in values], dtype=np.int64)
    return tuple(str(value) for value in place), index


def log_of(
    where: str, runs: Sequence[tuple[Any, ...]], dropped: Mapping[str, int], **fields: Any
) -> Log:
    """Log of runs in order of submission, each a row of job, account, user, partition, submission,
    eligibility, start, length, processors, marks and resources.
    """
    ids, accounts, users, partition, *numbers, marks, resources = zip(*runs, strict=True)
    submit, eligible, start, run, used = (np.array(column, dtype=np.int64) for column in numbers)
    user_names, user = labeled(users)
    group_names, group = labeled(accounts)
    return Log(
        name=Path(where).name.rpartition(".")[0] or Path(where).name,
        submit=submit, wait=start - submit, run=run, processors=used,
        user=user, group=group, users=user_names, groups=group_names,
        dropped={why: number for why, number in dropped.items() if number},
        jobs=ids, partition=partition, eligible=eligible, marks=marks, resources=resources,
        dated=True, **fields,
    )  # fmt: skip


def in_unit(log: Log, unit: Unit, brought: Sequence[int]) -> tuple[Log, list[str]]:
    """Restrict a log to jobs that hold some of a resource unit, with widths in that unit; and say
    what was left out or rounded.

    Parameters
    ----------
    brought : what each node or queue brings, in `unit.parts`; nothing when it is not known.

    Raises
    ------
    InvalidOption
        No job holds any, or one holds more than a cluster can have.
    """
    cache: dict[int, int] = {}  # 1. Amount of the unit in each job.
    for amounts in log.resources:
        if id(amounts) not in cache:
            cache[id(amounts)] = unit.whole(amounts)
    if (most := max(cache.values(), default=0)) >= 2**62:
        raise InvalidOption(
            f"unit is {unit.resource}, of which a job of {log.name} holds "
            f"{unit.count(f'{most / unit.parts:.3g}')}; correct it, or leave it out"
        )
    width = np.array([cache[id(amounts)] for amounts in log.resources], dtype=np.int64)
    waiting = [(job, unit.whole(job.resources)) for job in log.waiting]
    holding = np.flatnonzero(width > 0)
    if not len(holding):
        gpus = unit.resource.startswith(GPU) and not log.queues
        cure = ". They need AccountingStorageTRES=gres/gpu in slurm.conf" * gpus
        raise InvalidOption(
            f"unit is {unit.resource}, of which no job of {log.name} held any; the file has: "
            f"{shortened(', '.join(sorted(summed(log.resources))) or 'no AllocTRES')}{cure}"
        )
    numbers = [*width[holding].tolist(), *(wide for _, wide in waiting), *brought]
    # at most one of the unit, so that shares can divide what there is
    whole = grain = gcd(unit.parts, *numbers)  # 2. Widths in a common unit.
    grain *= max(1, -(-max(sum(brought), most) // (MOST_UNITS * grain)))
    rounded = -(-width[holding] // grain)
    notes = []  # 3. Notes on jobs left out, types and rounding.
    if without := len(width) - len(holding):
        accounts = Counter(log.groups[g] for g in log.group[width == 0].tolist())
        who = ", ".join(f"{number} of {name}" for name, number in accounts.most_common(3))
        notes.append(
            f"jobs that hold no {unit.noun}: {without} of {len(width)} are left out ({who})"
        )
    types = Counter(_type_of(amounts) for amounts in log.resources)
    if unit.resource == GPU and len(names := [name for name in types if name]) > 1:
        shown = ", ".join(f"{name} {types[name]}" for name in sorted(names)[:4])
        notes.append(
            f"types of GPU are not seen ({len(names)}: {shown}): a wait for one counts as a wait "
            "for any; judge one with --unit gpu:TYPE"
        )
    if unit.resource.startswith(f"{GPU}:") and types["-"]:
        notes.append(f"jobs whose GPUs have no type in the log: {types['-']}, among those left out")
    if grain > whole:
        exact, run = width[holding].astype(float), log.run[holding]
        more = float(((rounded * float(grain) - exact) @ run) / (exact @ run))
        notes.append(
            f"amounts are rounded up to {float(Fraction(grain, unit.parts)):.3g} {unit.noun}; the "
            f"work of all jobs is {100 * more:.2g} % larger by that"
        )
    judged = replace(
        of_jobs(log, holding), processors=rounded, last=log.over,
        unit=replace(unit, size=Fraction(grain, unit.parts)),
        waiting=tuple(replace(job, processors=-(-wide // grain)) for job, wide in waiting if wide),
    )  # fmt: skip
    return judged, notes


def in_machines(unit: Unit, amounts: Amounts) -> int:
    """Amounts of resources as a number of machines of the instance, rounded up."""
    return -int(-Fraction(unit.whole(amounts), unit.parts) / unit.size // 1)


def _type_of(amounts: Amounts) -> str:
    """Type of a job's GPUs, "-" for GPUs of no type; "" without GPUs."""
    typed = [name for name in amounts if name.startswith(f"{GPU}:")]
    return typed[0].removeprefix(f"{GPU}:") if typed else "-" * (amount_of(amounts, GPU) > 0)
