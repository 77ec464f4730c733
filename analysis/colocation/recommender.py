"""The action recommender: who should take part or break away, with whom, and for what gain.

An agent asks everyone it would rather share with; it is advised to break away iff somebody it asks
would rather share with it too, which is to say iff it is in a blocking pair. Advice is given per
group: the agents of one type beside one type.

Where penalties have intervals the gains that count are the certain ones: nobody is sent away for
what the error of a measurement may have made up. Gains are given as their least, at the ends of the
intervals that are worst for the agent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.stability import (
    AlphaMode,
    Uncertainty,
    compared,
    gains,
    validate_alpha,
    willing,
)
from ...instances.problem.option_types import validate_options

Action = Literal["participate", "break away"]


@dataclass(frozen=True)
class Alternative:
    """Agents that an agent and they would both rather share with.

    Attributes
    ----------
    kind : their type.
    willing : how many of them would leave their co-runner for this agent.
    penalty : the agent's penalty beside one of them; of certain gains the upper end.
    gain : by how much its penalty would fall, or by how much at least.
    their_gain : the mean fall of theirs, likewise.
    """

    kind: int
    willing: int
    penalty: float
    gain: float
    their_gain: float


@dataclass(frozen=True)
class Advice:
    """The advice to all agents of one type beside one type.

    Attributes
    ----------
    kind, beside : types; `beside` is None without a co-runner.
    agents : how many they are.
    penalty : of each, as it stands; of certain gains the lower end.
    action : "break away" iff the agent is in a blocking pair.
    alternatives : with whom, largest gain first, ties to the lowest type; empty for "participate".
    """

    kind: int
    beside: int | None
    agents: int
    penalty: float
    action: Action
    alternatives: tuple[Alternative, ...]


@dataclass(frozen=True)
class Recommendation:
    """The advice to every agent of a pairing.

    Attributes
    ----------
    advice : one entry per group, by type, then co-runner's type, those without a co-runner last.
    names : of the types.
    alpha : the least gain for which an agent moves.
    uncertainty : which gains count.
    certainty : the confidence that the intervals claim; "" where they do not count.
    """

    advice: tuple[Advice, ...]
    names: tuple[str, ...]
    alpha: float
    uncertainty: Uncertainty = "none"
    certainty: str = ""

    @property
    def breaking_away(self) -> int:
        """How many agents are advised to break away; equals `blocking_pairs(...).agents`."""
        return sum(entry.agents for entry in self.advice if entry.action == "break away")

    @property
    def pairs(self) -> int:
        """How many pairs of agents would break away together, as `blocking_pairs(...).count`."""
        return (
            sum(
                entry.agents * other.willing
                for entry in self.advice
                for other in entry.alternatives
            )
            // 2
        )

    def rows(self) -> list[dict[str, object]]:
        """One plain row per group, with its best alternative."""
        return [self._row(entry) for entry in self.advice]

    def _row(self, entry: Advice) -> dict[str, object]:
        best = entry.alternatives[0] if entry.alternatives else None
        return {
            "type": self.names[entry.kind],
            "beside": None if entry.beside is None else self.names[entry.beside],
            "agents": entry.agents,
            "penalty": entry.penalty,
            "action": entry.action,
            "with": None if best is None else self.names[best.kind],
            "willing": 0 if best is None else best.willing,
            "gain": 0.0 if best is None else best.gain,
            "alternatives": len(entry.alternatives),
        }


@validate_options
def recommend(
    instance: Colocation,
    pairing: Pairing,
    *,
    alpha: float = 0.0,
    alpha_mode: AlphaMode = "penalty-points",
    uncertainty: Uncertainty | None = None,
) -> Recommendation:
    """Advise every agent to participate or to break away, with whom, and say what it would gain.

    Parameters
    ----------
    instance, pairing : the game and a feasible pairing (`check` is the caller's business).
    alpha, alpha_mode : the least gain for which an agent moves, see `gains`.
    uncertainty : which gains count, as in `blocking_pairs`; certain ones where there are intervals,
        measured ones where there are none, when not given.

    Raises
    ------
    InvalidOption
        An alpha that is out of range, an alpha_mode that is not known, or an uncertainty where
        there are no intervals.

    Notes
    -----
    O(P T) for P pairs of types. Source: Cooper section IV.B, thesis section 2.3.2. The papers'
    agents send messages up their lists and compare what comes back; on a known pairing that is the
    definition of a blocking pair.
    """
    validate_alpha(alpha, alpha_mode)
    if uncertainty is None:
        uncertainty = "none" if instance.low is None else "certain"
    read = (alpha, alpha_mode, uncertainty)
    leaves, offered = compared(instance, uncertainty)
    total = willing(instance, pairing, *read)
    beside = pairing.beside()
    gained = _total_gain(instance, pairing, *read)
    advice = []
    for kind in range(instance.types):
        for other in np.flatnonzero(beside[kind]).tolist():
            penalty = float(leaves[kind, other])
            free = _gained_by(instance, kind, other, *read)
            found = _alternatives(instance, kind, penalty, free, total, gained, offered)
            advice.append(_advice(kind, other, int(beside[kind, other]), penalty, found))
        if pairing.single[kind]:
            penalty = instance.single_penalty
            found = ()
            if instance.unpaired is not None:  # a job alone on its own machine has nothing to gain
                free = gains(penalty, offered[kind], alpha, alpha_mode)
                found = _alternatives(instance, kind, penalty, free, total, gained, offered)
            advice.append(_advice(kind, None, int(pairing.single[kind]), penalty, found))
    certainty = "" if uncertainty == "none" else instance.certainty
    return Recommendation(tuple(advice), instance.names, alpha, uncertainty, certainty)


def _gained_by(
    instance: Colocation,
    kind: int,
    beside: int,
    alpha: float,
    alpha_mode: AlphaMode,
    uncertainty: Uncertainty,
) -> np.ndarray:
    """(T,) whether an agent gains by each type; never by what it has."""
    leaves, offered = compared(instance, uncertainty)
    free = gains(leaves[kind, beside], offered[kind], alpha, alpha_mode)
    free[beside] = False
    return free


def _advice(
    kind: int, beside: int | None, agents: int, penalty: float, found: tuple[Alternative, ...]
) -> Advice:
    return Advice(kind, beside, agents, penalty, "break away" if found else "participate", found)


def _alternatives(
    instance: Colocation,
    kind: int,
    penalty: float,
    free: np.ndarray,
    total: np.ndarray,
    gained: np.ndarray,
    offered: np.ndarray,
) -> tuple[Alternative, ...]:
    found = []
    for other in np.flatnonzero(free & instance.allowed[kind]).tolist():
        # it is one of the willing agents of its own type itself
        count = int(total[other, kind]) - (other == kind)
        if count > 0:
            new = float(offered[kind, other])
            theirs = (gained[other, kind] - (other == kind) * (penalty - new)) / count
            found.append(Alternative(other, count, new, penalty - new, float(theirs)))
    return tuple(sorted(found, key=lambda entry: (entry.penalty, entry.kind)))


def _total_gain(
    instance: Colocation,
    pairing: Pairing,
    alpha: float,
    alpha_mode: AlphaMode,
    uncertainty: Uncertainty,
) -> np.ndarray:
    """(T, T): by how much in all the penalties of a-agents who gain by a c-agent would fall."""
    leaves, offered = compared(instance, uncertainty)
    penalty = np.where(instance.allowed, offered, np.inf)
    total = np.zeros(penalty.shape)

    def add(a: int, number: int, old: float, free: np.ndarray) -> None:
        free = free & instance.allowed[a]
        total[a, free] += number * (old - penalty[a, free])

    beside = pairing.beside()
    for a, b in np.argwhere(beside).tolist():
        free = _gained_by(instance, a, b, alpha, alpha_mode, uncertainty)
        add(a, int(beside[a, b]), float(leaves[a, b]), free)
    if instance.unpaired is not None:
        for a in np.flatnonzero(pairing.single).tolist():
            free = gains(instance.unpaired, penalty[a], alpha, alpha_mode)
            add(a, int(pairing.single[a]), instance.unpaired, free)
    return total
