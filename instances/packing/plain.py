"""The old name of `csv_reader`."""

from ..problem.renamed import old_module

__getattr__ = old_module(__name__, "instances.packing.csv_reader")
