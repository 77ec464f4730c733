"""Statistical tests of which methods differ over many instances, paired by instance.

Demsar, Statistical comparisons of classifiers over multiple data sets (2006), section 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import combinations
from math import inf, sqrt
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..metric import Sense
from .aggregate import Values, reaches

LEAST_INSTANCES = 6
"""With fewer no two-sided signed-rank test has a p-value below 5 %: the least is 2 / 2^n."""
LEVEL = 0.05
"""Probability of calling any two methods different where none differ."""
MOST_EXACT = 200
"""Instances up to which p-values are exact, with ties and zeros; above, of the normal limit."""

Floats = NDArray[np.float64]


class Pair(NamedTuple):
    """Comparison of a method with the reference: numbers of instances on which it is better and
    worse, rank-biserial correlation (1: better on all), Holm's p-value, and the Hodges-Lehmann
    estimate of the difference of values with its 95 % interval, over the instances that both
    answered.
    """

    method: str
    better: int
    worse: int
    effect: float
    p_value: float
    difference: float | None
    low: float | None
    high: float | None


class Ranking(NamedTuple):
    """Methods by their mean ranks, the best first; `pairs` of the others with the reference, out of
    `tests` that Holm's correction is over; Friedman's p-value (None of two methods), Nemenyi's
    critical difference of mean ranks, and the largest groups of methods that are less apart.
    """

    mean_ranks: dict[str, float]
    reference: str
    pairs: list[Pair]
    tests: int
    friedman: float | None
    critical: float
    groups: list[list[str]]


def rank_methods(values: Values, sense: Sense, against: str | None = None) -> Ranking:
    """Test which of at least two methods differ in one metric over at least 6 instances.

    Parameters
    ----------
    values : method -> its value on each instance; None, no answer, is worse than every answer.
        Values within `aggregate.WIN_TOLERANCE` are equal.
    sense : "min" or "max".
    against : the reference, with Holm's correction over its pairs. Without it the method of the
        least mean rank is, which is known from the same values: the correction is over all pairs.

    Examples
    --------
    >>> found = rank_methods({"GR": [3, 4, 5, 6, 7, 8], "SMR": [2, 2, 2, 2, 2, 2]}, "min")
    >>> found.reference, found.pairs[0].p_value, found.pairs[0].difference
    ('SMR', 0.03125, 3.5)
    """
    from scipy.stats import friedmanchisquare, rankdata, studentized_range

    names, sign = list(values), -1.0 if sense == "max" else 1.0
    costs = [[inf if each is None else sign * each for each in row] for row in values.values()]
    table = np.apply_along_axis(_without_noise, 0, np.array(costs))
    ranks: Floats = rankdata(table, axis=0)
    friedman = None
    if len(names) > 2:  # its statistic is 0 / 0 where all tie everywhere
        friedman = 1.0 if (ranks == ranks[0]).all() else float(friedmanchisquare(*ranks).pvalue)
    quantile = float(studentized_range.ppf(1 - LEVEL, len(names), inf)) / sqrt(2)
    critical = quantile * sqrt(len(names) * (len(names) + 1) / (6 * table.shape[1]))
    mean = ranks.mean(axis=1)
    order = [int(place) for place in np.argsort(mean, kind="stable")]
    first = order[0] if against is None else names.index(against)
    tested = [
        pair for pair in combinations(range(len(names)), 2) if against is None or first in pair
    ]
    tests = {(i, j): signed_rank_test(_paired(table[i], table[j])) for i, j in tested}
    p_values = dict(zip(tests, holm([p_value for p_value, _ in tests.values()]), strict=True))
    pairs = []
    for other in (place for place in order if place != first):
        costs_paired = _paired(table[other], table[first])
        both = np.isfinite(table[[other, first]]).all(axis=0)
        apart = sign * (table[other][both] - table[first][both])
        pair = min(first, other), max(first, other)
        better, worse = int((costs_paired < 0).sum()), int((costs_paired > 0).sum())
        effect = tests[pair][1] if pair[0] == other else 0.0 - tests[pair][1]
        ends = hodges_lehmann(apart)
        pairs.append(Pair(names[other], better, worse, effect, p_values[pair], *ends))
    ranked = {names[place]: float(mean[place]) for place in order}
    groups: list[list[str]] = []
    for low in ranked.values():
        near = [name for name, rank in ranked.items() if low <= rank < low + critical]
        if not groups or near[-1] != groups[-1][-1]:
            groups.append(near)
    return Ranking(ranked, names[first], pairs, len(tests), friedman, critical, groups)


def _without_noise(costs: Floats) -> Floats:
    """Costs of one instance with those that differ only by solver tolerance made equal."""
    found, last = costs.copy(), None
    for place in np.argsort(costs):
        value = float(costs[place])
        found[place] = last = value if last is None or not reaches(value, last) else last
    return found


def _paired(one: Floats, other: Floats) -> Floats:
    """Differences of costs; infinite ones are replaced by one larger than all others."""
    with np.errstate(invalid="ignore"):
        found = np.where(one == other, 0.0, one - other)
    # to 10 digits: what is equal on paper has one rank
    found = np.array([float(f"{value:.10g}") for value in found])
    largest = np.abs(found[np.isfinite(found)]).max(initial=0.0) * 2 + 1
    return np.clip(found, -largest, largest)


def signed_rank_test(differences: Floats) -> tuple[float, float]:
    """Wilcoxon's two-sided p-value, and the rank-biserial correlation (above 0: less cost). Zeros
    are ranked, and then in neither sum (Pratt).
    """
    from scipy.stats import rankdata, wilcoxon

    ranks: Floats = rankdata(np.abs(differences))
    less, more = float(ranks[differences < 0].sum()), float(ranks[differences > 0].sum())
    if not less + more:
        return 1.0, 0.0
    if len(ranks) > MOST_EXACT:
        p_value = float(wilcoxon(differences, zero_method="pratt", method="asymptotic").pvalue)
    else:  # scipy's is exact with ties for 13 instances at most, and takes seconds
        chances = _chances_of_sums(tuple(int(2 * rank) for rank in ranks[differences != 0]))
        p_value = min(1.0, 2 * float(chances[: int(2 * min(less, more)) + 1].sum()))
    return p_value, (less - more) / float(ranks.sum())


@cache
def _chances_of_sums(weights: tuple[int, ...]) -> Floats:
    """Probability of each sum of weights of which each is taken with probability 1/2."""
    chances = np.ones(1)
    for weight in weights:
        none = np.zeros(weight)
        chances = (np.concatenate((chances, none)) + np.concatenate((none, chances))) / 2
    return chances


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values corrected for their number by Holm's step-down procedure (1979)."""
    found, least = [0.0] * len(p_values), 0.0
    for place, index in enumerate(np.argsort(p_values, kind="stable")):
        least = max(least, min(1.0, (len(p_values) - place) * p_values[index]))
        found[index] = least
    return found


def hodges_lehmann(differences: Floats) -> tuple[float | None, float | None, float | None]:
    """Median of the pairwise means of differences with the ends of its distribution-free 95 %
    interval (Hollander and Wolfe, section 3.3); None where there are too few.
    """
    from scipy.stats import norm

    if not (count := len(differences)):
        return None, None, None
    i, j = np.triu_indices(count)
    means = np.sort((differences[i] + differences[j]) / 2)
    if count > MOST_EXACT:
        half = count * (count + 1) / 4
        cut = int(norm.ppf(LEVEL / 2, half, sqrt(half * (2 * count + 1) / 6)))
    else:
        below = np.cumsum(_chances_of_sums(tuple(range(1, count + 1))))
        cut = int(np.searchsorted(below, LEVEL / 2, side="right"))
    ends = (float(means[cut - 1]), float(means[-cut])) if cut else (None, None)
    return float(np.median(means)), *ends
