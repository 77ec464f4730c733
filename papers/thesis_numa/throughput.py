"""Figures 4.2 to 4.9 and Tables 4.1 to 4.3 of the thesis: communication costs, throughput."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import pairwise

import numpy as np

from ...analysis.numa.metrics import metrics
from ...analysis.numa.sustained import sustained_pair
from ...analysis.numa.technology import Path, inter_blade_latency, recomputed
from ...analysis.report.picture import Chart, HeatMap, Series
from ...catalog import find
from ...instances.numa.bounds import saturated_throughput
from ...instances.numa.generators import blade_server, chosen_benchmarks
from ...instances.numa.instance import POLICIES, Law, Numa, Simulation
from ...instances.numa.technology import BENCHMARKS, THESIS, Benchmark
from ..experiment import Finding, Paper, Parts, Variations, chart, compare, draws, equal

PAPER = Paper(
    "thesis",
    "Llull, Microeconomic Models for Managing Shared Datacenters (thesis, Duke University, 2017)",
    "Llull (thesis 2017)",
    "numa",
    guide="Guides: [market](../market.md) and [NUMA](../numa.md); where the text cannot be "
    "followed: [market](../errata.md#thesis-chapter-3-the-fisher-market), "
    "[refusal scheduling](../errata.md#thesis-chapter-4-refusal-scheduling). Chapter 2 is Cooper, "
    "which has [a page of its own](cooper.md).",
    not_determined=(
        ("Llull (thesis 2017) fig. 4.1",
         "a sketch of another paper's architecture (scale-out NUMA); there is nothing to compute"),
        ("Llull (thesis 2017) fig. 4.3",
         "bars read off Micron's data sheets; the text prints one of them, 2 W per GB "
         "(numa-table-4.1)"),
        ("Llull (thesis 2017) fig. 4.5",
         "a sketch of the queues; its policies are what numa-figure-4.7 to numa-figure-4.9 run"),
        ("Llull (thesis 2017) fig. 4.6",
         "shares of local and remote accesses of each benchmark, from processor simulation; none "
         "is printed"),
        ("Llull (thesis 2017) figs. 4.10 to 4.12, the bars of each benchmark",
         "they need the data accessed for each byte of a page (D_access / D_page), printed for no "
         "benchmark; drawn instead is the whole curve over that number"),
    ),
)  # fmt: skip


PATHS: tuple[Path, ...] = ("one hop", "two hops", "another blade")

MEMORY_INTENSIVE = tuple(one for one in BENCHMARKS if one.intensity != "CI")
COMPUTE_INTENSIVE = tuple(one for one in BENCHMARKS if one.intensity == "CI")
SPARK = tuple(one for one in MEMORY_INTENSIVE if one.key.startswith("S"))


@PAPER.experiment("figure-4.2", "fig. 4.2")
def figure_4_2() -> Parts:
    """The blade server: cores, links, bridges, and hops between its processors."""
    server = blade_server()
    hops = server.distance
    blades, processors = server.blades, server.rows * server.columns
    connections = blades * (blades - 1) // 2
    near = int((hops[0] == 1).sum())
    yield equal("cores of the server", "256", server.all_cores,
        "the server has four blades of four sixteen-core processors")  # fmt: skip
    yield equal("connections of four blades, each to each", "6", connections, "from section 4.2.3")
    yield equal("bridges", "12", 2 * connections, "each connection has two bridges")
    yield equal("processors one hop away", "2", near, "section 4.5.2 describes a mesh of 2 x 2")
    yield equal("processors IP-1 accepts, over those Local does", "3", near + 1,
        'section 4.5.2: "3x more likely to exit the queue"')  # fmt: skip
    names = tuple(
        f"blade {number // processors + 1}, {number % processors + 1}"
        for number in range(server.processors)
    )
    yield HeatMap(
        "numa-figure-4.2", "Hops between the processors of the blade server", "processor",
        "processor", names, names, tuple(map(tuple, np.asarray(hops, dtype=float).tolist())),
        f"hops; {server.blade_distance} stands for another blade",
        alt=f"Heat map of {server.processors} by {server.processors} processors in {blades} blocks "
            f"of {processors}: within a block 0 to {int(hops[:processors, :processors].max())} "
            "hops, every other block another blade.",
    )  # fmt: skip


@PAPER.experiment("table-4.1", "Table 4.1, sections 4.2.1 to 4.2.3")
def table_4_1() -> Parts:
    """Latency, bandwidth, power and energy of DRAM, HyperTransport and PCIe from their inputs."""
    yield from printed_at("Table 4.1", "4.2.1", "4.2.2", "4.2.3")
    yield compare("version of HyperTransport", "3.1 (Table 4.1)", "2.0 (section 4.2.4)", False,
        "the section adds that the specification of PCIe 3.0 is not public yet",
        "the thesis prints both numbers: the table and the section "
        "contradict each other")  # fmt: skip
    ours = (
        THESIS.dram_latency, THESIS.dram_latency + THESIS.ht_one_hop,
        THESIS.dram_latency + THESIS.ht_two_hops, inter_blade_latency(),
    )  # fmt: skip
    yield chart("numa-table-4.1-latency", "Latency of a memory access by distance",
        "where the data is", "latency [ns]",
        {"printed": (50.0, 150.0, 180.0, 410.0), "from its inputs": ours}, x=("local", *PATHS),
        note="two hops: 50 ns of DRAM and the 130 ns of Table 4.3")  # fmt: skip


@PAPER.experiment("figure-4.4", "fig. 4.4")
def figure_4_4() -> Parts:
    """Fraction of the power of data communication that the links take."""
    rows = {row.what: row.ours for row in recomputed()}
    memory, hyper = rows["its power"], rows["power of five paths"]
    pcie = rows["power of an inter-blade link"] * THESIS.pcie_connections / 4
    mine, quarter = (memory, hyper, pcie), 0.25 * hyper
    yield from printed_at("4.2.4")
    yield compare("HyperTransport at typical utilization [W]", "10 to 20 (section 4.2.4)",
        f"{quarter:.1f}", 10 <= quarter <= 20,
        "at a quarter of the peak of the five paths, which is the utilization found in "
        "section 4.5.4")  # fmt: skip
    bars = {
        "of one blade": [round(value, 3) for value in mine],
        "as printed (PCIe of the whole server)": (128.0, 40.0, 60.0),
    }
    yield chart("numa-figure-4.4", "Power of data communication, by channel", "channel",
        "power [W]", bars, x=("DRAM", "HyperTransport", "PCIe"),
        words=f"The links take {100 * (hyper + pcie) / sum(mine):.0f} % of a blade's.",
    )  # fmt: skip


@PAPER.experiment("table-4.2", "Table 4.2")
def table_4_2() -> Parts:
    """Demand of the benchmarks for remote bandwidth, against how much longer they take far from
    their data.
    """
    from scipy.stats import spearmanr

    bandwidth = tuple(one.bandwidth for one in BENCHMARKS)
    penalties = {
        "HT-1": tuple(one.ht1 for one in BENCHMARKS), "PCIe": tuple(one.pcie for one in BENCHMARKS)
    }  # fmt: skip
    ranks = {n: float(spearmanr(bandwidth, values).statistic) for n, values in penalties.items()}
    yield compare("bandwidth demand against penalties, rank correlation", "correlates",
        ", ".join(f"{name} {value:.2f}" for name, value in ranks.items()),
        min(ranks.values()) > 0.7, "Spearman")  # fmt: skip
    least = min(one.bandwidth for one in MEMORY_INTENSIVE)
    most = max(one.bandwidth for one in COMPUTE_INTENSIVE)
    yield compare("bandwidth tells memory- from compute-intensive", "measured to classify",
        f"memory-intensive from {least:g}, compute-intensive to {most:g} MB/s",
        least > most)  # fmt: skip
    load = {one.key: 256 * one.bandwidth * 0.75 / 1000 for one in BENCHMARKS}
    links = THESIS.pcie_connections * THESIS.pcie_lanes * THESIS.pcie_lane_rate
    yield compare("extremely memory-intensive tasks away from their data",
        "would saturate the interconnect",
        f"P12 {load['P12']:.0f} GB/s over PCIe of {links:.0f} GB/s, K-means {load['S6']:.0f}",
        load["P12"] > links > load["S6"],
        "computed for 256 cores with three quarters of the data on another blade")  # fmt: skip
    yield compare("extremely memory-intensive benchmark", "P10 (section 4.5.2)",
        ", ".join(one.key for one in BENCHMARKS if one.intensity == "EMI"), "P10" in load, "",
        "the thesis has no benchmark P10; section 4.5.1 has P12")  # fmt: skip
    slow = [one.pcie for one in SPARK]
    yield compare("inter-blade delay of S1 to S6", "1.6 to 1.7 (section 4.5.3)",
        f"{min(slow):g} to {max(slow):g}", (round(min(slow), 1), round(max(slow), 1)) == (1.6, 1.7),
        "", "the column of Table 4.2 shows otherwise")  # fmt: skip
    tips = tuple(f"{one.key} {one.name}" for one in BENCHMARKS)
    yield Chart(
        "numa-table-4.2", "Demand for remote bandwidth and the penalty of distance",
        "demand [MB/s]", "service time over the local one",
        tuple(Series(name, bandwidth, values, "points", tips=tips)
              for name, values in penalties.items()),
        alt="Twenty benchmarks, penalty against bandwidth: both penalties grow with bandwidth, "
        f"rank correlation {ranks['HT-1']:.2f} one hop and {ranks['PCIe']:.2f} one blade away.",
        x_scale="log",
    )  # fmt: skip


@PAPER.experiment("table-4.3", "Table 4.3, section 4.5.1")
def table_4_3() -> Parts:
    """Parameters of the simulation, and its tasks a second, computed by the technology model."""
    yield from printed_at("Table 4.3", "4.5.1")


def printed_at(*places: str) -> Iterator[Finding]:
    """Findings on the technology model's numbers that the thesis prints in the given places. Places
    are tables and sections.
    """
    for row in recomputed():
        # the thesis prints what a derived number follows from, not the number
        if row.place.startswith(places) and ", derived from " not in row.what:
            printed, ours = f"{row.printed:g} {row.unit}".strip(), f"{row.ours:.4g} {row.unit}"
            place = f"printed in {'section ' * row.place[0].isdigit()}{row.place}"
            yield compare(row.what, printed, ours.strip(), row.agrees, place,
                f"our number is {row.how}")  # fmt: skip


POINTS = 12
"""Arrival rates at which the curves of figure 4.7 are drawn."""

LOW = 1920.0
"""Arrivals [tasks/s] at the low load of figure 4.9, which the thesis does not print."""

HIGH_LOAD: Variations = {
    **draws(benchmarks="MI"),
    "the load": {
        f"{rate:g}/s": {"high": rate, "near": rate, "benchmarks": "MI"}
        for rate in (4500.0, 4800.0, 5400.0)
    },
}
"""Of figure 4.9, memory-intensive benchmarks but the extreme: no arrivals printed."""


@PAPER.experiment("figure-4.7", "fig. 4.7", seconds=360)
def figure_4_7(
    *,
    seed: int = 0,
    tasks: int = 1_000_000,
    tolerance: float = 0.005,
) -> Parts:
    """Throughput sustained by K-means, facesim and string match, and the metastable band.

    Parameters
    ----------
    tasks : arrivals within which a rate must prove itself, in three independent runs; curves are
        drawn from runs of a tenth as many.
    tolerance : of the bisection, relative to 6400 tasks/s.
    """
    sustained = partial(sustained_pair, tasks=tasks, runs=3, tolerance=tolerance, seed=seed)
    # 1. K-means under Local with a refusal limit that it hardly meets.
    empty, saturated = sustained(blade_server(refusal_limit=1000), "Local")
    free = compare("K-means, Local with refusal limit 1000: sustained [tasks/s]", "6400",
        f"{empty.rate:.0f} from empty, {saturated.rate:.0f} from saturated",
        abs(empty.rate - 6400) <= 128,
        "the thesis's 6.4K needs a refusal limit near 1000; the thesis says that a refusal limit "
        "of 100 was used")  # fmt: skip
    # 2. Each benchmark, from empty and from saturated, with its curve.
    expected = {("S6", "IB"): 4600.0, ("S6", "Local"): 6400.0}
    for key in ("S6", "P12", "M10"):
        instance = blade_server(benchmark=key)
        rates = {}
        for policy in POLICIES:
            empty, saturated = sustained(instance, policy)
            rates[policy] = empty.rate
            if (printed := expected.get((key, policy))) is None:
                continue
            near = abs(empty.rate - printed) <= 0.02 * printed
            reason = f"at refusal limit {instance.refusal_limit:g} some tasks reach the limit and "
            reason += "take any core; "
            cured = policy == "Local" and free.verdict == "reproduced"
            yield compare(f"{instance.names[0]}, {policy}: sustained [tasks/s]", f"{printed:.0f}",
                f"{empty.rate:.0f} from empty, {saturated.rate:.0f} from saturated", near,
                f"{'' if near else reason}a rate {empty.failed - empty.rate:.0f} higher fails; "
                f"clears {saturated_throughput(instance, policy):.0f} from an endless backlog with "
                "no limit", f"the refusal limit: with 1000 it is {free.ours}" if cured else "",
            )  # fmt: skip
        yield _order(f"{instance.names[0]}: policies by throughput", rates, key)
        yield _throughput_curves(key, rates, max(tasks // 10, 1000), seed)
    yield free


@PAPER.experiment("figure-4.8", "fig. 4.8", seconds=30)
def figure_4_8(
    *,
    seed: int = 0,
    tasks: int = 200_000,
    tolerance: float = 0.01,
    benchmarks: str = "all",
) -> Parts:
    """Throughput sustained by every benchmark.

    Parameters
    ----------
    tasks : arrivals within which a rate must prove itself.
    tolerance : of the bisection, relative to 6400 tasks/s.
    benchmarks : keys of Table 4.2 joined by commas, "MI", "CI" or "all".
    """
    loss: dict[str, list[float]] = {"MI": [], "CI": []}
    bars: dict[str, dict[str, float]] = {policy: {} for policy in POLICIES}
    for benchmark in chosen_benchmarks(benchmarks):
        key, kind = benchmark.key, benchmark.intensity
        instance = blade_server(benchmark=key)
        pairs = {
            policy: sustained_pair(
                instance, policy, tasks=tasks, runs=1, tolerance=tolerance, seed=seed
            )
            for policy in POLICIES
        }
        rates = {policy: empty.rate for policy, (empty, _) in pairs.items()}
        loss["CI" if kind == "CI" else "MI"].append(1 - rates["IB"] / max(rates.values()))
        row = _order(f"{key} {benchmark.name} ({kind})", rates, key)
        for policy, rate in rates.items():
            bars[policy][key] = round(rate, 1)
        saturated = ", ".join(f"{pair[1].rate:.0f}" for pair in pairs.values())
        yield replace(row, note=f"from saturated: {saturated}; {row.note}")
    if loss["MI"] and loss["CI"]:
        yield compare("what IB loses against the best policy",
            "most pronounced for memory-intensive; compute-intensive are insensitive",
            f"memory-intensive {100 * min(loss['MI']):.0f} to {100 * max(loss['MI']):.0f} %, "
            f"compute-intensive at most {100 * max(loss['CI']):.0f} %",
            max(loss["CI"]) <= min(loss["MI"]),
            "the least loss of memory-intensive benchmarks is compared with the most of the others",
        )  # fmt: skip
    title = "Throughput sustained by benchmark and policy"
    yield chart("numa-figure-4.8", title, "benchmark", "tasks/s", bars)


@PAPER.experiment("figure-4.9", "fig. 4.9", seconds=240, variations=HIGH_LOAD)
def figure_4_9(
    *,
    seed: int = 0,
    tasks: int = 200_000,
    high: float = 5100.0,
    near: float = 5700.0,
    benchmarks: str = "all",
) -> Parts:
    """95th percentile at high and low load, refusal limits 10, 100 and 1000.

    Parameters
    ----------
    tasks : simulated and measured for each figure.
    high : arrivals [tasks/s]; the thesis does not print its own. 5100 is 80 % of 6400, and the low
        load is 30 %. IB cannot sustain the high one for memory-intensive tasks and then has no
        percentile to compare with. Service is exponential, which the thesis does not print either;
        IP-1 and IP-2 are compared with Local under deterministic service too.
    near : arrivals at which the refusal limits are compared; not printed either.
    benchmarks : keys of Table 4.2 joined by commas, "MI", "CI" or "all".
    """
    # 1. Each benchmark at both loads.
    lows: dict[str, list[float]] = {"memory": [], "compute": []}
    busy_of: dict[str, dict[str, float]] = {}
    calm_of: dict[str, dict[str, float]] = {}
    tolerant: list[float] = []
    harmed: dict[str, float] = {}
    wins: dict[str, dict[str, bool]] = {}
    for benchmark in chosen_benchmarks(benchmarks):
        key = benchmark.key
        busy = busy_of[key] = _percentiles(benchmark, high, tasks, seed)
        calm = calm_of[key] = _percentiles(benchmark, LOW, tasks, seed)
        kind = "compute" if benchmark.intensity == "CI" else "memory"
        lows[kind].append(_excess(max(calm["IB"], calm["IP-2"]), calm["Local"]))
        if kind == "memory":
            steady = _percentiles(benchmark, high, tasks, seed, "deterministic")
            for service, value in (("exponential", busy), ("deterministic", steady)):
                better = max(value["IP-1"], value["IP-2"]) < value["Local"]
                wins.setdefault(service, {})[key] = better
        else:
            tolerant.append(_excess(busy["IB"], min(busy.values())))
            harmed[key] = _excess(busy["Local"], busy["IB"])
    # 2. The sentences on low and on high load.
    half = max([0.2, *lows["memory"]]) / 2
    for kind, text, limit in (
        ("memory", "less than 20 %", 0.2),
        ("compute", "much less than memory-intensive ones", half),
    ):
        if lows[kind]:
            yield compare(f"low load, {kind}-intensive: what IB and IP-2 lose against Local", text,
                f"at most {100 * max(lows[kind]):.2f} %", max(lows[kind]) < limit,
                "an arriving task finds a core near its data nearly always")  # fmt: skip
    for service, won in wins.items():
        keys = [key for key, good in won.items() if good]
        yield compare(
            f"high load, memory-intensive, {service} service: IP-1 and IP-2 below Local",
            "consistently",
            f"{len(keys)} of {len(won)} benchmarks{': ' if keys else ''}{', '.join(keys)}",
            len(keys) == len(won), "only for benchmarks of small penalties, if any")  # fmt: skip
    if tolerant:
        yield compare("high load, compute-intensive: IB", "without penalty",
            f"at most {100 * max(tolerant):.1f} % above the best", max(tolerant) < 0.08,
            "a penalty within 8 % counts as none")  # fmt: skip
        said = ", ".join(f"{key} {100 * value:+.1f} %" for key, value in harmed.items())
        yield compare("high load, compute-intensive: Local", "can harm response time",
            f"{said} against IB", max(harmed.values()) > 0,
            "tasks wait for a core of their own processor")  # fmt: skip
    yield from _limits(seed, tasks, near)
    # 3. Both loads drawn.
    unstable = [key for key, value in busy_of.items() if value["IB"] == np.inf]
    yield chart("numa-figure-4.9-high",
        f"95th percentile of the response time at {high:g} tasks/s", "benchmark", "p95 [ms]",
        {policy: {key: 1e3 * value[policy] for key, value in busy_of.items()}
         for policy in POLICIES}, style="points",
        words=f"Under IB the queue grows without end for {', '.join(unstable) or 'none'}.",
        note="no point: the queue grows; the thesis divides by IB's, which does not exist "
        "there")  # fmt: skip
    yield chart("numa-figure-4.9-low", f"95th percentile over IB's at {LOW:g} tasks/s", "benchmark",
        "p95 over IB's",
        {policy: {key: value[policy] / value["IB"] for key, value in calm_of.items()}
         for policy in POLICIES if policy != "IB"})  # fmt: skip


def simulated(instance: Numa, policy: str, tasks: int, seed: int) -> Simulation:
    """Simulate one policy of a NUMA server, and return its answer."""
    method, rng = find("numa", policy).resolve(), np.random.default_rng(seed)
    run = method(instance, rng=rng, tasks=tasks).solution
    assert isinstance(run, Simulation)
    return run


def _percentiles(
    benchmark: Benchmark, rate: float, tasks: int, seed: int, law: Law = "exponential"
) -> dict[str, float]:
    """95th percentile of the response time by policy; inf where the load is unstable."""
    instance = blade_server(benchmark=benchmark.key, rate=rate, law=law)
    runs = {policy: simulated(instance, policy, tasks, seed) for policy in POLICIES}
    return {
        policy: float(run.response[1]) if run.stable else np.inf for policy, run in runs.items()
    }


def _throughput_curves(key: str, sustained: Mapping[str, float], tasks: int, seed: int) -> Chart:
    """Chart of tasks served over tasks arriving by policy; off the diagonal queues grow."""
    rates = [round(float(rate), 1) for rate in np.linspace(0.4, 1.05, POINTS) * 6400]
    instances = [blade_server(benchmark=key, rate=rate) for rate in rates]
    served = {
        policy: [
            round(metrics(one, simulated(one, policy, tasks, seed))["served_rate"], 1)
            for one in instances
        ]
        for policy in POLICIES
    }
    said = ", ".join(f"{policy} {rate:.0f}" for policy, rate in sustained.items())
    return chart(f"numa-figure-4.7-{key.lower()}",
        f"Throughput against arrivals, {chosen_benchmarks(key)[0].name}", "arrivals [tasks/s]",
        "served [tasks/s]", served, x=rates, style="line+points", words=f"Sustained: {said}.",
        note=f"runs of {tasks} tasks from an empty server: just above what is sustained a short "
        "run still looks well")  # fmt: skip


def _excess(value: float, other: float) -> float:
    """Relative excess of a response-time percentile over another; infinite if the first is."""
    return np.inf if value == np.inf else value / other - 1


def _limits(seed: int, tasks: int, rate: float) -> Iterator[Finding]:
    """Findings on the refusal limits 10, 100 and 1000 for Local and K-means, near saturation."""
    usual = np.inf
    for limit, text in (
        (10, "insufficient in a many-core server"),
        (100, "strikes a balance"),
        (1000, "significantly delays execution"),
    ):
        instance = blade_server(rate=rate, refusal_limit=limit)
        run = simulated(instance, "Local", tasks, seed)
        value = metrics(instance, run)
        p95 = value.get("p95", np.inf)
        usual = p95 if limit == 100 else usual
        holds = {10: not run.stable, 100: run.stable, 1000: p95 > 1.2 * usual}[limit]
        time = "unstable"
        if run.stable:
            time = f"p95 {1e3 * p95:.1f} ms, mean wait {1e3 * value['mean_wait']:.2f} ms"
        note = f"K-means at {rate:g}/s"
        if limit == 1000 and not holds:
            note += ": a limit of 1000 keeps more tasks local, which pays for the longer wait"
        yield compare(f"Local, refusal limit {limit}", text,
            f"{time}; {100 * value['share_local']:.1f} % local, {value['refusals']:.1f} refusals a "
            "task", holds, note)  # fmt: skip


def _order(what: str, rate: Mapping[str, float], key: str) -> Finding:
    """Finding on the throughput order IB, IP-2, IP-1, Local (compute-intensive: no order)."""
    ordered = ("IB", "IP-2", "IP-1", "Local")
    values = [rate[policy] for policy in ordered]
    benchmark, cause = chosen_benchmarks(key)[0], ""
    slack = 0.02 * max(values)
    if benchmark.intensity == "CI":
        fine, text = min(values) >= 0.9 * max(values), "insensitive to the policy"
        allowed = "values within 10 % count as insensitive"
        instance = blade_server(benchmark=key)
        most, least = (saturated_throughput(instance, policy) for policy in ("Local", "IB"))
        if least < 0.9 * most:
            cause = (
                f"Table 4.2: by its own penalties IB clears at most {least:.0f} and Local "
                f"{most:.0f}, {100 * (1 - least / most):.0f} % apart"
            )
    else:
        fine = all(low <= high + slack for low, high in pairwise(values))
        text, allowed = "IB < IP-2 < IP-1 < Local", "values within 2 % count as equal"
    ours = ", ".join(f"{policy} {rate[policy]:.0f}" for policy in ordered)
    note = f"with data on another blade a task takes {benchmark.pcie:g} times as long; {allowed}"
    return compare(what, text, ours, fine, note, cause)
