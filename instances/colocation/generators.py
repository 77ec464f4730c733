"""Generators: populations with synthetic penalties, random and score-based preferences.

Penalties are of a contention model that stands for the papers' unpublished matrix. The measured
20 x 20 matrix of thesis fig. 2.8 was only ever a picture. What the text states of it: an entry is
the throughput lost beside a co-runner; penalties come from cache and memory bandwidth; most stay
within a 10 % tolerance; memory-heavy pairs suffer most; a few entries are slightly negative, since
runs vary. The model reproduces these statements and nothing more; every instance made from it says
"synthetic". For a job of type x beside one of type y, with bandwidths b [GB/s]:

    pressure_y = b_y / (b_y + half), the saturating share of the memory system that y takes
    excess_xy  = max(0, b_x + b_y - capacity) / capacity, the demand beyond what it can serve
    penalty_xy = sensitivity_x (cache * pressure_y + bandwidth * excess_xy) (1 + spread * g_xy)
                 + noise * e_xy

`sensitivity_x` = 0.35 + 0.65 b_x / (b_x + half) times a factor exp(0.4 z_x) of its own:
memory-bound jobs lose most, but two jobs of equal demand differ. z, g and e are standard normal
draws of a generator seeded with `seed`: one seed, one matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from ..problem.errors import InvalidOption
from ..problem.option_types import AtLeast, Between, validate_options
from .instance import Colocation, Floats, Integers
from .missing import computed_penalty

Mix = Literal["uniform", "beta-low", "gaussian", "beta-high"]
Agents = Annotated[int, AtLeast(1)]
Machines = Annotated[float, AtLeast(1, "processors", infinite=True)]


@validate_options
def population(
    *,
    agents: Agents = 1000,
    mix: Mix = "uniform",
    model_seed: Annotated[int, AtLeast(0)] = 2017,
    machines: Machines | None = None,
    error: Annotated[float, Between(0, 0.5, "a typical half width, in points of penalty")] = 0.0,
    rng: np.random.Generator,
) -> Colocation:
    """Jobs drawn with replacement from the twenty workloads of Cooper Table I, with synthetic
    penalties.

    A job's place among the workloads, ordered by bandwidth, is drawn from the mix (Cooper fig. 11,
    thesis fig. 2.14; their parameters are not printed, ours are): uniform on (0, 1), beta-low
    Beta(2, 5), beta-high Beta(5, 2), gaussian N(1/2, 0.15) cut to (0, 1).

    Parameters
    ----------
    agents : number of jobs; even, unless `machines` lets one run alone.
    mix : how memory-intensive the population is.
    model_seed : seed of the contention model; 2017 makes the matrix that every bundled population
        uses.
    machines : processors, see Colocation.
    error : of the measurement; 0 gives the true penalties. Above 0 each entry gets an interval of
        half width h, uniform from 0.5 to 1.5 times the error, and a measured penalty that is off by
        an amount uniform from -h to h, so that the true one lies inside; cut to -1 and 1. Counts
        are those of the same seed without error, whose penalties are the truth.
    rng : source of the draw.
    """
    bandwidth = np.array([entry[2] for entry in WORKLOADS])
    count = mixed_counts(bandwidth, agents, mix, rng)
    true = Colocation(
        penalty=ContentionModel(seed=model_seed).penalties(bandwidth),
        count=count,
        bandwidth=bandwidth,
        names=tuple(entry[0] for entry in WORKLOADS),
        machines=machines,
        name=f"cooper-{mix}-{agents}",
        source="synthetic: Cooper Table I's workloads and bandwidths; penalties by a "
        f"contention model, seed {model_seed}",
    )
    return with_error(true, error, rng) if error else true


def with_error(true: Colocation, error: float, rng: np.random.Generator) -> Colocation:
    """Add synthetic measurement errors to an instance; true penalties are in its intervals."""
    half = np.round(error * rng.uniform(0.5, 1.5, true.penalty.shape), _ERROR_DECIMALS)
    unit = 10.0**_ERROR_DECIMALS
    off = np.trunc(half * rng.uniform(-1, 1, half.shape) * unit) / unit  # never above half
    measured = np.clip(computed_penalty(true.penalty + off), -1.0, 1.0)
    measured = np.where(np.isfinite(true.penalty), measured, np.inf)
    return true.replace(
        penalty=measured,
        low=np.maximum(computed_penalty(measured - half), -1.0),
        high=np.minimum(computed_penalty(measured + half), 1.0),
        confidence=1.0,
        intervals="synthetic, the true penalty inside",
        name=f"{true.name}-error-{error:g}",
        source=f"{true.source}; measured with a synthetic error of half width about {error:g}",
    )


_ERROR_DECIMALS = 6
"""Of synthetic errors."""


@validate_options
def mixed_counts(demand: Floats, agents: Agents, mix: Mix, rng: np.random.Generator) -> Integers:
    """Draw the number of agents of each type (T,) from a mix over the types in order of demand.

    Parameters
    ----------
    demand : (T,) by which the types are ordered, in any unit.
    agents, mix, rng : see `population`.

    Raises
    ------
    InvalidOption
        No agents, or a mix that is not known.
    """
    place = np.minimum((mix_places(mix, agents, rng) * len(demand)).astype(int), len(demand) - 1)
    return np.bincount(np.argsort(demand)[place], minlength=len(demand)).astype(np.int64)


def mix_places(mix: Mix, number: int, rng: np.random.Generator) -> Floats:
    """Draw positions (number,) between 0 (least demand) and 1 (most demand) from a mix with the
    parameters of `population`.
    """
    if mix == "gaussian":
        place = rng.normal(0.5, 0.15, number)
        while (outside := (place <= 0) | (place >= 1)).any():
            place[outside] = rng.normal(0.5, 0.15, int(outside.sum()))
        return place
    if mix == "uniform":
        return rng.random(number)
    low, high = (2, 5) if mix == "beta-low" else (5, 2)
    return rng.beta(low, high, number)


@validate_options
def random_preferences(
    *, agents: Agents = 100, degree: int | None = None, rng: np.random.Generator
) -> Colocation:
    """Draw an instance of different agents, each with a uniformly random strict order of the other
    agents; penalty = rank / n.

    Parameters
    ----------
    agents : n; even, unless lists are incomplete.
    degree : mean number of acceptable partners; None for complete lists. With incomplete lists an
        agent may be left without partner (`unpaired` 1).
    """
    if degree is None:
        _even(agents)
    order = rng.random((agents, agents))
    allowed = ~np.eye(agents, dtype=bool)
    if degree is not None:
        if not 0 < degree < agents:
            raise InvalidOption(
                f"degree is {degree}; expected a number of acceptable partners from 1 to "
                f"agents - 1 = {agents - 1}"
            )
        keep = np.triu(rng.random((agents, agents)) < degree / (agents - 1), 1)
        allowed = keep | keep.T
    return from_scores(
        np.where(allowed, order, np.inf),
        name=f"random-preferences-{agents}",
        source="synthetic: uniformly random strict preferences, penalty = rank / n",
        incomplete=degree is not None,
    )


@validate_options
def score_preferences(
    *,
    agents: Agents = 100,
    noise: Annotated[float, Between(0, 10, "a width as a fraction of the scores' range")] = 0.15,
    rng: np.random.Generator,
) -> Colocation:
    """Draw an instance of different agents with penalty[i, j] = sensitivity_i x pressure_j + noise.

    Sensitivity and pressure are uniform on (0, 1), the noise on an interval around 0; the sum is
    scaled by 1 / (1 + noise / 2), so that no penalty exceeds 1, and rounded to 12 decimals.

    Parameters
    ----------
    agents : n, even.
    noise : width of the noise's interval, as a fraction of the scores' range.
    rng : source of the draw.
    """
    _even(agents)
    sensitivity, pressure = rng.random(agents), rng.random(agents)
    error = noise * (rng.random((agents, agents)) - 0.5)
    return Colocation(
        penalty=computed_penalty((np.outer(sensitivity, pressure) + error) / (1 + noise / 2)),
        count=np.ones(agents, dtype=int),
        bandwidth=pressure,
        name=f"scores-{agents}-noise-{noise:g}",
        source=f"synthetic: sensitivity x pressure + noise of width {noise:g}; bandwidth "
        "stands for pressure",
    )


def from_scores(
    scores: Floats, *, name: str, source: str, incomplete: bool, names: tuple[str, ...] = ()
) -> Colocation:
    """Build an instance of n different agents from scores (n, n), the lowest preferred: a penalty
    is one more than the number of lower scores in the row, over n and to 12 decimals; inf is
    unacceptable.
    """
    agents = len(scores)
    rank = np.array([np.searchsorted(np.sort(row), row) + 1.0 for row in scores])
    return Colocation(
        penalty=computed_penalty(np.where(np.isfinite(scores), rank / agents, np.inf)),
        count=np.ones(agents, dtype=int),
        names=names,
        unpaired=1.0 if incomplete else None,
        name=name,
        source=source,
    )


def _even(agents: int) -> None:
    if agents % 2:
        raise InvalidOption(
            f"agents is {agents}; expected an even number, since every agent gets a partner"
        )


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
