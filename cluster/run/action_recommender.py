"""The action recommender: which agents are advised to break away, with whom, for what gain.

Two agents break away if each of them gains more than `alpha`: they are a blocking pair. Gains are
read within the intervals of what was measured: certain ones hold for every matrix within them,
possible ones for some.

By default agents take part all the same, as in the papers, and the recommendation is what
`cotenant advise job` prints. Strict ones act on it before they are begun: those that certainly gain
leave their co-runners, who go back to the queue, and are placed together at the next epoch.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...analysis.colocation.recommender import Recommendation, recommend
from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.stability import Uncertainty, blocking_pairs

Types = tuple[int, ...]
"""The types on one machine, by seat: one, or two."""

Agent = tuple[int, int]
"""An agent: the index of its group in a list of groups, and its seat."""

Reading = Literal["certain", "possible"]


@dataclass(frozen=True)
class ActionRecommender:
    """The advice to the agents of a pairing.

    Parameters
    ----------
    instance, pairing : the jobs that are placed. Where penalties have no intervals, gains are
        certain and possible as they were measured.
    alpha : the least gain for which an agent moves.
    """

    instance: Colocation
    pairing: Pairing
    alpha: float

    def advised(self, reading: Reading) -> int:
        """How many agents are in a pair that breaks away."""
        read = self._uncertainty(reading)
        return blocking_pairs(self.instance, self.pairing, self.alpha, uncertainty=read).agents

    def advice(self, reading: Reading) -> Recommendation:
        """The advice to every agent; see `recommender.recommend`."""
        read = self._uncertainty(reading)
        return recommend(self.instance, self.pairing, alpha=self.alpha, uncertainty=read)

    def leaving(self, placed: Sequence[Types]) -> list[tuple[Agent, Agent]]:
        """Pairs of agents that leave together for certain gains, those of the largest summed gain
        first.

        Agents whose co-runner left are not beside the same job any more, and stay this time.

        Parameters
        ----------
        placed : the types on each machine.
        """
        # 1. Who gains how much by which type: (its type, the other) -> gain, and its co-runner.
        gains: dict[Types, list[tuple[float, int]]] = defaultdict(list)
        for entry in self.advice("certain").advice:
            for other in entry.alternatives:
                gains[entry.kind, other.kind].append((-other.gain, entry.beside or 0))
        for ranked in gains.values():
            ranked.sort()
        # 2. The agents of each type and co-runner, of the last group first.
        free: dict[Types, list[Agent]] = defaultdict(list)
        for group, types in reversed(list(enumerate(placed))):
            for seat, kind in enumerate(types if len(types) == 2 else ()):
                free[kind, types[1 - seat]].append((group, seat))
        # 3. Types that block, by their largest gains; of each pair of them as many as there are.
        blocking = [pair for pair in gains if pair[0] <= pair[1] and pair[::-1] in gains]
        gone: set[int] = set()
        pairs: list[tuple[Agent, Agent]] = []
        for pair in sorted(blocking, key=lambda p: (gains[p][0][0] + gains[p[::-1]][0][0], p)):
            while (two := _taken(pair, gains, free, gone)) is not None:
                gone |= {group for group, _ in two}
                pairs.append(two)
        return pairs

    def _uncertainty(self, reading: Reading) -> Uncertainty:
        return "none" if self.instance.low is None else reading


def format_counts(names: Sequence[str], groups: Sequence[Types]) -> str:
    """Groups of types in words, the most frequent first."""
    times = Counter(" and ".join(names[kind] for kind in types) for types in groups)
    return ", ".join(f"{number} x {group}" for group, number in times.most_common())


def _taken(
    pair: Types,
    gains: Mapping[Types, list[tuple[float, int]]],
    free: Mapping[Types, list[Agent]],
    gone: set[int],
) -> tuple[Agent, Agent] | None:
    """An agent of each type off `free`, those that gain most first; None without two of them."""
    chosen: list[tuple[list[Agent], Agent]] = []
    for kind, other in (pair, pair[::-1]):
        for _, beside in gains[kind, other]:
            agents = free[kind, beside]
            while agents and agents[-1][0] in gone:
                agents.pop()
            if agents:
                chosen.append((agents, agents.pop()))
                break
    if len(chosen) == 2:
        return chosen[0][1], chosen[1][1]
    for agents, agent in chosen:
        agents.append(agent)
    return None
