"""Preference satisfaction: numbers of agents that one pairing serves better, worse and equally well
compared with another (Cooper figure 9).

A pairing says how many agents of a type have which penalty, not which agent: agents of one type are
interchangeable. Whom to compare with whom inside a type is therefore an explicit choice:

- "sorted" (default): the r-th best served agent of a type before is compared with the r-th best
  served after. A pairing compared with itself leaves everyone unchanged, nobody is degraded when
  every quantile of the type improves, numbers are whole, and relabelling changes nothing. It is the
  comparison in which penalties move least in total (optimal transport).
- "random": the expected numbers when the agents of a type are dealt their places at random, before
  and after independently: what an observer of individual agents sees of two policies that know
  nothing of each other. It finds improved and degraded agents even between a pairing and itself.

When all agents differ (T = n) both are the comparison agent by agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...instances.colocation.instance import Colocation, Floats, Pairing
from ...instances.colocation.objective import agent_penalties
from ...instances.colocation.stability import Alpha, gains
from ...instances.problem.option_types import validate_options

Coupling = Literal["sorted", "random"]


@dataclass(frozen=True, eq=False)
class Satisfaction:
    """Numbers of agents, by type, whom a new pairing serves better, worse or like the old one.

    Attributes
    ----------
    improved, degraded, unchanged : (T,) agents, whole numbers when the coupling is "sorted".
    """

    improved: Floats
    degraded: Floats
    unchanged: Floats

    @property
    def totals(self) -> dict[str, float]:
        """Numbers of agents whom a new pairing improves, degrades or leaves unchanged, by name."""
        columns = {
            "improved": self.improved,
            "degraded": self.degraded,
            "unchanged": self.unchanged,
        }
        return {name: float(column.sum()) for name, column in columns.items()}


@validate_options
def satisfaction(
    instance: Colocation,
    old: Pairing,
    new: Pairing,
    *,
    alpha: Alpha = 0.0,
    coupling: Coupling = "sorted",
) -> Satisfaction:
    """Count the agents that gain, lose and stay equal when `new` replaces `old`.

    Parameters
    ----------
    instance : with the true penalties.
    old, new : two feasible pairings; agents without co-runner count with penalty 0, or `unpaired`.
    alpha : least change that counts, in points of penalty.
    coupling : how agents of one type are compared, see the module's docstring.

    Raises
    ------
    InvalidOption
        An alpha or coupling that is not valid.

    Notes
    -----
    An agent improves iff `gains(old penalty, new penalty, alpha)`, degrades iff the converse. O(P
    log P) sorted. Source: Cooper fig. 9, thesis fig. 2.12 (bars "improved, degraded, unchanged",
    e.g. SR/GR).
    """
    result = np.zeros((3, instance.types))
    before, after = _by_type(instance, old), _by_type(instance, new)
    for kind in np.flatnonzero(instance.count).tolist():
        pairs = _couple_sorted if coupling == "sorted" else _couple_at_random
        was, now, agents = pairs(*before[kind], *after[kind])
        better, worse = gains(was, now, alpha), gains(now, was, alpha)
        result[:, kind] = agents[better].sum(), agents[worse].sum(), agents[~better & ~worse].sum()
    return Satisfaction(*result)


def _by_type(instance: Colocation, pairing: Pairing) -> dict[int, tuple[Floats, Floats]]:
    """For each type its distinct penalties in increasing order, with numbers of agents."""
    kind, value, number = agent_penalties(instance, pairing)
    order = np.lexsort((value, kind))
    kind, value, agents = kind[order], value[order], number[order].astype(float)
    starts = np.flatnonzero(np.diff(kind, prepend=-1))
    ends = np.append(starts[1:], len(kind))
    return {int(kind[s]): (value[s:e], agents[s:e]) for s, e in zip(starts, ends, strict=True)}


def _couple_sorted(
    was: Floats, old: Floats, now: Floats, new: Floats
) -> tuple[Floats, Floats, Floats]:
    """Penalties before and after, and how many agents have both if the r-th best stays the r-th
    best.
    """
    ends = np.union1d(np.cumsum(old), np.cumsum(new))
    left = np.searchsorted(np.cumsum(old), ends, side="left")
    right = np.searchsorted(np.cumsum(new), ends, side="left")
    return was[left], now[right], np.diff(ends, prepend=0.0)


def _couple_at_random(
    was: Floats, old: Floats, now: Floats, new: Floats
) -> tuple[Floats, Floats, Floats]:
    """Arrays of penalty before, penalty after and expected number of agents who have both.
    Penalties before and after are independent.
    """
    before, after = np.repeat(was, len(now)), np.tile(now, len(was))
    return before, after, np.outer(old, new).ravel() / old.sum()
