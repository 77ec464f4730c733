"""Terms of the papers that a page uses, each with one sentence; docs/glossary.md has the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .content import Content

WORDS: dict[str, str] = {
    "alpha": "The least gain for which somebody breaks away: with 0 any gain is enough.",
    "attribution": "Whether who presses harder on shared memory also loses more: the rank "
    "correlation of penalty with bandwidth, 1 where it is fair throughout.",
    "blocking group": "Jobs that fill a machine and would all rather run there together than stay "
    "where they are.",
    "blocking pair": "Two agents who would both rather share with each other than stay where they "
    "are.",
    "bound": "A number that no answer can pass, proved; an answer that reaches it is the best.",
    "certainly blocking": "Of a pair: it blocks whatever the true penalties within their intervals "
    "are.",
    "dominant share": "The largest part that a user holds of any one resource.",
    "envy": "How much better a user would do with what another one has; an index of 1 is no envy.",
    "gap": "How far a value is from the best proved bound, as a part of that bound.",
    "penalty": "The part of its throughput that a job loses to its neighbor.",
    "phi": "The Shapley value: what an organization is due, its mean contribution to what the "
    "organizations achieve together.",
    "possibly blocking": "Of a pair: it blocks for some true penalties within their intervals.",
    "psi": "The utility that an organization got: work done, worth more the earlier it is done.",
    "regret": "What a user would gain by spending its budget otherwise at the same prices.",
    "sharing index": "What sharing gives a user over what its own part would; below 1 it loses.",
    "slack": "By how much a job that presses less on memory may lose more than one that presses "
    "harder; 0 is fair attribution.",
    "unfairness": "How far the organizations' utilities are from those under REF: the sum of the "
    "differences of psi, for each unit of work that REF does.",
}
"""Word, in lower case, and what it means."""


def glossary(content: Content) -> list[tuple[str, str]]:
    """Glossary terms that occur on a page, alphabetically, with their meanings."""
    texts = [sentence for problem in content.problems for sentence in problem.sentences]
    for table in content.tables():
        texts += [table.title, *(column.name for column in table.columns)]
    for shown in content.pictures():
        texts += [shown.picture.title, shown.picture.alt, shown.picture.note]
    text = " ".join(texts).lower()
    return [
        (word, meaning)
        for word, meaning in WORDS.items()
        if re.search(rf"(?<![a-z]){word.replace(' ', '[ -]')}(?:s|_|(?![a-z]))", text)
    ]


def meaning(heading: str) -> str:
    """Meaning of the words of a heading, for a tooltip; "" for a plain one."""
    known = [
        f"{word}: {text}"
        for word, text in WORDS.items()
        if re.search(rf"(?<![a-z]){word}(?:s|_|(?![a-z]))", heading.lower())
    ]
    return " ".join(known[:2])
