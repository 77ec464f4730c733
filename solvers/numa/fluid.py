"""Fluid program: maximum throughput, least link power, and the shares of policies in it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...instances.numa.bounds import (
    Hops,
    Picojoules,
    Throughput,
    link_energy,
    most_power,
    power_bound,
    scale,
    throughput_bound,
)
from ...instances.numa.feasible import ROUNDING, flow_by_distance, processor_work, reach
from ...instances.numa.instance import POLICIES, Floats, Flow, Numa
from ...instances.numa.technology import THESIS
from ...instances.problem.errors import EngineError
from ...instances.problem.option_types import validate_options
from ...models.numa import (
    ON_FACE,
    FluidProgram,
    most_power_program,
    off_face,
    power_program,
    throughput_program,
)
from ..engines import EngineAnswer, solve_refined
from ..outcome import Clock, Outcome, Status, Stop, agree

CLOSE = 1e-7
"""Two bounds, or rates, that differ by no more than this fraction are as good as each other."""

NEAR = 1e-9
"""A throughput below the most by no more than this fraction leaves no room to speak of: the flow of
the most, slowed down.
"""

ROUNDED = 5e-10
"""A throughput that passes the most by no more than this fraction is the most, rounded."""


@validate_options
def fluid(
    instance: Numa,
    *,
    time_limit: float | None = None,
    ht_energy: Picojoules = THESIS.ht_energy,
    pcie_energy: Picojoules = THESIS.pcie_energy,
    pcie_hops: Hops = THESIS.pcie_hops,
) -> Outcome:
    """Maximize the long-run throughput of any placement, then minimize its link power (a linear
    program).

    Parameters
    ----------
    time_limit : seconds, for both levels together.
    ht_energy : energy of one HyperTransport hop [pJ/bit], see `link_energy`.
    pcie_energy : energy of PCIe to another blade [pJ/bit].
    pcie_hops : HyperTransport hops on the way to and from the bridges.

    Returns
    -------
    Outcome
        A Flow; the bound is on `served_rate` and rests on processor prices alone
        (`throughput_bound`), which the certificate holds. `certificate["levels"]` has throughput
        and the link power at it (with the prices that prove it, see `power_bound`),
        `certificate["mix"]` for each class the share of its tasks by the least tolerant policy that
        allows where they run. When the time is up before the program is solved: all tasks at home,
        and the bound that the server's cores alone prove.

    Raises
    ------
    InvalidOption
        A time limit that is not above 0, an energy out of range.

    Notes
    -----
    Exact for the long run: no policy that keeps its queue from growing serves more. It says nothing
    of response times, nor of how fast a backlog is cleared by tasks whose data lies elsewhere than
    the long run's; and where every memory has its fair share of the data the answer is that all run
    locally (6400 tasks/s on the thesis's server).

    Examples
    --------
    >>> import cotenant
    >>> result = cotenant.solve(cotenant.read("numa/kmeans-hot-memory"), "fluid")
    >>> print(result.status, round(result.objective, 3))
    optimal 5752.04
    """
    clock, given = Clock(time_limit), instance
    instance = _present(given)
    energy = link_energy(instance, ht_energy, pcie_energy, pcie_hops)
    best = _most(instance, clock)
    flow, power, stop = _least_power_at_most(instance, energy, best, clock)
    rate = scale(instance, "served_rate")
    level = _level("served_rate", flow.throughput, best.bound, rate)
    unit = most_power(instance, rate, energy)
    levels = [level, power | _level("flow_power", power["value"], power["bound"], unit)]
    flow = _of_all(given, flow)
    certificate: dict[str, Any] = {
        "prices": best.price.tolist(),
        "levels": levels,
        "mix": mix_table(given, flow),
    }
    if best.message:
        certificate["engine"] = best.message
    return Outcome(flow, best.bound, Status(level["status"]), stop, certificate)


@validate_options
def fluid_power(
    instance: Numa,
    *,
    time_limit: float | None = None,
    throughput: Throughput | None = None,
    ht_energy: Picojoules = THESIS.ht_energy,
    pcie_energy: Picojoules = THESIS.pcie_energy,
    pcie_hops: Hops = THESIS.pcie_hops,
) -> Outcome:
    """Minimize the link power of any placement that sustains a throughput in the long run (a linear
    program).

    Parameters
    ----------
    throughput : tasks a second; the instance's rate when not given. One that passes the most by
        rounding (`ROUNDED`) is the most.
    ht_energy : energy of one HyperTransport hop [pJ/bit], see `link_energy`.
    pcie_energy : energy of PCIe to another blade [pJ/bit].
    pcie_hops : HyperTransport hops on the way to and from the bridges.

    Returns
    -------
    Outcome
        A Flow and a bound on `link_power` [W]; infeasible when prices prove that no placement
        sustains the throughput.

    Raises
    ------
    InvalidOption
        A throughput, time limit or energy out of range.

    Examples
    --------
    >>> import cotenant
    >>> instance = cotenant.read("numa/kmeans-hot-memory")
    >>> result = cotenant.solve(instance, "fluid-power", throughput=3000)
    >>> print(result.status, round(result.objective, 3))
    optimal 1.141
    """
    clock, given = Clock(time_limit), instance
    instance = _present(given)
    asked = instance.rate if throughput is None else throughput
    energy = link_energy(instance, ht_energy, pcie_energy, pcie_hops)
    best = _most(instance, clock)
    why = f"{asked:g} tasks/s; no placement sustains more than {best.bound:.6g} in the long run"
    nothing = {"throughput": why, "prices": best.price.tolist()}
    if asked > best.bound * (1 + ROUNDED):
        return Outcome(None, None, Status.INFEASIBLE, best.stop, nothing)
    stop, found = best.stop, []
    if asked >= best.flow.throughput * (1 - NEAR):
        flow, level, stop = _least_power_at_most(instance, energy, best, clock)
        if asked > flow.throughput * (
            1 + ROUNDED
        ):  # between the most that was found and what its prices allow
            return Outcome(None, None, Status.UNKNOWN, stop, nothing)
        if asked < flow.throughput:
            flow = _slower(flow, asked)
            level = _power_level(instance, flow, np.array(level["prices"]), energy)
        found.append((flow, level))
    if asked < best.flow.throughput:
        flow, level, stop = _least_power(
            instance, asked, energy, _slower(best.flow, asked), clock, stop
        )
        found.append((flow, level))
    flow, level = min(found, key=lambda one: (one[1]["status"] != Status.OPTIMAL, one[1]["value"]))
    flow = _of_all(given, flow)
    certificate = {"prices": level["prices"], "mix": mix_table(given, flow)}
    return Outcome(flow, level["bound"], Status(level["status"]), stop, certificate)


def _present(instance: Numa) -> Numa:
    """Instance without classes that have no tasks."""
    there = instance.class_share > 0
    names = ("class_share", "service_mean", "ht1", "pcie", "bandwidth")
    kept = {name: getattr(instance, name)[there] for name in names}
    labels = tuple(name for name, here in zip(instance.names, there, strict=True) if here)
    return instance if there.all() else instance.replace(**kept, names=labels)


def _of_all(instance: Numa, flow: Flow) -> Flow:
    """Flow of all classes from the flow of the classes with tasks."""
    rate = np.zeros((instance.classes, *flow.flow.shape[1:]))
    rate[instance.class_share > 0] = flow.flow
    return Flow(flow.throughput, rate)


def mix_shares(instance: Numa, flow: Flow, by: str = "class") -> Floats:
    """Share of the tasks that run at each distance, shape (K, L, D), by class or by class and
    memory. Where there are no tasks, all of it is at distance 0.
    """
    away = np.eye(instance.blade_distance + 1)[instance.distance]
    rate = np.einsum("klp,lpd->kld", flow.flow, away)
    if by == "class":
        rate = np.broadcast_to(rate.sum(axis=1, keepdims=True), rate.shape)
    total = rate.sum(axis=2, keepdims=True)
    home = np.eye(rate.shape[2])[0]
    shares: Floats = np.where(
        total > 0, np.divide(rate, total, out=np.zeros_like(rate), where=total > 0), home
    )
    return shares


def mix_table(instance: Numa, flow: Flow) -> dict[str, dict[str, float]]:
    """Share of each class's tasks by the least tolerant policy that allows the core they run on."""
    shares = mix_shares(instance, flow)
    edges = [reach(instance, policy) for policy in POLICIES]
    below = [-1, *edges[:-1]]
    return {
        name: {
            policy: round(float(row[low + 1 : high + 1].sum()), 6)
            for policy, low, high in zip(POLICIES, below, edges, strict=True)
        }
        for name, row in zip(instance.names, shares[:, 0], strict=True)
    }


def _solved(program: FluidProgram, clock: Clock) -> EngineAnswer | None:
    left = clock.left
    if clock.expired:
        return _OUT_OF_TIME
    try:
        return solve_refined(program.program, time_limit=left)
    except EngineError:
        return None


_OUT_OF_TIME = EngineAnswer(Status.UNKNOWN, Stop.TIME_LIMIT, message="the time was up")


def _in_units_of_service(instance: Numa) -> tuple[Numa, float]:
    """Instance with time in units of the mean service time, and that unit [s]."""
    unit = instance.mean_service
    return instance.replace(service_mean=instance.service_mean / unit, rate=1.0), unit


class _Most(NamedTuple):
    """Flow of maximum throughput with prices and the bound they prove."""

    flow: Flow
    bound: float
    price: Floats
    stop: Stop
    message: str


def _most(instance: Numa, clock: Clock) -> _Most:
    scaled, unit = _in_units_of_service(instance)
    program = throughput_program(scaled)
    answer = _solved(program, clock)
    if answer is None or answer.point is None or answer.row_dual is None:
        message, stop = (
            ("the engine failed", Stop.FINISHED)
            if answer is None
            else (answer.message, answer.stop)
        )
        return _at_home(instance, stop, message)
    price = _prices(answer, program) / unit
    price[price <= ON_FACE * price.max()] = 0.0
    bound = throughput_bound(instance, price)
    flow = _feasible(
        instance, program.flow(instance, answer.point, float(answer.point[program.total]) / unit)
    )
    home = _at_home(instance, answer.stop, f"not solved to the end: {answer.message}")
    if not bound <= home.bound * (1 + CLOSE) or not flow.throughput >= home.flow.throughput * (
        1 - ROUNDING
    ):
        return home
    if home.bound < bound:  # equal prices are as good, but for rounding
        bound, price = home.bound, home.price
    return _Most(flow, bound, price, answer.stop, "")


def _at_home(instance: Numa, stop: Stop, message: str) -> _Most:
    """Flow of tasks beside their data, and a bound by equal prices, used if the engine fails."""
    work = instance.mean_service * instance.location_share
    most = float(instance.cores / work.max())
    home = instance.class_share[:, None, None] * np.diag(instance.location_share) * most
    price = np.full(instance.processors, 1 / (instance.processors * instance.mean_service))
    return _Most(Flow(most, home), throughput_bound(instance, price), price, stop, message)


def _prices(answer: EngineAnswer, program: FluidProgram) -> Floats:
    """Dual prices (P,) of cores of each processor; a maximum's multipliers have a minus sign."""
    assert answer.row_dual is not None
    return np.maximum(-answer.row_dual[program.capacity], 0.0)


def _feasible(instance: Numa, flow: Flow) -> Flow:
    """Scale a flow down where it exceeds a processor's capacity, which it does by rounding."""
    excess = float(processor_work(instance, flow).max()) / instance.cores
    return flow if excess <= 1 else Flow(flow.throughput / excess, flow.flow / excess)


def _least_power_at_most(
    instance: Numa, energy: Floats, best: _Most, clock: Clock
) -> tuple[Flow, dict[str, Any], Stop]:
    """Flow of least link power among those of maximum throughput. Returns also that power with its
    bound, as a level of the certificate, and why the search ended.

    At the most there is no room left, and a program with that throughput in its rows is feasible or
    not by rounding. The face of optima is given by complementary slackness instead
    (`most_power_program`); its prices, added to those of the throughput as often as it takes to
    keep tasks off what is not on the face, prove the least power.
    """
    if best.stop is not Stop.FINISHED or best.message or clock.expired:
        stop = Stop.TIME_LIMIT if best.stop is Stop.FINISHED and clock.expired else best.stop
        return _least_power(instance, best.flow.throughput, energy, best.flow, clock, stop)
    scaled, unit = _in_units_of_service(instance)
    joule = float(energy.max()) or 1.0
    program = most_power_program(scaled, best.price, energy / joule)
    answer = _solved(program, clock)
    if (
        answer is None
        or answer.point is None
        or answer.row_dual is None
        or not answer.point[program.total] > 0
    ):
        stop = best.stop if answer is None else answer.stop
        return _least_power(instance, best.flow.throughput, energy, best.flow, clock, stop)
    flow = _feasible(
        instance, program.flow(instance, answer.point, float(answer.point[program.total]) / unit)
    )
    if flow.throughput < best.flow.throughput * (1 - ROUNDED):
        return _least_power(instance, best.flow.throughput, energy, best.flow, clock, best.stop)
    price = _with_throughput_prices(
        instance, best.price, -answer.row_dual[program.capacity] * (joule / unit), energy
    )
    return flow, _power_level(instance, flow, price, energy), answer.stop


def _with_throughput_prices(
    instance: Numa, first: Floats, second: Floats, energy: Floats
) -> Floats:
    """Processor prices (P,): `second` plus the least multiple of `first` that makes the sum
    nonnegative and dual feasible.
    """
    off = off_face(instance, first)
    time = instance.service_mean[:, None, None] * instance.slowdown[:, instance.distance]
    more = time * first
    more -= more.min(axis=2, keepdims=True)
    cost = energy[:, instance.distance] + time * second
    short = np.where(off, np.inf, cost).min(axis=2, keepdims=True) - cost
    priced = first > 0
    times = [
        0.0,
        float((short[off] / more[off]).max(initial=0.0)),
        float((-second[priced] / first[priced]).max(initial=0.0)),
    ]
    return np.maximum(second + max(times) * first, 0.0)


def _least_power(
    instance: Numa, throughput: float, energy: Floats, known: Flow, clock: Clock, stop: Stop
) -> tuple[Flow, dict[str, Any], Stop]:
    """Flow of least link power at a throughput, or `known` if no better one is found. Returns also
    its power with a bound, as a level of the certificate, and why the search ended.
    """
    flow, price = known, np.zeros(instance.processors)
    if stop is not Stop.FINISHED or clock.expired:  # building the program takes long, too
        stop = Stop.TIME_LIMIT if stop is Stop.FINISHED else stop
        return flow, _power_level(instance, flow, price, energy), stop
    scaled, unit = _in_units_of_service(instance)
    joule = float(energy.max()) or 1.0
    program = power_program(scaled, throughput * unit, energy / joule)
    answer = _solved(program, clock)
    if answer is not None:
        stop = answer.stop
    if answer is not None and answer.point is not None and answer.row_dual is not None:
        price = _prices(answer, program) * (joule / unit)
        found = program.flow(instance, answer.point, throughput)
        if _fits(instance, found) and _power(instance, found, energy) <= _power(
            instance, known, energy
        ):
            flow = found
    return flow, _power_level(instance, flow, price, energy), stop


def _power_level(instance: Numa, flow: Flow, price: Floats, energy: Floats) -> dict[str, Any]:
    value, unit = _power(instance, flow, energy), most_power(instance, flow.throughput, energy)
    bound = power_bound(instance, flow.throughput, price, energy)
    if agree(value, bound, unit):
        bound = min(bound, value)  # above it by rounding: 2e-15 W beside 0
    return {**_level("link_power", value, bound, unit), "prices": price.tolist()}


def _slower(flow: Flow, throughput: float) -> Flow:
    return Flow(throughput, flow.flow * (throughput / flow.throughput))


def _fits(instance: Numa, flow: Flow) -> bool:
    return bool((processor_work(instance, flow) <= instance.cores * (1 + ROUNDING)).all())


def _power(instance: Numa, flow: Flow, energy: Floats) -> float:
    return float((flow_by_distance(instance, flow) * energy).sum())


def _level(objective: str, value: float, bound: float, unit: float) -> dict[str, Any]:
    status = Status.OPTIMAL if agree(value, bound, unit) else Status.FEASIBLE
    return {"objective": objective, "value": value, "bound": bound, "status": status.value}
