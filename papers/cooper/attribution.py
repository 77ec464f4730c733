"""Cooper figs. 7 and 8 (thesis figs. 2.9 to 2.11): does penalty follow bandwidth?

The figures are drawings; what can be compared are the sentences about them. "Penalty rises with
contentiousness" is tested by Spearman's coefficient of penalty and demand over the types: a link is
one that chance would give in fewer than 5 % of cases (one-sided). The papers give no such test.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ...analysis.report.picture import Chart, Picture
from ...instances.colocation.instance import Colocation, Floats, Pairing
from ...instances.colocation.objective import agent_penalties, attribution_slack, mean_penalty
from ...solvers.colocation import fair
from ..charts import chart
from ..registry import Finding, addition, compare
from .links import Rows, correlations, linked, mean_bars, spread
from .populations import (
    CONVENTIONAL,
    LEAST,
    POLICIES,
    STABLE,
    UNBLOCKED,
    Order,
    Setting,
    least_penalty,
    on_setting,
    unblocked,
)

FAIR = {"GR": False, "CO": False, "SMP": False, "SMR": True, "SR": True}
"""Under which policies the papers say that more demanding jobs lose more."""

CLOSE = 0.10
"""Two penalties within this fraction of the larger one count as the same."""


@on_setting(draws=10)
def figure_7(given: Setting, *, draws: int) -> Iterator[Finding | Picture]:
    """Mean penalty of each job type under every policy, the types by increasing contentiousness.

    Parameters
    ----------
    agents, draws : of a population, and how many populations are averaged (the papers do not say
        over how many).
    order, ties, model_seed, matrix, form, bandwidth, gpu : see `populations.setting`.
    """
    rows = _pairings(given, draws)
    bars = {name: mean_bars(entries) for name, entries in rows.items() if entries}
    yield from _named_jobs(given, bars)
    yield from (_rising(given, name, bars[name]) for name in POLICIES)
    other: Order = "index" if given.order == "random" else "random"
    swapped = replace(given, order=other)
    greedy_bars = mean_bars(
        [(entry, swapped.paired("GR", entry, draw)) for draw, (entry, _) in enumerate(rows["GR"])]
    )
    rank, _ = linked(greedy_bars, given.demands)
    order = "by type" if other == "index" else "at random"
    yield addition(f"GR with tasks that come {order}", f"rank correlation {rank:.2f}",
        "the papers do not say in which order")  # fmt: skip
    negative = np.mean(
        [_share_below_zero(entry, pairing) for name in POLICIES for entry, pairing in rows[name]]
    )
    what = "some jobs run better colocated than alone (footnote 3)"
    ours = f"{100 * negative:.1f} % of placements"
    if given.synthetic:
        yield compare(what, "occasionally", ours, None,
            "the contention model has noise of 0.2 points, made for this")  # fmt: skip
    else:
        note = f"the least penalty is {100 * float(given.base.penalty.min()):.1f} %"
        yield compare(what, "occasionally", ours, bool(0 < negative < 0.5), note)
    for name, entries in rows.items():
        mean = (
            float(np.mean([mean_penalty(entry, pairing) for entry, pairing in entries]))
            if entries
            else None
        )
        ours = f"none in {draws} populations" if mean is None else f"{100 * mean:.2f} %"
        beside = f"{len(entries)} of {draws} populations have one" if name == UNBLOCKED else ""
        yield addition(f"mean penalty, {name}", ours, beside)
    yield addition("what this ran on", given.note)
    charts = [
        _bars_chart(
            given, "figure-7-conventional", "conventional policies", [*CONVENTIONAL, LEAST], bars
        ),
        _bars_chart(
            given,
            "figure-7-stable",
            "stable policies",
            [*STABLE, *([UNBLOCKED] if rows[UNBLOCKED] else [])],
            bars,
        ),
    ]
    yield from charts


@on_setting(draws=10)
def figure_8(
    given: Setting, *, draws: int, slack_seconds: float = 10.0
) -> Iterator[Finding | Picture]:
    """Ranks of penalties against ranks of demands, and their correlation under every policy.

    Parameters
    ----------
    slack_seconds : at most, for the least slack of fair attribution; 0 leaves it out.
    agents, draws, order, ties, model_seed, matrix, form, bandwidth, gpu : see `figure_7`.
    """
    rows = _pairings(given, draws)
    bars = {name: mean_bars(entries) for name, entries in rows.items() if entries}
    found = {name: correlations(entries) for name, entries in rows.items() if entries}
    yield from _printed_ranks(given, bars)
    for name in POLICIES:
        rank, link = linked(bars[name], given.demands)
        expected = "yes" if FAIR[name] else "no (unfair: unrelated)"
        ours = f"{'yes' if link else 'no'}: {spread(found[name])}"
        yield compare(f"{name}, ranked penalties follow ranked demands", expected, ours,
            link == FAIR[name], _why(name, rank, given))  # fmt: skip
    fairer = min(found[name].mean() for name in ("SMR", "SR")) > max(
        found[name].mean() for name in ("GR", "CO", "SMP")
    )
    yield compare(
        "SMR and SR are fairer than GR, CO and SMP",
        "yes",
        "yes" if fairer else "no",
        bool(fairer),
    )
    for name in (LEAST, UNBLOCKED):
        if name in found:
            yield addition(f"rank correlation, {name}", spread(found[name]))
    yield from [_least_slack(rows["GR"][0][0], slack_seconds)] if slack_seconds else []
    yield addition("what this ran on", given.note)
    yield _ranks_chart(given, bars)
    yield _correlation_chart(found)


def _pairings(given: Setting, draws: int) -> dict[str, Rows]:
    """Policy, or what is proved -> populations with its pairing, where there is one."""
    people = [given.population(draw) for draw in range(draws)]
    rows: dict[str, Rows] = {
        name: [(entry, given.paired(name, entry, draw)) for draw, entry in enumerate(people)]
        for name in POLICIES
    }
    rows[LEAST] = [(entry, least_penalty(entry)) for entry in people]
    found = [(entry, unblocked(entry)) for entry in people]
    rows[UNBLOCKED] = [(entry, answer) for entry, answer in found if answer is not None]
    return rows


def _rising(given: Setting, name: str, bars: Floats) -> Finding:
    """Whether the bars of fig. 7 extend up and right."""
    order = [kind for kind in given.ascending if not np.isnan(bars[kind])]
    half = len(order) // 2
    low, high = float(bars[order[:half]].mean()), float(bars[order[-half:]].mean())
    rank, link = linked(bars, given.demands)
    ours = (
        f"{'yes' if link else 'no'}: {100 * low:.1f} % for the less contentious half, "
        f"{100 * high:.1f} % for the other"
    )
    what = f"{name}, penalty rises with contentiousness"
    return compare(
        what, "yes" if FAIR[name] else "no", ours, link == FAIR[name], _why(name, rank, given)
    )


def _why(name: str, rank: float, given: Setting) -> str:
    """What the verdict rests on, and for GR what it hangs on."""
    note = (
        f"rank correlation {rank:.2f} over {len(given.demands)} types, penalties averaged "
        "over populations"
    )
    if rank < -0.3:
        note += "; not unrelated but inverse: the contentious pay less"
    if name == "GR" and given.order == "random":
        note += "; tasks come at random, as populations are drawn"
    return note


def _named_jobs(given: Setting, bars: dict[str, Floats]) -> list[Finding]:
    """The sentences about single applications, when they are there."""
    names = given.base.names
    if not {"dedup", "bodytrack", "svm", "correlation", "canneal"} <= set(names):
        return []
    by_name = {
        policy: dict(zip(names, (100 * values).tolist(), strict=True))
        for policy, values in bars.items()
    }
    greedy, complementary = by_name["GR"], by_name["CO"]
    number = len(names)
    why = (
        "which job suffers is drawn by the contention model, not measured"
        if given.synthetic
        else ""
    )

    def place(job: str, values: dict[str, float]) -> int:
        return 1 + sum(value > values[job] for value in values.values())

    first, among = place("dedup", greedy), place("dedup", complementary)
    two = abs(greedy["bodytrack"] - greedy["svm"]) <= CLOSE * max(
        abs(greedy["bodytrack"]), abs(greedy["svm"])
    )
    no_less = greedy["correlation"] >= max(greedy["canneal"], greedy["dedup"])
    three = ", ".join(f"{job} {greedy[job]:.1f} %" for job in ("correlation", "canneal", "dedup"))
    printed = (
        "the sentence (section II) is meant as unfair; as printed it is fair, "
        "correlation being the most contentious"
    )
    return [
        compare("GR, dedup's penalty", "the largest",
            f"{greedy['dedup']:.1f} %, place {first} of {number}", first == 1, why),
        compare("GR, bodytrack and svm", "the same penalty",
            f"{greedy['bodytrack']:.1f} % and {greedy['svm']:.1f} %", two, why),
        compare("GR, correlation is penalized no less than canneal and dedup (fig. 1)", "yes",
            three, no_less, printed),
        compare("CO, dedup is penalized more than most (fig. 1)", "yes",
            f"{complementary['dedup']:.1f} %, place {among} of {number}", among <= number // 2,
            why),
    ]  # fmt: skip


def _printed_ranks(given: Setting, bars: dict[str, Floats]) -> Iterator[Finding]:
    """The ranks that the text prints; 1 is the least."""
    names = given.base.names
    if not {"swaptions", "correlation"} <= set(names):
        return
    demand = {
        name: 1 + int((given.demands < value).sum())
        for name, value in zip(names, given.demands, strict=True)
    }
    for job, penalty, rank in (("swaptions", 1, 1), ("correlation", 10, 11)):
        below = [name for name in names if demand[name] < demand[job]]
        listed = ", ".join(below) if len(below) < 4 else str(len(below))
        cause = f"Table I has {len(names)} jobs; with less demand: {listed}"
        note = "the ranks fit a drawing of eleven jobs"
        what = f"{job}, rank of demand"
        yield compare(
            what, str(rank), f"{demand[job]} of {len(names)}", demand[job] == rank, note, cause
        )
        place = {p: 1 + int((bars[p] < bars[p][names.index(job)]).sum()) for p in POLICIES}
        ours = ", ".join(f"{policy} {value}" for policy, value in place.items())
        hit = any(place[policy] == penalty for policy in ("SMR", "SR"))
        yield compare(f"{job}, rank of penalty", str(penalty), ours, hit,
            "under which policy is not said: SMR or SR")  # fmt: skip


def _least_slack(population: Colocation, seconds: float) -> Finding:
    outcome = fair(population, time_limit=seconds)
    assert isinstance(outcome.solution, Pairing)
    slack = attribution_slack(population, outcome.solution)
    bound = 0.0 if outcome.bound is None else outcome.bound
    ours = f"{100 * slack:.2f} points, proved at least {100 * bound:.2f}"
    note = (
        "by how much a job type loses more than a more contentious one, at worst; "
        f"population 0, at most {seconds:g} s"
    )
    return addition("least slack of fair attribution", ours, note)


def _share_below_zero(population: Colocation, pairing: Pairing) -> float:
    _, value, number = agent_penalties(population, pairing)
    return float(number[value < 0].sum() / number.sum())


def _bars_chart(
    given: Setting, name: str, what: str, policies: list[str], bars: dict[str, Floats]
) -> Chart:
    """Fig. 7: one group of bars a type, the types by increasing demand."""
    order = given.ascending
    rows = {policy: (100 * bars[policy][order]).tolist() for policy in policies}
    half = len(order) // 2
    words = "; ".join(
        f"{policy}: {100 * np.nanmean(bars[policy][order[:half]]):.1f} % on average for the "
        "less contentious half of the types, "
        f"{100 * np.nanmean(bars[policy][order[-half:]]):.1f} % for the other"
        for policy in policies
    )
    return chart(f"colocation-{name}", f"Penalty of each job type under {what}",
        f"job type, {given.demand}", "mean penalty [%]", rows, x=given.ticks,
        strong=(LEAST, UNBLOCKED), words=f"{words}.", note=given.note)  # fmt: skip


def _ranks_chart(given: Setting, bars: dict[str, Floats]) -> Chart:
    """Fig. 8: ranks of penalties beside the ranks of demands."""
    from scipy.stats import rankdata

    order = given.ascending
    rows = {"demand": rankdata(given.demands[order]).tolist()}
    for policy in POLICIES:
        ranks = rankdata(np.round(bars[policy][order], 12), nan_policy="omit")
        rows[policy] = ranks.tolist()
    rank = {policy: linked(bars[policy], given.demands)[0] for policy in POLICIES}
    correlations = ", ".join(f"{policy} {value:.2f}" for policy, value in rank.items())
    return chart("colocation-figure-8-ranks", "Ranks of penalty and of demand",
        f"job type, {given.demand}", "rank (1 is least)", rows, x=given.ticks, style="points",
        styles={"demand": "line"}, strong=["demand"],
        words=f"Rank correlations with the demand's: {correlations}.", note=given.note)  # fmt: skip


def _correlation_chart(found: dict[str, Floats]) -> Chart:
    """Rank correlation by policy, with its deviation over populations."""
    names = [name for name, values in found.items() if len(values)]
    mean = {name: float(found[name].mean()) for name in names}
    low, high = (
        [mean[name] + sign * float(found[name].std()) for name in names] for sign in (-1, 1)
    )
    return chart("colocation-figure-8-correlation", "Rank correlation of penalty with demand",
        "policy", "Spearman's coefficient", {"rank correlation": mean},
        ends={"rank correlation": (low, high)},
        note="intervals: one standard deviation over populations")  # fmt: skip
