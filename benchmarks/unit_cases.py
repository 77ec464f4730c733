"""Tiny instances in units from 1e-12 to 1e12 and beside enormous entries that no answer can use:
every exact method against enumeration, against itself in another unit, and against claims that are
forged; `fuzz.py` draws them.

Of each case every method has the same optimum, relative to its scale, in every unit and beside
every entry that is out of reach (types that are absent, cores that no VM has, jobs after the
horizon). No value or bound passes an optimum that is known, what is called optimal is it, and
`check` bears out each result and none whose bound was moved, or whose answer is worse than claimed.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

import cotenant
from cotenant import catalog
from cotenant.analysis.registry import analysis_of
from cotenant.analysis.run.proving import prove_file
from cotenant.analysis.run.verify_result import recheck
from cotenant.instances.colocation import Colocation
from cotenant.instances.market import Market
from cotenant.instances.problem.base import Instance
from cotenant.instances.problem.errors import CotenantError, InvalidFile
from cotenant.instances.problem.files import write
from cotenant.solvers.outcome import NO_GAP, ROUNDED, Status
from cotenant.verify import Refused

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from support import group_cases, small_cases, small_groups
from support.oracles import colocation as reference
from support.oracles import packing
from support.oracles.fluid import most_throughput
from support.scheduling_cases import best_of_all

Optima = dict[str, float | None]
"""By method; None where there is no answer."""

PROVED = 0.1
"""Of the results, this share is proved as a file too."""

SECONDS = 20.0
"""For each run."""

LEFT: Counter[str] = Counter()
"""How often a method refused an instance or did not prove its answer."""

Case = Iterator[tuple[str, bool, Any]]
"""What was checked, whether it held, and what was claimed and what is true; first "", True and the
instance.
"""


@dataclass(frozen=True)
class Family:
    """The instances of a problem.

    Attributes
    ----------
    drawn : a tiny instance.
    units : the fields that one unit is of, each unit by itself, and from where to where their
        decimals may be moved.
    out_of_reach : the same with an entry of such a size, from 1e-12 to 1e12, that no answer uses.
    optima : by enumeration.
    options : of methods that have further engines.
    """

    drawn: Callable[[np.random.Generator], Instance]
    units: tuple[tuple[tuple[str, ...], int, int], ...]
    out_of_reach: Callable[[Any, float], Iterator[Instance]]
    optima: Callable[[Any], Optima]
    options: Mapping[str, tuple[dict[str, Any], ...]]


def in_unit(instance: Instance, fields: tuple[str, ...], power: int) -> Instance:
    """The same numbers, their decimals moved by so many places."""
    moved = np.vectorize(lambda number: float(Decimal(repr(float(number))).scaleb(power)))
    return instance.replace(
        **{
            name: moved(getattr(instance, name)).tolist()
            for name in fields
            if getattr(instance, name) is not None
        }
    )


def grown(array: Any, fill: float, *shape: int) -> Any:
    """An array in the corner of a larger one."""
    made = np.full(shape, fill, dtype=np.asarray(array).dtype)
    made[tuple(slice(0, size) for size in np.shape(array))] = array
    return made


# --- colocation -----------------------------------------------------------------------------------


def pairings(rng: np.random.Generator) -> Instance:
    fields = reference.random_fields(rng, most_agents=6)
    finite = np.isfinite(fields["penalty"])
    fields["penalty"] = np.where(finite, fields["penalty"].round(2), np.inf)
    return Colocation(**fields)


def absent_agents(instance: Any, size: float) -> Iterator[Instance]:
    types = instance.types + 1
    penalty = grown(instance.penalty, min(size, 1.0), types, types)
    count = grown(instance.count, 0, types)
    yield instance.replace(
        penalty=penalty, count=count, bandwidth=grown(instance.bandwidth, size, types), names=()
    )


def best_pairings(instance: Any) -> Optima:
    best = reference.best(instance)
    return {
        "optimal": best.least_penalty,
        "stable": best.fewest_blocking,
        "fair": best.least_slack,
    }


# --- groups ---------------------------------------------------------------------------------------


def groupings(rng: np.random.Generator) -> Instance:
    return (
        group_cases.small(rng)
        if rng.random() < 0.5
        else small_groups.drawn(int(rng.integers(1 << 20)))
    )


def absent_jobs(instance: Any, size: float) -> Iterator[Instance]:
    size, types = min(size, 1.0), instance.types + 1
    more: dict[str, Any] = {"count": grown(instance.count, 0, types), "names": ()}
    if instance.pressure is not None:
        more["pressure"] = grown(instance.pressure, 1e4, types)
    if instance.model == "additive":
        more["penalty"] = grown(instance.penalty, size, *instance.penalty.shape[:-2], types, types)
    elif instance.model == "pressure":
        more["knots"] = np.append(instance.knots, [7e6, 8e6])
        knots, flat = len(more["knots"]), instance.sensitivity[..., [-1, -1]]
        last = np.concatenate([instance.sensitivity, flat], axis=-1)
        last[..., -1] = np.maximum(last[..., -1], size)
        more["sensitivity"] = grown(last, size, *last.shape[:-2], types, knots)
        yield instance.replace(**more)
        return
    else:
        rows, seats = instance.members.shape
        alone = [[types - 1, *[-1] * (seats - 1)]]
        more["members"] = np.concatenate([instance.members, alone])
        more["losses"] = grown(instance.losses, 0, rows + 1, seats)
        more["losses"][-1, 0] = size
        more["where"] = np.append(instance.where, -1)
    yield instance.replace(**more)


def best_groupings(instance: Any) -> Optima:
    least = min(small_groups.every_cost(instance), default=None)
    return {"optimal": None if least is None else float(least)}


# --- packing --------------------------------------------------------------------------------------


def placements(rng: np.random.Generator) -> Instance:
    seed = int(rng.integers(1 << 30))
    if rng.random() < 0.5:
        return small_cases.packing(seed, limited=rng.random() < 0.5)
    return small_cases.shared(seed)


def absent_servers(instance: Any, size: float) -> Iterator[Instance]:
    whole = max(1, round(min(size, 1e10)))
    classes, resources = instance.capacity.shape
    capacity = grown(instance.capacity, whole, classes + 1, resources)
    yield instance.replace(
        capacity=capacity, initial=None, class_names=(),
        servers=grown(instance.servers, 0, classes + 1),
        cost=grown(instance.server_cost, whole, classes + 1),
    )  # fmt: skip
    yield instance.replace(
        demand=np.concatenate([instance.demand, instance.demand[:1]]),
        request=grown(instance.request, 0, instance.types + 1), names=(),
    )  # fmt: skip


def best_placements(instance: Any) -> Optima:
    if instance.partial:
        return {
            "max-utilization": float(small_cases.most_utilization(instance)),
            "max-min-share": float(small_cases.largest_least_share(instance)),
        }
    fewest = packing.fewest(instance)
    known: Optima = dict.fromkeys(("min-servers", "cp-sat"), fewest)
    return {**known, "min-cost": packing.fewest(instance, costs=True)}


# --- admission ------------------------------------------------------------------------------------


def assignments(rng: np.random.Generator) -> Instance:
    return small_cases.admission(int(rng.integers(1 << 30)))


def absent_cores(instance: Any, size: float) -> Iterator[Instance]:
    types = instance.types + 1
    yield instance.replace(
        cores=grown(instance.cores, 0, instance.machines, types),
        speed=grown(instance.speed, max(size, 1e-9), instance.jobs, types),
    )


def best_assignments(instance: Any) -> Optima:
    return {"optimal": small_cases.most_total_speed(instance)}


# --- scheduling -----------------------------------------------------------------------------------


def schedules(rng: np.random.Generator) -> Instance:
    return small_cases.few_jobs(int(rng.integers(1 << 30)))


def jobs_too_late(instance: Any, size: float) -> Iterator[Instance]:
    last = max(1, round(min(size, 1e6)))
    yield instance.replace(
        organization=np.append(instance.organization, 0),
        release=np.append(instance.release, instance.horizon + last),
        processing=np.append(instance.processing, last),
        names=(),
    )


def best_schedules(instance: Any) -> Optima:
    before = instance.release < instance.horizon
    jobs = instance.replace(
        organization=instance.organization[before],
        release=instance.release[before],
        processing=instance.processing[before],
    )
    units, utility = (best_of_all(jobs, objective) for objective in ("utilization", "utility"))
    share = units / (instance.total_machines * instance.horizon)
    return {"max-utilization": share, "max-utility": utility, "REF": 0.0}


# --- market ---------------------------------------------------------------------------------------


def divisions(rng: np.random.Generator) -> Instance:
    users, servers, jobs = (int(rng.integers(1, most)) for most in (4, 3, 5))
    return Market(
        rng.integers(1, 5, servers).astype(float),
        rng.choice([0.5, 1.0, 2.0, 0.34], users),
        rng.integers(0, users, jobs),
        rng.integers(0, servers, jobs),
        rng.choice([0.0, 0.5, 0.7, 1.0], jobs),
        rng.choice([0.5, 0.7, 1.0, 2.0], jobs),
    )


def idle_users(instance: Any, size: float) -> Iterator[Instance]:
    user, server = instance.users, instance.servers
    yield instance.replace(
        capacity=np.append(instance.capacity, min(size, 1e9)),
        budget=np.append(instance.budget, size), names=(),
    )  # fmt: skip
    yield instance.replace(
        capacity=np.append(instance.capacity, 4.0), budget=np.append(instance.budget, size),
        user=np.append(instance.user, user), server=np.append(instance.server, server),
        parallel_fraction=np.append(instance.parallel_fraction, 0.5),
        work=np.append(instance.work, 0.0), names=(),
    )  # fmt: skip


# --- numa -----------------------------------------------------------------------------------------


def servers(rng: np.random.Generator) -> Instance:
    return small_cases.numa(int(rng.integers(1 << 30)))


def absent_tasks(instance: Any, size: float) -> Iterator[Instance]:
    more = {"class_share": 0.0, "service_mean": max(size, 1e-9), "bandwidth": size}
    more |= {"ht1": 1.0, "pcie": 1.0}
    yield instance.replace(
        **{name: np.append(getattr(instance, name), number) for name, number in more.items()},
        names=(),
    )


def best_flows(instance: Any) -> Optima:
    return {"fluid": most_throughput(instance)}


FAMILIES: dict[str, Family] = {
    "colocation": Family(
        pairings, ((("penalty", "unpaired"), -10, 0), (("bandwidth",), -12, 12)),
        absent_agents, best_pairings,
        {"optimal": ({}, {"engine": "cp-sat"}), "fair": ({}, {"engine": "cp-sat"})},
    ),
    "groups": Family(
        groupings, ((("penalty", "sensitivity", "losses"), -9, 0),), absent_jobs, best_groupings, {}
    ),
    "packing": Family(
        placements, ((("capacity", "demand", "initial"), 0, 12), (("cost",), 0, 12)),
        absent_servers, best_placements,
        {"joint-optimum": ({"eta": 3},)},
    ),
    "admission": Family(
        assignments, ((("speed",), -8, 11),), absent_cores, best_assignments,
        {"optimal": ({}, {"engine": "cp-sat"})},
    ),
    "scheduling": Family(
        schedules, (), jobs_too_late, best_schedules,
        {},
    ),
    "market": Family(
        divisions, ((("work",), -12, 12), (("budget",), -12, 12)), idle_users, lambda _: {},
        {
            "utilitarian": ({}, {"whole": True}),
            "nash-welfare": ({}, {"whole": True}, {"utility": "linear"}),
        },
    ),
    "numa": Family(
        servers, ((("service_mean",), -12, 12), (("bandwidth",), -12, 12)),
        absent_tasks, best_flows, {},
    ),
}  # fmt: skip


def variants(family: Family, instance: Instance, rng: np.random.Generator) -> Iterator[Instance]:
    """Instance, the same in other units, and with additional elements that no answer can use;
    variants that the class refuses are left out.
    """
    yield instance
    for fields, low, high in family.units:
        power = int(rng.integers(low, high + 1))
        with suppress(CotenantError, OverflowError):
            yield (moved := in_unit(instance, fields, power))
            for size in 10.0 ** rng.integers(-12, 13, 1):
                with suppress(CotenantError, OverflowError):
                    yield from family.out_of_reach(moved, float(size))
    for size in (1e12, 10.0 ** int(rng.integers(6, 12))):
        with suppress(CotenantError, OverflowError):
            yield from family.out_of_reach(instance, size)


def case_of(problem: str, case: int) -> Case:
    """Checks of one random instance; counts unproved answers in `LEFT`."""
    family, rng = FAMILIES[problem], np.random.default_rng(case)
    try:
        first = family.drawn(rng)
    except CotenantError:  # nobody that a job could share with
        return
    known: dict[str, tuple[float, float]] = {}
    for instance in variants(family, first, rng):
        yield "", True, instance
        true = family.optima(instance)
        for method in catalog.methods(problem):
            if method.kind not in ("exact", "equilibrium") or not method.applies_to(instance):
                continue
            for options in family.options.get(method.name, ({},)):
                name = " ".join([method.name, *(f"{k}={v}" for k, v in options.items())])
                try:
                    result = cotenant.solve(
                        instance, method.name, time_limit=SECONDS, seed=1, **options
                    )
                except CotenantError:
                    LEFT[f"{name}: refused"] += 1
                    continue
                if result.status not in ("optimal", "infeasible"):
                    LEFT[f"{name}: {result.status}"] += 1
                yield from _checks(name, instance, method, result, true, known, rng)


def _checks(
    name: str, instance: Instance, method: Any, result: Any, true: Optima,
    known: dict[str, tuple[float, float]], rng: np.random.Generator,
) -> Case:  # fmt: skip
    metric = next(
        m for m in analysis_of(instance.problem).metric_table if m.name == result.objective_name
    )
    sign = -1.0 if metric.sense == "max" else 1.0
    value, bound, scale = result.objective, result.bound, result.scale
    seen = (result.status.value, value, bound, scale)
    broken = recheck(instance, result, time_limit=0).broken
    yield f"{name}: no claim is broken", not broken, (seen, broken)

    def past(one: float, other: float) -> bool:
        """Whether one is better than the other by more than agreement allows."""
        near = NO_GAP * max(abs(one), abs(other)) + 10 * ROUNDED * scale
        near += 1e-12 * (instance.problem == "groups")  # what penalties are rounded to
        return sign * (other - one) > near

    if method.name in true:
        best = true[method.name]
        if best is None or result.solution is None:
            held = best is None and result.status in ("infeasible", "unknown")
            yield f"{name}: whether there is an answer", held, (seen, best)
            return
        yield f"{name}: no value beyond the optimum", not past(value, best), (seen, best)
        if bound is not None:
            yield f"{name}: no bound beyond the optimum", not past(best, bound), (seen, best)
        if result.status == "optimal":
            yield f"{name}: what is optimal is the best", not past(best, value), (seen, best)
    if result.solution is None or value is None or method.kind == "equilibrium":
        return
    # a user who asks for nothing is one of those that the fair share is for
    if result.status == "optimal" and result.objective_name != "disutility":
        costs = result.objective_name == "cost"  # whole numbers, of scale 1, but in a unit
        one = instance.server_cost[instance.server_count > 0].min() if costs else scale
        share, unit = known.setdefault(name, (value / one, scale))
        grain = 1e-12 / min(scale, unit) if instance.problem == "groups" else 100 * ROUNDED
        near = abs(value / one - share) <= 2 * NO_GAP * abs(share) + grain
        if instance.problem != "groups" or max(scale, unit) < 1.0:  # no job loses more than that
            yield f"{name}: the same in every unit", near, (seen, share, unit)
    if bound is None:
        return
    size = max(abs(value), 1e-3 * scale)
    for step in (0.01, -0.01) if result.status == "optimal" else (0.01,):
        forgery = replace(result, bound=value + sign * step * size, stored=None)
        forged = recheck(instance, forgery, time_limit=0)
        yield f"{name}: a moved bound is seen", bool(forged.broken), (seen, forgery.bound)
    yield from _worse(name, instance, method, result, past, rng)


def _worse(
    name: str, instance: Instance, method: Any, result: Any,
    past: Callable[[float, float], bool], rng: np.random.Generator,
) -> Case:  # fmt: skip
    """A policy's answer, claimed to be optimal with the certificate of the best."""
    certificate = {k: v for k, v in result.certificate.items() if k != "levels"}
    for policy in catalog.methods(instance.problem):
        if policy.kind != "heuristic" or result.status != "optimal":
            continue
        try:
            answer = cotenant.solve(instance, policy.name, time_limit=SECONDS)
        except CotenantError:
            continue
        value = answer.metrics.get(result.objective_name)
        if value is None or not past(result.objective, value):
            continue
        forged = replace(
            result, solution=answer.solution, bound=value, status=Status.OPTIMAL,
            certificate=certificate,
            objective=value, metrics=answer.metrics, stored=None,
        )  # fmt: skip
        try:
            found = recheck(instance, forged)
            held = bool(found.broken or found.claimed)
        except InvalidFile:  # it has no levels any more
            held = True
        yield f"{name}: a worse answer is not borne out", held, (result.objective, value)
        if method.proof_producer and rng.random() < PROVED:
            standing = _standing(instance, forged)
            yield f"{name}: a worse answer is not certified", standing != "certified", value
        break
    if method.proof_producer and rng.random() < PROVED:
        yield f"{name}: its proof is accepted", _standing(instance, result) != "refused", None


def _standing(instance: Instance, result: Any) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = write(instance, Path(folder) / "instance.json")
        try:
            proved = prove_file(instance, path, result, Path(folder) / "proof.json", SECONDS)
        except Refused:  # the answer keeps a rule by a rounding only, which the verifier has not
            return "claimed"
    return "refused" if proved.refused else proved.proof_status
