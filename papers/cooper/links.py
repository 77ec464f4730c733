"""Does penalty follow demand? Spearman's coefficient over job types, by population and on the mean
of populations.

A link is a coefficient that chance would give in fewer than 5 % of cases (one-sided). Cooper speaks
of jobs whose "ranked penalties are unrelated to ranked demands" and gives no test; this one is
ours.
"""

from __future__ import annotations

import numpy as np

from ...analysis.colocation.metrics import attribution
from ...instances.colocation.instance import Colocation, Floats, Pairing
from ...instances.colocation.objective import type_penalties

SIGNIFICANT = 0.05

Rows = list[tuple[Colocation, Pairing]]
"""Populations, each with a pairing of it."""


def mean_bars(rows: Rows) -> Floats:
    """(T,) mean penalty of each type over the populations it occurs in; NaN without any."""
    table = np.stack([type_penalties(population, pairing) for population, pairing in rows])
    present = ~np.isnan(table)
    total = np.where(present, table, 0.0).sum(axis=0)
    number = present.sum(axis=0)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def linked(bars: Floats, demand: Floats) -> tuple[float, bool]:
    """Spearman's coefficient over the types that occur, and whether it is a link.

    Parameters
    ----------
    bars, demand : (T,) penalties, NaN for a type that does not occur, and demands.
    """
    from scipy.stats import spearmanr

    there = ~np.isnan(bars)
    if (
        there.sum() < 3
        or len(np.unique(np.round(bars[there], 12))) < 2
        or len(np.unique(demand[there])) < 2
    ):
        return 0.0, False
    test = spearmanr(np.round(bars[there], 12), demand[there], alternative="greater")
    return float(test.statistic), bool(test.pvalue < SIGNIFICANT)


def correlations(rows: Rows) -> Floats:
    """One rank correlation per population; those where it is not defined are left out."""
    found = [attribution(population, pairing) for population, pairing in rows]
    return np.array([value for value in found if value is not None])


def spread(values: Floats) -> str:
    """Mean and deviation over populations, for a cell."""
    if not len(values):
        return "not defined"
    return f"{values.mean():.2f} ± {values.std():.2f} over {len(values)} populations"
