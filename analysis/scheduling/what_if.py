"""Debts again, with other shares, without an account, or with more nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

from ...instances.problem.errors import InvalidOption, suggest
from ...instances.scheduling.accounts import most_parts
from ...instances.scheduling.instance import Integers
from ...instances.scheduling.log import Window
from ...instances.scheduling.split import cuts, proportional
from .audit import audit
from .fairness import Fairness, in_core_hours
from .fit import played, present_weights

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WhatIf:
    """Debts before and after a change.

    Attributes
    ----------
    change : what is different, in words.
    replayed : whether the site's rule played both schedules; else both are the log's own.
    before, after : (k,) debts in hours of the unit; after is 0 for who is left out.
    """

    change: str
    replayed: bool
    before: Floats
    after: Floats

    def document(self, judged: Fairness) -> dict[str, Any]:
        """Plain JSON values."""
        key = judged.unit.key
        return {
            "change": self.change, "replayed": self.replayed,
            f"owed_before_{key}": self.before.tolist(), f"owed_after_{key}": self.after.tolist(),
        }  # fmt: skip


def what_if(
    judged: Fairness,
    *,
    shares: Mapping[str, Fraction] | None = None,
    without: str | None = None,
    add_nodes: int = 0,
) -> WhatIf:
    """The debts that a change would have made.

    Other shares are looked at on the log's own schedule. Without an account, whose machines the
    others have then by their shares, or with more nodes, which are divided by shares, others would
    have started at other times: the site's rule (`fit.played`) plays the jobs as they were and with
    the change, and both schedules are judged.

    Parameters
    ----------
    shares : name -> part of the machines; who is not named has none.
    without : the name of an organization.
    add_nodes : how many, of the size that is most common in the file of nodes.

    Raises
    ------
    InvalidOption
        There is no such organization, or it is the only one with jobs or machines; the size of a
        node is not known.
    """
    names, given = judged.names, judged.given if shares is None else shares
    total = int(judged.machines.sum())
    stay = np.ones(len(names), dtype=bool)
    changes = []
    if shares is not None:
        if unknown := sorted(set(shares) - set(names)):
            raise InvalidOption(f"shares names {unknown[0]!r}; {suggest(unknown[0], names)}")
        changes.append("other shares")
    if without is not None:
        if without not in names:
            raise InvalidOption(f"without is {without!r}; {suggest(without, names)}")
        stay[names.index(without)] = False
        changes.append(f"without {without}")
    if add_nodes:
        if not judged.found.node:
            raise InvalidOption(
                "add-nodes needs the size of a node; give what `scontrol show node -o` prints as "
                "--nodes"
            )
        total += add_nodes * judged.found.node
        changes.append(f"{add_nodes} node{'s' * (add_nodes != 1)} more")
    parts = np.array([given.get(name, Fraction(0)) for name in names])[stay]
    if not parts.any():
        raise InvalidOption(f"without is {without!r}, which has all of the machines")
    replay = without is not None or add_nodes > 0
    cut, windows = 1, (each.instance for each in judged.audits)
    if judged.found.settings.jobs == "parallel":
        most = min(most_parts(each.processing, each.width, each.horizon) for each in windows)
        cut = cuts(total, parts.tolist(), total * most)
    machines = proportional(total * cut, parts)
    before, after = np.zeros((2, len(names)))
    for each in judged.audits:
        old, new = each.judged, _changed(each.judged, machines, stay, cut)
        if replay:
            old, new = _replayed(judged, old), new and _replayed(judged, new, cut)
        before += in_core_hours(audit(old, judging=each.at_end))
        if new is not None:
            after[stay] += in_core_hours(audit(new, judging=each.at_end)) / cut
    size = float(judged.unit.size)
    return WhatIf(" and ".join(changes), replay, size * before, size * after)


def by_own_shares(judged: Fairness) -> WhatIf:
    """The debts by the shares that there are when none are given: what queues bring, else equal
    parts.
    """
    queues = judged.found.log.queues
    parts = {each.name: judged.unit.exact(each.nominal) for each in queues}
    parts = {name: parts.get(name, Fraction(not queues)) for name in judged.names}
    return replace(what_if(judged, shares=parts), change="by quotas" if queues else "equal shares")


def _changed(
    judged: Window, machines: Integers, stay: npt.NDArray[np.bool_], cut: int
) -> Window | None:
    """The same window with the organizations that stay, and their machines, which are parts of
    those of the window; None without jobs.
    """
    instance = judged.instance
    left = stay[instance.organization]
    if not left.any():
        return None
    changed = instance.replace(
        machines=machines, names=tuple(np.array(instance.names)[stay].tolist()),
        organization=(np.cumsum(stay) - 1)[instance.organization[left]],
        release=instance.release[left], processing=instance.processing[left],
        processors=instance.width[left] * cut,
    )  # fmt: skip
    job = judged.job[left] if len(judged.job) else judged.job
    return replace(judged, instance=changed, start=judged.start[left], job=job)


def _replayed(judged: Fairness, one: Window, cut: int = 1) -> Window:
    """The window, on so many parts of each machine, with the schedule of the site's rule."""
    by_name = dict(zip(judged.names, present_weights(judged).tolist(), strict=True))
    weights = np.array([by_name[name] for name in one.instance.names], dtype=np.int64)
    start = played(judged, one.instance, weights, np.zeros_like(weights), cut)
    return replace(one, start=start)
