"""Confidence intervals (95 %) of means and quantiles from one run of correlated values, by batch
means.

A queue at load .9 remembers itself for hundreds of tasks, so that batches of a short run are
correlated, and a run without a long queue shows neither how long queues get nor how long they last.
Five things keep the intervals honest:

- the batches' means are taken as an autoregressive process of order one (as in ASAP3, Steiger et
  al. 2005, and N-Skart, Tafazzoli et al. 2011), with the measured lag-one correlation corrected for
  its bias (Marriott and Pope 1954) and raised by RAISED standard errors and more where it is
  strong: windows without a long queue understate both it and the variance;
- Student's law with the degrees of freedom that this estimate has (delta method: k / (1 + 2 g) for
  k batches whose correlation multiplies the variance by g);
- a quantile's error is that of the share of tasks below it over the density there (Bahadur's
  representation), the density from the quantiles on both sides as in an exponential tail;
- for a high quantile that few independent tasks pass, the correlation measured at lower ones counts
  if it is stronger;
- intervals are of equal width up and down on a scale of logarithms, and the longer side is
  reported.

RAISED and STRONGEST are set so that the intervals hold the closed forms of M/M/c in 90 to 99 % of
the runs, from 1 to 256 cores, loads of .5 to .95 and windows of 10,000 tasks on;
`benchmarks/bench_numa.py --coverage` measures it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...instances.numa.instance import LEVELS, Floats

BATCHES = 80
"""Batches of consecutive tasks, of equal size; a rest smaller than a batch is left out."""

LADDER = (0.5, 0.8, 0.9, 0.95, 0.99)
"""The quantiles at which correlation is measured; those that are reported are among them."""

ENOUGH = 40
"""Independent tasks beyond a quantile that show how strongly passing it is correlated."""

RAISED = 1.4
"""Standard errors (of a correlation of 0) by which a measured correlation r is raised, times 1 + 2
r.
"""

STRONGEST = 0.85
"""The correlation of neighboring batches is taken as no stronger."""

WIDEST = 10.0
"""An interval that reaches farther than so many times its estimate says nothing: it is infinite."""

_SIDE = 0.975  # 2.5 % on either side


class Noise(NamedTuple):
    """Variance of the mean over a window of values, with its degrees of freedom.

    Attributes
    ----------
    variance : of the mean; 0 when all batches are equal.
    freedom : degrees of freedom of that estimate.
    correlation : of neighboring batches, as measured.
    """

    variance: float
    freedom: float
    correlation: float


def noise(values: Floats) -> Noise:
    """Variance of the mean of BATCHES or more correlated values, by means of batches."""
    size = len(values) // BATCHES
    batch = values[: size * BATCHES].reshape(BATCHES, size).mean(axis=1)
    deviation = batch - batch.mean()
    spread = float(deviation @ deviation)
    if spread == 0:
        return Noise(0.0, BATCHES / 3, 0.0)
    measured = float(deviation[1:] @ deviation[:-1]) / spread
    unbiased = measured + (1 + 4 * measured) / BATCHES
    raised = unbiased + RAISED * (1 + 2 * max(measured, 0.0)) / np.sqrt(BATCHES)
    correlation = min(max(raised, 0.0), STRONGEST)
    times = (1 + correlation) / (1 - correlation)
    # The sample variance is short by the variance of the mean itself.
    single = spread / (BATCHES - 1) / max(1 - (times - 1) / BATCHES, 0.2)
    return Noise(single * times / BATCHES, BATCHES / (1 + 2 * times), measured)


def mean_error(values: Floats) -> float:
    """Half width of the interval of the mean of consecutive values; infinite if undefined."""
    mean, found = float(values.mean()), noise(values)
    if mean <= 0:
        return 0.0
    return _half_width(mean, float(np.sqrt(found.variance)) / mean, found.freedom)


def wait_error(wait: Floats, response: Floats) -> float:
    """Half width of the 95 % confidence interval of the mean waiting time. If none of n tasks
    waited, it is as if three of them had waited as long as the longest response.
    """
    if wait.any():
        return mean_error(wait)
    return 3 / len(wait) * float(response.max())


def quantiles(values: Floats) -> tuple[Floats, Floats, float]:
    """Quantiles of a sequence at LEVELS, half widths of their intervals, and a correlation.

    The correlation is that of neighboring batches' shares of values up to the 95th percentile.
    """
    ladder = np.quantile(values, LADDER)
    found = [noise((values <= edge).astype(float)) for edge in ladder]
    number = len(values)
    # In how many tasks there is as much to learn as in one independent task, at each level.
    length = [
        max(1.0, one.variance * number / (level * (1 - level)))
        for one, level in zip(found, LADDER, strict=True)
    ]
    independent = number / length[0]
    error = []
    for level in LEVELS:
        place = LADDER.index(level)
        known = [k for k in range(place + 1) if (1 - LADDER[k]) * independent >= ENOUGH]
        longest = max(range(known[-1] if known else 0, place + 1), key=length.__getitem__)
        share = np.sqrt(level * (1 - level) * length[longest] / number)
        error.append(
            _half_width(
                float(ladder[place]), float(share) * _slope(values, level), found[longest].freedom
            )
        )
    return (
        ladder[[LADDER.index(level) for level in LEVELS]],
        np.array(error),
        found[LADDER.index(0.95)].correlation,
    )


def _slope(values: Floats, level: float) -> float:
    """Relative derivative of a quantile with respect to its level: 1 / (quantile x density)."""
    beyond = (1 - level) / 2
    low, middle, high = np.quantile(values, (level - beyond, level, level + beyond))
    return float((high - low) / (np.log(3) * (1 - level) * middle)) if middle > 0 else 0.0


def _half_width(estimate: float, relative: float, freedom: float) -> float:
    """Longer half of a confidence interval symmetric in logarithms, by relative standard error."""
    from scipy.special import stdtrit

    reach = float(stdtrit(freedom, _SIDE)) * relative
    return float(estimate * np.expm1(reach)) if reach < np.log1p(WIDEST) else np.inf
