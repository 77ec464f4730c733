"""Random small instances with nasty corners: every exact method and frontier against enumeration or
a second route.

    python benchmarks/fuzz.py --minutes 10                       # all problems in turn
    python benchmarks/fuzz.py --minutes 10 --problem market --seed 7
    python benchmarks/fuzz.py --problem packing --case 123456    # one case again

Prints the cases tried by check, and the first counterexample as JSON (the instance, what was
claimed, what is true); exit 1 then. The enumerations are those of the tests, so that there is one
of each. Every answer also goes through `recheck`.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import cotenant
from cotenant.analysis.run.verify_result import recheck
from cotenant.instances.admission import Admission
from cotenant.instances.colocation import Colocation
from cotenant.instances.market import Allocation, Market
from cotenant.instances.market.sharing import sharing_ratios
from cotenant.instances.market.utility import job_utilities, user_utilities
from cotenant.instances.problem.base import Instance
from cotenant.instances.problem.documents import to_json_value
from cotenant.instances.problem.errors import InvalidInstance

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support.oracles import colocation as reference
from support.oracles import packing as packing_reference

CLOSE = 1e-6
"""Two computations in floats of one value, relative to what it could be at most."""

Case = Iterator[tuple[str, bool, Any]]
"""(what was checked, whether it held, what was claimed and what is true)."""


class Wrong(Exception):
    """A counterexample: the check, the instance, and what it shows."""


def near(one: float | None, other: float | None, scale: float = 1.0) -> bool:
    """Whether two values are the same but for rounding."""
    if one is None or other is None:
        return one is other
    return abs(one - other) <= CLOSE * max(scale, abs(one), abs(other), 1e-300)


def solved(instance: Instance, method: str, **options: Any) -> tuple[Any, Case]:
    """A result, and the check that nothing it claims is broken."""
    result = cotenant.solve(instance, method, **options)
    found = recheck(instance, result, time_limit=0)
    broken = list(getattr(found, "broken", found))
    return result, iter([(f"{method}: no claim is broken", not broken, broken)])


# --- colocation -----------------------------------------------------------------------------------


def colocation(rng: np.random.Generator) -> Case:
    """Types with ties, near ties, forbidden pairs, spare machines and lists, against every pairing
    of the agents.
    """
    fields = reference.random_fields(rng, most_agents=7)
    if rng.random() < 0.2:  # nearer to each other than a tolerance: decimals decide
        fields["penalty"] = np.where(
            np.isfinite(fields["penalty"]), np.round(fields["penalty"], 1), np.inf
        )
        fields["penalty"] = fields["penalty"] - rng.integers(0, 3, fields["penalty"].shape) * 1e-10
    try:
        instance = Colocation(**fields)
    except InvalidInstance:  # nobody that a job could share with
        return
    yield "", True, instance
    alpha = float(rng.choice([0.0, 0.0, 0.05, 0.1, 0.2]))
    true = reference.best(instance, alpha)
    best, claims = solved(instance, "optimal")
    yield from claims
    yield (
        "optimal: least penalty",
        near(best.objective, true.least_penalty),
        (best.objective, true.least_penalty),
    )
    yield "optimal: proved", best.status in ("optimal", "infeasible"), best.status
    stable, claims = solved(instance, "stable", alpha=alpha)
    yield from claims
    yield (
        "stable: fewest blocking pairs",
        near(stable.objective, true.fewest_blocking),
        (stable.objective, true.fewest_blocking, alpha),
    )
    if stable.solution is not None:
        least = true.penalty_by_blocking[int(stable.objective)]
        yield (
            "stable: least penalty among them",
            near(stable.metrics["penalty"], least),
            (stable.metrics["penalty"], least, alpha),
        )
    fair, claims = solved(instance, "fair")
    yield from claims
    yield (
        "fair: least slack",
        near(fair.objective, true.least_slack),
        (fair.objective, true.least_slack),
    )
    if fair.solution is not None:
        second = fair.certificate["levels"][1]
        least, value = true.penalty_at_slack(fair.objective), second["value"]
        seen = (
            near(value, least)
            if second["status"] == "optimal"
            else least is not None and least <= value + CLOSE
        )
        yield "fair: least penalty at it", seen, (second, least)
        yield (
            "fair: bound of its penalty",
            second["bound"] is None or second["bound"] <= (least or 0) + CLOSE,
            (second, least),
        )
        # Engines round to 1e-9: where penalties or slacks are as near, a gap may stay.
        small = (
            np.abs(instance.penalty[np.isfinite(instance.penalty) & (instance.penalty != 0)]).min(
                initial=1.0
            )
            < 1e-8
        )
        apart = not small and all(
            not fair.objective + 1e-12 < reached < fair.objective + 1e-7
            for reached, _ in true.penalty_by_slack
        )
        yield (
            "fair: least penalty proved",
            second["status"] == "optimal" or not apart or fair.status != "optimal",
            (second, least),
        )
    if instance.machines is None and true.least_penalty is not None:
        from cotenant.analysis.colocation.frontier import price_frontiers

        for frontier in price_frontiers(instance, alpha=alpha):
            for point in frontier.points:
                if (
                    frontier.fairness != "blocking_pairs"
                    or point.limit is None
                    or point.status != "optimal"
                ):
                    continue
                least = true.penalty_within(int(point.limit))
                yield (
                    "frontier: least penalty within a limit",
                    near(point.value, least),
                    (point.limit, point.value, least, alpha),
                )


# --- market ---------------------------------------------------------------------------------------


def divisions(market: Market) -> Iterator[np.ndarray]:
    """Every way to give out the whole cores of each server."""

    def split(total: int, parts: int) -> Iterator[tuple[int, ...]]:
        if parts == 1:
            yield (total,)
        else:
            for first in range(total + 1):
                yield from ((first, *rest) for rest in split(total - first, parts - 1))

    places = [np.flatnonzero(market.server == s) for s in range(len(market.capacity))]
    choices = [
        list(split(int(c), len(p))) if len(p) else [()]
        for c, p in zip(market.capacity, places, strict=True)
    ]
    for chosen in itertools.product(*choices):
        cores = np.zeros(len(market.user))
        for place, row in zip(places, chosen, strict=True):
            cores[place] = row
        yield cores


def market(rng: np.random.Generator) -> Case:
    """A few users with f = 0 and 1, equal and tiny works and budgets, against every division into
    whole cores.
    """
    users, servers, jobs = (int(rng.integers(1, most)) for most in (4, 3, 5))
    fraction = rng.choice([0.0, 0.5, 0.7, 1.0, float(rng.random())], jobs)
    size = 10.0 ** rng.integers(-12, 7) if rng.random() < 0.3 else 1.0
    work = rng.choice([0.5, 0.7, 1.0, 2.0, float(rng.random()) + 0.01], jobs) * size
    budget = (
        np.ones(users)
        if rng.random() < 0.5
        else rng.choice([0.5, 1.0, 2.0, float(rng.random()) + 0.01], users)
    )
    capacity = rng.integers(1, 5, servers).astype(float)
    instance = Market(
        capacity,
        budget,
        rng.integers(0, users, jobs),
        rng.integers(0, servers, jobs),
        fraction,
        work,
    )
    yield "", True, instance
    every = list(divisions(instance))
    most = max(float(job_utilities(instance, cores).sum()) for cores in every)
    whole, claims = solved(instance, "utilitarian", whole=True)
    yield from claims
    yield (
        "utilitarian, whole: most total",
        near(whole.objective, most, 0.0),
        (whole.objective, most),
    )
    level, claims = solved(instance, "leximin", time_limit=20)
    yield from claims

    def levels(answer: Allocation) -> tuple[float, ...]:
        ratios = sharing_ratios(instance, answer)
        return tuple(
            np.round(np.sort(ratios[np.isfinite(ratios)]), 9).tolist()
        )  # users without jobs have none

    best, mine = max(levels(Allocation(cores)) for cores in every), levels(level.solution)
    if level.certificate["leximin"]:
        same = all(near(a, b) for a, b in zip(mine, best, strict=True))
        yield "leximin: every level", same, (mine, best)
    fractional, claims = solved(instance, "utilitarian")
    yield from claims
    yield (
        "utilitarian: at least the whole one",
        fractional.objective >= most * (1 - CLOSE),
        (fractional.objective, most),
    )
    drawn = [rng.dirichlet(np.ones(jobs)) for _ in range(20)]
    for weight in drawn:
        cores = np.zeros(jobs)
        for s in range(servers):
            here = instance.server == s
            if here.any():
                cores[here] = instance.capacity[s] * weight[here] / weight[here].sum()
        total = float(job_utilities(instance, cores).sum())
        yield (
            "utilitarian: no drawn division is better",
            total <= fractional.bound * (1 + CLOSE),
            (total, fractional.bound),
        )
    fisher, claims = solved(instance, "fisher")
    yield from claims
    yield "fisher: an equilibrium", fisher.status == "optimal", (fisher.status, fisher.objective)
    convex, claims = solved(instance, "fisher-convex", time_limit=20)
    yield from claims
    yield (
        "fisher-convex: an equilibrium",
        convex.status == "optimal",
        (convex.status, convex.objective),
    )
    one, other = (user_utilities(instance, answer.solution.cores) for answer in (fisher, convex))
    if convex.status == "optimal":
        yield (
            "fisher and fisher-convex: utilities",
            bool(np.allclose(one, other, rtol=2e-2, atol=1e-9 * size)),
            (one, other),
        )
    nash, claims = solved(instance, "nash-welfare", time_limit=20)
    yield from claims
    if nash.objective is not None and nash.bound is not None:
        yield (
            "nash-welfare: proved",
            (nash.status, nash.gap) == ("optimal", 0.0),
            (nash.objective, nash.bound),
        )


# --- packing --------------------------------------------------------------------------------------


def packing(rng: np.random.Generator) -> Case:
    """Requests against trying everything, clusters against every total and the whole game tree."""
    if rng.random() < 0.5:
        instance = packing_reference.random_requests(rng, classes=int(rng.integers(1, 3)), vms=6)
        yield "", True, instance
        for method in ("min-servers", "cp-sat", "min-cost"):
            true = packing_reference.fewest(instance, costs=method == "min-cost")
            result, claims = solved(instance, method)
            yield from claims
            yield f"{method}: fewest", near(result.objective, true), (result.objective, true)
            yield (
                f"{method}: proved",
                result.status == ("infeasible" if true is None else "optimal"),
                (result.status, true),
            )
        return
    capped = bool(rng.random() < 0.4)
    instance = packing_reference.random_cluster(rng, capped)
    yield "", True, instance
    totals = packing_reference.totals_possible(instance)
    from cotenant.instances.packing.game import FairShare

    unit = FairShare.of(instance).unit  # fractions: floats would tell equal shares apart
    best = max(sorted(n * u for n, u in zip(total, unit, strict=True)) for total in totals)
    share, claims = solved(instance, "max-min-share")
    yield from claims
    mine = sorted(
        n * u for n, u in zip(share.solution.totals(instance.types).tolist(), unit, strict=True)
    )
    yield (
        "max-min-share: every level",
        mine == best,
        ([str(one) for one in mine], [str(one) for one in best]),
    )
    number = instance.server_count
    space, busy = (
        instance.initial_capacity.T @ number,
        (instance.initial_capacity - instance.capacity).T @ number,
    )
    most = max(
        float(np.mean((busy + np.array(total) @ instance.demand) / space)) for total in totals
    )
    used, claims = solved(instance, "max-utilization")
    yield from claims
    yield "max-utilization: most", near(used.objective, most), (used.objective, most)
    if instance.server_count.sum() <= 4:
        options = {"eta": 3, "alpha": float(rng.choice([2.0, 3.0, 2.5]))}
        play, claims = solved(instance, "FUGA", **options)
        yield from claims
        tree, claims = solved(instance, "FUGA-tree", **options)
        yield from claims
        same = play.certificate["choices"] == tree.certificate["choices"]
        yield (
            "FUGA and its tree: the same play",
            same,
            (play.certificate["choices"], tree.certificate["choices"], options),
        )
        joint, claims = solved(instance, "joint-optimum", **options)
        yield from claims
        least = play.metrics["disutility"]
        yield (
            "joint-optimum: no play is better",
            joint.objective <= least + CLOSE,
            (joint.objective, least, options),
        )


# --- admission ------------------------------------------------------------------------------------


def admission(rng: np.random.Generator) -> Case:
    """Empty VMs, equal speeds, more threads than cores, against every assignment."""
    from test_admission_exact import assignments

    from cotenant.analysis.admission.frontier import price_frontiers
    from cotenant.instances.admission import blocking_pairs

    machines, jobs, types = (int(rng.integers(1, most + 1)) for most in (3, 3, 2))
    speed = rng.choice([1.0, 2.0, 0.1, 0.3, float(rng.uniform(1, 9))], (jobs, types))
    instance = Admission(rng.integers(0, 3, (machines, types)), rng.integers(1, 4, jobs), speed)
    yield "", True, instance
    every = [
        (
            float((speed * one.cores).sum()),
            int((one.machine >= 0).sum()),
            blocking_pairs(instance, one).count,
        )
        for one in assignments(instance)
    ]
    most = max(value for value, _, _ in every)
    for options in ({}, {"engine": "cp-sat"}, {"route": "columns"}):
        result, claims = solved(instance, "optimal", **options)
        yield from claims
        yield (
            f"optimal {options}: most speed",
            near(result.objective, most),
            (result.objective, most),
        )
        yield f"optimal {options}: proved", result.status == "optimal", result.status
    served, value = max((number, value) for value, number, _ in every)
    result, claims = solved(instance, "most-jobs")
    yield from claims
    found = (result.objective, result.metrics["total_speed"])
    same = near(found[0], served / jobs) and near(found[1], value)
    yield "most-jobs: both levels", same, (*found, served / jobs, value)
    for point in price_frontiers(instance)[0].points:
        least = max(
            (value for value, _, pairs in every if pairs <= point.reached), default=-math.inf
        )
        yield (
            "frontier: most speed within so many pairs",
            near(point.value, least),
            (point.reached, point.value, least),
        )


# --- scheduling -----------------------------------------------------------------------------------


def scheduling(rng: np.random.Generator) -> Case:
    """Organizations without machines, jobs after the horizon, against every schedule; REF against
    its plain twin.
    """
    from support.scheduling_cases import best_of_all, small_instance

    from cotenant.instances.scheduling.utility import UTILITIES
    from cotenant.solvers.scheduling import reference as play
    from cotenant.solvers.scheduling.ref_reference import plain_ref

    instance = small_instance(rng, tiny=True)
    yield "", True, instance
    for method, objective in (("max-utilization", "utilization"), ("max-utility", "utility")):
        unit = (
            1 / (instance.total_machines * instance.horizon) if objective == "utilization" else 1.0
        )
        true = best_of_all(instance, objective) * unit
        for engine in ("cp-sat", "highs"):
            result, claims = solved(instance, method, engine=engine)
            yield from claims
            yield (
                f"{method} by {engine}: most",
                near(result.objective, true),
                (result.objective, true),
            )
            yield f"{method} by {engine}: proved", result.status == "optimal", result.status
    for reading in ("figure", "definition"):
        result, claims = solved(instance, "REF", reading=reading)
        yield from claims
        twin = plain_ref(instance, UTILITIES["throughput"], reading)
        same = result.solution.start.tolist() == twin.schedule.start.tolist()
        yield (
            f"REF, {reading}: its plain twin's schedule",
            same,
            (result.solution.start, twin.schedule.start),
        )
        yield (
            "REF: fast coalitions",
            play(instance, reading).psi.tolist() == list(twin.utilities),
            twin.utilities,
        )


# --- numa -----------------------------------------------------------------------------------------


def numa(rng: np.random.Generator) -> Case:
    """Lopsided data, unequal classes, one core, against the program written again for another
    solver.
    """
    from support.oracles.fluid import least_power, most_throughput
    from test_numa_fluid import random_server

    instance = random_server(int(rng.integers(1 << 30)))
    if rng.random() < 0.3:  # all data in one memory
        share = np.zeros(instance.processors)
        share[rng.integers(instance.processors)] = 1.0
        instance = instance.replace(location_share=share)
    yield "", True, instance
    result, claims = solved(instance, "fluid")
    yield from claims
    true = most_throughput(instance)
    yield "fluid: most throughput", near(result.objective, true, 0.0), (result.objective, true)
    yield "fluid: proved", result.status == "optimal", result.status
    for part in (1.0, float(rng.uniform(0.05, 0.99))):
        throughput = part * result.metrics["served_rate"]
        power, claims = solved(instance, "fluid-power", throughput=throughput)
        yield from claims
        least = least_power(instance, throughput * (1 - 1e-9))
        held = least is not None and abs(power.objective - least) <= 1e-4 * max(1.0, least)
        yield "fluid-power: least power", held, (power.objective, least, part)
        yield "fluid-power: proved", power.status == "optimal", (power.status, part)


Problems = Mapping[str, Callable[[np.random.Generator], Case]]

PROBLEMS: Problems = {
    "colocation": colocation,
    "market": market,
    "packing": packing,
    "admission": admission,
    "scheduling": scheduling,
    "numa": numa,
}


def one_case(
    problem: str, case: int, counts: Counter[str], problems: Problems
) -> dict[str, Any] | None:
    """Run one case; the counterexample as JSON values, None when all held."""
    instance: Any = None
    what = "drawing the instance"
    try:
        for what, held, seen in problems[problem](np.random.default_rng(case)):
            if not what:
                instance = seen
                what = "solving"
                continue
            counts[what] += 1
            if not held:
                return _told(problem, case, what, instance, repr(seen))
    except KeyboardInterrupt:
        raise
    except Exception as error:
        return _told(problem, case, what, instance, f"{type(error).__name__}: {error}")
    return None


def _told(
    problem: str, case: int, what: str, instance: Instance | None, seen: str
) -> dict[str, Any]:
    document = None if instance is None else to_json_value(dict(instance.document()))
    return {"problem": problem, "case": case, "check": what, "seen": seen, "instance": document}


def main(offered: Problems = PROBLEMS, about: str | None = __doc__) -> int:
    """Fuzz until the time is up or a counterexample is found."""
    parser = argparse.ArgumentParser(
        description=about, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=10.0, help="of processor time")
    parser.add_argument(
        "--problem", choices=offered, action="append", help="repeat for more; all when none"
    )
    parser.add_argument("--seed", type=int, default=0, help="where the numbers of cases begin")
    parser.add_argument("--case", type=int, help="run this case alone")
    parser.add_argument(
        "--keep-going", action="store_true", help="print every counterexample instead of the first"
    )
    args = parser.parse_args()
    problems = args.problem or list(offered)
    counts: dict[str, Counter[str]] = {problem: Counter() for problem in problems}
    cases: Counter[str] = Counter()
    end, number, wrong = time.process_time() + 60 * args.minutes, args.seed << 32, 0
    try:
        while time.process_time() < end:
            for problem in problems:
                case = number if args.case is None else args.case
                found = one_case(problem, case, counts[problem], offered)
                cases[problem] += 1
                if found is not None:
                    wrong += 1
                    print(json.dumps(found), flush=True)
            number += 1
            if args.case is not None or (wrong and not args.keep_going):
                break
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
    for problem in problems:
        print(f"{problem}: {cases[problem]} instances, {sum(counts[problem].values())} checks")
        for what, times in sorted(counts[problem].items()):
            print(f"    {times:8d}  {what}")
    print(f"counterexamples: {wrong}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
