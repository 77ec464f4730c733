"""Populations of jobs, the five policies and proved pairings of Cooper's evaluation, and the
correlation of penalty with demand.

The papers' measured 20 x 20 penalties were never published. The contention model of
`instances.colocation.generators` stands in for them, and any measured matrix can be given in its
place; every experiment says which it ran on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, cast

import numpy as np

from ...analysis.colocation.metrics import attribution
from ...baselines.colocation import Ties
from ...catalog import functions
from ...instances.colocation.formats import fair_co2, gavel, penalty_csv, slowdown_csv
from ...instances.colocation.generators import WORKLOADS, ContentionModel, Mix, mixed_counts
from ...instances.colocation.instance import Colocation, Floats, Pairing
from ...instances.colocation.objective import type_penalties
from ...instances.problem.errors import InvalidOption
from ...instances.problem.files import read
from ...instances.problem.option_types import AtLeast, validate_options
from ...instances.problem.options import accepted
from ...solvers.colocation import at_most_blocking, optimal
from ...solvers.outcome import Status
from ..experiment import Paper, Variations, draws, each

PAPER = Paper(
    "cooper",
    "Cooper: Task Colocation with Cooperative Games (2017)",
    "Cooper",
    "colocation",
    guide="The papers' measured penalties were never published: all but figures 5 and 14 run on a "
    "synthetic contention model. Guide: [colocation](../colocation.md), and [where the text "
    "cannot be followed](../errata.md#cooper-colocation).",
    not_determined=(
        ("Cooper figs. 2 and 3, thesis figs. 2.3 and 2.4",
         "the penalties of four users beside each other are only a picture; the text prints two "
         "numbers of them"),
        ("Cooper figs. 4 and 6, thesis figs. 2.5 and 2.7",
         "drawings of the architecture; there is nothing to compute"),
        ("Cooper figs. 7 to 13, the values of bars, boxes and points",
         "they come from those penalties; what is tested are the sentences about them"),
    ),
)  # fmt: skip

Order = Literal["index", "random"]
Form = Literal["instance", "fair-co2", "gavel", "penalty-csv", "slowdown-csv"]

CONVENTIONAL = ("GR", "CO")
STABLE = ("SMP", "SMR", "SR")
POLICIES = (*CONVENTIONAL, *STABLE)
"""Cooper section IV.C, in the order of its figures."""

LEAST = "least penalty, proved"
UNBLOCKED = "no blocking pair, proved"

SYNTHETIC = "synthetic penalties: the papers' measured matrix was never published"
FAIR_CO2 = "interference/fairco2_runtime_colocation_matrix.csv"
GAVEL = "interference/gavel_pairs.json"

_LONG = 16
SIGNIFICANT = 0.05

Rows = list[tuple[Colocation, Pairing]]
"""Populations, each with a pairing of it."""


class Types(NamedTuple):
    """Types of jobs with their penalties, a label of their demand, and a note on their source. The
    label has the demand's unit, for an axis; the counts of the instance `base` are ignored.
    """

    base: Colocation
    demand: str
    note: str


@validate_options
@dataclass(frozen=True)
class Setting:
    """Populations of Cooper's evaluation, and the options of its policies.

    Attributes
    ----------
    seed : of the populations and of the policies' own draws.
    agents, draws : size of a population, even, since everyone is paired, and how many populations.
    order : in which GR's tasks come. The papers draw agents at random, so "random" is their order.
    ties : how SR's agents rank co-runners that cost the same. The papers' agents
        rank each other one by one, so "own" is their reading.
    matrix : path of measured penalties, in place of the contention model.
    form : how that file is read: a cotenant instance, or a foreign format of `cotenant convert`.
        Without bandwidths a job counts as the more contentious the more it makes the others lose,
        mean over co-runners.
    model_seed : of the contention model; another seed, another matrix.

    Raises
    ------
    InvalidOption
        A number out of range, or a form without a matrix.
    InvalidFile
        A file that cannot be read.

    Notes
    -----
    Types that may not share with every other one are left out, the one with the most forbidden
    partners first: a population drawn at random could otherwise have no pairing.
    """

    seed: int = 0
    agents: int = 1000
    draws: Annotated[int, AtLeast(1, "the number of populations")] = 10
    order: Order = "random"
    ties: Ties = "own"
    matrix: str | None = None
    form: Form = "instance"
    model_seed: Annotated[int, AtLeast(0)] = 2017

    def __post_init__(self) -> None:
        if self.agents < 2 or self.agents % 2:
            raise InvalidOption(
                f"agents is {self.agents}; expected an even number, 2 or more, since everyone is "
                "paired"
            )

    @cached_property
    def types(self) -> Types:
        """Types of jobs, read from the matrix or made by the contention model."""
        demand = "memory bandwidth [GB/s]"
        if self.matrix is None:
            if self.form != "instance":
                raise InvalidOption(f"form={self.form} describes a matrix; give matrix=PATH too")
            return Types(_synthetic(self.model_seed), demand, SYNTHETIC)
        base, left_out = _sharing(_read(self.matrix, self.form))
        note = f"measured penalties: {base.source or base.name}"
        if left_out:
            note += f"; without {left_out} types that may not share with all others"
        if base.bandwidth is None:
            demand = "penalty inflicted on others, mean [%]"
            base = base.replace(bandwidth=np.maximum(100 * base.penalty.mean(axis=0), 0.0))
            note += "; without bandwidths, contentious is who makes others lose most"
        return Types(base, demand, note)

    @property
    def synthetic(self) -> bool:
        """Whether the penalties come from the contention model."""
        return self.matrix is None

    @property
    def demands(self) -> Floats:
        """Demand (T,) of each type, in the unit that `types` names."""
        assert self.types.base.bandwidth is not None
        return self.types.base.bandwidth

    @property
    def ascending(self) -> list[int]:
        """Indices of the types by increasing demand, as on the papers' axes."""
        return [int(kind) for kind in np.argsort(self.demands, kind="stable")]

    @property
    def ticks(self) -> tuple[str, ...]:
        """Axis labels by increasing demand: name and demand, long names cut where they stay
        different.
        """
        names = [self.types.base.names[kind] for kind in self.ascending]
        cut = [name if len(name) <= _LONG else name[: _LONG - 1] + "…" for name in names]
        demands = [f"{self.demands[kind]:.3g}" for kind in self.ascending]
        full, short = (
            tuple(map(" ".join, zip(said, demands, strict=True))) for said in (names, cut)
        )
        return short if len(set(short)) == len(short) else full

    def population(
        self, draw: int, *, agents: int | None = None, mix: Mix = "uniform"
    ) -> Colocation:
        """Population number `draw`: jobs drawn with replacement by the mix."""
        number = self.agents if agents is None else agents
        rng = np.random.default_rng([self.seed, draw, number])
        count = mixed_counts(self.demands, number, mix, rng)
        return self.types.base.replace(count=count, name=f"{mix}-{number}-draw-{draw}")

    def populations(self, **more: Any) -> list[Colocation]:
        """All populations of the setting, see `population`."""
        return [self.population(draw, **more) for draw in range(self.draws)]

    def paired(self, name: str, population: Colocation, draw: int) -> Pairing:
        """Pair a population by a policy, whose own random draws depend on `draw` alone."""
        policy = policies(self.order, self.ties)[name]
        rng = np.random.default_rng([self.seed, draw, POLICIES.index(name)])
        return policy(population, **accepted(policy, {"rng": rng}))


EVALUATION = Setting()
"""The evaluation's own populations, ten of a thousand agents."""


def penalties(**shorter: Any) -> Variations:
    """Variations of Cooper's populations: other draws, and other penalties, since the paper's are
    unpublished; `shorter` are options that make such a run take less time.
    """
    measured = {
        "Fair-CO2's": {"matrix": Path(FAIR_CO2), "form": "fair-co2"},
        "Gavel's": {"matrix": Path(GAVEL), "form": "gavel"},
    }
    ways = {**each("model_seed", 1, 2, 3), **measured}
    return {
        **draws(**shorter),
        "the penalties": {how: {**changes, **shorter} for how, changes in ways.items()},
    }


def readings(**shorter: Any) -> Variations:
    """Variations of what Cooper does not state: the order of GR's tasks, and SR's ranking of
    equals.
    """
    order, ties = each("order", "index", **shorter), each("ties", "index", **shorter)
    return {"the order of GR's tasks": order, "how SR ranks equals": ties}


MAJORITY: Variations = {"the meaning of a large majority": {"more than half": {"majority": 0.5}}}
AS_WELL: Variations = {"the meaning of as well": {"5 %, as in the abstract": {"as_well": 0.05}}}


def policies(order: Order = "random", ties: Ties = "own") -> dict[str, Callable[..., Pairing]]:
    """The five policies of Cooper by name, with the options of GR and SR."""
    named = functions("colocation", *POLICIES)
    return named | {"GR": partial(named["GR"], order=order), "SR": partial(named["SR"], ties=ties)}


def least_penalty(population: Colocation) -> Pairing:
    """Pairing of least mean penalty of a population, proved optimal."""
    outcome = optimal(population)
    assert outcome.status is Status.OPTIMAL
    return cast("Pairing", outcome.solution)


def unblocked(population: Colocation) -> Pairing | None:
    """Pairing of least mean penalty among those without a blocking pair; None if it is proved that
    none exists.
    """
    outcome = at_most_blocking(population)
    assert outcome.status in (Status.OPTIMAL, Status.INFEASIBLE)
    return cast("Pairing | None", outcome.solution)


def all_unblocked(populations: Iterable[Colocation]) -> Rows:
    """Populations with a pairing without blocking pairs, each with the one of least penalty."""
    found = [(entry, unblocked(entry)) for entry in populations]
    return [(entry, answer) for entry, answer in found if answer is not None]


def mean_bars(rows: Rows) -> Floats:
    """Mean penalty (T,) of each type over the populations that contain it; NaN if none does."""
    table = np.stack([type_penalties(population, pairing) for population, pairing in rows])
    present = ~np.isnan(table)
    total, number = np.where(present, table, 0.0).sum(axis=0), present.sum(axis=0)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def linked(bars: Floats, demand: Floats) -> tuple[float, bool]:
    """Spearman's coefficient of penalty and demand over the types that occur, and whether it is
    significantly positive (one-sided at 5 %). Cooper speaks of jobs whose "ranked penalties are
    unrelated to ranked demands" and gives no test; this one is ours.

    Parameters
    ----------
    bars, demand : (T,) penalties, NaN for a type that does not occur, and demands.
    """
    from scipy.stats import spearmanr

    there = ~np.isnan(bars)
    value, against = np.round(bars[there], 12), demand[there]
    if len(value) < 3 or len(np.unique(value)) < 2 or len(np.unique(against)) < 2:
        return 0.0, False
    test = spearmanr(value, against, alternative="greater")
    return float(test.statistic), bool(test.pvalue < SIGNIFICANT)


def correlations(rows: Rows) -> Floats:
    """Rank correlation of penalty and demand of each population for which it is defined."""
    found = [attribution(population, pairing) for population, pairing in rows]
    return np.array([value for value in found if value is not None])


def spread(values: Floats) -> str:
    """Mean and standard deviation over populations as the text of a table cell."""
    if not len(values):
        return "not defined"
    return f"{values.mean():.2f} ± {values.std():.2f} over {len(values)} populations"


def within_deviation(
    samples: Mapping[Any, Floats],
) -> tuple[dict[Any, float], tuple[list[float], list[float]]]:
    """Means of samples, each with the interval of one standard deviation about it."""
    mean = {name: float(values.mean()) for name, values in samples.items()}
    low, high = (
        [mean[name] + sign * float(values.std()) for name, values in samples.items()]
        for sign in (-1, 1)
    )
    return mean, (low, high)


def listed(
    values: Mapping[str, float], form: str = ".2f", scale: float = 1.0, unit: str = ""
) -> str:
    """Format numbers with their names for a table cell."""
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


def _read(path: str, form: Form) -> Colocation:
    """Instance of the types of a measured matrix, two agents of each; forbidden pairs stay
    forbidden.
    """
    if form == "instance":
        given = read(path)
        if not isinstance(given, Colocation):
            raise InvalidOption(
                f"matrix={path} holds a {given.problem} instance; expected colocation"
            )
        return given.replace(count=np.full(given.types, 2), machines=np.inf, unpaired=None)
    if form == "gavel":
        return gavel(path, gpu="p100", copies=2, machines=np.inf)
    reader = {"fair-co2": fair_co2, "penalty-csv": penalty_csv, "slowdown-csv": slowdown_csv}[form]
    return reader(path, copies=2, machines=np.inf)


def _sharing(given: Colocation) -> tuple[Colocation, int]:
    """Types that may all share with each other, found greedily, and the number left out."""
    kept = np.arange(given.types)
    while (forbidden := ~given.allowed[np.ix_(kept, kept)]).any():
        # On equal numbers the last type goes, so that the answer does not depend on anything else.
        worst = len(kept) - 1 - int(np.argmax(forbidden.sum(axis=1)[::-1]))
        kept = np.delete(kept, worst)
    if len(kept) < 3:
        raise InvalidOption(
            f"only {len(kept)} types of the matrix may all share with each other; expected 3 "
            "or more"
        )
    only = Colocation(
        penalty=given.penalty[np.ix_(kept, kept)],
        count=np.full(len(kept), 2),
        bandwidth=None if given.bandwidth is None else given.bandwidth[kept],
        names=tuple(given.names[kind] for kind in kept.tolist()),
        name=given.name,
        source=given.source,
    )
    return only, given.types - len(kept)
