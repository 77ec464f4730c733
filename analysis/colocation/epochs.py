"""The epoch loop: jobs arrive, wait in a queue, are paired in batches on the processors that are
free, run, and leave.

Each epoch, in this order: jobs whose time is over leave; new jobs join the queue; as many of the
oldest jobs as the free processors hold (two each) form a batch; the policy pairs it; the pairs
start. Nobody else is looked at: which jobs may still come is not known to the policy.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Annotated

import numpy as np
import numpy.typing as npt

from ...instances.colocation.instance import Colocation, Integers, Pairing
from ...instances.colocation.objective import mean_penalty
from ...instances.colocation.stability import blocking_pairs
from ...instances.problem.errors import InvalidInstance, InvalidOption
from ...instances.problem.option_types import AtLeast, validate_options
from .batches import Policy, Waiting, pair_oldest


@dataclass(frozen=True)
class Epoch:
    """One epoch.

    Attributes
    ----------
    epoch : counted from 0.
    arrived, finished, placed : jobs that came, left, and started.
    waiting, running : jobs in the queue and on processors after placement.
    processors : in use after placement.
    penalty : mean penalty of the jobs placed; None when none was.
    blocking_pairs : of the batch.
    wait, longest_wait : mean and longest wait of the jobs placed [epochs]; None when none was.
    certain_blocking_pairs : of the batch, for every matrix within the intervals: whom advice sends
        away; None without intervals.
    """

    epoch: int
    arrived: int
    finished: int
    placed: int
    waiting: int
    running: int
    processors: int
    penalty: float | None
    blocking_pairs: int
    wait: float | None
    longest_wait: int | None
    certain_blocking_pairs: int | None = None


@dataclass(frozen=True)
class EpochRun:
    """A run of the loop.

    Attributes
    ----------
    epochs : one entry each.
    queue : jobs still waiting at the end, per type.
    """

    epochs: tuple[Epoch, ...]
    queue: tuple[int, ...]

    def rows(self) -> list[dict[str, object]]:
        """One plain row per epoch."""
        return [asdict(entry) for entry in self.epochs]

    @property
    def summary(self) -> dict[str, float | None]:
        """Jobs arrived, placed, finished, waiting, running at the end; means of placed jobs."""
        placed = sum(entry.placed for entry in self.epochs)
        return {
            "epochs": len(self.epochs),
            "arrived": sum(entry.arrived for entry in self.epochs),
            "placed": placed,
            "finished": sum(entry.finished for entry in self.epochs),
            "waiting": self.epochs[-1].waiting,
            "running": self.epochs[-1].running,
            "penalty": sum(e.placed * e.penalty for e in self.epochs if e.penalty is not None)
            / placed
            if placed
            else None,
            "wait": sum(e.placed * e.wait for e in self.epochs if e.wait is not None) / placed
            if placed
            else None,
            "longest_wait": max(
                (e.longest_wait for e in self.epochs if e.longest_wait is not None), default=None
            ),
        }


@validate_options
def run_epochs(
    instance: Colocation,
    policy: Policy,
    *,
    processors: Annotated[int, AtLeast(1)],
    epochs: Annotated[int, AtLeast(1)] = 100,
    rate: Annotated[float, AtLeast(0, "a mean number of jobs")] | None = None,
    arrivals: npt.ArrayLike | None = None,
    duration: int | npt.ArrayLike = 1,
    drain: bool = False,
    rng: np.random.Generator | None = None,
) -> EpochRun:
    """Run a colocation policy over epochs in which jobs arrive, wait, are paired in batches, and
    leave.

    Parameters
    ----------
    instance : the types, their penalties and bandwidths; its counts are the mix of arriving jobs,
        its machines are ignored.
    policy : any method of the catalogue that returns a Pairing, or an Outcome with one; called as
        `policy(batch, rng=rng)`.
    processors : of the cluster, two jobs on each.
    epochs : number of epochs with arrivals.
    rate : mean number of jobs that arrive per epoch (Poisson); the instance's number of agents when
        neither this nor `arrivals` is given.
    arrivals : (epochs, T) jobs of each type that arrive in each epoch, instead of `rate` and
        `epochs`.
    duration : epochs a job of each type runs, one number or (T,). A pair holds its processor until
        the longer job ends, and both leave then (Cooper section V repeats the shorter job until the
        longer one completes).
    drain : after the last arrivals, go on until every job has left.
    rng : source of arrivals, of the draw among equally old jobs, and of the policy's own draws;
        `default_rng(0)` when not given.

    Returns
    -------
    EpochRun; at every epoch arrived = finished + running + waiting, summed from the start.

    Raises
    ------
    InvalidOption
        An option out of range.
    InvalidInstance
        An instance with `unpaired`: an agent without partner would have no place to run.
    NoSolution
        The policy fails even on a single job.

    Notes
    -----
    A batch is given the fewest processors that hold it, so that policies pair everyone but an odd
    one; free processors stay free for later epochs. When forbidden pairs make that impossible it
    gets all free processors, and if that fails too, its youngest job (the highest type among
    equals) goes back to the queue, until the policy finds a pairing. The order of service is first
    come, first served, at random among jobs of one epoch. Source: Cooper sections III.A and V
    (periodic batches, queueing when processors are fewer than pairs).
    """
    if instance.unpaired is not None:
        raise InvalidInstance(
            "unpaired",
            f"{instance.unpaired:g}",
            "no unpaired, since every job in the loop needs a processor",
        )
    generator = rng or np.random.default_rng(0)
    incoming = _arrivals(instance, epochs, rate, arrivals, generator)
    length = _durations(instance, duration)
    cluster = _Cluster(instance, policy, processors, length, generator)
    lines = []
    epoch = 0
    while epoch < len(incoming) or (drain and (cluster.waiting or cluster.running)):
        lines.append(
            cluster.step(
                epoch, incoming[epoch] if epoch < len(incoming) else np.zeros_like(incoming[0])
            )
        )
        epoch += 1
    return EpochRun(tuple(lines), tuple(cluster.queue.by_type().tolist()))


class _Cluster:
    """The state between epochs: the queue by epoch of arrival, and what runs until when."""

    def __init__(
        self,
        instance: Colocation,
        policy: Policy,
        processors: int,
        duration: Integers,
        rng: np.random.Generator,
    ) -> None:
        self.instance = instance
        self.policy = policy
        self.free = processors
        self.duration = duration
        self.rng = rng
        self.processors = processors
        self.running = 0
        self.queue = Waiting(instance.types)
        # epoch -> processors that become free, jobs that leave
        self._ends: dict[int, tuple[int, int]] = {}

    @property
    def waiting(self) -> int:
        return self.queue.waiting

    def step(self, epoch: int, arriving: Integers) -> Epoch:
        """Run one epoch."""
        freed, finished = self._ends.pop(epoch, (0, 0))
        self.free += freed
        self.running -= finished
        if arriving.sum():
            self.queue.add(epoch, arriving.astype(np.int64))
        found = pair_oldest(self.instance, self.policy, self.queue, self.free, self.rng)
        batch = [] if found is None else found[2]
        waits = [(epoch - since, int(taken.sum())) for since, taken in batch]
        placed = sum(number for _, number in waits)
        if found is not None:
            self._start(epoch, found[1])
        return Epoch(
            epoch=epoch,
            arrived=int(arriving.sum()),
            finished=finished,
            placed=placed,
            waiting=self.waiting,
            running=self.running,
            processors=self.processors - self.free,
            penalty=None if found is None else mean_penalty(found[0], found[1]),
            blocking_pairs=0 if found is None else blocking_pairs(found[0], found[1]).count,
            wait=sum(wait * number for wait, number in waits) / placed if placed else None,
            longest_wait=max((wait for wait, _ in waits), default=None),
            certain_blocking_pairs=(
                None
                if found is None or self.instance.low is None
                else blocking_pairs(found[0], found[1], uncertainty="certain").count
            ),
        )

    def _start(self, epoch: int, pairing: Pairing) -> None:
        alone = np.flatnonzero(pairing.single)
        blocks = [
            (
                np.maximum(self.duration[pairing.first], self.duration[pairing.second]),
                pairing.pairs,
                2,
            ),
            (self.duration[alone], pairing.single[alone], 1),
        ]
        for length, machines, jobs in blocks:
            for epochs, number in zip(length.tolist(), machines.tolist(), strict=True):
                freed, left = self._ends.get(epoch + epochs, (0, 0))
                self._ends[epoch + epochs] = (freed + number, left + jobs * number)
                self.free -= number
                self.running += jobs * number


def _arrivals(
    instance: Colocation,
    epochs: int,
    rate: float | None,
    arrivals: npt.ArrayLike | None,
    rng: np.random.Generator,
) -> Integers:
    """(epochs, T) arriving jobs."""
    if arrivals is not None:
        if rate is not None:
            raise InvalidOption("rate and arrivals are both given; expected one of them")
        given = np.asarray(arrivals)
        if (
            given.ndim != 2
            or given.shape[1] != instance.types
            or not len(given)
            or given.dtype.kind not in "iu"
        ):
            raise InvalidOption(
                f"arrivals has shape {given.shape}; expected whole numbers, (epochs, "
                f"{instance.types})"
            )
        if (given < 0).any():
            raise InvalidOption(f"arrivals holds {given.min()}; expected 0 or more jobs")
        return given.astype(np.int64)
    mean = float(instance.agents) if rate is None else float(rate)
    return rng.poisson(
        mean * instance.count / instance.agents, size=(epochs, instance.types)
    ).astype(np.int64)


def _durations(instance: Colocation, duration: int | npt.ArrayLike) -> Integers:
    given = np.asarray(duration)
    if (
        given.dtype.kind not in "iu"
        or given.shape not in ((), (instance.types,))
        or (given < 1).any()
    ):
        raise InvalidOption(
            f"duration is {given.tolist()}; expected whole epochs of 1 or more, one number or "
            f"{instance.types}"
        )
    return np.broadcast_to(given, (instance.types,)).astype(np.int64)
