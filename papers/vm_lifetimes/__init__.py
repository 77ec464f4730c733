"""VMs that come and go, on a real list: tables that no paper has."""

from __future__ import annotations

from ..experiment import Paper

PAPER = Paper("beyond", "Beyond the papers", "not in a paper", "lifetimes")
