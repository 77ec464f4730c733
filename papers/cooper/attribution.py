"""Cooper figures 5, 7, 8, 14 (thesis 2.9 to 2.11): worked examples, penalty and bandwidth.

Figures 7 and 8 are drawings; what can be compared are the sentences about them. "Penalty rises with
contentiousness" is tested by Spearman's coefficient of penalty and demand over the types, see
`populations.linked`. The papers give no such test.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from ...instances.colocation.instance import Floats
from ...instances.colocation.objective import agent_penalties
from ...solvers.deferred_acceptance import deferred_acceptance
from ..experiment import Finding, Parts, chart, claim, compare, equal
from .populations import (
    CONVENTIONAL,
    EVALUATION,
    LEAST,
    PAPER,
    POLICIES,
    STABLE,
    UNBLOCKED,
    Rows,
    Setting,
    all_unblocked,
    correlations,
    least_penalty,
    linked,
    mean_bars,
    penalties,
    readings,
    spread,
    within_deviation,
)


@PAPER.experiment("figure-5", "fig. 5")
def figure_5() -> Parts:
    """Stable marriage of three memory- and three compute-intensive jobs, round by round."""
    proposers = np.array([[0, 1, 2], [2, 0, 1], [0, 1, 2]])
    liked = [[1, 2, 0], [2, 0, 1], [1, 0, 2]]  # c1: m2, m3, m1; c2: m3, m1, m2; c3: m2, m1, m3
    score = np.array([[float(row.index(m)) for m in range(3)] for row in liked])
    result = deferred_acceptance(proposers, score, log=True)
    matched = ", ".join(f"m{m + 1}c{c + 1}" for m, c in enumerate(result.partner().tolist()))
    rejected = ", ".join(
        f"m{offer.proposer + 1} by c{offer.receiver + 1}" for offer in result.log[0].rejected
    )
    yield equal("colocations", "m1c2, m2c3, m3c1", matched)
    yield equal("rounds", "2", str(result.rounds))
    yield equal("rejected in round 1", "m1 by c1", rejected)


@PAPER.experiment("figure-14", "fig. 14", what="Shapley shares of three users' interference")
def figure_14() -> Parts:
    """Shapley shares of three users' interference."""
    interference = (1.0, 2.0, 3.0)
    added: dict[float, list[float]] = {one: [] for one in interference}  # in each ordering
    for order in permutations(interference):
        total = [0.0, 0.0, sum(order[:2]), sum(order)]  # one alone has no penalty
        for one, before, after in zip(order, total[:-1], total[1:], strict=True):
            added[one].append(after - before)
    shares = tuple(sum(each) / len(each) for each in added.values())
    for name, paper, share in zip("ABC", (1.5, 2.0, 2.5), shares, strict=True):
        yield equal(f"share of user {name}", f"{paper:.1f}", f"{share:.1f}")
    yield chart("colocation-figure-14", "Shapley shares of three users' interference", "user",
        "penalty", {"interference contributed": interference, "Shapley share": shares},
        x=[f"user {name}" for name in "ABC"],
        words="The shares rise with the interference.")  # fmt: skip


FAIR = {"GR": False, "CO": False, "SMP": False, "SMR": True, "SR": True}
"""Under which policies the papers say that more demanding jobs lose more."""

CLOSE = 0.10
"""Two penalties within this fraction of the larger one count as the same."""

Bars = dict[str, Floats]
"""Policy, or what is proved -> (T,) mean penalty of each type."""


@PAPER.experiment(
    "figure-7",
    "figs. 1 and 7, thesis figs. 2.1, 2.9 and 2.10",
    seconds=45,
    variations={**penalties(), **readings()},
)
def figure_7(*, given: Setting = EVALUATION) -> Parts:
    """Penalty of each job by policy, the jobs by increasing bandwidth, beside what is proved
    possible.

    Parameters
    ----------
    given : see `Setting`; the papers do not say over how many populations they average.
    """
    rows, bars = _pairings(given)
    # 1. The sentences about single applications, and whether the bars extend up and right.
    yield from _named_jobs(given, bars)
    for name in POLICIES:
        order = [kind for kind in given.ascending if not np.isnan(bars[name][kind])]
        half = len(order) // 2
        low, high = (float(bars[name][part].mean()) for part in (order[:half], order[-half:]))
        rank, link = linked(bars[name], given.demands)
        yield compare(
            f"{name}, penalty rises with contentiousness", "yes" if FAIR[name] else "no",
            f"{'yes' if link else 'no'}: {100 * low:.1f} % for the less contentious half, "
            f"{100 * high:.1f} % for the other", link == FAIR[name], _why(name, rank, given),
        )  # fmt: skip
    # 2. Jobs that run better colocated than alone.
    shares = []
    for entry, pairing in (row for name in POLICIES for row in rows[name]):
        _, value, number = agent_penalties(entry, pairing)
        shares.append(float(number[value < 0].sum() / number.sum()))
    negative = np.mean(shares)
    least = f"the least penalty is {100 * float(given.types.base.penalty.min()):.1f} %"
    made = "the contention model has noise of 0.2 points, made for this"
    yield compare("some jobs run better colocated than alone (footnote 3)", "occasionally",
        f"{100 * negative:.1f} % of placements",
        None if given.synthetic else bool(0 < negative < 0.5),
        made if given.synthetic else least)  # fmt: skip
    # 3. The bars.
    order = given.ascending
    half = len(order) // 2
    proved = [UNBLOCKED] if rows[UNBLOCKED] else []
    for kind, policies in (
        ("conventional", [*CONVENTIONAL, LEAST]),
        ("stable", [*STABLE, *proved]),
    ):
        words = "; ".join(
            f"{policy}: {100 * np.nanmean(bars[policy][order[:half]]):.1f} % on average for the "
            "less contentious half of the types, "
            f"{100 * np.nanmean(bars[policy][order[-half:]]):.1f} % for the other"
            for policy in policies
        )
        yield chart(f"colocation-figure-7-{kind}",
            f"Penalty of each job type under {kind} policies",
            f"job type, {given.types.demand}", "mean penalty [%]",
            {policy: (100 * bars[policy][order]).tolist() for policy in policies}, x=given.ticks,
            strong=(LEAST, UNBLOCKED), words=f"{words}.", note=given.types.note)  # fmt: skip


@PAPER.experiment(
    "figure-8",
    "fig. 8, thesis fig. 2.11",
    seconds=45,
    variations={**penalties(), **readings()},
)
def figure_8(*, given: Setting = EVALUATION) -> Parts:
    """Ranks of penalty against ranks of bandwidth by policy.

    Parameters
    ----------
    given : see `Setting`.
    """
    from scipy.stats import rankdata

    # 1. The printed ranks, and whether penalties follow demands.
    rows, bars = _pairings(given)
    found = {name: correlations(entries) for name, entries in rows.items() if entries}
    rank = {name: linked(bars[name], given.demands) for name in POLICIES}
    yield from _printed_ranks(given, bars)
    for name, (value, link) in rank.items():
        yield compare(f"{name}, ranked penalties follow ranked demands",
            "yes" if FAIR[name] else "no (unfair: unrelated)",
            f"{'yes' if link else 'no'}: {spread(found[name])}", link == FAIR[name],
            _why(name, value, given))  # fmt: skip
    mean = {name: found[name].mean() for name in POLICIES}
    fairer = min(mean["SMR"], mean["SR"]) > max(mean["GR"], mean["CO"], mean["SMP"])
    yield claim("SMR and SR are fairer than GR, CO and SMP", bool(fairer))
    # 2. Ranks beside each other, and their correlation by policy.
    order = given.ascending
    ranks = {"demand": rankdata(given.demands[order]).tolist()}
    for name in POLICIES:
        ranks[name] = rankdata(np.round(bars[name][order], 12), nan_policy="omit").tolist()
    said = ", ".join(f"{name} {value:.2f}" for name, (value, _) in rank.items())
    yield chart("colocation-figure-8-ranks", "Ranks of penalty and of demand",
        f"job type, {given.types.demand}", "rank (1 is least)", ranks, x=given.ticks,
        style="points", styles={"demand": "line"}, strong=["demand"],
        words=f"Rank correlations with the demand's: {said}.", note=given.types.note)  # fmt: skip
    middle, ends = within_deviation({name: each for name, each in found.items() if len(each)})
    yield chart("colocation-figure-8-correlation", "Rank correlation of penalty with demand",
        "policy", "Spearman's coefficient", {"rank correlation": middle},
        ends={"rank correlation": ends},
        note="intervals: one standard deviation over populations")  # fmt: skip


def _pairings(given: Setting) -> tuple[dict[str, Rows], Bars]:
    """Pairings of all populations by each policy and exact method, and each type's mean penalty in
    them.
    """
    people = given.populations()
    rows: dict[str, Rows] = {
        name: [(entry, given.paired(name, entry, draw)) for draw, entry in enumerate(people)]
        for name in POLICIES
    }
    rows[LEAST] = [(entry, least_penalty(entry)) for entry in people]
    rows[UNBLOCKED] = all_unblocked(people)
    return rows, {name: mean_bars(entries) for name, entries in rows.items() if entries}


def _why(name: str, rank: float, given: Setting) -> str:
    """Note on the rank correlation of penalty and demand under one policy. It says what an inverse
    correlation means, and in which order the tasks of greedy (GR) come.
    """
    note = (
        f"rank correlation {rank:.2f} over {len(given.demands)} types, penalties averaged "
        "over populations"
    )
    if rank < -0.3:
        note += "; penalty and bandwidth are inversely related, not unrelated: contentious jobs "
        note += "have smaller penalties"
    if name == "GR" and given.order == "random":
        note += "; tasks arrive in the random order in which populations are drawn"
    return note


def _named_jobs(given: Setting, bars: Bars) -> Iterator[Finding]:
    """Findings on what the papers say of dedup, bodytrack, svm, correlation and canneal, if the
    types include all of them.
    """
    names = given.types.base.names
    if not {"dedup", "bodytrack", "svm", "correlation", "canneal"} <= set(names):
        return
    greedy, complementary = (
        dict(zip(names, (100 * bars[policy]).tolist(), strict=True)) for policy in ("GR", "CO")
    )
    first, among = (
        1 + sum(value > values["dedup"] for value in values.values())
        for values in (greedy, complementary)
    )
    why = "which job suffers comes from the contention model's random draws, not from measurements"
    why = why if given.synthetic else ""
    yield compare("GR, dedup's penalty", "the largest",
        f"{greedy['dedup']:.1f} %, place {first} of {len(names)}", first == 1, why)  # fmt: skip
    two = greedy["bodytrack"], greedy["svm"]
    yield compare("GR, bodytrack and svm", "the same penalty", f"{two[0]:.1f} % and {two[1]:.1f} %",
        abs(two[0] - two[1]) <= CLOSE * max(map(abs, two)), why)  # fmt: skip
    three = {job: greedy[job] for job in ("correlation", "canneal", "dedup")}
    yield compare("GR, correlation is penalized no less than canneal and dedup (fig. 1)", "yes",
        ", ".join(f"{job} {value:.1f} %" for job, value in three.items()),
        three["correlation"] >= max(three.values()),
        "section II means its sentence as an example of unfairness; as printed the example is "
        "fair, since correlation is the most contentious job")  # fmt: skip
    yield compare("CO, dedup is penalized more than most (fig. 1)", "yes",
        f"{complementary['dedup']:.1f} %, place {among} of {len(names)}",
        among <= len(names) // 2, why)  # fmt: skip


def _printed_ranks(given: Setting, bars: Bars) -> Iterator[Finding]:
    """Findings on the ranks of demand and penalty that the text prints for two jobs; rank 1 is
    least.
    """
    names = given.types.base.names
    if not {"swaptions", "correlation"} <= set(names):
        return
    demand = {
        name: 1 + int((given.demands < value).sum())
        for name, value in zip(names, given.demands, strict=True)
    }
    for job, penalty, rank in (("swaptions", 1, 1), ("correlation", 10, 11)):
        below = [name for name in names if demand[name] < demand[job]]
        less = ", ".join(below) if len(below) < 4 else str(len(below))
        yield compare(f"{job}, rank of demand", str(rank), f"{demand[job]} of {len(names)}",
            demand[job] == rank, "the paper's ranks fit a figure with eleven jobs",
            f"Table I has {len(names)} jobs; with less demand: {less}")  # fmt: skip
        place = {p: 1 + int((bars[p] < bars[p][names.index(job)]).sum()) for p in POLICIES}
        yield compare(f"{job}, rank of penalty", str(penalty),
            ", ".join(f"{policy} {value}" for policy, value in place.items()),
            penalty in (place["SMR"], place["SR"]),
            "the paper does not say under which policy, so SMR and SR are compared")  # fmt: skip
