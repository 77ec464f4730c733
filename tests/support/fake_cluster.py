"""A cluster on paper: machines that run groups for whole steps of a clock, and no processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from cotenant.cluster.measure.measurement import JobRuns, Measurement, MeasurementRequest, Run
from cotenant.cluster.run.dispatcher import Ended


class SimulatedMachines:
    """See `cotenant.cluster.run.dispatcher.Dispatcher`; time goes on only by `step`.

    Parameters
    ----------
    number : of machines.
    seconds : of a group of jobs, by their types.
    error : of a job of a group, by its type and how many groups were begun; "" when it is done.
    """

    def __init__(
        self,
        number: int,
        seconds: Callable[[tuple[str, ...]], float] = lambda kinds: 5.0,
        error: Callable[[str, int], str] = lambda kind, begun: "",
    ) -> None:
        self.clock = 1e9
        self.begun: list[tuple[str, tuple[str, ...]]] = []
        self.killed = False
        self._seconds, self._error = seconds, error
        self._running: dict[str, tuple[float, str, tuple[str, ...], int]] = {}
        # of the kind of the machine of `fake_machine`
        self._machines = {f"m{place:05}": {"machine": f"m{place}"} for place in range(number)}

    def now(self) -> float:
        return self.clock

    def all(self) -> Mapping[str, Mapping[str, str]]:
        return self._machines

    def lose(self, machine: str) -> list[Ended]:
        """End the groups that run on a lost machine, with an error."""
        lost = [group for group, entry in self._running.items() if entry[1] == machine]
        return [self._ended(group, f"{machine} was lost") for group in lost]

    def start(self, machine: str, group: str, request: MeasurementRequest) -> None:
        assert all(entry[1] != machine for entry in self._running.values())
        kinds = tuple(job.name for job in request.members if job is not None)
        self.begun.append((machine, kinds))
        self._running[group] = (self.clock, machine, kinds, len(self.begun))

    def ended(self, seconds: float) -> list[Ended]:
        """Runs that have ended; if none has, the clock advances to the next end, by at most
        `seconds`.
        """
        due = [begin + self._seconds(kinds) for begin, _, kinds, _ in self._running.values()]
        if due and min(due) > self.clock:
            self.clock = min(min(due), self.clock + seconds)
        elif not due:
            self.clock += seconds
        return self.due()

    def due(self) -> list[Ended]:
        """Runs that have ended by the present time."""
        over = [
            group
            for group, (begin, _, kinds, _) in self._running.items()
            if begin + self._seconds(kinds) <= self.clock
        ]
        return [self._ended(group) for group in over]

    def end_all(self) -> None:
        self.killed = True

    def _ended(self, group: str, lost: str = "") -> Ended:
        begin, _, kinds, number = self._running.pop(group)
        if lost:
            return Ended(group, None, lost)
        spent = self._seconds(kinds)
        members = []
        for kind in kinds:
            why = self._error(kind, number)
            run = Run(begin, spent, spent, float(len(kinds) > 1))
            members.append(JobRuns(error=why) if why else JobRuns((run,)))
        return Ended(group, Measurement(tuple(members), begin, spent, 0.0))
