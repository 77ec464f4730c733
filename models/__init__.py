"""Layer 2: the declarative programs. What is optimal, as mathematics; nothing here runs a
solver.
"""
