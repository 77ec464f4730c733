"""Refusal of work that exceeds the available memory."""

from __future__ import annotations

import os

from ..problem.errors import InvalidInstance


def available_memory() -> int | None:
    """Bytes of memory a new process could use now; None if the operating system does not say."""
    try:
        with open("/proc/meminfo") as stream:
            for line in stream:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def require_memory(needed: float, what: str) -> None:
    """Raise InvalidInstance if `needed` bytes exceed the available memory."""
    there = available_memory()
    if there is not None and needed > there:
        raise InvalidInstance(
            "jobs",
            f"too many for memory: {what} needs about {needed / 1e9:.1f} GB, "
            f"{there / 1e9:.1f} GB are free",
            "fewer jobs",
            "Use fewer users or jobs per user, or a machine with more memory",
        )
