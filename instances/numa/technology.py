"""The technology model (thesis section 4.2, Tables 4.1 and 4.3) as named constants, and the twenty
benchmarks of Table 4.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


@dataclass(frozen=True, kw_only=True)
class Technology:
    """Physical constants of a blade server, each with its unit and its place in the thesis.

    Defaults are the thesis's (data sheets of about 2012). Where the thesis gives two values for one
    thing, both stand here and `analysis.numa.technology` names the inconsistency.
    """

    # memory
    # ns; 4.2.1 and Table 4.3: array access of local memory (50 to 100 ns)
    dram_latency: float = 50.0
    dram_power: float = 2.0  # W/GB; 4.2.1, fig. 4.3: 2Gb DDR3 x8 (Micron)
    dram_channel: float = 8.0  # GB; 4.2.1: capacity of a channel
    dram_channels: float = 2.0  # per processor; 4.2.1
    dram_energy_busy: float = 70.0  # pJ/bit; Table 4.1 at 100 % utilization; eq. 4.1, E_Mem@100
    dram_energy_idle: float = 160.0  # pJ/bit; Table 4.1 at 20 % utilization
    dram_energy_idle_eq: float = 110.0  # pJ/bit; eq. 4.1, E_Mem@20
    dram_lane_rate: float = 0.2  # GB/s; Table 4.1: data rate of a lane
    dram_lanes: float = 64.0  # lanes; Table 4.1
    dram_clock: float = 667.0  # MHz; Table 4.3: double data rate, so 1.334 Gb/s a lane
    page: float = 4096.0  # byte; 4.5.3: page size
    line: float = 64.0  # byte; 4.5.3: cache line
    # HyperTransport, between the processors of a blade
    ht_transmit: float = 18.0  # ns; 4.2.2: transmitter logic
    ht_wire: float = 14.0  # ns; 4.2.2: packet transmission and link interface
    ht_receive: float = 18.0  # ns; 4.2.2: receiver logic
    ht_two_hops: float = 130.0  # ns; Table 4.3: round trip over two hops
    ht_lanes: float = 16.0  # lanes; 4.2.2: width of a path
    ht_lanes_table: float = 32.0  # lanes; Table 4.1
    ht_wires_per_lane: float = 4.0  # links; 4.2.2: differential pairs, two directions
    ht_serdes_energy: float = 10.0  # pJ/bit; 4.2.2: one SerDes
    ht_serdes_rate: float = 6.4  # Gb/s; 4.2.2: one SerDes
    ht_lane_rate: float = 0.8  # GB/s; Table 4.1: data rate of a lane
    ht_energy: float = 36.0  # pJ/bit; Table 4.1: transfer energy of one hop
    ht_paths: float = 5.0  # per blade; 4.2.2: servers may use five paths
    # PCIe, between blades
    pcie_access: float = 240.0  # ns; 4.2.3: a 64b transmission, DRAM's 50 ns included
    pcie_lane_power: float = 0.150  # W; 4.2.3: one lane
    pcie_lane_rate: float = 0.5  # GB/s; 4.2.3 and Table 4.1
    pcie_lanes: float = 32.0  # lanes; 4.2.3: a connection in both directions
    pcie_bridge: float = 2.5  # W; 4.2.3: bridge logic and SerDes
    pcie_connections: float = 6.0  # per server; 4.2.3: four blades, fully connected
    pcie_energy: float = 37.5  # pJ/bit; 4.2.3 and Table 4.1: transfer energy
    # hops; 4.2.3: expected HyperTransport hops of an inter-blade access, one a blade
    pcie_hops: float = 2.0
    # cores
    instructions: float = 100e6  # instructions; 4.5.1: a task
    clock: float = 2.5e9  # Hz; 4.5.1
    clock_table: float = 2.0e9  # Hz; Table 4.3
    instructions_per_cycle: float = 1.0  # per cycle; 4.5.1

    @property
    def ht_one_hop(self) -> float:
        """Latency [ns] of a round trip over one HyperTransport hop, without DRAM."""
        return 2 * (self.ht_transmit + self.ht_wire + self.ht_receive)

    @property
    def extra_hop(self) -> float:
        """Latency of each HyperTransport hop after the first, as a fraction of the first (0.3)."""
        return self.ht_two_hops / self.ht_one_hop - 1

    @property
    def service_mean(self) -> float:
        """Mean service time [s] of a task whose data is local (0.04)."""
        return self.instructions / (self.clock * self.instructions_per_cycle)


THESIS = Technology()
"""The thesis's numbers."""

EXTRA_HOP = 0.3
"""Penalty of each further hop relative to the first: 130 over 100 ns (Table 4.3)."""


class Benchmark(NamedTuple):
    """One benchmark of the thesis's Table 4.2: its remote memory traffic and remote service times.

    `intensity` is "EMI", "MI" or "CI" (extremely memory-, memory-, compute-intensive), `bandwidth`
    the demand for remote memory [MB/s], `ht1` and `pcie` the service time one HyperTransport hop
    and one blade away over the local one.
    """

    key: str
    name: str
    intensity: str
    bandwidth: float
    ht1: float
    pcie: float


BENCHMARKS: tuple[Benchmark, ...] = (
    Benchmark("S1", "Word count (Spark)", "MI", 264, 1.17, 1.67),
    Benchmark("S2", "Logistic regression", "MI", 242, 1.17, 1.60),
    Benchmark("S3", "Pagerank", "MI", 276, 1.22, 1.76),
    Benchmark("S4", "Transitive closure", "MI", 235, 1.19, 1.62),
    Benchmark("S5", "Alternating least squares", "MI", 231, 1.16, 1.55),
    Benchmark("S6", "K-means", "MI", 283, 1.22, 1.76),
    Benchmark("S7", "Pi", "CI", 21, 1.01, 1.04),
    Benchmark("M8", "Word count (Phoenix)", "MI", 111, 1.10, 1.33),
    Benchmark("M9", "Histogram", "CI", 42, 1.02, 1.05),
    Benchmark("M10", "String match", "CI", 28, 1.04, 1.12),
    Benchmark("M11", "Linear regression", "CI", 7, 1.00, 1.00),
    Benchmark("P12", "Facesim", "EMI", 2159, 1.39, 2.46),
    Benchmark("P13", "Dedup", "CI", 50, 1.09, 1.19),
    Benchmark("P14", "Bodytrack", "CI", 35, 1.02, 1.06),
    Benchmark("P15", "Vips", "CI", 23, 1.01, 1.04),
    Benchmark("P16", "Ferret", "CI", 73, 1.04, 1.18),
    Benchmark("P17", "Raytrace", "CI", 19, 1.02, 1.06),
    Benchmark("P18", "Swaptions", "CI", 5, 1.00, 1.00),
    Benchmark("P19", "Streamclusters", "CI", 4, 1.00, 1.00),
    Benchmark("P20", "Blackscholes", "CI", 3, 1.00, 1.00),
)
"""Table 4.2, in its order."""
