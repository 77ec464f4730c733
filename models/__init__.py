"""Layer 2: the declarative programs, what is optimal as mathematics; none runs a solver."""
