"""Compare exact methods with enumeration on random small instances, by family.

    python benchmarks/fuzz.py --minutes 10                        # all families in turn
    python benchmarks/fuzz.py --minutes 10 --family market --seed 7
    python benchmarks/fuzz.py --family placing --case 123456      # one case again

Families named after problems are those of `unit_cases.py`: every method in several units, beside
entries that no answer can use, and forged claims. The others are held against the oracles of
`tests/support`: `groups-core` (every count of blocking groups and exchanges), `shares`
(accelerators against linear programs of every job, in fractions), `placing` (rules on where VMs may
run), `clock` (schedules second by second, and their optima), `logs` (debts of each unit in logs of
Slurm and Kueue), `intervals` (blocking pairs within boxes of penalties), `advice` and `gpus`
(states of clusters against every placement).

Prints the cases tried by check, and the first counterexample as JSON; exit 1 then.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import unit_cases
from unit_cases import Case

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support import group_cases, interval_cases, scheduling_cases, small_accelerators
from support.advice_cases import claims, spreads_over_nodes
from support.fairness_clock import UNITS
from support.fairness_clock import wrongs as wrong_debts
from support.gpu_cases import gpu_claims
from support.oracles.placement import best, state

import cotenant
from cotenant.instances.packing import Packing, check
from cotenant.instances.problem.base import Instance
from cotenant.instances.problem.documents import to_json_value
from cotenant.instances.problem.errors import InvalidInstance, NoSolution
from cotenant.models.scheduling import fluid_bound
from cotenant.solvers.outcome import Clock
from cotenant.solvers.packing.aggregate import aggregate_bound
from cotenant.solvers.packing.presolve import presolve
from cotenant.solvers.scheduling.optimum import max_utility, max_utilization, worth_of

POLICIES = ("FF", "FFD", "BFD", "dot", "L2", "random-fit")
OPTIMA = {"utilization": max_utilization, "utility": max_utility}


def told(what: str, wrongs: Iterable[str]) -> Case:
    """A case of which an oracle lists what is wrong."""
    found = list(itertools.islice(wrongs, 20))
    yield what, not found, found


def shares(case: int) -> Case:
    instance = small_accelerators.drawn(case, 4)
    yield "", True, instance
    yield from told("methods", small_accelerators.wrongs(instance))
    yield from told("leximin", small_accelerators.leximin_wrongs(instance))


def logs(case: int) -> Case:
    for unit in UNITS:
        with tempfile.TemporaryDirectory() as folder:
            yield from told(unit, wrong_debts(case, unit, Path(folder)))


def intervals(case: int) -> Case:
    drawn = interval_cases.draw(np.random.default_rng(case))
    if drawn is not None:
        for what, number in interval_cases.compare(drawn).items():
            yield what, True, number


def clusters(case: int) -> Case:
    yield from claims(case, all_routes=case % 8 == 0)
    yield from spreads_over_nodes(case)


def gpus(case: int) -> Case:
    yield from gpu_claims(case)


def clock(case: int) -> Case:
    """The event loop against the clock, and optima against every schedule."""
    yield from told("every rule", scheduling_cases.wrongs(case))
    kind = scheduling_cases.KINDS[case % len(scheduling_cases.KINDS)]
    instance = scheduling_cases.small_instance(np.random.default_rng(case), kind, tiny=True)
    yield "", True, instance
    for objective, method in OPTIMA.items():
        most = scheduling_cases.best_of_all(instance, objective)
        yield f"fluid bound of {objective}", fluid_bound(instance, objective) >= most, most
        found = method(instance, time_limit=30)
        value = worth_of(instance, found.solution, objective)
        held = (value, found.status.value) == (most, "optimal")
        yield f"most {objective}", held, (value, most)


def placing(case: int) -> Case:
    """Methods against enumeration; a rule less raises no bound, a server more no answer."""
    try:
        instance = state(case)
        found = best(instance)
    except InvalidInstance:
        return
    yield "", True, instance
    bound = _bound(instance)
    fewest, cost, moves = (None,) * 3 if found is None else (found.servers, found.cost, found.moves)
    yield "aggregate bound", fewest is None or bound <= fewest, (bound, fewest)
    optima = {"min-servers": fewest, "min-cost": cost, "cp-sat": fewest, "fewest-moves": moves}
    for name, true in optima.items():
        result = cotenant.solve(instance, name, time_limit=30)
        value = None if result.objective is None else round(result.objective)
        status = "infeasible" if true is None else "optimal"
        yield name, (value, result.status) == (true, status), (value, true, result.status)
    for name in POLICIES:
        try:
            answer = cotenant.solve(instance, name)
        except NoSolution:
            continue
        check(instance, answer.solution)
        held = fewest is not None and answer.objective >= fewest
        yield name, held, (answer.objective, fewest)
    for weaker in _weaker(instance):
        yield "a rule less", _bound(weaker) <= bound, bound
    c = case % instance.classes
    if found is not None and not (instance.zone and instance.server_count[c] == 0):
        more = instance.servers + np.eye(instance.classes)[c]  # a new zone would count for skew
        larger = best(instance.replace(servers=more, placed=None))
        yield "a server more", larger is not None and larger.servers <= found.servers, c


def _bound(instance: Packing) -> int:
    problem = presolve(instance)
    return min(aggregate_bound(problem, Clock()).bound, problem.budget + 1)  # none: no answer


def _weaker(instance: Packing) -> Iterator[Packing]:
    """The instance with a rule less."""
    for name in ("most_per_server", "apart", "skew"):
        if getattr(instance, name) is not None:
            yield instance.replace(**{name: None})
    for name in ("limits", "spreads"):
        if rules := getattr(instance, name):
            yield instance.replace(**{name: rules[1:]})


FAMILIES: Mapping[str, Callable[[int], Case]] = {
    **{name: partial(unit_cases.case_of, name) for name in unit_cases.FAMILIES},
    "groups-core": lambda case: told("every method", group_cases.wrongs(case)),
    "shares": shares,
    "placing": placing,
    "clock": clock,
    "logs": logs,
    "intervals": intervals,
    "advice": clusters,
    "gpus": gpus,
}


def one_case(family: str, case: int, counts: Counter[str]) -> dict[str, Any] | None:
    """Run one case; the counterexample as JSON values, None when all held."""
    instance: Any = None
    what = "drawing the instance"
    try:
        for what, held, seen in FAMILIES[family](case):
            if not what:
                instance = seen
                what = "solving"
                continue
            counts[what] += 1
            if not held:
                return _counterexample(family, case, what, instance, repr(seen))
    except KeyboardInterrupt:
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        return _counterexample(family, case, what, instance, words)
    return None


def _counterexample(
    family: str, case: int, what: str, instance: Instance | None, seen: str
) -> dict[str, Any]:
    document = None if instance is None else to_json_value(dict(instance.document()))
    return {"family": family, "case": case, "check": what, "seen": seen, "instance": document}


def main() -> int:
    """Fuzz until the time is up or a counterexample is found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="of processor time")
    parser.add_argument(
        "--family", choices=FAMILIES, action="append", help="repeat for more; all when none"
    )
    parser.add_argument("--seed", type=int, default=0, help="the first case")
    parser.add_argument("--case", type=int, help="run this case alone")
    parser.add_argument(
        "--keep-going", action="store_true", help="print every counterexample instead of the first"
    )
    args = parser.parse_args()
    families = args.family or list(FAMILIES)
    counts: dict[str, Counter[str]] = {family: Counter() for family in families}
    cases: Counter[str] = Counter()
    end, case, wrong = time.process_time() + 60 * args.minutes, args.seed, 0
    try:
        while time.process_time() < end:
            for family in families:
                number = case if args.case is None else args.case
                found = one_case(family, number, counts[family])
                cases[family] += 1
                if found is not None:
                    wrong += 1
                    print(json.dumps(found), flush=True)
            case += 1
            if args.case is not None or (wrong and not args.keep_going):
                break
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    for family in families:
        print(f"{family}: {cases[family]} cases, {sum(counts[family].values())} checks")
        for what, times in sorted(counts[family].items()):
            print(f"    {times:8d}  {what}")
    for what, times in sorted(unit_cases.LEFT.items()):
        print(f"    {times:8d}  {what}")
    print(f"counterexamples: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
