"""Fair attribution: least slack, then least mean penalty."""

from __future__ import annotations

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
from ..engines import EngineAnswer, EngineName
from ..incumbent import Incumbent
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
from .bounds import least_penalty_bound
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
from .local_branching import search_near
from .neighborhoods import improve
from .relaxation import Relaxation, relaxed, rounded


@dataclass(frozen=True)
class FairLimits(Routed):
    """What steers `fair`.

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


WITHIN = "linear relaxation, and integer program over types, of least penalty at this slack"

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
    """The pairing of least slack, and among those the one of least mean penalty; or the one of
    least mean penalty within an allowance of slack.

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
    if slack is None:
        search = _Search(instance, begin, clock, engine, rng, limits)
    else:
        search = _Within(instance, begin, clock, engine, rng, limits, given, slack, unit)
    try:
        search.least_slack()
        if search.ready:
            search.least_penalty()
    except KeyboardInterrupt:
        search.stop = Stop.INTERRUPTED
    return out_of_unit(search.outcome(), unit)


def fair_enough(
    instance: Colocation, pairing: Pairing, slack: float | None = None
) -> tuple[float, ...] | None:
    """Nothing where a pairing keeps the allowance of `fair`, or none is given; None where not."""
    return () if slack is None or keeps_slack(instance, pairing, slack) else None


class _Search:
    """The best pairing so far, and what is proved on either level."""

    enough = 0.0  # less slack is worth nothing
    silent = False  # whether slack is not the objective

    def __init__(
        self,
        instance: Colocation,
        begin: Pairing,
        clock: Clock,
        engine: EngineName,
        rng: np.random.Generator,
        limits: FairLimits,
    ) -> None:
        self.instance, self.clock, self.engine, self.rng = instance, clock, engine, rng
        self.limits = limits
        self.best = begin
        self.bound = 0.0
        self.penalty_bound: float | None = None
        self.stop = Stop.FINISHED
        self.certificate: dict[str, Any] = {"proof": "no slack is below 0"}
        self.pairs = pairs_of(instance)
        if not self.silent:
            clock.note(self.slack, 0.0, "start")

    @property
    def slack(self) -> float:
        """Of the best pairing."""
        return attribution_slack(self.instance, self.best)

    @property
    def least(self) -> bool:
        """Whether no pairing has less slack: proved."""
        return self.slack <= self.bound or agree(
            self.slack, self.bound, scale(self.instance, "slack")
        )

    @property
    def ready(self) -> bool:
        """Whether the best pairing has so little slack that the second level may begin."""
        return self.least

    @property
    def settled(self) -> bool:
        """Whether the first level is over."""
        return self.ready

    @property
    def most(self) -> float:
        """The slack that the second level allows."""
        return self.slack

    def within(self, pairing: Pairing, slack: float) -> bool:
        """Whether a pairing has no more slack than the second level allows."""
        return within_slack(self.instance, pairing, slack)

    @property
    def cheapest(self) -> bool:
        """Whether no pairing of as little slack has less mean penalty: proved."""
        value = mean_penalty(self.instance, self.best)
        return self.penalty_bound is not None and agree(
            value, self.penalty_bound, scale(self.instance, "penalty")
        )

    @property
    def large(self) -> bool:
        """Whether an engine may not keep its time limit on the whole program, nor find much."""
        return self.pairs > self.limits.programs.keeps_time

    @property
    def too_large(self) -> bool:
        """Whether making the whole program, or its relaxation, would take longer than there is
        time.
        """
        return self.pairs > self.limits.programs.most_pairs and self.clock.left is not None

    def least_slack(self) -> None:
        """The first level: a good answer, then the whole program."""
        if self.settled:
            return
        if self.too_large:
            self._improve(None, self.clock.left)
        else:
            program = fair_program(self.instance, least=self.enough)
            self.certificate |= size(program, self.engine)
            solved = self._approach(program)
            if not self.settled and not self.large and self.clock.left is not None:
                self._improve(None, self.clock.time_slice(self.limits.short))
                if not self.settled:
                    self._run(program, None, parts=2)
            hopeless = self.large and not solved and self.clock.left is not None
            if not self.settled and (self.large or self.clock.left is not None):
                self._improve(None, self.clock.time_slice(1 if hopeless else 2))
            if not self.settled and not hopeless:
                self._run(program, None)
        self._ended(self.settled)

    def least_penalty(self) -> None:
        """The second level, no longer than `penalty_seconds` where there is no limit: it is
        far harder than the first.
        """
        slack, whole = self.most, self.clock
        if whole.left is None:
            self.clock = Clock(self.limits.penalty_seconds)
        if self.too_large:
            self.penalty_bound = least_penalty_bound(
                self.instance, whole.left, self.limits.programs, self.best
            )
            self._improve(slack, self.clock.left)
        else:
            # Engines round what is near their tolerance: with a little more slack their bound holds
            # for this slack too.
            program = fair_program(
                self.instance, slack + 10 * AGREE * scale(self.instance, "slack")
            )
            relaxation = relaxed(program.program, self.clock, parts=2)
            if relaxation is not None:
                self._prove_penalty(relaxation.bound)
            if not self.large:  # what is near the relaxation already waits for its search
                self._run(program, slack, parts=self.limits.first_try)
            if not self.cheapest and self.clock.left is not None:
                near = "near" in self.limits.routes
                if relaxation is None or self.large or not near:
                    self._improve(slack, self.limits.improving * self.clock.left)
                else:
                    self._search_near(relaxation, slack)
            if not self.cheapest:
                self._run(program, slack)
        self._ended(self.cheapest)
        self.clock = whole

    def _approach(self, program: FairProgram) -> bool:
        """A bound and a start from the relaxations of both levels: fair fractions of pairs,
        rounded; False: no time.
        """
        if "approach" not in self.limits.routes:
            return True
        first = relaxed(program.program, self.clock, parts=2)
        if first is None:
            return False
        self._prove(first.bound)
        slack = max(first.bound, self.enough) + AGREE * scale(self.instance, "slack")
        cheapest = fair_program(self.instance, slack)
        second = relaxed(cheapest.program, self.clock, parts=2)
        if second is None:
            return True
        near = rounded(self.instance, cheapest, second.point)
        if near is not None and attribution_slack(self.instance, near) < self.slack:
            self.best = near
            self.clock.note(self.slack, self.bound, "rounded")
        return True

    def _improve(self, slack: float | None, seconds: float | None) -> None:
        """Part by part, for so many seconds."""
        if "parts" not in self.limits.routes:
            return
        seconds = self.limits.improving_seconds if seconds is None else seconds
        bound = max(self.bound, self.enough) if slack is None else self.penalty_bound
        found = improve(
            self.instance, self.best, self.clock, seconds, self.rng, slack=slack, bound=bound
        )
        self._take(found, slack)

    def _take(self, found: Incumbent[Pairing, float], slack: float | None) -> None:
        """Keep what a search found, if it has no more slack than allowed; Ctrl-C is raised."""
        assert found.best is not None
        if slack is None or self.within(found.best, slack):
            self.best = found.best
        raise_if_interrupted(found.stop)

    def _search_near(self, relaxation: Relaxation, slack: float) -> None:
        """Around the relaxation, for most of the time left."""
        seconds = self.limits.near * (self.clock.left or 0.0)
        found = search_near(
            self.instance, self.best, relaxation, self.clock, seconds, self.rng, slack=slack,
            bound=self.penalty_bound
        )  # fmt: skip
        self._take(found, slack)

    def _run(self, program: FairProgram, slack: float | None, parts: int = 1) -> None:
        """The whole program, for a part of the time left; its slack, or its mean penalty at no more
        slack than this.
        """

        def value(
            pairing: Pairing,
        ) -> float:  # a solver's tolerance must not buy penalty with slack
            if slack is None:
                return attribution_slack(self.instance, pairing)
            return mean_penalty(self.instance, pairing) if self.within(pairing, slack) else np.inf

        per: float = self.instance.agents
        if slack is None:  # engines stop at a gap of 1e-9, and slacks may be as near
            whole = program.program
            per = FINE
            program = replace(program, program=replace(whole, cost=FINE * whole.cost))
        answer: EngineAnswer = run(
            program, self.clock, engine=self.engine, scale=per, start=self.best, parts=parts,
            apart=self.large
        )  # fmt: skip
        self.best = best_of(self.instance, program, answer, self.best, value) or self.best
        if answer.bound is not None and slack is None:
            self._prove(answer.bound / FINE)
        elif answer.bound is not None:
            self._prove_penalty(answer.bound)
        raise_if_interrupted(answer.stop)
        self.stop = answer.stop

    def _ended(self, proved: bool) -> None:
        """A level is over; what is too large for its time ends by time too."""
        if proved:
            self.stop = Stop.FINISHED
        elif self.clock.expired or self.too_large:
            self.stop = Stop.TIME_LIMIT

    def _prove(self, bound: float) -> None:
        if bound > self.bound or self.least:
            self.certificate["proof"] = "integer program over types: least slack"
        self.bound = max(self.bound, bound)

    def _prove_penalty(self, total: float) -> None:
        """A bound on the total penalty of all agents, at the slack that is proved."""
        bound = total / self.instance.agents
        known = self.penalty_bound
        self.penalty_bound = bound if known is None else max(bound, known)

    def outcome(self) -> Outcome:
        """The checked outcome, with both levels in its certificate."""
        value = mean_penalty(self.instance, self.best)
        bound = self.penalty_bound
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
            self.instance,
            self.best,
            self.slack,
            self.bound,
            self.stop,
            self.certificate,
            self.clock,
            "slack",
        )
        # the second level may have run out of time
        return found if self.stop is Stop.FINISHED else replace(found, stop=self.stop)


class _Within(_Search):
    """The same within an allowance: any pairing that keeps it is fair enough."""

    silent = True

    def __init__(
        self, instance: Colocation, begin: Pairing, clock: Clock, engine: EngineName,
        rng: np.random.Generator, limits: FairLimits, given: Colocation, allowed: float,
        unit: float,
    ) -> None:  # fmt: skip
        self.given, self.allowed, self.unit = given, allowed, unit
        self.enough = allowed / unit
        super().__init__(instance, begin, clock, engine, rng, limits)

    @property
    def ready(self) -> bool:
        return self.within(self.best, self.enough)

    @property
    def impossible(self) -> bool:
        """Whether every pairing has more slack: proved."""
        apart = not agree(self.bound, self.enough, scale(self.instance, "slack"))
        return self.bound > self.enough and apart

    @property
    def settled(self) -> bool:
        return self.ready or self.impossible

    @property
    def most(self) -> float:
        return self.enough

    def within(self, pairing: Pairing, slack: float) -> bool:
        return keeps_slack(self.given, pairing, self.allowed)

    def least_slack(self) -> None:
        """The first level, whose progress is not that of the objective."""
        whole, self.clock = self.clock, Clock(self.clock.left)
        try:
            super().least_slack()
        finally:
            self.clock = whole

    def outcome(self) -> Outcome:
        """The checked outcome: a pairing that keeps the allowance, or how little slack there is."""
        least: Any = {"value": self.slack * self.unit, "bound": self.bound * self.unit}
        if self.impossible:
            why = f"integer program over types: no pairing has a slack below {least['bound']:g}"
            return infeasible(self.clock, why, least_slack=least)
        if not self.ready:
            facts: dict[str, Any] = {"proof": NOT_GIVEN, "least_slack": least}
            return Outcome(None, None, Status.UNKNOWN, self.stop, facts, tuple(self.clock.trace))
        bound, value = self.penalty_bound, mean_penalty(self.instance, self.best)
        facts = {**self.certificate, "proof": WITHIN, "slack_allowed": self.allowed}
        return outcome(
            self.instance, self.best, value, bound, self.stop, facts, self.clock, "penalty"
        )
