"""Cooper: Task Colocation with Cooperative Games (2017), and chapter 2 of the thesis."""

from __future__ import annotations

from . import attribution, stability
from .populations import PAPER

__all__ = ["PAPER", "attribution", "stability"]
