"""A machine of a cluster that measures: each visit is a task of its worker."""

from __future__ import annotations

import uuid

from ...instances.problem.errors import EngineError
from ..lab.measurement import Measurement, MeasurementRequest
from .dispatch import Fleet


class RemoteMachine:
    """See `measurement.Machine`.

    Parameters
    ----------
    fleet : machines of two seats.
    name : of this one.

    Attributes
    ----------
    facts : see `machine.machine_facts`.
    """

    def __init__(self, fleet: Fleet, name: str) -> None:
        self._fleet, self._name = fleet, name
        self.facts = dict(fleet.all()[name].facts)

    def now(self) -> float:
        """Seconds since 1970."""
        return self._fleet.now()

    def visit(self, order: MeasurementRequest) -> Measurement:
        """Run members at the same time; see `measurement.Machine`.

        Raises
        ------
        EngineError
            The worker, or its scheduler, went away.
        """
        visit = uuid.uuid4().hex
        try:
            if self._name not in self._fleet.all():
                raise self._lost("")
            self._fleet.start_visit(self._name, visit, order)
            ended = None
            while ended is None:
                ended = next((one for one in self._fleet.ended(1.0) if one.group == visit), None)
        except KeyboardInterrupt:
            self._fleet.end_all()
            raise
        if ended.visit is None:
            raise self._lost(f" ({ended.reason})")
        self._fleet.acknowledge({visit: self._name})
        return ended.visit

    def _lost(self, why: str) -> EngineError:
        return EngineError(
            f"the Dask worker {self._name} was lost while it measured{why}; every run so far is "
            "kept, and the same command goes on"
        )
