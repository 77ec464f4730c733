"""Forgeries that a reader of verify.py found, each held against the definition: none is accepted."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from support.messages import refused

from cotenant.verify import verify
from cotenant.verify.colocation import colocation_optimal
from cotenant.verify.frame import ProofCase
from cotenant.verify.market import market_leximin
from cotenant.verify.numa import numa_fluid
from cotenant.verify.packing import Packing
from cotenant.verify.program import Program
from cotenant.verify.reading import (
    MOST_DIGITS,
    MOST_EXPONENT,
    MOST_WORK,
    Decimal,
    Refused,
    Unreadable,
    WorkLimit,
    parse,
    scaled,
)


def _judged(document: dict[str, Any], most_work: int = MOST_WORK, **proof: Any) -> str:
    """What the verifier says of a proof of a document, of which only some parts are given."""
    data = json.dumps({"cotenant": 1, "name": "forged", **document}).encode()
    made = {
        "cotenant_proof": 2,
        "problem": document["problem"],
        "options": {},
        "instance": {"sha256": hashlib.sha256(data).hexdigest(), "name": "forged"},
        "witness": None,
        "levels": [],
        "steps": [],
        **proof,
    }
    return verify(data, json.dumps(made).encode(), most_work)


def _claim(objective: str, sense: str, value: Any, bound: Any, says: str) -> dict[str, Any]:
    return {
        "objective": objective,
        "sense": sense,
        "value": value,
        "bound": bound,
        "claim_kind": says,
    }


def _blocking(value: Any, bound: Any, says: str) -> dict[str, Any]:
    return _claim("blocking_pairs", "min", value, bound, says)


def test_a_party_of_agents_to_whom_neighbors_are_the_same_proves_no_blocking_pair() -> None:
    """Three agents like each other equally, and a fourth is liked by nobody: 0-1, 2-3 is stable, as
    neither 0 nor 1 gains by 2.
    """
    near, far = 0.1, 0.9
    penalty = [[None, near, near, far], [near, None, near, far], [near, near, None, far]]
    document = {
        "problem": "colocation",
        "penalty": [*penalty, [near, near, near, None]],
        "count": [1] * 4,
    }
    stable = {"first": [0, 2], "second": [1, 3], "pairs": [1, 1], "single": [0] * 4}
    claim = _blocking(0, 0, "optimal")
    assert "optimal" in _judged(document, method="stable", witness=stable, claim=claim)
    ring = {"kind": "deletions", "least": 1, "tree": [[0, 1, 1, 2, 2, 0, 3, 3], []]}
    with refused(Refused):
        _judged(document, method="stable", steps=[ring], claim=_blocking(None, 1, "gap"))


def test_an_equilibrium_says_to_within_how_much() -> None:
    """A null was no number to compare, and "regret nothing" was read as none."""
    job = {"user": [0], "server": [0], "parallel_fraction": [1], "work": [1]}
    document = {"problem": "market", "capacity": [2], "budget": [1], "job": job}
    claim = _claim("equilibrium_error", "min", None, None, "equilibrium")
    answer = {"cores": {"over": 1, "numbers": [0]}, "price": {"over": 1, "numbers": [1]}}
    for most in (1, None):
        claim["epsilon"] = {"clearing": 1, "overspending": 0, "regret": most}
        parts = {"method": "fisher", "witness": answer, "steps": [{"kind": "equilibrium"}]}
        if most is None:
            with refused(Refused):
                _judged(document, claim=claim, **parts)
        else:
            assert "regret 1" in _judged(document, claim=claim, **parts)


def test_a_second_level_says_of_which_answers_it_speaks() -> None:
    """0-1, 2-3 costs least of all, and 0 and 2 block it; 0-2, 1-3 has no blocking pair."""
    rows = [[None, 0.2, 0.1, 0.9], [0, None, 0.9, 0.9], [0.1, 0.9, None, 0.2], [0.9, 0.9, 0, None]]
    document = {"problem": "colocation", "penalty": rows, "count": [1] * 4}
    answer = {"first": [0, 2], "second": [1, 3], "pairs": [1, 1], "single": [0] * 4}
    dual = {"kind": "dual", "over": 1, "prices": [1] * 4, "rent": 0, "sets": []}
    level = {"claim": _claim("penalty", "min", "1/10", "1/10", "optimal"), "steps": [dual]}
    parts: dict[str, Any] = {"method": "stable", "witness": answer, "levels": [level]}
    told = _judged(document, claim=_blocking(1, 0, "gap"), **parts)
    assert "then, of the answers no worse than this one there, penalty is 0.1" in told
    with refused(Refused):
        _judged(document, claim=_blocking(None, 0, "gap"), **parts)


def test_names_change_no_proof() -> None:
    """Files that name users, servers, jobs and VMs are proved like any other."""
    job = {"user": [0], "server": [0], "parallel_fraction": [1], "work": [1]}
    market = {"problem": "market", "capacity": [2], "budget": [1], "job": job}
    named = market | {"names": ["ann"], "server_names": ["one"]}
    told = _judged(
        named,
        method="utilitarian",
        witness={"cores": {"over": 1, "numbers": [2]}},
        steps=[{"kind": "tangent"}],
        claim=_claim("total_utility", "max", 2, 2, "optimal"),
    )
    assert "optimal" in told
    jobs = {"problem": "admission", "cores": [[1]], "threads": [1], "speed": [[1]]}
    told = _judged(
        jobs | {"names": ["job"], "machine_names": ["vm"]},
        method="most-jobs",
        witness={"machine": [0], "cores": [[1]]},
        claim=_claim("assigned", "max", 1, 1, "optimal"),
    )
    assert "optimal" in told
    servers = {"problem": "packing", "capacity": [[2]], "demand": [[1]], "request": [2]}
    told = _judged(
        servers | {"names": ["vm"], "class_names": ["large"], "resources": ["core"]},
        method="min-servers",
        witness={"count": [[2]], "server_class": [0]},
        claim=_claim("servers", "min", 1, None, "gap"),
    )
    assert "worth 1" in told


@pytest.mark.parametrize("penalty", [-(10**1500), -1.5, 1.5])
def test_penalties_are_those_an_instance_may_have(penalty: float) -> None:
    """Who is content alone gains by no penalty: the program took one below -10^999 for a gain."""
    document = {"problem": "colocation", "penalty": [[penalty]], "count": [3], "machines": None}
    with refused(Refused):
        _judged(document, method="optimal", claim=_claim("penalty", "min", None, None, "gap"))


def test_shares_of_tasks_sum_to_one() -> None:
    """Half of the tasks would be served twice as fast as all of them."""
    shape = {"blades": 1, "rows": 1, "columns": 1, "cores": 2, "rate": 1, "refusal_limit": None}
    times = {"service_mean": [1], "ht1": [1], "pcie": [1], "bandwidth": [0]}
    for share in (1, 0.5):
        made = {**shape, **times, "class_share": [share], "location_share": [1]}
        document = {"problem": "numa", **made}
        dual = {"kind": "dual", "prices": {"over": 1, "numbers": [1]}}
        claim = _claim("served_rate", "max", None, int(2 / share), "gap")
        if share == 1:
            assert "above 2" in _judged(document, method="fluid", steps=[dual], claim=claim)
        else:
            with refused(Refused):
                _judged(document, method="fluid", steps=[dual], claim=claim)


def test_a_program_that_would_fill_the_memory_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A small proof may ask for more rows than any memory holds: of flags of many types."""
    program = Program()
    column = program.column(1)
    program.at_most([(column, 1)], 1)
    monkeypatch.setattr("cotenant.verify.program.MOST_TERMS", 4)
    program.at_most([(column, 1)], 1)
    with refused(Refused):
        program.at_most([(column, 1)], 1)


@pytest.mark.parametrize("members", [[0, 1], [0, 0, 0], [1, 0], []])
def test_a_set_with_an_even_number_of_agents_proves_nothing(members: list[int]) -> None:
    """Two agents who share at .1 each: nobody has to leave a set of both."""
    pair = {"problem": "colocation", "penalty": [[None, 0.1], [0.1, None]], "count": [1, 1]}
    step = {"kind": "dual", "over": 1, "prices": [1, 1], "rent": 0, "sets": []}
    parts: dict[str, Any] = {"method": "optimal", "steps": [step]}
    claim = _claim("penalty", "min", None, "1/10", "gap")
    assert "below 0.1" in _judged(pair, claim=claim, **parts)
    step["sets"] = [[5, *members]]
    with refused(Refused):
        _judged(pair, claim=claim | {"bound": "7/20"}, **parts)


def test_who_would_as_soon_be_unpaired_leaves_its_first_choice_to_others() -> None:
    """0 is at .5 alone as beside 1, so 1-2 is stable, and costs .8 in all; 0-1 costs 1.1."""
    rows = [[None, 0.5, None], [0.1, None, 0.2], [None, 0.1, None]]
    document = {"problem": "colocation", "penalty": rows, "count": [1] * 3, "unpaired": 0.5}
    parts: dict[str, Any] = {"method": "stable", "claim": _blocking(0, 0, "optimal")}
    alone = {"first": [1], "second": [2], "pairs": [1], "single": [1, 0, 0]}
    level = {"claim": _claim("penalty", "min", "8/30", None, "gap"), "steps": []}
    assert "worth 0.266" in _judged(document, witness=alone, levels=[level], **parts)
    answer = {"first": [0], "second": [1], "pairs": [1], "single": [0, 0, 1]}
    level["claim"] = _claim("penalty", "min", "11/30", "11/30", "optimal")
    level["steps"] = [{"kind": "propagation", "below": 11, "tree": []}]
    with refused(Refused):
        _judged(document, witness=answer, levels=[level], **parts)


def test_without_a_scale_no_target_bounds_the_cost() -> None:
    """Two VMs on two servers: without a scale there is no row of the cost, so none of at most 0."""
    document = {"problem": "packing", "capacity": [[1]], "demand": [[1]], "request": [2]}
    step = {"kind": "prices", "prices": [1], "scale": 0, "rents": [1], "weights": [[1]]}
    claim = _claim("servers", "min", None, None, "infeasible")
    tree = {"target": 0, "sums": [], "tree": [-1], "leaves": [[0, 1, 2, 1]]}
    with refused(Refused):
        _judged(document | {"servers": [2]}, method="min-servers", steps=[step | tree], claim=claim)
    told = _judged(  # one server is not enough
        document | {"servers": [1]}, method="min-servers", steps=[step], claim=claim
    )
    assert "no answer at all" in told


def test_a_flow_to_smaller_bandwidths_proves_no_slack() -> None:
    """The type of larger bandwidth loses more, as it should: the slack is 0, not .4."""
    rows = [[None, 0.1], [0.5, None]]
    document = {"problem": "colocation", "penalty": rows, "count": [1, 1], "bandwidth": [1, 2]}
    step = {"kind": "dual", "over": 1, "prices": [0, 4], "rent": 0, "sets": []}
    step["flow"] = {"over": 1, "numbers": [-1, 1]}
    claim = _claim("slack", "min", None, "2/5", "gap")
    with refused(Refused):
        _judged(document, method="fair", steps=[step], claim=claim)


def test_a_cut_rounds_down_and_no_further() -> None:
    """2 x <= 2 says x <= 1, and 1 is a point."""
    program = Program()
    column = program.column(1)
    program.at_most([(column, 2)], 2)
    program.at_most([(column, -1)], -1)
    with refused(Refused):
        program.impossible({"cuts": [[2, 0, 1]], "tree": []})


TWO = {"problem": "packing", "capacity": [[4]], "demand": [[3], [2]], "request": [1, 1]}


@pytest.mark.parametrize(
    "tree",
    [
        {
            "sums": [],
            "tree": [],
        },  # as if the filling that falls short by all of the reach were none
        {"sums": [], "tree": [-1], "leaves": [[0, 1, 3, 1]]},  # row 3 is the target
        {"sums": [[-1, 0, 1]], "tree": [2, 0, -1], "leaves": [[0, 1, 4, 1]]},  # who holds the first
    ],
)
def test_two_vms_that_need_two_servers_do_not_need_three(tree: dict[str, object]) -> None:
    """A target that can be met is refused, whatever the tree."""
    step = {"kind": "prices", "prices": [2, 1], "scale": 2, "rents": [0], "weights": [[1]]}
    claim = _claim("servers", "min", None, 3, "gap")
    with refused(Refused):
        _judged(TWO, method="min-servers", steps=[step | {"target": 2} | tree], claim=claim)


def test_a_share_that_can_be_passed_is_no_bound() -> None:
    """Three VMs fit, a share of 1: that more than 2/3 is impossible would take a fourth."""
    document = {"problem": "packing", "capacity": [[3]], "demand": [[1]], "servers": [1]}
    prices = {"kind": "prices", "prices": [1], "scale": 0, "rents": [3], "weights": [[1]]}
    parts: dict[str, Any] = {"method": "max-min-share"}
    step = {"kind": "share", "above": "1", "prices": prices}
    claim = _claim("dominant_share_min", "max", None, 1, "gap")
    assert "above 1" in _judged(document, steps=[step], claim=claim, **parts)
    step["above"], claim["bound"] = "2/3", "2/3"
    with refused(Refused):
        _judged(document, steps=[step], claim=claim, **parts)


def test_vms_of_which_any_number_may_come_need_a_price() -> None:
    """One VM of the second type fills the server; the first alone would fill half of it."""
    document = {
        "problem": "packing",
        "capacity": [[2]],
        "demand": [[1], [2]],
        "servers": [1],
        "request": [1, None],
        "partial": True,
    }
    step = {"kind": "prices", "prices": [1, 0], "over": 1, "rents": [1], "weights": [[1]]}
    claim = _claim("utilization", "max", None, "1/2", "gap")
    with refused(Refused):
        _judged(document, method="max-utilization", steps=[step], claim=claim)


JOBS = {"problem": "admission", "cores": [[2], [1]], "threads": [1, 2], "speed": [[1], [1]]}
QUEUE = {
    "problem": "scheduling",
    "machines": [1],
    "horizon": 4,
    "job": {"organization": [0, 0], "release": [0, 1], "processing": [2, 1]},
}
PAIRS = {"problem": "colocation", "penalty": [[0, None], [0, 0]], "count": [2, 2], "machines": 3}
SPEED = _claim("total_speed", "max", 2, None, "gap")
USED = _claim("utilization", "max", "3/4", None, "gap")
SERVERS = _claim("servers", "min", 1, None, "gap")
PENALTY = _claim("penalty", "min", 0, None, "gap")


@pytest.mark.parametrize(
    ("document", "method", "claim", "answer"),
    [
        (JOBS, "optimal", SPEED, {"machine": [0, -1], "cores": [[2], [0]]}),  # one thread
        (JOBS, "optimal", SPEED, {"machine": [1, 1], "cores": [[1], [1]]}),  # one core
        (JOBS, "optimal", SPEED, {"machine": [0, -1], "cores": [[1], [1]]}),  # on no VM
        (QUEUE, "max-utilization", USED, {"start": [0, 1], "machine": [0, 0]}),  # both at 1
        (QUEUE, "max-utilization", USED, {"start": [2, 1], "machine": [0, 0]}),  # out of order
        (QUEUE, "max-utilization", USED, {"start": [0, 2], "machine": [0, 1]}),  # one machine
        (
            {**QUEUE, "job": {**QUEUE["job"], "release": [1, 1]}},  # type: ignore[dict-item]
            "max-utilization",
            USED,
            {"start": [0, 2], "machine": [0, 0]},
        ),
        (TWO, "min-servers", SERVERS, {"count": [[1, 1]], "server_class": [0]}),  # 5 of 4
        (TWO, "min-servers", SERVERS, {"count": [[1, 0]], "server_class": [0]}),  # one VM
        (
            PAIRS,
            "optimal",
            PENALTY,
            {"first": [0, 0], "second": [1, 1], "pairs": [1, 1], "single": [0, 0]},
        ),
        (PAIRS, "optimal", PENALTY, {"first": [], "second": [], "pairs": [], "single": [2, 2]}),
        (PAIRS, "optimal", PENALTY, {"first": [0], "second": [0], "pairs": [1], "single": [0, 1]}),
    ],
)
def test_what_is_no_answer_is_refused(
    document: dict[str, Any], method: str, claim: dict[str, Any], answer: dict[str, Any]
) -> None:
    """Each breaks one rule of its problem, and would be worth what is claimed."""
    with refused(Refused):
        _judged(document, method=method, claim=claim, witness=answer)


def test_a_rate_that_is_just_sustained_is_possible() -> None:
    """Two cores serve two tasks a second, of a second each."""
    shape = {"blades": 1, "rows": 1, "columns": 1, "cores": 2, "rate": 2, "refusal_limit": None}
    times = {"service_mean": [1], "ht1": [1], "pcie": [1], "bandwidth": [0]}
    document = {
        "problem": "numa",
        **shape,
        **times,
        "class_share": [1],
        "location_share": [1],
    }
    dual = {"kind": "dual", "prices": {"over": 1, "numbers": [1]}}
    claim = _claim("link_power", "min", None, None, "infeasible")
    with refused(Refused):
        _judged(document, method="fluid-power", steps=[dual], claim=claim)
    faster = {**document, "rate": 2.1}
    assert "no answer at all" in _judged(faster, method="fluid-power", steps=[dual], claim=claim)


def _gap(objective: str, sense: str) -> dict[str, Any]:
    return _claim(objective, sense, None, 0, "gap")


_TWO = {"problem": "colocation", "penalty": [[0.5, 0.5], [0.5, 0.5]], "count": [2, 2]}
_JOB = {"user": [0, 1], "server": [0, 1], "parallel_fraction": [1, 1], "work": [1, 1]}
_MARKET = {"problem": "market", "capacity": [9, 9], "budget": [1, 1], "job": _JOB}
_CORES = {"cores": {"over": 1, "numbers": [1, 1]}}
_ENDLESS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "the same prices again": (
        _TWO,
        {
            "method": "optimal",
            "claim": _gap("penalty", "min"),
            "steps": [{"kind": "dual", "over": 1, "prices": [0, 0], "rent": 0, "sets": []}] * 500,
        },
    ),
    "a case split for ever": (
        {**_TWO, "count": [2 * 10**9, 2 * 10**9]},
        {
            "method": "stable",
            "options": {"alpha": 2},
            "claim": _gap("blocking_pairs", "min"),
            "steps": [
                {
                    "kind": "propagation",
                    "tree": [n for k in range(2, 999) for n in (1, 10**9 - 999 * k)],
                }
            ],
        },
    ),
    "boxes within boxes": (
        _MARKET,
        {
            "method": "nash-welfare",
            "options": {"whole": True},
            "claim": _gap("nash_welfare", "max"),
            "witness": _CORES,
            "steps": [{"kind": "tree", "nodes": [[0, 99]] * 999}],
        },
    ),
    "fillings copied without end": (
        {"problem": "packing", "capacity": [[9**6]], "demand": [[1]], "request": [9**6]},
        {
            "method": "min-servers",
            "claim": _gap("servers", "min"),
            "steps": [
                {"kind": "prices", "prices": [1], "scale": 0, "rents": [0], "weights": [[0]]}
            ],
        },
    ),
    "trees of rents": (
        {"problem": "admission", "cores": [[1]], "threads": [1], "speed": [[1]]},
        {
            "method": "optimal",
            "claim": _gap("total_speed", "max"),
            "steps": [{"kind": "prices", "jobs": [0], "over": 1, "kinds": [[0]]}] * 999,
        },
    ),
    "prices of groups again": (
        {"problem": "groups", "count": [4], "seats": [2], "penalty": [[0.1]]},
        {
            "method": "optimal",
            "claim": _gap("penalty", "min"),
            "steps": [
                {
                    "kind": "propagation",
                    "prices": {"over": 1, "numbers": [0]},
                    "below": 0,
                    "tree": [],
                }
            ]
            * 999,
        },
    ),
    "groups of many jobs": (
        {"problem": "groups", "count": [99] * 4, "seats": [40], "penalty": [[0.1] * 4] * 4},
        {"method": "optimal", "claim": _gap("penalty", "min"), "steps": []},
    ),
    "many classes of machines": (
        {
            "problem": "groups",
            "count": [9] * 9,
            "seats": [1] * 99,
            "machines": [None] * 99,
            "penalty": [[0.1] * 9] * 9,
        },
        {"method": "optimal", "claim": _gap("penalty", "min"), "steps": []},
    ),
    "a curve of many knots": (
        {
            "problem": "groups",
            "count": [9],
            "seats": [3],
            "pressure": [1],
            "knots": [*range(999)],
            "sensitivity": [[0.1] * 999],
        },
        {"method": "optimal", "claim": _gap("penalty", "min"), "steps": []},
    ),
    "a zone's rule over many servers": (
        {
            "problem": "packing",
            "capacity": [[4]],
            "demand": [[1]],
            "request": [99],
            "servers": [99],
            "zone": ["a"],
            "skew": [1],
        },
        {
            "method": "min-servers",
            "claim": _gap("servers", "min"),
            "steps": [{"kind": "propagation", "below": 1, "each": True, "tree": []}] * 99,
        },
    ),
    "conflicts that a server never has": (
        {
            "problem": "packing",
            "capacity": [[4]],
            "demand": [[1], [9]],
            "request": [3, 0],
            "apart": [[0, 1]] * 200,
        },
        {
            "method": "min-servers",
            "claim": _gap("servers", "min"),
            "steps": [{"kind": "propagation", "below": 2, "each": True, "tree": []}],
        },
    ),
    "limits on VMs that no server holds": (
        {
            "problem": "packing",
            "capacity": [[4]],
            "demand": [[1], *[[9]] * 10],
            "request": [1, *[0] * 10],
            "limits": [{"types": [*range(1, 11)], "most": 1}] * 8,
        },
        {
            "method": "min-servers",
            "claim": _gap("servers", "min"),
            "steps": [{"kind": "propagation", "below": 2, "tree": []}],
        },
    ),
    "answers of many resources": (
        {
            "problem": "packing",
            "capacity": [[9] * 99],
            "demand": [[1] * 99],
            "request": [9],
        },
        {
            "method": "min-servers",
            "claim": _gap("servers", "min"),
            "witness": {"count": [[1]] * 9, "server_class": [0] * 9},
        },
    ),
    "moves again": (
        {
            "problem": "packing",
            "capacity": [[4]],
            "demand": [[1]],
            "request": [9],
            "servers": [2],
            "placed": [[0, 0, 1]],
        },
        {
            "method": "fewest-moves",
            "options": {"servers": 2},
            "claim": _gap("moves", "min"),
            "steps": [{"kind": "propagation", "tree": []}] * 99,
        },
    ),
    "jobs that wait in every coalition": (
        {
            "problem": "scheduling",
            "machines": [1],
            "horizon": 1,
            "job": {"organization": [0] * 400, "release": [0] * 400, "processing": [1] * 400},
        },
        {"method": "REF", "claim": _gap("unfairness", "min"), "steps": [{"kind": "recompute"}] * 2},
    ),
    "logarithms of many users": (
        {**_MARKET, "budget": [1] * 9, "job": {k: v * 9 for k, v in _JOB.items()}},
        {
            "method": "nash-welfare",
            "claim": _gap("nash_welfare", "max"),
            "witness": {"cores": {"over": 1, "numbers": [1] * 18}},
            "steps": [{"kind": "tangent"}],
        },
    ),
    "the game of coalitions again": (
        {
            "problem": "scheduling",
            "machines": [1],
            "horizon": 9,
            "job": {"organization": [0], "release": [0], "processing": [1]},
        },
        {
            "method": "REF",
            "claim": _gap("unfairness", "min"),
            "steps": [{"kind": "recompute"}] * 999,
        },
    ),
}


@pytest.mark.parametrize("name", _ENDLESS)
def test_what_a_file_asks_for_again_and_again_is_counted(name: str) -> None:
    """Each was judged for as long as the file asked, or filled the memory."""
    document, parts = _ENDLESS[name]
    with refused(Refused):
        _judged(document, 900, **parts)
    assert WorkLimit.left > 10**9  # who makes a proof is not counted


def test_what_is_allowed_everywhere_is_not_looked_at_entry_by_entry() -> None:
    """A file of 200 kB kept the verifier busy for a minute."""
    size = 20_000
    case = ProofCase({"capacity": [[1]] * size, "demand": [[1]] * size}, {}, None, [])
    assert Packing(case).allowed[size - 1][size - 1] is True


def test_tasks_that_are_split_very_often_are_added_up_once() -> None:
    """The sum of all parts was made anew for each of them."""
    shape = {"blades": 1, "rows": 1, "columns": 1, "cores": 2, "rate": 1}
    times = {"service_mean": [1], "ht1": [1], "pcie": [1], "bandwidth": [0]}
    document = {**shape, **times, "class_share": [1], "location_share": [1]}
    case = ProofCase(document, {}, {"split": [[0, 0, 0, 1]] * 20_000}, [[]])
    assert numa_fluid(case)[0].value == 2


def test_curves_whose_steps_have_no_common_part_are_refused() -> None:
    """Their least common multiple has more digits than the file."""
    gaps = [10**900 + k for k in range(60)]
    knots = [0, *(sum(gaps[: k + 1]) for k in range(60))]
    rows = {"pressure": [1], "knots": knots, "sensitivity": [[0.1] * 61]}
    document = {"problem": "groups", "count": [4], "seats": [2], **rows}
    with refused(Refused):
        _judged(document, method="optimal", claim=_gap("penalty", "min"), steps=[])


def test_a_class_into_which_nothing_fits_has_no_filling_beyond_its_rent() -> None:
    """The empty filling was taken for one, and a true bound was refused."""
    document = {"problem": "packing", "capacity": [[4], [1]], "servers": [1, 1], "demand": [[2]]}
    prices = {"kind": "prices", "prices": [2], "over": 1, "rents": [4, 0], "weights": [[1], [1]]}
    answer = {"count": [[2]], "server_class": [0]}
    claim = _claim("utilization", "max", "4/5", "4/5", "optimal")
    told = _judged(document, method="max-utilization", witness=answer, claim=claim, steps=[prices])
    assert "optimal" in told


def test_no_work_before_the_horizon_is_a_bound_of_nothing() -> None:
    job = {"organization": [0], "release": [3], "processing": [1]}
    document = {"problem": "scheduling", "machines": [1], "horizon": 3, "job": job}
    told = _judged(
        document,
        method="max-utility",
        witness={"start": [-1], "machine": [-1]},
        claim=_claim("utility", "max", 0, 0, "optimal"),
        steps=[{"kind": "recompute"}],
    )
    assert "optimal" in told


def test_values_that_fill_the_memory_are_not_read() -> None:
    """Four million objects of one key are a gigabyte; so are few letters as long numbers."""
    for data in (b'{"a": [%s0]}' % (b'{"a":1},' * 1_000_001), b"[%s0]" % (b"0," * 8_000_001)):
        with refused(Unreadable):
            parse(data, decimals=True)
    with refused(Refused):
        scaled([Decimal("1e-400"), *[1] * 400_000], "a")


def _tree_over_cuts(digits: int) -> None:
    """A tree of a thousand cases, in each of which the rows of a chain of cuts are looked at."""
    program = Program()
    program.at_most([(program.column(5000), 1)], 9999)
    cuts = [[1, row, 10 ** (digits - 1)] for row in range(12)]
    program.impossible(
        {"cuts": cuts, "tree": [hint for at in range(999, 0, -1) for hint in (0, at)]}
    )


def _utility(digits: int) -> None:
    """Utilities that are sums of fractions without a common denominator."""
    size = 400
    job = {"user": [0] * size, "server": [*range(size)], "work": [1] * size}
    fractions = [Decimal("0." + str(10 ** (digits - 1) + k)) for k in range(size)]
    document = {
        "capacity": [2] * size,
        "budget": [1],
        "job": job | {"parallel_fraction": fractions},
    }
    witness = {"cores": {"over": 1, "numbers": [2] * size}}
    market_leximin(ProofCase(document, {}, witness, [[{"kind": "tree", "nodes": [[]]}]]))


def _prices(digits: int) -> None:
    """Prices of types, of which every pair is a column."""
    size, small = 150, Decimal(f"{10**-9:.300f}")
    document = {"penalty": [[small] * size] * size, "count": [2] * size}
    prices = {"prices": [10**digits - 1] * size, "rent": 0, "over": 10 ** (digits - 1), "sets": []}
    colocation_optimal(ProofCase(document, {}, None, [[{"kind": "dual", **prices}]]))


def _split(digits: int) -> None:
    """Parts of tasks with denominators of their own."""
    size, shape = 8, {"blades": 1, "rows": 1, "columns": 8, "cores": 1}
    document = shape | {"class_share": [1], "location_share": [Decimal(".125")] * size}
    document |= {name: [1] for name in ("service_mean", "ht1", "pcie", "bandwidth")}
    numbers = [10 ** (digits - 1) + 2 * k + 1 for k in range(size)]
    split = [[0, m, p, number] for m, number in enumerate(numbers) for p in range(size)]
    split = [[0, m, p, n + (p == 0)] for _, m, p, n in split]
    numa_fluid(ProofCase(document, {}, {"split": split}, [[]]))


@pytest.mark.parametrize(
    ("judge", "work"),
    [(_tree_over_cuts, 10**6), (_utility, 10**6), (_prices, 10**6), (_split, 10**5)],
)
def test_what_long_numbers_take_is_counted(
    judge: Callable[[int], None], work: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each took as few steps as with short numbers, and minutes."""
    monkeypatch.setattr(WorkLimit, "left", work)
    with contextlib.suppress(Refused):
        judge(8)
    assert WorkLimit.left > work / 2
    monkeypatch.setattr(WorkLimit, "left", work)
    with refused(Refused):
        judge(MOST_DIGITS if judge is not _utility else MOST_EXPONENT - 2)


def test_numbers_of_agents_and_of_machines_have_thirty_digits_at_most() -> None:
    """Their products were formed for all pairs of types, whatever their length."""
    document = {"problem": "colocation", "penalty": [[0]], "count": [10**31]}
    with refused(Refused):
        _judged(document, method="optimal", claim=_gap("penalty", "min"))
