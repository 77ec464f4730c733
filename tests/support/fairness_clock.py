"""Debts by the clock, second by second, from the text of a small log: an oracle for units, and for
what Kueue's objects say.

Widths are counted again from the requests that the log was made of; coalitions are played by the
clock (`oracles.scheduling`), each second of each job is put down with its worth.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import permutations
from math import gcd, lcm
from pathlib import Path
from typing import Any

import numpy as np

from cotenant.analysis.scheduling.fairness import fairness
from cotenant.instances.scheduling import Scheduling
from cotenant.instances.scheduling.accounts import Source
from support.kueue_objects import VERSIONS, cluster_queue, listed, local_queue, made, workload
from support.oracles.scheduling import Clockwork
from support.sacct import holding, text_of

UNITS = ("cpu", "gpu", "gpu:a", "memory", "billing", "kueue", "kueue:a")


@dataclass
class Asked:
    """A job: who, when (seconds), and what of each resource: CPUs, GPUs of types a and b, half GiB,
    billing.
    """

    owner: int
    submit: int
    start: int
    run: int
    cpus: int
    a: int
    b: int
    halves: int
    billing: int

    @property
    def tres(self) -> str:
        gpus = "".join(f",gres/gpu:{kind}={n}" for kind, n in (("a", self.a), ("b", self.b)) if n)
        gpus += f",gres/gpu={self.a + self.b}" * (self.a + self.b > 0)
        return f"cpu={self.cpus},mem={self.halves / 2}0G,billing={self.billing}{gpus}"


def width(job: Asked, unit: str) -> Fraction:
    """Amount of a unit (CPUs, GPUs, GiB or billing) that a job holds."""
    kind = unit.removeprefix("kueue").removeprefix("gpu").removeprefix(":")
    gpus = {"": job.a + job.b, "a": job.a}.get(kind, 0)
    others: dict[str, Any] = {
        "cpu": job.cpus,
        "memory": Fraction(job.halves, 2),
        "billing": job.billing,
    }
    return Fraction(others.get(unit, gpus))


def drawn(rng: np.random.Generator, unit: str) -> tuple[list[Asked], int]:
    """Random jobs of two or three accounts, of which at least one job holds some of the unit."""
    k = int(rng.integers(2, 4))
    while True:
        jobs = []
        for _ in range(int(rng.integers(1, 7))):
            submit = int(rng.integers(0, 8))
            a, b = (int(rng.integers(0, 3)) for _ in "ab")
            if unit.startswith("kueue"):  # a workload gets one flavor
                a, b = (a, 0) if rng.integers(2) else (0, b)
            jobs.append(
                Asked(
                    int(rng.integers(k)), submit, submit + int(rng.integers(0, 5)),
                    int(rng.integers(1, 6)), int(rng.integers(1, 4)), a, b,
                    int(rng.integers(1, 6)), int(rng.integers(1, 5)),
                )
            )  # fmt: skip
        if any(width(job, unit) for job in jobs):
            return jobs, k


def wrongs(seed: int, unit: str, folder: Path) -> Iterator[str]:
    """Organizations of one small log whose debts differ from those by the clock."""
    rng = np.random.default_rng([seed, UNITS.index(unit)])
    jobs, k = drawn(rng, unit)
    kueue = unit.startswith("kueue")
    path = folder / ("kueue.json" if kueue else "sacct.txt")
    over = max(job.start + job.run for job in jobs)
    if kueue:
        quota = rng.integers(0, 4, (k, 2))
        quota[rng.integers(k)] += 2  # of both flavors, so that every job fits
        weights = rng.integers(1, 4, k)
        path.write_text(json.dumps(_objects(rng, jobs, quota, weights)))
        source = Source(unit=unit.replace("kueue", "gpu"))
        column = slice(0, 1) if unit == "kueue:a" else slice(0, 2)
        own = [Fraction(int(row[column].sum())) for row in quota]
        over += 1
        names = list(range(k))
    else:
        lines = [
            holding(str(n), f"q{job.owner}", job.submit, job.start, job.run, job.tres, job.cpus)
            for n, job in enumerate(jobs)
        ]
        path.write_text(text_of(lines))
        a, b = int(rng.integers(4, 9)), int(rng.integers(4, 9))
        (folder / "nodes.txt").write_text(
            f"NodeName=n CPUTot=9 State=IDLE RealMemory=8192 Gres=gpu:a:{a},gpu:b:{b}\n"
        )
        total = {"cpu": 9, "memory": 8, "gpu": a + b, "gpu:a": a, "billing": 11}[unit]
        source = Source(
            unit=unit, nodes=str(folder / "nodes.txt"), machines=11 if unit == "billing" else None
        )
        jobs = [job for job in jobs if width(job, unit)]
        names = sorted({job.owner for job in jobs})
        parts = dict.fromkeys(names, 1)
        if rng.integers(2):
            parts = {name: int(rng.integers(1, 100)) for name in names}
            shares = ",".join(f"q{name}={part}" for name, part in parts.items())
            source = replace(source, shares=shares)
        own = [Fraction(total * parts[name], sum(parts.values())) for name in names]
    found = fairness(str(path), source, ties=0, reference="REF")
    jobs = [job for job in jobs if width(job, unit)]
    jobs.sort(key=lambda job: job.submit)
    if kueue and not sum(own):
        return
    begin = min(job.submit for job in jobs)
    horizon = over - begin
    grain = _grain([width(job, unit) for job in jobs] + own)
    ours = {name: float(value) for name, value in zip(found.names, found.owed, strict=True)}
    theirs = _by_clock(jobs, names, own, grain, unit, begin, horizon)
    for name, value in theirs.items():
        if abs(ours[f"q{name}"] - value) > 1e-9 * max(1.0, abs(value)):
            yield f"{unit}: q{name} is owed {ours[f'q{name}']}, by the clock {value}"


def _grain(amounts: list[Fraction]) -> Fraction:
    """The largest amount of which all are multiples."""
    scale = lcm(*(each.denominator for each in amounts))
    return Fraction(gcd(*(int(each * scale) for each in amounts)), scale)


def _by_clock(
    jobs: list[Asked], names: list[int], own: list[Fraction], grain: Fraction, unit: str,
    begin: int, horizon: int,
) -> dict[int, float]:  # fmt: skip
    """Debt to each organization in hours of the unit, by the clock."""
    instance = Scheduling(
        machines=[int(each / grain) for each in own],
        organization=[names.index(job.owner) for job in jobs],
        release=[job.submit - begin for job in jobs],
        processing=[job.run for job in jobs],
        processors=[int(width(job, unit) / grain) for job in jobs],
        horizon=horizon, backfilling=True,
    )  # fmt: skip
    received = [Fraction(0)] * len(names)
    for job in jobs:
        for second in range(job.start - begin, min(job.start - begin + job.run, horizon)):
            received[names.index(job.owner)] += (horizon - second) * width(job, unit) / grain
    clock = Clockwork(instance, "REF")
    value = {inside: Fraction(pool.psi(horizon)) for inside, pool in clock.pools.items()}
    everyone = frozenset(range(len(names)))
    value[everyone], value[frozenset()] = sum(received, Fraction(0)), Fraction(0)
    found = {}
    orders = list(permutations(everyone))
    for u, name in enumerate(names):
        added = Fraction(0)
        for order in orders:
            before = frozenset(order[: order.index(u)])
            added += value[before | {u}] - value[before]
        owed = added / len(orders) - received[u]
        found[name] = float(owed * grain * 2 / horizon / 3600)
    return found


def _objects(
    rng: np.random.Generator, jobs: list[Asked], quota: np.ndarray, weights: np.ndarray
) -> object:
    version = VERSIONS[int(rng.integers(2))]
    items = [made("ResourceFlavor", name, version) for name in "ab"]
    for u, (row, weight) in enumerate(zip(quota.tolist(), weights.tolist(), strict=True)):
        quotas = {"a": row[0], "b": row[1]}
        items += [
            cluster_queue(f"q{u}", quotas, version, weight=str(weight)),
            local_queue(f"q{u}", version),
        ]
    for number, job in enumerate(jobs):
        flavor = "a" if job.a else "b"
        item = workload(
            f"j{number}", f"q{job.owner}", job.submit, job.start, job.start + job.run,
            job.a + job.b, version, flavor,
        )  # fmt: skip
        items.append(item)
    return listed([items[n] for n in rng.permutation(len(items))])
