"""The old name of `cotenant.papers.registry`."""

from ...instances.problem.renamed import old_module

__getattr__ = old_module(__name__, "papers.registry")
