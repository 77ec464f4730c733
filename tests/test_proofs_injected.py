"""A wrong bound put into each producer: what it writes then claims no more than is true, and what
claims the wrong bound is refused.
"""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from fractions import Fraction
from functools import cache
from hashlib import sha256
from typing import Any

import pytest

from cotenant import catalog
from cotenant.instances.problem.files import bundled, instance_of, locate
from cotenant.instances.problem.reading import read_bytes
from cotenant.instances.problem.registry import resolve
from cotenant.solvers.outcome import Clock
from cotenant.solvers.proofs import Claimed, Task
from cotenant.verify import verify
from cotenant.verify.reading import Refused

METHODS = sorted(
    ((m.problem, m.name) for m in catalog.METHODS if m.proof_producer),
    key=lambda key: (key[0], key[1]),
)


@cache
def instances(problem: str) -> list[tuple[bytes, Any]]:
    """The bundled instances of a problem, the smallest first."""
    names = [name for name in bundled() if name.startswith(f"{problem}/")]
    contents = sorted((read_bytes(locate(name)) for name in names), key=len)
    return [
        (content, instance_of(json.loads(content), content.decode(), locate(names[0])))
        for content in contents
    ]


def better(claim: dict[str, Any]) -> str:
    """A bound that says a little more than what a claim says."""
    bound = Fraction(claim["bound"])
    step = max(abs(bound), Fraction(1)) / 1000
    return str(bound - step if claim["sense"] == "max" else bound + step)


@pytest.mark.parametrize(("problem", "name"), METHODS)
def test_a_wrong_bound_in_a_producer_is_refused(problem: str, name: str) -> None:
    method = catalog.find(problem, name)
    for content, instance in instances(problem):
        if not method.applies_to(instance):
            continue
        outcome = method.resolve()(instance, time_limit=5)
        try:
            task = Task.of(content, instance, {}, outcome, Clock(10))
            proof = resolve(method.proof_producer)(task)
        except Claimed:
            continue
        break
    document = proof.document(instance.name, sha256(content).hexdigest())
    verify(content, json.dumps(document).encode())
    claims = [document["claim"], *(level["claim"] for level in document["levels"])]
    # the method says more than is true: its producer proves no more than before
    up = claims[0]["sense"] == "max"
    wrong = -1e6 if up else 1e6
    told = replace(outcome, bound=None if outcome.bound is None else wrong)
    try:
        misled = resolve(method.proof_producer)(replace(task, outcome=told, clock=Clock(2)))
    except Claimed:
        misled = None
    if misled is not None:
        second = misled.document(instance.name, sha256(content).hexdigest())
        verify(content, json.dumps(second).encode())
        if claims[0]["value"] is not None and second["claim"]["bound"] is not None:
            value, bound = Fraction(claims[0]["value"]), Fraction(second["claim"]["bound"])
            assert bound >= value if up else bound <= value
    # and a file that claims more than its steps show is refused, at every level
    for level, claim in enumerate(claims):
        forged = copy.deepcopy(document)
        part = forged["claim"] if level == 0 else forged["levels"][level - 1]["claim"]
        if claim["bound"] is not None:
            part["bound"] = better(claim)
            part["claim_kind"] = "gap" if part["claim_kind"] == "optimal" else part["claim_kind"]
        else:
            part["epsilon"] = {key: "-1/10" for key in part["epsilon"]}
        with pytest.raises(Refused):
            verify(content, json.dumps(forged).encode())
        part["value"] = None
        with pytest.raises(Refused):
            verify(content, json.dumps(forged).encode())
