"""The technology model, the thesis's figures, and the way from a file to a table."""

from __future__ import annotations

import pytest
from support.messages import refused

from cotenant.analysis.numa.technology import (
    break_even,
    inter_blade_latency,
    link_energy_per_bit,
    migration_energy,
    migration_over_remote,
    recomputed,
    remote_energy,
)
from cotenant.instances.numa.technology import EXTRA_HOP, THESIS
from cotenant.instances.problem import InvalidOption
from cotenant.papers.registry import experiment_named
from cotenant.papers.thesis_numa import costs, migration

PRINTED = {
    "access one hop away": 150, "power of a path": 8.192, "PCIe energy": 37.5,
    "power of an inter-blade link": 9.8,
    "power of six links": 58.8, "its power": 128, "access on another blade": 405,
    "tasks of 256 cores": 6400,
    "HyperTransport energy": 40, "links' share of communication power": 30.31,
}  # fmt: skip
"""What the thesis's inputs give, worked by hand."""

INCONSISTENT = {
    "expected HyperTransport delay to and from bridges", "access on another blade",
    "data rate of a lane",
    "power of an 8 GB channel at 100 %, derived from 2 W/GB",
    "power of an 8 GB channel at 20 %, derived from 2 W/GB",
    "E_Mem@20", "HyperTransport lanes",
    "HyperTransport energy", "PCIe energy with its bridges",
    "the same, 40 W and 60 W added as printed",
    "the same at the clock of Table 4.3",
}  # fmt: skip


def test_numa_figures_follow_from_inputs() -> None:
    assert inter_blade_latency() == pytest.approx(405)
    assert link_energy_per_bit("another blade") == pytest.approx(109.5)
    ours = {row.what: row.ours for row in recomputed()}
    for what, value in PRINTED.items():
        assert ours[what] == pytest.approx(value, abs=0.005), what


def test_known_inconsistencies_of_thesis_are_found() -> None:
    assert {row.what for row in recomputed() if not row.agrees} == INCONSISTENT


@pytest.mark.parametrize(
    ("path", "value"), [("another blade", 2.2785), ("two hops", 2.9444), ("one hop", 4.8889)]
)
def test_break_even_has_equal_energies(path: str, value: float) -> None:
    reuse = break_even(path)  # type: ignore[arg-type]
    assert reuse == pytest.approx(value, abs=5e-5)
    assert migration_energy(path, reuse) == pytest.approx(remote_energy(path, reuse))  # type: ignore[arg-type]


def test_thesis_constants_have_units_and_sources() -> None:
    for constant in THESIS.constants():
        assert constant.unit
        assert "4." in constant.source
    assert pytest.approx(THESIS.extra_hop) == EXTRA_HOP
    assert THESIS.service_mean == 0.04


def test_power_and_ed2_follow_from_energy_and_delay() -> None:
    value = migration_over_remote("another blade", 1.0, 1.76)
    assert value["power"] == pytest.approx(1.76 * value["energy"])
    assert value["ed2"] == pytest.approx(value["energy"] / 1.76**2)
    with refused(InvalidOption):
        migration_over_remote("one hop", 1.0, 0.9)
    with refused(InvalidOption):
        migration_energy("one hop", 0.0)
    with refused(InvalidOption):
        link_energy_per_bit("three hops")  # type: ignore[arg-type]


def verdicts(name: str, **options: object) -> dict[str, str]:
    return {
        finding.what: finding.verdict
        for finding in experiment_named(name).run(seed=0, **options).findings
    }


@pytest.mark.parametrize("path", costs.PATHS)
def test_reuse_for_ratio_inverts_curve(path: str) -> None:
    for ratio in (1.2, 1.5, 5.0, 8.0):
        assert migration_over_remote(path, migration._reuse_at(path, ratio), 1.0)[
            "energy"
        ] == pytest.approx(ratio)  # type: ignore[arg-type]
    assert migration._reuse_at(path, 1.0) == pytest.approx(break_even(path))  # type: ignore[arg-type]


def test_migration_claims_of_section_4_5_3() -> None:
    # P12 over two hops: (140 + 72 + 110) / (72 + 110) = 1.769 of the energy, 1.507 of the delay:
    # 0.779 of ED^2
    found = verdicts("numa-figure-4.12")
    assert found["ED^2 prefers migration to access on another blade"] == "reproduced"
    assert found["ED^2 prefers remote access over HyperTransport"] == "differs"
    # read often enough, a page is better moved even within a blade
    often, rarely = (verdicts("numa-figure-4.12", reuse=reuse) for reuse in (5.0, 0.1))
    assert often["ED^2 prefers migration to access on another blade"] == "reproduced"
    assert rarely["ED^2 prefers migration to access on another blade"] == "differs"
    assert rarely["ED^2 prefers remote access over HyperTransport"] == "reproduced"


def test_technology_model_figures_are_in_one_experiment() -> None:
    found = [
        what
        for name in ("table-4.1", "figure-4.4", "table-4.3", "figure-4.10")
        for what in verdicts(f"numa-{name}")
    ]
    for row in recomputed():  # of a derived number the thesis prints what it follows from
        assert found.count(row.what) == (", derived from " not in row.what), row.what


@pytest.mark.slow
def test_published_power_and_ranking_at_limit_ten() -> None:
    findings = {
        finding.what: finding
        for finding in experiment_named("numa-figure-4.13").run(seed=0, tasks=100_000).findings
    }
    assert (
        findings["IB, S1 to S6: link power, PCIe alone for another blade"].verdict == "reproduced"
    )
    order = [
        part.split()[0] for part in findings["power, most first, limit 10, 5300/s"].ours.split(", ")
    ]
    assert order == ["IB", "Local", "IP-2", "IP-1"]
