"""Audit of a real cluster's accounts, window by window: who is owed how much, and why.

Debts are in core hours, or hours of another unit: what is owed, in core hours times hours, over
half the window's hours, as a core hour at a moment drawn evenly from the window is worth that much
at its end. So many core hours more, spread evenly over the window, would have paid the debt.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt

from ...instances.problem.errors import InvalidFile, InvalidInstance, InvalidOption
from ...instances.problem.files import read
from ...instances.problem.option_types import Between, validate_options
from ...instances.problem.reading import parse_any_json, read_text
from ...instances.problem.settings import with_settings
from ...instances.problem.tables import PathLike
from ...instances.scheduling import Schedule, Scheduling, check, schedule_of
from ...instances.scheduling.accounts import Accounts, Source, waits
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.log import Log, Settings, Window, window
from ...instances.scheduling.units import Unit
from ...solvers.scheduling.shapley_schedule import affordable
from ..report.picture import Chart, Series
from ..run.result import Result, fingerprint
from ..run.verify_result import read_answer
from .audit import FAIRLY, Audit, Judging, audit
from .causes import Alone, Cause, Flows, alone, flows

Floats = npt.NDArray[np.float64]

HOUR = 3600
_SPANS = {"h": HOUR, "d": 86_400, "w": 604_800, "day": 86_400, "week": 604_800}

_TIES_WORK = 4e8
"""Steps of REF, or jobs served, that all orders of ties together may take: a few seconds."""

_REF_WORK = 2e9
"""3^organizations times jobs of all windows, at most, for which REF is played: about a minute."""

UNIT = "a unit of the instance's time is taken for a second, a machine for a core"


@dataclass(frozen=True, eq=False)
class Fairness:
    """Results of the audit of a cluster's accounts, by window.

    Attributes
    ----------
    found : the log and its organizations.
    audits : of each window with jobs, in order.
    empty : windows without a job.
    spread : (k,) how far the order of jobs released at one moment, and of organizations, moves the
        debts; None where it was not tried [core hours].
    """

    found: Accounts
    audits: tuple[Audit, ...]
    empty: int
    spread: Floats | None

    @property
    def unit(self) -> Unit:
        """Unit that the audit counts on machines, such as cores; "core hours" are hours of it."""
        return self.found.unit

    def hours(self, seconds: Floats | float) -> Any:
        """Convert machine seconds to hours of the counted unit, such as core hours."""
        return seconds * (float(self.unit.size) / HOUR)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the organizations."""
        return self.audits[0].instance.names

    @property
    def machines(self) -> Integers:
        """Number of machines (k,) that each organization contributes."""
        return self.audits[0].instance.machines

    @property
    def given(self) -> Mapping[str, Fraction]:
        """Shares of the organizations as given, in any unit; numbers of machines if none were."""
        machines = dict(zip(self.names, map(Fraction, self.machines.tolist()), strict=True))
        return self.found.settings.shares or machines

    @cached_property
    def shares(self) -> Floats:
        """Fraction (k,) of all machines that each organization contributes, as given."""
        exact = np.array([float(self.given.get(name, 0)) for name in self.names])
        shares: Floats = exact / exact.sum()
        return shares

    @cached_property
    def rounding(self) -> float:
        """Largest error from rounding a coalition's shares of machines to integers, over all the
        time. Beyond 16 organizations it is that of single organizations only [core hours].
        """
        grain = np.gcd.reduce(np.concatenate([each.instance.width for each in self.audits]))
        k = len(self.names)
        inside = (np.arange(1 << k)[:, None] >> np.arange(k)) & 1 if k <= 16 else np.eye(k)
        own = np.array([self.machines, self.shares * self.machines.sum()]) / grain
        played, given = np.floor(inside @ own.T + 1e-6).T
        off = grain * np.abs(played - given).max()
        return float(self.hours(off * sum(each.instance.horizon for each in self.audits)))

    @cached_property
    def owed(self) -> Floats:
        """What each organization is owed, shape (k,); below 0 what it owes [core hours]."""
        debts: Floats = self.course[-1]
        return debts

    @cached_property
    def course(self) -> Floats:
        """Debt `owed` after each window, accumulated, shape (windows, k)."""
        hours = np.cumsum([in_core_hours(each) for each in self.audits], axis=0)
        return hours * float(self.unit.size)

    @cached_property
    def work(self) -> Floats:
        """Work done for each organization (k,) [core hours]."""
        hours: Floats = self.hours(np.sum([each.work for each in self.audits], axis=0))
        return hours

    @cached_property
    def error(self) -> Floats:
        """Largest sampling error (k,) of the debts, at 0.95 for each window [core hours]."""
        return self._summed("error")

    @cached_property
    def bound(self) -> Floats:
        """Bound (k,) on the sampling error of the debts without assumptions [core hours]."""
        return self._summed("bound")

    def _summed(self, name: str) -> Floats:
        hours: Floats = float(self.unit.size) * np.sum(
            [_hours(getattr(each, name), each.instance.horizon) for each in self.audits], axis=0
        )
        return hours

    @property
    def share_owed(self) -> float:
        """Sum of all positive debts over all work, 0 without work: for `fail_above`."""
        work = float(self.work.sum())
        return float(np.maximum(self.owed, 0).sum()) / work if work else 0.0

    @cached_property
    def delay(self) -> Floats:
        """Mean delay (k,) in hours of each organization's core hours: above 0 they came too late,
        below 0 too early; 0 without work.
        """
        late = self.hours(np.sum([each.owed[:, -1] for each in self.audits], axis=0)) / HOUR
        mean: Floats = np.divide(late, self.work, out=np.zeros_like(late), where=self.work > 0)
        return mean

    @cached_property
    def flows(self) -> tuple[Flows, ...]:
        """Flows of processor time between the organizations, for each window."""
        return tuple(flows(each.judged) for each in self.audits)

    @cached_property
    def alone(self) -> list[Alone]:
        """List with the work and mean wait of each organization, in the log and on its own machines
        alone, over all windows.
        """
        tables = [alone(each.judged) for each in self.audits]
        jobs = [
            np.bincount(each.instance.organization, each.instance.width, len(self.names))
            for each in self.audits
        ]
        total = np.maximum(np.sum(jobs, axis=0), 1)
        return [
            Alone(
                sum(table[u].work for table in tables),
                sum(table[u].work_alone for table in tables),
                sum(table[u].wait * n[u] for table, n in zip(tables, jobs, strict=True)) / total[u],
                sum(table[u].wait_alone * n[u] for table, n in zip(tables, jobs, strict=True))
                / total[u],
            )
            for u in range(len(self.names))
        ]

    def causes(self, organization: int, number: int = 3) -> list[Cause]:
        """Largest causes of an organization's debt over all windows, with the jobs concerned."""
        owed = bool(self.owed[organization] > 0)
        sums: dict[tuple[Any, int, int], list[Cause]] = {}
        for each in self.flows:
            for cause in each.largest(organization, owed, 2 * len(self.names)):
                sums.setdefault((cause.kind, cause.loser, cause.gainer), []).append(cause)
        largest = [
            Cause(
                *key, sum(c.amount for c in causes),
                _most(job for c in causes for job in c.waited),
                _most(job for c in causes for job in c.ran),
            )
            for key, causes in sums.items()
        ]  # fmt: skip
        largest.sort(key=lambda cause: (-cause.amount, cause.kind == "lent"))
        return largest[:number]

    def picture(self) -> Chart:
        """Chart of the debts over time."""
        first = self.audits[0]
        times, rows = [0.0], [np.zeros(len(self.names))]
        paid = np.zeros(len(self.names))
        for each in self.audits:
            offset = each.judged.begin - first.judged.begin
            moments = each.times.tolist() if len(self.audits) == 1 else [each.instance.horizon]
            for place, moment in zip(range(-len(moments), 0), moments, strict=True):
                times.append(offset + moment)
                debts = _hours(each.owed[:, place], each.instance.horizon)
                rows.append(paid + float(self.unit.size) * debts)
            paid = rows[-1]
        table = np.array(rows)
        last = [f"{name} {debt:+,.0f}" for name, debt in zip(self.names, paid, strict=True)]
        label, x, dated = "hours", tuple(time / HOUR for time in times), self.found.log.dated
        if dated:
            label, x = "date (UTC)", tuple(float(first.judged.begin + time) for time in times)
        return Chart(
            "owed-over-time",
            "Who is owed what over time",
            label,
            f"owed [{self.unit.hours}]",
            tuple(
                Series(name, x, tuple(table[:, u].tolist())) for u, name in enumerate(self.names)
            ),
            "What each account is owed over time; below 0 it owes. At the end, in "
            f"{self.unit.hours}: {', '.join(last)}.",
            x_scale="time" if dated else "linear",
            note="Debts sum to 0 at any time.",
        )

    def document(self) -> dict[str, Any]:
        """Return the audit of a cluster's accounts as JSON values."""
        hours = self.unit.key  # 1. Names, shares and debts; 2. causes and waits; 3. notes.
        return {
            "accounts": list(self.names),
            "unit": self.unit.resource,
            "unit_of_a_machine": float(self.unit.size),
            self.unit.plural: (self.machines * float(self.unit.size)).tolist(),
            f"{self.unit.plural}_from": self.found.machines_from,
            "shares_from": self.found.shares_from,
            "shares": self.shares.tolist(),
            "said": {what: dict(said) for what, said in self.found.said.items()},
            f"work_{hours}": self.work.tolist(),
            f"owed_{hours}": self.owed.tolist(),
            f"order_of_ties_{hours}": None if self.spread is None else self.spread.tolist(),
            f"sampling_error_{hours}": self.error.tolist(),
            f"sampling_bound_{hours}": self.bound.tolist(),
            f"rounding_{hours}": self.rounding,
            "share_owed": self.share_owed,
            "mean_delay_hours": self.delay.tolist(),
            "causes": {
                name: [self._cause(cause) for cause in self.causes(u)]
                for u, name in enumerate(self.names)
            },
            "alone": {
                name: {
                    f"work_{hours}": self.hours(each.work),
                    f"work_alone_{hours}": self.hours(each.work_alone),
                    "mean_wait_hours": each.wait / HOUR,
                    "mean_wait_alone_hours": each.wait_alone / HOUR,
                }
                for name, each in zip(self.names, self.alone, strict=True)
            },
            "waiting": {
                name: {
                    "jobs": jobs,
                    self.unit.plural: cpus * float(self.unit.size),
                    f"waited_{hours}": self.hours(waited),
                }
                for name, (jobs, cpus, waited) in waits(self.found).items()
            },
            "empty_windows": self.empty,
            "windows": [each.document() for each in self.audits],
            "notes": list(self.found.notes),
            "bad_lines": list(self.found.log.bad),
        }

    def job(self, place: int) -> str:
        """Name of a job, or its index in the log where it has none."""
        jobs = self.found.log.jobs
        return jobs[place] if jobs else f"#{place + 1}"

    def _cause(self, cause: Cause) -> dict[str, Any]:
        def named(jobs: tuple[tuple[int, float], ...]) -> dict[str, float]:
            return {self.job(place): self.hours(amount) for place, amount in jobs}

        return {
            "kind": cause.kind,
            "from": self.names[cause.loser],
            "to": self.names[cause.gainer],
            self.unit.key: self.hours(cause.amount),
            "waited": named(cause.waited),
            "ran": named(cause.ran),
        }


@validate_options
@with_settings()
def fairness(
    path: PathLike,
    source: Source | None = None,
    *,
    schedule: PathLike | None = None,
    windows: str = "all",
    judging: Judging = FAIRLY,
    ties: Annotated[int, Between(0, 100)] = 4,
) -> Fairness:
    """Read a cluster's files and audit its schedule window by window; or audit a schedule of an
    instance, which is one window with a second for each unit of time.

    Jobs in the system at a window's begin are in it, see `log.Settings.initial`.

    Parameters
    ----------
    source : see `Source`.
    schedule : path of an answer to the instance that `path` is, see `given.given_window`.
    windows : "all"; "day", "week" or a span such as 12h, 7d, 2w: one after the other from the first
        job to the end of the export; or BEGIN/END as dates (2026-11-01, 2026-11-01T12:00:00) or as
        seconds of the log.
    judging : see `Judging`; the points are of each window.
    ties : orders of jobs released at one moment that are tried besides the file's, where they take
        seconds.

    Raises
    ------
    InvalidOption
        No such window; see `Source.read` for the files.
    InvalidInstance
        No window has a job; machines of an instance differ in speed.
    """
    if schedule is not None:
        if source not in (None, Source()) or windows != "all":
            raise InvalidOption(
                "an instance says itself who brings what and when jobs are released; the options "
                "of a log are not for it, only reference and orderings"
            )
        return _of_given(given_window(path, schedule), judging, ties)
    accounts = (source or Source()).read(path)
    spans = _spans(windows, accounts.log)
    accounts = accounts.cut(max(length for _, length in spans))
    audits, empty = _audits(accounts.log, accounts.settings, spans, judging)
    if not audits:
        raise InvalidInstance(
            "window", repr(windows), "a window in which jobs wait or run",
            f"The log's jobs are from {moment(accounts.log, accounts.log.begin)} to "
            f"{moment(accounts.log, accounts.log.over)}",
        )  # fmt: skip
    size = float(accounts.unit.size)
    spread = _spread(audits, ties, size) if ties else None
    return Fairness(accounts, tuple(audits), empty, spread)


def in_core_hours(each: Audit) -> Floats:
    """Debt (k,) to each organization at the end of a window, in hours of its machines."""
    return _hours(each.owed[:, -1], each.instance.horizon)


def moment(log: Log, second: int) -> str:
    """Date and time of a second of the log, as text."""
    if not log.dated:
        return f"second {second}"
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _hours(values: Floats, horizon: int) -> Floats:
    return values * (2 / horizon / HOUR)


def _most(jobs: Any) -> tuple[tuple[int, float], ...]:
    """The three largest jobs of a list in which jobs may occur several times."""
    total: dict[int, float] = {}
    for place, amount in jobs:
        total[place] = total.get(place, 0.0) + amount
    return tuple(sorted(total.items(), key=lambda entry: (-entry[1], entry[0]))[:3])


def _audits(
    log: Log, settings: Settings, spans: list[tuple[int, int]], judging: Judging
) -> tuple[list[Audit], int]:
    """Audits of the windows with jobs, and the number of windows without. Where REF would take
    minutes in total, all coalitions are served first in, first out.
    """
    windows = []
    for begin, length in spans:
        try:
            judged = window(log, replace(settings, begin=begin, length=length))
        except InvalidInstance as error:
            if error.field != "window":
                raise
            continue
        windows.append(judged)
    work = sum(3.0**each.instance.organizations * each.instance.jobs for each in windows)
    auto = judging.reference == "auto"
    if auto and work > _REF_WORK and all(affordable(each.instance) for each in windows):
        judging = replace(judging, reference="FIFO")
    return [audit(judged, judging=judging) for judged in windows], len(spans) - len(windows)


def _of_given(judged: Window, judging: Judging, ties: int) -> Fairness:
    """Audit of an instance's schedule, read as a log so that jobs have names and times."""
    instance = judged.instance
    order = np.argsort(instance.release, kind="stable")
    release = instance.release[order]
    log = Log(
        name=instance.name, submit=release, eligible=release,
        wait=np.where(judged.start >= 0, judged.start - instance.release, -1)[order],
        run=instance.processing[order], processors=instance.width[order],
        user=instance.organization[order], users=instance.names,
        group=instance.organization[order], groups=instance.names,
        jobs=tuple(map(str, order.tolist())), last=instance.horizon,
    )  # fmt: skip
    accounts = Accounts(
        log, Settings(by="account"), "the instance", "the instance", (UNIT,), "organization"
    )  # fmt: skip
    audits = [audit(replace(judged, job=np.argsort(order)), judging=judging)]
    return Fairness(accounts, tuple(audits), 0, _spread(audits, ties) if ties else None)


def _spread(audits: list[Audit], number: int, size: float = 1.0) -> Floats | None:
    """Largest change (k,) of each debt by other orders of ties; None where too slow."""
    steps = {"REF": 3, "FIFO": 2}
    if any(each.reference == "RAND" for each in audits):
        return None
    if (
        number * sum(steps[a.reference] ** len(a.work) * a.instance.jobs for a in audits)
        > _TIES_WORK
    ):
        return None
    spread = np.zeros(len(audits[0].work))
    rng = np.random.default_rng(0)
    for _ in range(number):
        moved = np.zeros_like(spread)
        for each in audits:
            order = rng.permutation(len(spread))
            at_end = Judging(each.reference, points=1)
            shuffled = audit(_reordered(each.judged, order, rng), judging=at_end)
            moved += in_core_hours(shuffled)[order] - in_core_hours(each)
        spread = np.maximum(spread, size * np.abs(moved))
    return spread


def _reordered(judged: Window, order: Integers, rng: np.random.Generator) -> Window:
    """Copy of a window that puts organization u at index order[u], and shuffles jobs that are
    released at one moment; jobs present at its begin keep their order.
    """
    instance = judged.instance
    names = judged.job if len(judged.job) else np.arange(instance.jobs)
    _, of = np.unique(names, return_inverse=True)
    key = np.where(instance.release > 0, rng.permutation(int(of.max()) + 1)[of], 0)
    listed = np.lexsort((np.arange(instance.jobs), key, instance.release))
    back = np.argsort(order)
    moved: Scheduling = instance.replace(
        machines=instance.machines[back],
        organization=order[instance.organization[listed]],
        release=instance.release[listed],
        processing=instance.processing[listed],
        processors=None if instance.processors is None else instance.processors[listed],
        names=tuple(instance.names[u] for u in back),
    )
    return Window(moved, judged.start[listed], judged.begin, names[listed])


def _spans(text: str, log: Log) -> list[tuple[int, int]]:
    """Pairs (begin, length) of the windows."""
    first, over = log.begin, log.over
    if text == "all":
        return [(first, over - first)]
    if "/" in text:
        begin, end = (_second(part.strip(), log) for part in text.split("/", 1))
        if not begin < end:
            raise InvalidOption(f"window is {text!r}; expected BEGIN/END with BEGIN before END")
        if begin >= over or end <= first:
            raise InvalidOption(
                f"window is {text!r}; the log's jobs are from {moment(log, first)} to "
                f"{moment(log, over)}"
            )
        return [(begin, min(end, over) - begin)]
    parts = re.fullmatch(r"([0-9]{1,6})?(h|d|w|day|week)", text)
    length = int(parts[1] or 1) * _SPANS[parts[2]] if parts else 0
    if length < 1:
        expected = "all, day, week, a span such as 12h or 7d, or BEGIN/END"
        raise InvalidOption(f"window is {text!r}; expected {expected}")
    return [(begin, min(length, over - begin)) for begin in range(first, over, length)]


def _second(text: str, log: Log) -> int:
    if text.isdecimal() and len(text) < 16:
        return int(text)
    if log.dated:
        try:
            return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp())
        except ValueError:
            pass
    expected = "a date such as 2026-11-01 or seconds" if log.dated else "seconds of the log"
    raise InvalidOption(f"window has {text!r}; expected {expected}")


def given_window(path: PathLike, schedule: PathLike) -> Window:
    """Make a window to be audited from an instance and its schedule.

    Parameters
    ----------
    path : of an instance, or its bundled name.
    schedule : path of the answer: a result, a solution as a result has it, or {"start": [...]}, the
        start of each job, -1 for none.

    Raises
    ------
    InvalidFile
        One of the files is not what it should be, or they do not belong together.
    InfeasibleSolution
        The schedule breaks a rule of the instance.
    """
    instance, where = read(path, Scheduling), os.fspath(schedule)
    title = f"the schedule of {where}"
    content = parse_any_json(read_text(schedule), schedule)
    if isinstance(content, dict) and "start" in content:
        start = content["start"]
        integers = isinstance(start, list) and all(type(entry) is int for entry in start)
        if not integers or len(start) != instance.jobs or max(map(abs, start)) >= 2**62:
            raise InvalidFile(
                f"{where}: start is not a list of {instance.jobs} integers, one for each job, -1 "
                "for none"
            )
        answer = schedule_of(instance, np.array(start, dtype=np.int64))
    else:
        found = read_answer(instance, where)
        if isinstance(found, Result):
            if found.problem != "scheduling" or found.fingerprint != fingerprint(instance):
                raise InvalidFile(
                    f"{where} is a result on {found.problem} {found.instance!r}, another instance "
                    f"than {instance.name!r}, or of other content; solve again with --out"
                )
            title = f"{title}, found by {found.method}"
            found = found.solution
        if not isinstance(found, Schedule):
            raise InvalidFile(f"{where} has no schedule; expected a result with one")
        answer = found
    check(instance, answer)
    return Window(instance, answer.start, 0, title=title)
