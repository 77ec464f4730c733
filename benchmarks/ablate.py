"""Measure what each route of a portfolio contributes: every instance is solved with one route left
out at a time.

    python benchmarks/ablate.py ROWS [PORTFOLIO]... [--limit S]  measure; all portfolios by default
    python benchmarks/ablate.py ROWS --page PAGE  write the tables to a page

ROWS is a file of JSON lines; rows of a portfolio that is measured again are replaced. Instances are
those of `ablate_instances.py`. Seconds are processor seconds, of solvers' processes too, of what
`cotenant.solve` does under a time limit, which counts wall seconds. A route that the full portfolio
does not ask for on an instance is not left out there.

Without a route an instance is worse where an answer, a proof (a status of optimal or infeasible) or
an end before the time limit is lost; where a gap, of any level of the objective, grows by more than
10 %; or where processor seconds, with .02 added to both, grow by a factor of 2 or more. A first run
of both screens: where it shows a loss, or a factor above 1.5, two more pairs are run, seconds are
medians of three, and losses those of two of the three pairs. A route stays if at least one instance
in ten is worse without it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from functools import partial
from itertools import zip_longest
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import ablate_instances as cases
from form import busy, parser

from cotenant.analysis.run.question import Question
from cotenant.analysis.run.solve import run as run_method
from cotenant.analysis.run.starts import Starts
from cotenant.solvers.admission.search import AdmissionLimits
from cotenant.solvers.colocation.fair import FairLimits
from cotenant.solvers.colocation.penalty import OptimalLimits
from cotenant.solvers.colocation.stable_routes import StableLimits
from cotenant.solvers.groups.core import CoreLimits
from cotenant.solvers.groups.optimal import GroupLimits
from cotenant.solvers.market.fisher import FisherLimits
from cotenant.solvers.packing.cards import CardLimits
from cotenant.solvers.packing.game.play import PlayLimits
from cotenant.solvers.packing.moves_routes import MovesLimits
from cotenant.solvers.packing.portfolio_state import PortfolioLimits

LOSING, SCREEN, NOISE = 2.0, 1.5, 0.02
"""Factors of processor seconds that are a loss, and that are measured again; seconds added."""

SMALL_JOBS, JOBS, GAMES = (12, 20, 40), (20, 40, 80), (4, 8, 12, 20)

PORTFOLIOS: dict[str, tuple[str, Any, Callable[[], Iterator[cases.Case]]]] = {
    "colocation stable": ("stable", StableLimits(), cases.stable),
    "roommates": ("stable", StableLimits(), cases.roommates),
    "colocation fair": ("fair", FairLimits(), cases.fair),
    "colocation optimal": ("optimal", OptimalLimits(), cases.optimal),
    "groups optimal": ("optimal", GroupLimits(), partial(cases.groups, JOBS)),
    "groups core": ("core", CoreLimits(), partial(cases.groups, SMALL_JOBS)),
    "groups least-alpha": ("least-alpha", CoreLimits(), partial(cases.groups, SMALL_JOBS)),
    "min-servers": ("min-servers", PortfolioLimits(), partial(cases.servers, costs=False)),
    "min-cost": ("min-cost", PortfolioLimits(), partial(cases.servers, costs=True)),
    "fewest-moves": ("fewest-moves", MovesLimits(), cases.moves),
    "max-gpus": ("max-gpus", CardLimits(), cases.gpus),
    "FUGA": ("FUGA", PlayLimits(), partial(cases.games, GAMES)),
    "fisher": ("fisher", FisherLimits(), cases.fisher),
    "admission optimal": ("optimal", AdmissionLimits(), cases.admission),
}
"""By name: method, limits, instances. The other methods of market have one route each."""


class Watched(frozenset[str]):
    """Set of route names that records which of them a portfolio looks up."""

    asked: set[str]
    prefix: str

    def __contains__(self, name: object) -> bool:
        self.asked.add(f"{self.prefix}{name}")
        return super().__contains__(name)

    def __reduce__(self) -> tuple[Any, ...]:  # as plain names into processes of solvers
        return frozenset, (tuple(self),)


class Run(NamedTuple):
    """Status, value, bound and seconds of a run."""

    status: str
    value: float | None
    bound: float | None
    gaps: list[float]
    seconds: float


def changed(limits: Any, change: Callable[[str, frozenset[str]], Any], at: str = "") -> Any:
    """The limits, and those inside them, with other routes: `change` of a prefix and the routes."""
    new = {
        part.name: changed(inner, change, f"{at}{part.name}/")
        for part in fields(limits)
        if is_dataclass(inner := getattr(limits, part.name))
    }
    if hasattr(limits, "routes"):
        new["routes"] = change(at, limits.routes)
    return replace(limits, **new)


def solved(instance: Any, method: str, limits: Any, seconds: float, options: dict[str, Any]) -> Run:
    """One run, begun with what policies find, as `cotenant.solve` does; its gaps by level."""
    question = Question.of(instance, method, options)
    starts = Starts(question, 0) if question.entry.starts else None  # type: ignore[union-attr]
    question.function = partial(question.function, limits=limits)
    began = busy()
    found = run_method(question, starts, 0, seconds)
    spent = busy() - began
    levels = found.certificate.get("levels") or [{"value": found.objective, "bound": found.bound}]
    pairs = [(level.get("value"), level.get("bound")) for level in levels]
    gaps = [float("inf") if None in pair else abs(pair[0] - pair[1]) for pair in pairs]
    return Run(f"{found.status}, {found.stop}", found.objective, found.bound, gaps, spent)


def lost(base: Run, other: Run) -> str:
    """Losses of a run relative to its pair, other than time, in words; "" if none."""
    if base.value is not None and other.value is None and "infeasible" not in other.status:
        return "answer"
    for word in ("optimal", "infeasible", "finished"):
        if word in base.status and word not in other.status:
            return "proof" if word != "finished" else "end"
    if "infeasible" in base.status or (base.bound is None and other.bound is None):
        return ""
    least = 1e-9 * max(1.0, abs(base.value or 0.0))
    for one, two in zip_longest(base.gaps, other.gaps, fillvalue=float("inf")):
        if two > 1.1 * one + least:
            return "gap"
    return ""


def compared(run: Callable[[Any], Run], limits: Any, without: Any, base: Run) -> dict[str, Any]:
    """A route's row on an instance: screened, and measured again where it may matter."""
    runs = [(base, run(without))]
    ratio = (runs[0][1].seconds + NOISE) / (base.seconds + NOISE)
    if lost(*runs[0]) or lost(runs[0][1], base) or not 1 / SCREEN < ratio < SCREEN:
        runs += [(run(limits), run(without)) for _ in range(2)]
    before, after = (median(pair[side].seconds for pair in runs) for side in (0, 1))
    ratio, many = (after + NOISE) / (before + NOISE), (len(runs) + 1) // 2
    losses = [word for pair in runs if (word := lost(*pair))]
    gains = [word for one, two in runs if (word := lost(two, one))]
    worse = losses[0] if len(losses) >= many else "time" if ratio >= LOSING else ""
    better = gains[0] if len(gains) >= many else "time" if ratio <= 1 / LOSING else ""
    one, two = runs[-1]
    return {
        "with": [one.status, one.value, one.bound, round(before, 3)],
        "without": [two.status, two.value, two.bound, round(after, 3)],
        "worse": worse, "better": "" if worse else better,
    }  # fmt: skip


def measure(name: str, seconds: float) -> Iterator[dict[str, Any]]:
    """Rows of a portfolio: for each instance, each route that it uses left out in turn."""
    method, limits, listed = PORTFOLIOS[name]
    for case in listed():
        instance, asked = case.make(), set[str]()

        def watch(at: str, routes: frozenset[str], asked: set[str] = asked) -> frozenset[str]:
            watched = Watched(routes)
            watched.asked, watched.prefix = asked, at
            return watched

        def run(given: Any, case: cases.Case = case, instance: Any = instance) -> Run:
            return solved(instance, method, given, seconds, case.options)

        base = run(changed(limits, watch))
        if base.seconds < 1.0:  # the first run of a kernel compiles it
            base = run(limits)
        row = {"portfolio": name, "instance": case.name}
        yield {**row, "route": "", "with": [*base[:3], round(base.seconds, 3)]}
        for route in sorted(asked):

            def leave(at: str, routes: frozenset[str], gone: str = route) -> frozenset[str]:
                return frozenset(name for name in routes if at + name != gone)

            without = changed(limits, leave)
            yield {**row, "route": route, **compared(run, limits, without, base)}


def page(rows: list[dict[str, Any]], about: str) -> str:
    """The tables as Markdown."""
    text = [about]
    for name in dict.fromkeys(row["portfolio"] for row in rows):
        own = [row for row in rows if row["portfolio"] == name]
        number = len({row["instance"] for row in own})
        text.append(f"\n## {name}, {number} instances\n")
        routes = sorted({row["route"] for row in own} - {""})
        if not routes:
            text.append("No route that can be left out is asked for on any of them.")
            continue
        text.append("| left out | asked for on | worse | lost | better | one in ten |")
        text.append("|---|---:|---:|---|---:|---|")
        for route in routes:
            some = [row for row in own if row["route"] == route]
            words = [row["worse"] for row in some if row["worse"]]
            kinds = ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
            better = sum(bool(row["better"]) for row in some)
            stays = "yes" if 10 * len(words) >= number else "no"
            text.append(f"| {route} | {len(some)} | {len(words)} | {kinds} | {better} | {stays} |")
    return "\n".join(text) + "\n"


def main() -> None:
    """Measure, or write the page."""
    command = parser(__doc__)
    command.add_argument("rows", type=Path)
    command.add_argument("portfolio", nargs="*", metavar="PORTFOLIO", help=", ".join(PORTFOLIOS))
    command.add_argument("--limit", type=float, default=5.0)
    command.add_argument("--page", type=Path, help="its text above the first table is kept")
    asked = command.parse_args()
    lines = asked.rows.read_text().splitlines() if asked.rows.exists() else []
    rows = [json.loads(line) for line in lines]
    if asked.page:
        about = asked.page.read_text().partition("\n## ")[0].rstrip() + "\n"
        asked.page.write_text(page(rows, about))
        return
    for name in asked.portfolio or PORTFOLIOS:
        found = []
        for row in measure(name, asked.limit):
            found.append(row)
            print(json.dumps(row), flush=True)
        rows = [row for row in rows if row["portfolio"] != name] + found
        asked.rows.write_text("".join(f"{json.dumps(row)}\n" for row in rows))


if __name__ == "__main__":
    main()
