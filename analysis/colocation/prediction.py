"""Policies on predicted penalties, which are measured on the true penalties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np

from ...instances.colocation.instance import Booleans, Colocation, Floats
from ...instances.colocation.missing import computed_penalty
from ...instances.problem.option_types import AtLeast, validate_options
from ...solvers.filtering import fill, sample_mask, tau


def predicted_instance(
    instance: Colocation,
    fraction: float,
    rng: np.random.Generator | None = None,
) -> Colocation:
    """Instance with predicted penalties, of which only a random share was profiled.

    Sampled penalties are exact, the others come from the item-based filter; which pairs are
    forbidden is known, and so are counts, bandwidths and machines. A pairing is feasible for the
    predicted instance iff it is for the true one. Predictions have no intervals.

    Parameters
    ----------
    instance : with the true penalties.
    fraction : share of the allowed entries (among types that have agents) that is profiled, above 0
        and at most 1.
    rng : draws the sample; `default_rng(0)` when not given.

    Raises
    ------
    InvalidOption
        A fraction out of range, or an instance in which nothing can be profiled.

    Notes
    -----
    Predictions are cut to at most 1 (or `unpaired`) and rounded to 12 decimals.
    Source: Cooper sections IV.A and VI.C (25 % sampled).
    """
    eligible = _profiled(instance)
    sampled = sample_mask(
        instance.penalty.shape, fraction, rng or np.random.default_rng(0), eligible
    )
    guess = fill(instance.penalty, sampled)
    highest = 1.0 if instance.unpaired is None else instance.unpaired
    penalty = np.where(
        eligible & ~sampled, computed_penalty(np.minimum(guess, highest)), instance.penalty
    )
    source = (
        f"{fraction:.0%} of the penalties sampled, the others predicted; truth: "
        f"{instance.source or instance.name}"
    )
    return instance.without_intervals(
        penalty=penalty, name=f"{instance.name}-predicted-{fraction:g}", source=source
    )


@validate_options
def predicted_penalties(penalty: Floats) -> Floats:
    """Penalties (T, T) with NaN replaced by predictions of the item-based filter; infinite entries
    are forbidden pairs. Raises InvalidOption without any known entry.
    """
    return fill(penalty, np.isfinite(penalty))


@dataclass(frozen=True)
class Accuracy:
    """Accuracy of penalties predicted from one share of samples, as Kendall's tau.

    Attributes
    ----------
    fraction : share sampled.
    mean, deviation : of tau over the repeats.
    """

    fraction: float
    mean: float
    deviation: float


@validate_options
def accuracy_curve(
    instance: Colocation,
    fractions: Sequence[float] = (0.2, 0.25, 0.3, 0.4, 0.5, 0.75),
    *,
    repeats: Annotated[int, AtLeast(1)] = 10,
    rng: np.random.Generator | None = None,
) -> tuple[Accuracy, ...]:
    """Share of preferences that predictions from a sample get right, by share of samples.

    Parameters
    ----------
    instance : with the true penalties; tau is taken over the allowed entries of types that have
        agents.
    fractions : shares sampled.
    repeats : samples drawn for each share.
    rng : source of the draws; `default_rng(0)` when not given.

    Notes
    -----
    Source: Cooper eq. 2 and fig. 12 (83 % at 25 % sampled, 95 % at 75 %, on a matrix that was never
    published).
    """
    generator = rng or np.random.default_rng(0)
    truth = np.where(_profiled(instance), instance.penalty, np.inf)
    points = []
    for fraction in fractions:
        scores = np.array([
            tau(truth,
            predicted_instance(instance, fraction, generator).penalty) for _ in range(repeats)
        ])  # fmt: skip
        points.append(Accuracy(fraction, float(scores.mean()), float(scores.std())))
    return tuple(points)


def _profiled(instance: Colocation) -> Booleans:
    """Whether each pair can be measured: two different agents that may share, shape (T, T)."""
    present = instance.count > 0
    allowed: Booleans = instance.allowed & present[:, None] & present[None, :]
    return allowed
