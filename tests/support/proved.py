"""Making proofs in tests: from an instance and a method to the two files, and what `verify.py` says
of them.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cotenant import catalog
from cotenant.instances.problem.base import Instance
from cotenant.instances.problem.files import write
from cotenant.instances.problem.registry import resolve
from cotenant.solvers.outcome import Clock, Outcome
from cotenant.solvers.proofs import Task
from cotenant.verify import verify
from cotenant.verify.reading import MOST_WORK, Refused, Unreadable

Document = dict[str, Any]

REFUSALS = (
    Refused,
    Unreadable,
    ArithmeticError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
)
"""The program says "refused", "unreadable", or of the others "malformed"."""


def proof_of(
    folder: Path, instance: Instance, method: str, outcome: Outcome | None = None, **options: Any
) -> tuple[bytes, Document]:
    """The instance's file, and the proof that a method's producer makes of its (or of this)
    outcome.
    """
    content = write(instance, folder / "instance.json").read_bytes()
    entry = catalog.find(instance.problem, method)
    found = outcome or entry.resolve()(instance, **options)
    made = resolve(entry.proof_producer)(Task.of(content, instance, options, found, Clock()))
    return content, made.document(instance.name, sha256(content).hexdigest())


def judged(content: bytes, proof: Document, most_work: int = MOST_WORK) -> str:
    """What the verifier says."""
    return verify(content, json.dumps(proof).encode(), most_work)


_verified = lru_cache(4)(verify)
"""What the verifier says of a proof that many forgeries are made of."""


def refuses(content: bytes, proof: Document, change: Callable[[Document], object]) -> None:
    """Assert that a proof changed in place is refused, and that it was accepted before."""
    _verified(content, json.dumps(proof).encode())
    forged = copy.deepcopy(proof)
    change(forged)
    with pytest.raises(REFUSALS):
        judged(content, forged)
