"""Policies' answers as starting solutions of exact methods, which never return a worse answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...catalog import Method, find
from ...instances.problem.base import Instance, Solution
from ...instances.problem.errors import (
    InvalidInstance,
    InvalidOption,
    NoSolution,
    TimeLimitTooShort,
)
from ...instances.problem.options import accepted
from ...instances.problem.registry import resolve
from ...solvers.engines.child import Child
from ...solvers.outcome import AGREE, Clock, Earlier, Outcome, Status, Stop
from .question import Metrics, Question, Worth
from .result import Result

SHARE, HERE_SECONDS = 10, 0.5
"""Of a time limit policies get one part in so many, or so many seconds of short ones."""

APART = 2
"""After one part in so many of a time limit no policy is begun, and what runs in a process of its
own is given up there: policies that are guessed to take longer than the others' share.
"""

MOST_SENT = 250_000_000
"""Bytes of an instance that is sent to another process: of a larger one all policies run here."""

UNHURRIED = 20.0
"""What stands for a time limit where there is none."""

BEGINNING, BEGINNING_SECONDS = 4, 5.0
"""Of a limit, a method that another begins with gets one part in so many, these seconds at most."""


@dataclass(frozen=True)
class Start:
    """Answer of a policy to an exact method's question.

    Attributes
    ----------
    policy, solution : its name and answer.
    worth : what the method compares, in order, each the less the better.
    """

    policy: str
    solution: Solution
    worth: Worth


def beginning(
    question: Question[Any], start: Solution | Result[Any] | None, seed: int
) -> Solution | Starts | Earlier | None:
    """What a method starts its search from: a solution, policies' answers, or an earlier result.
    The last is for a method that can continue an earlier round.

    Raises
    ------
    InfeasibleSolution, InvalidOption
        The start breaks a rule of the instance, or the method takes none.
    """
    if isinstance(start, Result):
        same = isinstance(start.given, type(question.instance))
        if "previous" in question.takes and same and start.solution is not None:
            return Earlier(start.given, start.solution, start.certificate)
        start = start.solution
    if start is not None:
        question.analysis.problem.require(question.instance, start)
        if "start" not in question.takes:
            raise InvalidOption(f"method {question.name!r} does not take a start")
        return start
    return Starts(question, seed) if question.entry is not None and question.entry.starts else None


class Starts:
    """Policies' answers to the question of one run of an exact method.

    Attributes
    ----------
    best : the best by all levels of the method's objective, of equal ones the quickest policy's;
        None while there is none.
    """

    def __init__(self, question: Question[Any], seed: int) -> None:
        assert question.entry is not None, "the user's own functions have no starts"
        self.question, self.seed = question, seed
        self.instance, self.method = question.instance, question.entry
        self.best: Start | None = None
        # what changes the question; other options of one name mean another thing to a policy
        self.options = accepted(question.metrics, question.options)

    def look(self, clock: Clock) -> Stop:
        """Run the suitable policies, the quickest first, in at most half of the time; Ctrl-C keeps
        the best answer so far, and is raised while there is none.

        How long a policy takes is guessed. Those that may take long for this limit run in a process
        of their own, which can be ended.
        """
        limit = clock.left or UNHURRIED
        last = limit / APART
        fields = vars(self.instance).values()
        sent = sum(value.nbytes for value in fields if isinstance(value, np.ndarray)) <= MOST_SENT
        here = max(limit / SHARE, min(last, HERE_SECONDS)) if sent else last
        slow: list[Method] = []
        alone = self.method.alone and resolve(self.method.alone)(self.instance)
        try:
            for policy in () if alone else self.method.starts:
                guess, seconds = self.instance.size / policy.quick, last - clock.seconds
                if guess > seconds or not policy.applies_to(self.instance):
                    continue
                little = clock.seconds + guess > here
                if little or not self._ask(policy, min(seconds, here)):
                    slow.append(policy)
            self._ask_apart(slow, clock, last)
            for name in resolve(self.method.begins)(self.instance) if self.method.begins else ():
                method = find(self.instance.problem, name)
                if method.applies_to(self.instance):  # however little time: it keeps its limit
                    share = clock.time_slice(BEGINNING, most=BEGINNING_SECONDS)
                    self._ask(method, share or BEGINNING_SECONDS)
        except KeyboardInterrupt:
            if self.best is None:
                raise
            return Stop.INTERRUPTED
        return Stop.FINISHED

    def _ask_apart(self, policies: Sequence[Method], clock: Clock, last: float) -> None:
        """Run policies in a separate process until the clock reaches `last` seconds."""
        if not policies:
            return
        try:
            child = Child()
        except OSError:  # the machine starts no more processes: there are fewer starts then
            return
        try:
            for policy in policies:
                left = last - clock.seconds
                if left <= 0:
                    return
                given = (
                    self.instance, self.method.name, self.question.options, self.seed, policy.name,
                    left,
                )  # fmt: skip
                child.ask(answer_of, *given, limit=left)
                reply = child.answer(left)
                if reply.kind not in ("done", "raised"):  # it cannot be asked again
                    return
                if reply.kind == "done":
                    self._offer(reply.value)
        finally:
            child.end()

    def kept(self, outcome: Outcome, measured: Metrics) -> tuple[Outcome, Metrics]:
        """Outcome and metrics of a method, or of the best starting solution where that is better.
        The latter has the method's bound, and also replaces a missing answer. A claim that the
        starting solution contradicts is withdrawn.
        """
        start, question, mine = self.best, self.question, None
        if start is None or (outcome.solution is not None and not measured):
            return outcome, measured
        if outcome.solution is not None:
            mine = question.worth(outcome.solution, measured)
            if mine is None or not question.before(start.worth, mine):
                return outcome, measured
        place = len(start.worth) - len(question.levels)
        value = question.signs[0] * start.worth[place]
        bound = outcome.bound
        certificate: dict[str, Any] = {"answer_by": start.policy}
        if mine is None:
            certificate |= outcome.certificate
        else:  # what was written of another answer
            certificate["search"] = dict(outcome.certificate)
        better = 0.0 if bound is None else question.signs[0] * (bound - value)
        asked = mine is None or start.worth[:place] <= mine[:place]  # what the bound is about
        if outcome.status is Status.INFEASIBLE or (asked and better > AGREE * question.units[0]):
            claim = "there is no answer" if bound is None else f"none is better than {bound}"
            certificate["withdrawn"] = (
                f"{self.method.name} said that {claim}, but the answer of {start.policy} is worth "
                f"{value}; not accepted as a proof"
            )
            bound = None
        if levels := outcome.certificate.get("levels"):
            certificate["levels"] = self._revalued(levels, bound)
        left = (outcome.stop, certificate, outcome.trace)
        return question.judged(Outcome(start.solution, bound, Status.FEASIBLE, *left))

    def _revalued(self, levels: list[dict[str, Any]], bound: float | None) -> list[dict[str, Any]]:
        """Levels of a certificate with the values of the best starting solution, without proofs.
        The list is empty if their objectives are not those compared.
        """
        assert self.best is not None
        compared, signs = self.question.levels, self.question.signs
        if tuple(level["objective"] for level in levels) != compared[: len(levels)]:
            return []
        values = zip(signs, self.best.worth[-len(compared) :], levels, strict=False)
        made = [
            level | {"value": sign * worth, "status": Status.FEASIBLE.value}
            for sign, worth, level in values
        ]
        made[0]["bound"] = bound
        return made

    def _ask(self, policy: Method, seconds: float) -> bool:
        """Compare a policy's answer with the best so far; False if the seconds are too few."""
        function = policy.resolve()
        given = {"rng": np.random.default_rng(self.seed), "time_limit": seconds, **self.options}
        if policy.kind == "exact" and self.best is not None:
            given["start"] = self.best.solution
        try:
            answer = function(self.instance, **accepted(function, given))
        except TimeLimitTooShort:
            return False
        except (NoSolution, InvalidOption, InvalidInstance):  # it has no answer here
            return True
        interrupted = False
        if isinstance(answer, Outcome):
            interrupted, answer = answer.stop is Stop.INTERRUPTED, answer.solution
        if answer is not None:
            measured = self.question.measure(answer, only=self.question.levels)
            worth = self.question.worth(answer, measured)
            self._offer(None if worth is None else Start(policy.name, answer, worth))
        if interrupted:  # it kept its answer, but what it was to begin is not begun
            raise KeyboardInterrupt
        return True

    def _offer(self, start: Start | None) -> None:
        """Keep a starting solution that is better than the best so far."""
        if start is not None and (self.best is None or start.worth < self.best.worth):
            self.best = start


def answer_of(
    instance: Instance, method: str, options: Mapping[str, Any], seed: int, policy: str,
    seconds: float,
) -> Start | None:  # fmt: skip
    """Answer of a policy to a method's question with its value; None where it has none."""
    starts = Starts(Question.of(instance, method, options), seed)
    starts._ask(find(instance.problem, policy), seconds)
    return starts.best
