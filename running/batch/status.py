"""How a queue is run, how it stands meanwhile, and what it came to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Agents = Literal["participate", "strict"]
References = Literal["spare", "hourly", "never"]


@dataclass(frozen=True)
class Settings:
    """How a queue is run.

    Attributes
    ----------
    epoch : seconds from one decision to the next, unless all machines are free.
    alpha : the least gain for which an agent moves.
    agents : whether agents that certainly gain leave before they are begun.
    references : when a job runs alone, so that runs of its type can be compared with it, if none
        did in the last hour: where a machine is spare, at once, or never.
    pressure : share of a group's time in which somebody waited for a processor, above which its
        times do not count.
    voids : what pairs that failed twice when they were measured mean.
    seed : of every draw.
    seats : of each machine.
    """

    epoch: float
    alpha: float
    agents: Agents
    references: References
    pressure: float
    voids: Literal["forbid", "predict"] | None
    seed: int
    seats: int = 2


@dataclass(frozen=True)
class QueueStatus:
    """How a queue stands, for whoever waits.

    Attributes
    ----------
    predicted, half, measured : mean penalty believed of the jobs that ended, half of its interval,
        and seen of them, over those of which something could be seen; None while there are none.
    certain, possible : agents of the last epoch advised to leave; None where they were not asked.
    void : groups whose times did not count, and why the last one's did not.
    """

    epoch: int
    waiting: int
    running: int
    machines: int
    done: int
    failed: int
    predicted: float | None
    half: float | None
    measured: float | None
    certain: int | None
    possible: int | None
    void: int
    why: str


@dataclass(frozen=True)
class Summary:
    """What running a queue came to.

    Attributes
    ----------
    stop : "finished", or "interrupted".
    states : jobs of the queue by state.
    epochs, void : of this command; groups whose times did not count.
    predicted, half, measured : see `QueueStatus`.
    seconds : it took; 0 where all jobs were done before, and nothing was run.
    unfinished : jobs that failed or are lost, with the reason.
    """

    stop: Literal["finished", "interrupted"]
    states: Mapping[str, int]
    epochs: int
    void: int
    predicted: float | None
    half: float | None
    measured: float | None
    seconds: float
    unfinished: tuple[tuple[str, str], ...]


@dataclass
class Counts:
    """What is counted of one command."""

    epochs: int = 0
    done: int = 0
    failed: int = 0
    void: int = 0
    why: str = ""
    certain: int | None = 0
    possible: int | None = 0
    predicted: float = 0.0
    half: float = 0.0
    measured: float = 0.0
    seen: int = 0

    def mean(self, total: float) -> float | None:
        """Over what was seen."""
        return total / self.seen if self.seen else None
