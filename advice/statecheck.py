"""The old name of `scheduler_filters`."""

from __future__ import annotations

from ..instances.problem.renamed import old_module

__getattr__ = old_module(__name__, "advice.scheduler_filters")
