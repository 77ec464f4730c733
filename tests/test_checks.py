"""Answers that keep every rule of their instance, and answers that break one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.messages import refused

import cotenant
from cotenant.instances.admission import Admission, Assignment
from cotenant.instances.colocation import Colocation, Pairing
from cotenant.instances.market import Allocation, Market
from cotenant.instances.numa import Flow, Numa, Simulation
from cotenant.instances.packing import Packing, Placement
from cotenant.instances.problem import InfeasibleSolution, Instance, Solution
from cotenant.instances.scheduling import Schedule, Scheduling

ADMISSION = Admission([[2, 1], [0, 3]], [2, 4], [[5.0, 1.0], [2.0, 3.0]])
FOUR_VMS = Admission([[1] * 8], [4] * 4, [[1.0] * 8] * 4)
JOBS = Colocation(
    [[0, 0.1, 0.2, np.inf], [0.1, 0, 0.3, 0.2], [0.2, 0.3, 0, 0.1], [np.inf, 0.2, 0.1, 0]], [1] * 4
)
MARKET = Market([10], [1, 1], [0, 1], [0, 0], [0.5, 0.9], [1, 1])
VMS = Packing([[4, 8], [6, 6]], [[1, 2], [3, 1]], [2.0, 1.0], [np.inf, 2.0])
BLADES = Numa(
    blades=2, rows=1, columns=2, cores=2, location_share=[0.4, 0.3, 0.2, 0.1],
    class_share=[0.5, 0.5], service_mean=[0.04, 0.02], ht1=[1.2, 1.0], pcie=[1.7, 1.1],
    bandwidth=[283.0, 28.0], rate=100.0,
)  # fmt: skip
LOG = Scheduling([1, 1], organization=[0, 0, 1], release=[0, 0, 1], processing=[3, 2, 4], horizon=8)

SIMULATION = Simulation(
    policy="IB", window=10.0, arrived=[6, 4], served=[[3, 1, 0], [2, 0, 2]], waiting=[0, 1],
    running=[1, 2], refused=3, busy=[5.0, 4.0, 3.0, 0.0, 9.0, 1.0, 1.0, 2.0], stable=True,
    growth=0.0, response=[0.1, 0.2, 0.3], response_error=[0.01] * 3, mean_response=0.12,
    mean_response_error=0.01, mean_wait=0.05, mean_wait_error=0.01,
)  # fmt: skip
LOCAL = 100 * BLADES.class_share[:, None, None] * BLADES.location_share[:, None] * np.eye(4)
"""Flows of tasks at 100/s that all run where their data is."""

FEASIBLE: list[tuple[Instance[Any], Solution]] = [
    (JOBS.replace(machines=3.0), Pairing([0], [1], [1], [0, 0, 1, 1])),
    (MARKET, Allocation([5.0, 5.0], [0.2])),
    (VMS, Placement([[2, 0], [0, 1]], [0, 1])),
    (VMS.replace(partial=True), Placement([[1, 0]], [0])),
    (BLADES, SIMULATION),
    (BLADES, Flow(100.0, LOCAL)),
    (LOG, Schedule([0, 5, 1], [0, 0, 1])),
    (LOG, Schedule([0, 0, 2], [0, 1, 1], greedy=True)),
]

INFEASIBLE: list[tuple[Instance[Any], list[Solution]]] = [
    (ADMISSION, [Assignment(*answer) for answer in (
        ([0], [[1, 0], [0, 0]]), ([2, -1], [[1, 0], [0, 0]]), ([-2, -1], [[0, 0], [0, 0]]),
        ([0, -1], [[1, -1], [0, 0]]), ([-1, -1], [[0, 0], [0, 1]]), ([0, 1], [[1, 0], [0, 0]]),
        ([0, -1], [[2, 1], [0, 0]]), ([0, 0], [[1, 1], [1, 1]]),
    )]),
    # each row, and each column, adds up to 1 or 0 in 64 bits
    (FOUR_VMS, [Assignment(
        [0] * 4, [[2**62] * 4 + [int(j == c) for c in range(4)] for j in range(4)],
    )]),
    (JOBS, [Pairing(*answer) for answer in (
        ([0, 0], [1, 2], [1, 1], np.zeros(4)), ([0], [1], [1], np.zeros(4)),
        ([0, 1], [3, 2], [1, 1], np.zeros(4)), ([0], [1], [1], [0, 0, 1, 1]),
        ([0], [4], [1], np.zeros(4)), ([0], [1], [1], np.zeros(3)),
    )]),
    (JOBS.replace(machines=3.0), [Pairing([], [], [], np.ones(4))]),
    (MARKET, [Allocation(cores, price) for cores, price in (
        ([1.0], None), ([-1.0, 1.0], None), ([np.nan, 1.0], None), ([6.0, 5.0], None),
        ([5.0, 5.0], [1.0, 1.0]), ([5.0, 5.0], [-1.0]),
    )]),
    (VMS, [Placement(*answer) for answer in (
        ([[2, 1], [0, 0]], [0, 0]), ([[2, 0]], [0]), ([[1, 0], [1, 0], [0, 1]], [1, 1, 1]),
        ([[2, 0], [0, 1]], [0, 7]), ([[2, -1], [0, 2]], [0, 1]), ([[2]], [0]),
    )]),
    (VMS.replace(partial=True), [Placement([[3, 0]], [0])]),
    (BLADES, [SIMULATION.replace(**changes) for changes in (
        {"waiting": [0, 0]}, {"arrived": [6, 5]}, {"busy": [11.0, 4, 3, 0, 9, 1, 1, 2]},
        {"busy": [1.0]}, {"running": [1, 9], "arrived": [13, 4]}, {"refused": 801},
        {"response": [0.3, 0.2, 0.3]}, {"mean_wait": 0.5}, {"policy": "IP-9"}, {"window": 0.0},
    )]),
    (BLADES.replace(refusal_limit=np.inf), [SIMULATION.replace(policy="IP-2")]),
    (BLADES, [
        Flow(100.0, LOCAL * np.array([1.0, 1.1])[:, None, None]), Flow(1000.0, 10 * LOCAL),
        Flow(100.0, -LOCAL), Flow(100.0, LOCAL[:1]),
    ]),
    (LOG, [Schedule(*answer) for answer in (
        ([0, 3], [0, 0]), ([0, 3, 1], [0, -1, 1]), ([0, -2, 1], [0, -1, 1]),
        ([0, 3, 1], [0, 2, 1]), ([0, 3, 0], [0, 0, 1]), ([0, 3, 8], [0, 0, 1]),
        ([4, 0, 1], [0, 0, 1]), ([-1, 0, 1], [-1, 0, 1]), ([0, 2, 1], [0, 0, 1]),
    )]),
    (LOG, [
        Schedule([0, 5, 1], [0, 0, 1], greedy=True), Schedule([0, 0, -1], [0, 1, -1], greedy=True),
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("instance", "answer"), FEASIBLE)
def test_check_accepts_feasible_answer(instance: Instance[Any], answer: Solution) -> None:
    cotenant.check(instance, answer)


@pytest.mark.parametrize(
    ("instance", "answer"),
    [(instance, answer) for instance, answers in INFEASIBLE for answer in answers],
)
def test_check_names_the_broken_rule_of_an_infeasible_answer(
    instance: Instance[Any], answer: Solution
) -> None:
    with refused(InfeasibleSolution):
        cotenant.check(instance, answer)
