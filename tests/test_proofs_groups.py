"""Proofs of the least mean penalty of groups: prices, and trees over the groups they leave, against
every grouping of small instances.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from proved import Document, judged, proof_of, refuses

from cotenant import verify
from cotenant.instances.groups import Groups
from cotenant.instances.groups.generators import additive, pressure, table
from cotenant.instances.problem.files import read

Group = tuple[int, ...]


def drawn(seed: int) -> Groups:
    """Some jobs of few types on machines of one or two classes, by each model in turn; some groups
    are forbidden, so that there may be no answer.
    """
    rng = np.random.default_rng(seed)
    types, seats, jobs = (
        int(n) for n in (rng.integers(1, 4), rng.integers(2, 4), rng.integers(2, 8))
    )
    numbers: dict[str, Any] = {"types": types, "jobs": jobs, "seats": seats, "rng": rng}
    if seed % 3 == 2:
        made = table(**numbers)
        assert made.members is not None
        assert made.losses is not None
        kept = rng.random(len(made.members)) < 0.7
        kept[0] = True
        return made.replace(
            members=made.members[kept], losses=made.losses[kept], where=np.full(kept.sum(), -1)
        )
    spare = int(rng.integers(0, 2)) if seats * -(-jobs // seats) == jobs else 0
    made = (additive if seed % 3 == 0 else pressure)(
        **numbers, machines=float(-(-jobs // seats) + spare)
    )
    if seed % 3 == 0:
        assert made.penalty is not None
        open_ = np.where(rng.random((types, types)) < 0.1, np.inf, made.penalty.round(2))
        made = made.replace(penalty=open_)
    if seed % 2:
        data = made.penalty if made.penalty is not None else made.sensitivity
        assert data is not None
        second = np.minimum(1, np.where(np.isfinite(data), data / 2, data)).round(2)
        name = "penalty" if made.penalty is not None else "sensitivity"
        made = made.replace(
            seats=[seats, 2], machines=[max(1, -(-jobs // seats) - 1), np.inf],
            classes=("big", "small"), **{name: np.stack([data, second])},
        )  # fmt: skip
    return made


def cost(made: dict[str, Any], place: int, group: Group) -> Fraction | None:
    """What the jobs of a group lose together, on the decimals of the document; None if it is
    forbidden.
    """

    def of_class(name: str) -> Any:
        return made[name][place] if isinstance(made[name][0][0], list) else made[name]

    if "table" in made:
        for own in (place, -1):
            for entry in made["table"]:
                if tuple(sorted(entry["members"])) == group and entry.get("class", -1) == own:
                    return sum((Fraction(str(x)) for x in entry["penalty"]), Fraction(0))
        return Fraction(0) if len(group) == 1 else None
    total = Fraction(0)
    for k, a in enumerate(group if len(group) > 1 else ()):
        others = group[:k] + group[k + 1 :]
        if "penalty" in made:
            entries = [of_class("penalty")[a][b] for b in others]
            if None in entries:
                return None
            total += min(Fraction(1), sum((Fraction(str(x)) for x in entries), Fraction(0)))
            continue
        knots = [Fraction(str(x)) for x in made["knots"]]
        curve = [Fraction(str(x)) for x in of_class("sensitivity")[a]]
        at = sum((Fraction(str(made["pressure"][b])) for b in others), Fraction(0))
        at = min(max(at, knots[0]), knots[-1])
        k = max(k for k, knot in enumerate(knots) if knot <= at)
        rest = (at - knots[k]) / (knots[k + 1] - knots[k]) if at > knots[k] else Fraction(0)
        total += curve[k] + (rest and (curve[k + 1] - curve[k]) * rest)
    return total


def every_cost(made: dict[str, Any]) -> Iterator[Fraction]:
    """The mean penalty of every grouping: jobs are put on machines one type after the other."""
    jobs = [a for a, number in enumerate(made["count"]) for _ in range(number)]
    limits = [len(jobs) if n is None else int(float(n)) for n in made["machines"]]
    known: dict[tuple[int, Group], Fraction | None] = {}

    def priced(place: int, group: Group) -> Fraction | None:
        if (place, group) not in known:
            known[place, group] = cost(made, place, group)
        return known[place, group]

    def placed(k: int, filled: tuple[tuple[int, Group], ...]) -> Iterator[Fraction]:
        if k == len(jobs):
            parts = [priced(*one) for one in filled]
            told = [part for part in parts if part is not None]
            if len(told) == len(parts):
                yield sum(told, Fraction(0)) / len(jobs)
            return
        used = Counter(place for place, _ in filled)
        tried = set()
        for place, seats in enumerate(made["seats"]):
            if used[place] < limits[place]:
                yield from placed(k + 1, (*filled, (place, (jobs[k],))))
            for at, (where, group) in enumerate(filled):
                if where == place and len(group) < seats and (where, group) not in tried:
                    tried.add((where, group))
                    longer = (where, (*group, jobs[k]))
                    yield from placed(k + 1, (*filled[:at], longer, *filled[at + 1 :]))

    return placed(0, ())


def document_of(content: bytes) -> dict[str, Any]:
    """The instance's fields as they are written."""
    found: dict[str, Any] = json.loads(content, parse_float=str)
    return found


@pytest.mark.parametrize("seeds", [range(36), pytest.param(range(36, 600), marks=pytest.mark.slow)])
def test_what_is_proved_is_the_least_of_all_groupings(tmp_path: Path, seeds: range) -> None:
    none = 0
    for seed in seeds:
        content, proof = proof_of(tmp_path, drawn(seed), "optimal")
        every = list(every_cost(document_of(content)))
        said = judged(content, proof)
        if every:
            assert said.endswith(": optimal"), (seed, said)
            assert verify.rational(proof["claim"]["bound"], "bound") == min(every), seed
        else:
            none += 1
            assert said.endswith("there is no answer at all"), (seed, said)
    assert none > 0


@pytest.mark.parametrize("seed", range(9))
def test_no_prices_prove_more_than_the_least(tmp_path: Path, seed: int) -> None:
    instance, rng = drawn(seed), np.random.default_rng(seed)
    content, proof = proof_of(tmp_path, instance, "optimal")
    if proof["claim"]["says"] == "infeasible":
        return
    least = verify.rational(proof["claim"]["bound"], "bound")
    document = verify.parse(content, decimals=True)
    for word in ("cotenant", "problem", "name", "source"):
        document.pop(word, None)
    for _ in range(20):
        prices = rng.integers(-30, 60, instance.types).tolist()
        step = {"kind": "dual", "prices": {"over": int(rng.integers(1, 99)), "numbers": prices}}
        [found] = verify.groups_optimal(verify.Case(document, {}, None, [[step]]))
        assert found.bound is not None
        assert found.bound <= least


def test_a_thousand_jobs_are_certified(tmp_path: Path) -> None:
    content, proof = proof_of(tmp_path, read("groups/cooper-4-seats"), "optimal")
    assert judged(content, proof).endswith("no answer is below 0.0774081: optimal")
    assert len(json.dumps(proof)) < 10_000


def test_what_is_changed_is_refused(tmp_path: Path) -> None:
    content, proof = proof_of(tmp_path, read("groups/tiny"), "optimal")

    def below(made: Document) -> None:
        made["steps"][0]["below"] += 1
        made["claim"] |= {"bound": "251/4000", "says": "gap"}

    def cheaper(made: Document) -> None:
        made["witness"]["members"] = [[0, 1, -1], [0, 1, 2], [0, 1, 2]]

    def forbidden(made: Document) -> None:
        made["witness"] |= {"members": [[0, 0, 0, 1], [1, 1, 2, 2]], "where": [0, 0]}
        made["witness"]["number"] = [1, 1]

    for change in (below, cheaper, forbidden):
        refuses(content, proof, change)
    refuses(content, proof, lambda made: made["witness"]["number"].__setitem__(0, 2))
    refuses(content, proof, lambda made: made["claim"].__setitem__("bound", "1/15"))
    refuses(content, proof, lambda made: made["steps"].clear())
    for change in ({"count": [3, 3, 3]}, {"machines": [2]}, {"seats": [2]}):
        other = json.dumps(document_of(content) | change).encode()
        with pytest.raises(verify.Refused):
            judged(other, proof)
