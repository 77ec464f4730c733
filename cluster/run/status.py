"""How a queue stands while it runs, and what it came to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .first_come import Gain
from .queue_store import Entry


@dataclass(frozen=True)
class QueueStatus:
    """How a queue stands, for whoever waits.

    Attributes
    ----------
    predicted, half, measured : mean penalty predicted of the jobs that ended, half of its interval,
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
    gain : of the whole queue's groups over first come, first served; None where nothing was placed.
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
    gain: Gain | None = None

    @classmethod
    def of(
        cls,
        stop: Literal["finished", "interrupted"],
        entries: Sequence[Entry],
        seconds: float,
        epochs: int = 0,
        void: int = 0,
        *,
        predicted: float | None = None,
        half: float | None = None,
        measured: float | None = None,
        gain: Gain | None = None,
    ) -> Summary:
        """What it came to for these jobs."""
        states = Counter[str](entry.state for entry in entries)
        unfinished = tuple(
            (entry.name, f"{entry.state}: {entry.reason}")
            for entry in entries
            if entry.state in ("failed", "lost")
        )
        return cls(
            stop, dict(states), epochs, void, predicted, half, measured, seconds, unfinished, gain
        )


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

    def shown(self) -> dict[str, Any]:
        """What a `QueueStatus` says of them."""
        names = ("done", "failed", "certain", "possible", "void", "why")
        return {name: getattr(self, name) for name in names} | self.means()

    def means(self) -> dict[str, float | None]:
        """The penalties over what was seen; see `QueueStatus`."""
        sums = {"predicted": self.predicted, "half": self.half, "measured": self.measured}
        return {name: total / self.seen if self.seen else None for name, total in sums.items()}
