"""The claims of Cooper's figures 7 to 13 on penalties that others measured, a second opinion.

Neither Fair-CO2's servers nor Gavel's GPUs are the papers' machines, and their jobs are others:
where a claim holds on the contention model and on both, it hardly hangs on the matrix; where it
holds on one only, it does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ...analysis.report.picture import Chart, Picture
from ...baselines.colocation import Ties
from ...instances.problem.errors import InvalidOption
from ...instances.problem.options import accepts
from ..registry import Finding, experiment
from .attribution import figure_7, figure_8
from .performance import AS_WELL, figure_11
from .populations import Gpu, Order
from .prediction import figure_12
from .scaling import figure_13
from .stability import LARGE_MAJORITY, figure_9, figure_10

_FIGURES: dict[str, Callable[..., list[Finding | Picture]]] = {
    "fig. 7": figure_7, "fig. 8": figure_8, "fig. 9": figure_9, "fig. 10": figure_10,
    "fig. 11": figure_11,
    "fig. 12": figure_12, "fig. 13": figure_13,
}  # fmt: skip
_SIZED = ("fig. 7", "fig. 8", "fig. 9", "fig. 10", "fig. 11", "fig. 12")
_DRAWN = ("colocation-figure-8-correlation", "colocation-figure-10", "colocation-figure-12")


def fair_co2_claims(
    *,
    seed: int = 0,
    matrix: str | None = None,
    bandwidth: str | None = None,
    agents: int = 1000,
    draws: int = 5,
    order: Order = "random",
    ties: Ties = "own",
    majority: float = LARGE_MAJORITY,
    as_well: float = AS_WELL,
) -> list[Finding | Picture]:
    """On the run times of 15 workloads in pairs on a server (Fair-CO2, ISCA 2025; `cotenant fetch
    fair-co2`).

    Parameters
    ----------
    matrix : path of the run-time matrix.
    bandwidth : path of a CSV file with the jobs' bandwidths; without it contentious is who makes
        others lose most.
    agents, draws : of a population, and how many; fewer draws than in the figures' own entries,
        which take the same options.
    order, ties, majority, as_well : as of the figures.
    """
    readings = {"order": order, "ties": ties, "majority": majority, "as_well": as_well}
    return _claims(
        "colocation-fair-co2",
        seed,
        matrix,
        agents,
        draws,
        form="fair-co2",
        bandwidth=bandwidth,
        **readings,
    )


def gavel_claims(
    *,
    seed: int = 0,
    matrix: str | None = None,
    gpu: Gpu = "p100",
    agents: int = 1000,
    draws: int = 5,
    order: Order = "random",
    ties: Ties = "own",
    majority: float = LARGE_MAJORITY,
    as_well: float = AS_WELL,
) -> list[Finding | Picture]:
    """On the throughputs of training jobs in pairs on a GPU (Gavel, OSDI 2020).

    Parameters
    ----------
    matrix : path of Gavel's throughput table.
    gpu : which of its GPUs.
    agents, draws : of a population, and how many; fewer draws than in the figures' own entries,
        which take the same options.
    order, ties, majority, as_well : as of the figures.
    """
    readings = {"order": order, "ties": ties, "majority": majority, "as_well": as_well}
    return _claims(
        "colocation-gavel", seed, matrix, agents, draws, form="gavel", gpu=gpu, **readings
    )


@experiment
def _claims(
    name: str, seed: int, matrix: str | None, agents: int, draws: int, **source: Any
) -> Iterator[Finding | Picture]:
    """What each figure claims, and the three pictures that tell most."""
    if matrix is None:
        raise InvalidOption(
            f"{name} needs measured penalties; give -o matrix=PATH, your copy of them, or --data "
            "FOLDER, which holds it as `cotenant reproduce --list` says"
        )
    pictures: list[Picture] = []
    ran_on: dict[str, Finding] = {}
    for place, figure in _FIGURES.items():
        sized = {"agents": agents} if place in _SIZED else {"largest": max(agents, 20), "proved": 0}
        taken = {
            name: value
            for name, value in ({"slack_seconds": 0.0} | source).items()
            if accepts(figure, name)
        }
        for part in figure(
            seed=seed,
            draws=draws if place != "fig. 13" else 4 * draws,
            matrix=matrix,
            **sized,
            **taken,
        ):
            if isinstance(part, Chart):
                if part.name in _DRAWN:
                    pictures.append(replace(part, name=part.name.replace("colocation", name, 1)))
            elif isinstance(part, Finding):
                if part.verdict != "not in the paper":
                    yield replace(part, what=f"{place}: {part.what}")
                elif part.what == "what this ran on":
                    ran_on[part.ours] = part
    yield from ran_on.values()
    yield from pictures
