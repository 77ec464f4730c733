"""Elastic jobs by definition: every choice of a configuration for every job."""

from __future__ import annotations

import itertools
from fractions import Fraction

from cotenant.instances.elastic import Elastic


def best_of_all(instance: Elastic) -> tuple[Fraction, Fraction]:
    """Maximum total utility, and maximum utility of the worst-off job, over all choices."""
    jobs = [i for i, n in enumerate(instance.count.tolist()) for _ in range(n)]
    worth = [[Fraction(repr(u)) for u in row] for row in instance.utility.tolist()]
    choices = range(-1, len(instance.workers))
    total, least = Fraction(0), Fraction(0)
    for chosen in itertools.product(choices, repeat=len(jobs)):
        left = instance.devices.tolist()
        for c in chosen:
            if c >= 0:
                left[instance.kind[c]] -= int(instance.workers[c])
        if min(left) < 0:
            continue
        each = [worth[i][c] if c >= 0 else Fraction(0) for i, c in zip(jobs, chosen, strict=True)]
        total, least = max(total, sum(each, Fraction(0))), max(least, min(each))
    return total, least
