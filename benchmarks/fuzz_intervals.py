"""Certain and possible blocking pairs, and what is solved with them, against enumeration over boxes
and pairings of at most eight agents.

Run from anywhere:
    python benchmarks/fuzz_intervals.py [--number 10000] [--seed 0] [--solve 1] [--shares]

Of every pairing of a drawn instance: the three counts, the agents advised to leave, the least
alpha, and whether it is stable in every corner of the box (the theorem). Of the instance: the
fewest certainly and possibly blocking pairs with the least penalty, the least worst-case penalty,
and robust alpha with its two sides. With --shares programs are solved as those of very many agents
are (`solvers.colocation.aggregate_relaxation`). Prints what was looked at; exit code 1 at the first
difference.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support import interval_cases

from cotenant.solvers.colocation.aggregate_relaxation import SHARE_LIMITS, ShareLimits

PRINTED = 500
"""Instances after which the numbers so far are printed."""


def main() -> None:
    """Draw, compare, count."""
    command = argparse.ArgumentParser(description=(__doc__ or "").partition("\n\n")[0])
    command.add_argument("--number", type=int, default=10_000)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--solve", type=int, default=1, help="solve every so many instances")
    command.add_argument("--shares", action="store_true", help="solve as for very many agents")
    chosen = command.parse_args()
    shares = ShareLimits(fewest=1, clear=1) if chosen.shares else SHARE_LIMITS
    rng, seen = np.random.default_rng(chosen.seed), Counter[str]()
    while seen["instances"] < chosen.number:
        if (case := interval_cases.draw(rng)) is not None:
            solve = seen["instances"] % chosen.solve == 0
            seen += interval_cases.compare(case, shares, solve=solve)
            if seen["instances"] % PRINTED == 0 or seen["instances"] == chosen.number:
                print(", ".join(f"{number} {what}" for what, number in seen.items()), flush=True)


if __name__ == "__main__":
    main()
