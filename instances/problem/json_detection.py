"""What a file given in place of another is (a state, a document, a table), and what reads it."""

from __future__ import annotations

import json
from typing import Any

from .errors import spelled


def is_kubernetes(content: Any) -> bool:
    """Whether JSON is an object of Kubernetes, such as a List of them."""
    kind = content.get("kind") if isinstance(content, dict) else None
    return isinstance(kind, str) and "apiVersion" in content


def hint(content: Any) -> str:
    """A sentence on what JSON looks like and what takes it; "" where nothing is known of it."""
    reads = "this looks like a Kubernetes List: `cotenant advise nodes FILE` reads it"
    return reads * is_kubernetes(content)


def document_kind(content: Any) -> str:
    """Which document of this package JSON is, and what takes it; "" for anything else."""
    if not isinstance(content, dict):
        return ""
    if "cotenant_proof" in content:
        return "a proof, which `cotenant verify INSTANCE PROOF.json` judges"
    if isinstance(content.get("key"), str) and {"method", "metrics"} <= set(content):
        return "a row of `cotenant compare --out`, which `cotenant report` reads"
    if "cotenant" in content and "result" in content:
        return "a result of `cotenant solve --out`"
    return "an instance" if {"cotenant", "problem"} <= set(content) else ""


def instead_of_json(text: str, error: json.JSONDecodeError, where: str, wanted: str) -> str:
    """A sentence on a file that is JSON in lines, or a table; "" where it is neither."""
    if error.msg == "Extra data":
        first: Any = None
        try:
            first = json.loads(text[: error.pos])
        except (ValueError, RecursionError):
            return ""
        what = document_kind(first)
        cure = f"; each is {what}" if what else ""
        if is_kubernetes(first):
            cure = "; `kubectl get ... -o json` prints them as one List"
        return f"{where} holds several JSON values one after the other; expected one{cure}"
    line = text.lstrip().partition("\n")[0]
    if line[:1] in ("{", "[", '"') or not any(mark in line for mark in ",;\t"):
        return ""
    cure = wanted and f"expected {wanted}"
    if "coalition" in line.lower():
        cure = cure or f"`cotenant analyze core {where}` divides what coalitions earn or cost"
    cure = cure or spelled(
        f"`cotenant convert {where} --from FORMAT --out FILE.json` makes an instance of it (csv "
        "for tables with plain headers; penalty-csv or slowdown-csv for a square matrix)",
        "`from_frame` of a problem's class makes an instance of its pandas.DataFrame, and "
        "instances.colocation.formats.penalty_csv or slowdown_csv of a square matrix",
    )
    return f"{where} is not JSON but looks like a table; {cure}"
