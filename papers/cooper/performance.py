"""Cooper figure 11 (thesis 2.14 and 2.15): penalties of stable policies under four mixes of jobs.

The figure is a drawing; the sentences about it are what can be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import get_args

import numpy as np

from ...analysis.colocation.metrics import TOLERATED
from ...baselines.colocation import threshold
from ...instances.colocation.generators import Mix
from ...instances.colocation.instance import Colocation, Floats, Pairing
from ...instances.colocation.objective import agent_penalties
from ..charts import chart
from ..experiment import Finding, Parts, addition, compare
from . import PAPER
from .populations import (
    AS_WELL,
    CONVENTIONAL,
    EVALUATION,
    LEAST,
    POLICIES,
    STABLE,
    Setting,
    least_penalty,
    listed,
    penalties,
    readings,
)

WITHIN = 0.01
"""Throughputs within this fraction of each other count as equal, unless another is given."""

_MIXES: tuple[Mix, ...] = get_args(Mix)


@dataclass(frozen=True)
class Box:
    """Statistics of a boxplot of penalties over agents, with the mean.

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
    """Boxplot statistics of the penalties over the agents of several pairings."""
    values = []
    for population, pairing in rows:
        _, value, number = agent_penalties(population, pairing)
        values.append(np.repeat(value, number))
    every = np.concatenate(values)
    low, median, high = (float(value) for value in np.percentile(every, [25, 50, 75]))
    whisker = float(every[every <= high + 3 * (high - low) + 1e-12].max())
    return Box(low, median, high, whisker, float(every.mean()))


@PAPER.experiment(
    "figure-11",
    "fig. 11, thesis figs. 2.14 and 2.15",
    seconds=120,
    variations={**penalties(), **readings(), **AS_WELL},
)
def figure_11(*, given: Setting = EVALUATION, as_well: float = WITHIN) -> Parts:
    """Penalties by policy under four mixes of jobs, beside the proved least.

    Parameters
    ----------
    given : see `Setting`; the thesis shows 1000 tasks, one population.
    as_well : throughputs within this fraction of each other count as equal; the papers give none.

    Notes
    -----
    The densities have no printed parameters; ours are in the docstring of the generator.
    """
    # 1. Every policy, and the least possible, under every mix.
    people = {mix: given.populations(mix=mix) for mix in _MIXES}
    boxes = {
        mix: {
            name: box((entry, given.paired(name, entry, draw)) for draw, entry in enumerate(rows))
            for name in POLICIES
        }
        | {LEAST: box((entry, least_penalty(entry)) for entry in rows)}
        for mix, rows in people.items()
    }
    mean = {
        mix: {name: 100 * one.mean for name, one in rows.items()} for mix, rows in boxes.items()
    }
    yield from _performance_claims(boxes, as_well)
    # 2. Section IV.C's threshold.
    rule = partial(threshold, order=given.order)
    found = box(
        (entry, rule(entry, rng=np.random.default_rng([given.seed, draw])))
        for draw, entry in enumerate(people["uniform"])
    )
    greedy = boxes["uniform"]["GR"].mean
    yield compare(
        "without spare machines GR performs at least as well as a threshold of 10 % (section IV.C)",
        "yes", f"GR {100 * greedy:.2f} %, threshold {100 * found.mean:.2f} %",
        greedy <= found.mean, "judged by mean penalties in the uniform mix")  # fmt: skip
    # 3. How far the policies are from what is possible.
    for mix, rows in boxes.items():
        above = (f"{p} +{100 * (rows[p].mean - rows[LEAST].mean):.2f}" for p in POLICIES)
        yield addition(f"{LEAST}, {mix}", f"{mean[mix][LEAST]:.2f} %",
            f"mean penalty; above it in points: {', '.join(above)}")  # fmt: skip
    # 4. Medians with quartiles, and the mixes themselves.
    middle, low, high = (
        {name: [100 * getattr(boxes[mix][name], part) for mix in _MIXES]
         for name in (*POLICIES, LEAST)}
        for part in ("median", "low", "high")
    )  # fmt: skip
    yield chart("colocation-figure-11", "Penalty by policy and mix of jobs", "mix of jobs",
        "penalty [%]", middle, x=_MIXES, strong=[LEAST],
        ends={name: (low[name], high[name]) for name in middle},
        note=f"bars: medians over agents, intervals: quartiles; {given.types.note}")  # fmt: skip
    share: dict[str, Floats] = {}
    for mix, entries in people.items():
        total: Floats = np.sum([entry.count for entry in entries], axis=0)
        share[mix] = 100 * total[given.ascending] / total.sum()
    words = ", ".join(
        f"{mix} in {given.ticks[int(values.argmax())]}"
        for mix, values in share.items()
        if mix != "uniform"
    )
    yield chart("colocation-figure-11-mixes", "Mixes of jobs (thesis fig. 2.14)",
        f"job type, {given.types.demand}", "agents [%]",
        {mix: values.tolist() for mix, values in share.items()}, x=given.ticks,
        style="line+points", words=f"Most are of: {words}.",
        note="the densities' parameters are ours")  # fmt: skip


def _performance_claims(boxes: dict[Mix, dict[str, Box]], within: float) -> Iterator[Finding]:
    # 1. Throughput of stable policies over that of conventional ones.
    ratio = {
        f"{new}/{old}, {mix}": (1 - rows[new].mean) / (1 - rows[old].mean)
        for mix, rows in boxes.items() for new in STABLE for old in CONVENTIONAL
    }  # fmt: skip
    worst = min(ratio, key=ratio.__getitem__)
    as_well = sum(value >= 1 - within for value in ratio.values())
    at_worst = f"at worst {ratio[worst]:.3f} of the throughput ({worst})"
    yield compare("performs within 5 % of prior heuristics (abstract)", "yes", at_worst,
        ratio[worst] >= 0.95,
        "in each mix, mean throughputs of stable policies are compared with GR and CO")  # fmt: skip
    yield compare("stable policies perform as well, if not better, than GR and CO", "yes",
        f"in {as_well} of {len(ratio)} comparisons, {at_worst}", as_well == len(ratio),
        f"as well is taken as at least {1 - within:.2f} of the mean throughput")  # fmt: skip
    # 2. The mix of the most contentious jobs.
    high, low = (
        {name: boxes[mix][name].mean for name in POLICIES} for mix in ("beta-high", "uniform")
    )
    ours = listed(high, ".1f", 100, " %")
    yield compare("penalties are larger under beta-high", "every policy",
        f"{ours}; uniform: {listed(low, '.1f', 100, ' %')}",
        all(value >= max(rows[name].mean for rows in boxes.values())
            for name, value in high.items()))  # fmt: skip
    best = min(high, key=high.__getitem__)
    yield compare("SMP performs best under beta-high", "yes", f"{best} does: {ours}", best == "SMP",
        f"mean penalty; proved minimum: {100 * boxes['beta-high'][LEAST].mean:.1f} %")  # fmt: skip
    # 3. The largest penalties that are no outliers.
    share = {}
    for name in POLICIES:
        whisker: dict[str, float] = {mix: rows[name].whisker for mix, rows in boxes.items()}
        share[name] = max(whisker.values())
        fitting = [mix for mix, value in whisker.items() if value <= TOLERATED]
        if name != "CO":  # of which the text says only that stable policies do better
            yield compare(
                f"{name}, the upper whisker (3 inter-quartile ranges) within the 10 % tolerance",
                "yes", listed(whisker, ".1f", 100, " %"), len(fitting) == len(whisker),
                "the paper does not say in which mix, so all mixes are required",
                f"the mix: the whisker is within the tolerance under {', '.join(fitting)}"
                if fitting else "")  # fmt: skip
    yield compare("by the whiskers, stable policies do better than CO", "yes",
        listed(share, ".1f", 100, " %"), all(share[name] <= share["CO"] for name in STABLE),
        "policies are compared by their largest upper whisker over the mixes")  # fmt: skip
