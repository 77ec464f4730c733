"""Exact nucleoli of games of 6 to 12 players and more, and what making and judging the proof takes.

    python benchmarks/bench_nucleolus.py --peer VENV/bin/python

Processor seconds, the median of three games; values are known before the clock starts. The peer is
coopgame-py 0.3.0 (a Rust library; `pip install coopgame-py` in an environment of its own): its
`nucleolus` computes in floats, `nucleolus_exact` in fractions up to 10 players. Where it runs,
its divisions are compared: "off" is the largest difference, as a part of the value of all.
"""

from __future__ import annotations

import json
import random
import statistics
import subprocess
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from form import Rows, parser, timed

from cotenant.analysis.scheduling.core import core
from cotenant.instances.scheduling.generators import workload
from cotenant.solvers.cooperative import nucleolus
from cotenant.solvers.scheduling import reference

PEER = """
import json, sys, time, coopgame
from fractions import Fraction
values = [int(v) for v in json.load(sys.stdin)[1:]]
game, most = coopgame.Game([float(v) for v in values]), len(values).bit_length()
before = time.process_time()
found = coopgame.nucleolus(game)["allocation"]
middle = time.process_time()
exact = coopgame.nucleolus_exact(values)["allocation"] if most <= int(sys.argv[1]) else None
after = time.process_time()
exact = exact and [str(share) for share in exact]
print(json.dumps([found, middle - before, exact, exact and after - middle]))
"""


def general(rng: random.Random, players: int) -> list[int]:
    """Any values, with a core or without."""
    values = [0] + [rng.randint(0, 100) * mask.bit_count() for mask in range(1, 1 << players)]
    values[-1] = max(values[-1], sum(values[1 << i] for i in range(players)))
    return values


def superadditive(rng: random.Random, players: int) -> list[int]:
    """The best partition into coalitions of the first kind."""
    values = np.array(general(rng, players))
    for mask in range(1, 1 << players):
        part = (mask - 1) & mask
        while part:
            values[mask] = max(values[mask], values[part] + values[mask ^ part])
            part = (part - 1) & mask
    return [int(value) for value in values]


def convex(rng: random.Random, players: int) -> list[int]:
    """What is left of an estate for claims (Aumann and Maschler 1985)."""
    claims = [rng.randint(1, 1000) for _ in range(players)]
    total = [sum(c for i, c in enumerate(claims) if m >> i & 1) for m in range(1 << players)]
    estate = total[-1] * rng.randint(20, 80) // 100
    return [max(0, estate - total[-1] + claim) for claim in total]


def winning(rng: random.Random, players: int) -> list[int]:
    """Majorities by random weights: every excess is one of many equal ones."""
    weights = [rng.randint(1, 5) for _ in range(players)]
    total = [sum(w for i, w in enumerate(weights) if m >> i & 1) for m in range(1 << players)]
    return [int(2 * weight > total[-1]) for weight in total]


def organizations(rng: random.Random, players: int) -> list[int]:
    """REF's coalitions on two machines each, with a little more work than they can do."""
    instance = workload(
        organizations=players, machines=2 * players, jobs=12 * players, horizon=120, load=1.3,
        rng=np.random.default_rng(rng.randrange(10**9)),
    )  # fmt: skip
    return list(reference(instance).values)


def peer(python: str | None, values: list[int], most_exact: int) -> list[Any]:
    """What the peer says of a game, and processor seconds; nothing without it."""
    if python is None:
        return [None] * 4
    done = subprocess.run(
        [python, "-c", PEER, str(most_exact)], input=json.dumps(values), text=True,
        capture_output=True, check=True, timeout=3600,
    )  # fmt: skip
    found: list[Any] = json.loads(done.stdout)
    return found


def middle(numbers: list[float | None]) -> float | None:
    """The median of what there is."""
    there = [number for number in numbers if number is not None]
    return statistics.median(there) if there else None


def main() -> None:
    command = parser(__doc__)
    command.add_argument("--peer", metavar="PYTHON", help="an interpreter that has coopgame-py")
    command.add_argument("--players", type=int, nargs="+", default=[6, 8, 10, 12])
    command.add_argument("--most-exact", type=int, default=10, help="of the peer's exact route")
    command.add_argument("--games", type=int, default=3)
    asked = command.parse_args()
    rows = Rows(asked.json)
    for make in (general, superadditive, convex, winning, organizations):
        for players in asked.players:
            rng = random.Random(players)
            own, rounded, exact, judged, off = [], [], [], [], [0.0]
            for _ in range(asked.games):
                values = make(rng, players)
                found = timed(lambda values=values: nucleolus(values))
                own.append(found.cpu)
                division, seconds, fractions, more = peer(asked.peer, values, asked.most_exact)
                rounded.append(seconds)
                exact.append(more)
                for mine, other in zip(found.value.division, division or [], strict=False):
                    off.append(abs(float(mine) - other) / max(1, abs(values[-1])))
                if fractions is not None:
                    assert [Fraction(share) for share in fractions] == list(found.value.division)
                with TemporaryDirectory() as folder:
                    file = Path(folder) / "game.json"
                    head = {"cotenant": 1, "problem": "game", "values": values}
                    file.write_text(json.dumps(head))
                    divided = core(file)
                    made = timed(lambda: divided.prove(Path(folder) / "proof.json"))  # noqa: B023
                    judged.append(made.cpu)
            rows.add(
                "nucleolus, processor seconds", game=make.__name__, players=players,
                own=middle(own), prove=middle(judged), peer=middle(rounded),
                peer_exact=middle(exact), off=max(off),
            )  # fmt: skip


if __name__ == "__main__":
    main()
