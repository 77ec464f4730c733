"""Facts of a computer on which measured penalties depend, and their fingerprint."""

from __future__ import annotations

import hashlib
import json
import platform
from contextlib import suppress
from pathlib import Path

from .command import require_linux
from .topology import SYSFS, Seats, cpu_text, read_word


def machine_facts(seats: Seats) -> dict[str, str]:
    """Facts of this computer on which a penalty may depend; if one changes, the machine counts as
    another one.
    """
    psutil = require_linux()
    cpu: dict[str, str] = {}
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(errors="replace").splitlines():
            name, _, value = line.partition(":")
            cpu.setdefault(name.strip(), value.strip())
    return {
        "machine": _identity(),
        "processor": cpu.get("model name", platform.machine()),
        "microcode": cpu.get("microcode", "unknown"),
        "kernel": platform.release(),
        "governor": read_word(SYSFS / f"cpu{seats.cpus[0]}/cpufreq/scaling_governor") or "unknown",
        "threads of a core": read_word(SYSFS / "smt/control") or "unknown",
        "memory": f"{psutil.virtual_memory().total / 2**30:.0f} GiB",
        "seats": " | ".join(map(cpu_text, seats.parts)),
        "shared": seats.shared,
    }


def fingerprint(facts: dict[str, str]) -> str:
    """Short hash of the facts of a machine."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:12]


def _identity() -> str:
    """Identifier of this computer that does not reveal its name."""
    name = read_word(Path("/etc/machine-id")) or platform.node()
    return hashlib.sha256(f"cotenant {name}".encode()).hexdigest()[:12]
