"""Policies for servers with cards (GPUs): each VM is placed as it arrives, and none moves again.

Weng, Yang, Yu, Wang, Tang, Yang and Zhang, "Beware of Fragmentation: Scheduling GPU-Sharing
Workloads with Fragmentation Gradient Descent", USENIX ATC 2023, and the scores and ties of their
simulator (github.com/hkust-adsl/kubernetes-scheduler-simulator), which are whole numbers.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np

from ...instances.packing.instance import Integers, Packing, Placement
from ...instances.packing.placement_constraints import refuse_rules
from ...instances.problem.errors import InvalidInstance, NoSolution
from ...instances.problem.fields import raise_first_invalid
from ...instances.problem.option_types import Above, validate_options
from .elastic import require_time

A_SERVER = 2e-8
"""Seconds that a policy takes for a server at the arrival of a VM."""

MOST_CARDS = 10**8
"""Servers times the cards of the one that has most."""


@validate_options
def random_card(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """random-card: each VM on a server, and its share on a card, drawn among those where it fits.

    VMs come in the order of `arrival`, or in one that is drawn; one that fits nowhere is left out
    where requests may be served in part. Whole cards are the first free ones of the server.

    Raises
    ------
    InvalidInstance
        It has no cards, servers or VMs without end, or rules besides the classes that are allowed.
    NoSolution
        A VM that must be served fits nowhere; another policy may place it.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/cards"), "random-card")
    >>> print(result.status)
    feasible
    """
    return _placed(instance, "RANDOM", rng, time_limit)


@validate_options
def best_fit_cards(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """best-fit-cards: each VM on the server that is left with the least of resource and cards.

    What is left is measured in shares of the largest server, the mean over the first resource (the
    CPU in the publication; others must fit) and the cards, in whole percent; ties go to the server
    that comes first in an order drawn once. A share goes on the card with the least room. See
    `random_card` for arrivals and errors.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/cards"), "best-fit-cards")
    >>> print(result.status)
    feasible
    """
    return _placed(instance, "BEST", rng, time_limit)


@validate_options
def dot_product_cards(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """dot-cards: each VM on the server where what is free has the least dot product with what it
    wants.

    The simulator of the publication takes the least product, where Tetris, which it cites, takes
    the largest. Products, ties, cards, arrivals and errors as for `best_fit_cards`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/cards"), "dot-cards")
    >>> print(result.status)
    feasible
    """
    return _placed(instance, "DOT", rng, time_limit)


@validate_options
def card_packing(
    instance: Packing, *, rng: np.random.Generator | None = None, time_limit: float | None = None
) -> Placement:
    """card-packing: a card in use with little room first, then a free card of a server in use, then
    a free server.

    Of servers in use, one on which a VM takes fewer free cards comes first; of free servers, one
    with fewer cards. Ties, cards, arrivals and errors as for `best_fit_cards`.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/cards"), "card-packing")
    >>> print(result.status)
    feasible
    """
    return _placed(instance, "PACKING", rng, time_limit)


@validate_options
def fragmentation_gradient(
    instance: Packing,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    popular: Annotated[float, Above(0, "a share of the VMs", most=1)] = 0.95,
) -> Placement:
    """FGD: fragmentation gradient descent, each VM where it makes the fewest fragments of cards.

    A fragment is what is free on cards and a typical VM cannot take: all of a server where it does
    not fit, or needs no card, else the cards with less room than it asks; the mean over typical
    VMs (section 3). The score of a server (and of a card, for a share) is the sigmoid of how much
    the VM lessens its fragments, in whole percent, as in the simulator: changes of a few
    hundredths of a card are ties. Ties of servers, arrivals and errors as for `best_fit_cards`;
    ties of cards go to the first.

    Parameters
    ----------
    popular : typical types are the most wanted ones that make up this share of all VMs. The policy
        knows how often each is wanted, of the whole instance.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("packing/cards"), "FGD")
    >>> print(result.status)
    feasible
    """
    return _placed(instance, "FGD", rng, time_limit, popular)


def _placed(
    instance: Packing,
    policy: str,
    rng: np.random.Generator | None,
    time_limit: float | None,
    popular: float = 1.0,
) -> Placement:
    """Place VMs in the order of arrival on servers scored by a policy of `arrival_kernels`."""
    from . import arrival_kernels as kernels

    # 1. what the policies cannot do is refused
    generator = rng or np.random.default_rng(0)
    if instance.cards is None:
        raise InvalidInstance(
            "cards", "not given", "how many a server of each class has",
            "Give them, or ask a policy for servers without cards (FFD, first-fit, ...)",
        )  # fmt: skip
    refuse_rules(instance, known=("allowed", "cards"))
    for name, values in (("servers", instance.server_count), ("request", instance.requested)):
        raise_first_invalid(name, values, np.isinf(values), "a number", "Write how many there are")
    wanted, number = instance.requested.astype(np.int64), float(instance.server_count.sum())
    require_time(float(wanted.sum()), A_SERVER * number, time_limit)
    # 2. the order of arrival, and the cluster as arrays
    kind = instance.server_class
    arrival = instance.arrival
    if arrival is None:
        arrival = generator.permutation(np.repeat(np.arange(instance.types), wanted))
    assert instance.card_demand is not None
    assert instance.card_share is not None
    installed = instance.cards[kind]
    most = max(int(installed.max()), 1)
    if most * len(kind) > MOST_CARDS:
        raise InvalidInstance(
            "cards", f"up to {most} on {len(kind)} servers", f"at most {MOST_CARDS:,} to be listed"
        )
    slots = np.arange(most)
    typical, times = typical_types(instance, popular)
    # copies are of one type to the compiler, whatever the instance was made of
    cluster = kernels.Cluster(
        np.array(instance.demand),
        np.array(instance.card_demand),
        np.array(instance.card_share),
        np.array(instance.rules.allowed),
        kind,
        generator.permutation(len(kind)),
        installed,
        int(max(instance.capacity[:, 0].max(), 1)),
        most * instance.card_units,
        typical,
        times,
        instance.card_units,
    )
    # 3. place one VM after the other
    free, room = instance.capacity[kind], (slots < installed[:, None]) * instance.card_units
    draw = generator.random((len(arrival), 2))
    host = kernels.place(getattr(kernels, policy), cluster, np.array(arrival), free, room, draw)
    placed = host >= 0
    if not (placed.all() or instance.partial):
        lost = instance.names[int(arrival[np.argmin(placed)])]
        raise NoSolution(
            f"no server has room for a VM of type {lost!r} when it arrives; another policy may "
            "place it, and with partial requests it is left out"
        )
    count = np.zeros((len(kind), instance.types), dtype=np.int64)
    np.add.at(count, (host[placed], arrival[placed]), 1)
    return Placement(count, kind)


def typical_types(instance: Packing, popular: float) -> tuple[Integers, Integers]:
    """Most wanted kinds of VM, to measure fragmentation by: a type's index, and VMs, of each.

    Types that differ in further resources only are one kind. The kinds are the most wanted ones
    that make up a share `popular` of the VMs; of those wanted alike the larger first.
    """
    asked = (instance.demand[:, :1], instance.card_share, instance.card_demand)
    columns = np.column_stack([np.asarray(one) for one in (*asked, instance.rules.allowed)])
    kinds, first, member = np.unique(columns, axis=0, return_index=True, return_inverse=True)
    times = np.bincount(member.reshape(-1), instance.requested, len(kinds)).astype(np.int64)
    order = np.lexsort((-np.arange(len(kinds)), -times))  # kinds are sorted by what they take
    before = np.cumsum(times[order]) - times[order]
    typical = order[(before < popular * times.sum()) & (times[order] > 0)]
    return first[typical], times[typical]
