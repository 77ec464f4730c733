"""Conditions on labels as the API writes them, and what objects are called."""

from __future__ import annotations

from .fields import Fields
from .state import Expression, NodeTerm, Selector


def name_of(item: Fields) -> tuple[str, str]:
    """Namespace ("" for none) and name of an object."""
    about = item.of("metadata")
    return about.text("namespace"), about.text("name")


def expressions(fields: Fields, name: str = "matchExpressions") -> tuple[Expression, ...]:
    """A list of conditions."""
    found = []
    for item in fields.many(name):
        operator = item.text("operator")
        if operator not in ("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"):
            raise item.wrong("operator", operator, "In, NotIn, Exists, DoesNotExist, Gt or Lt")
        found.append(Expression(item.text("key"), operator, item.texts("values")))
    return tuple(found)


def equal(labels: dict[str, str]) -> tuple[Expression, ...]:
    """The condition of each label that it has this value."""
    return tuple(Expression(key, "In", (value,)) for key, value in sorted(labels.items()))


def selector_of(fields: Fields, name: str) -> Selector:
    """A selector of labels; None where there is none, which selects nothing."""
    if name not in fields:
        return None
    item = fields.of(name)
    return equal(item.mapping("matchLabels")) + expressions(item)


def node_terms(fields: Fields) -> tuple[NodeTerm, ...]:
    """The terms of a node selector."""
    return tuple(
        NodeTerm(expressions(term), expressions(term, "matchFields"))
        for term in fields.many("nodeSelectorTerms")
    )
