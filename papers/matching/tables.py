"""Tables of Hines and Romano, with a column for the optimum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Annotated, Any, Literal

import numpy as np

from ...analysis.admission.metrics import metrics
from ...analysis.report.picture import HeatMap
from ...catalog import functions
from ...instances.admission import Admission, Assignment, job_speeds
from ...instances.admission.generators import TABLE_I, Comparison, table_i, uniform
from ...instances.admission.rules import SCHEMES
from ...instances.problem.option_types import AtLeast
from ...solvers.admission.optimal import optimal
from ...solvers.admission.search import AdmissionLimits
from ...solvers.outcome import Stop
from ..charts import chart
from ..experiment import (
    Finding,
    Parts,
    Variations,
    Verdict,
    compare,
    draws,
    each,
    runnable,
)
from . import PAPER

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


OPEN: Variations = {
    **draws(optima=0),
    "how Table I's maxima are read": each("ranges", "simulation", "most", optima=0),
    "what the resource score compares with": each("resource", "fastest", optima=0),
}


@runnable
def table(
    comparison: Comparison,
    *,
    seed: Annotated[int, AtLeast(0)] = 0,
    simulations: Annotated[int, AtLeast(1)] = 100,
    optima: Annotated[int, AtLeast(0)] = 20,
    time_limit: float = 3.0,
    ranges: Ranges = "entries",
    resource: Resource = "empty",
) -> Parts:
    """One of Tables II to IV: the paper's figures, ours over as many simulations, and their share
    of the optimum on the first of them.

    Parameters
    ----------
    comparison : "I", "II" or "III".
    seed : simulation k draws its instance with the generator seeded (seed, k).
    simulations : how many.
    optima : on how many of them, the first ones, the optimum is worked out.
    time_limit : seconds for each; where that is too little, shares are of the proved bound.
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
    # 1. The schemes' mean metrics over all simulations, beside the printed ones.
    drawn = [
        _drawn(comparison, ranges, np.random.default_rng([seed, k])) for k in range(simulations)
    ]
    rows = {
        scheme: [_measured(one, POLICIES[scheme](one), resource) for one in drawn]
        for scheme in SCHEMES
    }
    printed, ours = PRINTED[comparison], _means(rows)
    for name in WORDS:
        yield _finding(name, printed[name], ours[name])
    yield from words(comparison, printed, ours)
    # 2. The speed scores as bars, the shares' differences, and the distance to the optimum.
    name = f"admission-table-{NUMBER[comparison].lower()}"
    title, label = f"Comparison {comparison} (Table {NUMBER[comparison]})", "average speed score"
    yield chart(f"{name}-speed", f"{title}: {label}", "scheme", label,
        {"printed": printed["speed_score"], "here": ours["speed_score"]}, x=SCHEMES)  # fmt: skip
    apart = {
        metric: [o - p for o, p in zip(ours[metric], printed[metric], strict=True)]
        for metric in SHARES
    }
    metric, scheme = max(
        ((m, index) for m in SHARES for index in range(len(SCHEMES))),
        key=lambda cell: abs(apart[cell[0]][cell[1]]),
    )
    yield HeatMap(
        f"{name}-shares", f"{title}: shares, here less printed", "scheme", "share", SCHEMES,
        tuple(WORDS[m] for m in SHARES),
        tuple(tuple(round(value, 3) for value in apart[m]) for m in SHARES), "points", center=0.0,
        alt="Heat map of our percentages less the printed ones; farthest apart: "
        f"{WORDS[metric]} of {SCHEMES[scheme]}, {apart[metric][scheme]:+.1f} points.",
    )  # fmt: skip
    # 3. The total speed over the bound on the optimum, on the first simulations.
    if first := drawn[:optima]:
        bounds = np.array(_bounds(first, time_limit))
        shares: dict[str, list[float]] = {"mean": [], "worst simulation": []}
        for policy in SCHEMES:
            reached = 100 * np.array([row["total_speed"] for row in rows[policy][:optima]]) / bounds
            for label, of in (("mean", np.mean), ("worst simulation", np.min)):
                shares[label].append(float(of(reached)))
        yield chart(f"{name}-optimum", f"{title}: total speed over the optimum", "scheme",
            "share of the optimum's bound [%]", shares, x=SCHEMES,
            words=f"Over {len(first)} simulations.")  # fmt: skip


for _number, _comparison, _what, _defaults in (
    ("II", "I", "VMs and jobs evenly matched", {"simulations": 500}),
    ("III", "II", "many VM resources", {"optima": 10, "time_limit": 6.0}),
    ("IV", "III", "more jobs than resources", {}),
):
    PAPER.experiment(
        f"table-{_number.lower()}", f"Table {_number}", variations=OPEN,
        what=f"comparison {_comparison}: {_what}, with the optimum",
        seconds=120 if _number == "II" else 90,
    )(partial(table, _comparison, **_defaults))  # fmt: skip


def _drawn(comparison: Comparison, ranges: Ranges, rng: np.random.Generator) -> Admission:
    """Random admission instance of one simulation."""
    most = TABLE_I[comparison]
    if ranges == "simulation":
        names = ("machines", "jobs", "types", "cores", "threads")
        drawn: Any = {name: int(rng.integers(1, getattr(most, name) + 1)) for name in names}
        return uniform(**drawn, speed=most.speed, rng=rng)
    one = table_i(comparison=comparison, rng=rng)
    return one.replace(cores=np.full_like(one.cores, most.cores)) if ranges == "most" else one


def _measured(one: Admission, answer: Assignment, resource: Resource) -> dict[str, float]:
    """Metrics of an assignment, with the resource score in the given reading."""
    row, chosen = metrics(one, answer), answer.assigned
    if resource == "fastest" and chosen.any():
        fastest = one.threads * one.speed.max(axis=1)
        row["resource_score"] = float((job_speeds(one, answer)[chosen] / fastest[chosen]).mean())
    return row


def _means(rows: Mapping[str, Sequence[dict[str, float]]]) -> dict[str, list[float]]:
    """Mean of each metric by scheme, with the change of the speed score against the first."""
    found = {
        name: [_mean(each, name) for each in rows.values()] for name in WORDS if name != "change"
    }
    speed = found["speed_score"]
    return found | {"change": [100 * (value / speed[0] - 1) for value in speed]}


def words(
    comparison: str, printed: Mapping[str, Sequence[float]], ours: Mapping[str, Sequence[float]]
) -> Iterator[Finding]:
    """Findings on the sentences of sections IV.A to D, by our figures and by the printed table."""
    for what, claim, holds in (*SAID[comparison], *SAID_OF_ALL):
        here, there = (
            holds({name: dict(zip(SCHEMES, values, strict=True)) for name, values in rows.items()})
            for rows in (ours, printed)
        )
        note = "judged by the figures of the rows above"
        note += "; the printed figures do not support the claim" if here and not there else ""
        cause = "" if here or there else "the printed figures do not support the claim either"
        yield compare(what, claim, "holds" if here else "does not hold", here, note, cause)


def _least(row: Mapping[str, float]) -> str:
    return min(row, key=row.__getitem__)


def _near(one: float, other: float) -> bool:
    """Return whether two figures of a table count as equal, within points or a share."""
    return abs(one - other) <= max(LEVEL_POINTS, EQUAL_SPEED * abs(other))


def _best(row: Mapping[str, float]) -> str:
    return max(row, key=row.__getitem__)


def _bounds(first: Sequence[Admission], time_limit: float) -> list[float]:
    """Proved upper bound on the optimum of each simulation's instance."""
    # compiles outside the clock
    small = uniform(machines=3, jobs=6, types=2, rng=np.random.default_rng(0))
    optimal(small, limits=AdmissionLimits(small=0))
    bounds = []
    for one in first:
        outcome = optimal(one, time_limit=time_limit)
        if outcome.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        assert outcome.bound is not None
        bounds.append(outcome.bound)
    return bounds


def _finding(name: str, printed: Sequence[float], ours: Sequence[float]) -> Finding:
    """Finding on our means of a metric: which printed values, and whether their ordering, hold."""
    speed = name == "speed_score"
    # 1. The levels.
    paper, here = np.array(printed), np.array(ours)
    difference = np.abs(here / paper - 1) if speed else np.abs(here - paper)
    levels = difference <= (LEVEL_SPEED if speed else LEVEL_POINTS)
    # 2. The pairs that stand the other way round, by enough to tell, or too little.
    wrong: list[str] = []
    close: list[str] = []
    for a, b in combinations(range(len(SCHEMES)), 2):
        apart, expected = here[a] - here[b], paper[a] - paper[b]
        if apart * expected >= 0:
            continue
        least, tolerance = (
            EQUAL_SPEED * abs(values[b]) if speed else EQUAL_POINTS for values in (here, paper)
        )
        size = f"{100 * abs(apart / here[b]):.1f} %" if speed else f"{abs(apart):.1f} points"
        text = f"{SCHEMES[a]} {'above' if apart > 0 else 'below'} {SCHEMES[b]} here by {size}"
        (wrong if abs(apart) > least and abs(expected) > tolerance else close).append(text)
    # 3. In words.
    off = ", ".join(np.array(SCHEMES)[~levels])
    said = [f"means other than the printed ones: {off}" if off else "all means are as printed"]
    order = "the order of the schemes"
    said.append(f"{order} differs: {', '.join(wrong)}" if wrong else f"{order} is as printed")
    if close:
        said.append(f"differences too small to count: {', '.join(close)}")
    right: Verdict = "undecided" if close else "reproduced"
    verdict = "differs" if wrong or off else right
    paper_text, ours_text = (_in_words(SCHEMES, values, name) for values in (printed, ours))
    return compare(WORDS[name], paper_text, ours_text, verdict, "; ".join(said))


def _in_words(names: Sequence[str], values: Sequence[float], metric: str) -> str:
    """Format values with their names for a table cell."""
    digits = 0 if metric == "speed_score" else 1
    return ", ".join(
        f"{name} {value:.{digits}f}" for name, value in zip(names, values, strict=True)
    )


def _mean(rows: Sequence[dict[str, float]], name: str) -> float:
    """Mean of a metric over the simulations in which it is defined, shares in percent."""
    values = [row[name] for row in rows if name in row]
    scale = 1.0 if name in ("speed_score", "total_speed", "blocking_pairs") else 100.0
    return float(np.mean(values)) * scale
