"""Twenty workloads of the papers, and the synthetic contention model used in place of their
unpublished penalty matrix.

The measured 20 x 20 matrix of thesis fig. 2.8 was only ever a picture. What the text states of it:
an entry is the throughput lost beside a co-runner; penalties come from cache and memory bandwidth;
most stay within a 10 % tolerance; memory-heavy pairs suffer most; a few entries are slightly
negative, since runs vary. The model below reproduces these statements and nothing more; every
instance made from it says "synthetic".

Model, for a job of type x beside one of type y, with bandwidths b [GB/s]:

    pressure_y   = b_y / (b_y + half)                  saturating share of the memory system that y
    takes, 0 to 1 excess_xy    = max(0, b_x + b_y - capacity) / capacity      demand beyond what the
    memory system can serve penalty_xy   = sensitivity_x (cache * pressure_y + bandwidth *
    excess_xy) (1 + spread * g_xy) + noise * e_xy

`sensitivity_x` = 0.35 + 0.65 b_x / (b_x + half) times a factor exp(0.4 z_x) of its own:
memory-bound jobs lose most, but two jobs of equal demand differ. z, g and e are standard normal
draws of a generator seeded with `seed`: one seed, one matrix.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..problem.option_types import validate_options
from .instance import Floats

WORKLOADS: tuple[tuple[str, str, float], ...] = (
    ("correlation", "Spark", 25.05),
    ("decisiontree", "Spark", 21.03),
    ("fpgrowth", "Spark", 10.06),
    ("gradient", "Spark", 21.06),
    ("kmeans", "Spark", 0.32),
    ("regression", "Spark", 14.66),
    ("movie", "Spark", 5.69),
    ("bayesian", "Spark", 23.44),
    ("svm", "Spark", 14.59),
    ("blackscholes", "PARSEC", 0.99),
    ("bodytrack", "PARSEC", 0.15),
    ("canneal", "PARSEC", 3.34),
    ("dedup", "PARSEC", 0.93),
    ("facesim", "PARSEC", 1.80),
    ("fluidanimate", "PARSEC", 5.52),
    ("raytrace", "PARSEC", 0.57),
    ("stream", "PARSEC", 18.53),
    ("swaptions", "PARSEC", 0.07),
    ("vips", "PARSEC", 0.05),
    ("x264", "PARSEC", 4.00),
)
"""Name, suite, memory bandwidth [GB/s]: Cooper Table I, thesis Table 2.1."""


@validate_options
@dataclass(frozen=True)
class ContentionModel:
    """Parameters of the synthetic penalty model; the formula is in the module's docstring.

    Attributes
    ----------
    capacity : bandwidth the shared memory system serves without queueing [GB/s].
    half : bandwidth at which a job takes half of the cache's pressure range [GB/s].
    cache, bandwidth : penalty of a fully sensitive job from full cache pressure, and per unit of
        excess demand.
    spread : relative standard deviation of a pair's own deviation from the formula.
    noise : standard deviation of the measurement noise, in points of penalty.
    seed : of the types' own sensitivities, the pairs' deviations and the noise.
    """

    capacity: float = 28.0
    half: float = 6.0
    cache: float = 0.10
    bandwidth: float = 0.16
    spread: float = 0.30
    noise: float = 0.002
    seed: int = 2017

    def penalties(self, bandwidth: Floats) -> Floats:
        """Synthetic penalties (T, T) of types with these bandwidths [GB/s], to four decimals."""
        rng = np.random.default_rng(self.seed)
        demand = np.asarray(bandwidth, dtype=float)
        types = len(demand)
        own = np.exp(0.4 * rng.standard_normal(types))
        pair = 1 + self.spread * rng.standard_normal((types, types))
        error = self.noise * rng.standard_normal((types, types))
        pressure = demand / (demand + self.half)
        sensitivity = own * (0.35 + 0.65 * pressure)
        excess = np.maximum(0.0, demand[:, None] + demand[None, :] - self.capacity) / self.capacity
        loss = sensitivity[:, None] * (self.cache * pressure[None, :] + self.bandwidth * excess)
        # Four decimals are what such a measurement carries, and make every penalty an exact integer
        # after scaling.
        return np.asarray(
            np.round(np.minimum(loss * np.maximum(pair, 0.0) + error, 0.99), 4), dtype=float
        )
