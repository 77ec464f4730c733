"""Scheduling rules of the paper's section 7.1, and two simple rules for comparison."""

from .rules import (
    curr_fair_share,
    direct_contribution,
    fair_share,
    fifo,
    guarantee,
    rand,
    random_organization,
    round_robin,
    sample_orderings,
    ut_fair_share,
    validate_orderings,
)

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
