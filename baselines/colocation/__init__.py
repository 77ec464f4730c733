"""The colocation policies of Cooper (HPCA 2017, section IV.C; thesis section 2.3.3) as plain
functions. What the papers leave open is settled here, once:

- Agents are numbered type by type (`Colocation.agent_types`): index order means all agents of type
  0, then all of type 1, and so on. Agents of one type are interchangeable, and every tie goes to
  the lowest index.
- *Spare machines.* `greedy` and `threshold` use them as their rules say. The matching policies
  (`complementary`, `marriage_random`, `marriage_partition`, `roommates`) and `greedy(fill=True)`
  pair everyone they can, so they use the fewest machines; who is left over runs alone.
- *Left over* are those a rule cannot place: the odd one out, and those whose remaining partners are
  all forbidden. They run alone as far as spare machines go; otherwise they are paired with each
  other, least added penalty first; and when even that is impossible, pairs the rule has made are
  broken up (`solvers.colocation.feasible.complete`).
- *Lists with `unpaired`.* The same, except that nobody runs alone as long as an acceptable partner
  is left over too.
"""

from .matching import (
    Ties,
    complementary,
    marriage_partition,
    marriage_random,
    roommate_lists,
    roommates,
)
from .sequential import greedy, threshold

__all__ = [
    "Ties",
    "complementary",
    "greedy",
    "marriage_partition",
    "marriage_random",
    "roommate_lists",
    "roommates",
    "threshold",
]
