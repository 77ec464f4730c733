"""Policies for accelerators as plain functions. What several of them share:

- The answer has a row for jobs of a type, and equal jobs have equal parts: where a policy runs some
  jobs of a type and not others, the answer has the mean job, as over many draws of their order. To
  see single jobs give each a type of its own.
- Jobs alone run only where they make progress, pairs only where both fit.
- Orders of equal jobs, and partners, are drawn by `rng`; without it by a generator of seed 0.
"""

from .queues import allox, fifo
from .shares import gandiva, isolated, partitioned, proportional

__all__ = ["allox", "fifo", "gandiva", "isolated", "partitioned", "proportional"]
