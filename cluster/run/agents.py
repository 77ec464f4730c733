"""The agents of an epoch: each assesses whom it is beside, and is recommended to take part or to
break away with another who gains by it too.

What counts are gains that are certain: in every matrix within the intervals of what was measured.
By default agents take part all the same, as in the papers, and the recommendation is what
`cotenant advice` prints. Strict ones act on it before they are begun: pairs of agents that both
gain leave their co-runners, who go back to the queue, and are placed together at the next epoch.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ...analysis.colocation.recommender import Recommendation, recommend
from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.stability import blocking_pairs

Types = tuple[int, ...]
"""The types on one machine, by seat."""

Place = tuple[int, int]
"""An agent: its group, by the place in a list of groups, and its seat."""


@dataclass(frozen=True)
class Assessment:
    """The advice to the agents of an epoch.

    Attributes
    ----------
    advice : to each group of agents, by certain gains where there are intervals.
    certain, possible : agents in a blocking pair for every, and for some matrix within the
        intervals; both by the measured gains where there are no intervals.
    """

    advice: Recommendation
    certain: int
    possible: int


def assess(problem: Colocation, pairing: Pairing, alpha: float) -> Assessment:
    """The advice to the agents of a pairing; `alpha` is the least gain for which one moves."""
    advice = recommend(problem, pairing, alpha=alpha)
    certain = advice.breaking_away
    if problem.low is None:
        return Assessment(advice, certain, certain)
    return Assessment(
        advice, certain, blocking_pairs(problem, pairing, alpha, uncertainty="possible").agents
    )


def leaving(advice: Recommendation, placed: Sequence[Types]) -> list[tuple[Place, ...]]:
    """Pairs of agents that leave together, each agent at most once, those of the largest summed
    gain first; by their places in `placed`.

    An agent whose co-runner left is not beside it any more, and stays this time.
    """
    options = [
        (-(other.gain + other.their_gain), entry.kind, entry.beside, other.kind)
        for entry in advice.advice
        for other in entry.alternatives
    ]
    gains = {(kind, beside, other) for _, kind, beside, other in options}
    free: dict[tuple[int, int | None], list[Place]] = {}
    for place, types in reversed(list(enumerate(placed))):
        for seat, kind in enumerate(types):
            beside = types[1 - seat] if len(types) > 1 else None
            free.setdefault((kind, beside), []).append((place, seat))
    gone: set[int] = set()

    def take(there: tuple[int, int | None]) -> Place | None:
        """An agent of this type beside that one whose group still is whole."""
        agents = free.get(there, [])
        while agents:
            if (agent := agents.pop())[0] not in gone:
                return agent
        return None

    pairs: list[tuple[Place, ...]] = []
    for _, kind, mine, other in sorted(options, key=lambda option: (option[0], option[1])):
        for there in [at for at in free if at[0] == other and (other, at[1], kind) in gains]:
            while (one := take((kind, mine))) is not None:
                gone.add(one[0])
                if (two := take(there)) is None:
                    gone.remove(one[0])
                    free[kind, mine].append(one)
                    break
                gone.add(two[0])
                pairs.append((one, two))
    return pairs


def format_counts(names: Sequence[str], groups: Sequence[Types]) -> str:
    """Groups of types in words, the most frequent first."""
    times = Counter(" and ".join(names[kind] for kind in types) for types in groups)
    return ", ".join(f"{number} x {group}" for group, number in times.most_common())
