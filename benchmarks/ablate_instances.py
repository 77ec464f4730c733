"""The instances on which `ablate.py` measures the routes of each portfolio.

They were chosen before the first measurement, by size alone: bundled ones, draws of the generators
from seeds that no test and no other bench uses, and measured tables, the bundled ones and those of
the folder `COTENANT_DATA`, which are left out where a file is missing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from bench_measured import FAIR_CO2, with_room

import cotenant
from cotenant.instances.admission.generators import table_i
from cotenant.instances.admission.generators import uniform as speeds
from cotenant.instances.colocation import Colocation
from cotenant.instances.colocation.formats import fair_co2, gavel
from cotenant.instances.colocation.generators import (
    population,
    random_preferences,
    score_preferences,
)
from cotenant.instances.groups import groups_from
from cotenant.instances.groups.generators import additive, pressure, table
from cotenant.instances.market.generators import population as market
from cotenant.instances.packing.formats import alibaba_openb, azure_vm, vbp
from cotenant.instances.packing.generators import caprara_toth, cluster, few_types, vm_types
from cotenant.instances.packing.instance import Packing
from cotenant.instances.problem.base import Instance

AZURE = 1_803_000, 1_810_000, 1_817_400, 1_850_000, 1_900_000
"""Moments of the Azure list [s]."""

SEEDS = 730_001, 730_002, 730_003
"""Of every draw."""

DATA = Path(os.environ.get("COTENANT_DATA", "no data"))


def types_with_counts(types: int, agents: int, rng: np.random.Generator) -> Colocation:
    """Many types: sensitivity times pressure with noise, counts at random."""
    penalty = rng.uniform(0.2, 1, types)[:, None] * rng.uniform(0, 0.5, types) + rng.normal(
        0, 0.02, (types, types)
    )
    return Colocation(
        penalty.clip(-0.02, 0.9).round(4),
        rng.multinomial(agents, np.ones(types) / types),
        name=f"{types} types",
    )


def rounded(agents: int, digits: int, rng: np.random.Generator) -> Colocation:
    """Agents all different, with many ties."""
    made = score_preferences(agents=agents, rng=rng)
    return made.replace(penalty=np.round(made.penalty, digits))


def uniform(agents: int, digits: int, rng: np.random.Generator) -> Colocation:
    """Agents all different, penalties uniform with few or many ties."""
    return Colocation(np.round(rng.random((agents, agents)), digits), np.ones(agents))


class Case(NamedTuple):
    """An instance by name, how to make it, and the options of the method on it."""

    name: str
    make: Callable[[], Instance]
    options: dict[str, Any]


def bundled(problem: str, *names: str, **options: Any) -> Iterator[Case]:
    """Instances of the package."""
    for name in names:
        yield Case(f"{name}{_words(options)}", partial(cotenant.read, f"{problem}/{name}"), options)


def drawn(
    name: str, make: Callable[..., Instance], seeds: int = len(SEEDS), **options: Any
) -> Iterator[Case]:
    """A draw of `make(rng=...)` from each of the first seeds."""
    for seed in SEEDS[:seeds]:
        yield Case(f"{name}, seed {seed}{_words(options)}", partial(_drawn, make, seed), options)


def _drawn(make: Callable[..., Instance], seed: int) -> Instance:
    return make(rng=np.random.default_rng(seed))


def _words(options: dict[str, Any]) -> str:
    return "".join(f", {name}={value}" for name, value in options.items())


def measured(
    copies: tuple[int, ...],
    change: Callable[[Colocation], Instance] | None = None,
    **options: Any,
) -> Iterator[Case]:
    """Measured tables of pairs with a number of jobs of each kind, modified by `change`."""
    folder = DATA / "interference"
    for many in copies:
        made: dict[str, Callable[[], Colocation]] = {}
        if (path := folder / "gavel_pairs.json").exists():
            for gpu in ("k80", "p100", "v100"):
                made[f"Gavel {gpu} x {many}"] = partial(with_room, gavel, path, many, gpu=gpu)
        if (path := folder / FAIR_CO2).exists():
            made[f"Fair-CO2 x {many}"] = partial(with_room, fair_co2, path, many)
        for name, make in made.items():
            both = make if change is None else partial(_changed, make, change)
            yield Case(f"{name}{_words(options)}", both, options)


def _changed(make: Callable[[], Any], change: Callable[[Any], Instance]) -> Instance:
    return change(make())


def with_bandwidth(pairs: Colocation) -> Colocation:
    """Measured table with a bandwidth of each kind: the mean penalty of the others beside it."""
    able = np.isfinite(pairs.penalty)
    lost = np.where(able, pairs.penalty, 0.0).sum(axis=0) / np.maximum(able.sum(axis=0), 1)
    return pairs.replace(bandwidth=np.round(100 * (1 + lost), 3))


def odd_population(rng: np.random.Generator) -> Colocation:
    """101 agents of Cooper's types, and more machines than they need."""
    return population(agents=101, machines=60, rng=rng)


def other_types(agents: int, rng: np.random.Generator) -> Colocation:
    """Population of types that differ from those of the bundled instances."""
    return population(agents=agents, model_seed=int(rng.integers(10**6)), rng=rng)


def different_pairs(jobs: int, rng: np.random.Generator) -> Instance:
    """Jobs that all differ, two on a machine."""
    return groups_from(score_preferences(agents=jobs, rng=rng), seats=2)


def priced(given: Packing) -> Packing:
    """Same requests on three classes of servers with larger ones cheaper per size; existing classes
    keep their sizes and get different costs.
    """
    if given.classes > 1:
        return given.replace(cost=5 + np.arange(given.classes) * 3 % 7)
    size = given.capacity[0]
    sizes = np.array([size, 3 * size // 2, 2 * size])
    return given.replace(capacity=sizes, cost=[10, 14, 18], servers=None, initial=None)


def drawn_priced(make: Callable[..., Packing], rng: np.random.Generator) -> Packing:
    """A draw on three classes of servers."""
    return priced(make(rng=rng))


def packing_files(change: Callable[[Packing], Packing] | None) -> Iterator[Case]:
    """Vector packing files of others, and requests measured in two clouds."""
    made: dict[str, Callable[[], Packing]] = {}
    for path in files("packing/vbp/*_40_*.vbp") + files("packing/vbp/Triplet*_60_*.vbp"):
        made[path.stem] = partial(vbp, path)
    for path in files("packing/azure_v1_vm_requests_dev_20k.csv"):
        for at in AZURE:
            made[f"Azure VMs at {at}"] = partial(azure_vm, path, at=at)
    for path in files("packing/openb_pod_list_default.csv"):
        nodes = str(path.with_name("openb_node_list_all_node.csv"))
        for at in (9_000_000, 12_000_000):
            made[f"Alibaba pods at {at}"] = partial(alibaba_openb, path, nodes=nodes, at=at)
    for name, make in made.items():
        yield Case(name, make if change is None else partial(_changed, make, change), {})


def scattered(given: Packing, seed: int) -> Packing:
    """Same VMs, each now on a random server that holds it, with a fifth more servers than first fit
    decreasing needs.
    """
    nodes = int(1.2 * (cotenant.solve(given, "FFD").objective or 0)) + 1
    rng, size = np.random.default_rng(seed), given.capacity[0]
    free, count = np.tile(size, (nodes, 1)), np.zeros((nodes, given.types), dtype=np.int64)
    order = np.argsort(-(given.demand / size).max(axis=1), kind="stable")
    for i in np.repeat(order, given.requested[order].astype(int)).tolist():
        room = np.flatnonzero((free >= given.demand[i]).all(axis=1))
        if len(room):  # who finds no room waits
            at = rng.choice(room)
            free[at] -= given.demand[i]
            count[at, i] += 1
    server, kind = np.nonzero(count)
    placed = np.column_stack([server, kind, count[server, kind]])
    return given.replace(servers=np.array([float(nodes)]), placed=placed)


def files(pattern: str) -> list[Path]:
    """The data files of a pattern."""
    return sorted(DATA.glob(pattern))


def cards(servers: int, types: int, vms: int, rng: np.random.Generator) -> Packing:
    """Requests for whole cards and shares on servers with 4 or 8 cards."""
    whole = np.where(rng.random(types) < 0.4, 2 ** rng.integers(0, 4, types), 0)
    return Packing(
        capacity=np.array([[64_000, 256], [96_000, 512]]),
        demand=np.column_stack([1000 * rng.integers(1, 17, types), rng.integers(4, 65, types)]),
        request=1.0 + rng.multinomial(vms - types, np.full(types, 1 / types)),
        servers=np.array([servers, servers], dtype=float),
        partial=True,
        cards=np.array([4, 8]),
        card_units=1000,
        card_demand=whole,
        card_share=np.where(whole > 0, 0, 50 * rng.integers(2, 20, types)),
        resources=("CPU [millicores]", "memory [GiB]"),
    )


def openb_cards(servers: int, demand: float, seed: int) -> Iterator[Case]:
    """Measured lists of pods on the first nodes of the cluster that they ran on."""
    for path in files("gpu/fgd/openb_pod_list_*.csv.gz"):
        nodes = str(path.with_name("openb_node_list_gpu_node.csv.gz"))
        name = path.name.removeprefix("openb_pod_list_").removesuffix(".csv.gz")
        read = partial(
            alibaba_openb, path, nodes=nodes, cards=True, demand=demand, seed=seed, servers=servers
        )
        yield Case(f"{name} on {servers} nodes", read, {})


def markets(sizes: tuple[int, ...], seeds: int = 2, **options: Any) -> Iterator[Case]:
    """Markets of four kinds, with as many servers as users."""
    kinds: dict[str, dict[str, Any]] = {
        "plain": {},
        "unequal": {"work": "lognormal", "budgets": "lognormal"},
        "nearly serial": {"low": 0.0, "high": 0.3},
        "nearly parallel": {"low": 0.95, "high": 1.0},
    }
    for users in sizes:
        for kind, given in kinds.items():
            make = partial(market, users=users, servers=users, **given)
            yield from drawn(f"{users} users, {kind}", make, seeds, **options)


def stable() -> Iterator[Case]:
    """Types and different agents, with and without ties, alpha and intervals."""
    yield from bundled(
        "colocation", "cooper-1000", "cooper-beta-high-1000", "cooper-beta-low-1000",
        "cooper-gaussian-1000", "gavel-v100", "preferences-100", "no-stable-4",
    )  # fmt: skip
    yield from bundled("colocation", "gavel-v100", "cooper-1000", alpha=0.02)
    for uncertainty in ("certain", "possible"):
        yield from bundled("colocation", "error-100", uncertainty=uncertainty)
    yield from measured((1, 2, 4))
    yield from drawn("population of 101", odd_population)
    yield from drawn("40 types, 90 agents", partial(types_with_counts, 40, 90))
    yield from drawn("80 types, 400 agents", partial(types_with_counts, 80, 400), 2)
    yield from drawn("scores of 100", partial(score_preferences, agents=100))
    yield from drawn("uniform 80, 2 digits", partial(uniform, 80, 2))


def roommates() -> Iterator[Case]:
    """Preference lists, strict and with ties, complete and with gaps."""
    yield from bundled("colocation", "preferences-100", "two-sides-6", "no-stable-4")
    for agents in (60, 100, 200):
        yield from drawn(f"strict lists of {agents}", partial(random_preferences, agents=agents))
    yield from drawn("100 with gaps", partial(random_preferences, agents=100, degree=12))
    for agents, digits in ((60, 2), (100, 2), (100, 3)):
        yield from drawn(f"uniform {agents}, {digits} digits", partial(uniform, agents, digits))
    yield from drawn("rounded scores of 60", partial(rounded, 60, 2))
    yield from drawn("scores of 300", partial(score_preferences, agents=300))
    yield from measured((1,))


def fair() -> Iterator[Case]:
    """Populations of Cooper's types and of others, and measured tables."""
    yield from bundled(
        "colocation", "cooper-1000", "cooper-beta-high-1000", "cooper-beta-low-1000",
        "cooper-gaussian-1000", "tiny",
    )  # fmt: skip
    for agents in (30, 120):
        for slack in (None, 0.0005, 0.01):
            make = partial(other_types, agents)
            yield from drawn(f"population of {agents}", make, slack=slack)
    yield from measured((1, 2), with_bandwidth)


def optimal() -> Iterator[Case]:
    """Types, different agents, and measured tables."""
    yield from bundled("colocation", "cooper-1000", "cooper-beta-low-1000", "gavel-v100")
    yield from measured((1, 2, 4, 20))
    for agents in (100, 300):
        yield from drawn(f"scores of {agents}", partial(score_preferences, agents=agents))
        yield from drawn(f"uniform {agents}", partial(uniform, agents, 4))
    for types, agents in ((40, 90), (100, 1000)):
        make = partial(types_with_counts, types, agents)
        yield from drawn(f"{types} types, {agents} agents", make)


def groups(jobs: tuple[int, ...]) -> Iterator[Case]:
    """Jobs in groups by three models, and measured pairs added up."""
    yield from bundled("groups", "cooper-4-seats", "tiny")
    for many in jobs:
        for seats in (3, 4):
            for name, model in (("additive", additive), ("pressure", pressure)):
                make = partial(model, types=8, jobs=many, seats=seats)
                yield from drawn(f"{name}, {many} jobs, {seats} seats", make, 2)
        yield from drawn(f"table, {many} jobs", partial(table, types=6, jobs=many, seats=3), 2)
    yield from drawn("150 different jobs", partial(different_pairs, 150), 2)
    yield from measured((1, 2), partial(groups_from, seats=3))


def servers(*, costs: bool) -> Iterator[Case]:
    """Vector packing, few types of very many VMs, and rules on where VMs may run."""
    yield from bundled("packing", "caprara-toth-1-40", "few-types-6-300", "cluster-12-40", "tiny")
    yield from packing_files(priced if costs else None)
    made: dict[str, Callable[..., Packing]] = {
        f"Caprara and Toth {number}, {items} items": partial(
            caprara_toth, number=number, items=items
        )
        for number, items in ((1, 40), (6, 24), (7, 40), (10, 30))
    }
    made["6 types, 200 VMs"] = partial(few_types, types=6, vms=200)
    made["6 types, 60,000 VMs"] = partial(few_types, types=6, vms=60_000)
    for nodes, vms in ((12, 60), (20, 150), (30, 300)):
        made[f"cluster of {nodes} nodes, {vms} VMs"] = partial(cluster, nodes=nodes, vms=vms)
    for name, make in made.items():
        yield from drawn(name, partial(drawn_priced, make) if costs else make, 2)


def moves() -> Iterator[Case]:
    """Clusters with rules, of several sizes and loads."""
    yield from bundled("packing", "cluster-12-40")
    for nodes, vms, load in (
        (12, 40, 0.4), (12, 80, 0.55), (12, 120, 0.7), (20, 150, 0.4), (20, 200, 0.6),
        (30, 250, 0.5), (30, 350, 0.65), (50, 500, 0.5), (50, 700, 0.7), (80, 900, 0.55),
    ):  # fmt: skip
        make = partial(cluster, nodes=nodes, vms=vms, load=load)
        yield from drawn(f"cluster of {nodes} nodes, {vms} VMs, load {load}", make, 2)
    for path in files("packing/azure_v1_vm_requests_dev_20k.csv"):
        for at in AZURE:
            for seed in SEEDS[:2]:
                read, change = partial(azure_vm, path, at=at), partial(scattered, seed=seed)
                made = partial(_changed, read, change)
                yield Case(f"Azure VMs at {at}, scattered, seed {seed}", made, {})


def gpus() -> Iterator[Case]:
    """Measured lists of pods on some nodes, and drawn requests."""
    yield from bundled("packing", "cards")
    yield from openb_cards(12, 1.1, SEEDS[0])
    yield from openb_cards(40, 1.3, SEEDS[1])
    for many, types, vms in ((2, 6, 40), (4, 10, 80), (10, 12, 200), (20, 30, 500)):
        yield from drawn(f"{many} servers, {types} types", partial(cards, many, types, vms))


def games(sizes: tuple[int, ...], **options: Any) -> Iterator[Case]:
    """Games of servers that choose VMs."""
    yield from bundled("packing", "paper-example", "vm-types-8", **options)
    for machines in sizes:
        for resources in (2, 3):
            for kinds in ("Tiny,Medium,Large", "Small,Medium"):
                make = partial(vm_types, machines=machines, resources=resources, types=kinds)
                name = f"{machines} servers, {resources} resources, {kinds}"
                yield from drawn(name, make, 1, **options)
                capped = partial(capped_game, partial(make, vms=3 * machines))
                yield from drawn(f"{name}, capped", capped, 1, **options)


def capped_game(make: Callable[..., Packing], rng: np.random.Generator) -> Packing:
    """A game in which each user asks for so many VMs at most."""
    return make(rng=rng).replace(partial=True)


def fisher() -> Iterator[Case]:
    """Amdahl markets, some fully parallel."""
    yield from bundled("market", "groups-100", "pool-100", "tiny")
    yield from markets((50, 1000, 10_000))
    for users in (20, 200, 2000):
        make = partial(
            market, users=users, servers=users, low=1.0, high=1.0, work="lognormal",
            budgets="lognormal",
        )  # fmt: skip
        yield from drawn(f"{users} users, fully parallel", make)


def admission() -> Iterator[Case]:
    """The paper's draws and others, small and middle."""
    yield from bundled("admission", "tiny")
    for comparison in ("I", "II"):
        yield from drawn(f"comparison {comparison}", partial(table_i, comparison=comparison))
    for machines, jobs, types in (
        (3, 8, 2), (4, 14, 3), (6, 20, 3), (8, 30, 4), (12, 30, 3), (10, 60, 4), (20, 50, 5),
        (5, 60, 2),
    ):  # fmt: skip
        make = partial(speeds, machines=machines, jobs=jobs, types=types)
        yield from drawn(f"{machines} VMs, {jobs} jobs", make)
