"""The penalties as they are estimated while a queue runs."""

from __future__ import annotations

from typing import Literal

from ...instances.colocation.instance import Colocation
from .estimates import estimate_penalties, to_instance
from .profiles import JobProfiles
from .statistics import Observations
from .store import StoredMeasurement


class Predictor:
    """The preference predictor: estimates of the penalties, kept up to date with every run.

    Parameters
    ----------
    profile : of the store.
    voids : what pairs that failed twice mean.
    """

    def __init__(
        self, profile: JobProfiles, voids: Literal["forbid", "predict"] | None = None
    ) -> None:
        self.profile, self._voids = profile, voids
        self._instance: Colocation | None = None

    @property
    def seen(self) -> Observations:
        """The observations behind it."""
        return self.profile.seen

    def add(self, look: StoredMeasurement) -> None:
        """Take a look into account."""
        self.seen.add(look)
        self._instance = None

    def instance(self) -> Colocation:
        """The matrix with its intervals; two agents of each type, and a machine for each."""
        if self._instance is None:
            profile = self.profile
            self._instance = to_instance(
                estimate_penalties(self.seen, profile.estimates.confidence),
                profile.names,
                [2] * len(profile.names),
                bandwidth=profile.bandwidth,
                voids=profile.voids,
                on_void=self._voids,
                machines=2.0 * len(profile.names),  # some may be beside nobody
            )
        return self._instance
