"""Layer 2: declarative programs that state the problems mathematically; none runs a solver."""
