"""Policies that thesis section 3.4.1 compares, each with the choices that the text leaves open."""

from .bidding import exchange, exchange_modified, proportional_response
from .division_rules import equal_share, greedy_filtered, greedy_oracle, proportional_share

__all__ = [
    "equal_share",
    "exchange",
    "exchange_modified",
    "greedy_filtered",
    "greedy_oracle",
    "proportional_response",
    "proportional_share",
]
