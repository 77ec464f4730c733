"""The twenty benchmarks of thesis Table 4.2."""

from __future__ import annotations

from typing import NamedTuple


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
