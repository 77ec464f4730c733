"""What a certificate of a server proves, worked out again; what a simulation measured is not
checked.
"""

from __future__ import annotations

from ...instances.numa.answer import Flow, Simulation
from ...instances.numa.bounds import link_energy, power_bound, throughput_bound
from ...instances.numa.instance import Numa
from ...solvers.numa.fluid import ROUNDED, mix_table
from ...solvers.outcome import Status
from ..claim_checks import ClaimChecks, Stored, alike


def claims(instance: Numa, stored: Stored) -> ClaimChecks:
    """The bounds that prices of processors prove, and the mix of policies that the flow is."""
    found = ClaimChecks()
    certificate, options = stored.certificate, stored.options
    if isinstance(stored.solution, Simulation):
        found.unseen |= set(stored.solution.document()) - {"policy"}
        if stored.method and stored.solution.policy != stored.method:
            found.broken.append(
                f"policy is {stored.solution.policy!r}, but the method is {stored.method!r}"
            )
        return found
    if stored.method not in ("fluid", "fluid-power"):
        return found
    asked = instance.rate if options.get("throughput") is None else options["throughput"]
    energy = link_energy(
        instance, *(options[name] for name in ("ht_energy", "pcie_energy", "pcie_hops"))
    )
    prices = found.numbers(certificate, "prices", (instance.processors,))
    if prices is None or (prices < 0).any():
        found.record_check("prices", "are missing, or below 0")
        return found
    if stored.solution is None:  # no placement sustains what is asked for
        found.impossible = asked > throughput_bound(instance, prices) * (1 + ROUNDED) or None
        if not found.impossible and stored.status is Status.INFEASIBLE:
            found.record_check(
                "prices",
                f"allow {throughput_bound(instance, prices):.6g} tasks/s, and {asked:g} were "
                "asked for",
            )
        return found
    assert isinstance(stored.solution, Flow)
    found.compare(certificate, {"mix": mix_table(instance, stored.solution)}, ["mix"])
    found.checked |= (
        {f"mix.{name}" for name in certificate.get("mix", {})} if "mix" in found.checked else set()
    )
    if stored.method == "fluid-power":
        rate = (
            stored.solution.throughput
            if abs(stored.solution.throughput - asked) <= ROUNDED * asked
            else asked
        )
        found.bounds["link_power"] = power_bound(instance, rate, prices, energy)
        _proves(found, "prices", found.bounds["link_power"], stored.bound)
        return found
    found.senses["served_rate"] = "max"
    found.bounds["served_rate"] = throughput_bound(instance, prices)
    _proves(found, "prices", found.bounds["served_rate"], stored.bound)
    levels = certificate.get("levels", [])
    if len(levels) != 2:
        found.record_check("levels", "are not throughput and link power")
        return found
    given = found.numbers(
        {"levels[1].prices": levels[1].get("prices")}, "levels[1].prices", (instance.processors,)
    )
    if given is not None:
        found.bounds["levels[1]"] = power_bound(instance, stored.solution.throughput, given, energy)
        _proves(found, "levels[1].prices", found.bounds["levels[1]"], levels[1]["bound"])
    return found


def _proves(found: ClaimChecks, name: str, proved: float, bound: float | None) -> None:
    """Prices are there to prove this very bound."""
    if bound is not None and not alike(proved, bound):
        found.record_check(name, f"prove {proved}, not {bound}")
