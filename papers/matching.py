"""Tables and claims of Hines and Romano, with a column for the optimum."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Annotated, Any, Literal

import numpy as np

from ..analysis.admission.frontier import price_frontiers
from ..analysis.admission.metrics import metrics
from ..analysis.admission.rounds import least_computation
from ..analysis.report.picture import HeatMap
from ..baselines.admission import proposed
from ..catalog import functions
from ..instances.admission import Admission, Assignment, blocking_pairs, job_speeds
from ..instances.admission.generators import TABLE_I, Comparison, table_i, uniform
from ..instances.admission.instance import Floats, Integers
from ..instances.admission.rules import SCHEMES, job_ranking, speed_on
from ..instances.problem.option_types import AtLeast
from ..solvers.admission.optimal import optimal
from ..solvers.admission.partial_assignment import Draft
from ..solvers.admission.search import AdmissionLimits
from ..solvers.outcome import Stop
from .experiment import (
    Finding,
    Paper,
    Parts,
    Variations,
    Verdict,
    addition,
    chart,
    compare,
    draws,
    each,
    runnable,
)

PAPER = Paper(
    "matching",
    "Hines and Romano, Matching Theory and Virtual Machines",
    "Hines and Romano,",
    "admission",
    guide="Guide: [admission](../admission.md), and [where the text cannot be followed]"
    "(../errata.md#matching-jobs-to-virtual-machines).",
)


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
    """Compare the paper's numbers of one of Tables II to IV with our means over simulations. Of the
    first simulations, their share of the optimum is worked out.

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
    """Metrics of an assignment, with the resource score in the chosen reading (see `table`)."""
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
    """Return whether two numbers of a table count as equal: within 5 points, or within 1 %."""
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
    """Finding on our means of one metric: whether the printed values and their order hold."""
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


COMPLETION = Admission(
    cores=np.array([[1, 0], [0, 1]]),
    threads=np.array([2, 1]),
    speed=np.array([[10.1, 10.0], [100.0, 1.0]]),
    length=np.array([2000.0, 99.0]),
    name="completion-counter-example",
    source="the longest job has the most threads, as section III.B.4 asks, and takes longest "
    "on any cores",
)
"""Two one-core VMs: the long job gets the core where the short is 100 times faster."""

APART = COMPLETION.replace(speed=np.array([[10.1, 10.0], [1.0, 100.0]]))
"""The same, but that the short job is fastest on the other core."""

UTILIZATION = Admission(
    cores=np.array([[4], [3]]),
    threads=np.array([3, 2, 2]),
    speed=np.array([[1.0], [1.0], [1.0]]),
    name="utilization-counter-example",
    source="the condition of section III.B.4 holds in every iteration",
)
"""VMs of 4 and 3 cores, jobs of 3, 2 and 2 threads: `proposed` uses 6 cores, all 7 can be used."""

STABLE_NOT_UNIQUE = Admission(
    cores=np.array([[1, 1]]),
    threads=np.array([1, 1]),
    speed=np.array([[3.0, 2.0], [9.0, 1.0]]),
    name="two-stable-assignments",
    source="one VM that may hand out its cores either way",
)
"""One VM: giving the first job its slower core blocks nothing, no other VM offering it more."""


@PAPER.experiment("claims", "section III.B.3-4")
def claims(
    *, seed: Annotated[int, AtLeast(0)] = 0, instances: Annotated[int, AtLeast(1)] = 300
) -> Parts:
    """Section III.B of the paper: stability, utilization, completion time, proportional fairness.

    Parameters
    ----------
    seed : of the instances drawn.
    instances : how many small ones are drawn to look for blocking pairs.
    """
    # 1. Stability.
    found = unstable(seed, instances)
    other = price_frontiers(STABLE_NOT_UNIQUE)[0].points[0]
    ours = float(job_speeds(STABLE_NOT_UNIQUE, proposed(STABLE_NOT_UNIQUE)).sum())
    yield compare("III.B.3: the proposed matching is stable", "stable",
        f"{found['proposed']} of {instances} with a blocking pair", found["proposed"] == 0,
        "holds by a theorem, since every VM ranks the jobs alike")  # fmt: skip
    text = ", ".join(f"{name} {number}" for name, number in found.items())
    yield addition("instances with a blocking pair", f"of {instances}: {text}",
        "1-4 VMs, 1-6 jobs")  # fmt: skip
    yield addition("most total speed without a blocking pair",
        f"{other.value:g}, proposed {ours:g}",
        "one VM, two jobs: a VM that chooses which cores a job gets has other stable "
        "assignments")  # fmt: skip
    # 2. Utilization.
    drawn = [uses_most(one) for one in _small(seed, instances)]
    under_condition, most = (sum(column) for column in zip(*drawn, strict=True))
    yield compare("III.B.4: utilization is maximal in every iteration under its condition",
        "maximal", f"in {most} of {under_condition} iterations under the condition",
        most == under_condition, "the maximum is over the VMs of that iteration's job")  # fmt: skip
    used, (conditions, _) = int(proposed(UTILIZATION).cores.sum()), uses_most(UTILIZATION)
    yield addition("the same, all iterations together", f"{used} of 7 cores, 7 are possible",
        f"the condition holds in {conditions} of 3 iterations: VMs of 4 and 3 cores, jobs of 3, 2, "
        "2 threads")  # fmt: skip
    # 3. Completion time.
    (total, best), (apart, least) = (
        (float(_time(one).sum()), least_computation(one)) for one in (COMPLETION, APART)
    )
    cause = "both jobs are fastest on the same core, and the one with more threads chooses first"
    cause += ": where each job is fastest on a core of its own, proposed takes "
    cause += f"{apart:.4g}, best {least:.4g}"
    yield compare("III.B.4: least total completion time when jobs with more threads take longer",
        "least", f"proposed {total:.4f}, best {best:.4f}", total <= best * (1 + 1e-9),
        "two one-core VMs; lengths 2000 (2 threads, speeds 10.1 and 10) and 99 (1 thread, speeds "
        "100 and 1)", cause if apart <= least * (1 + 1e-9) else "")  # fmt: skip
    yield from _fairness(seed)


def unstable(seed: int, instances: int) -> dict[str, int]:
    """Number of drawn instances (1-4 VMs, 1-6 jobs, 1-3 types) in which each scheme is blocked."""
    found = dict.fromkeys(SCHEMES, 0)
    for one in _small(seed, instances):
        for name, policy in functions("admission", *SCHEMES).items():
            found[name] += blocking_pairs(one, policy(one)).count > 0
    return found


def uses_most(instance: Admission) -> tuple[int, int]:
    """Count the iterations of the scheme `proposed` under the paper's condition on free cores.
    Counted also is in how many of these the job uses as many cores as any VM could give it.

    The condition: the VM the job prefers has at least as many free cores as the job can use, or as
    any other VM has.
    """
    draft = Draft(instance)
    under_condition = used_most = 0
    for j in job_ranking(instance.threads).tolist():
        there = draft.speed(j)
        if there.max() <= 0:
            continue
        v, free = int(there.argmax()), draft.free.sum(axis=1)
        wanted = int(instance.threads[j])
        if free[v] >= wanted or free[v] == free.max():
            under_condition += 1
            draft.place(j, v)
            used = int(free.sum() - draft.free.sum())
            used_most += used == min(wanted, int(free.max()))
        else:
            draft.place(j, v)
    return under_condition, used_most


def _time(instance: Admission) -> Floats:
    """Completion times (J,) of the proposed assignment."""
    assert instance.length is not None
    times: Floats = instance.length / job_speeds(instance, proposed(instance))
    return times


def _fairness(seed: int) -> Iterator[Finding]:
    rng = np.random.default_rng(seed)
    long, factor = rng.uniform(1, 100, 1000), rng.uniform(1.01, 10, 1000)
    short = long * rng.uniform(0.01, 0.99, 1000)
    gain_long, gain_short = long - long / factor, short - short / factor
    back = float(np.abs(gain_long / (1 - 1 / factor) - long).max())
    printed = float(np.abs(gain_long * (1 - 1 / factor) - long).max())
    length = COMPLETION.length
    assert length is not None
    time, apart = _time(COMPLETION), _time(APART)
    alone = length / np.array([_alone(j, COMPLETION.cores) for j in range(COMPLETION.jobs)])
    yield compare("III.B.4: the longer job gains more from a factor f", "always",
        f"in {int((gain_long > gain_short).sum())} of 1000",
        bool((gain_long > gain_short).all()))  # fmt: skip
    yield compare("III.B.4: tau = dtau (1 - 1/f)", "as printed", f"off by up to {printed:.1f}",
        printed < 1e-6, "the next line of the paper divides, which is correct",
        f"the formula must divide: dtau / (1 - 1/f) is off by {back:.0g}")  # fmt: skip
    yield compare("III.B.4: shorter jobs will not take very long",
        "a fair amount of processing power",
        f"the short job takes {time[1]:g}, alone {alone[1]:g}; the long one {time[0]:.1f}, alone "
        f"{alone[0]:.1f}", float(time[1] / alone[1]) < 2,
        "on the instance of the completion time the short job takes 100 times as long as alone",
        "both jobs are fastest on the same core: where each job is fastest on a core of its own, "
        f"the short one takes {apart[1]:g}")  # fmt: skip


def _alone(j: int, free: Integers) -> float:
    order = np.argsort(-COMPLETION.speed[j], kind="stable")
    return float(speed_on(free, COMPLETION.speed[j], order, int(COMPLETION.threads[j])).max())


def _small(seed: int, instances: int) -> Iterator[Admission]:
    for k in range(instances):
        rng = np.random.default_rng([seed, k])
        machines, jobs, types = (int(rng.integers(1, most + 1)) for most in (4, 6, 3))
        yield uniform(
            machines=machines, jobs=jobs, types=types, cores=3, threads=4, speed=10.0, rng=rng
        )
