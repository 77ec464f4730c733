"""Policies that thesis section 3.4.1 compares, each with the choices that the text leaves open."""

from .division_rules import equal_share, greedy_oracle, proportional_share
from .dynamics import proportional_response
from .exchange import exchange, exchange_modified
from .filtered import greedy_filtered

__all__ = [
    "equal_share",
    "exchange",
    "exchange_modified",
    "greedy_filtered",
    "greedy_oracle",
    "proportional_response",
    "proportional_share",
]
