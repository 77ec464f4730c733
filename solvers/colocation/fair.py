"""Fair attribution: least slack, then least mean penalty."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...instances.colocation.instance import Colocation, Pairing
from ...instances.colocation.objective import attribution_slack, mean_penalty, scale, within_slack
from ...instances.problem.base import Solution
from ...instances.problem.rules import checked
from ...models.colocation import FINE, FairProgram, fair_program
from ..engines import EngineAnswer, EngineName
from ..outcome import AGREE, Clock, Outcome, Report, Status, Stop, agree
from .bounds import least_penalty_bound
from .common import (
    KEEPS_TIME,
    MOST_PAIRS,
    best_of,
    in_own_unit,
    out_of_unit,
    outcome,
    pairs_of,
    require_bandwidth,
    run,
    size,
)
from .feasible import starting_pairing
from .near import Near, search_near
from .neighborhoods import improve
from .relaxation import Relaxation, relaxed, rounded

SECOND_LEVEL_SECONDS = 30.0
"""Time for the least penalty at the least slack when there is no time limit: it is far harder than
the first level.
"""

SHORT = 4
"""What begins gets one part in so many of the time: what it does not find or prove soon, it often
does not at all.
"""

FIRST_TRY = 8
"""One part in so many of the second level's time is what the whole program gets first: small ones
are proved in it.
"""

IMPROVING = 2 / 3
"""The part of a large program's second level for improving a pairing part by part: it finds more
than the program does.
"""

NEAR = 0.95
"""The same for searching near the relaxation, which ends by itself where it finds nothing more."""

IMPROVING_SECONDS = 10.0
"""Time for improving a pairing part by part when there is no limit."""


@checked
def fair(
    instance: Colocation,
    *,
    rng: np.random.Generator | None = None,
    time_limit: float | None = None,
    engine: EngineName = "highs",
    start: Solution | None = None,
    report: Report | None = None,
) -> Outcome:
    """The pairing of least slack, and among those the one of least mean penalty.

    Slack is the least s with mean penalty[x] <= mean penalty[y] + s whenever bandwidth[x] <
    bandwidth[y] strictly: 0 means that who presses harder on memory loses at least as much (fair
    attribution, Cooper section II; thesis 2.1). It can be impossible, so the answer is never a bare
    "infeasible".

    Parameters
    ----------
    instance : with bandwidths.
    rng : draws the types that are paired anew together where the program alone would take long; it
        never changes what is proved.
    time_limit : seconds, more than 0. Without one the slack is proved however long it takes, and
        the mean penalty gets 30 seconds after it.
    engine : the solver of the program: "highs" or "cp-sat".
    start : a pairing to begin with; one that is not feasible is completed first.
    report : progress, in slack.

    Returns
    -------
    Outcome
        Objective and bound are the slack; the mean penalty stands in `certificate["levels"]`.

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
    instance, unit = in_own_unit(instance)
    clock.unit = unit
    search = _Search(
        instance, begin, clock, engine, np.random.default_rng(0) if rng is None else rng
    )
    try:
        search.least_slack()
        if search.least:
            search.least_penalty()
    except KeyboardInterrupt:
        search.stop = Stop.INTERRUPTED
    return out_of_unit(search.outcome(), unit)


class _Search:
    """The best pairing so far, and what is proved on either level."""

    def __init__(
        self,
        instance: Colocation,
        begin: Pairing,
        clock: Clock,
        engine: EngineName,
        rng: np.random.Generator,
    ) -> None:
        self.instance, self.clock, self.engine, self.rng = instance, clock, engine, rng
        self.best = begin
        self.bound = 0.0
        self.penalty_bound: float | None = None
        self.stop = Stop.FINISHED
        self.certificate: dict[str, Any] = {"proof": "no slack is below 0"}
        self.pairs = pairs_of(instance)
        self.near = False  # whether the best pairing was found near the second level's relaxation
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
    def cheapest(self) -> bool:
        """Whether no pairing of as little slack has less mean penalty: proved."""
        value = mean_penalty(self.instance, self.best)
        return self.penalty_bound is not None and agree(
            value, self.penalty_bound, scale(self.instance, "penalty")
        )

    @property
    def large(self) -> bool:
        """Whether an engine may not keep its time limit on the whole program, nor find much."""
        return self.pairs > KEEPS_TIME

    @property
    def too_large(self) -> bool:
        """Whether making the whole program, or its relaxation, would take longer than there is
        time.
        """
        return self.pairs > MOST_PAIRS and self.clock.left is not None

    def least_slack(self) -> None:
        """The first level: a good answer, then the whole program."""
        if self.least:
            return
        if self.too_large:
            self._improve(None, self.clock.left)
        else:
            program = fair_program(self.instance)
            self.certificate |= size(program, self.engine)
            solved = self._approach(program)
            if not self.least and not self.large and self.clock.left is not None:
                self._improve(None, self.clock.share(SHORT))
                if not self.least:
                    self._run(program, None, parts=2)
            hopeless = self.large and not solved and self.clock.left is not None
            if not self.least and (self.large or self.clock.left is not None):
                self._improve(None, self.clock.share(1 if hopeless else 2))
            if not self.least and not hopeless:
                self._run(program, None)
        self._ended(self.least)

    def least_penalty(self) -> None:
        """The second level, no longer than `SECOND_LEVEL_SECONDS` where there is no limit: it is
        far harder than the first.
        """
        slack, whole = self.slack, self.clock
        if whole.left is None:
            self.clock = Clock(SECOND_LEVEL_SECONDS)
        if self.too_large:
            self.penalty_bound = least_penalty_bound(self.instance)
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
                self._run(program, slack, parts=2 * FIRST_TRY if self.near else FIRST_TRY)
            if not self.cheapest and self.clock.left is not None:
                if relaxation is None or self.large:
                    self._improve(slack, IMPROVING * self.clock.left)
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
        first = relaxed(program.program, self.clock, parts=2)
        if first is None:
            return False
        self._prove(first.bound)
        slack = max(first.bound, 0.0) + AGREE * scale(self.instance, "slack")
        cheapest = fair_program(self.instance, slack)
        second = relaxed(cheapest.program, self.clock, parts=2)
        if second is None:
            return True
        near = rounded(self.instance, cheapest, second.point)
        if near is not None and attribution_slack(self.instance, near) < self.slack:
            self.best = near
            self.clock.note(self.slack, self.bound, "rounded")
        if not self.least and not self.large and self.clock.left is not None:
            self._first_near(second)
        return True

    def _first_near(self, relaxation: Relaxation) -> None:
        """A pairing of the least slack that the relaxation allows, near its cheapest point."""
        near = Near(self.instance, self.best, relaxation, self.clock, slack=max(self.bound, 0.0))
        share = self.clock.share(SHORT)
        try:
            near.first(self.clock.seconds + (share or 0.0))
        finally:
            self.best, self.near = near.best, near.found

    def _improve(self, slack: float | None, seconds: float | None) -> None:
        """Part by part, for so many seconds."""
        seconds = IMPROVING_SECONDS if seconds is None else seconds
        bound = self.bound if slack is None else self.penalty_bound
        self.best, interrupted = improve(
            self.instance, self.best, self.clock, seconds, self.rng, slack=slack, bound=bound
        )
        if interrupted:
            raise KeyboardInterrupt

    def _search_near(self, relaxation: Relaxation, slack: float) -> None:
        """Around the relaxation, for most of the time left."""
        self.best, interrupted = search_near(
            self.instance, self.best, relaxation, self.clock, NEAR * (self.clock.left or 0.0),
            self.rng, slack=slack, bound=self.penalty_bound, boxes=not self.near
        )  # fmt: skip
        if interrupted:
            raise KeyboardInterrupt

    def _run(self, program: FairProgram, slack: float | None, parts: int = 1) -> None:
        """The whole program, for a part of the time left; its slack, or its mean penalty at no more
        slack than this.
        """

        def value(
            pairing: Pairing,
        ) -> float:  # a solver's tolerance must not buy penalty with slack
            if slack is None:
                return attribution_slack(self.instance, pairing)
            return (
                mean_penalty(self.instance, pairing)
                if within_slack(self.instance, pairing, slack)
                else np.inf
            )

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
        if answer.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt
        self.stop = answer.stop

    def _ended(self, proved: bool) -> None:
        """A level is over; what is too large for its time ends by time too."""
        if proved:
            self.stop = Stop.FINISHED
        elif self.clock.over or self.too_large:
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
        statuses = [
            Status.OPTIMAL if proved else Status.FEASIBLE
            for proved in (self.least, self.least and self.cheapest)
        ]
        self.certificate["levels"] = [
            {
                "objective": "slack",
                "value": self.slack,
                "bound": min(self.bound, self.slack),
                "status": statuses[0].value,
            },
            {"objective": "penalty", "value": value, "bound": bound, "status": statuses[1].value},
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
        if (
            self.stop is not Stop.FINISHED and found.stop is Stop.FINISHED
        ):  # the second level ran out of time
            return Outcome(
                found.solution, found.bound, found.status, self.stop, found.certificate, found.trace
            )
        return found
