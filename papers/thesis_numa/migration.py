"""Figures 4.10 to 4.14 of the thesis: migration, power; and a queue per processor."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from ...analysis.numa.metrics import link_power, metrics
from ...analysis.numa.technology import Path, link_energy_per_bit, migration_over_remote
from ...analysis.report.picture import Chart
from ...instances.numa.feasible import reach
from ...instances.numa.generators import blade_server
from ...instances.numa.instance import POLICIES, Numa, Simulation
from ...instances.numa.technology import BENCHMARKS, THESIS, Benchmark
from ...solvers.numa.engine import simulate
from ...solvers.numa.random_inputs import draw
from ...solvers.numa.simulation import tenth
from ..experiment import Parts, Variations, chart, compare, draws, each
from .throughput import MEMORY_INTENSIVE, PAPER, PATHS, SPARK, printed_at, simulated

REUSE = tuple(float(value) for value in np.round(np.geomspace(0.1, 10, 41), 4))
"""Accesses a byte of a migrated page, for figures 4.10 to 4.12; the thesis prints none."""

ENERGY_RANGE = (1.5, 5.0)
"""What section 4.5.3 prints for figure 4.10; further down it prints 2.0 to 8.0."""


@PAPER.experiment("figure-4.10", "fig. 4.10, section 4.5.3")
def figure_4_10() -> Parts:
    """Energy of migrating pages over that of remote access, and where it breaks even."""
    curves = _ratios("energy", dict.fromkeys(PATHS, 1.0))
    once = {path: migration_over_remote(path, 1.0, 1.0)["energy"] for path in PATHS}
    low, high = (_reuse_at("another blade", ratio) for ratio in ENERGY_RANGE)
    falling = all(above > below for curve in curves.values() for above, below in pairwise(curve))
    yield from printed_at("eq. 4.1", "4.5.3")
    yield compare("at one access a byte remote access costs less energy", "yes",
        ", ".join(f"migration {value:.2f} times ({path})" for path, value in once.items()),
        min(once.values()) > 1,
        "the thesis does not print how often its benchmarks access a byte")  # fmt: skip
    yield compare("range of figure 4.10", "1.5 to 5.0",
        "2.0 to 8.0, further down in the same section", False,
        f"to another blade ratios of 1.5 to 5.0 are reached at {low:.2f} to {high:.2f} accesses "
        "a byte",
        "the thesis prints both numbers: the section contradicts itself")  # fmt: skip
    yield compare("many accesses of a page amortize its migration", "yes",
        "the ratio falls along each curve", falling)  # fmt: skip
    yield _curves("10", "energy", curves)


@PAPER.experiment("figure-4.11", "fig. 4.11")
def figure_4_11() -> Parts:
    """Power of migrating pages over that of remote access."""
    penalties = [penalty_by_path(one) for one in MEMORY_INTENSIVE]
    least = min(ENERGY_RANGE[0] * penalty[path] for penalty in penalties for path in PATHS)
    once = min(
        migration_over_remote(path, 1.0, penalty[path])["power"]
        for penalty in penalties
        for path in PATHS
    )
    yield compare("migration takes more power than remote access", "yes",
        f"at least {least:.2f} times in the range of figure 4.10", least > 1,
        f"memory-intensive benchmarks; at one access a byte at least {once:.2f} times",
    )  # fmt: skip
    k_means = next(one for one in SPARK if one.key == "S6")
    curves = _ratios("power", penalty_by_path(k_means))
    yield _curves("11", "power", curves, "penalties of K-means (S6)")


@PAPER.experiment(
    "figure-4.12",
    "fig. 4.12",
    variations={"the accesses of a byte": each("reuse", 0.3, 0.5, 0.7, 2.0)},
)
def figure_4_12(*, reuse: float = 1.0) -> Parts:
    """Energy times squared delay of migrating pages over that of remote access.

    Parameters
    ----------
    reuse : accesses for each byte of a migrated page (D_access / D_page), the same of every
        benchmark; the thesis prints it for none.
    """
    chosen = BENCHMARKS[:17]  # 18 to 20 are out of the thesis's scope
    value = {
        path: [
            migration_over_remote(path, reuse, penalty_by_path(one)[path])["ed2"] for one in chosen
        ]
        for path in PATHS
    }
    of_key = {
        one.key: {path: value[path][index] for path in PATHS}
        for index, one in enumerate(chosen)
        if one in MEMORY_INTENSIVE
    }
    away = [key for key, ratio in of_key.items() if ratio["another blade"] < 1]
    within = [k for k, ratio in of_key.items() if min(ratio["one hop"], ratio["two hops"]) > 1]
    names = [", ".join(keys) or "none" for keys in (away, within)]
    at = f"{reuse:g} access{'' if reuse == 1 else 'es'} a byte"
    yield compare("ED^2 prefers migration to access on another blade", "yes",
        f"{len(away)} of {len(of_key)}: {names[0]}", len(away) == len(of_key),
        f"memory-intensive benchmarks, {at}; compute-intensive ones are not slowed")  # fmt: skip
    yield compare("ED^2 prefers remote access over HyperTransport", "yes",
        f"{len(within)} of {len(of_key)}: {names[1]}", len(within) == len(of_key),
        f"memory-intensive benchmarks, one and two hops, {at}")  # fmt: skip
    yield chart("numa-figure-4.12", f"ED^2 of migration over remote access, {at}", "benchmark",
        "ED^2 over that of remote access",
        {path: [round(entry, 4) for entry in value[path]] for path in PATHS},
        x=[one.key for one in chosen],
        words=f"Below 1 migration is better: to another blade for {names[0]}.",
        note=f"every benchmark at {at}; its own number is not printed")  # fmt: skip


def penalty_by_path(one: Benchmark) -> dict[Path, float]:
    """Service time on each path relative to local data; two hops by the ratio of Table 4.3."""
    two = 1 + (1 + THESIS.extra_hop) * (one.ht1 - 1)
    return {"one hop": one.ht1, "two hops": two, "another blade": one.pcie}


def _ratios(what: str, penalty: dict[Path, float]) -> dict[Path, list[float]]:
    """Cost of page migration over that of remote access on each path at each reuse count."""
    return {
        path: [migration_over_remote(path, reuse, penalty[path])[what] for reuse in REUSE]
        for path in PATHS
    }


def _reuse_at(path: Path, ratio: float) -> float:
    """Accesses per byte at which a page's migration costs `ratio` x remote access (equations 4.1
    and 4.2).
    """
    link, idle = link_energy_per_bit(path), THESIS.dram_energy_idle_eq
    return (2 * THESIS.dram_energy_busy + link) / (ratio * (link + idle) - idle)


def _curves(number: str, what: str, curves: dict[Path, list[float]], note: str = "") -> Chart:
    """Chart of migration over remote access by accesses per byte, a curve for each path."""
    beyond = []
    for path, values in curves.items():
        first = next((f"{x:.2g}" for x, value in zip(REUSE, values, strict=True) if value < 1), "")
        beyond.append(f"{path} {first or '10 (never seen)'}")
    remark = "the thesis's bars are single points of these curves, at numbers it does not print"
    return chart(f"numa-figure-4.{number}", f"{what.capitalize()} of migration over remote access",
        "accesses for each byte of a page (D_access / D_page)",
        f"{what} over that of remote access",
        {path: [round(value, 5) for value in values] for path, values in curves.items()}, x=REUSE,
        style="line", words=f"Migration is the better beyond {', '.join(beyond)}.", x_scale="log",
        y_scale="log", note=f"{remark}; {note}" if note else remark)  # fmt: skip


HIGH = 5300.0
"""Arrivals [tasks/s] of the "highly utilized server"; the thesis does not print its own."""

NEAR_SATURATION: Variations = {
    **draws(),
    "the load": {f"{rate:g}/s": {"high": rate} for rate in (4800.0, 4900.0, 5000.0)},
}
INTENSIVE = "S1,S2,S3,S4,S5,S6"
"""The memory-intensive Spark benchmarks, whose power section 4.5.4 prints."""


@PAPER.experiment("figure-4.13", "fig. 4.13", seconds=5)
def figure_4_13(*, seed: int = 0, tasks: int = 200_000) -> Parts:
    """Power of links by policy: the ranking, the thesis's reason for it, and the 13 W it prints."""
    # 1. The ranking at two refusal limits: where the first has the thesis's, that is the cause.
    bars: dict[str, dict[str, float]] = {}
    printed = ["IB", "Local", "IP-2", "IP-1"]
    cure = cured = ""
    for limit in (10.0, 100.0):
        runs = _runs(HIGH, tasks, seed, limit)
        watt = {policy: link_power(*run) for policy, run in runs.items()}
        bars[f"refusal limit {limit:g}"] = {name: round(value, 3) for name, value in watt.items()}
        ranked = sorted(POLICIES, key=lambda policy: -watt[policy])
        full = ", ".join(policy for policy, (_, run) in runs.items() if not run.stable)
        same, more = ranked == printed, watt["Local"] > watt["IP-2"]
        yield compare(f"power, most first, limit {limit:g}, {HIGH:g}/s",
            ", ".join(printed) if limit == 100 else "",
            ", ".join(f"{policy} {watt[policy]:.2f} W" for policy in ranked),
            same if limit == 100 else None, f"saturated: {full}" if full else "all stable",
            cure)  # fmt: skip
        blade = f"{100 * metrics(*runs['Local'])['share_blade']:.1f} %"
        yield compare(f"Local: tasks that end on another blade, limit {limit:g}",
            "some, so Local takes more power than IP-1, IP-2", blade, more,
            f"the reason is right, and {'decides' if more else 'too weak'} at this limit",
            cured)  # fmt: skip
        at = f"the refusal limit: at {limit:g}"
        cure = f"{at} the ranking is the thesis's" if same else ""
        cured = f"{at} it is {blade}" if more else ""
    # 2. Section 4.5.4's 13 W, 48 W and 25 %.
    instance, run = _runs(HIGH, tasks, seed, 100.0)["IB"]
    alone, whole = link_power(instance, run, pcie_hops=0.0), link_power(instance, run)
    yield compare("IB, S1 to S6: link power, PCIe alone for another blade", "13 W",
        f"{alone:.1f} W", abs(alone - 13) <= 1,
        "the policy is saturated; 37.5 pJ/bit, no HyperTransport hops to bridges")  # fmt: skip
    yield compare("the same with the hops to and from the bridges", "13 W", f"{whole:.1f} W",
        abs(whole - 13) <= 1, "a path takes 109.5 pJ/bit, as in eq. 4.1 and the break-evens",
        f"without those hops the power is {alone:.1f} W: the thesis left them out")  # fmt: skip
    guessed = 0.6 * 40 + 0.4 * 60
    yield compare("power of the links at 60 % and 40 % of 40 W and 60 W", "48 W",
        f"{guessed:.0f} W", guessed == 48,
        "40 W is a blade's and 60 W a server's, of which 60 % of 160 W and 40 % of 60 W are "
        "120 W")  # fmt: skip
    yield compare('13 W over those 48 W, "about 25 % of the link bandwidth"', "about 25 %",
        f"{100 * alone / guessed:.0f} %", abs(alone / guessed - 0.25) <= 0.03,
        f"against 120 W the share would be {100 * alone / 120:.0f} %")  # fmt: skip
    pcie = link_power(instance, run, ht_energy=0.0, pcie_hops=0.0) / 60
    hyper = link_power(instance, run, pcie_energy=0.0) / 160
    crossing = 100 * metrics(instance, run)["share_blade"]
    yield compare("utilization of HyperTransport and of PCIe", "60 % and 40 %",
        f"{100 * hyper:.0f} % and {100 * pcie:.0f} %",
        abs(hyper - 0.6) <= 0.1 and abs(pcie - 0.4) <= 0.1,
        "this is the power of the bits carried over the server's peaks of 160 W and 60 W",
        f"the thesis reads utilization off figure 4.14, which counts tasks: here {crossing:.0f} % "
        "of them go to another blade, three memories of four")  # fmt: skip
    title = f"Power of the links, S1 to S6 at {HIGH:g} tasks/s"
    yield chart("numa-figure-4.13", title, "policy", "power [W]", bars)


@PAPER.experiment("figure-4.14", "fig. 4.14", seconds=10, variations=NEAR_SATURATION)
def figure_4_14(*, seed: int = 0, tasks: int = 200_000, high: float = HIGH) -> Parts:
    """Shares of tasks by the distance of the core where they run from their data, by policy."""
    bars: dict[str, dict[str, float]] = {}
    said = {
        "Local": "most tasks execute locally",
        "IB": "60 % of HyperTransport and 40 % of PCIe are used",
    }
    for policy, run in _runs(high, tasks, seed, 100.0).items():
        found = metrics(*run)
        names = {"local": "local", "1 hop": "1hop", "2 hops": "2hop", "blade": "blade"}
        share = {label: 100 * found[f"share_{name}"] for label, name in names.items()}
        for label, value in share.items():
            bars.setdefault(label, {})[policy] = round(value, 2)
        ours, holds = ", ".join(f"{n} {v:.1f} %" for n, v in share.items()), share["local"] > 50
        if policy == "IB":
            ours += f"; {share['blade']:.0f} % over PCIe"
            holds = abs(share["blade"] - 40) <= 10
        yield compare(policy, said.get(policy, ""), ours, holds if policy in said else None,
            f"stable at {high:g}/s" if run[1].stable else "saturated")  # fmt: skip
    title = f"Where tasks of S1 to S6 run at {high:g} tasks/s"
    yield chart("numa-figure-4.14", title, "policy", "share of the tasks [%]", bars)


def _runs(rate: float, tasks: int, seed: int, limit: float) -> dict[str, tuple[Numa, Simulation]]:
    """Simulate each policy on the benchmarks of section 4.5.4."""
    instance = blade_server(benchmark=INTENSIVE, rate=rate, refusal_limit=limit)
    return {policy: (instance, simulated(instance, policy, tasks, seed)) for policy in POLICIES}


QUEUES: Variations = {
    **draws(), "the benchmark": each("benchmark", "S6", "P12"),
    "the refusal limit": each("refusal_limit", 10.0, 1000.0, None),
}  # fmt: skip

IDLE = 1e-5
"""A mean wait [s] below which there is hardly a wait to vary: a task takes 40 ms."""


@PAPER.experiment("queues", "section 4.3.2", seconds=60, variations=QUEUES)
def queues(
    *,
    seed: int = 0,
    tasks: int = 300_000,
    benchmark: str = "M10",
    refusal_limit: float | None = 100.0,
) -> Parts:
    """One queue against one per processor: mean and variance of the wait.

    Parameters
    ----------
    tasks : tasks that are measured, after a tenth as many.
    benchmark : keys of Table 4.2 joined by commas, "MI", "CI" or "all".
    refusal_limit : offers a task declines at most; None for no limit.
    """
    bars: dict[str, dict[str, float]] = {}
    limit = "none" if refusal_limit is None else f"{refusal_limit:g}"
    for rate in (4000.0, 5000.0, 5500.0):
        server: Any = {"benchmark": benchmark, "rate": rate, "refusal_limit": refusal_limit}
        for policy in ("Local", "IP-1", "IP-2"):
            one, several = (
                _waits(blade_server(queues=kind, **server), policy, tasks, seed)
                for kind in ("one", "per-processor")
            )
            for label, wait in (("one queue", one), ("one queue per processor", several)):
                bars.setdefault(label, {})[f"{policy}, {rate:g}/s"] = round(1e3 * wait[1], 4)
            mean, spread = (
                new / old - 1 if old > 0 else 0.0 for new, old in zip(several, one, strict=True)
            )
            yield compare(f"{policy}, {rate:g}/s: wait of one queue, one per processor",
                "same mean, larger variance",
                f"mean {1e3 * one[0]:.3f}, {1e3 * several[0]:.3f} ms ({100 * mean:+.1f} %); "
                f"deviation {1e3 * one[1]:.3f}, {1e3 * several[1]:.3f} ms ({100 * spread:+.1f} %)",
                abs(mean) <= 0.05 and spread > 0, f"{benchmark}, refusal limit {limit}",
                f"the load: almost no task waits, {1e3 * one[0]:.1g} ms on average"
                if one[0] < IDLE else "")  # fmt: skip
    title = "Deviation of the wait, one queue against one per processor"
    label = "standard deviation of the wait [ms]"
    yield chart("numa-queues", title, "policy and arrivals", label, bars)


def _waits(instance: Numa, policy: str, tasks: int, seed: int) -> tuple[float, float]:
    """Mean and standard deviation of tasks' waiting time in the queue [s]."""
    warm = tenth(tasks)
    draws = draw(instance, tasks + 2 * warm, reach(instance, policy), np.random.default_rng(seed))
    run = simulate(instance, draws)
    wait = (run.start - draws.arrival)[warm : warm + tasks]
    return float(wait.mean()), float(wait.std())
