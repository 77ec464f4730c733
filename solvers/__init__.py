"""Layer 3: how an answer with a proof is found; the one seam to the solver libraries is
`engines`.
"""
