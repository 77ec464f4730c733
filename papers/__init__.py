"""The papers redone: their tables and figures, each a function named in `registry`. Imported by the
command line only.
"""
