"""The old name of `ref_reference`."""

from __future__ import annotations

from ...instances.problem.renamed import old_module

__getattr__ = old_module(__name__, "solvers.scheduling.ref_reference")
