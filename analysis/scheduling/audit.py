"""Judge a log's own schedule by the Shapley value: who contributed, who received, who is owed, over
time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
import numpy.typing as npt

from ...baselines.scheduling import fair_share, fifo, sample_orderings, validate_orderings
from ...baselines.scheduling.sampled import Orderings
from ...instances.problem.errors import InvalidInstance
from ...instances.problem.rules import AtLeast, Between, checked
from ...instances.scheduling import Scheduling, psi, utilities
from ...instances.scheduling.formats import read_accounting, read_swf
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.log import (
    Begin,
    By,
    Initial,
    Length,
    Machines,
    Settings,
    Window,
    window,
)
from ...instances.scheduling.split import Organizations
from ...instances.scheduling.utility import per_organization, units_done
from ...solvers.outcome import Stop
from ...solvers.scheduling.event_loop import simulate
from ...solvers.scheduling.plain import Reading
from ...solvers.scheduling.shapley import scale, scaled_shares
from ...solvers.scheduling.shapley_schedule import affordable, play_ref, reference_of
from ..report.table import Column, Table
from .metrics import unfairness

Floats = npt.NDArray[np.float64]
Moments = Annotated[int, Between(1, 1000)]


@dataclass(frozen=True, eq=False)
class Audit:
    """What the log's own schedule gave to whom.

    Attributes
    ----------
    instance : the window judged.
    times : (q,) moments of the window, the end last [s].
    received : (k, q) psi_sp of the log's schedule [unit-seconds].
    contributed : (k, q) phi: the Shapley value of the game whose coalitions schedule as `reference`
        says, the log's own schedule being that of all together; so phi and psi have one sum at
        every time [unit-seconds].
    work : (k,) machine time the log gave to each organization's jobs in the window [s].
    unfairness : schedule -> delta psi / p_tot against REF: the log's own, and two rules to compare
        with; empty for RAND.
    notes : what the numbers rest on.
    reference : "REF" or "RAND".
    """

    instance: Scheduling
    times: Integers
    received: Integers
    contributed: Floats
    work: Integers
    unfairness: dict[str, float]
    notes: tuple[str, ...]
    reference: str

    @property
    def owed(self) -> Floats:
        """(k, q) contributed minus received: what an organization is owed (above 0) or owes
        [unit-seconds].
        """
        return self.contributed - self.received

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "reference": self.reference,
            "window": self.instance.source,
            "organizations": list(self.instance.names),
            "machines": self.instance.machines.tolist(),
            "jobs": np.bincount(
                self.instance.organization, minlength=self.instance.organizations
            ).tolist(),
            "work": self.work.tolist(),
            "times": self.times.tolist(),
            "received": self.received.tolist(),
            "contributed": self.contributed.tolist(),
            "owed": self.owed.tolist(),
            "unfairness": self.unfairness,
            "notes": list(self.notes),
        }


@checked
def audit_file(
    path: str | os.PathLike[str],
    *,
    form: Literal["swf", "accounting-csv"] = "swf",
    begin: Begin | None = None,
    length: Length | None = None,
    organizations: Organizations = 5,
    machines: Machines | None = None,
    split: str = "zipf",
    initial: Initial = "warm",
    by: By = "user",
    mapping: str | None = None,
    assignment_seed: Annotated[int, AtLeast(0)] = 0,
    reference: Literal["auto", "REF", "RAND"] = "auto",
    reading: Reading = "figure",
    orderings: Orderings = 75,
    points: Moments = 6,
    seed_of_rand: Annotated[int, AtLeast(0)] = 0,
    time_limit: float | None = None,
) -> Audit:
    """Read a log and judge its schedule.

    Parameters
    ----------
    form : of the log; an accounting table must have sacct's column names.
    begin ... assignment_seed : the window and the organizations, see
        `instances.scheduling.log.Settings`; all of the log when no length is given.
    reference : how coalitions schedule: "REF", "RAND" (first in, first out, over sampled
        coalitions), or "auto": REF where it takes seconds.
    reading : of REF.
    orderings, seed_of_rand : RAND's N, and the seed of its orders.
    points : moments at which debts are shown, evenly spaced.
    time_limit : seconds for REF; when they are up RAND takes its place, which a note says.
    """
    settings = Settings(
        begin, length, organizations, machines, split, initial, by, mapping, assignment_seed
    )
    log = read_swf(path) if form == "swf" else read_accounting(path)
    dropped = tuple(
        f"{number} lines left out: {why}" for why, number in log.dropped.items() if number
    )
    return audit(
        window(log, settings), reference=reference, reading=reading, orderings=orderings,
        points=points,
        rng=np.random.default_rng(seed_of_rand), notes=dropped, time_limit=time_limit,
    )  # fmt: skip


@checked
def audit(
    judged: Window,
    *,
    reference: Literal["auto", "REF", "RAND"] = "auto",
    reading: Reading = "figure",
    orderings: Orderings = 75,
    points: Moments = 6,
    rng: np.random.Generator | None = None,
    notes: tuple[str, ...] = (),
    time_limit: float | None = None,
) -> Audit:
    """Judge the schedule a log had in a window; see `audit_file`."""
    instance, start = judged.instance, judged.start
    chosen = ("REF" if affordable(instance) else "RAND") if reference == "auto" else reference
    if chosen == "RAND" or time_limit is not None:
        validate_orderings(orderings, instance.organizations)
    longest = np.minimum(instance.processing, instance.horizon).astype(float)
    if (longest * (instance.horizon + 1.0)).sum() >= 2.0**62:
        raise InvalidInstance(
            "window", f"{instance.horizon} long with {instance.jobs} jobs",
            "utilities of the log's schedule that fit 64 bits",
            "Audit a shorter window",
        )  # fmt: skip
    times = np.unique(np.linspace(0, instance.horizon, points + 1).astype(np.int64)[1:])
    received = np.array(
        [per_organization(instance, psi(start, instance.processing, int(t))) for t in times]
    ).T
    distance: dict[str, float] = {}
    if chosen == "REF":
        played = play_ref(instance, reading=reading, samples=times, time_limit=time_limit)
        if played.stop is not Stop.FINISHED:
            chosen, notes = (
                "RAND",
                (
                    *notes,
                    f"REF was not done in {time_limit:g} s; coalitions are sampled instead (RAND)",
                ),
            )
    if chosen == "REF":
        contributed = _shapley(instance, played.masks, played.values, received)
        found = reference_of(played)
        if found.units:
            own = {"the log": received[:, -1]}
            own |= {
                rule.__name__: utilities(instance, rule(instance)) for rule in (fair_share, fifo)
            }
            distance = {
                name.replace("_", " "): unfairness(found, value) or 0.0
                for name, value in own.items()
            }
    else:
        contributed = _sampled(
            instance, received, times, orderings, rng or np.random.default_rng(0)
        )
    return Audit(
        instance=instance,
        times=times,
        received=received,
        contributed=contributed,
        work=per_organization(instance, units_done(start, instance.processing, instance.horizon)),
        unfairness=distance,
        notes=(*notes, *_notes(judged)),
        reference=chosen,
    )


def audit_tables(found: Audit) -> list[Table]:
    """Tables for people: the end of the window, debts over time, and how unfair the schedule
    was.
    """
    instance = found.instance
    count = np.bincount(instance.organization, minlength=instance.organizations)
    columns = (
        Column("organization", bold=True),
        Column("machines", numeric=True),
        Column("jobs", numeric=True),
        Column("machine time", "{:,}".format, numeric=True),
        Column("share", lambda value: f"{100 * value:.1f} %", numeric=True),
        Column("contributed", "{:.4g}".format, numeric=True),
        Column("received", "{:.4g}".format, numeric=True),
        Column("owed", "{:+.4g}".format, numeric=True),
        Column(
            "owed per unit of work",
            lambda value: "-" if value is None else f"{value:+.1f} s",
            numeric=True,
        ),
    )
    total = max(1, int(found.work.sum()))
    rows = []
    for u, name in enumerate(instance.names):
        owed, work = float(found.owed[u, -1]), int(found.work[u])
        contributed, received = float(found.contributed[u, -1]), float(found.received[u, -1])
        machines, jobs = int(instance.machines[u]), int(count[u])
        rows.append(
            (
                name,
                machines,
                jobs,
                work,
                work / total,
                contributed,
                received,
                owed,
                owed / work if work else None,
            )
        )
    title = f"{instance.name}: who contributed, who received ({found.reference})"
    caption = "contributed, received and owed in unit-seconds: a unit of work done is worth its age"
    balance = Table("audit-balance", title, columns, tuple(rows), caption)
    times = (
        Column(f"at {time} s", "{:+.4g}".format, numeric=True) for time in found.times.tolist()
    )
    debts = tuple(
        (name, *values) for name, values in zip(instance.names, found.owed.tolist(), strict=True)
    )
    notes = [f"note: {note}" for note in found.notes]
    if found.unfairness:
        words = ", ".join(f"{name} {value:.4g}" for name, value in found.unfairness.items())
        notes.insert(
            0,
            "unfairness, mean unjustified delay or speed-up of a unit of work against REF, "
            f"in seconds: {words}",
        )
    course = Table(
        "audit-debts",
        "owed, over time, in unit-seconds",
        (columns[0], *times),
        debts,
        notes=tuple(notes),
    )
    return [balance, course]


def _shapley(instance: Scheduling, masks: Integers, values: Integers, received: Integers) -> Floats:
    """(k, q) phi at each time, the log's utilities standing for the value of all together."""
    k = instance.organizations
    columns = []
    for place in range(received.shape[1]):
        by_mask = [0] * (1 << k)
        for mask, value in zip(masks.tolist(), values[:, place].tolist(), strict=True):
            by_mask[mask] = value
        by_mask[-1] = sum(received[:, place].tolist())
        columns.append([share / scale(k) for share in scaled_shares(by_mask, k)])
    return np.array(columns).T


def _sampled(
    instance: Scheduling,
    received: Integers,
    times: Integers,
    orderings: int,
    rng: np.random.Generator,
) -> Floats:
    """(k, q) phi estimated from random orders of joining, coalitions scheduling first in, first
    out.
    """
    sampling = sample_orderings([rng.permutation(instance.organizations) for _ in range(orderings)])
    values = simulate(instance, "RAND", sampling=sampling, samples=times).values[:-1].astype(object)
    everyone = sampling.masks.index((1 << instance.organizations) - 1)
    values[everyone] = received.sum(axis=0)
    return np.asarray(sampling.coefficients.astype(object) @ values / orderings, dtype=float)


def _notes(judged: Window) -> Iterator[str]:
    """What the numbers rest on: machines the log really used, and jobs whose start is not known."""
    instance, start = judged.instance, judged.start
    ran = start >= 0
    begin, end = start[ran], start[ran] + instance.processing[ran]
    times = np.concatenate([end, begin])
    change = np.concatenate([np.full(len(end), -1), np.full(len(begin), 1)])
    order = np.lexsort((change, times))
    peak = int(np.cumsum(change[order]).max(initial=0))
    if peak > instance.total_machines:
        yield (
            f"the log ran up to {peak} jobs at once, more than the {instance.total_machines} "
            "machines given: "
            "its schedule has an advantage over the reference"
        )
    late = int((~ran).sum())
    if late:
        yield (
            f"{late} of {instance.jobs} jobs were not started in the window, or the log "
            "does not say when"
        )
