"""Bound on the moves that make room for new VMs, and the servers between which these moves happen.

A relaxation to one resource that is asked in few units, such as the cards of a node. On each server
some VMs leave and others come, within its room; of the VMs of one size and eligibility as many come
as leave and arrive. Multipliers of that balance (each VM that comes is worth one) leave a knapsack
to each server, so that any whole multipliers prove a bound (Lagrange); column generation finds good
ones.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from ...instances.packing.instance import Floats, Integers
from ...models.program import LinearProgram
from ..distinct_rows import distinct_rows
from ..engines import WarmStartedProgram, solve_program
from ..outcome import Clock, raise_if_interrupted
from .presolve import Reduced

UNITS = 64
"""Units of the resource that a server has at most."""

SCALE = 2**20
"""Multipliers are whole multiples of a move in so many."""


class Changes(NamedTuple):
    """Changes of single servers: VMs that leave and VMs that come, by class of alike servers.

    Attributes
    ----------
    leave, come : (m, g) VMs of each group.
    server_class : (m,) the servers on which.
    """

    leave: Integers
    come: Integers
    server_class: Integers


class ArrivalProgram:
    """Linear relaxation of the moves that make room for new VMs.

    Parameters
    ----------
    problem : the instance, reduced.
    kind, placed : (n,) and (n, s) the class of each server and the VMs on it now.
    resource : the one that counts.

    Attributes
    ----------
    bound : proved, on the moves; above the VMs that run where no moves make room.
    changes, weight : those that were found, and how often each is done in the relaxation.
    """

    def __init__(self, problem: Reduced, kind: Integers, placed: Integers, resource: int) -> None:
        self.kind, self.placed = kind, placed
        asked = problem.demand[:, resource]
        unit = int(np.gcd.reduce(asked))
        # VMs of one size that may be on the same servers
        of: dict[object, list[int]] = {}
        for i in np.flatnonzero(asked).tolist():
            of.setdefault((int(asked[i]), (problem.most[i] > 0).tobytes()), []).append(i)
        groups = list(of.values())
        first = [group[0] for group in groups]
        self.size = asked[first] // unit
        total = np.array([problem.request[group].sum() for group in groups])
        running = np.array([placed[:, group].sum(axis=1) for group in groups]).T
        self.arriving = np.maximum(total - running.sum(axis=0), 0)
        # servers that are alike in room, eligibility and what they hold
        room = problem.capacity[kind, resource] // unit
        rows = np.hstack([room[:, None], running, problem.most[first][:, kind].T > 0])
        first_server, self.server_class = distinct_rows(rows)
        alike = rows[first_server]
        self.servers = np.bincount(self.server_class)
        self.room, self.running = alike[:, 0], alike[:, 1 : 1 + len(groups)]
        self.allowed = alike[:, 1 + len(groups) :] > 0
        self.penalty = int(placed.sum()) + 1
        self.bound, self.weight = 0, np.zeros(0)
        none = np.zeros((0, len(groups)), dtype=np.int64)
        self.changes = Changes(none, none, np.zeros(0, dtype=np.int64))

    def price(self, worth: Integers) -> tuple[Integers, Integers, Integers]:
        """For each class the least cost (in units of 1/`SCALE`) of a change at dual prices (g,) of
        VMs, with the VMs that leave and come, shape (c, g).

        A knapsack: VMs that stay and VMs that come fill the room.
        """
        classes, most = len(self.room), int(self.room.max(initial=0))
        value = np.zeros((classes, most + 1), dtype=np.int64)
        taken: list[tuple[int, bool, npt.NDArray[np.bool_]]] = []
        for g, size in enumerate(self.size.tolist()):
            if size > most:
                continue
            for copy in range(1, int(self.running[:, g].max(initial=0)) + 1):
                able = self.running[:, g] >= copy
                better = np.zeros_like(value, dtype=bool)
                after = value[:, : most + 1 - size] + worth[g] + SCALE
                better[:, size:] = able[:, None] & (after > value[:, size:])
                value[:, size:] = np.where(better[:, size:], after, value[:, size:])
                taken.append((g, True, better))
            if worth[g] > 0 and self.allowed[:, g].any():
                better = np.zeros_like(value, dtype=bool)
                for end in range(size, most + 1):
                    after = value[:, end - size] + worth[g]
                    better[:, end] = self.allowed[:, g] & (after > value[:, end])
                    value[:, end] = np.where(better[:, end], after, value[:, end])
                taken.append((g, False, better))
        stay, come = np.zeros_like(self.running), np.zeros_like(self.running)
        rows, space = np.arange(classes), self.room.copy()
        for g, stays, better in reversed(taken):
            while (here := better[rows, space]).any():
                (stay if stays else come)[here, g] += 1
                space[here] -= self.size[g]
                if stays:
                    break
        cost = (self.running * (worth + SCALE)).sum(axis=1) - value[rows, self.room]
        # a VM that leaves and one like it that comes: the same one stays
        same = np.minimum(self.running - stay, come)
        return cost, self.running - stay - same, come - same

    def solve(self, clock: Clock, seconds: float | None = None) -> None:
        """Raise the bound on moves by column generation over changes of single servers, within
        `seconds`.
        """
        groups, classes = len(self.size), len(self.room)
        until = np.inf if seconds is None else clock.seconds + seconds
        living = WarmStartedProgram(self._program(integer=False))
        seen: set[tuple[int, bytes, bytes]] = set()
        worth = np.where(self.arriving > 0, self.penalty * SCALE, 0)  # to begin with
        dual, value = np.zeros(groups + classes), np.inf
        while True:
            cost, leave, come = self.price(worth)
            total = int(worth @ self.arriving) + int(cost @ self.servers)
            self.bound = max(self.bound, -(-total // SCALE))
            gain = np.flatnonzero(cost / SCALE + dual[groups:] < -1e-7)
            fresh = [c for c in gain.tolist()
                     if (c, leave[c].tobytes(), come[c].tobytes()) not in seen]  # fmt: skip
            if not fresh or self.bound >= value - 1e-6 or clock.seconds >= until or clock.expired:
                return
            seen |= {(c, leave[c].tobytes(), come[c].tobytes()) for c in fresh}
            added = Changes(leave[fresh], come[fresh], np.array(fresh, dtype=np.int64))
            self.changes = Changes(*map(np.concatenate, zip(self.changes, added, strict=True)))
            self._grow(living, added)
            answer = living.solve(clock.time_slice(most=until - clock.seconds))
            raise_if_interrupted(answer.stop)
            if answer.row_dual is None or answer.point is None:
                return
            dual, value = answer.row_dual, float(answer.objective or 0.0)
            self.weight = answer.point[groups:]
            worth = np.round(np.clip(dual[:groups], 0, self.penalty) * SCALE).astype(np.int64)

    def _grow(self, living: WarmStartedProgram, added: Changes) -> None:
        """Add the columns of new changes to the linear program."""
        groups, net = len(self.size), added.come - added.leave
        rows, values = [], []
        starts = [0]
        for change, c in zip(net, added.server_class.tolist(), strict=True):
            here = np.flatnonzero(change)
            rows += [*here.tolist(), groups + c]
            values += [*change[here].astype(float).tolist(), -1.0]
            starts.append(len(rows))
        living.add_columns(
            added.leave.sum(axis=1).astype(float), self.servers[added.server_class].astype(float),
            starts[:-1], rows, np.array(values),
        )  # fmt: skip

    def _program(self, integer: bool) -> LinearProgram:
        """Program over changes of single servers: balance rows by group of VMs, servers by class.
        VMs may be left out at a penalty; with `integer` the columns are the known changes.
        """
        from scipy.sparse import csr_array, hstack, vstack

        groups, classes = len(self.size), len(self.room)
        known = self.changes if integer else Changes(*(part[:0] for part in self.changes))
        number = len(known.server_class)
        of = np.zeros((classes, number))
        of[known.server_class, np.arange(number)] = -1.0
        left_out = vstack([csr_array(np.eye(groups)), csr_array((classes, groups))])
        matrix = csr_array(np.vstack([(known.come - known.leave).T.astype(float), of]))
        columns = groups + number
        return LinearProgram(
            matrix=csr_array(hstack([left_out, matrix])),
            row_lower=np.append(self.arriving, -self.servers).astype(float),
            row_upper=np.full(groups + classes, np.inf),
            cost=np.append(np.full(groups, self.penalty), known.leave.sum(axis=1)).astype(float),
            lower=np.zeros(columns),
            upper=np.append(np.full(groups, np.inf),
                            self.servers[known.server_class].astype(float)),
            integer=np.full(columns, integer),
        )  # fmt: skip

    def between(self, spare: Floats, seconds: float | None) -> tuple[list[int], int]:
        """Order all servers by their use: those with an integer change, then those with a
        fractional one, then those with most `spare` (n,).
        """
        groups, chosen, first = len(self.size), dict[int, None](), 0
        program = self._program(integer=True)
        # of as few moves, on as few servers
        program.cost[:] = program.cost * len(self.kind) + (np.arange(program.columns) >= groups)
        answer = solve_program(program, time_limit=seconds)
        raise_if_interrupted(answer.stop)
        order = np.argsort(-spare, kind="stable")
        for weight in (None if answer.point is None else answer.point[groups:], self.weight):
            if weight is None:
                continue
            for place in np.flatnonzero(weight > 1e-6):
                same = order[self.server_class[order] == self.changes.server_class[place]]
                here = [m for m in same.tolist() if m not in chosen]
                chosen.update(dict.fromkeys(here[: int(np.ceil(weight[place] - 1e-6))]))
            first = first or len(chosen)
        return list(dict.fromkeys([*chosen, *order.tolist()])), first


def arrival_program(problem: Reduced, kind: Integers, placed: Integers) -> ArrivalProgram | None:
    """Relaxation of placing new VMs, to the one resource that they are shortest of. Only resources
    whose capacity is few units count; None if there is none.
    """
    arriving = np.maximum(problem.request - placed.sum(axis=0), 0)
    wanted = problem.demand.T @ arriving
    free = problem.capacity[kind] - placed @ problem.demand
    short = problem.demand[arriving > 0].max(axis=0, initial=0) > free.min(axis=0)
    unit = np.gcd.reduce(problem.demand, axis=0)
    few = np.flatnonzero(short & (problem.capacity.max(axis=0) <= UNITS * unit)).tolist()
    if not few:
        return None
    part = wanted / np.maximum(free.sum(axis=0), 1)
    return ArrivalProgram(problem, kind, placed, max(few, key=lambda j: part[j]))
