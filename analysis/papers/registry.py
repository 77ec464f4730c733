"""The old name of `cotenant.papers.registry`."""

from __future__ import annotations

from ...instances.problem.renamed import old_module

__getattr__ = old_module(__name__, "papers.registry")
