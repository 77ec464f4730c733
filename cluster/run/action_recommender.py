"""Action recommender: which agents should break away from a pairing, with which partner, for which
gain.

Two agents break away if each of them gains more than `alpha`: they are a blocking pair. Gains are
read within the intervals of what was measured: certain ones hold for every matrix within them,
possible ones for some.

Agents take part all the same, as in the papers; the recommendation is what `cotenant run advice`
prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ...analysis.colocation.recommender import Advice, recommend
from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.stability import Uncertainty, blocking_pairs

Types = tuple[int, ...]
"""The types on one machine, by seat: one, or two."""

Reading = Literal["certain", "possible"]


@dataclass(frozen=True)
class ActionRecommender:
    """Recommendations for the agents of a pairing.

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
        """Number of agents in pairs that break away."""
        read = self._uncertainty(reading)
        return blocking_pairs(self.instance, self.pairing, self.alpha, uncertainty=read).agents

    def advice(self, reading: Reading) -> tuple[Advice, ...]:
        """Recommendation for every agent; see `recommender.recommend`."""
        read = self._uncertainty(reading)
        return recommend(self.instance, self.pairing, alpha=self.alpha, uncertainty=read)

    def _uncertainty(self, reading: Reading) -> Uncertainty:
        return "none" if self.instance.low is None else reading
