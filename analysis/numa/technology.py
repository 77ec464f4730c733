"""Technology model of thesis section 4.2 recomputed, and the comparison of migration with remote
access (section 4.5.3).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from ...instances.numa.instance import mesh_distance
from ...instances.numa.technology import THESIS as T
from ...instances.problem.option_types import Above, AtLeast, validate_options

Path = Literal["one hop", "two hops", "another blade"]
Reuse = Annotated[float, Above(0, "accesses to a byte moved")]


@dataclass(frozen=True)
class Recomputed:
    """Printed figure of the thesis beside its value recomputed from the thesis's inputs.

    Attributes
    ----------
    what, unit : the quantity.
    place : where it is printed.
    printed, ours : the two values.
    how : from which inputs.
    agrees : whether they are the same to the precision printed.
    """

    what: str
    unit: str
    place: str
    printed: float
    ours: float
    how: str
    agrees: bool


@validate_options
def recomputed() -> list[Recomputed]:
    """Recompute every figure of section 4.2, tables 4.1 and 4.3, and the break-evens of section
    4.5.3.

    The inconsistent ones are those that do not agree; `how` names both sides.
    """
    return [*_delays(), *_memory(), *_links(), *_break_evens(), *_rates()]


def inter_blade_latency() -> float:
    """Expected latency of an access to another blade [ns]: DRAM, PCIe round trip, and the hops to
    and from the bridges.

    On either blade the processor is any of the mesh and the bridge is one of them.
    """
    hops = mesh_distance(1, 2, 2)[0]
    mean = np.mean([_hop_delay(int(h)) for h in hops])
    return float(T.pcie_access + 2 * mean)


@validate_options
def link_energy_per_bit(path: Path) -> float:
    """Energy of the links on a path [pJ/bit], E_Link of equation 4.1 (109.5, printed 110)."""
    energy = {
        "one hop": T.ht_energy,
        "two hops": 2 * T.ht_energy,
        "another blade": T.pcie_energy + T.pcie_hops * T.ht_energy,
    }
    return energy[path]


@validate_options
def migration_energy(path: Path, reuse: Reuse) -> float:
    """Energy of migrating pages and reading them locally, per byte moved [pJ] (equation 4.1);
    `reuse` = D_access / D_page.
    """
    moved = 2 * T.dram_energy_busy + link_energy_per_bit(path)
    return 8 * (moved + reuse * T.dram_energy_idle_eq)


@validate_options
def remote_energy(path: Path, reuse: Reuse) -> float:
    """Energy of the same accesses made remotely, per byte of migration [pJ] (equation 4.2)."""
    return 8 * reuse * (link_energy_per_bit(path) + T.dram_energy_idle_eq)


@validate_options
def break_even(path: Path) -> float:
    """Accesses per byte of a page above which migration takes less energy: (2 E_Mem@100 + E_Link) /
    E_Link.

    E_Mem@20, printed as 160 in Table 4.1 and 110 in eq. 4.1, cancels.
    """
    link = link_energy_per_bit(path)
    return (2 * T.dram_energy_busy + link) / link


@validate_options
def migration_over_remote(
    path: Path,
    reuse: Reuse,
    penalty: Annotated[float, AtLeast(1, "a service time over the local one")],
) -> dict[str, float]:
    """Energy, power and ED^2 of migration relative to remote access; above 1 remote access is
    better.

    The delay of remote access is `penalty` times the local one, that of migration the local one:
    like the thesis (section 4.5.3) this leaves out the time of moving pages.
    """
    energy = migration_energy(path, reuse) / remote_energy(path, reuse)
    return {"energy": energy, "power": energy * penalty, "ed2": energy / penalty**2}


def _delays() -> list[Recomputed]:
    hops = T.ht_one_hop
    blade = inter_blade_latency()
    expected = blade - T.pcie_access
    return [
        _row("one way over HyperTransport", "ns", "4.2.2", 50, hops / 2, "18 + 14 + 18", 0.5),
        _row("access one hop away", "ns", "4.2.2", 150, hops + T.dram_latency,
            "round trip 100 + DRAM 50", 0.5),
        _row("two hops, round trip", "ns", "Table 4.3", 130, hops + 2 * T.ht_wire,
            "one hop + 14 more each way = 128", 2),
        _row("PCIe round trip", "ns", "4.2.3", 190, T.pcie_access - T.dram_latency, "240 - DRAM 50",
            0.5),
        _row("expected HyperTransport delay to and from bridges", "ns", "4.2.3", 170, expected,
            "2 x mean of 0, 100, 100, 130 over a 2 x 2 mesh", 0.5),
        _row("access on another blade", "ns", "4.2.3", 410, blade,
            "DRAM 50 + PCIe 190 + HyperTransport 165", 0.5),
        _row("PCIe, remote part", "ns", "Table 4.3", 360, 410 - T.dram_latency,
            "the printed 410 - DRAM 50", 0.5),
    ]  # fmt: skip


def _memory() -> list[Recomputed]:
    blade = T.dram_channel * T.dram_channels * 4
    channel = T.dram_lanes * T.dram_lane_rate * 8  # Gb/s
    busy, idle = channel * T.dram_energy_busy * 1e-3, 0.2 * channel * T.dram_energy_idle * 1e-3
    return [
        _row("memory of a blade", "GB", "4.2.1", 64, blade, "8 GB x 2 channels x 4 processors",
            0.5),
        _row("its power", "W", "4.2.1", 128, blade * T.dram_power, "64 GB x 2 W/GB", 0.5),
        _row("bandwidth of a channel", "GB/s", "Table 4.1", 12.8, channel / 8,
            "64 lanes x 0.2 GB/s", 0.05),
        _row("data rate of a lane", "GB/s", "Table 4.1", 0.2, 2 * T.dram_clock * 1e-3 / 8,
            "2 x 667 MHz of Table 4.3", 0.005),
        _row("power of an 8 GB channel at 100 %, derived from 2 W/GB", "W", "4.2.1",
            T.dram_power * T.dram_channel, busy, "102.4 Gb/s x 70 pJ/bit of Table 4.1", 0.5),
        _row("power of an 8 GB channel at 20 %, derived from 2 W/GB", "W", "4.2.1",
            T.dram_power * T.dram_channel, idle,
            "20.5 Gb/s x 160 pJ/bit of Table 4.1 (16.4 W were the channel busy)", 0.5),
        _row("E_Mem@20", "pJ/bit", "Table 4.1", T.dram_energy_idle, T.dram_energy_idle_eq,
            "by eq. 4.1, in which it cancels", 0.5),
    ]  # fmt: skip


def _links() -> list[Recomputed]:
    serdes = 2 * T.ht_lanes * T.ht_wires_per_lane
    path = serdes * T.ht_serdes_energy * T.ht_serdes_rate * 1e-3
    one_way = T.ht_lanes_table * T.ht_lane_rate * 8
    lanes = T.pcie_lanes * T.pcie_lane_power
    link = lanes + 2 * T.pcie_bridge
    blade = 64 * T.dram_power
    ours = T.ht_paths * path + link * T.pcie_connections / 4
    mixed = 40 + 60
    return [
        _row("SerDes of a path", "", "4.2.2", 128, serdes, "16 lanes x 4 links x 2 ends", 0.5),
        _row("power of a path", "W", "4.2.2", 8.2, path, "128 SerDes x 10 pJ/bit x 6.4 Gb/s", 0.05),
        _row("power of five paths", "W", "4.2.2", 40, T.ht_paths * path,
            "5 x 8.19, printed as up to 40", 1),
        _row("HyperTransport bandwidth, one way", "GB/s", "Table 4.1", 25.6, one_way / 8,
            "x32 lanes x 0.8 GB/s", 0.05),
        _row("HyperTransport lanes", "lanes", "Table 4.1", T.ht_lanes_table, T.ht_lanes,
            "for 16 lanes, as in section 4.2.2", 0.5),
        _row("HyperTransport energy", "pJ/bit", "Table 4.1", T.ht_energy, path / one_way * 1e3,
            "8.19 W / 204.8 Gb/s, but the break-evens need 36", 0.5),
        _row("power of a PCIe connection's lanes", "W", "4.2.3", 4.8, lanes, "32 lanes x 150 mW",
            0.05),
        _row("PCIe energy", "pJ/bit", "4.2.3", 37.5,
            T.pcie_lane_power / (T.pcie_lane_rate * 8) * 1e3, "150 mW / 4 Gb/s", 0.05),
        _row("PCIe energy with its bridges", "pJ/bit", "4.2.3", 37.5,
            link / (T.pcie_lanes * T.pcie_lane_rate * 8) * 1e3,
            "9.8 W / 128 Gb/s: the printed figure leaves the bridges out", 0.5),
        _row("power of an inter-blade link", "W", "4.2.3", 10, link, "4.8 + 2 x 2.5", 0.5),
        _row("power of six links", "W", "4.2.3", 60, 6 * link, "6 x 9.8, printed as up to 60", 2),
        _row("links' share of communication power", "%", "4.2.4, fig. 4.4: nearly 30 %", 30,
            100 * ours / (blade + ours),
            "per blade: 41 W HyperTransport + a quarter of 58.8 W PCIe, beside 128 W DRAM", 1),
        _row("the same, 40 W and 60 W added as printed", "%", "4.2.4, fig. 4.4: nearly 30 %", 30,
            100 * mixed / (blade + mixed),
            "of 40 W of a blade and 60 W of a server, which cannot be added", 1),
    ]  # fmt: skip


def _break_evens() -> list[Recomputed]:
    link = link_energy_per_bit("another blade")
    rows = [
        _row("E_Link to another blade", "pJ/bit", "eq. 4.1", 110, link,
            "37.5 + 2 expected hops x 36", 0.6)
    ]  # fmt: skip
    printed: tuple[tuple[Path, float], ...] = (
        ("another blade", 2.2),
        ("two hops", 2.9),
        ("one hop", 4.8),
    )
    for path, value in printed:
        ours = break_even(path)
        how = "(2 x 70 + E_Link) / E_Link; printed truncated"
        same = bool(np.floor(ours * 10 + 1e-9) / 10 == value)
        what = f"break-even, {path}"
        rows.append(Recomputed(what, "accesses/byte", "4.5.3", value, ours, how, same))
    return rows


def _rates() -> list[Recomputed]:
    def rate(clock: float) -> float:
        return 256 * clock * T.instructions_per_cycle / T.instructions

    return [
        _row("tasks of 256 cores", "1/s", "4.5.1", 6400, rate(T.clock),
            "2.5 GHz, 100 million instructions, IPC 1", 0.5),
        _row("the same at the clock of Table 4.3", "1/s", "4.5.1", 6400, rate(T.clock_table),
            "2 GHz", 0.5),
    ]  # fmt: skip


def _row(
    what: str, unit: str, place: str, printed: float, ours: float, how: str, precision: float
) -> Recomputed:
    return Recomputed(what, unit, place, printed, ours, how, bool(abs(printed - ours) <= precision))


def _hop_delay(hops: int) -> float:
    """Round-trip delay over h hops [ns], from table 4.3."""
    return 0.0 if hops == 0 else T.ht_one_hop + (hops - 1) * (T.ht_two_hops - T.ht_one_hop)
