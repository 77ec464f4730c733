"""Migration of pages against remote access in the thesis: figures 4.10 to 4.12."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from ...analysis.numa.technology import Path, link_energy_per_bit, migration_over_remote
from ...analysis.report.picture import Chart
from ...instances.numa.technology import BENCHMARKS, THESIS, Benchmark
from ..charts import chart
from ..experiment import Parts, compare, each
from . import PAPER
from .costs import MEMORY_INTENSIVE, PATHS, SPARK, printed_at

REUSE = tuple(float(value) for value in np.round(np.geomspace(0.1, 10, 41), 4))
"""Accesses a byte of a migrated page, for figures 4.10 to 4.12; the thesis prints none."""

ENERGY_RANGE = (1.5, 5.0)
"""What section 4.5.3 prints for figure 4.10; further down it prints 2.0 to 8.0."""


@PAPER.experiment("figure-4.10", "fig. 4.10, section 4.5.3")
def figure_4_10() -> Parts:
    """Energy of migrating pages over that of remote access, and where it breaks even."""
    curves = _ratios("energy", dict.fromkeys(PATHS, 1.0))
    once = {path: migration_over_remote(path, 1.0, 1.0)["energy"] for path in PATHS}
    low, high = (_reuse_at("another blade", ratio) for ratio in ENERGY_RANGE)
    falling = all(above > below for curve in curves.values() for above, below in pairwise(curve))
    yield from printed_at("eq. 4.1", "4.5.3")
    yield compare("at one access a byte remote access costs less energy", "yes",
        ", ".join(f"migration {value:.2f} times ({path})" for path, value in once.items()),
        min(once.values()) > 1,
        "the thesis does not print how often its benchmarks access a byte")  # fmt: skip
    yield compare("range of figure 4.10", "1.5 to 5.0",
        "2.0 to 8.0, further down in the same section", False,
        f"to another blade ratios of 1.5 to 5.0 are reached at {low:.2f} to {high:.2f} accesses "
        "a byte",
        "the thesis prints both numbers: the section contradicts itself")  # fmt: skip
    yield compare("many accesses of a page amortize its migration", "yes",
        "the ratio falls along each curve", falling)  # fmt: skip
    yield _curves("10", "energy", curves)


@PAPER.experiment("figure-4.11", "fig. 4.11")
def figure_4_11() -> Parts:
    """Power of migrating pages over that of remote access."""
    penalties = [penalty_by_path(one) for one in MEMORY_INTENSIVE]
    least = min(ENERGY_RANGE[0] * penalty[path] for penalty in penalties for path in PATHS)
    once = min(
        migration_over_remote(path, 1.0, penalty[path])["power"]
        for penalty in penalties
        for path in PATHS
    )
    yield compare("migration takes more power than remote access", "yes",
        f"at least {least:.2f} times in the range of figure 4.10", least > 1,
        f"memory-intensive benchmarks; at one access a byte at least {once:.2f} times",
    )  # fmt: skip
    k_means = next(one for one in SPARK if one.key == "S6")
    curves = _ratios("power", penalty_by_path(k_means))
    yield _curves("11", "power", curves, "penalties of K-means (S6)")


@PAPER.experiment(
    "figure-4.12",
    "fig. 4.12",
    variations={"the accesses of a byte": each("reuse", 0.3, 0.5, 0.7, 2.0)},
)
def figure_4_12(*, reuse: float = 1.0) -> Parts:
    """Energy times squared delay of migrating pages over that of remote access.

    Parameters
    ----------
    reuse : accesses for each byte of a migrated page (D_access / D_page), the same of every
        benchmark; the thesis prints it for none.
    """
    chosen = BENCHMARKS[:17]  # 18 to 20 are out of the thesis's scope
    value = {
        path: [
            migration_over_remote(path, reuse, penalty_by_path(one)[path])["ed2"] for one in chosen
        ]
        for path in PATHS
    }
    of_key = {
        one.key: {path: value[path][index] for path in PATHS}
        for index, one in enumerate(chosen)
        if one in MEMORY_INTENSIVE
    }
    away = [key for key, ratio in of_key.items() if ratio["another blade"] < 1]
    within = [k for k, ratio in of_key.items() if min(ratio["one hop"], ratio["two hops"]) > 1]
    names = [", ".join(keys) or "none" for keys in (away, within)]
    at = f"{reuse:g} access{'' if reuse == 1 else 'es'} a byte"
    yield compare("ED^2 prefers migration to access on another blade", "yes",
        f"{len(away)} of {len(of_key)}: {names[0]}", len(away) == len(of_key),
        f"memory-intensive benchmarks, {at}; compute-intensive ones are not slowed")  # fmt: skip
    yield compare("ED^2 prefers remote access over HyperTransport", "yes",
        f"{len(within)} of {len(of_key)}: {names[1]}", len(within) == len(of_key),
        f"memory-intensive benchmarks, one and two hops, {at}")  # fmt: skip
    yield chart("numa-figure-4.12", f"ED^2 of migration over remote access, {at}", "benchmark",
        "ED^2 over that of remote access",
        {path: [round(entry, 4) for entry in value[path]] for path in PATHS},
        x=[one.key for one in chosen],
        words=f"Below 1 migration is better: to another blade for {names[0]}.",
        note=f"every benchmark at {at}; its own number is not printed")  # fmt: skip


def penalty_by_path(one: Benchmark) -> dict[Path, float]:
    """Service time on each path relative to local data; two hops by the ratio of Table 4.3."""
    two = 1 + (1 + THESIS.extra_hop) * (one.ht1 - 1)
    return {"one hop": one.ht1, "two hops": two, "another blade": one.pcie}


def _ratios(what: str, penalty: dict[Path, float]) -> dict[Path, list[float]]:
    """Cost of page migration over that of remote access on each path at each reuse count."""
    return {
        path: [migration_over_remote(path, reuse, penalty[path])[what] for reuse in REUSE]
        for path in PATHS
    }


def _reuse_at(path: Path, ratio: float) -> float:
    """Accesses per byte at which a page's migration costs `ratio` x remote access (equations 4.1
    and 4.2).
    """
    link, idle = link_energy_per_bit(path), THESIS.dram_energy_idle_eq
    return (2 * THESIS.dram_energy_busy + link) / (ratio * (link + idle) - idle)


def _curves(number: str, what: str, curves: dict[Path, list[float]], note: str = "") -> Chart:
    """Chart of migration over remote access by accesses per byte, a curve for each path."""
    beyond = []
    for path, values in curves.items():
        first = next((f"{x:.2g}" for x, value in zip(REUSE, values, strict=True) if value < 1), "")
        beyond.append(f"{path} {first or '10 (never seen)'}")
    remark = "the thesis's bars are single points of these curves, at numbers it does not print"
    return chart(f"numa-figure-4.{number}", f"{what.capitalize()} of migration over remote access",
        "accesses for each byte of a page (D_access / D_page)",
        f"{what} over that of remote access",
        {path: [round(value, 5) for value in values] for path, values in curves.items()}, x=REUSE,
        style="line", words=f"Migration is the better beyond {', '.join(beyond)}.", x_scale="log",
        y_scale="log", note=f"{remark}; {note}" if note else remark)  # fmt: skip
