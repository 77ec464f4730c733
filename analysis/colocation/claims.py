"""What of a stored pairing's claims is worked out again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...instances.colocation import Colocation, Pairing, blocking_pairs
from ...instances.colocation.groups import undecided_pairs
from ...instances.colocation.objective import keeps_slack, worst_case
from ...solvers.colocation.bounds import least_penalty_bound
from ...solvers.colocation.by_agent import COUNTED_BY_AGENT
from ...solvers.colocation.stable import COUNTED
from ..claim_checks import ClaimChecks


def claims(instance: Colocation, checks: ClaimChecks) -> None:
    """The list of blocking pairs, the slack allowed, and the least penalty at all."""
    counts = (*COUNTED.values(), *COUNTED_BY_AGENT.values())
    checks.limits |= dict.fromkeys(counts, 0.0) | {"slack": 0.0}
    checks.belong_together("stable_partition", "odd_parties")
    pairing, options = checks.solution, checks.options
    if not isinstance(pairing, Pairing):
        return
    if checks.method == "stable":
        expected = {name: options[name] for name in ("alpha", "alpha_mode")}
        expected["blocking_pairs"] = _listed(instance, pairing, options)
        checks.compare(expected | _about_intervals(instance, pairing, checks))
    allowed = options.get("slack")
    if checks.method == "fair" and allowed is not None:
        checks.compare({"slack_allowed": allowed})
        if not keeps_slack(instance, pairing, allowed):
            checks.broken.append(f"the answer has more slack than the {allowed:g} allowed")
    if checks.bound is not None:
        checks.limits["penalty"] = least_penalty_bound(instance)
        if instance.high is not None:
            checks.limits["worst_case_penalty"] = least_penalty_bound(worst_case(instance))


def _listed(
    instance: Colocation, pairing: Pairing, options: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The types of agents that block, and how many of each are willing."""
    read = (options["alpha"], options["alpha_mode"], options["uncertainty"])
    blocking = blocking_pairs(instance, pairing, *read)
    names = instance.names
    return [
        {"types": [names[a], names[c]], "willing": [int(left), int(right)]}
        for a, c, left, right in zip(
            blocking.first,
            blocking.second,
            blocking.willing_first,
            blocking.willing_second,
            strict=True,
        )
    ]


def _about_intervals(instance: Colocation, pairing: Pairing, checks: ClaimChecks) -> dict[str, Any]:
    """Which gains count, the confidence of the intervals, and what is to be measured again."""
    options = checks.options
    if options["uncertainty"] == "none":
        return {}
    facts = {"uncertainty": options["uncertainty"], "intervals": instance.certainty}
    if "measure_again" in checks.certificate:
        read = (options["alpha"], options["alpha_mode"])
        facts["measure_again"] = undecided_pairs(instance, pairing, *read)
    return facts
