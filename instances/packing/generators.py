"""Generators: the paper's VM types and example, Caprara and Toth's classes, clusters."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np

from ..problem.errors import InvalidOption
from ..problem.option_types import Above, AtLeast, Between, validate_options
from ..problem.quantities import proportional
from .instance import Integers, Packing

Count = Annotated[int, AtLeast(1)]

VM_TYPES: dict[str, tuple[int, int, int]] = {
    "Tiny": (1, 1024, 5),
    "Small": (1, 3072, 15),
    "Medium": (2, 6144, 30),
    "Large": (4, 12288, 60),
    "X large": (8, 24576, 60),
}
"""Table 1 of Xu and Yu (2014): CPU cores, memory [MB], disk [GB]."""

CLUSTER: tuple[tuple[str, int, tuple[int, int, int]], ...] = (
    ("PowerEdge R910", 1, (16, 32 * 1024, 300)),
    ("Optiplex 9010", 3, (4, 8 * 1024, 500)),
    ("Optiplex 745", 4, (4, 4 * 1024, 200)),
)
"""The 8-node cluster of section 5.1: how many, CPU cores, memory [MB], disk [GB]."""


@validate_options
def vm_types(
    *,
    machines: Annotated[int, Between(1, 2**31)] = 8,
    types: str = "Tiny,Medium,Large",
    vms: Count | None = None,
    resources: Literal[2, 3] = 3,
    rng: np.random.Generator,
) -> Packing:
    """Users of the paper's Table 1 on its 8-node cluster, or on a cluster of any size in the same
    proportion 1 : 3 : 4.

    The paper does not say which VM types its three services use; Tiny, Medium and Large are our
    choice.

    Parameters
    ----------
    machines : servers in all; the three classes get their shares by largest remainder, the larger
        server first.
    types : names of Table 1, separated by commas, one user each (a name may come again).
    vms : VMs requested by each user, drawn uniformly from 1 to this; elastic when not given.
    resources : 3, or 2 for CPU and memory only, as in the paper's simulations (section 5.1).
    rng : draws the requests.
    """
    folded = {name.lower().replace(" ", ""): name for name in VM_TYPES}
    chosen = []
    for text in types.split(","):
        key = text.strip().lower().replace(" ", "").replace("-", "")
        if key not in folded:
            raise InvalidOption(
                f"types names {text.strip()!r}; expected names of {', '.join(VM_TYPES)}, "
                "separated by commas"
            )
        chosen.append(folded[key])
    demand = np.array([VM_TYPES[name] for name in chosen], dtype=np.int64)[:, :resources]
    capacity = np.array([amounts for _, _, amounts in CLUSTER], dtype=np.int64)[:, :resources]
    servers = proportional(machines, [number for _, number, _ in CLUSTER])
    present = servers > 0
    request = (
        np.full(len(chosen), np.inf)
        if vms is None
        else rng.integers(1, vms + 1, len(chosen)).astype(float)
    )
    names = [
        f"{name} {chosen[: place + 1].count(name)}" if chosen.count(name) > 1 else name
        for place, name in enumerate(chosen)
    ]
    return Packing(
        capacity=capacity[present],
        demand=demand,
        request=request,
        servers=servers[present].astype(float),
        resources=("CPU cores", "memory [MB]", "disk [GB]")[:resources],
        names=tuple(names),
        name=f"vm-types-{machines}",
        source=f"VM types of Xu and Yu (2014) Table 1 on {machines} servers in the proportion "
        "of their 8-node cluster",
    )


@validate_options
def paper_example(*, rng: np.random.Generator) -> Packing:
    """The two servers and three VM types of Xu and Yu (2014), figure 2, with the initial spaces of
    section 4.3.
    """
    return Packing(
        capacity=[[4, 8, 40], [4, 6, 50]],  # type: ignore[arg-type]
        initial=[[6, 16, 100], [8, 20, 120]],  # type: ignore[arg-type]
        servers=[1, 1],  # type: ignore[arg-type]
        demand=[[2, 4, 20], [1, 1, 10], [2, 2, 10]],  # type: ignore[arg-type]
        resources=("CPU", "memory [GB]", "disk [GB]"),
        names=("r1", "r2", "r3"),
        name="paper-example",
        source="Xu and Yu (2014), fig. 2 and section 4.3",
    )


_UNIFORM: dict[int, tuple[int, int, int]] = {
    1: (100, 400, 1000),
    2: (1, 1000, 1000),
    3: (200, 800, 1000),
    4: (50, 200, 1000),
    5: (25, 100, 1000),
    6: (20, 100, 150),
    7: (20, 100, 150),
    8: (20, 100, 150),
    9: (100, 400, 1000),
}
"""Least and largest size and capacity (class 9: before cut) where a first size is uniform."""


@validate_options
def caprara_toth(
    *,
    number: Annotated[int, Between(1, 10, "a class")] = 6,
    items: Count = 50,
    rng: np.random.Generator,
) -> Packing:
    """Items of two sizes in equal bins: the ten classes of Caprara and Toth's 2-D vector packing
    benchmark.

    Sizes are independent and uniform in classes 1 to 6 (class 1 from 100 to 400 in bins of 1000,
    class 6 from 20 to 100 in bins of 150, and so on). The second size follows the first closely in
    class 7 (first - 10 to first + 10) and opposes it in class 8 (110 - first to 130 - first). Class
    9 has the items of class 1 in bins cut so that all bins together are just large enough in both
    sizes, class 10 triplets that fill bins of 100 exactly, so its optimum is a third of the items.

    Parameters
    ----------
    number : class, 1 to 10.
    items : number of items, at least 1; a multiple of 3 in class 10.

    Notes
    -----
    Source: Caprara and Toth, Discrete Applied Mathematics 111 (2001); ranges as two public
    generators of its classes have them (M. Stillwell's vpack, github.com/marklee77/vpack; for class
    10 also the one of Mommessin et al., 2022, github.com/Vectorpack/experiments_vector_paper). Two
    cases that they leave open are closed here: in class 9 a bin holds the largest item at least, in
    class 10 no item has two sizes of 0.
    """
    bins = np.zeros(2, dtype=np.int64)
    if number == 10:
        size, bins[:] = _triplets(items, rng), 100
    else:
        low, high, bins[:] = _UNIFORM[number]
        first = rng.integers(low, high + 1, items)
        if number == 7:
            second = rng.integers(first - 10, first + 11)
        elif number == 8:
            second = rng.integers(110 - first, 131 - first)
        else:
            second = rng.integers(low, high + 1, items)
        size = np.stack([first, second], axis=1)
        if number == 9:
            total = size.sum(axis=0)
            fewest = -(-int(total.max()) // int(bins[0]))
            bins = np.maximum(-(-total // fewest), size.max(axis=0))
    return Packing(
        capacity=bins[None, :],
        demand=size,
        request=np.ones(items),
        name=f"caprara-toth-{number}-{items}",
        source=f"synthetic: items of Caprara and Toth's class {number}",
    )


@validate_options
def few_types(
    *,
    types: Count = 8,
    vms: Count = 1000,
    resources: Count = 2,
    capacity: Count = 100,
    share: Annotated[float, Above(0, "a fraction", most=1)] = 0.5,
    rng: np.random.Generator,
) -> Packing:
    """Few VM types, many VMs of each: sizes uniform up to a share of a server's capacity.

    Parameters
    ----------
    types, resources : how many VM types, and resources.
    vms : VMs in all, spread over the types at random, each type at least once.
    capacity : of a server, in every resource.
    share : largest size as a fraction of the capacity, above 0 and at most 1.
    """
    if vms < types:
        raise InvalidOption(f"vms is {vms}; expected at least one for each of the {types} types")
    high = max(1, int(share * capacity))
    return Packing(
        capacity=np.full((1, resources), capacity),
        demand=rng.integers(1, high + 1, (types, resources)),
        request=(1 + rng.multinomial(vms - types, np.full(types, 1 / types))).astype(float),
        name=f"few-types-{types}-{vms}",
        source=f"synthetic: {types} types, sizes uniform up to {high} of {capacity}",
    )


POOLS: dict[str, tuple[float, tuple[int, int]]] = {
    "general": (0.4, (16_000, 65_536)),
    "compute": (0.25, (32_000, 65_536)),
    "memory": (0.2, (16_000, 131_072)),
    "large": (0.15, (48_000, 196_608)),
}
"""Pools of servers of a cluster: their share, and CPU [millicores] and memory [MiB] of a server."""

PODS = 110
"""VMs that one server of a cluster takes."""

Share = Annotated[float, Between(0, 1, "a fraction")]


@validate_options
def cluster(
    *,
    nodes: Annotated[int, AtLeast(12)] = 50,
    vms: Count = 1000,
    types: Count = 40,
    alone: Share = 0.35,
    spread: Share = 0.3,
    pinned: Share = 0.08,
    selected: Share = 0.1,
    load: Annotated[float, Above(0, "a fraction", most=1)] = 0.55,
    rng: np.random.Generator,
) -> Packing:
    """Replicated services on four pools of servers in three zones, with rules on where VMs may run,
    and where they run now.

    Parameters
    ----------
    nodes, vms, types : servers; VMs, about, of so many types.
    alone : share of the types of which a server holds one VM only.
    spread : share of the types with a skew of 1 over the zones.
    pinned, selected : shares of the types that may run in one zone, or one pool, only.
    load : of all servers, by the resource that is asked for most.

    Notes
    -----
    Now each VM stands where a scheduler that spreads load would put it: on the server with most
    left, by its fuller resource. VMs for which no server is left are not part of the instance.
    """
    if vms < types:
        raise InvalidOption(f"vms is {vms}; expected at least one for each of the {types} types")
    # 1. Servers of each pool in each zone.
    zones = ("a", "b", "c")
    per_pool = proportional(nodes, [share for share, _ in POOLS.values()])
    servers = np.concatenate([proportional(number, [1, 1, 1]) for number in per_pool])
    capacity = np.array([(*room, PODS) for _, room in POOLS.values() for _ in zones])
    pool, zone = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
    # 2. Sizes and replicas: CPU in steps of doubling, memory per core from 1 to 8 GiB, then scaled
    # to the load.
    cpu = 125 * 2.0 ** rng.integers(0, 6, types)
    memory = cpu / 1000 * 1024 * 2.0 ** rng.uniform(0, 3, types)
    weight = rng.pareto(1.5, types) + 0.3
    replicas = 1 + rng.multinomial(vms - types, weight / weight.sum())
    exclusive = rng.random(types) < alone
    replicas[exclusive] = np.minimum(replicas[exclusive], max(1, nodes // 5))
    share = np.where(exclusive, 0.0, weight)
    if share.any():
        replicas += rng.multinomial(vms - replicas.sum(), share / share.sum())
    total = servers @ capacity[:, :2]
    scale = load / max(replicas @ cpu / total[0], replicas @ memory / total[1])
    largest = capacity[:, :2].min(axis=0) // 2
    demand = np.stack(
        [
            np.clip((cpu * scale).astype(np.int64) // 10 * 10, 10, largest[0]),
            np.clip((memory * scale).astype(np.int64) // 16 * 16, 16, largest[1]),
            np.ones(types, dtype=np.int64),
        ],
        axis=1,
    )
    # 3. Rules on where the VMs may run.
    spreading = rng.random(types) < spread
    kind = rng.random(types)
    allowed = np.ones((types, len(servers)), dtype=np.bool_)
    for i in range(types):
        if kind[i] < pinned:
            allowed[i] = zone == rng.integers(3)
        elif kind[i] < pinned + selected:
            allowed[i] = pool == rng.integers(4)
    allowed &= servers > 0
    most = np.where(exclusive, 1.0, np.inf)
    skew = np.where(spreading, 1.0, np.inf)
    # 4. Where they run now.
    placed = _spread_out(demand, replicas, servers, capacity, zone, allowed, most, skew)
    request = np.bincount(placed[:, 1], weights=placed[:, 2], minlength=types)
    return Packing(
        capacity=capacity,
        demand=demand,
        request=request.astype(float),
        servers=servers.astype(float),
        resources=("CPU [m]", "memory [MiB]", "VMs"),
        names=tuple(f"service-{i}" for i in range(types)),
        class_names=tuple(f"{name}-{place}" for name in POOLS for place in zones),
        allowed=allowed,
        most_per_server=most,
        zone=tuple(zones[z] for z in zone),
        skew=skew,
        placed=placed,
        server_names=tuple(
            f"{name}-{place}-{number}"
            for c, (name, place) in enumerate((name, z) for name in POOLS for z in zones)
            for number in range(servers[c])
        ),
        name=f"cluster-{nodes}-{vms}",
        source=f"synthetic: {types} services on {nodes} servers in 4 pools and 3 zones",
    )


def _spread_out(
    demand: Integers, replicas: Integers, servers: Integers, capacity: Integers, zone: Integers,
    allowed: Any, most: Any, skew: Any,
) -> Integers:  # fmt: skip
    """Place each VM on the permitted server where the largest part of the scarcest resource is
    left: rows (q, 3) of server, VM type, number.
    """
    kind = np.repeat(np.arange(len(servers)), servers)
    free, where = capacity[kind].copy(), zone[kind]
    rows: list[tuple[int, int, int]] = []
    for i, number in enumerate(replicas.tolist()):
        placed = np.zeros(len(kind), dtype=np.int64)
        eligible = allowed[i][kind]
        zones = np.unique(where[eligible])
        for _ in range(number):
            total = np.bincount(where, weights=placed, minlength=3)
            least = min((total[z] for z in zones), default=0.0)
            able = eligible & (placed < most[i]) & (total[where] + 1 - least <= skew[i])
            able &= (free >= demand[i]).all(axis=1)
            if not able.any():
                break
            left = ((free - demand[i]) / capacity[kind]).min(axis=1)
            m = int(np.argmax(np.where(able, left, -1.0)))
            placed[m] += 1
            free[m] -= demand[i]
        rows += [(int(m), i, int(placed[m])) for m in np.flatnonzero(placed)]
    return np.array(rows, dtype=np.int64)


def _triplets(items: int, rng: np.random.Generator) -> Integers:
    """Draw triplets of items that exactly fill a bin of 100 x 100: two of sizes from 25 to 50, and
    a third that takes what they leave.
    """
    if items % 3:
        raise InvalidOption(f"items is {items}; expected a multiple of 3 in class 10")
    rows: list[Integers] = []
    for _ in range(items // 3):
        rest = np.zeros(2, dtype=np.int64)
        while not rest.any():
            pair = rng.integers(25, 51, (2, 2))
            rest = 100 - pair.sum(axis=0)
        rows.append(np.vstack([pair, rest]))
    return np.concatenate(rows)
