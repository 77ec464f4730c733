"""Cooper fig. 11 (thesis figs. 2.14 and 2.15): what stable policies cost under four mixes of jobs.

The figure is a drawing; the sentences about it are what can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import get_args

import numpy as np

from ...analysis.colocation.metrics import TOLERATED
from ...analysis.report.picture import Chart, Picture
from ...baselines.colocation import threshold
from ...instances.colocation.generators import Mix
from ...instances.colocation.instance import Colocation, Floats, Pairing
from ...instances.colocation.objective import agent_penalties
from ..charts import chart
from ..registry import Finding, addition, compare
from .populations import (
    CONVENTIONAL,
    LEAST,
    POLICIES,
    STABLE,
    UNBLOCKED,
    Setting,
    least_penalty,
    on_setting,
    unblocked,
)

AS_WELL = 0.01
"""Throughputs within this fraction of each other count as equal, unless another is given."""

_MIXES: tuple[Mix, ...] = get_args(Mix)


@dataclass(frozen=True)
class Box:
    """A distribution of penalties over agents: what a boxplot shows, and the mean.

    Attributes
    ----------
    low, median, high : quartiles.
    whisker : the largest penalty within three inter-quartile ranges of the upper quartile.
    mean : over agents.
    """

    low: float
    median: float
    high: float
    whisker: float
    mean: float


def box(rows: Iterable[tuple[Colocation, Pairing]]) -> Box:
    """The distribution of penalties over the agents of several pairings."""
    values = []
    for population, pairing in rows:
        _, value, number = agent_penalties(population, pairing)
        values.append(np.repeat(value, number))
    every = np.concatenate(values)
    low, median, high = (float(value) for value in np.percentile(every, [25, 50, 75]))
    whisker = float(every[every <= high + 3 * (high - low) + 1e-12].max())
    return Box(low, median, high, whisker, float(every.mean()))


@on_setting(draws=10)
def figure_11(
    given: Setting, *, as_well: float = AS_WELL, draws: int
) -> Iterator[Finding | Picture]:
    """Penalties under every policy and four mixes of jobs, beside the least that is possible.

    Parameters
    ----------
    agents, draws : of a population, and how many are taken together (the thesis shows 1000 tasks,
        one population).
    as_well : throughputs within this fraction of each other count as equal; the papers give none.
    order, ties, model_seed, matrix, form, bandwidth, gpu : see `populations.setting`.

    Notes
    -----
    The densities have no printed parameters; ours are in the docstring of the generator.
    """
    people = {mix: [given.population(draw, mix=mix) for draw in range(draws)] for mix in _MIXES}
    boxes = {
        mix: {
            name: box((entry, given.paired(name, entry, draw)) for draw, entry in enumerate(rows))
            for name in POLICIES
        }
        for mix, rows in people.items()
    }
    for mix, rows in people.items():
        boxes[mix][LEAST] = box((entry, least_penalty(entry)) for entry in rows)
    yield from _performance_claims(boxes, as_well)
    yield _threshold_claim(given, people["uniform"], boxes["uniform"]["GR"])
    for mix, by_policy in boxes.items():
        ours = f"{100 * by_policy[LEAST].mean:.2f} %"
        yield addition(f"{LEAST}, {mix}", ours, _gaps(by_policy))
    for mix, entries in people.items():
        free = [(entry, answer) for entry in entries if (answer := unblocked(entry)) is not None]
        ours = f"{100 * box(free).mean:.2f} %" if free else "none exists"
        yield addition(f"{UNBLOCKED}, {mix}", ours,
            f"mean penalty; {len(free)} of {draws} populations have one")  # fmt: skip
    yield addition("what this ran on", given.note)
    yield _penalty_chart(boxes, given)
    yield _mix_chart(people, given)


def _performance_claims(boxes: dict[Mix, dict[str, Box]], within: float) -> Iterator[Finding]:
    ratio = {
        f"{new}/{old}, {mix}": (1 - rows[new].mean) / (1 - rows[old].mean)
        for mix, rows in boxes.items() for new in STABLE for old in CONVENTIONAL
    }  # fmt: skip
    worst = min(ratio, key=ratio.__getitem__)
    as_well = sum(value >= 1 - within for value in ratio.values())
    yield compare("performs within 5 % of prior heuristics (abstract)", "yes",
        f"at worst {ratio[worst]:.3f} of the throughput ({worst})", ratio[worst] >= 0.95,
        "mean throughput, all stable policies over GR and CO, all mixes")  # fmt: skip
    yield compare("stable policies perform as well, if not better, than GR and CO", "yes",
        f"in {as_well} of {len(ratio)} comparisons, at worst {ratio[worst]:.3f} of the "
        f"throughput ({worst})", as_well == len(ratio),
        f"as well: at least {1 - within:.2f} of the mean throughput")  # fmt: skip
    larger = [
        name
        for name in POLICIES
        if boxes["beta-high"][name].mean >= max(rows[name].mean for rows in boxes.values())
    ]
    ours = ", ".join(f"{name} {100 * boxes['beta-high'][name].mean:.1f} %" for name in POLICIES)
    low = ", ".join(f"{name} {100 * boxes['uniform'][name].mean:.1f} %" for name in POLICIES)
    yield compare(
        "penalties are larger under beta-high",
        "every policy",
        f"{ours}; uniform: {low}",
        len(larger) == len(POLICIES),
    )
    best = min(POLICIES, key=lambda name: boxes["beta-high"][name].mean)
    note = "mean penalty; proved least: " + f"{100 * boxes['beta-high'][LEAST].mean:.1f} %"
    yield compare(
        "SMP performs best under beta-high", "yes", f"{best} does: {ours}", best == "SMP", note
    )
    for name in POLICIES:
        whisker = {mix: rows[name].whisker for mix, rows in boxes.items()}
        inside = all(value <= TOLERATED for value in whisker.values())
        line = ", ".join(f"{mix} {100 * value:.1f} %" for mix, value in whisker.items())
        what = f"{name}, the upper whisker (3 inter-quartile ranges) within the 10 % tolerance"
        if name == "CO":
            yield addition(what, line,
                "the text says only that stable policies do better by this measure")  # fmt: skip
        else:
            fitting = [mix for mix, value in whisker.items() if value <= TOLERATED]
            cause = f"the mix: it is under {', '.join(fitting)}" if fitting else ""
            yield compare(what, "yes", line, inside, "in which mix is not said: all of them", cause)
    share = {name: max(rows[name].whisker for rows in boxes.values()) for name in POLICIES}
    better = all(share[name] <= share["CO"] for name in STABLE)
    line = ", ".join(f"{name} {100 * value:.1f} %" for name, value in share.items())
    yield compare("by the whiskers, stable policies do better than CO", "yes", line, better,
        "largest over the mixes")  # fmt: skip


def _threshold_claim(given: Setting, people: list[Colocation], greedy: Box) -> Finding:
    rule = partial(threshold, order=given.order)
    found = box(
        (entry, rule(entry, rng=np.random.default_rng([given.seed, draw])))
        for draw, entry in enumerate(people)
    )
    what = (
        "without spare machines GR performs at least as well as a threshold of 10 % (section IV.C)"
    )
    ours = f"GR {100 * greedy.mean:.2f} %, threshold {100 * found.mean:.2f} %"
    return compare(what, "yes", ours, greedy.mean <= found.mean, "mean penalty, uniform mix")


def _gaps(rows: dict[str, Box]) -> str:
    above = ", ".join(
        f"{name} +{100 * (rows[name].mean - rows[LEAST].mean):.2f}" for name in POLICIES
    )
    return f"mean penalty; above it in points: {above}"


def _penalty_chart(boxes: dict[Mix, dict[str, Box]], given: Setting) -> Chart:
    rows: dict[str, list[list[float]]] = {
        name: [
            [100 * getattr(boxes[mix][name], part) for mix in _MIXES]
            for part in ("median", "low", "high")
        ]
        for name in (*POLICIES, LEAST)
    }
    return chart("colocation-figure-11", "Penalty by policy and mix of jobs", "mix of jobs",
        "penalty [%]", {name: row[0] for name, row in rows.items()}, x=_MIXES,
        ends={name: (row[1], row[2]) for name, row in rows.items()}, strong=[LEAST],
        note=f"bars: medians over agents, intervals: quartiles; {given.note}")  # fmt: skip


def _mix_chart(people: dict[Mix, list[Colocation]], given: Setting) -> Chart:
    order, ticks = given.ascending, given.ticks
    share: dict[str, Floats] = {}
    for mix, rows in people.items():
        total: Floats = np.sum([entry.count for entry in rows], axis=0)
        share[mix] = 100 * total[order] / total.sum()
    words = ", ".join(
        f"{mix} in {ticks[int(values.argmax())]}"
        for mix, values in share.items()
        if mix != "uniform"
    )
    return chart("colocation-figure-11-mixes", "Mixes of jobs (thesis fig. 2.14)",
        f"job type, {given.demand}", "agents [%]",
        {mix: values.tolist() for mix, values in share.items()}, x=ticks, style="line+points",
        words=f"Most are of: {words}.", note="the densities' parameters are ours")  # fmt: skip
