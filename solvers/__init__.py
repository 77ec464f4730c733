"""Layer 3: methods that find answers with proofs; `engines` is the only interface to the solver
libraries.
"""
