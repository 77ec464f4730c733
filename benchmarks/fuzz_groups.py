"""Small groups instances at random: every method and every count against enumeration.

    python benchmarks/fuzz_groups.py --count 10000 [--seed 0]

For each instance of at most nine jobs, by any model, on one or two classes of machines:
the optimum, the cheapest grouping of the core at an alpha and the least alpha equal those among all
groupings, with a proof; blocking groups and exchanges of seats are counted job by job; every policy
finds a grouping where there is one.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.group_cases import wrongs


def main() -> int:
    """Look at many instances; 1 when something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    began, bad = time.perf_counter(), 0
    for seed in range(options.seed, options.seed + options.count):
        for what in wrongs(seed):
            print(f"seed {seed}: {what}", flush=True)
            bad += 1
        if (seed + 1) % 500 == 0:
            print(f"up to seed {seed}: {bad} wrong", flush=True)
    print(f"{options.count} instances, {bad} wrong, {time.perf_counter() - began:.0f} s")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
