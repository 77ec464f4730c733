"""Programs that assign VMs with cards, and ways to fill a server's cards, to server classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ...instances.problem.option_types import validate_options
from ..program import LinearProgram, ProgramBuilder
from .assignment import Integers


@dataclass(frozen=True, eq=False)
class CardPacking:
    """Packing problem of servers with cards, and VMs that may be placed on them.

    Attributes
    ----------
    demand, request : (s, k) sizes, and (s,) VMs of each type at most.
    whole, share : (s,) whole cards that a VM takes, and the place of the size of its share of one
        card; -1 for none.
    weight : (s,) what a placed VM is worth, above 0.
    able : (s, p) whether a VM of the type may run on a server of the class.
    capacity, cards, servers : (p, k) and (p,) of a server, and (p,) servers of each class.
    sizes, units : (z,) distinct sizes of shares, the largest first, and the units of a card.
    fillings : (f, z) how many shares of each size one card holds: every way to share a card is
        below one of them.
    """

    demand: Integers
    request: Integers
    whole: Integers
    share: Integers
    weight: Integers
    able: npt.NDArray[np.bool_]
    capacity: Integers
    cards: Integers
    servers: Integers
    sizes: Integers
    units: int
    fillings: Integers


@dataclass(frozen=True, eq=False)
class CardsProgram:
    """Program of packing VMs on servers with cards, with the indices of its columns and rows.

    Attributes
    ----------
    program : minimize minus the weight of the VMs that are placed.
    count : (s, p) columns: VMs of each type on servers of each class; -1 where none can be.
    filling : (p, f) columns: cards of each class with each filling.
    """

    program: LinearProgram
    count: Integers
    filling: Integers


def cards_program(packing: CardPacking, *, integer: bool = False) -> CardsProgram:
    """Maximize the weight of VMs for which servers have capacity and cards, by class.

    Every answer gives a point of it, so its optimum is a bound, whether numbers are whole or not.
    Rows, in this order: requests (s); room of each class for each resource (p, k); cards of each
    class, whole or shared (p); shares of each size on a class are on cards that hold them (p, z).
    """
    # 1. columns: VMs by type and class, cards by class and filling
    builder = ProgramBuilder()
    types, classes = packing.able.shape
    count = np.full((types, classes), -1, dtype=np.int64)
    i, c = np.nonzero(packing.able)
    demand, unlimited = packing.demand[i], np.iinfo(np.int64).max
    room = np.where(demand > 0, packing.capacity[c] // np.maximum(demand, 1), unlimited)
    fits = room.min(axis=1, initial=unlimited).astype(float)
    most = np.minimum(packing.request[i], fits * packing.servers[c])
    weight = -packing.weight[i].astype(float)
    count[i, c] = builder.columns(len(i), upper=most, cost=weight, integer=integer)
    place = count[i, c]
    number = len(packing.fillings)
    there = (packing.cards * packing.servers).astype(float)
    filling = builder.columns(
        classes * number, upper=np.repeat(there, number), integer=integer
    ).reshape(classes, number)
    # 2. rows: requests, resources, cards, shares on cards
    builder.sums(types, (i, place, 1.0), upper=packing.request)
    resources = demand.shape[1]
    rows = (c[:, None] * resources + np.arange(resources)).reshape(-1)
    taken = rows, np.repeat(place, resources), demand.reshape(-1)
    has = (packing.capacity * packing.servers[:, None].astype(float)).reshape(-1)
    builder.sums(classes * resources, taken, upper=has)
    kind = np.repeat(np.arange(classes), number)
    every = filling.reshape(-1)
    builder.sums(classes, (c, place, packing.whole[i]), (kind, every, 1.0), upper=there)
    sharing = packing.share[i] >= 0
    width = len(packing.sizes)
    rows = c[sharing] * width + packing.share[i[sharing]]
    f, z = np.nonzero(packing.fillings)
    for_all = np.repeat(np.arange(classes), len(f))
    builder.sums(
        classes * width,
        (rows, place[sharing], 1.0),
        (for_all * width + np.tile(z, classes), filling[:, f].reshape(-1),
         -np.tile(packing.fillings[f, z], classes).astype(float)),
        upper=0.0,
    )  # fmt: skip
    return CardsProgram(builder.build(), count, filling)


@validate_options
def cards_model(packing: CardPacking) -> Any:
    """Integer program of `max-gpus` by class of server, in Pyomo, written to be read."""
    import pyomo.environ as pyo

    types, classes = map(range, packing.able.shape)
    model = pyo.ConcreteModel()
    pairs = [(i, c) for i in types for c in classes if packing.able[i, c]]
    model.count = pyo.Var(pairs, domain=pyo.NonNegativeIntegers)
    model.filling = pyo.Var(classes, range(len(packing.fillings)), domain=pyo.NonNegativeIntegers)
    model.allocated = pyo.Objective(
        expr=sum(int(packing.weight[i]) * model.count[i, c] for i, c in pairs), sense=pyo.maximize
    )
    model.rows = pyo.ConstraintList()

    def at_most(terms: list[Any], most: int) -> None:
        if terms:
            model.rows.add(sum(terms) <= most)

    for i in types:
        at_most(
            [model.count[i, c] for c in classes if (i, c) in model.count], int(packing.request[i])
        )
    for c in classes:
        here, servers = [i for i in types if packing.able[i, c]], int(packing.servers[c])
        for j, room in enumerate(packing.capacity[c].tolist()):
            taken = [
                int(packing.demand[i, j]) * model.count[i, c] for i in here if packing.demand[i, j]
            ]
            at_most(taken, room * servers)
        whole = [int(packing.whole[i]) * model.count[i, c] for i in here if packing.whole[i]]
        shared = [model.filling[c, f] for f in range(len(packing.fillings))]
        at_most([*whole, *shared], int(packing.cards[c]) * servers)
        for z in range(len(packing.sizes)):
            room = [
                -int(n) * model.filling[c, f] for f, n in enumerate(packing.fillings[:, z]) if n
            ]
            at_most([*(model.count[i, c] for i in here if packing.share[i] == z), *room], 0)
    return model
