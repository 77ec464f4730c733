"""Llull, Microeconomic Models for Managing Shared Datacenters, chapter 4: refusal scheduling."""

from __future__ import annotations

from . import migration
from .throughput import PAPER

__all__ = ["PAPER", "migration"]
