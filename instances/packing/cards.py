"""Cards (GPUs) inside servers: whole cards, parts of one card, and which parts share a card.

A server of a class has `cards` of `card_units` units each. A VM takes whole cards, which it shares
with nobody, or some units of one card. Which VMs a server holds decides whether they find room on
its cards, so an answer says no more than that; `on_cards` puts them there.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ..problem.errors import InvalidInstance
from ..problem.fields import (
    Booleans,
    Floats,
    Integers,
    raise_first_broken,
    raise_first_invalid,
    set_field,
)
from ..problem.tables import LARGEST

Filling = tuple[int, ...]
"""How many shares of each size one card holds."""

STEPS = (1, 2, 3)
"""Steps k of the functions of shares in `card_amounts`."""


def set_cards(instance: Any) -> None:
    """Raise InvalidInstance unless an instance's fields about cards agree; fill absent ones."""
    taking = [n for n in ("card_demand", "card_share") if getattr(instance, n) is not None]
    if instance.cards is None:
        if given := [*taking, *(["card_model"] if instance.card_model else [])]:
            raise InvalidInstance(
                given[0], "given without cards", "cards, how many a server of each class has",
                "Give cards, or drop the field",
            )  # fmt: skip
        return
    for name in ("card_demand", "card_share"):
        if getattr(instance, name) is None:
            set_field(instance, name, np.zeros(instance.types, dtype=np.int64))
    whole, share, units = instance.card_demand, instance.card_share, instance.card_units
    raise_first_invalid(
        "card_share", share, share >= units, f"a number below card_units = {units}",
        "Write a whole card as 1 of card_demand",
    )  # fmt: skip
    raise_first_invalid(
        "card_share", share, (share > 0) & (whole > 0), "0 for a type that takes whole cards",
        "A VM takes whole cards or a part of one; make two types of it",
    )  # fmt: skip


def require_cards(instance: Any, room: Booleans) -> None:
    """Raise InvalidInstance for a requested VM type whose cards no server it may run on has.

    Parameters
    ----------
    room : (s, classes of which there are servers) where it has room and is allowed.
    """
    needed = instance.card_demand + (instance.card_share > 0)
    able = room & (needed[:, None] <= instance.cards[None, instance.server_count > 0])
    for i in np.flatnonzero(~able.any(axis=1) & (instance.requested > 0))[:1].tolist():
        name = "card_demand" if instance.card_demand[i] else "card_share"
        raise InvalidInstance(
            f"{name}[{i}]", f"more than the cards of every server that may run VM type "
            f"{instance.names[i]!r}", "a class of servers with so many cards, on which it fits",
            "Add one, or request no such VMs",
        )  # fmt: skip


def units_taken(instance: Any) -> Integers:
    """Units (s,) of cards that a VM of each type takes, whole cards and shares alike."""
    taken: Integers = instance.card_demand * instance.card_units + instance.card_share
    return taken


def card_amounts(instance: Any) -> tuple[Integers, Integers]:
    """Cards as q resources, in amounts of servers (p, q) and of VM types (s, q).

    A server has enough of each for any VMs that it can hold. First come units of cards. Then for
    each k of `STEPS` a share x of a card counts x if x (k + 1) is whole and floor(x (k + 1)) / k if
    not: shares on one card count 1 together at most (the functions u(k) of Fekete and Schepers
    2001), times k units to be whole.
    """
    units, taken = instance.card_units, units_taken(instance)
    there, share = instance.cards * units, instance.card_share
    room, demand = [there], [taken]
    for k in STEPS:
        parts = (k + 1) * share
        counted = np.where(parts % units == 0, k * share, parts // units * units)
        room.append(k * there)
        demand.append(k * instance.card_demand * units + counted)
    return np.stack(room, axis=1), np.stack(demand, axis=1)


def units_there(instance: Any) -> int:
    """Number of card units (equal parts of cards) on all servers, which must be finitely many."""
    units: int = instance.card_units
    return int(instance.cards @ instance.server_count.astype(np.int64)) * units


def share_sizes(instance: Any) -> tuple[int, ...]:
    """Sizes of the shares of a card that VM types take, the largest first."""
    return tuple(sorted({int(n) for n in instance.card_share if n}, reverse=True))


def fillings(
    sizes: Sequence[int], units: int, most: Sequence[int] | None = None
) -> Iterator[Filling]:
    """Maximal fillings of one card with shares: nothing more of any size fits.

    Parameters
    ----------
    sizes : of shares, above 0 and distinct, the largest first.
    most : how many of each size there are.
    """
    caps = [units // size for size in sizes] if most is None else list(most)

    def further(place: int, left: int, before: Filling) -> Iterator[Filling]:
        if place == len(sizes):
            entries = zip(sizes, before, caps, strict=True)
            if not any(size <= left and n < cap for size, n, cap in entries):
                yield before
            return
        for n in range(min(left // sizes[place], caps[place]), -1, -1):
            yield from further(place + 1, left - n * sizes[place], (*before, n))

    return further(0, units, ())


def on_cards(
    sizes: Sequence[int], number: Sequence[int], cards: int, units: int
) -> list[Filling] | None:
    """Pack shares on cards and return the filling of each card in use; None if they do not fit.

    First fit decreasing, which mostly does; then every filling of a card with the largest share
    left, and the same for what is left then.

    Parameters
    ----------
    sizes, number : distinct sizes of shares, the largest first, and how many there are of each.
    """
    found, room = list[list[int]](), list[int]()  # by card: shares of each size, free units
    for index, (size, n) in enumerate(zip(sizes, number, strict=True)):
        for _ in range(n):
            card = next((k for k, left in enumerate(room) if left >= size), len(room))
            if card == len(room):
                found.append([0] * len(sizes))
                room.append(units)
            found[card][index] += 1
            room[card] -= size
    if len(found) <= cards:
        return [tuple(row) for row in found]
    hopeless = set[tuple[Filling, int]]()  # shares left and cards free that do not fit

    def rest(left: Filling, free: int) -> list[Filling] | None:
        if not any(left):
            return []
        volume = sum(size * n for size, n in zip(sizes, left, strict=True))
        if volume > free * units or (left, free) in hopeless:
            return None
        largest = next(index for index, n in enumerate(left) if n)
        for filling in fillings(sizes, units, left):
            if filling[largest] == 0:
                break  # those with it come first
            after = tuple(n - m for n, m in zip(left, filling, strict=True))
            if (others := rest(after, free - 1)) is not None:
                return [filling, *others]
        hopeless.add((left, free))
        return None

    return rest(tuple(int(n) for n in number), cards)


def server_fillings(instance: Any, row: Integers, kind: int) -> list[Filling] | None:
    """Filling of each card that holds shares, for one server's VMs (s,); None if they do not fit
    beside its whole cards.
    """
    sizes = share_sizes(instance)
    free = int(instance.cards[kind]) - int(row @ instance.card_demand)
    number = [int(row[instance.card_share == size].sum()) for size in sizes]
    return on_cards(sizes, number, free, instance.card_units) if free >= 0 else None


def card_numbers(instance: Any, row: Integers, kind: int) -> dict[int, list[int]]:
    """Numbers of the cards of one server that its VMs are on, listed by VM type.

    Whole cards come first; a VM with a share is on one card. Types without cards are left out.
    """
    found, card = dict[int, list[int]](), 0
    for i in np.flatnonzero(row * instance.card_demand).tolist():
        number = int(row[i] * instance.card_demand[i])
        found[i], card = list(range(card, card + number)), card + number
    sizes, filled = share_sizes(instance), server_fillings(instance, row, kind) or []
    for z, size in enumerate(sizes):
        cards = (card + k for k, filling in enumerate(filled) for _ in range(filling[z]))
        for i in np.flatnonzero(row * (instance.card_share == size)).tolist():
            found[i] = [next(cards) for _ in range(int(row[i]))]
    return found


def check_cards(instance: Any, count: Integers, kind: Integers) -> None:
    """Raise InfeasibleSolution unless the VMs (n, s) of each server find room on its cards."""
    if instance.cards is None:
        return
    whole = count @ instance.card_demand
    raise_first_broken(whole > instance.cards[kind], lambda m: (
        f"server {m} (class {kind[m]}) holds VMs that take {whole[m]} whole cards; it has "
        f"{instance.cards[kind[m]]}"
    ))  # fmt: skip
    alike: dict[bytes, bool] = {}
    broken = np.zeros(len(kind), dtype=np.bool_)
    for m in np.flatnonzero(count @ instance.card_share).tolist():
        key = count[m].tobytes() + kind[m].tobytes()
        if key not in alike:
            alike[key] = server_fillings(instance, count[m], int(kind[m])) is None
        broken[m] = alike[key]
    raise_first_broken(broken, lambda m: (
        f"server {m} (class {kind[m]}) holds shares of cards, "
        f"{count[m] @ instance.card_share} units of {instance.card_units} a card, that do not fit "
        f"on the {instance.cards[kind[m]] - whole[m]} cards beside its whole ones"
    ))  # fmt: skip


def refuse_large_totals(instance: Any) -> None:
    """Raise InvalidInstance if a total of servers, cost, capacity or requests reaches 2**53."""
    servers, useful = instance.server_count, instance.useful
    finite = np.where(np.isinf(servers), 0.0, servers)
    wanted = np.where(np.isinf(useful), 0.0, useful)
    # no answer uses more servers than there are VMs of a class without limit
    used = np.where(np.isinf(servers), wanted.sum(), servers)
    rows = [
        ("servers", _total(finite, instance.initial_capacity.max(axis=1))),
        ("cost", _total(np.maximum(used, 1), instance.server_cost)),
        ("capacity", int(instance.capacity.max()) * instance.capacity.shape[1]),
        ("request", _total(wanted, instance.demand.max(axis=1))),
    ]
    if instance.cards is not None:
        units, vms = STEPS[-1] * instance.card_units, np.maximum(wanted, 1)
        taken = _total(vms, instance.card_demand) * units
        rows += [
            ("cards", _total(np.maximum(used, 1), instance.cards) * units),
            ("card_demand", taken + STEPS[-1] * _total(vms, instance.card_share)),
        ]
    for name, total in rows:
        if total >= LARGEST:
            raise InvalidInstance(
                name, f"as large as {total:.3g} in total", "totals below 2**53", "Use a larger unit"
            )


def _total(numbers: Floats, amounts: Integers) -> int:
    """Sum of integers times amounts, exact where it could pass 2**53."""
    rough = float(numbers @ amounts)
    if rough < LARGEST / 2:  # so many floats do not err by half
        return int(rough)
    pairs = zip(numbers.tolist(), amounts.tolist(), strict=True)
    return sum(int(number) * amount for number, amount in pairs)
