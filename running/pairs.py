"""The old name of `cotenant.running.batch.pairs`."""

from ..instances.problem.renamed import old_module

__getattr__ = old_module(__name__, "running.batch.pairs")
