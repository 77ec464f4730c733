"""Sharing accelerators as linear programs over types of jobs.

x[a, d] >= 0 is how many jobs of type a run alone on devices of kind d at a time, x[a, b, d] how
many pairs of types a <= b. With n[a] jobs that need w[a] workers, and N[d] devices:

    sum over what runs on d of w x <= N[d],
    sum over what a is in of x (2 x for a pair of its own) <= n[a],
    T[a] = sum over what a is in of its throughput there times x.

Most theta with T[a] >= theta n[a] unit[a]; most of a weighted sum of the T[a]; or least cost such
that T[a] >= n[a] floor[a]. `arrays` builds the programs for the solvers, `readable` states them in
Pyomo.
"""

from .arrays import Prices, ShareProgram, share_program

__all__ = ["Prices", "ShareProgram", "share_program"]
