"""The old name of `cotenant.running.batch.pairs`."""

from __future__ import annotations

from ..instances.problem.renamed import old_module

__getattr__ = old_module(__name__, "running.batch.pairs")
