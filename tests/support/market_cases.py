"""Tiny random markets, many of their allocations, and false statements of proofs about them."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, cached_property
from typing import Any

import numpy as np

from cotenant.instances.market import Allocation, Market
from cotenant.instances.market.generators import population
from cotenant.solvers.outcome import Outcome

PARTS = 8
"""Equal parts of a server's cores in which they are divided."""


def drawn(seed: int, twins: bool = False, **options: Any) -> Market:
    """Three users with a job on each of two servers of four cores; some f = 0, f = 1 or work 0; of
    twins all jobs are alike.
    """
    usual = {"users": 3, "servers": 2, "jobs": 2, "low": 0.1, "cores": 4.0}
    market = drawer(**usual)(seed, **options)
    fraction, work = market.parallel_fraction.round(3), market.work.round(2)
    if seed % 3 == 1:
        fraction[0] = 0.0
    if seed % 4 == 2:
        fraction[1], work[2] = 1.0, 0.0
    if twins:
        fraction[:], work[:] = 0.75, 1.0
    budget = 1.0 + np.arange(market.users) % 3 if seed % 2 and not twins else market.budget
    return market.replace(parallel_fraction=fraction, work=work, budget=budget)


def drawer(**usual: Any) -> Callable[..., Market]:
    """Function that draws a market from a seed, with given settings of a population."""

    def drawn(seed: int = 0, **options: Any) -> Market:
        settings = {"work": "lognormal"} | usual | options
        return population(**settings, rng=np.random.default_rng(seed))

    return drawn


def answer(documents: Allocation | Outcome) -> Allocation:
    """The allocation of an outcome, or the one given."""
    solution = documents.solution if isinstance(documents, Outcome) else documents
    assert isinstance(solution, Allocation)
    return solution


def amdahl(x: float, f: float) -> float:
    """Amdahl's speedup, written out."""
    return x / (f + (1 - f) * x) if x > 0 else 0.0


class MarketTruth:
    """A market by its definitions, in fractions."""

    def __init__(self, market: Market) -> None:
        document = json.loads(json.dumps(market.document()))
        jobs = document["job"]
        self.user, self.server = jobs["user"], jobs["server"]
        self.fraction, self.work, self.capacity, self.budget = (
            [Fraction(str(x)) for x in values]
            for values in (
                jobs["parallel_fraction"],
                jobs["work"],
                document["capacity"],
                document["budget"],
            )
        )
        self.active = sorted({i for i, w in zip(self.user, self.work, strict=True) if w})
        self.worth = cache(self._worth)
        share = sum(self.budget[i] for i in self.active)
        owners = zip(self.user, self.server, strict=True)
        self.fair = self.utilities([self.capacity[j] * self.budget[i] / share for i, j in owners])

    def divisions(self, parts: int) -> list[list[Fraction]]:
        """Every division of the servers' cores in so many equal parts each."""
        choices = []
        for server, capacity in enumerate(self.capacity):
            own = [k for k, j in enumerate(self.server) if j == server]
            splits = itertools.product(range(parts + 1), repeat=len(own))
            full = [split for split in splits if sum(split) == parts]
            part = capacity / parts
            choices.append([[(k, n * part) for k, n in zip(own, s, strict=True)] for s in full])
        every = []
        for choice in itertools.product(*choices):
            cores = [Fraction(0)] * len(self.user)
            for k, number in itertools.chain.from_iterable(choice):
                cores[k] = number
            every.append(cores)
        return every

    @cached_property
    def answers(self) -> list[tuple[bool, list[Fraction]]]:
        """Whether all cores are integers, and the utilities, for each division of capacities in
        eighths.
        """
        every = self.divisions(PARTS)
        return [(all(n.denominator == 1 for n in one), self.utilities(one)) for one in every]

    @cached_property
    def ratios(self) -> list[list[Fraction]]:
        """Utility ratios of all users for each division of integer cores."""
        return [self.ratios_of(own) for whole, own in self.answers if whole]

    def _worth(self, job: int, cores: Fraction) -> Fraction:
        """Rate of work of a job on some cores."""
        f = self.fraction[job]
        return self.work[job] * cores / (f + (1 - f) * cores) if cores else Fraction(0)

    def utilities(self, cores: list[Fraction]) -> list[Fraction]:
        """Utility of each user for some cores."""
        total = [Fraction(0)] * len(self.budget)
        for k, number in enumerate(cores):
            total[self.user[k]] += self.worth(k, number)
        return total

    def ratios_of(self, utility: list[Fraction]) -> list[Fraction]:
        """Ratios of utilities to those of the endowments, in ascending order."""
        return sorted(utility[i] / self.fair[i] for i in self.active)

    def welfare(self, utility: list[Fraction]) -> float:
        """Nash welfare of given utilities."""
        if any(utility[i] == 0 for i in self.active):
            return 0.0
        total = sum(self.budget[i] for i in self.active)
        return math.exp(
            sum(float(self.budget[i] / total) * math.log(utility[i]) for i in self.active)
        )

    def lie(self, proof: dict[str, Any]) -> str:
        """Description of a false statement of an accepted market proof; "" if there is none."""
        claims = [proof["claim"], *(level["claim"] for level in proof["levels"])]
        document = proof["witness"]["cores"]
        cores = [Fraction(n, document["over"]) for n in document["numbers"]]
        given = [Fraction(0)] * len(self.capacity)
        for x, j in zip(cores, self.server, strict=True):
            given[j] += x
        if min(cores) < 0 or any(g > c for g, c in zip(given, self.capacity, strict=True)):
            return "that its cores are an answer"
        own = self.utilities(cores)
        value, bound = (
            None if claims[0][key] is None else Fraction(claims[0][key])
            for key in ("value", "bound")
        )
        whole = bool(proof["options"].get("whole")) or proof["method"] == "leximin"
        if whole and any(x.denominator > 1 for x in cores):
            return "that its cores are whole"
        if "epsilon" in claims[0]:
            return self._no_equilibrium(proof, cores, given)
        if proof["method"] == "leximin":
            return self._not_leximin(claims, self.ratios_of(own))
        others = [other for is_whole, other in self.answers if is_whole or not whole]
        if proof["method"] == "utilitarian":
            mine = sum(own)
            best = max(map(sum, others))
        elif proof["options"].get("utility", "amdahl") == "amdahl":
            mine = Fraction(self.welfare(own) * (1 + 1e-12))
            best = max(Fraction(self.welfare(other) * (1 - 1e-12)) for other in others)
        else:
            return ""
        if value is not None and value > mine:
            return f"the value {float(value)} of an answer that is worth {float(mine)}"
        if bound is not None and bound < best:
            return f"the bound {float(bound)}, where {float(best)} is reached"
        return ""

    def _not_leximin(self, claims: list[dict[str, Any]], own: list[Fraction]) -> str:
        for claim, level in zip(claims, sorted(set(own)), strict=False):
            if claim["value"] is not None and Fraction(claim["value"]) != level:
                return f"that a level is {claim['value']}, which is {level}"
            if claim["bound"] is None:
                continue
            if Fraction(claim["bound"]) != level:  # a gap
                if Fraction(claim["bound"]) < max(other[0] for other in self.ratios):
                    return f"that not all ratios are above {claim['bound']}"
                continue
            before, number = own.index(level), own.count(level)
            for other in self.ratios:
                if other[:before] == own[:before] and (
                    other[before] > level
                    or (other[before] == level and other.count(level) < number)
                ):
                    return f"that no answer is better at the level {level}"
        return ""

    def _no_equilibrium(
        self, proof: dict[str, Any], cores: list[Fraction], given: list[Any]
    ) -> str:
        off = {name: Fraction(number) for name, number in proof["claim"]["epsilon"].items()}
        document = proof["witness"]["price"]
        price = [Fraction(p, document["over"]) for p in document["numbers"]]
        if min(price) < 0:
            return "that its prices are prices"
        for g, c, p in zip(given, self.capacity, price, strict=True):
            if p and g < c * (1 - off["clearing"]):
                return "that its servers are full"
        own = self.utilities(cores)
        for i, budget in enumerate(self.budget):
            jobs = [k for k, user in enumerate(self.user) if user == i]
            paid = sum(price[self.server[k]] * cores[k] for k in jobs)
            if paid > budget * (1 + off["overspending"]):
                return "that nobody overspends"
            for split in itertools.product(range(7), repeat=len(jobs)):
                if sum(split) == 6:
                    bought = Fraction(0)
                    for k, part in zip(jobs, split, strict=True):
                        cost = price[self.server[k]]
                        most = budget * Fraction(part, 6) / cost if cost else Fraction(10**9)
                        bought += self.worth(k, most)
                    if own[i] < bought * (1 - off["regret"]):
                        return "that nobody could gain more"
        return ""
