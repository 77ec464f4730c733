"""Fair attribution: least slack, then least mean penalty, each by routes in the order in which they
run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.objective import (
    attribution_slack,
    keeps_slack,
    mean_penalty,
    scale,
    within_slack,
)
from ...instances.problem.base import Solution
from ...instances.problem.option_types import AtLeast, validate_options
from ...models.colocation import FINE, FairProgram, fair_program
from ..engines import EngineName
from ..outcome import (
    AGREE,
    Clock,
    Outcome,
    Report,
    Status,
    Stop,
    agree,
    level,
    raise_if_interrupted,
)
from ..routes import Routed
from .blossom import least_penalty_bound
from .common import (
    NOT_GIVEN,
    PROGRAM_LIMITS,
    ProgramLimits,
    best_of,
    in_own_unit,
    infeasible,
    out_of_unit,
    outcome,
    pairs_of,
    require_bandwidth,
    run,
    size,
)
from .feasible import starting_pairing
from .local_branching import Relaxation, relaxed, rounded, search_near
from .neighborhoods import improve

WITHIN = "linear relaxation, and integer program over types, of least penalty at this slack"


@dataclass(frozen=True)
class FairLimits(Routed):
    """Parameters of `fair`.

    Attributes
    ----------
    penalty_seconds : time for the least penalty at the least slack when there is no time limit: it
        is far harder than the first level.
    short : what begins gets one part in so many of the time: what it does not find or prove soon,
        it often does not at all.
    first_try : one part in so many of the second level's time is what the whole program gets first:
        small ones are proved in it.
    improving : the part of a large program's second level for improving a pairing part by part: it
        finds more than the program does.
    near : the same for searching near the relaxation, which ends by itself where it finds nothing
        more.
    improving_seconds : time for improving a pairing part by part when there is no limit.
    programs : limits of programs over pairs of types.
    """

    penalty_seconds: float = 30.0
    short: int = 4
    first_try: int = 8
    improving: float = 2 / 3
    near: float = 0.95
    improving_seconds: float = 10.0
    programs: ProgramLimits = PROGRAM_LIMITS
    routes: frozenset[str] = frozenset({"approach", "near", "parts"})


class FairSearch:
    """State of the search for the least slack and penalty: incumbent, and bounds on both.

    Parameters
    ----------
    instance, given : in the unit of `in_own_unit` and as given; `unit` is that unit.
    allowed : slack within which every pairing is admissible, as given; None to minimize slack.

    Attributes
    ----------
    enough : slack below which less is worth nothing, in the instance's unit.
    at : slack that the level allows; None on the first, which looks for the least.
    program, relaxation : the level's whole program, None where making it takes too long; and its
        relaxation, where it was solved.
    large : whether an engine may not keep its time limit on the whole program, nor find much.
    hopeless : whether an engine would not even solve the relaxation of the first in time.
    """

    def __init__(
        self, instance: Colocation, begin: Pairing, clock: Clock, engine: EngineName,
        rng: np.random.Generator, limits: FairLimits, given: Colocation, unit: float,
        allowed: float | None,
    ) -> None:  # fmt: skip
        self.instance, self.clock, self.engine, self.rng = instance, clock, engine, rng
        self.limits, self.best = limits, begin
        self.given, self.unit, self.allowed = given, unit, allowed
        self.enough = 0.0 if allowed is None else allowed / unit
        self.bound, self.stop = 0.0, Stop.FINISHED
        self.penalty_bound: float | None = None
        self.certificate: dict[str, Any] = {"proof": "no slack is below 0"}
        self.pairs = pairs_of(instance)
        self.large = self.pairs > limits.programs.keeps_time
        self.at: float | None = None
        self.program: FairProgram | None = None
        self.relaxation: Relaxation | None = None
        self.hopeless = False
        if allowed is None:
            clock.note(self.slack, 0.0, "start")

    def run(self, routes: Sequence[Callable[[FairSearch], None]], at: float | None = None) -> None:
        """Run one search after another for the least slack or, at the slack `at`, for the least
        penalty. The latter takes at most `penalty_seconds` without a time limit.
        """
        clock = self.clock
        if at is None and self.allowed is not None:
            self.clock = Clock(clock.left)  # its progress is not that of the objective
        elif at is not None and clock.left is None:
            self.clock = Clock(self.limits.penalty_seconds)
        self.at, self.program = at, None
        try:
            if at is None and not self.too_large:
                self.program = fair_program(self.instance, least=self.enough)
                self.certificate |= size(self.program, self.engine)
            elif at is not None and not self.too_large:
                # engines round what is near their tolerance: with a little more slack their bound
                # holds for this slack too
                more = 10 * AGREE * scale(self.instance, "slack")
                self.program = fair_program(self.instance, at + more)
            for route in routes:
                if not (self.settled if at is None else self.cheapest):
                    route(self)
            if self.settled if at is None else self.cheapest:
                self.stop = Stop.FINISHED
            elif self.clock.expired or self.too_large:  # what is too large ends by time too
                self.stop = Stop.TIME_LIMIT
        finally:
            self.clock = clock

    @property
    def slack(self) -> float:
        """Slack of fair attribution in the incumbent pairing."""
        return attribution_slack(self.instance, self.best)

    @property
    def least(self) -> bool:
        """Whether the incumbent's slack is proved minimal."""
        slack = self.slack
        return slack <= self.bound or agree(slack, self.bound, scale(self.instance, "slack"))

    @property
    def ready(self) -> bool:
        """Whether the incumbent's slack is the least, or allowed: then the penalty comes next."""
        return self.least if self.allowed is None else self.within(self.best, self.enough)

    @property
    def impossible(self) -> bool:
        """Whether it is proved that the slack of every pairing exceeds the allowance."""
        if self.allowed is None or self.bound <= self.enough:
            return False
        return not agree(self.bound, self.enough, scale(self.instance, "slack"))

    @property
    def settled(self) -> bool:
        """Whether the first level, the least slack, is finished."""
        return self.ready or self.impossible

    def within(self, pairing: Pairing, slack: float) -> bool:
        """Return whether a pairing keeps a slack, or the allowance by the original penalties."""
        if self.allowed is None:
            return within_slack(self.instance, pairing, slack)
        return keeps_slack(self.given, pairing, self.allowed)

    @property
    def cheapest(self) -> bool:
        """Whether the incumbent's mean penalty is proved minimal at its slack."""
        value, bound = mean_penalty(self.instance, self.best), self.penalty_bound
        return bound is not None and agree(value, bound, scale(self.instance, "penalty"))

    @property
    def too_large(self) -> bool:
        """Whether building the complete program, or its relaxation, would exceed the time limit."""
        return self.pairs > self.limits.programs.most_pairs and self.clock.left is not None

    def prove(self, bound: float) -> None:
        """Raise the bound on the slack or, once the slack is fixed, that on the total penalty."""
        if self.at is not None:
            bound /= self.instance.agents
            known = self.penalty_bound
            self.penalty_bound = bound if known is None else max(bound, known)
            return
        if bound > self.bound or self.least:
            self.certificate["proof"] = "integer program over types: least slack"
        self.bound = max(self.bound, bound)

    def improve(self, seconds: float | None) -> None:
        """Improve the incumbent for some seconds by pairing few types anew."""
        if "parts" in self.limits.routes:
            seconds = self.limits.improving_seconds if seconds is None else seconds
            bound = max(self.bound, self.enough) if self.at is None else self.penalty_bound
            found = improve(
                self.instance, self.best, self.clock, seconds, self.rng, slack=self.at, bound=bound
            )
            self.take(found.best, found.stop)

    def take(self, found: Pairing | None, stop: Stop) -> None:
        """Keep a pairing within the allowed slack; raise KeyboardInterrupt if the search was
        interrupted.
        """
        if found is not None and (self.at is None or self.within(found, self.at)):
            self.best = found
        raise_if_interrupted(stop)

    def solve(self, parts: int = 1) -> None:
        """Solve the level's program (slack, then penalty) in 1 / `parts` of the remaining time."""
        if self.program is None:
            return
        at, program, per = self.at, self.program, float(self.instance.agents)

        def value(pairing: Pairing) -> float:
            if at is None:
                return attribution_slack(self.instance, pairing)
            # a solver's tolerance must not buy penalty with slack
            return mean_penalty(self.instance, pairing) if self.within(pairing, at) else np.inf

        if at is None:  # engines stop at a gap of 1e-9, and slacks may be as near
            whole, per = program.program, FINE
            program = replace(program, program=replace(whole, cost=FINE * whole.cost))
        answer = run(
            program, self.clock, engine=self.engine, scale=per, start=self.best, parts=parts,
            apart=self.large,
        )  # fmt: skip
        self.best = best_of(self.instance, program, answer, self.best, value) or self.best
        if answer.bound is not None:
            self.prove(answer.bound / (FINE if at is None else 1.0))
        raise_if_interrupted(answer.stop)
        self.stop = answer.stop

    def outcome(self) -> Outcome:
        """Outcome of the search, whose certificate gives value and bound of slack and of penalty.
        Where a slack is allowed, it is a pairing within it, or bounds on the least slack.
        """
        value, bound = mean_penalty(self.instance, self.best), self.penalty_bound
        # 1. of a pairing within the allowance the penalty is the objective
        if self.allowed is not None:
            least: Any = {"value": self.slack * self.unit, "bound": self.bound * self.unit}
            if self.impossible:
                why = f"integer program over types: no pairing has a slack below {least['bound']:g}"
                return infeasible(self.clock, why, least_slack=least)
            if not self.ready:
                facts: dict[str, Any] = {"proof": NOT_GIVEN, "least_slack": least}
                trace = tuple(self.clock.trace)
                return Outcome(None, None, Status.UNKNOWN, self.stop, facts, trace)
            facts = {**self.certificate, "proof": WITHIN, "slack_allowed": self.allowed}
            return outcome(
                self.instance, self.best, value, bound, self.stop, facts, self.clock, "penalty"
            )
        # 2. else the slack, before the penalty
        if bound is not None and bound > value:
            if not self.cheapest:
                self.certificate["contradiction"] = (
                    f"the bound {bound:.12g} is above the penalty {value:.12g}; neither is trusted"
                )
            bound = value if self.cheapest else None
        self.certificate["levels"] = [
            level("slack", self.slack, min(self.bound, self.slack), self.least),
            level("penalty", value, bound, self.least and self.cheapest),
        ]
        found = outcome(
            self.instance, self.best, self.slack, self.bound, self.stop, self.certificate,
            self.clock, "slack",
        )  # fmt: skip
        # the second level may have run out of time
        return found if self.stop is Stop.FINISHED else replace(found, stop=self.stop)


def approach(search: FairSearch) -> None:
    """Solve the relaxations of least slack and of least penalty at it: a bound, a rounded start."""
    if search.program is None or "approach" not in search.limits.routes:
        return
    first = relaxed(search.program.program, search.clock, parts=2)
    if first is None:
        search.hopeless = search.large and search.clock.left is not None
        return
    search.prove(first.bound)
    slack = max(first.bound, search.enough) + AGREE * scale(search.instance, "slack")
    cheapest = fair_program(search.instance, slack)
    second = relaxed(cheapest.program, search.clock, parts=2)
    near = None if second is None else rounded(search.instance, cheapest, second.point)
    if near is not None and attribution_slack(search.instance, near) < search.slack:
        search.best = near
        search.clock.note(search.slack, search.bound, "rounded")


def try_slack(search: FairSearch) -> None:
    """Lower the slack for a short time by new pairs and a small program, if time is limited."""
    if search.program is None or search.large or search.clock.left is None:
        return
    search.improve(search.clock.time_slice(search.limits.short))
    if not search.settled:
        search.solve(parts=2)


def improve_slack(search: FairSearch) -> None:
    """If time is limited or the program large: lower the slack by pairing few types anew."""
    if search.program is None:
        search.improve(search.clock.left)
    elif search.large or search.clock.left is not None:
        search.improve(search.clock.time_slice(1 if search.hopeless else 2))


def solve_slack(search: FairSearch) -> None:
    """Solve the integer program of least slack, unless its relaxation already takes too long."""
    if not search.hopeless:
        search.solve()


def relax_penalty(search: FairSearch) -> None:
    """Bound the penalty at this slack by a relaxation, or a matching if that is too large."""
    if search.program is not None:
        search.relaxation = relaxed(search.program.program, search.clock, parts=2)
        if search.relaxation is not None:
            search.prove(search.relaxation.bound)
    else:
        search.penalty_bound = least_penalty_bound(
            search.instance, search.clock.left, search.limits.programs, search.best
        )


def try_penalty(search: FairSearch) -> None:
    """Solve the program of least penalty for a short time, if it is small."""
    if not search.large:  # what is near the relaxation already waits for its search
        search.solve(parts=search.limits.first_try)


def improve_penalty(search: FairSearch) -> None:
    """Lower the incumbent's penalty: near the relaxation if time is limited and the program small,
    else by pairing a few types anew.
    """
    left, limits, relaxation = search.clock.left, search.limits, search.relaxation
    if search.program is None or left is None:
        search.improve(left)
    elif relaxation is None or search.large or "near" not in limits.routes:
        search.improve(limits.improving * left)
    elif search.at is not None:
        near = search_near(
            search.instance, search.best, relaxation, search.clock, limits.near * left, search.rng,
            slack=search.at, bound=search.penalty_bound,
        )  # fmt: skip
        search.take(near.best, near.stop)


LEAST_SLACK = (approach, try_slack, improve_slack, solve_slack)
LEAST_PENALTY = (relax_penalty, try_penalty, improve_penalty, FairSearch.solve)
ROUTES = {"the least slack": LEAST_SLACK, "the least penalty at that slack": LEAST_PENALTY}
"""The routes of `fair`, in the order in which they run."""

Allowance = Annotated[
    float, AtLeast(0, "points of penalty", cure="0.0005 is a twentieth of a percentage point")
]


@validate_options
def fair(
    instance: Colocation,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    engine: EngineName = "highs",
    slack: Allowance | None = None,
    start: Solution | None = None,
    report: Report | None = None,
    limits: FairLimits | None = None,
) -> Outcome:
    """Minimize slack, then mean penalty; or, with an allowance of slack, mean penalty within it.

    Slack is the least s with mean penalty[x] <= mean penalty[y] + s whenever bandwidth[x] <
    bandwidth[y] strictly: 0 means that who presses harder on memory loses at least as much (fair
    attribution, Cooper section II; thesis 2.1). It can be impossible, so the answer is never a bare
    "infeasible". Slack has a price: an allowance far below what penalties are known to may cost
    less than slack exactly 0 by more than any search can gain (`analysis.colocation.frontier` shows
    how much).

    Parameters
    ----------
    instance : with bandwidths.
    rng : draws the types that are paired anew together where the program alone would take long; it
        never changes what is proved.
    time_limit : seconds, more than 0. Without one the slack is proved however long it takes, and
        the mean penalty gets 30 seconds after it.
    engine : the solver of the program: "highs" or "cp-sat".
    slack : allowed, in points of penalty (0.0005 is a twentieth of a percentage point): the mean
        penalty is then the objective, and a pairing of more slack is no answer. Where there is
        provably none within it the status is infeasible, and `certificate["least_slack"]` has the
        least slack found and a bound on it. As little as possible when not given.
    start : a pairing to begin with; one that is not feasible is completed first.
    report : progress, in slack, or in mean penalty within the allowance.
    limits : what steers the search.

    Returns
    -------
    Outcome
        Objective and bound are the slack, and the mean penalty stands in `certificate["levels"]`;
        with an allowance they are the mean penalty.

    Raises
    ------
    InvalidOption
        The instance has no bandwidths, or an option is out of range.

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("colocation/tiny"), "fair")
    >>> print(result.status, round(result.objective, 3))
    optimal 0.0
    """
    require_bandwidth(instance)
    clock = Clock(time_limit, report)
    begin = starting_pairing(instance, start, clock)
    if isinstance(begin, Outcome):
        return begin
    given, (instance, unit) = instance, in_own_unit(instance)
    clock.unit = unit
    rng, limits = np.random.default_rng(0) if rng is None else rng, limits or FairLimits()
    search = FairSearch(instance, begin, clock, engine, rng, limits, given, unit, slack)
    try:
        if not search.settled:
            search.run(LEAST_SLACK)
        if search.ready:
            search.run(LEAST_PENALTY, search.slack if slack is None else search.enough)
    except KeyboardInterrupt:
        search.stop = Stop.INTERRUPTED
    return out_of_unit(search.outcome(), unit)


def fair_enough(
    instance: Colocation, pairing: Pairing, slack: float | None = None
) -> tuple[float, ...] | None:
    """Return () if a pairing keeps the slack allowance of `fair` or none is given, else None."""
    return () if slack is None or keeps_slack(instance, pairing, slack) else None
