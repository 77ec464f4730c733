"""Communication costs of the thesis: the server, Tables 4.1 to 4.3, and the links' power."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...analysis.numa.technology import Path, inter_blade_latency, recomputed
from ...analysis.report.picture import Chart, HeatMap, Series
from ...instances.numa.generators import blade_server
from ...instances.numa.technology import BENCHMARKS, THESIS
from ..charts import chart
from ..experiment import Finding, Parts, compare, equal
from . import PAPER

PATHS: tuple[Path, ...] = ("one hop", "two hops", "another blade")

MEMORY_INTENSIVE = tuple(one for one in BENCHMARKS if one.intensity != "CI")
COMPUTE_INTENSIVE = tuple(one for one in BENCHMARKS if one.intensity == "CI")
SPARK = tuple(one for one in MEMORY_INTENSIVE if one.key.startswith("S"))


@PAPER.experiment("figure-4.2", "fig. 4.2")
def figure_4_2() -> Parts:
    """The blade server: cores, links, bridges, and hops between its processors."""
    server = blade_server()
    hops = server.distance
    blades, processors = server.blades, server.rows * server.columns
    connections = blades * (blades - 1) // 2
    near = int((hops[0] == 1).sum())
    yield equal("cores of the server", "256", server.all_cores,
        "the server has four blades of four sixteen-core processors")  # fmt: skip
    yield equal("connections of four blades, each to each", "6", connections, "from section 4.2.3")
    yield equal("bridges", "12", 2 * connections, "each connection has two bridges")
    yield equal("processors one hop away", "2", near, "section 4.5.2 describes a mesh of 2 x 2")
    yield equal("processors IP-1 accepts, over those Local does", "3", near + 1,
        'section 4.5.2: "3x more likely to exit the queue"')  # fmt: skip
    names = tuple(
        f"blade {number // processors + 1}, {number % processors + 1}"
        for number in range(server.processors)
    )
    yield HeatMap(
        "numa-figure-4.2", "Hops between the processors of the blade server", "processor",
        "processor", names, names, tuple(map(tuple, np.asarray(hops, dtype=float).tolist())),
        f"hops; {server.blade_distance} stands for another blade",
        alt=f"Heat map of {server.processors} by {server.processors} processors in {blades} blocks "
            f"of {processors}: within a block 0 to {int(hops[:processors, :processors].max())} "
            "hops, every other block another blade.",
    )  # fmt: skip


@PAPER.experiment("table-4.1", "Table 4.1, sections 4.2.1 to 4.2.3")
def table_4_1() -> Parts:
    """Latency, bandwidth, power and energy of DRAM, HyperTransport and PCIe from their inputs."""
    yield from printed_at("Table 4.1", "4.2.1", "4.2.2", "4.2.3")
    yield compare("version of HyperTransport", "3.1 (Table 4.1)", "2.0 (section 4.2.4)", False,
        "the section adds that the specification of PCIe 3.0 is not public yet",
        "the thesis prints both numbers: the table and the section "
        "contradict each other")  # fmt: skip
    ours = (
        THESIS.dram_latency, THESIS.dram_latency + THESIS.ht_one_hop,
        THESIS.dram_latency + THESIS.ht_two_hops, inter_blade_latency(),
    )  # fmt: skip
    yield chart("numa-table-4.1-latency", "Latency of a memory access by distance",
        "where the data is", "latency [ns]",
        {"printed": (50.0, 150.0, 180.0, 410.0), "from its inputs": ours}, x=("local", *PATHS),
        note="two hops: 50 ns of DRAM and the 130 ns of Table 4.3")  # fmt: skip


@PAPER.experiment("figure-4.4", "fig. 4.4")
def figure_4_4() -> Parts:
    """Fraction of the power of data communication that the links take."""
    rows = {row.what: row.ours for row in recomputed()}
    memory, hyper = rows["its power"], rows["power of five paths"]
    pcie = rows["power of an inter-blade link"] * THESIS.pcie_connections / 4
    mine, quarter = (memory, hyper, pcie), 0.25 * hyper
    yield from printed_at("4.2.4")
    yield compare("HyperTransport at typical utilization [W]", "10 to 20 (section 4.2.4)",
        f"{quarter:.1f}", 10 <= quarter <= 20,
        "at a quarter of the peak of the five paths, which is the utilization found in "
        "section 4.5.4")  # fmt: skip
    bars = {
        "of one blade": [round(value, 3) for value in mine],
        "as printed (PCIe of the whole server)": (128.0, 40.0, 60.0),
    }
    yield chart("numa-figure-4.4", "Power of data communication, by channel", "channel",
        "power [W]", bars, x=("DRAM", "HyperTransport", "PCIe"),
        words=f"The links take {100 * (hyper + pcie) / sum(mine):.0f} % of a blade's.",
    )  # fmt: skip


@PAPER.experiment("table-4.2", "Table 4.2")
def table_4_2() -> Parts:
    """The benchmarks: demand for remote bandwidth against the penalties of distance."""
    from scipy.stats import spearmanr

    bandwidth = tuple(one.bandwidth for one in BENCHMARKS)
    penalties = {
        "HT-1": tuple(one.ht1 for one in BENCHMARKS), "PCIe": tuple(one.pcie for one in BENCHMARKS)
    }  # fmt: skip
    ranks = {n: float(spearmanr(bandwidth, values).statistic) for n, values in penalties.items()}
    yield compare("bandwidth demand against penalties, rank correlation", "correlates",
        ", ".join(f"{name} {value:.2f}" for name, value in ranks.items()),
        min(ranks.values()) > 0.7, "Spearman")  # fmt: skip
    least = min(one.bandwidth for one in MEMORY_INTENSIVE)
    most = max(one.bandwidth for one in COMPUTE_INTENSIVE)
    yield compare("bandwidth tells memory- from compute-intensive", "measured to classify",
        f"memory-intensive from {least:g}, compute-intensive to {most:g} MB/s",
        least > most)  # fmt: skip
    load = {one.key: 256 * one.bandwidth * 0.75 / 1000 for one in BENCHMARKS}
    links = THESIS.pcie_connections * THESIS.pcie_lanes * THESIS.pcie_lane_rate
    yield compare("extremely memory-intensive tasks away from their data",
        "would saturate the interconnect",
        f"P12 {load['P12']:.0f} GB/s over PCIe of {links:.0f} GB/s, K-means {load['S6']:.0f}",
        load["P12"] > links > load["S6"],
        "computed for 256 cores with three quarters of the data on another blade")  # fmt: skip
    yield compare("extremely memory-intensive benchmark", "P10 (section 4.5.2)",
        ", ".join(one.key for one in BENCHMARKS if one.intensity == "EMI"), "P10" in load, "",
        "the thesis has no benchmark P10; section 4.5.1 has P12")  # fmt: skip
    slow = [one.pcie for one in SPARK]
    yield compare("inter-blade delay of S1 to S6", "1.6 to 1.7 (section 4.5.3)",
        f"{min(slow):g} to {max(slow):g}", (round(min(slow), 1), round(max(slow), 1)) == (1.6, 1.7),
        "", "the column of Table 4.2 shows otherwise")  # fmt: skip
    tips = tuple(f"{one.key} {one.name}" for one in BENCHMARKS)
    yield Chart(
        "numa-table-4.2", "Demand for remote bandwidth and the penalty of distance",
        "demand [MB/s]", "service time over the local one",
        tuple(Series(name, bandwidth, values, "points", tips=tips)
              for name, values in penalties.items()),
        alt="Twenty benchmarks, penalty against bandwidth: both penalties grow with bandwidth, "
        f"rank correlation {ranks['HT-1']:.2f} one hop and {ranks['PCIe']:.2f} one blade away.",
        x_scale="log",
    )  # fmt: skip


@PAPER.experiment("table-4.3", "Table 4.3, section 4.5.1")
def table_4_3() -> Parts:
    """The simulation's parameters against the technology model, and tasks a second."""
    yield from printed_at("Table 4.3", "4.5.1")


def printed_at(*places: str) -> Iterator[Finding]:
    """Findings on figures of the technology model that the thesis prints in the given places."""
    for row in recomputed():
        # the thesis prints what a derived number follows from, not the number
        if row.place.startswith(places) and ", derived from " not in row.what:
            printed, ours = f"{row.printed:g} {row.unit}".strip(), f"{row.ours:.4g} {row.unit}"
            place = f"printed in {'section ' * row.place[0].isdigit()}{row.place}"
            yield compare(row.what, printed, ours.strip(), row.agrees, place,
                f"our number is {row.how}")  # fmt: skip
