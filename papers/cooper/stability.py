"""Cooper figures 9 and 10 (thesis 2.12 and 2.13): agents that stable policies improve, and blocking
pairs.

The figures are drawings; the sentences about them are what can be compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ...analysis.colocation.satisfaction import Coupling, Satisfaction, satisfaction
from ...baselines.colocation import Ties, roommate_lists
from ...instances.colocation.instance import Floats
from ...instances.colocation.stability import blocking_pairs
from ...solvers.roommates import irving
from ..charts import chart
from ..experiment import Finding, Parts, compare, each
from . import PAPER
from .populations import (
    CONVENTIONAL,
    EVALUATION,
    MAJORITY,
    POLICIES,
    STABLE,
    UNBLOCKED,
    Setting,
    listed,
    penalties,
    readings,
    unblocked,
)

LARGE_MAJORITY = 2 / 3
"""What "a large majority" is taken to be."""

_FIFTY = Setting(draws=50)
_ALPHAS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05)
_TIES: dict[Ties, str] = {
    "own": "every agent ranking equals on its own",
    "index": "all agents ranking equals alike, by index",
}
_CROWDED = (
    "CO and SMP pair every undemanding job with a demanding one; any two undemanding "
    "jobs would rather share with each other, so they block"
)


@PAPER.experiment(
    "figure-9", "fig. 9, thesis fig. 2.12", seconds=45,
    variations={**penalties(), **readings(),
                "how agents of a type are compared": each("coupling", "sorted"), **MAJORITY},
)  # fmt: skip
def figure_9(
    *,
    given: Setting = EVALUATION,
    coupling: Coupling = "random",
    majority: float = LARGE_MAJORITY,
) -> Parts:
    """Agents served better, worse and alike when stable policies replace greedy and complementary
    ones.

    Parameters
    ----------
    given : see `Setting`.
    coupling : how agents of one type are compared, see `satisfaction`; the paper follows individual
        agents, which is "random" in expectation. "sorted" is what an agent cannot see: how the type
        as a whole fares.
    majority : the share from which it is a large majority; the papers give none.
    """
    # 1. Every switch of policies, and to a proved pairing.
    switches = {
        f"{new}/{old}": (new, old)
        for kind in (STABLE, (UNBLOCKED,))
        for old in CONVENTIONAL
        for new in kind
    }
    found: dict[str, list[Satisfaction]] = {switch: [] for switch in switches}
    for draw, population in enumerate(given.populations()):
        answer = {name: given.paired(name, population, draw) for name in POLICIES}
        if (free := unblocked(population)) is not None:
            answer[UNBLOCKED] = free
        for switch, (new, old) in switches.items():
            if new in answer:
                pair = answer[old], answer[new]
                found[switch].append(satisfaction(population, *pair, coupling=coupling))
    shares = {switch: _shares(entries) for switch, entries in found.items() if entries}
    drawn = {switch: found[switch] for switch, (new, _) in switches.items() if new in STABLE}
    # 2. The sentences, and the shares.
    yield from _satisfaction_claims(given, shares, drawn, majority)
    rows = {
        part: [100 * entry[part] for entry in shares.values()]
        for part in ("improved", "degraded", "unchanged")
    }
    note = "proved: a pairing without any blocking pair, in the populations that have one"
    yield chart("colocation-figure-9",
        "Agents served better, worse and alike when policies change", "new / old policy",
        "agents [%]", rows, x=[switch.replace(UNBLOCKED, "proved") for switch in shares],
        note=f"{note}; {given.types.note}")  # fmt: skip


@PAPER.experiment(
    "figure-10",
    "fig. 10, thesis fig. 2.13",
    seconds=120,
    variations={**penalties(draws=10), **readings(draws=10)},
)
def figure_10(*, given: Setting = _FIFTY) -> Parts:
    """Blocking pairs against alpha by policy, and in how many populations none is proved possible.

    Parameters
    ----------
    given : see `Setting`; 1000 agents and 50 draws in the paper.

    Notes
    -----
    Alpha is an absolute drop in penalty: 0.02 is two points (both agents' performance improves by 2
    %). The text names 2 % and 5 % only; 0 to 5 % are taken.
    """
    # 1. Blocking pairs by alpha, stable assignments, unblocked pairings.
    counts = {name: np.zeros((given.draws, len(_ALPHAS))) for name in POLICIES}
    strict = possible = 0
    for draw, population in enumerate(given.populations()):
        for name in POLICIES:
            pairing = given.paired(name, population, draw)
            counts[name][draw] = [
                blocking_pairs(population, pairing, alpha).count for alpha in _ALPHAS
            ]
        rng = np.random.default_rng([given.seed, draw])
        strict += bool(irving(roommate_lists(population, given.ties, rng)).stable)
        if (free := unblocked(population)) is not None:
            assert blocking_pairs(population, free).count == 0
            possible += 1
    # 2. The sentences.
    yield from _stability_claims(counts)
    yield compare("stable roommate assignments", "rarely exist",
        f"in {strict} of {given.draws} populations, {_TIES[given.ties]}", strict <= given.draws / 4,
        "rarely is taken as in at most a quarter of the populations")  # fmt: skip
    yield compare("a pairing without any blocking pair, ties kept", "rarely exist",
        f"proved to exist in {possible} of {given.draws} populations, proved impossible in the "
        "others", None,
        "agents of one type are alike, so a pair blocks only if both gain strictly")  # fmt: skip
    # 3. Medians with quartiles.
    low, middle, high = (
        {name: np.percentile(values, part, axis=0).tolist() for name, values in counts.items()}
        for part in (25, 50, 75)
    )
    proved = {UNBLOCKED: [0.0] * len(_ALPHAS)} if possible else {}
    note = f"points: medians, intervals: quartiles over {given.draws} populations"
    yield chart("colocation-figure-10",
        "Blocking pairs by the least gain that makes an agent leave", "alpha [points]",
        "blocking pairs", middle | proved, x=[100 * alpha for alpha in _ALPHAS],
        style="line+points", styles={UNBLOCKED: "line"}, strong=[UNBLOCKED],
        ends={name: (low[name], high[name]) for name in counts}, y_scale="symlog",
        note=f"{note}; proved in {possible} of them; {given.types.note}")  # fmt: skip


def _shares(entries: Sequence[Satisfaction]) -> dict[str, float]:
    """Mean shares of the agents that are improved, degraded and unchanged."""
    totals = [entry.totals for entry in entries]
    agents = sum(totals[0].values())
    return {name: float(np.mean([total[name] for total in totals])) / agents for name in totals[0]}


def _parts(shares: dict[str, float]) -> str:
    return listed(shares, ".1f", 100, " %")


def _satisfaction_claims(
    given: Setting,
    shares: dict[str, dict[str, float]],
    found: dict[str, list[Satisfaction]],
    majority: float,
) -> Iterator[Finding]:
    improved = {switch: shares[switch]["improved"] for switch in found}
    why = (
        "the result depends on the measured penalties, which were never published"
        if given.synthetic
        else "other machines and jobs than the papers'"
    )
    yield compare("SR/GR improves performance", "for more than half of the agents",
        _parts(shares["SR/GR"]), improved["SR/GR"] > 0.5, why)  # fmt: skip
    for switch in found:
        share = improved[switch] + shares[switch]["unchanged"]
        yield compare(f"{switch}: agents that perform at least as well", "a large majority",
            f"{100 * share:.1f} %: {_parts(shares[switch])}", share >= majority,
            f"a large majority is taken as {100 * majority:.0f} % or more")  # fmt: skip
    for old in CONVENTIONAL:
        ours = {new: improved[f"{new}/{old}"] for new in STABLE}
        yield compare(f"SR improves more agents than SMR and SMP do, from {old}", "yes, slightly",
            _parts(ours), ours["SR"] >= max(ours.values()), why)  # fmt: skip
    for switch, entries in found.items():
        lost, won = (
            _demand(given, [getattr(entry, part) for entry in entries])
            for part in ("degraded", "improved")
        )
        beside = "SMP pairs undemanding jobs with demanding ones"
        yield compare(f"{switch}: those who lose are the more contentious", "yes",
            f"{lost:.1f} on average of those who lose, {won:.1f} of those who gain; "
            f"{given.types.demand}", lost > won,
            beside if switch.startswith("SMP") and lost <= won else "")  # fmt: skip


def _demand(given: Setting, agents: list[Floats]) -> float:
    """Mean demand of given numbers of agents of each type; 0 without agents."""
    number = np.sum(agents, axis=0)
    return float(number @ given.demands / number.sum()) if number.sum() > 0 else 0.0


def _stability_claims(counts: dict[str, Floats]) -> Iterator[Finding]:
    # 1. The medians, and that they fall.
    median = {name: np.median(values, axis=0) for name, values in counts.items()}
    falling = all((np.diff(values, axis=1) <= 0).all() for values in counts.values())
    yield compare("a larger alpha reduces blocking pairs", "yes",
        "yes, every population" if falling else "no", falling)  # fmt: skip

    # 2. CO against GR.
    def against(one: str, other: str) -> str:
        return f"{median[one][0]:.0f} against {median[other][0]:.0f} at alpha 0"

    yield compare("CO produces fewer blocking pairs than GR", "yes", against("CO", "GR"),
        bool((median["CO"] < median["GR"]).all()), _CROWDED)  # fmt: skip
    (co_first, co_last), (gr_first, gr_last) = (median[name][[0, -1]] for name in ("CO", "GR"))
    yield compare("CO, especially at alpha = 5 %", "fewer",
        f"CO {co_first:.0f} to {co_last:.0f}, GR {gr_first:.0f} to {gr_last:.0f}",
        bool(co_last * max(gr_first, 1) < gr_last * max(co_first, 1)),
        "from alpha 0 to 5 % the blocking pairs of CO fall by more than those of GR")  # fmt: skip
    # 3. SMR against the others.
    below = {name: values < median["SMR"] for name, values in median.items() if name != "SMR"}
    names = [name for name, lower in below.items() if lower.any()]
    lower = np.any([*below.values()], axis=0)
    at = ", ".join(f"{100 * alpha:.0f}" for alpha, less in zip(_ALPHAS, lower, strict=True) if less)
    yield compare("SMR colocations are most stable, at every alpha", "yes",
        f"no, {' and '.join(names)} somewhere below it" if names else "yes", not names,
        "by medians the policy has fewer blocking pairs than SMR at "
        f"alpha {at} points" if names else "")  # fmt: skip
    for name in ("SMP", "SR"):
        yield compare(f"{name} is less stable than SMR", "yes", against(name, "SMR"),
            bool(median[name][0] > median["SMR"][0]),
            _CROWDED if name == "SMP" else "the result hangs on how agents of SR rank equals "
            "(option -o ties=)",
        )  # fmt: skip
