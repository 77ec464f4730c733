"""Jobs of a log with widths counted in one unit of resources."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from math import gcd

import numpy as np

from ..problem.documents import shortened
from ..problem.errors import InvalidOption
from .log import Log, of_jobs
from .split import MOST_UNITS
from .units import GPU, Amounts, Unit, amount_of, summed


def in_unit(log: Log, unit: Unit, brought: Sequence[int]) -> tuple[Log, list[str]]:
    """Restrict a log to jobs that hold some of a resource unit, with widths in that unit; and say
    what was left out or rounded.

    Parameters
    ----------
    brought : what each node or queue brings, in `unit.parts`; nothing when it is not known.

    Raises
    ------
    InvalidOption
        No job holds any, or one holds more than a cluster can have.
    """
    cache: dict[int, int] = {}
    for amounts in log.resources:
        if id(amounts) not in cache:
            cache[id(amounts)] = unit.whole(amounts)
    if (most := max(cache.values(), default=0)) >= 2**62:
        raise InvalidOption(
            f"unit is {unit.resource}, of which a job of {log.name} holds "
            f"{unit.count(f'{most / unit.parts:.3g}')}; correct it, or leave it out"
        )
    width = np.array([cache[id(amounts)] for amounts in log.resources], dtype=np.int64)
    waiting = [(job, unit.whole(job.resources)) for job in log.waiting]
    holding = np.flatnonzero(width > 0)
    if not len(holding):
        gpus = unit.resource.startswith(GPU) and not log.queues
        cure = ". They need AccountingStorageTRES=gres/gpu in slurm.conf" * gpus
        raise InvalidOption(
            f"unit is {unit.resource}, of which no job of {log.name} held any; the file has: "
            f"{shortened(', '.join(sorted(summed(log.resources))) or 'no AllocTRES')}{cure}"
        )
    numbers = [*width[holding].tolist(), *(wide for _, wide in waiting), *brought]
    # at most one of the unit, so that shares can divide what there is
    whole = grain = gcd(unit.parts, *numbers)
    grain *= max(1, -(-max(sum(brought), most) // (MOST_UNITS * grain)))
    rounded = -(-width[holding] // grain)
    notes = []
    if without := len(width) - len(holding):
        accounts = Counter(log.groups[g] for g in log.group[width == 0].tolist())
        who = ", ".join(f"{number} of {name}" for name, number in accounts.most_common(3))
        notes.append(
            f"jobs that hold no {unit.noun}: {without} of {len(width)} are left out ({who})"
        )
    types = Counter(_type_of(amounts) for amounts in log.resources)
    if unit.resource == GPU and len(names := [name for name in types if name]) > 1:
        shown = ", ".join(f"{name} {types[name]}" for name in sorted(names)[:4])
        notes.append(
            f"types of GPU are not seen ({len(names)}: {shown}): a wait for one counts as a wait "
            "for any; judge one with --unit gpu:TYPE"
        )
    if unit.resource.startswith(f"{GPU}:") and types["-"]:
        notes.append(f"jobs whose GPUs have no type in the log: {types['-']}, among those left out")
    if grain > whole:
        exact, run = width[holding].astype(float), log.run[holding]
        more = float(((rounded * float(grain) - exact) @ run) / (exact @ run))
        notes.append(
            f"amounts are rounded up to {float(Fraction(grain, unit.parts)):.3g} {unit.noun}; the "
            f"work of all jobs is {100 * more:.2g} % larger by that"
        )
    judged = replace(
        of_jobs(log, holding), processors=rounded, last=log.over,
        unit=replace(unit, size=Fraction(grain, unit.parts)),
        waiting=tuple(replace(job, processors=-(-wide // grain)) for job, wide in waiting if wide),
    )  # fmt: skip
    return judged, notes


def in_machines(unit: Unit, amounts: Amounts) -> int:
    """Number of machines of the game for some amounts, rounded up."""
    return -int(-Fraction(unit.whole(amounts), unit.parts) / unit.size // 1)


def _type_of(amounts: Amounts) -> str:
    """Type of a job's GPUs, "-" for GPUs of no type; "" without GPUs."""
    typed = [name for name in amounts if name.startswith(f"{GPU}:")]
    return typed[0].removeprefix(f"{GPU}:") if typed else "-" * (amount_of(amounts, GPU) > 0)
