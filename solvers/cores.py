"""Number of processor cores a solver may use, and their division among processes."""

from __future__ import annotations

import math
import os
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
    """Number of cores this process may use: its affinity, a container's quota, and
    `COTENANT_CORES`.

    Raises
    ------
    InvalidOption
        `COTENANT_CORES` is no whole number of 1 or more.
    """
    return max(1, int(min(available(), _asked())))


def available() -> float:
    """Number of cores that the system allows: affinity and a container's quota."""
    affinity = getattr(os, "sched_getaffinity", None)
    found = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    return min(found, _quota(CGROUPS, Path("/proc/self/cgroup")))


def sharing(processes: int = 1) -> dict[str, str]:
    """Environment of one of several processes that divide the cores."""
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
    """Cores that the control groups of this process allow, rounded up; infinite without a limit."""
    least = math.inf
    with suppress(OSError, ValueError):
        for line in membership.read_text().splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and "cpu" not in controllers.split(","):
                continue
            folder = root / controllers if controllers else root
            group = Path(path.lstrip("/"))
            for part in (group, *group.parents):
                least = min(least, _limit(folder / part))
    return math.ceil(least) if math.isfinite(least) else math.inf


def _limit(group: Path) -> float:
    """Processor seconds a second that one control group allows, in version 1 or 2; infinite without
    a limit.
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
