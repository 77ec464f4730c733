"""Tiny colocation instances by chance, and all their answers: for tests and the forger."""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

from cotenant.instances.problem.errors import InvalidInstance
from cotenant.instances.problem.files import instance_of
from cotenant.verify.frame import ProofCase
from support import proved
from support.oracles import colocation as brute

Pairs = tuple[tuple[int, int], ...]
"""Agents that share, and (i, i) for one without a co-runner; agents numbered type by type."""


def drawn(seed: int, most: int = 8, distinct: bool = False) -> dict[str, Any] | None:
    """Random colocation document of few types with many ties; None if it has no pairing."""
    rng = random.Random(seed)
    size = most if distinct else rng.randint(1, 4)
    count = [1] * size if distinct else [rng.randint(0, 3) for _ in range(size)]
    agents = sum(count)
    if not 2 <= agents <= most:
        return None
    digits = rng.choice([10, 100])
    penalty = [[rng.randint(-2, digits) / digits for _ in range(size)] for _ in range(size)]
    for row in penalty:
        for b in range(size):
            if rng.random() < 0.1:
                row[b] = None  # type: ignore[call-overload]
    band = [float(rng.randint(0, 3)) for _ in range(size)]
    document = {
        "cotenant": 1,
        "problem": "colocation",
        "name": "drawn",
        "penalty": penalty,
        "count": count,
        "bandwidth": band,
    }
    kind = rng.randrange(4)
    if kind == 0:
        document["unpaired"] = 1
    elif kind == 1:
        document["machines"] = None
    elif kind == 2 or agents % 2:
        document["machines"] = (agents + 1) // 2 + rng.randint(0, 1)
    return document if next(answers(document), None) is not None else None


def drawn_with_types() -> dict[str, Any]:
    """Document of six agents of four types for which every pairing has a blocking pair."""
    rows = [[0.9, 0.6, 0.6, 0.1], [0.8, 0.7, 0.5, 0.4], [0.8, 0.3, 0.4, 0.6], [0.9, 0.3, 0.2, 0.6]]
    count = [3, 1, 1, 1]
    return {"cotenant": 1, "problem": "colocation", "name": "few", "penalty": rows, "count": count}


def few(number: int) -> list[dict[str, Any]]:
    """`number` documents of few types for which every pairing has a blocking pair."""
    documents: list[dict[str, Any]] = []
    for seed in itertools.count():
        rng = random.Random(seed)
        count = [rng.randint(1, 3) for _ in range(rng.randint(3, 5))]
        rows = [[rng.randint(0, 19) / 20 for _ in count] for _ in count]
        for a, row in enumerate(rows):
            row[a] = row[a] if rng.random() < 0.5 else None  # type: ignore[call-overload]
        document = {"cotenant": 1, "problem": "colocation", "name": "few", "penalty": rows}
        document |= {"count": count}
        if len(documents) == number:
            break
        if sum(count) in (6, 8) and min(
            (Truth(document, a).blocking() for a in answers(document)), default=0
        ):
            documents.append(document)
    return documents


def nobody(number: int) -> list[dict[str, Any]]:
    """`number` documents without a feasible pairing although every agent has an allowed partner."""
    documents: list[dict[str, Any]] = []
    for seed in itertools.count():
        if len(documents) == number:
            break
        rng = random.Random(seed)
        count = [rng.choice([1, 1, 1, 2, 3]) for _ in range(rng.randint(3, 7))]
        apart = [[rng.random() < 0.4 for _ in count] for _ in count]
        rows = [[None if away else rng.randint(0, 9) / 10 for away in row] for row in apart]
        band, agents = [float(rng.randint(0, 3)) for _ in count], sum(count)
        document = {"cotenant": 1, "problem": "colocation", "name": "nobody", "penalty": rows}
        document |= {"count": count, "bandwidth": band}
        if agents % 2:
            document["machines"] = agents // 2 + 1
        if agents <= 10 and next(answers(document), None) is None:
            with suppress(InvalidInstance):  # of which a file is no instance
                instance_of(document, json.dumps(document), Path("a file"))
                documents.append(document)
    return documents


def cases(number: int, start: int = 0, **options: Any) -> list[dict[str, Any]]:
    """`number` random colocation documents that have a pairing."""
    documents: list[dict[str, Any]] = []
    while len(documents) < number:
        document = drawn(start, **options)
        documents += [document] if document is not None else []
        start += 1
    return documents


def preferences(seed: int) -> dict[str, Any]:
    """Four to six agents with strict lists, and where they are five, one without partner."""
    rng = random.Random(seed)
    agents = rng.choice([4, 5, 6])
    rows = []
    for i in range(agents):
        others = [j for j in range(agents) if j != i]
        rng.shuffle(others)
        rows.append([None if i == j else (others.index(j) + 1) / 10 for j in range(agents)])
    document = {
        "cotenant": 1,
        "problem": "colocation",
        "name": "lists",
        "penalty": rows,
        "count": [1] * agents,
    }
    return document | ({"unpaired": 1} if agents == 5 else {})


@cache
def _parsed(content: str) -> Any:
    return instance_of(json.loads(content), content, Path("a file"))


def instance_of_document(document: dict[str, Any]) -> Any:
    """The instance of a document, parsed once."""
    return _parsed(json.dumps({"cotenant": 1, "problem": "colocation", **document}))


def answers(document: dict[str, Any]) -> Iterator[Pairs]:
    """Every pairing of the agents of a document; nothing if the document is invalid."""
    with suppress(InvalidInstance):
        for partner in brute.pairings(instance_of_document(document)):
            yield tuple((i, max(i, j)) for i, j in enumerate(partner) if j < 0 or i < j)


class Truth:
    """Values of an answer by definition, agent by agent, as fractions of the decimals written."""

    def __init__(self, document: dict[str, Any], pairs: Pairs) -> None:
        self.instance = instance_of_document(document)
        self.partner = [-1] * self.instance.agents
        for i, j in pairs:
            if i != j:
                self.partner[i], self.partner[j] = j, i
        self.old = [Fraction(str(v)) for v in brute.penalties(self.instance, self.partner)]

    @property
    def mean(self) -> Fraction:
        return sum(self.old, Fraction(0)) / len(self.old)

    def blocking(self, alpha: Fraction = Fraction(0), mode: str = "penalty-points") -> int:
        return brute.blocking(self.instance, self.partner, float(alpha), mode)

    @property
    def slack(self) -> Fraction:
        band, kind = self.instance.bandwidth, brute.agents_of(self.instance)
        groups = {a: [v for v, k in zip(self.old, kind, strict=True) if k == a] for a in set(kind)}
        mean = {a: sum(values, Fraction(0)) / len(values) for a, values in groups.items()}
        worse = [mean[a] - mean[b] for a in mean for b in mean if band[a] < band[b]]
        return max([Fraction(0), *worse])


def witness(document: dict[str, Any], pairs: Pairs) -> dict[str, Any]:
    """Witness of a proof for an answer by agents: numbers of pairs and of jobs alone by type."""
    kind = brute.agents_of(instance_of_document(document))
    pair = Counter(tuple(sorted((kind[i], kind[j]))) for i, j in pairs if i != j)
    single = Counter(kind[i] for i, j in pairs if i == j)
    first, second = ([p[side] for p in pair] for side in (0, 1))
    alone = [single[a] for a in range(len(document["count"]))]
    return {"first": first, "second": second, "pairs": list(pair.values()), "single": alone}


def case_of(
    document: dict[str, Any], pairs: Pairs | None = None, options: Any = None, *steps: Any
) -> ProofCase:
    """Checker's input for an answer as pairs of agents."""
    return proved.case_of(
        document, None if pairs is None else witness(document, pairs), options, *steps
    )
