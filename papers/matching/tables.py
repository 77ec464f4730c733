"""The tables of Hines and Romano, with a column for the optimum, and its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np

from ...analysis.admission.frontier import frontier
from ...analysis.admission.metrics import metrics
from ...analysis.report.picture import Chart, HeatMap, Picture
from ...catalog import functions
from ...instances.admission import Admission, Assignment, job_speeds
from ...instances.admission.generators import TABLE_I, Comparison, table_i, uniform
from ...instances.admission.rules import SCHEMES
from ...instances.problem.option_types import AtLeast, validate_options
from ...solvers.admission.optimal import optimal
from ...solvers.outcome import Status, Stop
from ..charts import chart
from ..registry import Finding, Verdict, addition, compare, experiment

POLICIES = functions("admission", *SCHEMES)

PRINTED: dict[str, dict[str, tuple[float, float, float, float]]] = {
    "I": {
        "speed_score": (780, 722, 942, 989),
        "assigned": (24.92, 41.67, 37.1, 34.49),
        "threads_used": (71.41, 78.96, 65.57, 64.83),
        "cores_used": (63.63, 87.94, 98.57, 98.53),
        "resource_score": (54.49, 62.41, 50.02, 49.5),
        "change": (0.0, -7.496, 20.82, 26.78),
    },
    "II": {
        "speed_score": (8668, 8185, 10524, 9161),
        "assigned": (57.93, 75.15, 74.45, 74.63),
        "threads_used": (88.65, 85.81, 85.00, 79.91),
        "cores_used": (72.25, 87.51, 99.21, 86.50),
        "resource_score": (67.09, 66.49, 61.90, 53.64),
        "change": (0.0, -5.57, 21.41, 5.69),
    },
    "III": {
        "speed_score": (2742, 2541, 3724, 3516),
        "assigned": (48.12, 68.78, 57.06, 59.73),
        "threads_used": (89.65, 95.17, 92.89, 84.35),
        "cores_used": (47.48, 86.52, 89.93, 88.44),
        "resource_score": (72.73, 80.30, 74.21, 72.60),
        "change": (0.0, -7.32, 35.79, 28.21),
    },
}
"""Tables II, III and IV as printed: SM, DA1, DA2, proposed; all but the speed score in percent."""

WORDS = {
    "speed_score": "average speed score",
    "assigned": "jobs assigned [%]",
    "threads_used": "available threads used [%]",
    "cores_used": "cores used [%]",
    "resource_score": "resource score [%]",
    "change": "speed score against SM [%]",
}

LEVEL_SPEED, LEVEL_POINTS = 0.15, 5.0
"""A level holds when speeds are within 15 %, percentages within 5 points, of all four."""

EQUAL_SPEED, EQUAL_POINTS = 0.01, 0.5
"""In an ordering, two schemes that differ by less, relative or in points, are equal."""


Ranges = Literal["entries", "simulation", "most"]
Resource = Literal["empty", "fastest"]

Figures = Mapping[str, Mapping[str, float]]
"""Metric -> scheme -> value."""

NUMBER = {"I": "II", "II": "III", "III": "IV"}
"""The table of each comparison."""

SHARES = ("assigned", "threads_used", "cores_used", "resource_score")

# fmt: off
SAID: dict[str, tuple[tuple[str, str, Callable[[Figures], bool]], ...]] = {
    "I": (
        ("SM against the others on threads, cores and resource score", "worse",
         lambda f: all(_least(f[metric]) == "SM" for metric in SHARES[1:])),
        ("DA2 and proposed", "perform similarly",
         lambda f: all(_near(f[metric]["DA2"], f[metric]["proposed"]) for metric in SHARES)),
        ("DA1 on threads used and resource score", "better than the others",
         lambda f: _best(f["threads_used"]) == _best(f["resource_score"]) == "DA1"),
        ("fastest", "proposed", lambda f: _best(f["speed_score"]) == "proposed"),
    ),
    "II": (
        ("DA2 on every metric", "as well as or better than the others",
         lambda f: all(_near(row["DA2"], row[_best(row)]) for row in f.values())),
        ("proposed and DA1 but for resource score and speed", "similar",
         lambda f: all(_near(f[metric]["proposed"], f[metric]["DA1"]) for metric in SHARES[:3])),
        ("proposed against DA1 on speed", "better",
         lambda f: f["speed_score"]["proposed"] > f["speed_score"]["DA1"]),
        ("proposed against DA1 on resource score", "worse",
         lambda f: f["resource_score"]["proposed"] < f["resource_score"]["DA1"]),
        ("SM and DA1 but for jobs assigned", "similar",
         lambda f: all(_near(f[metric]["SM"], f[metric]["DA1"]) for metric in SHARES[1:])),
    ),
    "III": (
        ("DA2 on all but jobs assigned and resource score", "the best",
         lambda f: all(_best(f[metric]) == "DA2"
                       for metric in ("speed_score", "threads_used", "cores_used"))),
        ("DA1 on jobs assigned and resource score", "the best",
         lambda f: _best(f["assigned"]) == _best(f["resource_score"]) == "DA1"),
        ("proposed", "between DA1 and DA2",
         lambda f: all(min(row["DA1"], row["DA2"]) <= row["proposed"] <= max(row["DA1"], row["DA2"])
                       for row in f.values())),
        ("SM", "worse than the others on average",
         lambda f: sum(_least(row) == "SM" for row in f.values()) > len(f) / 2),
    ),
}
"""Sections IV.A to C: what is compared, what is said, its test; "similar": `LEVEL_POINTS`."""

SAID_OF_ALL: tuple[tuple[str, str, Callable[[Figures], bool]], ...] = (
    ("DA1 on speed", "the slowest", lambda f: _least(f["speed_score"]) == "DA1"),
    ("DA1 on resource score and jobs assigned", "usually the highest or second highest",
     lambda f: all(sorted(f[metric].values())[-2] <= f[metric]["DA1"]
                   for metric in ("resource_score", "assigned"))),
    ("proposed on cores used", "as good as DA2, better than SM and DA1",
     lambda f: (_near((row := f["cores_used"])["proposed"], row["DA2"])
                and row["proposed"] > max(row["SM"], row["DA1"]))),
)
# fmt: on
"""Section IV.D, of all three comparisons."""


@validate_options
def table(
    comparison: Comparison,
    *,
    seed: Annotated[int, AtLeast(0)] = 0,
    simulations: Annotated[int, AtLeast(1)] = 100,
    optima: Annotated[int, AtLeast(0)] = 20,
    time_limit: float = 3.0,
    ranges: Ranges = "entries",
    resource: Resource = "empty",
) -> list[Finding | Picture]:
    """One of Tables II to IV: the paper's figures, ours over as many simulations, and the optimum
    on the first of them.

    Parameters
    ----------
    comparison : "I", "II" or "III".
    seed : simulation k draws its instance with the generator seeded (seed, k).
    simulations : how many.
    optima : on how many of them, the first ones, the optimum is worked out.
    time_limit : seconds for each; where that is too little, what is said of the optimum is said of
        the best answer found, and shares of the optimum are shares of the proved bound.
    ranges : how Table I's largest numbers of cores and threads are read: they bound every entry
        ("entries"), are drawn once a simulation and bound its entries ("simulation"), or are what
        every type of cores has ("most", cores only).
    resource : what a job's speed is compared with in the resource score: that on its VM when it is
        empty ("empty"), or all its threads on its fastest type of cores ("fastest"). The paper says
        it in words only.

    Raises
    ------
    InvalidOption
        An option out of range.
    """
    draws = [
        _drawn(comparison, ranges, np.random.default_rng([seed, k])) for k in range(simulations)
    ]
    rows = {
        scheme: [_measured(one, POLICIES[scheme](one), resource) for one in draws]
        for scheme in SCHEMES
    }
    ours = {
        name: [_mean(rows[scheme], name) for scheme in SCHEMES]
        for name in WORDS
        if name != "change"
    }
    ours["change"] = [
        _percent_above(value, ours["speed_score"][0]) for value in ours["speed_score"]
    ]
    best, shares, lines = _optima(draws[:optima], rows, time_limit)
    printed = PRINTED[comparison]
    findings = [_finding(name, printed[name], ours[name]) for name in WORDS]
    return [
        *findings,
        *words(comparison, printed, ours),
        *_beside_the_optimum(rows, best, len(draws[:optima])),
        *lines,
        *_pictures(comparison, printed, ours, shares),
    ]


table_ii = partial(table, "I", simulations=500)
table_iii = partial(table, "II", optima=10, time_limit=6.0)
table_iv = partial(table, "III")


def _drawn(comparison: Comparison, ranges: Ranges, rng: np.random.Generator) -> Admission:
    """One simulation's instance."""
    most = TABLE_I[comparison]
    if ranges == "simulation":
        drawn: Any = {name: int(rng.integers(1, getattr(most, name) + 1)) for name in _RANGED}
        return uniform(**drawn, speed=most.speed, rng=rng)
    one = table_i(comparison=comparison, rng=rng)
    return one.replace(cores=np.full_like(one.cores, most.cores)) if ranges == "most" else one


def _measured(one: Admission, answer: Assignment, resource: Resource) -> dict[str, float]:
    """The metrics, with the resource score as it is read."""
    row, chosen = metrics(one, answer), answer.assigned
    if resource == "fastest" and chosen.any():
        fastest = one.threads * one.speed.max(axis=1)
        row["resource_score"] = float((job_speeds(one, answer)[chosen] / fastest[chosen]).mean())
    return row


_RANGED = ("machines", "jobs", "types", "cores", "threads")


@validate_options
@experiment
def frontier_table(
    *, seed: Annotated[int, AtLeast(0)] = 0, time_limit: float = 60.0
) -> Iterator[Finding | Picture]:
    """The frontier of total speed against blocking pairs on a small instance, every point proved or
    with its bound.

    Parameters
    ----------
    seed : of the instance: 8 jobs, 3 VMs, 2 core types.
    time_limit : seconds in all.
    """
    one = uniform(
        machines=3, jobs=8, types=2, cores=4, threads=6, speed=10.0, rng=np.random.default_rng(seed)
    )
    schemes = {name: metrics(one, policy(one)) for name, policy in POLICIES.items()}
    points = frontier(one, time_limit=time_limit)
    for point in points:
        what, ours = f"at most {point.blocking_pairs} blocking pairs", f"{point.total_speed:.2f}"
        note = "proved" if point.status is Status.OPTIMAL else f"at most {point.bound:.2f}"
        yield addition(what, f"total speed {ours}", note)
    best: dict[float, float] = {point.blocking_pairs: point.total_speed for point in points}
    rows = {"most possible": best}
    for name, row in schemes.items():
        text = f"total speed {row['total_speed']:.2f}, {row['blocking_pairs']:.0f} blocking pairs"
        yield addition(name, text)
        rows[name] = {row["blocking_pairs"]: row["total_speed"]}
    yield chart("admission-frontier", "Total speed against blocking pairs, 8 jobs on 3 VMs",
        "blocking pairs at most", "total speed", rows, style="points",
        styles={"most possible": "step"}, strong=["most possible"])  # fmt: skip


@experiment
def words(
    comparison: str, printed: Mapping[str, Sequence[float]], ours: Mapping[str, Sequence[float]]
) -> Iterator[Finding]:
    """What sections IV.A to D say of a comparison in words, on our figures, and whether the printed
    table bears it out.
    """
    for what, claim, holds in (*SAID[comparison], *SAID_OF_ALL):
        here, there = holds(_by_scheme(ours)), holds(_by_scheme(printed))
        note = "on the figures above"
        note += "; the printed ones do not bear it out" if here and not there else ""
        cause = "" if here or there else "the printed figures do not bear it out either"
        yield compare(what, claim, "holds" if here else "does not hold", here, note, cause)


def _by_scheme(rows: Mapping[str, Sequence[float]]) -> Figures:
    return {name: dict(zip(SCHEMES, values, strict=True)) for name, values in rows.items()}


def _least(row: Mapping[str, float]) -> str:
    return min(row, key=row.__getitem__)


def _near(one: float, other: float) -> bool:
    """Whether two figures are as good as equal: in points, and large scores by a share."""
    return abs(one - other) <= max(LEVEL_POINTS, EQUAL_SPEED * abs(other))


def _best(row: Mapping[str, float]) -> str:
    return max(row, key=row.__getitem__)


def _pictures(
    comparison: str,
    printed: Mapping[str, Sequence[float]],
    ours: Mapping[str, Sequence[float]],
    optimum: Mapping[str, Sequence[float]],
) -> list[Picture]:
    """The speed scores as bars, the shares' differences, and the distance to the optimum."""
    name = f"admission-table-{NUMBER[comparison].lower()}"
    title = f"Comparison {comparison} (Table {NUMBER[comparison]})"
    speed = {"printed": printed["speed_score"], "here": ours["speed_score"]}
    label = "average speed score"
    shares = [metric for metric in WORDS if metric not in ("speed_score", "change")]
    apart = {
        metric: [o - p for o, p in zip(ours[metric], printed[metric], strict=True)]
        for metric in shares
    }
    metric, scheme = max(
        ((m, place) for m in shares for place in range(len(SCHEMES))),
        key=lambda cell: abs(apart[cell[0]][cell[1]]),
    )
    return [
        chart(f"{name}-speed", f"{title}: {label}", "scheme", label, speed, x=SCHEMES),
        HeatMap(
            f"{name}-shares",
            f"{title}: shares, here less printed",
            "scheme",
            "share",
            SCHEMES,
            tuple(WORDS[m] for m in shares),
            tuple(tuple(round(value, 3) for value in apart[m]) for m in shares),
            "points",
            center=0.0,
            alt="Heat map of our percentages less the printed ones; farthest apart: "
            f"{WORDS[metric]} of {SCHEMES[scheme]}, {apart[metric][scheme]:+.1f} points.",
        ),
        *([] if not optimum else [_near_optimum(name, title, optimum)]),
    ]


def _near_optimum(name: str, title: str, optimum: Mapping[str, Sequence[float]]) -> Chart:
    """Each scheme's total speed over the proved bound on the optimum, simulation by simulation."""
    rows = {
        "mean": [100 * float(np.mean(optimum[scheme])) for scheme in SCHEMES],
        "worst simulation": [100 * min(optimum[scheme]) for scheme in SCHEMES],
    }
    title, label = f"{title}: total speed over the optimum", "share of the optimum's bound [%]"
    words = f"Over {len(optimum['SM'])} simulations."
    return chart(f"{name}-optimum", title, "scheme", label, rows, x=SCHEMES, words=words)


def _optima(
    draws: Sequence[Admission], rows: dict[str, list[dict[str, float]]], time_limit: float
) -> tuple[dict[str, float], dict[str, list[float]], list[Finding]]:
    """The optimum's mean metrics, and what share of its bound each scheme reaches."""
    if not draws:
        return {}, {}, []
    # compiles outside the clock
    optimal(uniform(machines=3, jobs=6, types=2, rng=np.random.default_rng(0)), route="columns")
    measured, bounds, gaps = [], [], []
    for one in draws:
        outcome = optimal(one, time_limit=time_limit)
        if outcome.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        assert isinstance(outcome.solution, Assignment)
        assert outcome.bound is not None
        measured.append(metrics(one, outcome.solution))
        bounds.append(outcome.bound)
        gaps.append(outcome.bound / measured[-1]["total_speed"] - 1)
    best = {name: _mean(measured, name) for name in WORDS if name != "change"}
    base = _mean(rows["SM"][: len(draws)], "speed_score")
    best["change"] = _percent_above(best["speed_score"], base)
    shares = {
        scheme: [
            row["total_speed"] / bound for row, bound in zip(rows[scheme], bounds, strict=False)
        ]
        for scheme in SCHEMES
    }
    text = " / ".join(f"{100 * np.mean(shares[scheme]):.1f}" for scheme in SCHEMES)
    worst = " / ".join(f"{100 * np.min(shares[scheme]):.1f}" for scheme in SCHEMES)
    proved = sum(gap <= 1e-9 for gap in gaps)
    note = (
        f"first {len(draws)} simulations; {proved} optima proved, gap of the others at "
        f"most {100 * max(gaps):.2f} %"
    )
    blocking = " / ".join(
        f"{_mean(rows[scheme][: len(draws)], 'blocking_pairs'):.1f}" for scheme in SCHEMES
    )
    blocking += f"; optimum {_mean(measured, 'blocking_pairs'):.1f}"
    return (
        best,
        shares,
        [
            addition("total speed, mean share of the optimum [%]", text, note),
            addition("the same, worst simulation [%]", worst, note),
            addition("blocking pairs, mean", blocking, f"first {len(draws)} simulations"),
        ],
    )


def _beside_the_optimum(
    rows: Mapping[str, Sequence[dict[str, float]]], best: Mapping[str, float], number: int
) -> Iterator[Finding]:
    """The schemes and the optimum over the same simulations: those whose optimum was worked out."""
    for name, value in best.items():
        if name == "change":
            continue
        means = [_mean(rows[scheme][:number], name) for scheme in SCHEMES]
        text = _in_words((*SCHEMES, "optimum"), (*means, value), name)
        yield addition(f"{WORDS[name]}, first {number} simulations", text)
        if name == "speed_score":
            changes = [_percent_above(each, means[0]) for each in (*means, value)]
            text = _in_words((*SCHEMES, "optimum"), changes, "change")
            yield addition(f"{WORDS['change']}, first {number} simulations", text)


def _percent_above(value: float, base: float) -> float:
    return 100 * (value / base - 1)


def _finding(name: str, printed: Sequence[float], ours: Sequence[float]) -> Finding:
    verdict, note = _judged(printed, ours, name == "speed_score")
    paper, here = (_in_words(SCHEMES, values, name) for values in (printed, ours))
    return compare(WORDS[name], paper, here, verdict, note)


def _in_words(names: Sequence[str], values: Sequence[float], metric: str) -> str:
    """A value for each name."""
    figures = [_figure(value, metric == "speed_score") for value in values]
    return ", ".join(f"{name} {figure}" for name, figure in zip(names, figures, strict=True))


def _judged(printed: Sequence[float], ours: Sequence[float], speed: bool) -> tuple[Verdict, str]:
    """Whether every level and the ordering of the schemes hold, and which do not."""
    paper, here = np.array(printed), np.array(ours)
    difference = np.abs(here / paper - 1) if speed else np.abs(here - paper)
    levels = difference <= (LEVEL_SPEED if speed else LEVEL_POINTS)
    wrong: list[str] = []
    close: list[str] = []
    for a in range(len(SCHEMES)):
        for b in range(a + 1, len(SCHEMES)):
            apart, expected = here[a] - here[b], paper[a] - paper[b]
            least = EQUAL_SPEED * abs(here[b]) if speed else EQUAL_POINTS
            tolerance = EQUAL_SPEED * abs(paper[b]) if speed else EQUAL_POINTS
            if apart * expected >= 0:
                continue
            size = f"{100 * abs(apart / here[b]):.1f} %" if speed else f"{abs(apart):.1f} points"
            text = f"{SCHEMES[a]} {'above' if apart > 0 else 'below'} {SCHEMES[b]} here by {size}"
            (wrong if abs(apart) > least and abs(expected) > tolerance else close).append(text)
    words = [
        "levels hold" if levels.all() else f"levels off: {', '.join(np.array(SCHEMES)[~levels])}"
    ]
    words.append("ordering off: " + ", ".join(wrong) if wrong else "ordering holds")
    # contradicted, but by so little, here or in the paper, that the draws do not tell the two apart
    if close:
        words.append(
            f"{'and' if wrong else 'but for'} {', '.join(close)}, too little to tell them apart"
        )
    if wrong or not levels.all():
        return "differs", "; ".join(words)
    return ("undecided" if close else "reproduced"), "; ".join(words)


def _mean(rows: Sequence[dict[str, float]], name: str) -> float:
    """Mean over the simulations where it is defined, shares in percent."""
    values = [row[name] for row in rows if name in row]
    return float(np.mean(values)) * (
        1.0 if name in ("speed_score", "total_speed", "blocking_pairs") else 100.0
    )


def _figure(value: float, speed: bool) -> str:
    return f"{value:.0f}" if speed else f"{value:.1f}"
