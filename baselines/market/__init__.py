"""The rival policies of thesis section 3.4.1 as plain functions, each saying what the text leaves open and what is chosen."""

from .shares import equal_share, greedy_oracle, proportional_share

__all__ = ["equal_share", "greedy_oracle", "proportional_share"]
