"""What a certificate of colocation proves, looked over again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...instances.colocation import Colocation, Pairing, blocking_pairs
from ...instances.colocation.groups import undecided_pairs
from ...instances.colocation.objective import keeps_slack, worst_case
from ...instances.problem.errors import NoSolution
from ...solvers.colocation.bounds import least_penalty_bound
from ...solvers.colocation.feasible import Undecided, feasible_pairing
from ...solvers.colocation.stable import COUNTED
from ...solvers.colocation.to_roommates import alone_is_worst, lists_of_agents
from ...solvers.roommates.partition import StablePartition, is_stable_partition
from ..claim_checks import ClaimChecks, Stored


def claims(instance: Colocation, stored: Stored) -> ClaimChecks:
    """The list of blocking pairs, what a stable partition proves, the least penalty at all, and
    that no pairing exists.
    """
    counted = dict.fromkeys(COUNTED.values(), 0.0)
    found = ClaimChecks(bounds={**counted, "slack": 0.0})
    certificate = stored.certificate
    if stored.solution is None:
        try:
            feasible_pairing(instance)
            # of pairings within an allowance of slack nothing is proved again
            found.impossible = None if stored.options.get("slack") is not None else False
        except Undecided:
            pass
        except NoSolution:
            found.impossible = True
        return found
    assert isinstance(stored.solution, Pairing)
    if stored.method == "stable":
        expected = {name: stored.options[name] for name in ("alpha", "alpha_mode")}
        expected["blocking_pairs"] = _listed(instance, stored.solution, stored.options)
        expected |= _about_intervals(instance, stored)
        found.compare(certificate, expected, expected)
    allowed = stored.options.get("slack")
    if stored.method == "fair" and allowed is not None:
        found.compare(certificate, {"slack_allowed": allowed}, ["slack_allowed"])
        if not keeps_slack(instance, stored.solution, allowed):
            found.broken.append(f"the answer has more slack than the {allowed:g} allowed")
    if stored.bound is not None:
        found.bounds["penalty"] = least_penalty_bound(instance)
        if instance.high is not None:
            found.bounds["worst_case_penalty"] = least_penalty_bound(worst_case(instance))
    if not certificate.keys().isdisjoint(("stable_partition", "odd_parties")):
        _partition(found, instance, certificate, stored.options)
    return found


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


def _about_intervals(instance: Colocation, stored: Stored) -> dict[str, Any]:
    """Which gains count, the confidence of the intervals, and what is to be measured again."""
    assert isinstance(stored.solution, Pairing)
    options = stored.options
    if options["uncertainty"] == "none":
        return {}
    facts = {"uncertainty": options["uncertainty"], "intervals": instance.certainty}
    if "measure_again" in stored.certificate:
        read = (options["alpha"], options["alpha_mode"])
        facts["measure_again"] = undecided_pairs(instance, stored.solution, *read)
    return facts


def _partition(
    found: ClaimChecks,
    instance: Colocation,
    certificate: Mapping[str, Any],
    options: Mapping[str, Any],
) -> None:
    """The odd parties of a stable partition force so many blocking pairs (Tan 1991; Abraham, Biró,
    Manlove 2006).
    """
    read = {name: options[name] for name in ("alpha", "alpha_mode")}
    lists = lists_of_agents(instance, **read)
    if lists is None or not alone_is_worst(instance, **read):
        found.record_check(
            "stable_partition", "proves nothing: who is alone is content, or likes to be"
        )
        return
    found.compare(certificate, {}, ["stable_partition"])
    given = found.numbers(certificate, "stable_partition", (instance.agents,))
    aside = certificate.get("unsettled_agents", [])
    unsettled_numbers = found.numbers(
        {"unsettled_agents": aside}, "unsettled_agents", (len(aside),)
    )
    if given is None or unsettled_numbers is None:
        return
    successor, unsettled = (
        given.astype(np.int64),
        sorted(set(unsettled_numbers.astype(int).tolist())),
    )
    whole = (successor == given).all() and unsettled == sorted(unsettled_numbers.tolist())
    if not whole or not is_stable_partition(
        lists.place, successor, None if lists.strict else lists.better, unsettled
    ):
        found.record_check("stable_partition", "is not a stable partition of the agents")
        return
    partition = StablePartition(successor.astype(np.int32))
    found.compare(
        certificate,
        {"odd_parties": [list(party) for party in partition.odd_parties]},
        ["odd_parties"],
    )
    forced = partition.bound("perfect" if instance.unpaired is None else "any") - len(unsettled)
    found.bounds["blocking_pairs"] = float(max(0, forced))
