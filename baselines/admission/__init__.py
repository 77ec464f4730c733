"""The four schemes of Hines and Romano (sections III.B and IV) as plain functions, which answer
every valid instance. Common to all, since the paper leaves it open:

- A job applies to VMs on which it would have some speed only: a VM without (free) cores is on
  nobody's list.
- Ties go to the lowest VM, and between jobs of equal threads to the lowest job.
- A job whose VM has no core left when its turn comes is not assigned.
"""

from .schemes import deferred_quotas, deferred_rounds, proposed, simple_matching

__all__ = ["deferred_quotas", "deferred_rounds", "proposed", "simple_matching"]
