"""Losses of nodes, repairs and what pins pods: against enumeration, and what is printed."""

from __future__ import annotations

import json

import pytest
from support.advice_cases import resilience
from support.advice_states import apart, listed, node, pod, state
from support.messages import approved
from support.terminal import run

from cotenant.advice.repairing import repair
from cotenant.advice.resilience_report import repair_lines


@pytest.mark.parametrize("seed", range(60))
def test_small_states_against_enumeration(seed: int) -> None:
    wrong = [(what, seen) for what, held, seen in resilience(seed) if not held]
    assert not wrong


# repairs


def apart_pairs() -> tuple[dict[str, object], ...]:
    """Two groups whose pods are to be apart and run together, as after a host was restarted."""
    return (
        *(node(f"h{n}", "8") for n in range(3)),
        *(
            pod(f"{app}-1-{x}", on, labels={"app": app}, affinity=apart(app))
            for app, on in (("db", "h0"), ("lb", "h1"))
            for x in "ab"
        ),
        pod("web-1-a", "h2", 5),
    )


def test_two_broken_rules_are_repaired_in_two_moves() -> None:
    found = repair(state(*apart_pairs()))
    assert found.advice is not None
    assert (len(found.broken), len(found.advice.targets), found.left) == (2, 2, ())
    assert found.advice.moves_lower_bound == 2
    assert found.advice.freed == ()
    approved("\n".join(repair_lines(found)))


def test_pods_that_fit_nowhere_else_cannot_be_repaired() -> None:
    items = [node("a", 2), node("b", 1), pod("x-1-a", "a"), pod("x-1-b", "a"), pod("x-1-c", "a")]
    assert repair(state(*items)).complete
    approved("\n".join(repair_lines(repair(state(*items, pod("x-1-d", "a"))))))


def test_the_command_repairs_and_says_when_there_is_nothing_to_do(tmp_path) -> None:
    path = tmp_path / "state.json"
    path.write_text(json.dumps(listed(*apart_pairs())))
    document = json.loads(run("advise", "repair", str(path), "--json").stdout)
    assert (len(document["broken"]), document["plan"]["moves"]) == (2, 2)
    assert "kubectl cordon" not in run("advise", "repair", str(path), "--emit", "kubectl").stdout
    approved(run("advise", "repair", "state/shop").stdout)
    approved(run("advise", "repair", "state/shop", "--emit", "kubectl").stderr)
