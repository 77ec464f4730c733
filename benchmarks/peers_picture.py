"""One picture of ours beside peers: processor seconds on a logarithmic axis, all of one run.

    python benchmarks/peers_picture.py --measure   # into peers.json, some minutes; peers installed
    python benchmarks/peers_picture.py             # docs/static/peers.svg from peers.json

Ours and the peers take turns after a warm-up of ours; a dot is the median of three. Where the input
is large, a tick says how long numpy takes to add up every number of it once: no program that reads
its input is quicker.
"""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from bench_colocation import MATCHERS, different, pair_weights
from form import parser, timed
from ratios import admission, numa, packing, scheduling

from cotenant.instances.market.generators import population
from cotenant.models.market.eisenberg_gale import eisenberg_gale
from cotenant.solvers.colocation import optimal
from cotenant.solvers.engines import solve_convex
from cotenant.solvers.market import fisher

ROWS = Path(__file__).with_name("peers.json")
PICTURE = Path(__file__).parents[1] / "docs" / "static" / "peers.svg"
REPEATS = 3
WIDTH, LEFT, RIGHT, TOP, STEP = 760, 250, 20, 84, 44

Runs = dict[str, Callable[[], Any]]


def pairing(family: str) -> Runs:
    """Different agents."""
    made = different(500, family)
    weight = pair_weights(made)
    named = {"pymatching": "PyMatching", "rustworkx": "rustworkx"}
    peers = {named[name]: partial(matched, weight) for name, (matched, _) in MATCHERS.items()}
    return {"ours": lambda: optimal(made), **peers, "limit": made.penalty.sum}


def market() -> Runs:
    """An equilibrium, beside one convex program of the same market."""
    made = population(users=1_000, servers=1_000, rng=np.random.default_rng(0))
    numbers = np.concatenate([made.user, made.server, made.parallel_fraction, made.work])
    return {
        "ours": lambda: fisher(made),
        "Clarabel (one program)": lambda: solve_convex(eisenberg_gale(made).problem),
        "limit": numbers.sum,
    }


def of_ratios(pair: Callable[[], Any], name: str) -> Runs:
    """A pair of `ratios`."""
    _, ours, peer = pair()
    return {"ours": ours, name: peer}


CASES: dict[str, Callable[[], Runs]] = {
    "pair 500 jobs, random weights": partial(pairing, "uniform"),
    "pair 500 points of a plane": partial(pairing, "plane"),
    "pair 500 jobs by scores": partial(pairing, "scores"),
    "market of 1,000 users": market,
    "pack 300 VMs of 6 types": partial(of_ratios, packing, "CP-SAT (ended at 5 s)"),
    "admit 24 jobs to 8 machines": partial(of_ratios, admission, "HiGHS (ended at 10 s)"),
    "fair schedule, 4 organizations": partial(of_ratios, scheduling, "plain Python"),
    "simulate 20,000 tasks": partial(of_ratios, numa, "simpy"),
}


def measured(runs: Runs) -> dict[str, float]:
    """Medians of processor seconds."""
    runs["ours"]()
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(REPEATS):
        for name, call in runs.items():
            seconds[name].append(timed(call).cpu)
    return {name: statistics.median(each) for name, each in seconds.items()}


def drawn(rows: list[dict[str, Any]]) -> str:
    """The picture as SVG, for light and dark pages."""
    values = [value for row in rows for value in row["seconds"].values() if value > 0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))

    def across(seconds: float) -> float:
        part = (math.log10(max(seconds, 10.0**low)) - low) / (high - low)
        return round(LEFT + part * (WIDTH - LEFT - RIGHT), 1)

    height = TOP + STEP * len(rows) + 14
    words = "; ".join(
        f"{row['what']}: " + ", ".join(f"{name} {v:.2g}" for name, v in row["seconds"].items())
        for row in rows
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>Processor seconds, ours and other programs</title><desc>{words}</desc>",
        STYLE,
        '<text class="big" x="10" y="24">The same question, the same run: processor seconds</text>',
        '<circle class="ours" cx="16" cy="44" r="6"/><text x="28" y="49">cotenant</text>',
        '<circle class="peer" cx="116" cy="44" r="6"/><text x="128" y="49">another program</text>',
        '<path class="limit" d="M262 36v16"/><text x="272" y="49">reading the input once</text>',
    ]
    for power in range(low, high + 1):
        x = across(10.0**power)
        name = f"{10.0**power:g} s" if power > -4 else f"1e{power} s"
        lines.append(f'<path class="grid" d="M{x} {TOP - 8}V{height - 10}"/>')
        lines.append(
            f'<text class="soft" x="{x}" y="{TOP - 14}" text-anchor="middle">{name}</text>'
        )
    for place, row in enumerate(rows):
        y = TOP + STEP * place + 14
        seconds = dict(row["seconds"])
        ours, limit = seconds.pop("ours"), seconds.pop("limit", None)
        last = max(seconds.values())
        lines.append(f'<text x="{LEFT - 12}" y="{y + 5}" text-anchor="end">{row["what"]}</text>')
        lines.append(f'<path class="span" d="M{across(ours)} {y}H{across(last)}"/>')
        if limit is not None:
            lines.append(f'<path class="limit" d="M{across(limit)} {y - 8}v16"/>')
        for value in seconds.values():
            lines.append(f'<circle class="peer" cx="{across(value)}" cy="{y}" r="6"/>')
        lines.append(f'<circle class="ours" cx="{across(ours)}" cy="{y}" r="6"/>')
        text = "; ".join(f"{name}: {_times(value / ours)}" for name, value in seconds.items())
        lines.append(
            f'<text class="soft small" x="{across(last) + 6}" y="{y + 20}" '
            f'text-anchor="end">{text}</text>'
        )
    return "\n".join([*lines, "</svg>", ""])


def _times(ratio: float) -> str:
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"


STYLE = """<style>
svg { background: #fff; font: 13px system-ui, sans-serif }
text { fill: #1f2328 } .soft { fill: #59636e } .small { font-size: 11px } .ours { fill: #0b5cad }
.peer { fill: #9aa7b4 } .span { stroke: #9aa7b4 } .grid { stroke: #9aa7b4; opacity: .3 }
.limit { stroke: #b35900; stroke-width: 3 } .big { font-size: 15px; font-weight: 600 }
@media (prefers-color-scheme: dark) {
  svg { background: #14171c } text { fill: #e6e8eb } .soft { fill: #a3adb8 }
  .ours { fill: #6cb2ff } .peer { fill: #5d6874 } .span { stroke: #5d6874 }
  .limit { stroke: #ffb366 }
}
</style>"""


def main() -> None:
    """Measure, or draw what was measured."""
    command = parser(__doc__)
    command.add_argument("--measure", action="store_true")
    asked = command.parse_args()
    file = asked.json or ROWS
    if asked.measure:
        rows = []
        for what, made in CASES.items():
            rows.append({"what": what, "seconds": measured(made())})
            print(what, rows[-1]["seconds"], flush=True)
        file.write_text(json.dumps(rows, indent=1) + "\n")
    PICTURE.write_text(drawn(json.loads(file.read_text())))


if __name__ == "__main__":
    main()
