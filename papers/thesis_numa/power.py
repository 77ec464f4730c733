"""The thesis's power figures: link power by policy (4.13), and where tasks run (4.14)."""

from __future__ import annotations

from ...analysis.numa.metrics import link_power, metrics
from ...instances.numa.generators import blade_server
from ...instances.numa.instance import POLICIES, Numa, Simulation
from ..charts import chart
from ..experiment import Parts, Variations, compare, draws
from . import PAPER
from .throughput import simulated

NEAR_SATURATION: Variations = {
    **draws(),
    "the load": {f"{rate:g}/s": {"high": rate} for rate in (4800.0, 4900.0, 5000.0)},
}
INTENSIVE = "S1,S2,S3,S4,S5,S6"
"""The memory-intensive Spark benchmarks, whose power section 4.5.4 prints."""


@PAPER.experiment("figure-4.13", "fig. 4.13", seconds=5)
def figure_4_13(*, seed: int = 0, tasks: int = 200_000, high: float = 5300.0) -> Parts:
    """Link power by policy, the ranking and its reason, 13 W.

    Parameters
    ----------
    high : arrivals [tasks/s] of the "highly utilized server"; the thesis does not print its own.
    """
    # 1. The ranking at two refusal limits: where the first has the thesis's, that is the cause.
    bars: dict[str, dict[str, float]] = {}
    printed = ["IB", "Local", "IP-2", "IP-1"]
    cure = cured = ""
    for limit in (10.0, 100.0):
        runs = _runs(high, tasks, seed, limit)
        watt = {policy: link_power(*run) for policy, run in runs.items()}
        bars[f"refusal limit {limit:g}"] = {name: round(value, 3) for name, value in watt.items()}
        ranked = sorted(POLICIES, key=lambda policy: -watt[policy])
        full = ", ".join(policy for policy, (_, run) in runs.items() if not run.stable)
        same, more = ranked == printed, watt["Local"] > watt["IP-2"]
        yield compare(f"power, most first, limit {limit:g}, {high:g}/s",
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
    instance, run = _runs(high, tasks, seed, 100.0)["IB"]
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
    title = f"Power of the links, S1 to S6 at {high:g} tasks/s"
    yield chart("numa-figure-4.13", title, "policy", "power [W]", bars)


@PAPER.experiment("figure-4.14", "fig. 4.14", seconds=10, variations=NEAR_SATURATION)
def figure_4_14(*, seed: int = 0, tasks: int = 200_000, high: float = 5300.0) -> Parts:
    """Where tasks run, by distance from their data."""
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
