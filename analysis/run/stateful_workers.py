"""Objects that stay in other processes, on this machine or on a cluster, and are asked one question
after the other.

Each holder makes its object from plain arguments and keeps it between questions. Questions that
change it are noted: a holder that dies is replaced by one that makes the object again and is asked
the noted questions in order, so that the answers go on as if nothing had happened.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Protocol, Self

from ...instances.problem import errors
from ...instances.problem.errors import CotenantError, EngineError
from ...instances.problem.registry import resolve
from ...solvers.engines import Child
from .cluster import Cluster

PATIENCE = 10.0
"""Seconds after which a holder that has not answered is named, when others took much less."""

SLOWER = 4.0
"""How many times longer than the slowest answer to the same question so far is much longer."""

MOST_DEATHS = 3
"""Deaths of one holder without an answer between them after which its parts are given up."""

_LOOK = 1.0
Answer = tuple[str, Any]
Question = Callable[..., Any]
Note = tuple[Question, tuple[Any, ...]]


class Place(Protocol):
    """Where a holder is: it takes one call and hands in the answer."""

    def send(self, *arguments: Any) -> None:
        """Begin `stateful_call` with these arguments."""

    def receive(self, seconds: float) -> Answer | None:
        """The answer, or ("died", how); None when it takes longer than that."""

    def end(self) -> None:
        """Give the place up."""

    @property
    def name(self) -> str:
        """What people call it."""


class ChildPlace:
    """A process on this machine, one of `processes`."""

    def __init__(self, processes: int) -> None:
        try:
            self._child = Child(leads=True, processes=processes)
        except OSError as error:
            raise EngineError(f"a process for the parts does not start: {error.strerror}") from None
        self.name = "a process"

    def send(self, *arguments: Any) -> None:
        """See `Place`."""
        self._child.ask(stateful_call, *arguments)

    def receive(self, seconds: float) -> Answer | None:
        """See `Place`."""
        reply = self._child.answer(seconds)
        if reply.kind == "done":
            answer: Answer = reply.value
            return answer
        if reply.kind == "overran":
            return None
        if reply.kind == "died":
            return "died", self._child.end()
        return "raised", ("EngineError", str(reply.value))

    def end(self) -> None:
        """See `Place`."""
        self._child.end()


class WorkerPlace:
    """A worker of a Dask cluster."""

    def __init__(self, cluster: Cluster, worker: str) -> None:
        self._cluster, self.name = cluster, worker
        self._future: Any = None
        self._done = threading.Event()

    def send(self, *arguments: Any) -> None:
        """See `Place`."""
        self._done = done = threading.Event()
        self._future = self._cluster.client.submit(
            stateful_call, *arguments, workers=[self.name], pure=False
        )
        self._future.add_done_callback(lambda future: done.set())

    def receive(self, seconds: float) -> Answer | None:
        """See `Place`."""
        ends = time.monotonic() + seconds
        while not self._done.wait(min(_LOOK, max(ends - time.monotonic(), 0.0))):
            if self.name not in self._cluster.workers():
                return "died", "is gone from the cluster"
            if time.monotonic() >= ends:
                return None
        try:
            answer: Answer = self._future.result(timeout=_LOOK)
        except Exception as error:
            return "died", f"did not answer ({type(error).__name__}: {error})"
        return answer

    def end(self) -> None:
        """See `Place`."""
        with suppress(Exception):
            self._future.cancel()


class StatefulWorkers:
    """Objects of one kind, each in a process of its own, that are asked the same questions.

    Parameters
    ----------
    make : "module:class" of the package; its objects have a method `ask(question,
        *arguments)`.
    arguments : of each object, plain values.
    labels : what each is called in messages.
    changing : questions that change an object, each with those just before it whose answers count
        no more once it is asked.
    cluster : entered; None for processes on this machine.
    workers : the address of each one's worker on the cluster, while it is there.
    tell : is given a line for people when a holder is late or was replaced.

    Raises
    ------
    InvalidOption
        The cluster has no workers.
    """

    def __init__(
        self,
        make: str,
        arguments: Sequence[tuple[Any, ...]],
        labels: Sequence[str],
        changing: Mapping[Question, tuple[Question, ...]],
        cluster: Cluster | None = None,
        workers: Sequence[str] = (),
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self._make, self._arguments, self._labels = make, list(arguments), list(labels)
        self._changing, self._cluster, self.tell = changing, cluster, tell
        self._workers = list(workers)
        self._token = uuid.uuid4().hex
        self._notes: list[Note] = []
        self._step = 0
        self._slowest: dict[Question, float] = {}
        self._places: list[Place] = []
        self._waiting: list[bool] = [False] * len(self._arguments)
        self.replaced = 0

    def __enter__(self) -> Self:
        try:
            self._places = [self._place(number) for number in range(len(self._arguments))]
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *reason: object) -> None:
        for place in self._places:
            place.end()
        if self._cluster is not None:
            with suppress(Exception):
                self._cluster.client.run(release, self._token, on_error="ignore")

    def ask(self, asked: Question, *arguments: Any) -> list[Any]:
        """What the method `ask` of each object returns for a question, in order. Raises what an
        object raised, or EngineError when one cannot be had any more.
        """
        for number, waiting in enumerate(self._waiting):
            if waiting:  # of a question that was interrupted
                self._answer(number, asked, None)
        question = (self._step, asked, arguments, asked in self._changing)
        earlier = self._notes
        if asked in self._changing:  # noted first: what breaks off here was asked all the same
            self._step += 1
            self._notes = [*earlier, (asked, arguments)]
            while self._notes[-2:-1] and self._notes[-2][0] in self._changing[asked]:
                del self._notes[-2]
        for number in range(len(self._places)):
            self._send(number, question, None)
        return [self._answered(number, question, earlier) for number in range(len(self._places))]

    def _place(self, number: int) -> Place:
        if self._cluster is None:
            return ChildPlace(len(self._arguments))
        there = sorted(self._cluster.workers())
        if not there:
            raise EngineError("the cluster has no workers any more; start one and begin again")
        wished = self._workers[number]
        worker = wished if wished in there else there[number % len(there)]
        return WorkerPlace(self._cluster, worker)

    def _send(self, number: int, question: tuple[Any, ...], notes: list[Note] | None) -> None:
        self._waiting[number] = True
        self._places[number].send(
            (self._token, number), self._make, self._arguments[number], notes, *question
        )

    def _answered(self, number: int, question: tuple[Any, ...], notes: list[Note]) -> Any:
        """The answer of one, or of the one in its place, which is asked what was noted first."""
        deaths = 0
        while True:
            kind, value = self._answer(number, question[1], self._labels[number])
            if kind == "done":
                seconds, answer = value
                asked = question[1]
                self._slowest[asked] = max(self._slowest.get(asked, 0.0), seconds)
                return answer
            if kind == "raised":
                raise _error(*value)
            if kind == "died":
                deaths += 1
                if deaths >= MOST_DEATHS:
                    raise EngineError(
                        f"{self._labels[number]}: the process that holds it {value}, "
                        f"{deaths} times; give it more memory or smaller parts"
                    )
                self.replaced += 1
                self.tell(
                    f"{self._labels[number]}: {self._places[number].name} {value}; begun again"
                )
                self._places[number].end()
                self._places[number] = self._place(number)
            self._send(number, question, notes)

    def _answer(self, number: int, asked: Question, label: str | None) -> Answer:
        """What comes of the call that is going on; tells when it takes long."""
        begin = time.monotonic()
        patience = max(PATIENCE, SLOWER * self._slowest.get(asked, 0.0))
        while (answer := self._places[number].receive(patience)) is None:
            if label is not None:
                late = time.monotonic() - begin
                self.tell(f"waiting {late:.0f} s for {label} on {self._places[number].name}")
        self._waiting[number] = False
        return answer


def _error(kind: str, words: str) -> CotenantError:
    """What an object raised, of the same kind where that takes a message alone."""
    known = getattr(errors, kind, EngineError)
    if known is errors.InvalidInstance:
        made = errors.InvalidInstance("", "", "")
        made.args = (words,)
        return made
    if known in (errors.InvalidFile, errors.InvalidOption, errors.ShortOfMemory):
        error: CotenantError = known(words)
        return error
    return EngineError(words)


# What follows runs where the objects are.
_OBJECTS: dict[tuple[str, int], tuple[int, Any]] = {}


def stateful_call(
    key: tuple[str, int],
    make: str,
    arguments: tuple[Any, ...],
    notes: list[Note] | None,
    step: int,
    asked: Question,
    given: tuple[Any, ...],
    changes: bool,
) -> Answer:
    """Ask the object kept under `key`, made (again) with `notes` where it is not at that step.

    Returns
    -------
    ("done", (seconds, answer)), ("lost", None) when the object is not here or not at that step and
    no notes are given, or ("raised", (kind, words)).
    """
    begin = time.monotonic()
    try:
        at, thing = _OBJECTS.get(key, (-1, None))
        if at != step:
            if notes is None and step > 0:
                return "lost", None
            _OBJECTS.pop(key, None)
            thing = resolve(make)(*arguments)
            for earlier, values in notes or ():
                thing.ask(earlier, *values)
        _OBJECTS[key] = (-1, None)  # a call that breaks off leaves nothing to go on from
        answer = thing.ask(asked, *given)
        _OBJECTS[key] = (step + changes, thing)
    except CotenantError as error:
        return "raised", (type(error).__name__, str(error))
    except MemoryError as error:
        return "raised", ("ShortOfMemory", f"{asked.__name__}: {error or 'no more memory'}")
    return "done", (time.monotonic() - begin, answer)


def release(token: str) -> None:
    """Forget the objects of one `StatefulWorkers`."""
    for key in [key for key in _OBJECTS if key[0] == token]:
        del _OBJECTS[key]
