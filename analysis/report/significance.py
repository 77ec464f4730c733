"""Tests of which methods differ over many instances, paired by instance: tables and diagrams.

Demsar, Statistical comparisons of classifiers over multiple data sets (2006), section 3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import combinations
from math import inf, sqrt
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ... import catalog
from ...instances.problem.errors import InvalidOption, UnknownName
from ...instances.problem.text import sanitize_for_terminal
from ..metric import Metric, Sense
from ..run.own_functions import own_name
from ..run.rows import Line
from . import aggregate
from .aggregate import Values, reaches
from .picture import Drawing
from .plotting import INK
from .table import Column, Table, slug
from .tables import difference

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
    """Methods by their mean ranks, the best first, with tests of their differences. `pairs` compare
    the others with the reference, Holm's correction being over `tests`; `friedman` is a p-value
    (None of two methods), `critical` Nemenyi's difference, and `groups` the largest less apart.
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


if TYPE_CHECKING:
    from matplotlib.figure import Figure


def significance(
    problem: str, lines: Sequence[Line], metrics: Sequence[Metric], against: str | None = None
) -> Iterator[tuple[Table, Drawing | None]]:
    """For each metric that a method optimizes or that is the user's own, the tests of which methods
    differ and, of three methods or more, their critical-difference diagram with the mean ranks.
    Nothing below 6 instances, nor for a metric in which all methods tie.

    Parameters
    ----------
    lines, metrics : of one problem, from `Comparison.summary` and `gaps.metric_table`.
    against : the method that the others stand beside; the best of each metric when not given, or
        where it has no values.
    """
    count, run = len(aggregate.instance_keys(lines)), Counter(map(aggregate.label, lines))
    wanted = {line["objective_name"] for line in lines}
    wanted |= {name for line in lines for name in line.get("own_metrics", ())}
    for metric in metrics if count >= LEAST_INSTANCES else ():
        if metric.name not in wanted or not metric.sense:
            continue
        values = aggregate.values_of(lines, metric.name)
        values = {name: column for name, column in values.items() if run[name] == count}
        if len(values) < 2:
            continue
        ranking = rank_methods(values, metric.sense, against if against in values else None)
        if len({*ranking.mean_ranks.values()}) == 1:
            continue
        notes = [_TESTS.format(
            exact="exact" if count <= MOST_EXACT else "by the normal limit",
            over=f"{ranking.tests} tests" if ranking.tests == len(ranking.pairs)
            else f"all {ranking.tests} pairs, as the best is known from the same values",
        ), _DIFFERENCE.format(reference=ranking.reference)]  # fmt: skip
        if (least := min(1.0, 2.0 ** (1 - count) * ranking.tests)) > LEVEL:
            notes.append(
                f"Too few instances for so many tests: the least p is at best {least:.2g}."
            )
        notes += [_LACKING] * any(None in column for column in values.values())
        if left_out := [name for name in run if name not in values]:
            notes.append(f"Left out, not run or never with an answer: {', '.join(left_out)}.")
        title = f"{problem}: {metric.label}, against {ranking.reference} on {count} instances"
        table = replace(_table(ranking, metric), title=title, notes=tuple(notes))
        name = slug(f"{problem} tests {metric.name}")
        drawing = None if ranking.friedman is None else _drawing(problem, metric, ranking, count)
        yield replace(table, name=name), drawing


_TESTS = (
    "p: Wilcoxon's signed-rank test, two-sided, paired by instance, zeros by Pratt, {exact}; "
    f"Holm's correction over {{over}}. Significant: p at most {LEVEL:g}."
)
_DIFFERENCE = (
    "Difference: the method's value minus that of {reference} (Hodges-Lehmann). Effect: "
    "rank-biserial correlation, 1.00 when better (or worse) on every instance."
)
_LACKING = (
    "A method without an answer, or with one that breaks a rule, counts as worse there than every "
    "answer; differences are over the instances that both answered. A run that its time limit "
    "ended counts with the answer it had."
)


def require_against(against: str | None, problems: Sequence[str], methods: Any) -> None:
    """Refuse, before any work, a reference method that is not among the methods (None: the
    catalogue's), or one with too few instances of each problem; `problems` has one name for each
    instance.
    """
    given = methods or [each.name for name in {*problems} for each in catalog.methods(name)]
    names = [each if isinstance(each, str) else own_name(each) for each in given]
    if against is not None and against not in names:
        raise UnknownName("method", against, names)
    if against is not None and (most := max(Counter(problems).values())) < LEAST_INSTANCES:
        raise InvalidOption(
            f"against is {against!r}, and {most} instances are too few for tests; expected at "
            f"least {LEAST_INSTANCES} of a problem"
        )


def _table(ranking: Ranking, metric: Metric) -> Table:
    """Table of the methods compared with the reference."""
    bare = replace(metric, unit="")

    def signed(value: float | None) -> str:
        return "-" if value is None else f"{'+' * (value > 0)}{difference(value, bare)}"

    columns = (
        Column("method", bold=True, wrap=False), Column("better / worse", rank=2),
        Column(f"difference{metric.unit and f' [{metric.unit}]'}", signed, True, key="difference"),
        Column("95 % interval", wrap=False), Column("low", people=False),
        Column("high", people=False), Column("effect", numeric=True), Column("p", numeric=True),
        Column("better significantly"),
    )  # fmt: skip
    rows: list[tuple[Any, ...]] = []
    for each in ranking.pairs:
        interval = None if each.low is None else f"{signed(each.low)} to {signed(each.high)}"
        side = "better" if each.effect > 0 else "worse" if each.effect < 0 else "equal"
        better = each.method if each.effect > 0 else ranking.reference
        rows.append((
            each.method, f"{each.better} / {each.worse}", each.difference, interval, each.low,
            each.high, (each.effect, f"{abs(each.effect):.2f} {side}"),
            (each.p_value, f"{each.p_value:.3f}" if each.p_value >= 0.0005 else "<0.001"),
            better if each.p_value <= LEVEL else "neither",
        ))  # fmt: skip
    return Table("tests", "", columns, tuple(rows))


def _drawing(problem: str, metric: Metric, ranking: Ranking, count: int) -> Drawing:
    """Critical-difference diagram with its mean ranks, the groups as letters."""
    rows = [
        (name, rank, " ".join(
            letter for letter, group in zip(ascii_lowercase, ranking.groups, strict=False)
            if name in group
        ))
        for name, rank in ranking.mean_ranks.items()
    ]  # fmt: skip
    notes = (
        "Methods in a group (in the diagram: that a bar joins) do not differ by Nemenyi's test, "
        "which is weaker than the tests of pairs: their mean ranks are less than the critical "
        f"difference (CD) {ranking.critical:.2f} apart (Demsar 2006).",
        f"Friedman's test that no methods differ: p = {ranking.friedman:.2g}.",
    )
    columns = (Column("method", bold=True), Column("mean rank", "{:.2f}".format, True))
    name = slug(f"{problem} critical difference {metric.name}")
    title = f"{problem}: mean ranks in {metric.label}"
    table = Table(name, title, (*columns, Column("group")), tuple(rows), notes=notes)
    ranks = ", ".join(f"{method} {rank:.2f}" for method, rank in ranking.mean_ranks.items())
    groups = "; ".join(", ".join(group) for group in ranking.groups if len(group) > 1)
    alt = f"Mean ranks over {count} instances, 1 is best: {ranks}. Groups: {groups or 'none'}."
    return Drawing(name, title, partial(_figure, ranking), alt, "", " ".join(notes), table)


_AXIS, _ROW, _BAR, _LETTER = 52.0, 4.2, 2.2, 1.95
"""Millimeters of the axis, of a name's row, from bar to bar, and of a letter."""


def _figure(ranking: Ranking) -> Figure:
    """Critical-difference diagram of the mean ranks: the better half of the methods is labeled on
    the left, the best on top, and a bar spans each group of methods that do not differ
    significantly.
    """
    from matplotlib.figure import Figure

    names, last = list(ranking.mean_ranks), len(ranking.mean_ranks) - 1
    bars, half = [group for group in ranking.groups if len(group) > 1], last // 2 + 1
    margin, scale = 5 + _LETTER * min(24, max(map(len, names))), _AXIS / last
    below, size = _BAR * (len(bars) + 1), (2 * margin + _AXIS, _BAR * len(bars) + _ROW * half + 20)
    drawn = Figure(figsize=(size[0] / 25.4, size[1] / 25.4))
    axes = drawn.add_axes((0, 0, 1, 1), xlim=(-margin, _AXIS + margin), ylim=(13 - size[1], 13))
    axes.set_axis_off()
    place = {name: scale * (rank - 1) for name, rank in ranking.mean_ranks.items()}
    draw, write = partial(axes.plot, color=INK, linewidth=0.8), partial(axes.text, parse_math=False)
    draw([0, _AXIS], [0, 0])
    draw([0, scale * ranking.critical], [9, 9])
    write(0, 10, f"CD = {ranking.critical:.2f}")
    for tick in range(last + 1):
        draw([tick * scale] * 2, [0, 1.2])
        write(tick * scale, 2, str(tick + 1), ha="center")
    for number, group in enumerate(bars, 1):
        ends = [place[group[0]] - 0.7, place[group[-1]] + 0.7]
        draw(ends, [-_BAR * number] * 2, linewidth=3)
    for number, (name, x) in enumerate(place.items()):
        left = number < half
        y = -below - _ROW * (number if left else last - number)
        end, side = (-1.0, -1) if left else (_AXIS + 1, 1)
        draw([x, x, end], [0, y, y])
        text = sanitize_for_terminal(name[:24])
        write(end + side, y, text, ha="right" if left else "left", va="center")
    return drawn
