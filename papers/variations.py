"""What the papers leave open, and how experiments change it where a finding differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Variations = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""What is changed -> how -> options: first the one changed, then what goes with it."""


@dataclass(frozen=True)
class Copy:
    """A file in a folder of users' copies: an option whose value is its path there."""

    file: str

    def under(self, folder: Path | None) -> str | None:
        """Its path; None where the folder does not hold it."""
        path = None if folder is None else folder / self.file
        return str(path) if path is not None and path.is_file() else None


def draws(**shorter: Any) -> Variations:
    """Seeds 1 to 3; `shorter` are options that make such a run take less time."""
    return {"the draw": {f"seed {seed}": {"seed": seed, **shorter} for seed in (1, 2, 3)}}


def _each(option: str, *values: Any, **also: Any) -> Mapping[str, Mapping[str, Any]]:
    """A run for each value of an option, called so."""
    return {f"{option}={_shown(value)}": {option: value, **also} for value in values}


def _shown(value: Any) -> str:
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)


FAIR_CO2 = Copy("interference/fairco2_runtime_colocation_matrix.csv")
GAVEL = Copy("interference/gavel_pairs.json")


def populations(**shorter: Any) -> Variations:
    """Of Cooper's evaluation: other populations and penalties; theirs are unpublished."""
    measured = {
        "Fair-CO2's": {"matrix": FAIR_CO2, "form": "fair-co2"},
        "Gavel's": {"matrix": GAVEL, "form": "gavel"},
    }
    penalties = {**_each("model_seed", 1, 2, 3), **measured}
    return {
        **draws(**shorter),
        "the penalties": {how: {**changes, **shorter} for how, changes in penalties.items()},
    }


def policies(**shorter: Any) -> Variations:
    """What Cooper does not say: the order of GR's tasks, how SR's agents rank equals."""
    order, ties = _each("order", "index", **shorter), _each("ties", "index", **shorter)
    return {"the order of GR's tasks": order, "how SR ranks equals": ties}


def compared() -> Variations:
    """Of the admission comparisons: other draws, other readings of Table I and the score."""
    return {
        **draws(optima=0),
        "how Table I's maxima are read": _each("ranges", "simulation", "most", optima=0),
        "what the resource score compares with": _each("resource", "fastest", optima=0),
    }


COUPLING: Variations = {"how agents of a type are compared": _each("coupling", "sorted")}
MAJORITY: Variations = {"what a large majority is": {"more than half": {"majority": 0.5}}}
AS_WELL: Variations = {"what as well is": {"5 %, as in the abstract": {"as_well": 0.05}}}
POLICY: Variations = {"the policy, which the figure's heading calls SR": _each("policy", "SR")}
GPU: Variations = {"the GPU": _each("gpu", "k80", "v100")}

HIGH_LOAD: Variations = {
    **draws(benchmarks="MI"),
    "the load": {
        f"{rate:g}/s": {"high": rate, "near": rate, "benchmarks": "MI"}
        for rate in (4500.0, 4800.0, 5400.0)
    },
}
"""Of numa-figure-4.9, memory-intensive benchmarks but the extreme: no arrivals printed."""

REUSE: Variations = {"the accesses of a byte": _each("reuse", 0.3, 0.5, 0.7, 2.0)}
NEAR_SATURATION: Variations = {
    **draws(),
    "the load": {f"{rate:g}/s": {"high": rate} for rate in (4800.0, 4900.0, 5000.0)},
}
QUEUES: Variations = {
    **draws(), "the benchmark": _each("benchmark", "S6", "P12"),
    "the refusal limit": _each("refusal_limit", 10.0, 1000.0, None),
}  # fmt: skip

_TYPES = ("Tiny,Small,Medium", "Small,Medium,Large", "Tiny,Tiny,Tiny")
GAME: Variations = {
    "alpha": _each("alpha", 3.0, 5.0),
    "eta": _each("eta", 3, 20),
    "the VM types": _each("types", *_TYPES[:2]),
}
GROWING: Variations = {
    "alpha": _each("alpha", 2.0, largest=500, eta=3),
    "eta": _each("eta", 1, 2, 5, 10, largest=500),
    "the VM types": _each("types", *_TYPES, largest=500, eta=3),
}
GAMES: Variations = {
    **draws(games=50),
    "alpha": _each("alpha", 3.0, 5.0, games=50),
    "the strategy sets": _each("eta", 30, servers=3, games=50),
    "the number of servers": _each("servers", 2, 3, games=50),
    "the VMs' size": {"servers four times as large": {"size": 4, "games": 20}},
}

MACHINES: Variations = {
    "the cores": _each("most_cores", 8.0, 12.0, 16.0),
    "the machine": {
        name: {"where": f"platform={name},implementation=Pthreads", "most_cores": 24.0}
        for name in ("power8", "xeon_phi")
    },
}
HILL_CLIMBING: Variations = {
    **draws(), "XC's first step": _each("step", 0.01, 0.5), "XC's rounds": _each("rounds", 1, 3),
}  # fmt: skip
