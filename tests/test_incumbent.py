"""The best answer of a search and its bound, and what they make of each other."""

from __future__ import annotations

import pytest

from cotenant.instances.colocation import Colocation, Pairing
from cotenant.solvers.incumbent import Incumbent, conclude
from cotenant.solvers.outcome import Clock, Outcome, Status, Stop


@pytest.mark.parametrize(("sense", "sign"), [("min", 1), ("max", -1)])
def test_incumbent_keeps_better_values_bounds_and_second_levels(sense, sign) -> None:
    search: Incumbent[str, float] = Incumbent(
        None, Clock(), lambda number: sign * len(number), sense=sense
    )
    assert search.open
    assert search.best is None
    assert not search.proved
    assert search.offer("abc")
    assert not search.offer("abcd")
    assert not search.offer(None)
    assert search.raise_bound(sign * 1, "one", "by hand")
    assert not search.raise_bound(sign * 1)
    assert (search.best, search.value, search.bound) == ("abc", sign * 3, sign * 1)
    assert search.finish().status is Status.FEASIBLE
    assert search.offer("x")
    assert search.proved
    found = search.finish({"also": 1})
    assert (found.status, found.bound, found.stop) == (Status.OPTIMAL, sign, Stop.FINISHED)
    assert found.certificate == {"proof": "by hand", "also": 1}
    search = Incumbent(None, Clock(), len, then=lambda text: float(text.count("a")), bound=0)
    assert [search.offer(text) for text in ("aab", "aaa", "abb")] == [True, False, True]
    assert [line[1:] for line in found.trace] == [
        (sign * 3.0, None), (sign * 3.0, sign * 1.0), (sign * 1.0, sign * 1.0)
    ]  # fmt: skip


def test_incumbent_with_contradicting_bound_claims_nothing() -> None:
    for sense, bound in (("min", 3.1), ("max", 2.9)):
        search = Incumbent(None, Clock(), float, sense=sense)
        search.offer(3.0)
        search.raise_bound(bound)
        assert search.closed
        assert not search.proved
        found = search.finish()
        assert (found.status, found.bound, found.trace[-1][2]) == (Status.UNKNOWN, None, None)
        assert "contradiction" in found.certificate
        near = conclude("x", 3.0, 3.0 + 1e-12, Stop.TIME_LIMIT, {}, Clock(), sense=sense)
        assert (near.status, near.stop) == (Status.OPTIMAL, Stop.FINISHED)


def test_incumbent_refuses_infeasible_answers() -> None:
    pairs = Colocation([[0.1, 0.3], [0.2, 0.9]], [2, 2])
    search: Incumbent[Pairing, float] = Incumbent(
        pairs, Clock(), lambda _: 0.0, shown=lambda value: value / 2
    )
    given = Outcome(Pairing([0], [0], [1], [0, 2]), 0.0, Status.OPTIMAL, Stop.ITERATION_LIMIT)
    search.accept_outcome(given, "too few")
    assert search.best is None
    assert search.finish().status is Status.UNKNOWN
    assert search.stop is Stop.ITERATION_LIMIT
    with search.keeping_best():
        given = Outcome(
            Pairing([0, 1], [0, 1], [1, 1], [0, 0]), None, Status.FEASIBLE, Stop.INTERRUPTED
        )
        search.accept_outcome(given, "all")
        raise AssertionError("the interrupt goes on")
    assert search.best is not None
    assert search.finish().stop is Stop.INTERRUPTED


def test_incumbent_without_answer_accepts_bounds_and_closes_at_optimum() -> None:
    def last(*news: object) -> None:
        raise KeyboardInterrupt

    search = Incumbent(None, Clock(), len, bound=0, value=4)
    assert search.raise_bound(3)
    assert search.open
    assert search.raise_bound(4)
    assert search.closed
    assert search.clock.trace[-1][1] is None
    kept = conclude("abcd", 4.0, 4.0, Stop.FINISHED, {}, Clock(report=last))
    assert (kept.solution, kept.status, kept.stop) == ("abcd", Status.OPTIMAL, Stop.INTERRUPTED)
