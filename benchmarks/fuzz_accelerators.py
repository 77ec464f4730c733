"""Small instances of accelerators at random: every exact method against linear programs of every
job, solved in fractions.

    python benchmarks/fuzz_accelerators.py --count 5000 [--seed 0] [--jobs 4]

Of each instance (ties, pairs of one type, types of one job, pairs that are missing, gangs): values
and bounds of max-min, hierarchical, makespan, max-throughput and min-cost equal the optimum of a
variable for each job, pair of jobs and kind of device, or both say that there is no answer; the
least finish-time ratio can be had and no less; and leximin gives every job what raising the worst
until it can have no more gives it.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.small_accelerators import drawn, leximin_wrongs, wrongs


def main() -> int:
    """Look at many instances; 1 when something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=4, help="jobs of an instance at most")
    options = parser.parse_args()
    began, bad = time.process_time(), 0
    for seed in range(options.seed, options.seed + options.count):
        instance = drawn(seed, options.jobs)
        for what in [*wrongs(instance), *leximin_wrongs(instance)]:
            print(f"seed {seed}: {what}", flush=True)
            bad += 1
        if (seed + 1) % 500 == 0:
            print(f"up to seed {seed}: {bad} wrong", flush=True)
    seconds = time.process_time() - began
    print(f"{options.count} instances, {bad} wrong, {seconds:.0f} processor seconds")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
