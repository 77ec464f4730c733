"""Action recommender: which agents should participate or break away, with which partner, for which
gain.

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
from ...instances.colocation.stability import Uncertainty, compared, gains, validate_alpha, willing
from ...instances.problem.option_types import validate_options

Action = Literal["participate", "break away"]


@dataclass(frozen=True)
class Alternative:
    """Agents of another type with whom an agent would form a blocking pair.

    Attributes
    ----------
    kind : their type.
    willing : how many of them would leave their co-runner for this agent.
    gain : by how much the agent's penalty would fall, or by how much at least.
    """

    kind: int
    willing: int
    gain: float


@dataclass(frozen=True)
class Advice:
    """Recommendation for all agents of one type whose partners are of one type.

    Attributes
    ----------
    kind, beside : types; `beside` is None without a co-runner.
    agents : how many they are.
    alternatives : with whom they would break away, largest gain first, ties to the lowest type.
    """

    kind: int
    beside: int | None
    agents: int
    alternatives: tuple[Alternative, ...]

    @property
    def action(self) -> Action:
        """Action recommended to an agent: break away iff it is in a blocking pair."""
        return "break away" if self.alternatives else "participate"


@validate_options
def recommend(
    instance: Colocation,
    pairing: Pairing,
    *,
    alpha: float = 0.0,
    uncertainty: Uncertainty | None = None,
) -> tuple[Advice, ...]:
    """Recommend to every agent to participate or to break away, with a partner and the gain.

    Parameters
    ----------
    instance, pairing : the game and a feasible pairing (`check` is the caller's business).
    alpha : the least gain for which an agent moves, see `gains`.
    uncertainty : which gains count, as in `blocking_pairs`; certain ones where there are intervals,
        measured ones where there are none, when not given.

    Returns
    -------
    One entry per group, by type, then co-runner's type, those without a co-runner last.

    Raises
    ------
    InvalidOption
        An alpha that is out of range, or an uncertainty where there are no intervals.

    Notes
    -----
    O(P T) for P pairs of types. Source: Cooper section IV.B, thesis section 2.3.2. The papers'
    agents send messages up their lists and compare what comes back; on a known pairing that is the
    definition of a blocking pair.
    """
    validate_alpha(alpha, "penalty-points")
    if uncertainty is None:
        uncertainty = "none" if instance.low is None else "certain"
    leaves, offered = compared(instance, uncertainty)
    total = willing(instance, pairing, alpha, uncertainty=uncertainty)
    beside = pairing.beside()
    advice = []
    for kind in range(instance.types):
        for other in np.flatnonzero(beside[kind]).tolist():
            penalty = float(leaves[kind, other])
            free = gains(penalty, offered[kind], alpha)
            free[other] = False  # never by what it has
            found = _alternatives(instance, kind, penalty, free, total, offered)
            advice.append(Advice(kind, other, int(beside[kind, other]), found))
        if pairing.single[kind]:
            penalty, found = instance.single_penalty, ()
            if instance.unpaired is not None:  # a job alone on its own machine has nothing to gain
                free = gains(penalty, offered[kind], alpha)
                found = _alternatives(instance, kind, penalty, free, total, offered)
            advice.append(Advice(kind, None, int(pairing.single[kind]), found))
    return tuple(advice)


def _alternatives(
    instance: Colocation,
    kind: int,
    penalty: float,
    free: np.ndarray,
    total: np.ndarray,
    offered: np.ndarray,
) -> tuple[Alternative, ...]:
    found = []
    for other in np.flatnonzero(free & instance.allowed[kind]).tolist():
        # it is one of the willing agents of its own type itself
        count = int(total[other, kind]) - (other == kind)
        if count > 0:
            found.append(Alternative(other, count, penalty - float(offered[kind, other])))
    return tuple(sorted(found, key=lambda entry: (-entry.gain, entry.kind)))
