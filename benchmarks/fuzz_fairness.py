"""Small logs at random: debts in each unit, and by each rule beside REF, against the clock.

    python benchmarks/fuzz_fairness.py --count 10000 [--seed 0] [--unit gpu]

For each log (sacct's text in CPUs, GPUs, GPUs of one type, memory, billing and priced GPUs, and
Kueue's objects in both versions): what each account is owed by REF, and by the share at each
moment, fair tree and dominant share, as `tests/support/fairness_clock.py` counts it second by
second from what the log was made of.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.fairness_clock import UNITS, wrongs


def main() -> int:
    """Run the logs and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000, help="logs of each unit")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--unit", choices=UNITS, action="append")
    options = parser.parse_args()
    bad = 0
    for unit in options.unit or UNITS:
        began = time.process_time()
        with tempfile.TemporaryDirectory() as folder:
            for seed in range(options.seed, options.seed + options.count):
                for text in wrongs(seed, unit, Path(folder)):
                    print(f"seed {seed}: {text}")
                    bad += 1
        print(
            f"{unit}: {options.count} logs, {time.process_time() - began:.1f} s of processor time"
        )
    print(f"{bad} wrong")
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
