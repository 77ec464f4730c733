"""Policies for groups as plain functions. What several of them share:

- They work over kinds of groups, not single jobs. Jobs come type by type, machines of most seats
  are filled first, and ties go to the lowest type and to the machine that was opened first.
- Where the jobs need fewer machines than there are, the policies that fill machines use the fewest;
  `greedy` and `threshold` use the others as their rules say.
- *Pressure* is the instance's, or where it has none what a type does to the others on average
  (`instances.groups.penalties.pressures`).
- Where a rule ends in a forbidden group, or leaves jobs without a place, the answer is another
  grouping that may be formed (`solvers.groups.common`).
"""

from .dealing import local_search, random_grouping, serpentine, sorted_by_pressure
from .hierarchical import hierarchical
from .sequential import greedy, threshold

__all__ = [
    "greedy",
    "hierarchical",
    "local_search",
    "random_grouping",
    "serpentine",
    "sorted_by_pressure",
    "threshold",
]
