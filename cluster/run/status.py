"""Progress of a queue while it runs, and the summary of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from .queue_store import Entry

Means = tuple[float | None, float | None, float | None]
"""Mean penalty predicted of the jobs that ended, half of its interval, and mean penalty measured,
over the jobs of which something could be measured; None while there are none.
"""


@dataclass
class QueueStatus:
    """Progress of a queue, with the counts of one command.

    Attributes
    ----------
    epoch : the number of the last one; `epochs` are those of this command.
    certain, possible : agents of the last epoch advised to leave.
    void : groups whose times did not count, and why the last one's did not.
    seen : of each job whose penalty could be measured, what `Means` are of.
    """

    machines: int = 0
    epoch: int = 0
    waiting: int = 0
    running: int = 0
    epochs: int = 0
    done: int = 0
    failed: int = 0
    certain: int = 0
    possible: int = 0
    void: int = 0
    why: str = ""
    seen: list[tuple[float, float, float]] = field(default_factory=list)

    def means(self) -> Means:
        """Mean penalties of the jobs done; see `Means`."""
        predicted, half, measured = np.mean(self.seen, axis=0).tolist() if self.seen else [None] * 3
        return predicted, half, measured


@dataclass(frozen=True)
class Summary:
    """Summary of a run of the queue: jobs by state, epochs, and mean penalties.

    Attributes
    ----------
    stop : "finished", or "interrupted".
    states : jobs of the queue by state.
    epochs, void : of this command; groups whose times did not count.
    predicted, half, measured : see `Means`.
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

    @classmethod
    def of(
        cls,
        stop: Literal["finished", "interrupted"],
        entries: Sequence[Entry],
        status: QueueStatus,
        seconds: float,
    ) -> Summary:
        """Summarize the run of the queue for these jobs."""
        states = dict(Counter[str](entry.state for entry in entries))
        unfinished = tuple(
            (entry.name, f"{entry.state}: {entry.reason}")
            for entry in entries
            if entry.state in ("failed", "lost")
        )
        means = status.means()
        return cls(stop, states, status.epochs, status.void, *means, seconds, unfinished)
