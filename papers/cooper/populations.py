"""What Cooper's evaluation runs on: populations of jobs, the five policies, and proved pairings.

The papers' measured 20 x 20 penalties were never published. The contention model of
`instances.colocation.workloads` stands in for them, and any measured matrix can be given in its
place; every experiment says which it ran on.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Literal, cast

import numpy as np

from ...baselines.colocation import Ties
from ...catalog import functions
from ...instances.colocation.formats import fair_co2, gavel, penalty_csv, slowdown_csv
from ...instances.colocation.generators import Mix, mixed_counts
from ...instances.colocation.instance import Colocation, Floats, Pairing
from ...instances.colocation.workloads import WORKLOADS, ContentionModel
from ...instances.problem.errors import InvalidOption
from ...instances.problem.files import read
from ...instances.problem.option_types import AtLeast, validate_options
from ...solvers.colocation import find_stable, optimal
from ...solvers.outcome import Status
from ..given import Figure, Yields, given_by

Order = Literal["index", "random"]
Gpu = Literal["k80", "p100", "v100"]
Form = Literal["instance", "fair-co2", "gavel", "penalty-csv", "slowdown-csv"]

CONVENTIONAL = ("GR", "CO")
STABLE = ("SMP", "SMR", "SR")
POLICIES = (*CONVENTIONAL, *STABLE)
"""Cooper section IV.C, in the order of its figures."""

LEAST = "least penalty, proved"
UNBLOCKED = "no blocking pair, proved"

_LONG = 16

SYNTHETIC = "synthetic penalties: the papers' measured matrix was never published"


@dataclass(frozen=True)
class Setting:
    """What populations are drawn from.

    Attributes
    ----------
    base : the types, their penalties and demands; its counts are not looked at.
    demand : what the demand is, with its unit, for an axis.
    note : which penalties these are.
    synthetic : whether they come from the contention model.
    agents : of each population.
    order : in which GR's tasks come. The papers draw agents at random, so "random" is their order.
    ties : how SR's agents rank co-runners that cost the same, see `roommates`. The papers' agents
        rank each other one by one, so "own" is their reading.
    seed : of the draws.
    """

    base: Colocation
    demand: str
    note: str
    synthetic: bool
    agents: int
    order: Order
    ties: Ties
    seed: int

    @property
    def demands(self) -> Floats:
        """(T,) of the types."""
        assert self.base.bandwidth is not None
        return self.base.bandwidth

    @property
    def ascending(self) -> list[int]:
        """The types by increasing demand, as on the papers' axes."""
        return [int(kind) for kind in np.argsort(self.demands, kind="stable")]

    @property
    def ticks(self) -> tuple[str, ...]:
        """Names with demands, by increasing demand; long ones cut where they stay different."""
        names = [(self.base.names[kind], f"{self.demands[kind]:.3g}") for kind in self.ascending]
        short = tuple(
            f"{name if len(name) <= _LONG else name[: _LONG - 1] + '…'} {demand}"
            for name, demand in names
        )
        return (
            short
            if len(set(short)) == len(short)
            else tuple(f"{name} {demand}" for name, demand in names)
        )

    def population(
        self, draw: int, *, agents: int | None = None, mix: Mix = "uniform"
    ) -> Colocation:
        """The population of that number: jobs drawn with replacement by the mix."""
        number = self.agents if agents is None else agents
        rng = np.random.default_rng([self.seed, draw, number])
        return self.base.replace(
            count=mixed_counts(self.demands, number, mix, rng), name=f"{mix}-{number}-draw-{draw}"
        )

    def paired(self, name: str, population: Colocation, draw: int) -> Pairing:
        """What a policy does with a population; its own draws depend on `draw` alone."""
        policy = policies(self.order, self.ties)[name]
        return policy(
            population, rng=np.random.default_rng([self.seed, draw, POLICIES.index(name)])
        )


@validate_options
def setting(
    *,
    seed: int,
    agents: int,
    draws: Annotated[int, AtLeast(1, "the number of populations")],
    order: Order = "random",
    ties: Ties = "own",
    matrix: str | None = None,
    form: Form = "instance",
    bandwidth: str | None = None,
    gpu: Gpu = "p100",
    model_seed: Annotated[int, AtLeast(0)] = 2017,
) -> Setting:
    """What an experiment runs on.

    Parameters
    ----------
    seed : of the populations and of the policies' own draws.
    agents, draws : size and number of populations, checked here; agents is even, since everyone is
        paired.
    order, ties : in which order GR's tasks come, and how SR's agents rank equals.
    matrix : path of measured penalties, in place of the contention model.
    form : how that file is read: a cotenant instance, or a foreign format of `cotenant convert`.
    bandwidth : path of a CSV file with the demands of the matrix's jobs: name, GB/s. Without
        demands a job counts as the more contentious the more it makes the others lose, mean over
        co-runners.
    gpu : which of Gavel's tables.
    model_seed : of the contention model; another seed, another matrix.

    Raises
    ------
    InvalidOption
        A number out of range, or a bandwidth or form without a matrix.
    InvalidFile
        A file that cannot be read.

    Notes
    -----
    Types that may not share with every other one are left out, the one with the most forbidden
    partners first: a population drawn at random could otherwise have no pairing.
    """
    if agents < 2 or agents % 2:
        raise InvalidOption(
            f"agents is {agents}; expected an even number, 2 or more, since everyone is paired"
        )
    if matrix is None:
        if bandwidth is not None or form != "instance":
            raise InvalidOption("form and bandwidth describe a matrix; give matrix=PATH too")
        return Setting(
            _synthetic(model_seed),
            "memory bandwidth [GB/s]",
            SYNTHETIC,
            True,
            agents,
            order,
            ties,
            seed,
        )
    base, left_out = _sharing(_read(matrix, form, bandwidth, gpu))
    note = f"measured penalties: {base.source or base.name}"
    if left_out:
        note += f"; without {left_out} types that may not share with all others"
    demand = "memory bandwidth [GB/s]"
    if base.bandwidth is None:
        demand = "penalty inflicted on others, mean [%]"
        inflicted = np.maximum(100 * base.penalty.mean(axis=0), 0.0)
        base = base.replace(bandwidth=inflicted)
        note += "; without bandwidths, contentious is who makes others lose most"
    return Setting(base, demand, note, False, agents, order, ties, seed)


def on_setting(
    *, draws: int, agents: int = 1000, fixed: Collection[str] = ()
) -> Callable[[Yields], Figure]:
    """Make an experiment of a function of a Setting, see `given_by`; `draws` is handed on too."""
    return given_by(setting, {"seed": 0, "agents": agents, "draws": draws}, fixed)


def policies(order: Order = "random", ties: Ties = "own") -> dict[str, Callable[..., Pairing]]:
    """The papers' five policies by name."""
    named = functions("colocation", *POLICIES)
    return named | {"GR": partial(named["GR"], order=order), "SR": partial(named["SR"], ties=ties)}


def least_penalty(population: Colocation) -> Pairing:
    """The pairing of least mean penalty, proved."""
    outcome = optimal(population)
    assert outcome.status is Status.OPTIMAL
    return cast("Pairing", outcome.solution)


def unblocked(population: Colocation) -> Pairing | None:
    """The unblocked pairing of least mean penalty; None when it is proved that none is."""
    outcome = find_stable(population)
    assert outcome.status in (Status.OPTIMAL, Status.INFEASIBLE)
    return cast("Pairing | None", outcome.solution)


def listed(
    values: Mapping[str, float], form: str = ".2f", scale: float = 1.0, unit: str = ""
) -> str:
    """Several numbers by name, for a cell."""
    return ", ".join(f"{name} {scale * value:{form}}{unit}" for name, value in values.items())


def _synthetic(model_seed: int) -> Colocation:
    demand = np.array([entry[2] for entry in WORKLOADS])
    return Colocation(
        penalty=ContentionModel(seed=model_seed).penalties(demand),
        count=np.full(len(WORKLOADS), 2),
        bandwidth=demand,
        names=tuple(entry[0] for entry in WORKLOADS),
        name="contention-model",
        source=f"contention model, seed {model_seed}",
    )


def _read(path: str, form: Form, bandwidth: str | None, gpu: Gpu) -> Colocation:
    """Two agents of each type: every entry is looked at; forbidden pairs come later."""
    if form == "instance":
        given = read(path)
        if not isinstance(given, Colocation):
            raise InvalidOption(
                f"matrix={path} holds a {given.problem} instance; expected colocation"
            )
        if bandwidth is not None:
            raise InvalidOption("bandwidth is for foreign formats; an instance file holds its own")
        return given.replace(count=np.full(given.types, 2), machines=np.inf, unpaired=None)
    if form == "gavel":
        if bandwidth is not None:
            raise InvalidOption(
                "bandwidth is not for form=gavel; its jobs share GPUs, not memory systems"
            )
        return gavel(path, gpu=gpu, copies=2, machines=np.inf)
    reader = {"fair-co2": fair_co2, "penalty-csv": penalty_csv, "slowdown-csv": slowdown_csv}[form]
    return reader(path, copies=2, machines=np.inf, bandwidth=bandwidth)


def _sharing(given: Colocation) -> tuple[Colocation, int]:
    """The types that may all share with each other, and how many are left out."""
    kept = np.arange(given.types)
    while True:
        forbidden = ~given.allowed[np.ix_(kept, kept)]
        if not forbidden.any():
            break
        # On equal numbers the last type goes, so that the answer does not depend on anything else.
        worst = len(kept) - 1 - int(np.argmax(forbidden.sum(axis=1)[::-1]))
        kept = np.delete(kept, worst)
    if len(kept) < 3:
        raise InvalidOption(
            f"only {len(kept)} types of the matrix may all share with each other; expected 3 "
            "or more"
        )
    bandwidth = None if given.bandwidth is None else given.bandwidth[kept]
    names = tuple(given.names[kind] for kind in kept.tolist())
    only = Colocation(
        penalty=given.penalty[np.ix_(kept, kept)], count=np.full(len(kept), 2), bandwidth=bandwidth,
        names=names,
        name=given.name, source=given.source,
    )  # fmt: skip
    return only, given.types - len(kept)
