"""What rules without memory, and rules that forget, say of the debts that the Shapley value says.

All of them look at one log: what each organization ran and had waiting, moment by moment.

now : dominant resource share, as Kueue counts it: at each moment what is in use is divided again,
    to each its own machines first and then what others leave, by weight. The debt is what it gives
    less what was had, summed over time; the past plays no part in it.
tree : fair tree, as Slurm counts it: use that is forgotten by half-lives, against shares. The debt
    is an organization's share of all use that is not forgotten, less its own.
dominant : the same of the resource of which an organization holds most (CPUs, memory, GPUs, as
    far as the files say how much there is).

Fair tree here is one level: accounts within accounts are as the log names them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...instances.scheduling.instance import Integers
from ...instances.scheduling.units import GPU, amount_of
from ..report.picture import Chart, Series
from .causes import Course
from .fairness import HOUR, Fairness

Floats = npt.NDArray[np.float64]

RULES = {"now": "share now (DRS)", "tree": "fair tree", "dominant": "dominant share"}
"""The rules besides REF, and their names for people."""

RESOURCES = ("cpu", "mem", GPU)


@dataclass(frozen=True, eq=False)
class Views:
    """Debts by several rules.

    Attributes
    ----------
    times : (q,) moments, in seconds since the first window's begin.
    debts : rule -> (k, q) hours of the unit; "REF" is `Fairness.owed` over time.
    half_life : seconds, of the rules that forget.
    level : (k,) Level FS at the end, as Slurm's sshare has it: the share over the part of all use
        that is left; infinite without use, 0 without a share.
    """

    judged: Fairness
    times: Integers
    debts: dict[str, Floats]
    half_life: float
    level: Floats

    @property
    def factor(self) -> Floats:
        """(k,) the fair-tree factor, if each were one user: its rank by Level FS, those alike at
        the highest of theirs, over their number.
        """
        below = self.level[None, :] <= self.level[:, None] * (1 + 1e-9)
        factor: Floats = below.mean(axis=1)
        return factor

    def apart(self, rule: str) -> Floats:
        """(q,) hours of the unit that a rule gives to others than REF does."""
        hours: Floats = np.abs(self.debts[rule] - self.debts["REF"]).sum(axis=0) / 2
        return hours

    def opposed(self, rule: str) -> list[int]:
        """Organizations that a rule says owe and REF says are owed, or the reverse."""
        ours, theirs = self.debts["REF"][:, -1], self.debts[rule][:, -1]
        least = 1e-3 * float(self.judged.work.sum())
        return np.flatnonzero(
            (ours * theirs < 0) & (np.minimum(np.abs(ours), np.abs(theirs)) > least)
        ).tolist()

    def picture(self) -> Chart:
        """How far each rule is from REF over time."""
        hours = self.judged.unit.hours
        last = ", ".join(
            f"{name} {float(self.apart(rule)[-1]):,.0f}" for rule, name in RULES.items()
        )
        label, scale, x = self.judged.time_axis([0.0, *self.times.tolist()])
        return Chart(
            "rules-apart", "Where rules disagree with the Shapley value", label,
            f"given to others [{hours}]",
            tuple(
                Series(name, x, (0.0, *self.apart(rule).tolist())) for rule, name in RULES.items()
            ),
            f"How much each rule gives to others than REF does; at the end, in {hours}: {last}.",
            x_scale=scale,
            note="Half of the sum of differences of debts over all organizations.",
        )  # fmt: skip

    def document(self) -> dict[str, Any]:
        """Plain JSON values."""
        key = self.judged.unit.key
        return {
            "half_life_seconds": self.half_life,
            "times": self.times.tolist(),
            f"debts_{key}": {rule: debts.tolist() for rule, debts in self.debts.items()},
            "level_fs": [f"{value:.6g}" for value in self.level.tolist()],
            "fair_tree_factor": self.factor.tolist(),
            f"apart_from_ref_{key}": {rule: self.apart(rule).tolist() for rule in RULES},
        }


def views(judged: Fairness, half_life: float = 604_800.0) -> Views:
    """Debts by several rules on the windows of an audit. O(events k log k)."""
    weight = judged.shares
    times: list[int] = []
    debts: dict[str, list[Floats]] = {rule: [] for rule in ("REF", *RULES)}
    paid, given = np.zeros((2, len(weight)))
    used: Any = 0.0
    first, before = judged.audits[0].judged.begin, judged.audits[0].judged.begin
    for number, each in enumerate(judged.audits):
        begin, course = each.judged.begin, judged.flows[number].course
        used *= 0.5 ** ((begin - before) / half_life)
        moments = np.append(0, each.times)
        steps = np.unique(np.append(course.times, moments))
        place = np.searchsorted(course.times, steps[:-1], side="right") - 1
        gain = (_now(judged, course) - course.runs)[:, place] * np.diff(steps)
        parts = _parts(judged, course)[:, :, place]
        for since, until in zip(moments[:-1].tolist(), moments[1:].tolist(), strict=True):
            part = slice(*np.searchsorted(steps, [since, until]).tolist())
            given = given + gain[:, part].sum(axis=1)
            ages = until - steps[part.start : part.stop + 1]
            left = np.diff(0.5 ** (ages / half_life)) * half_life / np.log(2)
            used = used * 0.5 ** ((until - since) / half_life) + parts[:, :, part] @ left
            times.append(begin - first + until)
            at = int(np.searchsorted(each.times, until))
            ref = each.owed[:, at] * 2 / each.instance.horizon / HOUR
            debts["REF"].append(paid + float(judged.unit.size) * ref)
            debts["now"].append(judged.hours(given))
            largest = used.max(axis=0) * judged.machines.sum()
            for rule, use in (("tree", used[0] * judged.machines.sum()), ("dominant", largest)):
                debts[rule].append(judged.hours(weight * use.sum() - use))
        paid, before = debts["REF"][-1], begin + each.instance.horizon
    table = {rule: np.array(rows).T for rule, rows in debts.items()}
    part = used[0] / (used[0].sum() or 1.0)
    level = np.divide(weight, part, out=np.where(weight > 0, np.inf, 0.0), where=part > 0)
    return Views(judged, np.array(times, dtype=np.int64), table, half_life, level)


def _parts(judged: Fairness, course: Course) -> Floats:
    """(r, k, m) the part of the unit, and of each resource of which the files say how much there
    is, that each organization holds.
    """
    parts, log = [course.runs / judged.machines.sum()], judged.found.log
    for name in RESOURCES if log.resources else ():
        if total := amount_of(judged.found.capacity, name):
            each = np.array([amount_of(log.resources[job], name) for job in course.job])
            parts.append(course.in_use(each / float(total)))
    return np.array(parts)


def _now(judged: Fairness, course: Course) -> Floats:
    """(k, m) machines by the share at each moment of all that are in use."""
    own = judged.shares * judged.machines.sum()
    weights = {queue.name: float(queue.weight) for queue in judged.found.log.queues}
    weight = np.array([weights.get(name, 1.0) for name in judged.names])
    weight = np.maximum(weight, 1e-9) if weights else np.maximum(own, 1e-9)
    demand, total = course.runs + course.waits, course.runs.sum(axis=0)
    base = np.minimum(demand, own[:, None])
    first = filled(np.minimum(total, base.sum(axis=0)), base, np.maximum(own, 1e-9))
    return first + filled(total - first.sum(axis=0), demand - base, weight)


def filled(total: Floats, most: Floats, weight: Floats) -> Floats:
    """(k, m) parts of each total, the same multiple of the weights for all but those whose most
    is less.

    Parameters
    ----------
    total : (m,) at most the sum of `most`.
    most : (k, m) that each can have.
    weight : (k,) above 0.
    """
    ratio = most / weight[:, None]
    order = np.argsort(ratio, axis=0)
    sorted_most = np.take_along_axis(most, order, axis=0)
    rest = np.cumsum(weight[order][::-1], axis=0)[::-1]
    level = (total - (np.cumsum(sorted_most, axis=0) - sorted_most)) / rest
    reached = level <= np.take_along_axis(ratio, order, axis=0) + 1e-12
    place = np.where(reached.any(axis=0), reached.argmax(axis=0), len(weight) - 1)
    height = np.take_along_axis(level, place[None], axis=0)[0]
    each: Floats = np.minimum(most, np.maximum(height, 0.0) * weight[:, None])
    return each
