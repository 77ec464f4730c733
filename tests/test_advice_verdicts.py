"""The scheduler's filters beside verdicts of kube-scheduler 1.34.1 on whole states."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from typing import Any

import pytest
from support.measured import DATA

from cotenant.cluster.judge.scheduler_filters import Scheduler
from cotenant.cluster.state.kubernetes import kubernetes_state
from cotenant.cluster.state.state import ClusterState

VERDICTS = DATA / "cases" / "clusters" / "scheduler-verdicts.jsonl.gz"


def verdicts(read: ClusterState, name: str) -> dict[str, bool | None]:
    """Whether each node takes a pod; None where a constraint that is not read decides."""
    scheduler = Scheduler(read)
    number = next(n for n, pod in enumerate(read.pods) if pod.name == name)
    loose = any(
        term.has_unsupported_selector
        for pod in read.pods
        for term in (*pod.pod_anti_affinity, *pod.pod_affinity)
    )
    unsure = {"anti-affinity", "affinity"} if loose else set[str]()
    found: dict[str, bool | None] = {}
    for each in read.nodes:
        why = scheduler.refusals(number, each.name)
        open_ = None if read.pods[number].undecided else True
        found[each.name] = open_ if not why else False if set(why) - unsure else None
    return found


@pytest.mark.slow
@pytest.mark.skipif(not VERDICTS.is_file(), reason="no verdicts of kube-scheduler in COTENANT_DATA")
def test_filters_agree_with_kube_scheduler_verdicts() -> None:
    tally: Counter[str] = Counter()
    with gzip.open(VERDICTS, "rt", encoding="utf-8") as lines:
        for line in lines:
            case: dict[str, Any] = json.loads(line)
            read = kubernetes_state({"state.json": case["state"]})
            found = verdicts(read, case["pod"])
            assert all(found[name] in (takes, None) for name, takes in case["takes"].items())
            if None not in found.values():
                tally["equal"] += 1
            elif "namespaceSelector" in line:
                tally["not known: namespaceSelector"] += 1
            else:
                tally["not known"] += 1
    assert tally["not known"] == 0
    assert tally["equal"] >= 392, tally
    assert sum(tally.values()) == 400
