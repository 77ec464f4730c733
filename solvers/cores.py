"""How many processor cores a solver may use, and how several processes share them."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

VARIABLE = "COTENANT_CORES"
"""The environment's most cores; a process that shares the machine with others gets its share so."""

THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMEXPR_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS",
)  # fmt: skip
"""Variables by which the libraries beneath numpy, numba and Clarabel take how many threads to
start.
"""

CGROUPS = Path("/sys/fs/cgroup")


def cores() -> int:
    """Processor cores this process may use: its affinity, a container's share of processor time,
    and `COTENANT_CORES`.

    Raises
    ------
    InvalidOption
        `COTENANT_CORES` is no whole number of 1 or more.
    """
    return max(1, int(min(available(), _asked())))


def available() -> float:
    """Processor cores that the system leaves this process: its affinity, and a container's share of
    processor time.
    """
    affinity = getattr(os, "sched_getaffinity", None)
    found = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return min(found, _quota(CGROUPS, Path("/proc/self/cgroup")))


def sharing(processes: int = 1) -> dict[str, str]:
    """The environment of one of several processes that share the cores: at most its share, each at
    least one core.
    """
    share = max(1, cores() // processes)
    environment = {**os.environ, VARIABLE: str(share)}
    for name in THREADS:
        given = environment.get(name, "")
        environment[name] = given if given.isdecimal() and 0 < int(given) < share else str(share)
    return environment


def _asked() -> float:
    text = os.environ.get(VARIABLE, "")
    if not text:
        return math.inf
    if not text.isdecimal() or int(text) < 1:
        from ..instances.problem.errors import (
            InvalidOption,
        )  # it loads numpy, whose threads may be what is asked for

        raise InvalidOption(f"{VARIABLE} is {text!r}; expected a whole number of cores, at least 1")
    return int(text)


def _quota(root: Path, membership: Path) -> float:
    """Cores' worth of processor time that the control groups of this process allow, rounded up; inf
    without a limit.
    """
    least = math.inf
    with suppress(OSError, ValueError):
        for line in membership.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            folder = root / controllers if controllers else root
            for group in (folder / path.lstrip("/"), *_parents(folder, path)):
                least = min(least, _limit(group))
    return math.ceil(least) if math.isfinite(least) else math.inf


def _parents(folder: Path, path: str) -> Iterator[Path]:
    """The groups that hold the group at `path`: each limits it too. Inside a container the path may
    not be there at all.
    """
    for parent in Path(path.lstrip("/")).parents:
        yield folder / parent


def _limit(group: Path) -> float:
    """Processor seconds a second that one group allows, in either version of control groups; inf
    without a limit.
    """
    with suppress(OSError, ValueError):
        quota, period = (group / "cpu.max").read_text().split()
        return math.inf if quota == "max" else int(quota) / int(period)
    with suppress(OSError, ValueError):
        quota_us = int((group / "cpu.cfs_quota_us").read_text())
        return (
            math.inf if quota_us <= 0 else quota_us / int((group / "cpu.cfs_period_us").read_text())
        )
    return math.inf
