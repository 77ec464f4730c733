"""Scheduling rules of the paper's section 7.1, and two simple rules for comparison."""

from .direct import direct_contribution
from .fair_share import curr_fair_share, fair_share, ut_fair_share
from .sampled import guarantee, rand, sample_orderings, validate_orderings
from .simple import fifo, random_organization, round_robin

__all__ = [
    "curr_fair_share",
    "direct_contribution",
    "fair_share",
    "fifo",
    "guarantee",
    "rand",
    "random_organization",
    "round_robin",
    "sample_orderings",
    "ut_fair_share",
    "validate_orderings",
]
