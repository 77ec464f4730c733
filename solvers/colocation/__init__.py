"""Exact methods of colocation: least penalty, fewest blocking pairs, fair attribution, and
completion of partial pairings.
"""

from __future__ import annotations

from .blocking import at_most_blocking, fewest_blocking
from .common import require_bandwidth
from .fair import fair
from .feasible import complete, feasible_pairing
from .penalty import optimal

__all__ = [
    "at_most_blocking",
    "complete",
    "fair",
    "feasible_pairing",
    "fewest_blocking",
    "optimal",
    "require_bandwidth",
]
