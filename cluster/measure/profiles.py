"""Profiles of jobs from a store: penalties with intervals, failures, and the colocation instance,
also updated while a queue runs.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from ...analysis.report.table import Column, Table
from ...instances.colocation.instance import LEAST_PENALTY, Colocation
from ...instances.colocation.missing import computed_penalty
from ...instances.problem.errors import InvalidFile, InvalidOption
from ...instances.problem.option_types import Above, validate_options
from .settings import Time
from .statistics import (
    CONTROL,
    Cell,
    Estimates,
    Observations,
    Voids,
    estimate_penalties,
    jackknife_plus,
)
from .store import Failed, Store, StoredMeasurement, opened

BLOCK = 6
"""Columns of the matrix that stand beside each other in 80 letters."""

LONGEST_NAME = 14
"""Letters of a job's name that the matrix shows."""


@dataclass(frozen=True)
class JobProfiles:
    """Profiles of the jobs of a store's last command.

    Attributes
    ----------
    names, counts, bandwidth : of the jobs, in the matrix's order.
    estimates : estimates of every measured entry.
    seen : the looks behind them.
    voids : pairs that failed twice in their last round, with the reason.
    surroundings : visits by state, and the pressure under which they ran.
    facts : of the machine.
    settings : of the last command.
    stop : why it ended; "" while it runs or after it was killed.
    """

    names: tuple[str, ...]
    counts: tuple[int, ...]
    bandwidth: tuple[float, ...] | None
    estimates: Estimates
    seen: Observations
    voids: Voids
    surroundings: dict[str, float | None]
    facts: dict[str, str]
    settings: dict[str, Any]
    stop: str

    def instance(
        self,
        voids: Literal["forbid", "predict"] | None = None,
        name: str = "measured",
        machines: float | None = None,
    ) -> Colocation:
        """Colocation instance with penalties and intervals.

        Parameters
        ----------
        voids : what pairs that failed twice mean: they may not share, or they are like the others.
        machines : how many there are; just enough when not given. An odd number of agents gets one
            more than pairs: one job may run alone.

        Raises
        ------
        InvalidOption
            Pairs failed and `voids` does not say what they mean; or no pair was measured.
        """
        # 1. Which entries are measured, forbidden, or to be predicted.
        found, names, counts = self.estimates, self.names, np.array(self.counts)
        if self.voids and voids is None:
            (a, c), reason = next(iter(self.voids.items()))
            raise InvalidOption(
                f"{names[a]} beside {names[c]} failed twice ({reason}), and {len(self.voids) - 1} "
                "more pairs did. Set voids to forbid if they must not share a machine, or to "
                "predict, which predicts them from the other pairs"
            )
        known = found.known
        if not known.any():
            raise InvalidOption("no pair was measured in two rounds yet; measure more rounds")
        forbidden = np.zeros(known.shape, dtype=bool)
        for a, c in self.voids if voids == "forbid" else ():
            forbidden[a, c] = forbidden[c, a] = True
        predicted = ~known & ~forbidden & ~np.diag(counts < 2)  # of a lone job nobody is beside it
        # 2. Predictions, with intervals of their own.
        middle, low, high = (
            np.where(known, part[:, :CONTROL], 0.0) for part in (found.mid, found.low, found.high)
        )
        ends = (LEAST_PENALTY, 1.0)
        words = f"Student's t, Bonferroni over {known.size} entries"
        if predicted.any():
            middle, low, high = jackknife_plus(middle, known, found.confidence, (low, high), ends)
            words = (
                f"measured ones hold together with {100 * found.confidence:.12g} % ({words}); "
                f"{predicted.sum()} predicted ones with about that each by itself (jackknife+)"
            )
        middle, low, high = (
            np.where(forbidden, np.inf, computed_penalty(part))
            for part in (middle, np.maximum(low, ends[0]), high)
        )
        # 3. The instance, and where it comes from.
        if machines is None and counts.sum() % 2:
            machines = float(counts.sum() + 1) / 2
        rounds = found.samples[found.samples > 0]
        span = f", {rounds.min()} to {rounds.max()} rounds"
        return Colocation(
            penalty=middle,
            count=counts,
            bandwidth=None if self.bandwidth is None else np.array(self.bandwidth, dtype=float),
            names=names,
            machines=machines,
            low=low,
            high=high,
            looks=np.where(known, found.samples[:, :CONTROL], 0),
            confidence=None if predicted.any() else found.confidence,
            intervals=words,
            name=name,
            source=f"cotenant measure on {self.facts.get('processor', 'a machine')}, "
            f"{self.settings['time']} seconds{span}",
        )

    def document(self) -> dict[str, Any]:
        """Convert the profiles of jobs to plain JSON values."""
        found, jobs = self.estimates, range(len(self.names))

        def entry(a: int, c: int) -> dict[str, Any]:
            return {
                "job": self.names[a],
                "beside": None if c == CONTROL else self.names[c],
                "penalty": float(found.mid[a, c]),
                "low": float(found.low[a, c]),
                "high": float(found.high[a, c]),
                "looks": int(found.samples[a, c]),
                "deviation": float(found.deviation[a, c]),
            }

        return {
            "jobs": [
                {"name": self.names[a], "count": self.counts[a], "alone": self._alone(a)}
                for a in jobs
            ],
            "penalties": [entry(a, c) for a in jobs for c in jobs if found.samples[a, c]],
            "controls": [entry(a, CONTROL) for a in jobs if found.samples[a, CONTROL]],
            "voids": [
                {"job": self.names[a], "beside": self.names[c], "reason": why}
                for (a, c), why in self.voids.items()
            ],
            "confidence": found.confidence,
            "surroundings": self.surroundings,
            "machine": self.facts,
            "settings": self.settings,
            "stop": self.stop,
        }

    def tables(self) -> list[Table]:
        """Tables of the matrix of penalties, in blocks of columns, and a table of the jobs."""
        columns = [*range(len(self.names)), CONTROL]
        starts = range(0, len(columns), BLOCK)
        return [*(self._block(columns[k : k + BLOCK]) for k in starts), self._jobs()]

    def _block(self, columns: Sequence[int]) -> Table:
        """Table of some columns of the penalty matrix."""
        names = ("control" if c == CONTROL else f"{c + 1}" for c in columns)
        head = [Column("job"), *(Column(name, numeric=True) for name in names)]
        rows = tuple(
            (f"{a + 1} {_short(name)}", *(self._cell(a, c) for c in columns))
            for a, name in enumerate(self.names)
        )
        title = "points of throughput lost beside, +- half of the interval"
        notes: tuple[str, ...] = ()
        if columns[-1] == CONTROL:
            notes = (
                f"All measured intervals hold together with {100 * self.estimates.confidence:.12g} "
                f"% (Student's t, Bonferroni over {len(self.names) ** 2} entries), in "
                f"{self.settings['time']} seconds. - not measured in two rounds.",
            )
        return Table("penalties", title, tuple(head), rows, notes=notes)

    def _jobs(self) -> Table:
        """Table of the jobs: seconds of a run alone, and the fewest measurements beside any other
        job.
        """
        rows = []
        for a, name in enumerate(self.names):
            looks = self.estimates.samples[a, :CONTROL]
            alone = self._alone(a)
            seconds = (alone, "-" if alone is None else f"{alone:.3g}")
            rows.append((f"{a + 1} {_short(name)}", seconds, int(min(looks[looks > 0], default=0))))
        columns = (
            Column("job"),
            Column("alone s", numeric=True),
            Column("looks, least", numeric=True),
        )
        return Table("jobs", "", columns, tuple(rows), notes=self._notes())

    def _notes(self) -> tuple[str, ...]:
        around = self.surroundings
        states = ", ".join(f"{around[name]:.0f} {name}" for name in ("ok", "busy", "failed"))
        middle, most = around["median pressure"], around["most pressure"]
        pressed = (
            "no pressure is told"
            if middle is None or most is None
            else f"pressure {middle:.2f} in the median, {most:.2f} at most"
        )
        notes = [
            f"Runs: {states}; {pressed} (busy above {self.settings['pressure']:g}).",
            f"Machine: {self.facts.get('processor', '')}, seats {self.facts.get('seats', '')}, "
            f"which share {self.facts.get('shared', 'nothing known')}.",
        ]
        low, high = self.estimates.low[:, CONTROL], self.estimates.high[:, CONTROL]
        if lost := [self.names[a] for a in np.flatnonzero((low > 0) | (high < 0))]:
            notes.append(
                f"Beside the control, which only spins, {', '.join(lost)} lost or gained: "
                "neighbors are not all that costs; the host is busy, cores are shared, or clocks "
                "drop."
            )
        notes += [
            f"Failed twice: {self.names[a]} beside {self.names[c]}: {why}"
            for (a, c), why in self.voids.items()
        ]
        return tuple(notes)

    def _cell(self, a: int, c: int) -> Any:
        found = self.estimates
        if not found.samples[a, c]:
            return (None, "void" if (min(a, c), max(a, c)) in self.voids else "-")
        middle, half = float(found.mid[a, c]), 100 * found.half[a, c]
        return (middle, f"{100 * middle:.1f}±{f'{half:.1f}' if half < 100 else '>99'}")

    def _alone(self, job: int) -> float | None:
        """Median run time of a job alone in seconds; None if unknown."""
        times = sorted(time for _, time in self.seen.alone[job].values())
        return times[len(times) // 2] if times else None


@validate_options
def profiles(
    store: str | os.PathLike[str],
    *,
    time: Time | None = None,
    confidence: Annotated[float | None, Above(0, most=0.9999)] = None,
) -> JobProfiles:
    """Read the profiles of the jobs of a store's last command.

    Parameters
    ----------
    time, confidence : as for `measure`; the last command's when not given.

    Raises
    ------
    InvalidFile
        It is missing, none of ours, of another version, or holds no measurement.
    """
    with opened(store) as rows:
        return profile_of(rows, time=time, confidence=confidence)


def profile_of(
    rows: Store, *, time: Time | None = None, confidence: float | None = None
) -> JobProfiles:
    """Read the penalties and run times of jobs from an open store; see `profiles`."""
    machine, settings, stop = rows.last_session()
    if not settings["names"]:
        raise InvalidFile(f"{rows.path} names no jobs")
    settings = settings | ({"time": time} if time else {})
    index_of = {job: at for at, job in enumerate(settings["jobs"])}
    named = {name: at for at, name in enumerate(settings["names"])}
    others = {row: named[name] for row, name in rows.names().items() if name in named}
    seen = Observations(settings["jobs"], settings["time"], others)
    looks = rows.looks(machine)
    for look in [*looks, *rows.produced(machine)]:
        seen.add(look)
    good = {(look.jobs, look.kind): look.begin for look in looks}
    loads = settings["bandwidth"]
    return JobProfiles(
        names=tuple(settings["names"]),
        counts=tuple(settings["counts"]),
        bandwidth=None if None in loads else tuple(loads),
        estimates=estimate_penalties(seen, confidence or settings["confidence"]),
        seen=seen,
        voids=_voids(rows.failed(machine), index_of, good),
        surroundings=rows.surroundings(machine),
        facts=rows.facts(machine),
        settings=settings,
        stop=stop,
    )


def _voids(
    failed: list[Failed], index_of: dict[int, int], good: dict[tuple[tuple[int, ...], str], float]
) -> dict[Cell, str]:
    """Pairs of jobs (and jobs alone) that failed twice in a round and not succeeded since, with
    why.
    """
    times = Counter(visit[:4] for visit in failed)
    voids: dict[Cell, str] = {}
    for first, second, kind, number, reason, begin in failed:
        if times[first, second, kind, number] < 2 or kind == "control" or first not in index_of:
            continue
        jobs = (first,) if second is None else (first, second)
        if good.get((jobs, kind), 0.0) > begin:
            continue
        if kind == "alone":
            others = [(index_of[first], other) for other in index_of.values()]
        elif second in index_of:
            others = [(index_of[first], index_of[second])]
        else:
            continue
        voids |= {(min(pair), max(pair)): reason for pair in others}
    return voids


def _short(name: str) -> str:
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 3]}..."


class Predictor:
    """Preference predictor: estimates of penalties, updated with every measurement.

    Parameters
    ----------
    profile : of the store.
    voids : what pairs that failed twice mean.
    """

    def __init__(
        self, profile: JobProfiles, voids: Literal["forbid", "predict"] | None = None
    ) -> None:
        self._profile, self._voids = profile, voids
        self._instance: Colocation | None = None

    @property
    def seen(self) -> Observations:
        """Observations on which the estimates are based."""
        return self._profile.seen

    def add(self, look: StoredMeasurement) -> None:
        """Add a measurement to those that the predicted penalties are based on."""
        self.seen.add(look)
        self._instance = None

    def instance(self) -> Colocation:
        """Colocation instance of the estimates with their intervals: two jobs of each type, and one
        machine for each type.
        """
        if self._instance is None:
            profile = self._profile
            types, confidence = len(profile.names), profile.estimates.confidence
            now = replace(
                profile, counts=(2,) * types, estimates=estimate_penalties(self.seen, confidence)
            )
            self._instance = now.instance(self._voids, machines=2.0 * types)  # or beside nobody
        return self._instance
