"""Small states with rules on where VMs may run, at random: every method against enumeration.

    python benchmarks/fuzz_placing.py --count 1000 [--seed 0] [--quick | --turns]

For each state: min-servers, min-cost, cp-sat and fewest-moves give the enumerated optimum (or say
that there is none), the aggregate program's bound is at most that, every answer of a policy passes
the checker, dropping a rule never raises the bound, adding a server never raises the answer.
Where min-servers, min-cost, cp-sat and fewest-moves take turns, each state has one of them.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.oracles.placement import best, state

import cotenant
from cotenant.instances.packing import Packing, check
from cotenant.instances.problem import InvalidInstance, NoSolution
from cotenant.solvers.outcome import Clock
from cotenant.solvers.packing.aggregate import aggregate_bound
from cotenant.solvers.packing.constrained import reduce_ruled

POLICIES = ("FF", "FFD", "BFD", "dot", "L2", "random-fit")


def wrongs(seed: int, quick: bool, turns: bool = False) -> Iterator[str]:
    """What is wrong with the answers to one state."""
    instance = state(seed)
    found = best(instance)
    bound = _bound(instance)
    fewest = None if found is None else found.servers
    if fewest is not None and bound > fewest:
        yield f"aggregate bound {bound} above the optimum {fewest}"
    methods = (
        ("min-servers", fewest),
        ("min-cost", None if found is None else found.cost),
        ("cp-sat", fewest),
        ("fewest-moves", None if found is None else found.moves),
    )
    asked = () if quick else methods[seed % 4 :][:1] if turns else methods
    for method, value in asked:
        result = cotenant.solve(instance, method, time_limit=30)
        told = None if result.objective is None else round(result.objective)
        if told != value or result.status != ("infeasible" if value is None else "optimal"):
            yield f"{method}: {result.status} {told}, enumerated {value}"
    for method in POLICIES[seed % len(POLICIES) :][:1] if turns else POLICIES:
        try:
            answer = cotenant.solve(instance, method)
        except NoSolution:
            continue
        check(instance, answer.solution)
        if fewest is None or answer.objective < fewest:
            yield f"{method}: {answer.objective} servers, enumerated {fewest}"
    for weaker in _weaker(instance):
        if _bound(weaker) > bound:
            yield "a rule less raises the bound"
    c = seed % instance.classes
    more = instance.servers + np.eye(instance.classes)[c]
    if found is not None and instance.zone and instance.server_count[c] == 0:
        return  # a new zone counts for skew
    larger = best(instance.replace(servers=more, placed=None))
    if found is not None and (larger is None or larger.servers > found.servers):
        yield "a server more raises the answer"


def _bound(instance: Packing) -> int:
    problem = reduce_ruled(instance)
    return min(aggregate_bound(problem, Clock()).bound, problem.budget + 1)  # none: no answer


def _weaker(instance: Packing) -> Iterator[Packing]:
    """The instance with a rule less."""
    for name in ("most_per_server", "apart", "skew"):
        if getattr(instance, name) is not None:
            yield instance.replace(**{name: None})
    for name in ("limits", "spreads"):
        if rules := getattr(instance, name):
            yield instance.replace(**{name: rules[1:]})


def main() -> int:
    """Run the states and print what is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="the bound and the policies only")
    parser.add_argument("--turns", action="store_true", help="one exact method for each state")
    options = parser.parse_args()
    began, bad, none = time.perf_counter(), 0, 0
    for seed in range(options.seed, options.seed + options.count):
        try:
            found = list(itertools.islice(wrongs(seed, options.quick, options.turns), 20))
        except InvalidInstance:
            none += 1
            continue
        for text in found:
            bad += 1
            print(f"seed {seed}: {text}", flush=True)
    seconds = time.perf_counter() - began
    print(f"{options.count} states ({none} refused), {bad} wrong, {seconds:.0f} s")
    return int(bad > 0)


if __name__ == "__main__":
    raise SystemExit(main())
