"""Layer 1: what is given, what an answer is, the checker of an answer, file formats and
generators.
"""
