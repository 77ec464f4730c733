"""A generator of demands, and the reader of a table of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np

from ..problem.option_types import Above, AtLeast, validate_options
from ..problem.tables import PathLike, read_matrix
from .instance import Quanta


@validate_options
def bursty(
    *,
    users: Annotated[int, AtLeast(1)] = 20,
    quanta: Annotated[int, AtLeast(1)] = 50,
    share: Annotated[int, AtLeast(1)] = 10,
    steadiest: Annotated[float, Above(0, most=1)] = 1.0,
    rng: np.random.Generator,
) -> Quanta:
    """Users who want their fair share on average, some at all times and some in rare bursts.

    Parameters
    ----------
    users, quanta, share : how many users and quanta, and the slices that each user brings.
    steadiest : a user is active in a part of the quanta, drawn from a tenth of this to this; it
        then wants `share` over that part, and nothing else.
    rng : source of the draw.
    """
    part = steadiest * rng.uniform(0.1, 1.0, users)
    busy = rng.random((users, quanta)) < part[:, None]
    busy[np.arange(users), rng.integers(quanta, size=users)] = True  # everybody wants something
    demand = np.where(busy, np.rint(share / part)[:, None], 0).astype(np.int64)
    return Quanta(
        demand, share, name=f"bursty-{users}-{quanta}", source=f"synthetic: {users} bursty users"
    )


@validate_options
def quanta_csv(path: PathLike, *, share: Annotated[int, AtLeast(1)]) -> Quanta:
    """A CSV table `user, <quantum>, <quantum>, ...`: the slices that each user wants in each.

    Parameters
    ----------
    path : the table, headers first.
    share : the slices that each user brings; it is not in the table.

    Raises
    ------
    InvalidFile
        A cell is no number, or a user or a quantum is named twice.
    InvalidInstance
        A demand is not a whole number of 0 or more.
    """
    names, _, demand = read_matrix(path)
    place = Path(path)
    return Quanta(
        demand,  # type: ignore[arg-type]
        share,
        tuple(names),
        name=place.stem,
        source=f"CSV table {place.name}",
    )
