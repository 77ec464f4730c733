"""Random small clusters: advice against everything that is possible in them.

    python benchmarks/fuzz_advice.py --minutes 10            # from seed 0 on
    python benchmarks/fuzz_advice.py --minutes 10 --seed 5000
    python benchmarks/fuzz_advice.py --case 123456           # one case again

Prints the cases tried by check, and the first counterexample as JSON; exit 1 then. The states and
enumerations are those of the tests; with --gpus those of cards, gangs and shares. Other models
are tried on every eighth.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import numpy as np
from support.advice_cases import Claim, claims, spreads_over_nodes
from support.advice_states import random_list
from support.gpu_cases import gpu_claims, random_gpu_list, share_claims


def tried_out(seed: int, all_routes: bool, gpus: bool) -> Iterator[Claim]:
    """The claims of a seed; an error is one that does not hold."""
    try:
        if gpus:
            yield from gpu_claims(seed)
            yield from share_claims(seed)
        else:
            yield from claims(seed, all_routes=all_routes)
            yield from spreads_over_nodes(seed)
    except Exception as error:
        yield "no error", False, repr(error)


def main() -> int:
    """Try seeds until the time is over, or one case."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--minutes", type=float, default=1.0, help="of processor time")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--case", type=int)
    asked.add_argument("--gpus", action="store_true")
    given = asked.parse_args()
    tried: Counter[str] = Counter()
    seed = given.seed if given.case is None else given.case
    begun = time.process_time()
    end = begun + 60 * given.minutes
    while time.process_time() < end:
        all_routes = given.case is not None or seed % 8 == 0
        for what, held, seen in tried_out(seed, all_routes, given.gpus):
            tried[what] += 1
            if not held:
                drawn = random_gpu_list if given.gpus else random_list
                content = drawn(np.random.default_rng(seed))
                print(
                    json.dumps({"case": seed, "check": what, "seen": str(seen), "state": content})
                )
                return 1
        if given.case is not None:
            break
        seed += 1
    print(f"seeds {given.seed} to {seed - 1}, {time.process_time() - begun:.0f} s of processor")
    for what, number in tried.items():
        print(f"{number:8} {what}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
