"""What of a stored flow's claims is worked out again; what a simulation measured is not checked."""

from __future__ import annotations

from ...instances.numa.answer import Flow, Simulation
from ...instances.numa.instance import Numa
from ...solvers.numa.fluid import mix_table
from ..claim_checks import ClaimChecks


def claims(instance: Numa, checks: ClaimChecks) -> None:
    """The policy that was simulated, or the mix of policies that the flow is."""
    answer = checks.solution
    if checks.method in ("fluid", "fluid-power"):
        checks.compare({}, ["prices"])
    if isinstance(answer, Simulation):
        checks.unseen |= set(answer.document()) - {"policy"}
        if checks.method and answer.policy != checks.method:
            checks.broken.append(
                f"policy is {answer.policy!r}, but the method is {checks.method!r}"
            )
    elif isinstance(answer, Flow) and checks.method in ("fluid", "fluid-power"):
        mix = mix_table(instance, answer)
        checks.compare({"mix": mix})
        checks.checked |= {f"mix.{name}" for name in mix} if "mix" in checks.checked else set()
        if checks.method == "fluid":
            checks.senses["served_rate"] = "max"
            if len(checks.certificate.get("levels", [])) != 2:
                checks.record("levels", "are not throughput and link power")
