"""The tables of Hines and Romano, with the optimum's column the paper never had, and its claims one by one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ...baselines.admission import POLICIES
from ...instances.admission import Admission, Assignment
from ...instances.admission.generators import table_i, uniform, whole_number
from ...solvers.admission.optimal import optimal
from ...solvers.outcome import Status, Stop, validate_time_limit
from ..experiments import Finding, Verdict
from .frontier import frontier
from .metrics import metrics

SCHEMES = tuple(POLICIES)

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
"""A level holds when the speed is within 15 %, a percentage within 5 points, for each of the four schemes."""

EQUAL_SPEED, EQUAL_POINTS = 0.01, 0.5
"""In an ordering two schemes that differ by less, in speed (relative) or in points, are not told apart."""


def table_ii(*, seed: int = 0, simulations: int = 500, optima: int = 20, time_limit: float = 3.0) -> list[Finding]:
    """Table II, comparison I: see `table`."""
    return table("I", seed, simulations, optima, time_limit)


def table_iii(*, seed: int = 0, simulations: int = 100, optima: int = 10, time_limit: float = 6.0) -> list[Finding]:
    """Table III, comparison II: see `table`."""
    return table("II", seed, simulations, optima, time_limit)


def table_iv(*, seed: int = 0, simulations: int = 100, optima: int = 20, time_limit: float = 3.0) -> list[Finding]:
    """Table IV, comparison III: see `table`."""
    return table("III", seed, simulations, optima, time_limit)


def tables(*, seed: int = 0, simulations: int = 100, optima: int = 10, time_limit: float = 3.0) -> list[Finding]:
    """Tables II to IV, one after another: see `table`."""
    findings = []
    for number, comparison in (("II", "I"), ("III", "II"), ("IV", "III")):
        rows = table(comparison, seed, simulations, optima, time_limit)
        findings += [replace(row, what=f"Table {number}: {row.what}") for row in rows]
    return findings


def table(comparison: str, seed: int, simulations: int, optima: int, time_limit: float) -> list[Finding]:
    """One of Tables II to IV: the paper's figures, ours over as many simulations, and the optimum on the first of them.

    Parameters
    ----------
    comparison : "I", "II" or "III".
    seed : simulation k draws its instance with the generator seeded (seed, k).
    simulations : how many.
    optima : on how many of them, the first ones, the optimum is worked out.
    time_limit : seconds for each; where that is too little, what is said of the optimum is said of the best answer found,
        and shares of the optimum are shares of the proved bound.
    """
    whole_number("seed", seed, 0)
    whole_number("simulations", simulations, 1)
    whole_number("optima", optima, 0)
    validate_time_limit(time_limit)
    draws = [table_i(comparison=comparison, rng=np.random.default_rng([seed, k])) for k in range(simulations)]  # type: ignore[arg-type]
    rows = {scheme: [metrics(one, POLICIES[scheme](one)) for one in draws] for scheme in SCHEMES}
    ours = {name: [_mean(rows[scheme], name) for scheme in SCHEMES] for name in WORDS if name != "change"}
    ours["change"] = [100 * (value / ours["speed_score"][0] - 1) for value in ours["speed_score"]]
    best, lines = _optima(draws[:optima], rows, time_limit)
    printed = PRINTED[comparison]
    findings = [_finding(name, printed[name], ours[name], best.get(name), len(draws[:optima])) for name in WORDS]
    return [*findings, *lines]


def frontier_table(*, seed: int = 0, time_limit: float = 60.0) -> list[Finding]:
    """The frontier of total speed against blocking pairs on a small instance, every point proved or with its bound.

    Parameters
    ----------
    seed : of the instance: 8 jobs, 3 VMs, 2 core types.
    time_limit : seconds in all.
    """
    whole_number("seed", seed, 0)
    one = uniform(machines=3, jobs=8, types=2, cores=4, threads=6, speed=10.0, rng=np.random.default_rng(seed))
    schemes = {name: metrics(one, policy(one)) for name, policy in POLICIES.items()}
    findings = [
        Finding(
            f"at most {point.blocking_pairs} blocking pairs", "", f"total speed {point.total_speed:.2f}", "not in the paper",
            "proved" if point.status is Status.OPTIMAL else f"at most {point.bound:.2f}",
        )
        for point in frontier(one, time_limit=time_limit)
    ]  # fmt: skip
    for name, row in schemes.items():
        text = f"total speed {row['total_speed']:.2f}, {row['blocking_pairs']:.0f} blocking pairs"
        findings.append(Finding(name, "", text, "not in the paper"))
    return findings


def _optima(
    draws: Sequence[Admission], rows: dict[str, list[dict[str, float]]], time_limit: float
) -> tuple[dict[str, float], list[Finding]]:
    """The optimum's mean metrics on these instances, and what share of the proved bound each scheme reaches on them."""
    if not draws:
        return {}, []
    optimal(uniform(machines=3, jobs=6, types=2, rng=np.random.default_rng(0)), route="columns")  # compiles outside the clock
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
    best["change"] = 100 * (best["speed_score"] / base - 1)
    shares = {
        scheme: [row["total_speed"] / bound for row, bound in zip(rows[scheme], bounds, strict=False)] for scheme in SCHEMES
    }
    text = " / ".join(f"{100 * np.mean(shares[scheme]):.1f}" for scheme in SCHEMES)
    worst = " / ".join(f"{100 * np.min(shares[scheme]):.1f}" for scheme in SCHEMES)
    proved = sum(gap <= 1e-9 for gap in gaps)
    note = f"first {len(draws)} simulations; {proved} optima proved, gap of the others at most {100 * max(gaps):.2f} %"
    blocking = " / ".join(f"{_mean(rows[scheme][: len(draws)], 'blocking_pairs'):.1f}" for scheme in SCHEMES)
    blocking += f"; optimum {_mean(measured, 'blocking_pairs'):.1f}"
    return best, [
        Finding("total speed, mean share of the optimum [%]", "", text, "not in the paper", note),
        Finding("the same, worst simulation [%]", "", worst, "not in the paper", note),
        Finding("blocking pairs, mean", "", blocking, "not in the paper", f"first {len(draws)} simulations"),
    ]


def _finding(name: str, printed: Sequence[float], ours: Sequence[float], best: float | None, optima: int) -> Finding:
    speed = name == "speed_score"
    verdict, note = _judged(printed, ours, speed)
    text = " / ".join(_figure(value, speed) for value in ours)
    if best is not None:
        text += f"; optimum {_figure(best, speed)} (first {optima})"
    return Finding(WORDS[name], " / ".join(_figure(value, speed) for value in printed), text, verdict, note)


def _judged(printed: Sequence[float], ours: Sequence[float], speed: bool) -> tuple[Verdict, str]:
    """Whether every level and the ordering of the schemes hold, and which do not."""
    paper, here = np.array(printed), np.array(ours)
    difference = np.abs(here / paper - 1) if speed else np.abs(here - paper)
    levels = difference <= (LEVEL_SPEED if speed else LEVEL_POINTS)
    wrong = []
    for a in range(len(SCHEMES)):
        for b in range(a + 1, len(SCHEMES)):
            apart, said = here[a] - here[b], paper[a] - paper[b]
            least = EQUAL_SPEED * abs(here[b]) if speed else EQUAL_POINTS
            told = EQUAL_SPEED * abs(paper[b]) if speed else EQUAL_POINTS
            if apart * said < 0 and abs(apart) > least and abs(said) > told:
                wrong.append(f"{SCHEMES[a]} {'above' if apart > 0 else 'below'} {SCHEMES[b]} here")
    words = ["levels hold" if levels.all() else f"levels off: {', '.join(np.array(SCHEMES)[~levels])}"]
    words.append("ordering holds" if not wrong else f"ordering off: {', '.join(wrong)}")
    return ("reproduced" if levels.all() and not wrong else "differs"), "; ".join(words)


def _mean(rows: Sequence[dict[str, float]], name: str) -> float:
    """Mean over the simulations where it is defined, shares in percent."""
    values = [row[name] for row in rows if name in row]
    return float(np.mean(values)) * (1.0 if name in ("speed_score", "total_speed", "blocking_pairs") else 100.0)


def _figure(value: float, speed: bool) -> str:
    return f"{value:.0f}" if speed else f"{value:.1f}"
