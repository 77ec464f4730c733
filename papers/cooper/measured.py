"""The claims of Cooper's figures 7 to 13 on penalties that others measured, a second opinion.

Neither Fair-CO2's servers nor Gavel's GPUs are the papers' machines, and their jobs are others:
where a claim holds on the contention model and on both, it hardly hangs on the matrix; where it
holds on one only, it does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ...analysis.report.picture import Chart, Picture
from ...instances.problem.errors import InvalidOption
from ...instances.problem.options import accepts
from ..experiment import Finding, Parts, Variations, draws, each
from . import PAPER
from .attribution import figure_7, figure_8
from .performance import WITHIN, figure_11
from .populations import AS_WELL, FAIR_CO2, GAVEL, MAJORITY, Setting, readings
from .prediction import figure_12
from .scaling import figure_13
from .stability import LARGE_MAJORITY, figure_9, figure_10

_FIGURES = {
    "fig. 7": figure_7, "fig. 8": figure_8, "fig. 9": figure_9, "fig. 10": figure_10,
    "fig. 11": figure_11, "fig. 12": figure_12, "fig. 13": figure_13,
}  # fmt: skip
_DRAWN = ("colocation-figure-8-correlation", "colocation-figure-10", "colocation-figure-12")
_SERVERS, _GPUS = Setting(draws=5, form="fair-co2"), Setting(draws=5, form="gavel")
_PLACE = "figs. 7 to 13, on other penalties"
_OPEN: Variations = {**draws(draws=3), **readings(draws=3)}
_WORDS: Variations = {**MAJORITY, **AS_WELL}


@PAPER.experiment(
    "fair-co2", _PLACE, data=(("matrix", FAIR_CO2),), seconds=120, variations={**_OPEN, **_WORDS},
    hide=("form", "gpu", "model_seed"),
    what="the claims of figures 7 to 13 on the run times that Fair-CO2 measured (-o matrix=)",
)  # fmt: skip
def fair_co2_claims(
    *,
    given: Setting = _SERVERS,
    majority: float = LARGE_MAJORITY,
    as_well: float = WITHIN,
) -> Parts:
    """The claims on the run times of 15 workloads in pairs on a server (Fair-CO2, ISCA 2025;
    `cotenant fetch fair-co2`).

    Parameters
    ----------
    given : see `Setting`; fewer draws than in the figures' own entries.
    majority, as_well : as of `stability.figure_9` and `performance.figure_11`.
    """
    yield from _claims("colocation-fair-co2", given, majority=majority, as_well=as_well)


@PAPER.experiment(
    "gavel", _PLACE, data=(("matrix", GAVEL),), seconds=240,
    variations={**_OPEN, "the GPU": each("gpu", "k80", "v100"), **_WORDS},
    hide=("form", "model_seed"),
    what="the claims of figures 7 to 13 on the throughputs that Gavel measured of training jobs "
    "sharing a GPU (-o matrix=)",
)  # fmt: skip
def gavel_claims(
    *,
    given: Setting = _GPUS,
    majority: float = LARGE_MAJORITY,
    as_well: float = WITHIN,
) -> Parts:
    """The claims on the throughputs of training jobs in pairs on a GPU (Gavel, OSDI 2020).

    Parameters
    ----------
    given : see `Setting`; fewer draws than in the figures' own entries.
    majority, as_well : as of `stability.figure_9` and `performance.figure_11`.
    """
    yield from _claims("colocation-gavel", given, majority=majority, as_well=as_well)


def _claims(name: str, given: Setting, **readings: float) -> Parts:
    """What each figure claims, and the three pictures that tell most."""
    if given.matrix is None:
        raise InvalidOption(
            f"{name} needs measured penalties; give -o matrix=PATH, your copy of them, or --data "
            "FOLDER, which holds it as `cotenant reproduce --list` says"
        )
    pictures: list[Picture] = []
    ran_on: dict[str, Finding] = {}
    for place, figure in _FIGURES.items():
        more: dict[str, Any] = {"slack_seconds": 0.0} | readings
        more = {option: value for option, value in more.items() if accepts(figure, option)}
        if figure is figure_13:
            more |= {"largest": max(given.agents, 20), "proved": 0, "draws": 4 * given.draws}
        for part in figure(given=given, **more):
            if isinstance(part, Chart) and part.name in _DRAWN:
                pictures.append(replace(part, name=part.name.replace("colocation", name, 1)))
            elif isinstance(part, Finding) and part.verdict != "not in the paper":
                yield replace(part, what=f"{place}: {part.what}")
            elif isinstance(part, Finding) and part.what == "what this ran on":
                ran_on[part.ours] = part
    yield from ran_on.values()
    yield from pictures
