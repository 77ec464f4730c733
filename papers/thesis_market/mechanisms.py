"""The thesis's figures on core allocation: its claims beside what comes out here, true or not.

Figures 3.11 to 3.13 are drawings without numbers, so what can be compared are the sentences about
them. The thesis draws applications from its measured pool and runs them; here fractions are drawn
uniformly from its range (.55, .99) and Amdahl's law is exact. Its populations are not printed; n
users on n servers with 10 jobs each are taken, n up to `largest`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Annotated, TypeVar

import numpy as np

from ...analysis.market.audits import NASH_ENVY_FREENESS, envy_audit, work_conserving
from ...analysis.report.picture import Picture
from ...catalog import functions
from ...instances.market.envy import user_envy
from ...instances.market.generators import population
from ...instances.market.instance import Allocation, Market, total_by
from ...instances.market.sharing import Share, sharing_index
from ...instances.market.utility import user_utilities
from ...instances.problem.errors import InvalidOption
from ...instances.problem.option_types import AtLeast, validate_options
from ...solvers.market import fisher, round_cores, utilitarian
from ...solvers.outcome import Outcome
from ..registry import Finding, compare, equal, experiment
from .charts import envy_bars, envy_map, shares_chart, users_chart

Value = TypeVar("Value")
Mechanisms = Mapping[str, Callable[..., Allocation | Outcome]]

MECHANISMS: dict[str, Callable[..., Allocation | Outcome]] = {
    "FM": fisher,
    **functions("market", "G-I", "G-II", "ES", "PF", "XC", "XC-M"),
}
MOST_WORK = "most work, proved"
"""The fractional optimum of total utility."""

_DRAWN_FROM = "fractions uniform on (.55, .99), 10 jobs a user"
_POPULATIONS = (10, 20, 50, 100, 200, 500, 1000)


def section_3_1_2(*, seed: int = 0) -> list[Finding | Picture]:
    """Alice and Bob under a work-conserving policy; `seed` is not looked at."""
    cores = work_conserving(
        np.array([10.0, 10.0]), np.array([0, 1, 0, 1]), np.array([2.0, 8.0, 8.0, 8.0])
    )
    rows = (
        ("Alice's cores, entitled to 10", "7", cores[:2].sum()),
        ("Bob's cores, entitled to 10", "13", cores[2:].sum()),
        ("Alice's cores on the first server", "2", cores[0]),
        ("Alice's cores on the second server", "5", cores[1]),
    )
    findings = [equal(what, paper, f"{ours:g}") for what, paper, ours in rows]
    return [*findings, shares_chart(cores, 10.0)]


@experiment
def figure_3_11(
    *, seed: int = 0, largest: int = 200, draws: int = 3
) -> Iterator[Finding | Picture]:
    """Total utility, relative to G-I's.

    Parameters
    ----------
    largest : most users (and servers).
    draws : populations of each size; means are compared.
    """
    everyone = MECHANISMS | {MOST_WORK: utilitarian}

    def total(market: Market, allocation: Allocation) -> float:
        return float(user_utilities(market, allocation.cores).sum())

    table = {n: _means(n, draws, seed, total, everyone) for n in _sizes(largest, draws)}
    relative = {n: {name: row[name] / row["G-I"] for name in everyone} for n, row in table.items()}
    for name in everyone:
        line = ", ".join(f"{n}: {row[name]:.3f}" for n, row in relative.items())
        drawn = "" if name == MOST_WORK else "a drawing"
        yield compare(f"{name}, total utility over G-I's, by users", drawn, line, None)
    worst = min(row["FM"] / row["G-II"] for row in table.values())
    yield compare(
        "FM against G-II",
        "FM performs comparably to G-II",
        f"at least {worst:.3f} of it",
        worst > 0.95,
    )
    above = sorted(
        {
            name
            for row in table.values()
            for name in MECHANISMS
            if row[name] > row["G-II"] * (1 + 1e-9)
        }
    )
    note = "exact in whole cores, which is what G-II gives; fractions of cores do more work"
    ours = f"above it: {', '.join(above) or 'none'}"
    yield compare("G-II is an upper bound of total utility", "yes", ours, not above, note)
    others = [name for name in MECHANISMS if name not in ("FM", "G-II")]
    beaten = {name for row in table.values() for name in others if row[name] > row["FM"]}
    ours = "yes" if not beaten else f"not {', '.join(sorted(beaten))}"
    yield compare("FM outperforms all others, every population", "yes", ours, not beaten,
        "G-I's profiles are exact")  # fmt: skip
    order = all(row["ES"] < row["PF"] < row["FM"] for row in table.values())
    yield compare("ES and PF below FM", "yes", "yes" if order else "no", order)
    climbing = all(row["XC"] <= row["XC-M"] * (1 + 1e-9) for row in table.values())
    yield compare(
        "XC below XC-M (hill climbing ends early)", "yes", "yes" if climbing else "no", climbing
    )
    title = "Total utility over that of G-I"
    note = f"means over {draws} populations of each size; {_DRAWN_FROM}"
    yield users_chart(
        "market-figure-3.11", title, "total utility / G-I's", relative, MOST_WORK, note
    )


@experiment
def figure_3_12(
    *, seed: int = 0, users: int = 100, groups: int = 10, step: float = 0.1, rounds: int = 50
) -> Iterator[Finding | Picture]:
    """The worst pair's envy index and its group, in whole cores and in fractions.

    Parameters
    ----------
    users, groups : as many servers as users.
    step, rounds : XC's first step, a share of the budget, and its most rounds; the thesis prints
        neither.
    """
    if not 1 <= groups <= users:
        raise InvalidOption(f"groups is {groups}; expected 1 to users = {users}")
    market = population(users=users, servers=users, groups=groups, rng=np.random.default_rng(seed))
    index: dict[str, float] = {}
    maps: list[Picture] = []
    mechanisms: Mechanisms = MECHANISMS | {
        "XC": partial(MECHANISMS["XC"], step=step, rounds=rounds)
    }
    for name in mechanisms:
        answer = _answer(name, market, seed, mechanisms)
        audit = envy_audit(market, answer)
        index[name] = audit.index
        maps.append(envy_map(name, audit.matrix, audit.group, audit.index))
        what = f"{name}, envy index of the worst pair"
        place = (
            f"users {audit.envious} and {audit.envied} in the group "
            f"{audit.group.min()}-{audit.group.max()}"
        )
        note = place if audit.index < 1 - 1e-6 else ""
        yield compare(what, "a drawing", f"{audit.index:.3f}", None, note)
    equilibrium = _answer("FM", market, seed)
    for rule in ("largest-remainder", "user-deficit"):
        envy, _ = user_envy(market, round_cores(market, equilibrium, rule))
        envious = total_by(np.arange(users) * groups // users, envy < 1 - 1e-6, groups)
        ours = (
            f"{envious.sum():g} of {users}, up to {envious.max():g} in a group, worst "
            f"index {envy.min():.3f}"
        )
        expected = "occasionally one or two users in a group with slight envy"
        slight = bool(envious.max() <= 2 and envy.min() > 0.9)
        what = f"FM in whole cores, {rule}: envious users"
        yield compare(what, expected, ours, slight, "how to round is not in the text")
    free = {name: value > 1 - 1e-6 for name, value in index.items()}
    climb = (
        "XChange's first step and when it stops are not in the text; ours climbs nearly "
        "to a best reply"
    )
    claims = (
        ("ES is envy-free", free["ES"], f"{index['ES']:.6f}", ""),
        ("FM is envy-free (in fractions)", free["FM"], f"{index['FM']:.9f}", ""),
        (
            "G-I and G-II have the most envy",
            max(index["G-I"], index["G-II"]) <= min(_rest(index)),
            _listed(index),
            "",
        ),
        ("XC reports significant envy", index["XC"] < 0.9, f"{index['XC']:.3f}", climb),
        (
            "XC has more envy than XC-M",
            index["XC"] < index["XC-M"],
            f"{index['XC']:.3f} against {index['XC-M']:.3f}",
            "",
        ),
        (
            "XC-M is 0.828-approximately envy-free",
            index["XC-M"] >= NASH_ENVY_FREENESS,
            f"{index['XC-M']:.3f}",
            "",
        ),
    )
    yield from [compare(what, "yes", ours, bool(holds), note) for what, holds, ours, note in claims]
    yield envy_bars(index, NASH_ENVY_FREENESS)
    yield from maps


@experiment
def figure_3_13(
    *, seed: int = 0, largest: int = 200, draws: int = 3
) -> Iterator[Finding | Picture]:
    """The sharing index of every mechanism, against three static shares.

    Parameters
    ----------
    largest : most users (and servers).
    draws : populations of each size; the least index over them counts.
    """
    sizes = _sizes(largest, draws)
    shares: tuple[Share, ...] = ("endowment", "tenants", "jobs")
    least_of = {n: _least(n, draws, seed, shares) for n in sizes}
    table: dict[Share, dict[int, dict[str, float]]] = {
        share: {n: {name: row[name][place] for name in MECHANISMS} for n, row in least_of.items()}
        for place, share in enumerate(shares)
    }
    for share in shares:
        for name in MECHANISMS:
            line = ", ".join(f"{n}: {row[name]:.3f}" for n, row in table[share].items())
            yield compare(
                f"{name}, sharing index against {share}, by users", "a drawing", line, None
            )
    least_of_fm = {share: min(row["FM"] for row in table[share].values()) for share in shares}
    sound = least_of_fm["endowment"] >= 1 - 1e-6
    cause = (
        f"the static share: against the endowment it is {least_of_fm['endowment']:.4f}"
        if sound
        else ""
    )
    for share, least in least_of_fm.items():
        note = {
            "endowment": "proven: a user can buy its endowment",
            "tenants": "an equal split of the servers in use is worth more than an equal part "
            "of all",
            "jobs": "the text's ES",
        }[share]
        yield compare(f"FM above 1, against {share}", "always", f"least {least:.4f}",
            least >= 1 - 1e-6, note, cause)  # fmt: skip
    against: dict[Share, str] = {
        "endowment": "an equal part of every server",
        "jobs": "the equal split among a server's jobs (ES)",
    }
    charts = [
        users_chart(
            f"market-figure-3.13-{share}",
            f"Sharing index against {words}",
            "sharing index",
            table[share],
            "FM",
            f"least over {draws} populations of each size; {_DRAWN_FROM}",
            1.0,
        )
        for share, words in against.items()
    ]
    yield from _sharing_claims(table["endowment"])
    yield from charts


def _sharing_claims(table: dict[int, dict[str, float]]) -> Iterator[Finding]:
    """The thesis's other sentences about the sharing index, against the endowment."""
    leaders = {n: max(row, key=row.__getitem__) for n, row in table.items()}
    ours = ", ".join(f"{n}: {name}" for n, name in leaders.items())
    top = set(leaders.values()) == {"FM"}
    yield compare(
        "FM's index is the largest, every population", "yes", ours, top, "against endowment"
    )
    smallest, first = next(iter(leaders.items()))
    yield compare(f"FM's index is the largest at {smallest} users", "yes", first, first == "FM")
    for name in ("G-I", "G-II"):
        below = {n: row[name] for n, row in table.items() if row[name] < 1}
        what = f"{name} does not satisfy sharing incentives"
        note = "a sparse market pays for everybody"
        ours = f"below 1 at {', '.join(map(str, below)) or 'no size'} users, against endowment"
        yield compare(what, "yes", ours, bool(below), note)
    last, row = max(table), table[max(table)]
    short = [name for name in ("XC", "XC-M", "PF", "ES") if row[name] <= 1]
    ours = f"at {last} users: " + ", ".join(
        f"{name} {row[name]:.2f}" for name in ("XC", "XC-M", "PF", "ES")
    )
    yield compare("XC, XC-M, PF and ES incentivize sharing in big systems", "yes", ours, not short)
    growing = [name for name in MECHANISMS if len(table) < 2 or row[name] > table[min(table)][name]]
    rises = {"XC", "XC-M", "PF", "ES"} <= set(growing)
    yield compare(
        "the index rises with the number of servers",
        "XC, XC-M, PF, ES",
        ", ".join(growing),
        rises,
    )


@validate_options
def _sizes(
    largest: Annotated[int, AtLeast(_POPULATIONS[0], "users")], draws: Annotated[int, AtLeast(1)]
) -> list[int]:
    return [n for n in _POPULATIONS if n <= largest]


def _answer(
    name: str, market: Market, seed: int, mechanisms: Mechanisms = MECHANISMS
) -> Allocation:
    answer = mechanisms[name](market, rng=np.random.default_rng(seed))
    found = answer.solution if isinstance(answer, Outcome) else answer
    assert isinstance(found, Allocation)
    return found


def _values(
    n: int,
    draws: int,
    seed: int,
    measure: Callable[[Market, Allocation], Value],
    mechanisms: Mechanisms = MECHANISMS,
) -> dict[str, list[Value]]:
    """Mechanism -> its value on each of the populations of n users on n servers."""
    found: dict[str, list[Value]] = {name: [] for name in mechanisms}
    for draw in range(draws):
        market = population(users=n, servers=n, rng=np.random.default_rng([seed, n, draw]))
        for name in mechanisms:
            found[name].append(measure(market, _answer(name, market, seed, mechanisms)))
    return found


def _means(
    n: int,
    draws: int,
    seed: int,
    measure: Callable[[Market, Allocation], float],
    mechanisms: Mechanisms,
) -> dict[str, float]:
    return {
        name: float(np.mean(values))
        for name, values in _values(n, draws, seed, measure, mechanisms).items()
    }


def _least(n: int, draws: int, seed: int, shares: Sequence[Share]) -> dict[str, list[float]]:
    """Mechanism -> its least sharing index over the draws, against each of the static shares."""
    found = _values(
        n,
        draws,
        seed,
        lambda market, answer: [sharing_index(market, answer, share) for share in shares],
    )
    return {name: np.min(values, axis=0).tolist() for name, values in found.items()}


def _rest(index: dict[str, float]) -> list[float]:
    return [value for name, value in index.items() if name not in ("G-I", "G-II")]


def _listed(index: dict[str, float]) -> str:
    return ", ".join(
        f"{name} {value:.3f}" for name, value in sorted(index.items(), key=lambda entry: entry[1])
    )
