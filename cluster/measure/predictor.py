"""Estimates of penalties, updated while a queue runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from ...instances.colocation.instance import Colocation
from .estimates import estimate_penalties
from .profiles import JobProfiles
from .statistics import Observations
from .store import StoredMeasurement


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
        """Add a measurement to the observations."""
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
