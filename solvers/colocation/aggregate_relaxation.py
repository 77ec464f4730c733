"""Programs with very many agents of few types, solved in fractions of the agents first and in
integers after.

Rows s <= most z say that a flag z is 1 where any agent would leave. With thousands of agents of a
type `most` is so far from all other coefficients that HiGHS, whose arithmetic is that of floats,
takes long (a minute for a million agents) and at times calls optimal what is not. So the two halves
of the program are distinguished:

1. *In shares*: columns divided by the largest count, no longer whole, and rows by their largest
   coefficient. Only flags and what is at most 1 stay as they are; HiGHS is quick and its tolerances
   mean what they say. Whoever has a pairing has these shares, so the least penalty is a bound, and
   where no shares exist no pairing does.
2. *Whole agents*: a flag is clear when at least `clear` agents stand behind it in these shares.
   With the clear flags at 1 nearly every other flag is decided, and CP-SAT, whose numbers are
   whole, finds the best pairing of that family, or that there is none.
3. Every other pairing has a clear flag at 0: a row for the shares. Repeat until their bound is no
   better than the best pairing, or there are none left.

This is a logic-based Benders decomposition (Hooker and Ottosson 2003) whose cuts are the families
already searched.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...instances.colocation.instance import Pairing
from ...models.colocation import PairingProgram
from ...models.program import Floats, Integers, LinearProgram, unit_of
from ..engines import EngineAnswer, solve_program
from ..outcome import AGREE, Clock, Status, Stop
from ..routes import Routed


@dataclass(frozen=True)
class ShareLimits(Routed):
    """Limits that decide which programs are first solved with fractional numbers of agents.

    Attributes
    ----------
    fewest, most : agents of the largest type; more have no room in CP-SAT.
    clear : agents that make a flag clear. Parity and rounding move fewer, so that the best pairing
        is mostly in the first family.
    """

    fewest: int = 2_000
    most: int = 2**40
    clear: int = 100
    routes: frozenset[str] = frozenset({"first phase", "shares"})


SHARE_LIMITS = ShareLimits()

TOLERANCE = 1e-7
"""Of the shares: with a million agents of a type a tenth of an agent, far from a clear flag."""


def solve_in_shares(
    program: PairingProgram,
    clock: Clock,
    *,
    agents: int,
    start: Pairing | None = None,
    limits: ShareLimits = SHARE_LIMITS,
) -> EngineAnswer:
    """Solve a `stable_program` as `solve_program` would, first in fractions of the agents and then
    in integers.

    Parameters
    ----------
    program : with its flags.
    clock : its time limit, and whom to tell of progress, in mean penalty.
    agents : n, by which totals are divided for that.
    start : a pairing that satisfies the program.
    """
    search = _Search(program, clock, agents, start, limits.clear)
    try:
        stop = search.run()
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    message = f"{search.families} families of pairings: shares by HiGHS, whole agents by CP-SAT"
    if search.best is None:
        none = stop is Stop.FINISHED and search.bound == np.inf
        status = Status.INFEASIBLE if none else Status.UNKNOWN
        return EngineAnswer(status, stop, message=message)
    bound = min(search.bound, search.value) if np.isfinite(search.bound) else None
    return EngineAnswer(Status.FEASIBLE, stop, search.best, search.value, bound, message)


class _Search:
    """Incumbent, and the bound over all families of pairings that were searched."""

    def __init__(
        self, program: PairingProgram, clock: Clock, agents: int, start: Pairing | None, clear: int
    ) -> None:
        self.program, self.clock, self.agents, self.clear = program, clock, agents, clear
        self.best: Floats | None = None if start is None else program.point(start)
        self.value = np.inf if self.best is None else program.program.objective(self.best)
        self.shares, self.unit = _in_shares(program.program, agents)
        self.near = AGREE * agents * min(1.0, unit_of(program.program.cost))
        self.searched = np.inf  # least bound of the families that were searched
        self.bound, self.families = -np.inf, 0

    def run(self) -> Stop:
        """Search families of pairings until the bound meets the value; return the stop reason."""
        any_will_do = not self.program.program.cost.any()
        flagged = self.program.flagged
        while not self.clock.expired:
            found = solve_program(
                self.shares, time_limit=self.clock.time_slice(), tolerance=TOLERANCE
            )
            if found.status is Status.INFEASIBLE:
                self.bound = self.searched
                return Stop.FINISHED
            if found.bound is not None:
                self.bound = min(self.searched, found.bound * self.agents)
                if self.value - found.bound * self.agents <= self.near:
                    return Stop.FINISHED
            if found.stop is not Stop.FINISHED:
                return found.stop
            # shares that broke a row make no flag clear: then the family is all pairings
            agents = (
                np.zeros(0) if found.point is None else found.point[flagged] * self.unit[flagged]
            )
            clear = self.program.flag[np.flatnonzero(agents >= self.clear)]
            stop = self._family(clear)
            if stop is not Stop.FINISHED or (any_will_do and self.best is not None):
                return stop
            if not len(clear):  # the family was all pairings
                self.bound = self.searched
                return Stop.FINISHED
            self._leave_out(clear)
        return Stop.TIME_LIMIT

    def _family(self, clear: Integers) -> Stop:
        """Search pairings by CP-SAT with 0/1 columns `clear` fixed at 1; return why it stopped."""
        program = self.program.program
        lower = program.lower.copy()
        lower[clear] = 1.0
        found = solve_program(
            replace(program, lower=lower), engine="cp-sat", time_limit=self.clock.time_slice(),
            start=self.best,
        )  # fmt: skip
        self.families += 1
        if found.point is not None and found.objective is not None and found.objective < self.value:
            self.best, self.value = found.point, found.objective
        if found.status is not Status.INFEASIBLE:
            self.searched = min(self.searched, -np.inf if found.bound is None else found.bound)
        self.clock.note(
            self.value / self.agents if self.best is not None else None,
            self.bound / self.agents if np.isfinite(self.bound) else None, "family of pairings",
        )  # fmt: skip
        return found.stop

    def _leave_out(self, clear: Integers) -> None:
        """Add a row to the fractional program: at least one of the given flags is 0."""
        from scipy.sparse import csr_array, vstack

        row = csr_array(
            (np.ones(len(clear)), (np.zeros(len(clear), dtype=np.int64), clear)),
            shape=(1, self.shares.columns),
        )
        self.shares = replace(
            self.shares,
            matrix=vstack([self.shares.matrix, row]).tocsr(),
            row_lower=np.append(self.shares.row_lower, -np.inf),
            row_upper=np.append(self.shares.row_upper, len(clear) - 1.0),
        )


def _in_shares(program: LinearProgram, agents: int) -> tuple[LinearProgram, Floats]:
    """Scaled program, and the unit of each column: columns that may exceed 1 are divided by the
    largest, and the objective by the number of agents.
    """
    assert program.implied is not None
    large = program.upper > 1
    unit = np.where(large, program.upper.max(), 1.0)
    matrix = (program.matrix * unit).tocsr()
    largest = abs(matrix).max(axis=1).toarray().reshape(-1)
    height = 1.0 / np.where(largest > 0, largest, 1.0)
    shares = replace(
        program,
        matrix=(matrix.multiply(height[:, None])).tocsr(),
        row_lower=program.row_lower * height,
        row_upper=program.row_upper * height,
        cost=program.cost * unit / agents,
        lower=program.lower / unit,
        upper=program.upper / unit,
        integer=program.integer & ~large & ~program.implied,
    )
    return shares, unit
