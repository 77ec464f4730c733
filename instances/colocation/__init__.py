"""Colocation: pair jobs on shared processors (Cooper, HPCA 2017; thesis chapter 2)."""

from ..problem.registry import CsvForm, Problem
from .instance import Colocation, Pairing, answer_table, check, read_table
from .objective import scale
from .stability import ALPHA_MODES, BlockingPairs, blocking_pairs, gains

PROBLEM = Problem(
    title="pair jobs on shared processors",
    instance=Colocation,
    solutions=(Pairing,),
    check=check,
    answer_table=answer_table,
    read_table=read_table,
    answer_columns="job,beside[,machines]",
    generators={
        "population": "instances.colocation.generators:population",
        "preferences": "instances.colocation.generators:random_preferences",
        "scores": "instances.colocation.generators:score_preferences",
    },
    formats={
        "pairs-csv": "instances.colocation.pairs:pairs_csv",
        "penalty-csv": "instances.colocation.formats:penalty_csv",
        "slowdown-csv": "instances.colocation.formats:slowdown_csv",
        "fair-co2": "instances.colocation.formats:fair_co2",
        "gavel": "instances.colocation.formats:gavel",
        "preferences": "instances.colocation.lists:preference_lists",
    },
    csv_form=CsvForm(
        "pairs-csv", "pairs.csv", ("service", "beside"), "service,beside,slowdown|penalty"
    ),
    scale=scale,
)

__all__ = [
    "ALPHA_MODES",
    "PROBLEM",
    "BlockingPairs",
    "Colocation",
    "Pairing",
    "blocking_pairs",
    "check",
    "gains",
]
