"""Item-based collaborative filtering: missing entries of a matrix from a sample.

Rows are consumers (a job, a user), columns are items (a co-runner, a server), entries what the
row's owner experiences. The papers name a library (recommenderlab) and the idea (a co-runner
affects similar jobs similarly); the formulas are ours:

1. Baseline. entry[i, j] is near r_i c_j, a row's sensitivity times a column's pressure, fitted to
   the sampled entries by alternating least squares, both shrunk: r towards 1, c towards the
   sample's mean. A row or column without any sample thereby falls back on 1 or on the mean.
2. Similarity of two columns: cosine over all rows of the matrix filled so far, each row
   standardized (mean 0, deviation 1: the adjusted cosine), predicted entries weighing less than
   sampled ones; negative similarities count as 0, the others are squared so that near neighbors
   dominate, and only the nearest columns are kept.
3. Prediction. The baseline plus the similarity-weighted mean of the same row's residuals in the
   sampled columns, with a shrinkage constant in the denominator, so that one far neighbor moves
   little.

Steps 2 and 3 are repeated, since a filled matrix gives better similarities than a sparse one.
"""

from __future__ import annotations

from typing import Annotated, cast

import numpy as np
import numpy.typing as npt

from ..instances.problem.errors import InvalidOption
from ..instances.problem.option_types import Above, validate_options

Floats = npt.NDArray[np.float64]
Booleans = npt.NDArray[np.bool_]

EQUAL = 1e-9
"""Predicted entries closer than this are tied, and a smaller deviation is none: both come from
floats.
"""

PREDICTED_WEIGHT = 0.3
"""Weight of a predicted entry in a similarity, a sampled one having 1."""

_BASELINE_PRIOR = 2.0
"""Samples' worth of prior belief in an average row and an average column."""

_BASELINE_SWEEPS = 10

NEIGHBORS, SHRINKAGE, ITERATIONS = 20, 1.0, 2
"""Columns a prediction draws on at most; similarity's worth of belief in the baseline; and times
the similarities are computed, 1 to 3 in the papers.
"""


@validate_options
def sample_mask(
    shape: tuple[int, int],
    fraction: Annotated[float, Above(0, "the share of entries that is sampled", most=1)],
    rng: np.random.Generator,
    eligible: npt.ArrayLike | None = None,
) -> Booleans:
    """Draw a uniformly random set of the eligible entries of the given share.

    Parameters
    ----------
    shape : rows, columns.
    fraction : share of the eligible entries, above 0 and at most 1; at least one entry is drawn.
    rng : source of the draw.
    eligible : (rows, columns) what can be sampled at all; everything when not given.

    Raises
    ------
    InvalidOption
        A fraction out of range, or no eligible entry.
    """
    possible = np.ones(shape, dtype=bool) if eligible is None else np.asarray(eligible, dtype=bool)
    places = np.flatnonzero(possible)
    if possible.shape != tuple(shape) or len(places) == 0:
        raise InvalidOption(
            f"eligible has {len(places)} entries in shape {possible.shape}; expected at least "
            f"one in {shape}"
        )
    mask = np.zeros(possible.size, dtype=bool)
    mask[rng.choice(places, size=max(1, round(fraction * len(places))), replace=False)] = True
    return mask.reshape(shape)


def fill(matrix: npt.ArrayLike, sampled: npt.ArrayLike) -> Floats:
    """Predict the entries of a matrix that were not sampled.

    Parameters
    ----------
    matrix : (rows, columns) entries; inf is a known impossibility, kept and never predicted; other
        entries that were not sampled are not looked at and may be NaN. The filter assumes a natural
        zero (no loss), not a natural scale.
    sampled : (rows, columns) which entries are known.

    Returns
    -------
    (rows, columns) the sampled entries as given, inf where impossible, predictions elsewhere.

    Raises
    ------
    InvalidOption
        Shapes that do not agree, nothing sampled, or NaN among the sampled.

    Notes
    -----
    O(rows · columns²). Source: Cooper section IV.A, thesis section 2.3.1 (item-based
    filtering, one to three iterations).
    """
    values, known = _valid_sample(matrix, sampled)
    impossible = values == np.inf
    values = np.where(known, values, 0.0)
    # powers of tiny entries would underflow, of large ones overflow
    scale = float(np.abs(values[known]).max()) or 1.0
    values /= scale
    baseline = _baseline(values, known)
    residual = np.where(known, values - baseline, 0.0)
    filled = np.where(known, values, baseline)
    for _ in range(ITERATIONS):
        near = _similarity(filled, known, ~impossible)
        filled = np.where(
            known, values, baseline + (residual @ near.T) / (known @ near.T + SHRINKAGE)
        )
    result = np.where(known, np.asarray(matrix, dtype=float), filled * scale)
    return np.where(impossible, np.inf, result)


def tau(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """Share of correctly predicted pairwise preferences, over all pairs of columns of every row.

    A tie in the truth counts 1/2 whatever is predicted, and a predicted tie of two entries that
    truly differ counts 1/2: what breaking it by a coin would score. Entries that are inf in the
    truth (forbidden, known) are left out.

    Parameters
    ----------
    truth, predicted : (rows, columns). True entries are tied when they are equal, predicted ones
        within 1e-9, which is what the prediction's own rounding may be.

    Returns
    -------
    A number from 0 to 1; 1 when there is nothing to compare.

    Raises
    ------
    InvalidOption
        Shapes that do not agree, or a prediction that is not finite where the truth is.

    Notes
    -----
    O(rows · columns²). Source: Cooper eq. 2, thesis eq. 2.2, with the number of pairs there are in
    the denominator.

    Examples
    --------
    >>> tau([[0.1, 0.2, 0.3]], [[0.1, 0.3, 0.2]])  # two of three pairs
    0.6666666666666666
    """
    true, guess = np.asarray(truth, dtype=float), np.asarray(predicted, dtype=float)
    if true.ndim != 2 or true.shape != guess.shape:
        raise InvalidOption(
            f"truth has shape {true.shape}, the prediction {guess.shape}; expected two "
            "matrices of one shape"
        )
    finite = np.isfinite(true)
    if not np.isfinite(guess[finite]).all():
        raise InvalidOption(
            "the prediction holds NaN or inf where the truth is a number; expected a number "
            "for each"
        )
    right, pairs = 0.0, 0
    for row in range(len(true)):
        columns = np.flatnonzero(finite[row])
        first, second = np.triu_indices(len(columns), 1)
        first, second = columns[first], columns[second]
        differs = true[row, first] - true[row, second]
        predicted_to = guess[row, first] - guess[row, second]
        signs = np.sign(differs) * np.sign(predicted_to) * (np.abs(predicted_to) > EQUAL)
        right += float((1.0 + signs).sum()) / 2
        pairs += len(first)
    return right / pairs if pairs else 1.0


def _valid_sample(matrix: npt.ArrayLike, sampled: npt.ArrayLike) -> tuple[Floats, Booleans]:
    values, known = np.array(matrix, dtype=float), np.asarray(sampled, dtype=bool)
    if values.ndim != 2 or values.shape != known.shape:
        raise InvalidOption(
            f"matrix has shape {values.shape}, sampled {known.shape}; expected two matrices "
            "of one shape"
        )
    known = known & (values != np.inf)
    if not known.any():
        raise InvalidOption("nothing is sampled; expected at least one known entry")
    if not np.isfinite(values[known]).all():
        raise InvalidOption(
            "a sampled entry is NaN or -inf; expected a number, or inf for what is impossible"
        )
    return values, known


def _baseline(values: Floats, known: Booleans) -> Floats:
    """Rank-one fit r_i c_j to the known entries, by alternating ridge regressions."""
    mean = float(values[known].mean())
    typical = float((values[known] ** 2).mean()) or 1.0  # puts the priors in units of samples
    row = np.ones(len(values))
    column = np.full(values.shape[1], mean)
    for _ in range(_BASELINE_SWEEPS):
        prior = _BASELINE_PRIOR * typical
        row = (values @ column + prior) / (known @ column**2 + prior)
        column = (row @ values + _BASELINE_PRIOR * mean) / (row**2 @ known + _BASELINE_PRIOR)
    return cast("Floats", row[:, None] * column[None, :])


def _similarity(filled: Floats, known: Booleans, possible: Booleans) -> Floats:
    """Squared adjusted cosine similarity of columns; 0 on the diagonal, for negative cosines, and
    beyond the nearest columns.
    """
    cells = np.maximum(possible.sum(axis=1, keepdims=True), 1)
    mean = np.where(possible, filled, 0.0).sum(axis=1, keepdims=True) / cells
    centered = np.where(possible, filled - mean, 0.0)
    deviation = np.sqrt((centered**2).sum(axis=1, keepdims=True) / cells)
    standard = np.divide(centered, deviation, out=np.zeros_like(centered), where=deviation > EQUAL)
    weighted = standard * np.where(known, 1.0, np.sqrt(PREDICTED_WEIGHT))
    product = weighted.T @ weighted
    norm = np.sqrt(np.diag(product))
    scale = np.outer(norm, norm)
    cosine = np.divide(product, scale, out=np.zeros_like(product), where=scale > 0)
    near: Floats = np.clip(cosine, 0.0, 1.0) ** 2
    np.fill_diagonal(near, 0.0)
    if len(near) - 1 > NEIGHBORS:
        least = -np.partition(-near, NEIGHBORS - 1, axis=1)[:, NEIGHBORS - 1 : NEIGHBORS]
        near = np.where(near >= least, near, 0.0)
    return near
