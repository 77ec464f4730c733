"""The old name of `placement_constraints`."""

from ..problem.renamed import old_module

__getattr__ = old_module(__name__, "instances.packing.placement_constraints")
