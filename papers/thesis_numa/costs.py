"""The thesis's communication costs: the server, Tables 4.1 to 4.3, links, migration."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ...analysis.numa.technology import (
    Path,
    Recomputed,
    inter_blade_latency,
    link_energy_per_bit,
    migration_over_remote,
    recomputed,
)
from ...analysis.report.picture import Chart, HeatMap, Picture, Series
from ...instances.numa.generators import blade_server
from ...instances.numa.technology import THESIS
from ...instances.numa.workloads import BENCHMARKS, Benchmark
from ..charts import chart
from ..registry import Finding, addition, compare, equal

PATHS: tuple[Path, ...] = ("one hop", "two hops", "another blade")

REUSE = tuple(float(value) for value in np.round(np.geomspace(0.1, 10, 41), 4))
"""Accesses a byte of a migrated page, for figures 4.10 to 4.12; the thesis prints none."""

ENERGY_RANGE = (1.5, 5.0)
"""What section 4.5.3 prints for figure 4.10."""

ENERGY_RANGE_AGAIN = (2.0, 8.0)
"""What the same section prints for it further down."""

MEMORY_INTENSIVE = tuple(one for one in BENCHMARKS if one.intensity != "CI")
COMPUTE_INTENSIVE = tuple(one for one in BENCHMARKS if one.intensity == "CI")
SPARK = tuple(one for one in MEMORY_INTENSIVE if one.key.startswith("S"))


def figure_4_2(*, seed: int = 0) -> list[Finding | Picture]:
    """The server's cores, links and bridges, and its processors' hops; nothing is random."""
    server = blade_server()
    hops = server.distance
    blades, processors = server.blades, server.rows * server.columns
    connections = blades * (blades - 1) // 2
    near = int((hops[0] == 1).sum())
    names = tuple(
        f"blade {place // processors + 1}, {place % processors + 1}"
        for place in range(server.processors)
    )
    picture = HeatMap(
        "numa-figure-4.2", "Hops between the processors of the blade server", "processor",
        "processor", names, names,
        tuple(tuple(float(value) for value in row) for row in hops),
        f"hops; {server.blade_distance} stands for another blade",
        alt=f"Heat map of {server.processors} by {server.processors} processors in {blades} blocks "
            f"of {processors}: within a block 0 to {int(hops[:processors, :processors].max())} "
            "hops, every other block another blade.",
    )  # fmt: skip
    return [
        equal("cores of the server", "256", server.all_cores,
            "sixteen-core processors, four to a blade, four blades"),
        equal("connections of four blades, each to each", "6", connections, "section 4.2.3"),
        equal("bridges", "12", 2 * connections, "two to a connection"),
        equal("processors one hop away", "2", near, "section 4.5.2: a mesh of 2 x 2"),
        equal("processors IP-1 accepts, over those Local does", "3", near + 1,
            'section 4.5.2: "3x more likely to exit the queue"'),
        picture,
    ]  # fmt: skip


def table_4_1(*, seed: int = 0) -> list[Finding | Picture]:
    """Every latency, bandwidth, power and energy from its inputs; nothing is random."""
    versions = ("3.1", "2.0")
    printed, ours = (50.0, 150.0, 180.0, 410.0), (
        THESIS.dram_latency, THESIS.dram_latency + THESIS.ht_one_hop,
        THESIS.dram_latency + THESIS.ht_two_hops,
        inter_blade_latency(),
    )  # fmt: skip
    picture = chart("numa-table-4.1-latency", "Latency of a memory access by distance",
        "where the data is", "latency [ns]", {"printed": printed, "from its inputs": ours},
        x=("local", *PATHS), note="two hops: 50 ns of DRAM and the 130 ns of Table 4.3",
    )  # fmt: skip
    version = compare("version of HyperTransport", f"{versions[0]} (Table 4.1)",
        f"{versions[1]} (section 4.2.4)", versions[0] == versions[1],
        "the section adds that 3.0's specification is not public yet",
        "both are the thesis's own: the table and the section contradict each other")  # fmt: skip
    return [*_recomputed("Table 4.1", "4.2.1", "4.2.2", "4.2.3"), version, picture]


def figure_4_4(*, seed: int = 0) -> list[Finding | Picture]:
    """The links' share of the power of communication, per blade and as the peaks add up."""
    rows = {row.what: row.ours for row in recomputed()}
    memory, hyper = rows["its power"], rows["power of five paths"]
    pcie = rows["power of an inter-blade link"] * THESIS.pcie_connections / 4
    mine = (memory, hyper, pcie)
    picture = chart(
        "numa-figure-4.4",
        "Power of data communication, by channel",
        "channel",
        "power [W]",
        {
            "of one blade": [round(value, 3) for value in mine],
            "as printed (PCIe of the whole server)": (128.0, 40.0, 60.0),
        },
        x=("DRAM", "HyperTransport", "PCIe"),
        words=f"The links take {100 * (hyper + pcie) / sum(mine):.0f} % of a blade's.",
    )
    quarter = 0.25 * hyper
    use = compare("HyperTransport at typical utilization [W]", "10 to 20 (section 4.2.4)",
        f"{quarter:.1f}", 10 <= quarter <= 20,
        "at a quarter of the five paths' peak, the use that section 4.5.4 finds")  # fmt: skip
    return [*_recomputed("4.2.4"), use, picture]


def table_4_2(*, seed: int = 0) -> list[Finding | Picture]:
    """Whether bandwidth tells classes apart and goes with penalties (section 4.4.2)."""
    from scipy.stats import spearmanr

    bandwidth = [one.bandwidth for one in BENCHMARKS]
    ranks = {
        name: float(spearmanr(bandwidth, values).statistic)
        for name, values in _penalties(BENCHMARKS).items()
    }
    least = min(one.bandwidth for one in MEMORY_INTENSIVE)
    most = max(one.bandwidth for one in COMPUTE_INTENSIVE)
    slow = [one.pcie for one in SPARK]
    load = {
        one.key: 256 * one.bandwidth * 0.75 / 1000 for one in BENCHMARKS if one.key in ("P12", "S6")
    }
    links = THESIS.pcie_connections * THESIS.pcie_lanes * THESIS.pcie_lane_rate
    picture = Chart(
        "numa-table-4.2",
        "Demand for remote bandwidth and the penalty of distance",
        "demand [MB/s]",
        "service time over the local one",
        tuple(
            Series(
                name,
                tuple(bandwidth),
                tuple(values),
                "points",
                tips=tuple(f"{one.key} {one.name}" for one in BENCHMARKS),
            )
            for name, values in _penalties(BENCHMARKS).items()
        ),
        alt="Twenty benchmarks, penalty against bandwidth: both penalties grow with bandwidth, "
        f"rank correlation {ranks['HT-1']:.2f} one hop and {ranks['PCIe']:.2f} one blade away.",
        x_scale="log",
    )
    return [
        compare("bandwidth demand against penalties, rank correlation", "correlates",
            ", ".join(f"{name} {value:.2f}" for name, value in ranks.items()),
            min(ranks.values()) > 0.7, "Spearman"),
        compare("bandwidth tells memory- from compute-intensive", "measured to classify",
            f"memory-intensive from {least:g}, compute-intensive to {most:g} MB/s", least > most),
        compare("extremely memory-intensive tasks away from their data",
            "would saturate the interconnect",
            f"P12 {load['P12']:.0f} GB/s over PCIe of {links:.0f} GB/s, K-means {load['S6']:.0f}",
            load["P12"] > links > load["S6"],
            "256 cores, three quarters of the data on another blade"),
        compare("extremely memory-intensive benchmark", "P10 (section 4.5.2)",
            ", ".join(one.key for one in BENCHMARKS if one.intensity == "EMI"),
            any(one.key == "P10" for one in BENCHMARKS), "",
            "there is no P10; section 4.5.1 has P12"),
        compare("inter-blade delay of S1 to S6", "1.6 to 1.7 (section 4.5.3)",
            f"{min(slow):g} to {max(slow):g}",
            (round(min(slow), 1), round(max(slow), 1)) == (1.6, 1.7), "",
            "Table 4.2's own column says otherwise"),
        addition("two-hop penalty", f"1 + {1 + THESIS.extra_hop:.1f} (HT1 - 1)",
            "Table 4.2 has no such column; from 130 ns against 100 ns (Table 4.3)"),
        picture,
    ]  # fmt: skip


def table_4_3(*, seed: int = 0) -> list[Finding | Picture]:
    """The latencies from the technology model, and tasks a second (section 4.5.1)."""
    return [*_recomputed("Table 4.3", "4.5.1")]


def figure_4_10(*, seed: int = 0) -> list[Finding | Picture]:
    """Energy of migration over remote access, by how often a migrated byte is read."""
    curves = {
        path: [migration_over_remote(path, reuse, 1.0)["energy"] for reuse in REUSE]
        for path in PATHS
    }
    once = {path: migration_over_remote(path, 1.0, 1.0)["energy"] for path in PATHS}
    low, high = (_reuse_at("another blade", ratio) for ratio in ENERGY_RANGE)
    falling = all(above > below for curve in curves.values() for above, below in pairwise(curve))
    return [
        *_recomputed("eq. 4.1", "4.5.3"),
        compare("at one access a byte remote access costs less energy", "yes",
            ", ".join(f"migration {value:.2f} times ({path})" for path, value in once.items()),
            min(once.values()) > 1, "the thesis prints its benchmarks' accesses a byte nowhere"),
        compare("range of figure 4.10", "1.5 to 5.0",
            "2.0 to 8.0, further down in the same section", ENERGY_RANGE == ENERGY_RANGE_AGAIN,
            f"to another blade 1.5 to 5.0 is {low:.2f} to {high:.2f} accesses a byte",
            "both are the thesis's own: the section contradicts itself"),
        compare("many accesses of a page amortize its migration", "yes",
            "the ratio falls along each curve", falling),
        _curves(
            "numa-figure-4.10",
            "Energy of migration over remote access",
            "energy over that of remote access",
            curves,
        ),
    ]  # fmt: skip


def figure_4_11(*, seed: int = 0) -> list[Finding | Picture]:
    """Power of migration over that of remote access, with the penalties of K-means (S6)."""
    penalty = _of_paths(next(one for one in SPARK if one.key == "S6"))
    curves = {
        path: [migration_over_remote(path, reuse, penalty[path])["power"] for reuse in REUSE]
        for path in PATHS
    }
    least = min(
        ENERGY_RANGE[0] * _of_paths(one)[path] for one in MEMORY_INTENSIVE for path in PATHS
    )
    once = min(
        migration_over_remote(path, 1.0, _of_paths(one)[path])["power"]
        for one in MEMORY_INTENSIVE
        for path in PATHS
    )
    return [
        compare(
            "migration takes more power than remote access",
            "yes",
            f"at least {least:.2f} times in the range of figure 4.10",
            least > 1,
            f"memory-intensive benchmarks; at one access a byte at least {once:.2f} times",
        ),
        _curves(
            "numa-figure-4.11",
            "Power of migration over remote access",
            "power over that of remote access",
            curves,
            "penalties of K-means (S6)",
        ),
    ]


def figure_4_12(*, seed: int = 0, reuse: float = 1.0) -> list[Finding | Picture]:
    """Figure 4.12: energy times squared delay of migration over that of remote access, each
    benchmark at the same reuse.

    Parameters
    ----------
    reuse : accesses for each byte of a migrated page (D_access / D_page); the thesis prints it for
        no benchmark.
    """
    chosen = BENCHMARKS[:17]  # 18 to 20 are out of the thesis's scope
    value = {
        path: [migration_over_remote(path, reuse, _of_paths(one)[path])["ed2"] for one in chosen]
        for path in PATHS
    }
    heavy = [place for place, one in enumerate(chosen) if one in MEMORY_INTENSIVE]
    away = [chosen[place].key for place in heavy if value["another blade"][place] < 1]
    within = [
        chosen[place].key
        for place in heavy
        if min(value["one hop"][place], value["two hops"][place]) > 1
    ]
    at = f"{reuse:g} access{'' if reuse == 1 else 'es'} a byte"
    return [
        compare("ED^2 prefers migration to access on another blade", "yes",
            f"{len(away)} of {len(heavy)}: {_listed(away)}", len(away) == len(heavy),
            f"memory-intensive benchmarks, {at}; compute-intensive ones are not slowed"),
        compare("ED^2 prefers remote access over HyperTransport", "yes",
            f"{len(within)} of {len(heavy)}: {_listed(within)}", len(within) == len(heavy),
            f"memory-intensive benchmarks, one and two hops, {at}"),
        chart(
            "numa-figure-4.12",
            f"ED^2 of migration over remote access, {at}",
            "benchmark",
            "ED^2 over that of remote access",
            {path: [round(entry, 4) for entry in value[path]] for path in PATHS},
            x=[one.key for one in chosen],
            words=f"Below 1 migration is better: to another blade for {_listed(away)}.",
            note=f"every benchmark at {at}; its own number is not printed",
        ),
    ]  # fmt: skip


def _recomputed(*places: str) -> list[Finding]:
    """The figures of the technology model that are printed at these places."""

    def finding(row: Recomputed) -> Finding:
        printed, ours = f"{row.printed:g} {row.unit}".strip(), f"{row.ours:.4g} {row.unit}".strip()
        # the thesis prints what both follow from, not this number
        if ", derived from " in row.what:
            return addition(row.what, f"{printed}; by the energies of Table 4.1 {ours}",
                f"{row.place}: {row.how}")  # fmt: skip
        return compare(row.what, printed, ours, row.agrees, row.place, row.how)

    return [finding(row) for row in recomputed() if row.place.startswith(places)]


def _penalties(benchmarks: Sequence[Benchmark]) -> dict[str, list[float]]:
    return {"HT-1": [one.ht1 for one in benchmarks], "PCIe": [one.pcie for one in benchmarks]}


def _of_paths(one: Benchmark) -> dict[Path, float]:
    """Service time over the local one on each path; two hops by the ratio of Table 4.3."""
    return {
        "one hop": one.ht1,
        "two hops": 1 + (1 + THESIS.extra_hop) * (one.ht1 - 1),
        "another blade": one.pcie,
    }


def _reuse_at(path: Path, ratio: float) -> float:
    """Accesses a byte at which migration costs `ratio` x remote access (eqs. 4.1, 4.2)."""
    link, idle = link_energy_per_bit(path), THESIS.dram_energy_idle_eq
    return (2 * THESIS.dram_energy_busy + link) / (ratio * (link + idle) - idle)


def _curves(
    name: str, title: str, label: str, curves: dict[Path, list[float]], note: str = ""
) -> Chart:
    """A ratio over accesses a byte, a curve a path."""
    crossing = [f"{path} {_crossing(values)}" for path, values in curves.items()]
    remark = "the thesis's bars are single points of these curves, at numbers it does not print"
    return chart(name, title, "accesses for each byte of a page (D_access / D_page)", label,
        {path: [round(value, 5) for value in values] for path, values in curves.items()}, x=REUSE,
        style="line", words=f"Migration is the better beyond {', '.join(crossing)}.", x_scale="log",
        y_scale="log", note=f"{remark}; {note}" if note else remark)  # fmt: skip


def _listed(keys: Sequence[str]) -> str:
    return ", ".join(keys) or "none"


def _crossing(values: list[float]) -> str:
    first = next((place for place, value in enumerate(values) if value < 1), None)
    return "10 (never seen)" if first is None else f"{REUSE[first]:.2g}"
