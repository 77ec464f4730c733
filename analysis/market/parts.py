"""Methods on a market in parts: prices are set here, and the parts stay where they are.

Each process holds some parts (`solvers.market.partitioned_users`) and answers with sums per server.
This one sees capacities, those sums, and three largest values of the certificate; never a fraction,
a work, a user's cores or money.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from ...baselines.market.dynamics import bid_until_still
from ...instances.market.equilibrium import Account, Residuals, residuals_of
from ...instances.market.instance import CAPACITY_TOLERANCE, Floats
from ...instances.market.parts import Header, parts_here, read_header, require_pyarrow
from ...instances.problem.errors import InvalidFile, InvalidOption
from ...instances.problem.files import write_text
from ...instances.problem.option_types import AtLeast, validate_options
from ...instances.problem.options import check_options
from ...instances.problem.reading import is_version, parse_json, read_text
from ...solvers.market.exchange import Exchange
from ...solvers.market.fisher import Ladder, Route
from ...solvers.market.linear import UserBlocks
from ...solvers.market.partitioned_users import PartitionedUsers
from ...solvers.market.proportional import Rule
from ...solvers.market.scaled_market import Tolerance
from ...solvers.market.user_groups import CHANGING, Given, PartialSums, Question, UserGroup, Users
from ...solvers.outcome import AGREE, Clock, Report, Status, Stop
from ..run.stateful_workers import StatefulWorkers

ANSWER = "answer.parts.json"
"""Name of the file beside the parts of an answer that says what they are."""


@dataclass(frozen=True)
class PartsResult:
    """An answer whose cores lie in parts.

    Attributes
    ----------
    header : of the market.
    method : its name.
    price : (m,) money for a core.
    status, stop, certificate : as those of `solvers.outcome.Outcome`.
    seconds : from reading to the certificate; `reading` of them until the parts were read.
    processes : that held the parts; `replaced` of them died and were begun again.
    notes : what was reported on the way: late processes, and such that died.
    """

    header: Header
    method: str
    price: Floats
    status: Status
    stop: Stop
    certificate: dict[str, Any]
    seconds: float
    reading: float
    processes: int
    replaced: int
    notes: tuple[str, ...] = field(default=())

    def document(self) -> dict[str, Any]:
        """As plain JSON values, without prices."""
        return {
            "problem": "market",
            "instance": self.header.name,
            "method": self.method,
            "status": self.status.value,
            "stop": self.stop.value,
            "certificate": self.certificate,
            "parts": len(self.header.parts),
            "processes": self.processes,
            "replaced": self.replaced,
            "seconds": self.seconds,
            "reading": self.reading,
            "notes": list(self.notes),
        }


@dataclass(frozen=True, eq=False)
class _Found:
    price: Floats
    status: Status
    stop: Stop
    certificate: dict[str, Any]


@validate_options
def fisher(
    exchange: Exchange,
    clock: Clock,
    *,
    tolerance: Tolerance = 1e-8,
    route: Route = "auto",
    warm_rounds: Annotated[int, AtLeast(1)] = 30,
    rounds: Annotated[int, AtLeast(1)] = 5000,
    start: Floats | None = None,
) -> _Found:
    """The rungs of `solvers.market.fisher` that ask for sums per server only; options as there,
    but that `start` is the prices (m,) of a market like this one.
    """
    ladder = Ladder(exchange, tolerance, clock)
    try:
        exchange.bid(UserGroup.equal)
        begin = None if start is None else start / exchange.unit
        stop = ladder.climb(route, warm_rounds, rounds, begin)
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    certificate = ladder.certificate()
    status = Status.OPTIMAL if ladder.met else Status.FEASIBLE
    return _Found(ladder.price, status, stop, certificate)


@validate_options
def proportional_response(
    exchange: Exchange,
    clock: Clock,
    *,
    rule: Rule = "corrected",
    rounds: Annotated[int, AtLeast(1)] = 200,
    movement: Annotated[float, AtLeast(0, "a share of the budget", infinite=True)] = 1e-4,
) -> _Found:
    """PRD, as `baselines.market.dynamics.proportional_response`; options as there."""
    stop, certificate = bid_until_still(exchange, clock, rule, rounds, movement)
    return _Found(exchange.price, Status.FEASIBLE, stop, certificate)


METHODS: dict[str, Callable[..., _Found]] = {"fisher": fisher, "PRD": proportional_response}
"""What runs over parts."""


def method_named(name: str) -> Callable[..., Any]:
    """The method of that name over parts; raises InvalidOption."""
    if name not in METHODS:
        raise InvalidOption(
            f"method is {name!r}; expected fisher or PRD for a market in parts: others need all "
            "jobs in one place (`cotenant convert FOLDER --from parts --out market.json`)"
        )
    return METHODS[name]


@validate_options
def solve_parts(
    folder: str | os.PathLike[str],
    method: str = "fisher",
    *,
    jobs: Annotated[int, AtLeast(1, "a number of processes")] | None = None,
    dask: str | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
    out: str | os.PathLike[str] | None = None,
    start: Any = None,
    least_users: Annotated[int, AtLeast(1)] = 1,
    **options: Any,
) -> PartsResult:
    """Run `fisher` or `PRD` on a market in parts.

    The rungs are those of the method on one machine, but for the one that looks at single jobs: the
    exact end of linear markets. Where all f = 1 the regularized Newton method takes its place.

    Parameters
    ----------
    folder : of the parts; every process must see it under this name.
    method : "fisher" or "PRD".
    jobs : processes on this machine that hold the parts; this one does when neither this nor `dask`
        is given.
    dask : address of a Dask scheduler whose workers hold them.
    time_limit : seconds; the best prices so far stand when they are up.
    report : called as the method goes on, and when a process is late or had to be replaced.
    out : a new folder for the answer: prices, and the cores of each part, written where the part
        is.
    start : prices (m,) of a market like this one, from which `fisher` begins with Newton steps.
    least_users : a part with fewer users is refused: the sums of a part of one user are its demand.
    options : of the method, `fisher` or `proportional_response` in this module.

    Raises
    ------
    InvalidOption
        An option out of range, or one of another method; no cluster answers; pyarrow is missing.
    InvalidFile
        Header and parts do not belong together, or cannot be read.
    EngineError
        A process that holds parts dies again and again.
    """
    search = method_named(method)
    check_options(search, options, f"method {method!r}")
    if jobs is not None and dask is not None:
        raise InvalidOption("jobs and dask are both given; leave out one")
    if start is not None and method != "fisher":
        raise InvalidOption(f"start is given; {method} begins from equal bids; leave it out")
    require_pyarrow()
    header = read_header(folder, None if dask is None else [])
    for part in header.parts:
        if part.users < least_users:
            raise InvalidFile(
                f"{header.folder / part.file} has {part.users} users; expected at least "
                f"{least_users}; write the market in fewer parts"
            )
    target = _new_folder(out)
    clock = Clock(time_limit, report)
    begin = time.perf_counter()
    notes: list[str] = []

    def tell(line: str) -> None:
        notes.append(line)
        if report is not None:
            report(clock.seconds, None, None, line)

    with ExitStack() as stack:
        users, processes = _users(stack, header, jobs, dask, tell)
        _require_money(header, float(users.ask(UserGroup.money).sums[0][0]))
        exchange = Exchange(header.capacity, header.unit, users)
        reading = time.perf_counter() - begin
        if start is not None:
            options["start"] = _prices(header, start, "start")
        found = search(exchange, clock, **options)
        result = PartsResult(
            header,
            method,
            found.price * header.unit,
            found.status,
            found.stop,
            found.certificate,
            time.perf_counter() - begin,
            reading,
            processes,
            users.holders.replaced if isinstance(users, Elsewhere) else 0,
            tuple(notes),
        )
        if target is not None:
            target.mkdir(parents=True, exist_ok=True)
            users.ask(PartitionedUsers.write, str(target.resolve()))
            content = {"cotenant_answer": 1, **result.document(), "price": result.price.tolist()}
            write_text(target / ANSWER, json.dumps(content, allow_nan=False) + "\n")
    return result


def check_parts(
    folder: str | os.PathLike[str],
    answer: str | os.PathLike[str],
    *,
    jobs: int | None = None,
    dask: str | None = None,
) -> tuple[Residuals, tuple[str, ...]]:
    """Measure an answer in parts again, as it is written; its residuals, and what is broken.

    Parameters
    ----------
    folder, answer : of the market, and of the answer that `solve_parts` wrote.
    jobs, dask : as there.

    Raises
    ------
    InvalidFile
        One of them cannot be read, or the answer is of another market.
    """
    require_pyarrow()
    header = read_header(folder, None if dask is None else [])
    path = Path(answer) / ANSWER
    content = parse_json(read_text(path), path)
    if not is_version(content.get("cotenant_answer"), 1):
        raise InvalidFile(
            f"{path}: cotenant_answer is {content.get('cotenant_answer')!r}; this version reads 1"
        )
    claimed = content.get("certificate")
    if not isinstance(claimed, dict) or "price" not in content:
        raise InvalidFile(f"{path} has no certificate or no price; write the answer again")
    price = _prices(header, content["price"], path.name)
    with ExitStack() as stack:
        users, _ = _users(stack, header, jobs, dask, lambda line: None)
        users.ask(PartitionedUsers.answer, str(Path(answer).resolve()))
        answers = users.ask(UserGroup.measure, price, np.ones(len(price)))
    given, asked = answers.sums
    overspending, regret, unspent = answers.most
    found = residuals_of(
        header.capacity, price, Account(given, asked, overspending, regret, unspent)
    )
    broken = [
        f"server {place} gives {given[place]:.12g} cores; it has {header.capacity[place]:g}"
        for place in np.flatnonzero(given > header.capacity * (1 + CAPACITY_TOLERANCE))[:1]
    ]
    for name, value in found.document().items():
        stated = claimed.get(name)
        if not isinstance(stated, int | float) or not abs(stated - value) <= AGREE:
            broken.append(f"{name} is {value:.6g}; the answer claims {stated}")
    limit = claimed.get("tolerance", 0.0)
    if content.get("status") == Status.OPTIMAL.value and not found.worst <= limit:
        broken.append(f"the error is {found.worst:.6g}; optimal claims at most {limit}")
    return found, tuple(broken)


class Elsewhere:
    """Parties in other processes."""

    def __init__(self, holders: StatefulWorkers) -> None:
        self.holders = holders

    def ask(
        self, question: Question[Given], *arguments: Given.args, **options: Given.kwargs
    ) -> PartialSums:
        """See `solvers.market.user_groups.Users`."""
        assert not options  # questions travel with what is given by place
        return PartialSums.merged(self.holders.ask(question, *arguments))

    def joined(self, diagonal: Floats) -> UserBlocks | None:
        """See `solvers.market.user_groups.Users`."""
        return None


def _users(
    stack: ExitStack, header: Header, jobs: int | None, dask: str | None, tell: Any
) -> tuple[Users, int]:
    """Who holds the parts, and in how many processes."""
    everything = list(range(len(header.parts)))
    folder = str(header.folder.resolve())
    if jobs is None and dask is None:
        return PartitionedUsers(folder, everything), 1
    cluster: Any = None  # its module is loaded where it is needed
    workers = [""] * (jobs or 1)
    seen: list[Collection[int]] = [everything for _ in workers]
    if dask is not None:
        from ..run.cluster import Cluster

        cluster = stack.enter_context(Cluster(dask))
        cluster.prepare([])
        parts_of = cluster.client.run(parts_here, folder)
        workers = sorted(parts_of)
        seen = [parts_of[worker] for worker in workers]
    shares = _shares(header, seen)
    busy = [number for number, share in enumerate(shares) if share]
    holders = StatefulWorkers(
        "solvers.market.partitioned_users:PartitionedUsers",
        [(folder, shares[number]) for number in busy],
        [f"part {', '.join(map(str, shares[number]))}" for number in busy],
        CHANGING,
        cluster,
        [workers[number] for number in busy],
        tell,
    )
    return Elsewhere(stack.enter_context(holders)), len(busy)


def _shares(header: Header, seen: Sequence[Collection[int]]) -> list[list[int]]:
    """The parts of each process, the largest first to the one with fewest of their jobs."""
    shares: list[list[int]] = [[] for _ in seen]
    load = [0] * len(seen)
    for part in sorted(range(len(header.parts)), key=lambda part: -header.parts[part].jobs):
        able = [number for number, parts in enumerate(seen) if part in parts]
        if not able:
            raise InvalidFile(
                f"no worker sees {header.folder / header.parts[part].file} and its header; put them"
                " under that path where a worker runs"
            )
        least = min(able, key=lambda number: load[number])
        shares[least].append(part)
        load[least] += header.parts[part].jobs
    return [sorted(share) for share in shares]


def _prices(header: Header, start: Any, name: str) -> Floats:
    try:
        price = np.asarray(start, dtype=float)
    except (TypeError, ValueError):
        price = np.zeros((0, 0))
    if price.shape != header.capacity.shape or not ((price >= 0) & (price < np.inf)).all():
        raise InvalidOption(
            f"{name} has prices of shape {price.shape}; expected a price of 0 or more for each of "
            f"{len(header.capacity)} servers"
        )
    return price


def _require_money(header: Header, found: float) -> None:
    if abs(found - header.budget) > 1e-9 * header.budget:
        raise InvalidFile(
            f"{header.folder}: budgets of all parts add up to {found:g}; expected {header.budget:g}"
            ", as the header says; write all parts from one market"
        )


def _new_folder(out: str | os.PathLike[str] | None) -> Path | None:
    if out is None:
        return None
    target = Path(out)
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InvalidFile(f"{target} is not an empty folder; give a new one for the answer's parts")
    return target
