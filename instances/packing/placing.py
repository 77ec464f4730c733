"""The old name of `placement_constraints`."""

from __future__ import annotations

from ..problem.renamed import old_module

__getattr__ = old_module(__name__, "instances.packing.placement_constraints")
