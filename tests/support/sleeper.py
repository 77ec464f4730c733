"""A job whose penalties are known: it sleeps its work away, slower while others of its kind run.

    python -I -S sleeper.py NAME SECONDS FOLDER [OTHER=PENALTY ...]

For trying `cotenant measure` without a quiet machine: it needs no processor, only the clock
(`--time wall`). Jobs see each other by files of the folder, which must be there.
"""

from __future__ import annotations

import os
import sys
import time
from contextlib import suppress

MOST = 0.95
"""The most that others take together."""

_STEP = 0.004  # seconds between two looks at who is there


def beside(folder: str) -> dict[int, str]:
    """The other sleepers that run now in this folder: process -> name."""
    sleepers = {}
    for entry in os.listdir(folder):
        name, _, process = entry.rpartition(".")
        if not process.isdecimal() or int(process) == os.getpid():
            continue
        try:
            os.kill(int(process), 0)
        except ProcessLookupError:  # killed before it could take its file away
            with suppress(OSError):
                os.unlink(os.path.join(folder, entry))
            continue
        sleepers[int(process)] = name
    return sleepers


def age(process: int) -> float:
    """Seconds since a process began; 0 when it is gone."""
    try:
        with open(f"/proc/{process}/stat") as stream:
            began = int(stream.read().rpartition(")")[2].split()[19])
    except OSError:
        return 0.0
    return time.clock_gettime(time.CLOCK_BOOTTIME) - began / os.sysconf("SC_CLK_TCK")


def sleep(name: str, seconds: float, folder: str, penalty: dict[str, float]) -> None:
    """Work for `seconds` at the rate 1 - penalty while other sleepers run; penalties add up.

    What an interpreter takes to start is work too, and slowed as the rest: the time for which
    another was there before it could be seen is made up for when it is.
    """
    here = os.path.join(folder, f"{name}.{os.getpid()}")
    with open(here, "w"):
        pass
    try:
        left, last, seen = seconds - age(os.getpid()), time.monotonic(), set[int]()
        while left > 0:
            others = beside(folder)
            lost = min(MOST, sum(penalty.get(name, 0.0) for name in others.values()))
            for process in others.keys() - seen:
                left += penalty.get(others[process], 0.0) * min(age(process), age(os.getpid()))
            seen = set(others)
            time.sleep(min(_STEP, left / (1 - lost)))
            now = time.monotonic()
            left -= (now - last) * (1 - lost)
            last = now
    finally:
        os.unlink(here)


def main() -> None:
    """Run a sleeper job with the name, seconds and folder of the command line."""
    name, seconds, folder, *others = sys.argv[1:]
    pairs = (text.rpartition("=") for text in others)
    sleep(name, float(seconds), folder, {other: float(text) for other, _, text in pairs})


if __name__ == "__main__":
    main()
