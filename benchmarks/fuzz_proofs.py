"""Search for accepted false proofs: mutated and invented proofs of every method with proofs. An
accepted proof whose claim is false is an error of the verifier.

Run from anywhere:  python benchmarks/fuzz_proofs.py [--number 100000] [--seed 0] [--only PROBLEM]

Tiny instances are drawn. Of colocation all answers are listed; of packing (with rules too),
admission, scheduling and groups the optima are known by enumeration; the small bundled instances
are taken as well. The producers' own proofs are the beginning. A mutation changes parts of the
steps, of the answer or of the claim (numbers a little or enormously, lists shortened, doubled,
mixed, parts of other proofs put in), or the file's letters. Then, as a forger would, it mostly
claims just what the verifier's checker finds in the changed steps. What is accepted is compared
with the list of all answers; where there is none, a bound with the best value that any accepted
proof has shown, and the value with the metrics of the answer as `cotenant check` works them out.

Prints how many were unreadable, refused, malformed and accepted, and every lie; exit code 1 when
there is one.
"""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from cotenant import catalog
from cotenant.analysis.registry import analysis_of
from cotenant.instances.problem import PROBLEM_NAMES, problem_named
from cotenant.instances.problem.errors import CotenantError
from cotenant.instances.problem.files import bundled, instance_of, locate
from cotenant.instances.problem.reading import read_bytes
from cotenant.verify import methods_of, verify
from cotenant.verify.accelerators import Shares
from cotenant.verify.frame import ProofCase, ProofFile
from cotenant.verify.reading import Decimal, Refused, Unreadable

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
import numpy as np
from support import market_cases
from support.oracles.accelerators import Jobs
from support.oracles.packing import most_cards, random_cards, shares_of, totals_possible
from support.oracles.placement import best as best_placements
from support.oracles.placement import odd, state, with_cards
from support.oracles.quanta import fairest_totals
from support.proof_cases import Truth, answers, cases, drawn_with_types, few, nobody, preferences
from support.proved import bundled_document, content_of, proved
from support.small_accelerators import drawn as accelerators_drawn
from support.small_accelerators import optima as accelerators_optima
from support.small_cases import tiny
from support.small_groups import drawn as jobs_drawn
from support.small_groups import every_cost
from support.strategies import quanta as quanta_drawn

DRAWN = ("packing", "admission", "scheduling", "numa", "groups", "accelerators", "quanta")
"""Problems other than colocation of which tiny instances are drawn."""

LISTED = 5
"""Servers of a cluster with rules up to which all placements are listed."""

SMALL = 40_000
"""Bytes of a bundled instance up to which it is taken."""

ODD: list[Any] = [
    0, 1, -1, 2, 10**9, -(10**9), 10**30, True, None, "1/2", "-1", "1/0", "0.5", "", [], {}, [0],
    "٣",
]  # fmt: skip


OPTIONS: dict[tuple[str, str], tuple[dict[str, Any], ...]] = {
    ("colocation", "stable"): ({}, {"alpha": 0.1}),
    ("colocation", "fair"): ({}, {"slack": 0.0}, {"slack": 0.15}),
    ("market", "utilitarian"): ({}, {"whole": True}),
    ("market", "nash-welfare"): ({}, {"whole": True}),
    ("packing", "FUGA"): ({}, {"alpha": 2.5}),
}
"""Of methods that prove several things."""


Optima = dict[str, Fraction | None]
"""By method; None where there is no answer."""


@dataclass
class Start:
    """Instance, method, accepted proof, and known optima."""

    content: bytes
    proof: dict[str, Any]
    truths: list[Truth] = field(default_factory=list)
    market: market_cases.MarketTruth | None = None
    optima: Optima = field(default_factory=dict)
    reached: set[tuple[int, ...]] = field(default_factory=set)

    @property
    def key(self) -> tuple[str, str]:
        return self.proof["problem"], self.proof["method"]


def instances(problem: str, drawn: int) -> Iterator[tuple[dict[str, Any], Optima]]:
    """Random and small bundled instances of a problem as documents, with known optima."""
    if problem == "colocation":
        different = cases(drawn // 2, start=5000, most=6, distinct=True)
        blocked = [drawn_with_types(), *few(drawn)]
        lists = map(preferences, range(4 * drawn))
        for document in [*cases(drawn), *different, *blocked, *lists]:
            yield document, {}
        for document in nobody(drawn // 2):
            yield document, dict.fromkeys(["optimal", "fair", "fair-within", "stable"])
    elif problem == "market":
        for seed in range(drawn):
            yield json.loads(content_of(market_cases.drawn(seed, twins=seed % 4 == 3))), {}
    else:
        for seed in range(drawn if problem in DRAWN else 0):
            for instance, optima in enumerated(problem, seed):
                yield json.loads(content_of(instance)), optima
        for name in bundled():
            if name.startswith(f"{problem}/") and len(read_bytes(locate(name))) < SMALL:
                yield bundled_document(name), {}


def starts(problems: list[str], drawn: int) -> list[Start]:
    """Accepted proofs of every method that has any."""
    begun = []
    for problem in problems:
        provable = [method for method in catalog.methods(problem) if method.proof_producer]
        for document, optima in instances(problem, drawn):
            instance = instance_of(document, json.dumps(document), Path("a file"))
            for method in [method for method in provable if method.applies_to(instance)]:
                for options in OPTIONS.get((problem, method.name), ({},)):
                    try:
                        proof = proved(document, method.name, **options)
                    except CotenantError:
                        continue
                    start = Start(proof.content, proof.document, optima=optima)
                    begun.append(start)
                    if problem == "colocation":
                        start.truths = [Truth(document, pairs) for pairs in answers(document)]
                    if method.name == "max-min-share" and optima:
                        start.reached = totals_possible(instance)
                    if problem == "market":
                        start.market = market_cases.MarketTruth(instance)
    return begun


def enumerated(problem: str, seed: int) -> list[tuple[Any, Optima]]:
    """Drawn instances, and the optima by method."""
    if problem == "accelerators":
        return [(sharing := accelerators_drawn(seed, 4), accelerators_optima(sharing))]
    if problem == "groups":
        jobs = jobs_drawn(seed)
        return [(jobs, {"optimal": min(every_cost(jobs), default=None)})]
    if problem == "quanta":
        given = quanta_drawn(np.random.default_rng(seed))
        return [(given, {"leximin": min(fairest_totals(given).values())})]
    pairs: list[tuple[Any, Optima]] = list(tiny(problem, seed))
    names = {"min-servers": "servers", "cp-sat": "servers", "min-cost": "cost"}
    names["fewest-moves"] = "moves"
    if problem == "packing":
        with suppress(CotenantError):
            gpus = random_cards(np.random.default_rng(seed))
            if gpus.types <= 3:
                pairs.append((gpus, {"max-gpus": most_cards(gpus)}))
    draws = (state, odd, lambda seed: with_cards(state(seed), seed))
    for draw in draws if problem == "packing" else ():
        with suppress(CotenantError):
            ruled = draw(seed)
            if ruled.server_count.sum() <= LISTED:
                best = best_placements(ruled)
                optima = {m: best and Fraction(getattr(best, name)) for m, name in names.items()}
                pairs.append((ruled, optima))
    return pairs


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (holder, key) in a JSON value."""
    begun: list[tuple[Any, Any]] = []
    todo = [value]
    while todo:
        holder = todo.pop()
        for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
            begun.append((holder, key))
            if isinstance(holder[key], dict | list):
                todo.append(holder[key])
    return begun


def mutate(proof: dict[str, Any], others: list[dict[str, Any]], rng: random.Random) -> None:
    """Change one part of a proof."""
    part = rng.choices(
        ["steps", "witness", "levels", "claim", "options", None], [8, 4, 4, 2, 1, 1]
    )[0]
    inside = (
        proof[part]
        if part is not None and isinstance(proof[part], dict | list) and proof[part]
        else proof
    )
    if rng.random() < 0.05:
        proof[part or "steps"] = copy.deepcopy(rng.choice(others)[part or "steps"])
        return
    holder, key = rng.choice(places(inside))
    value = holder[key]
    act = rng.randrange(10)
    if act == 0:
        holder[key] = copy.deepcopy(rng.choice(ODD))
    elif isinstance(holder, list) and act == 1:
        del holder[key]
    elif isinstance(holder, list) and act == 2:
        holder.insert(rng.randint(0, len(holder)), copy.deepcopy(value))
    elif isinstance(holder, list) and act == 3:
        other = rng.randrange(len(holder))
        holder[key], holder[other] = holder[other], holder[key]
    elif isinstance(value, list) and act == 4:
        rng.shuffle(value)
    elif isinstance(value, list) and act == 5:
        value[:] = [
            number + rng.choice([-1, 1, 7]) if type(number) is int else number for number in value
        ]
    elif isinstance(value, bool) or value is None or isinstance(value, dict | list):
        holder[key] = copy.deepcopy(rng.choice(ODD))
    elif isinstance(value, int):
        moves: list[Callable[[int], int]] = [
            lambda x: x + 1, lambda x: x - 1, lambda x: -x, lambda x: 2 * x, lambda x: x // 2,
            lambda x: x * 10**6 + 1,
            lambda x: x + rng.randint(-50, 50), lambda x: 0,
        ]  # fmt: skip
        holder[key] = rng.choice(moves)(value)
    elif isinstance(value, str) and "/" in value:
        above, below = value.split("/", 1)
        holder[key] = rng.choice(
            [f"{above}1/{below}", f"{above}/{below}1", f"-{value}", above, f"{below}/{above}"]
        )
    else:
        holder[key] = copy.deepcopy(rng.choice(ODD))


def claim_what_is_found(start: Start, proof: dict[str, Any]) -> None:
    """Claim exactly what the checker finds in the steps as they are; raises whatever it raises."""
    file, levels = ProofFile(start.content, json.dumps(proof).encode()), [proof, *proof["levels"]]
    _, goals, checker = methods_of(start.key[0])[start.key[1]]
    assert callable(checker)
    checked = checker(ProofCase(file.document, proof["options"], proof["witness"], file.steps))
    aims = [goal.split() for goal in goals.split(",")]
    for level, one, goal in zip(levels, checked, aims, strict=False):
        worth, bound = (
            None if x is None else f"{x.numerator}/{x.denominator}" for x in (one.value, one.bound)
        )
        kind = "optimal" if worth == bound and worth is not None else "gap"
        kind = "infeasible" if one.infeasible else kind
        level["claim"] = {
            "objective": goal[0],
            "sense": goal[1],
            "value": worth,
            "bound": bound,
            "claim_kind": kind,
        }
        if one.infeasible:
            level["claim"] |= {"value": None, "bound": None}
        if one.epsilon is not None:
            off = {
                name: f"{value.numerator}/{value.denominator}"
                for name, value in one.epsilon.items()
            }
            level["claim"] |= {"claim_kind": "equilibrium", "epsilon": off, "bound": None}


def lie(start: Start, proof: dict[str, Any], best: dict[tuple[str, str, str], Fraction]) -> str:
    """False statement of an accepted proof; "" if there is none."""
    levels = [proof["claim"], *(level["claim"] for level in proof["levels"])]
    if start.truths:
        return _lie_of_pairings(start, proof, levels)
    if start.market is not None:
        return start.market.lie(proof)
    if start.key == ("accelerators", "leximin") and (false := _lie_of_levels(start, proof, levels)):
        return false
    if start.key[1] == "max-min-share" and (false := _lie_of_shares(start, proof, levels)):
        return false
    for claim in levels[:1]:
        same_options = proof["options"] == start.proof["options"]
        if claim["claim_kind"] == "infeasible":
            nobody = not same_options or start.optima.get(start.key[1], 0) is None
            return "" if nobody else "that there is no answer"
        if (
            same_options
            and start.optima.get(start.key[1], 0) is None
            and claim["value"] is not None
        ):
            return "that there is an answer"
        worth, bound = (
            None if claim[key] is None else Fraction(claim[key]) for key in ("value", "bound")
        )
        options = json.dumps(proof["options"], sort_keys=True)
        place = (hashlib.sha256(start.content).hexdigest(), start.key[1], options)
        up = claim["sense"] == "max"
        if worth is not None:
            least = best.get(place)
            best[place] = worth if least is None else (max if up else min)(least, worth)
            measured = _measured(start, proof, claim["objective"]) if same_options else None
            if (
                measured is not None
                and abs(measured - float(worth)) > 1e-6 * max(1.0, abs(measured))
                and claim["claim_kind"] != "equilibrium"
                and not (claim["objective"] == "moves" and worth > measured)  # on worse servers
            ):
                return f"that the answer is worth {float(worth)}, where it is {measured}"
        if same_options and (optimum := start.optima.get(start.key[1])) is not None:
            best[place] = optimum
        end = best.get(place)
        if worth is not None and end is not None and (worth > end if up else worth < end):
            return f"the value {float(worth)}, where no answer is worth more than {float(end)}"
        if bound is not None and end is not None and (bound < end if up else bound > end):
            return f"the bound {float(bound)}, where {float(end)} is reached"
    return ""


def _lie_of_shares(start: Start, proof: dict[str, Any], levels: list[dict[str, Any]]) -> str:
    """Of placements whose lower shares are no less than the answer's, none has a larger one."""
    instance = instance_of(json.loads(start.content), start.content.decode(), Path("a file"))
    if proof["witness"] is None or not instance.name.startswith("shared"):
        return ""
    rows = proof["witness"]["count"] or [[0] * instance.types]
    own = shares_of(instance, [sum(n) for n in zip(*rows, strict=True)])
    others = [shares_of(instance, vms) for vms in start.reached]
    for level, claim in enumerate(levels):
        value = None if claim["value"] is None else Fraction(claim["value"])
        if value is not None and value != own[level]:
            return f"that share {level} is {value}, which is {own[level]}"
        among = [t for t in others if all(x >= y for x, y in zip(t[:level], own, strict=False))]
        if claim["bound"] is not None and Fraction(claim["bound"]) < max(t[level] for t in among):
            return f"that share {level} is at most {claim['bound']}"
    return ""


def _lie_of_levels(start: Start, proof: dict[str, Any], levels: list[dict[str, Any]]) -> str:
    """Of the answers in which the types of earlier levels have no less than in this one, how much
    those of a level can all have, job by job.
    """
    instance = instance_of(json.loads(start.content), start.content.decode(), Path("a file"))
    jobs = Jobs(instance)
    document = json.loads(start.content, parse_float=Decimal)
    for key in ("cotenant", "problem", "name", "source"):
        document.pop(key, None)
    total = Shares(ProofCase(document, {}, proof["witness"], [])).total
    has = [total[t] / int(instance.count[t]) for t in jobs.type]
    before = set[int]()
    for claim, steps in zip(levels, [proof, *proof["levels"]], strict=True):
        types = next(step["types"] for step in steps["steps"] if "types" in step)
        floors = [has[j] if t in before else Fraction(0) for j, t in enumerate(jobs.type)]
        raised = [jobs.due(j) if t in types else Fraction(0) for j, t in enumerate(jobs.type)]
        found = jobs.solve(lambda *_: Fraction(0), floors, raised, 1)
        if (
            found is not None
            and claim["bound"] is not None
            and Fraction(claim["bound"]) < -found[0]
        ):
            return (
                f"that {types} have at most {claim['bound']}, where {float(-found[0])} is possible"
            )
        before |= set(types)
    return ""


def _lie_of_pairings(start: Start, proof: dict[str, Any], levels: list[dict[str, Any]]) -> str:
    options = proof["options"]
    alpha, mode = Fraction(options.get("alpha", 0)), options.get("alpha_mode", "penalty-points")
    worth: dict[str, Callable[[Truth], Fraction]] = {
        "penalty": lambda t: t.mean, "slack": lambda t: t.slack,
        "worst_penalty": lambda t: max(t.old),
        "blocking_pairs": lambda t: Fraction(t.blocking(alpha, mode)),
    }  # fmt: skip
    among = start.truths
    if "slack" in options:
        among = [truth for truth in among if truth.slack <= Fraction(options["slack"])]
    for claim in levels:
        if not among:
            return "" if claim["claim_kind"] == "infeasible" else "that there is an answer"
        values = [worth[claim["objective"]](truth) for truth in among]
        value = None if claim["value"] is None else Fraction(claim["value"])
        if claim["bound"] is not None and Fraction(claim["bound"]) > min(values):
            return (
                f"the bound {claim['bound']} on {claim['objective']}, where {min(values)} "
                "is reached"
            )
        if claim["claim_kind"] == "infeasible" or (value is not None and value < min(values)):
            return f"that {claim['objective']} can be {claim['value']}"
        if value is not None:
            among = [truth for truth, other in zip(among, values, strict=True) if other <= value]
    return ""


def _measured(start: Start, proof: dict[str, Any], objective: str) -> float | None:
    """The objective of the answer as this package measures it; None where it has another meaning or
    needs options.
    """
    problem = start.key[0]
    try:
        instance = instance_of(json.loads(start.content), start.content.decode(), Path("a file"))
        solution = problem_named(problem).solutions[0].from_document(proof["witness"])
        value = analysis_of(problem).metrics(instance, solution).get(objective)
    except (CotenantError, TypeError, ValueError):
        return None
    return None if value is None else float(value)


MOST_WORK = 4_000_000
"""A forgery may ask for as long a search as there may be: here for a short one."""


def main() -> None:
    """Forge, and count."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--number", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--drawn", type=int, default=12, help="instances of colocation that are drawn"
    )
    parser.add_argument("--only", action="append", choices=PROBLEM_NAMES)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    begun = starts(arguments.only or list(PROBLEM_NAMES), arguments.drawn)
    print(
        f"{len(begun)} proofs to begin with, of {len({start.key for start in begun})} methods",
        flush=True,
    )
    counts: Counter[str] = Counter()
    best: dict[tuple[str, str, str], Fraction] = {}
    lies = 0
    for start in begun:
        assert not lie(start, start.proof, best), start.proof
    for _ in range(arguments.number):
        start = rng.choice(begun)
        proof = copy.deepcopy(start.proof)
        same = [other.proof for other in begun if other.key == start.key]
        for _ in range(rng.choice([1, 1, 1, 2, 3, 6])):
            mutate(proof, same, rng)
        try:
            if rng.random() < 0.7:
                claim_what_is_found(start, proof)
        except Exception:  # the steps are no steps: then the old claim stands
            pass
        text = json.dumps(proof)
        if rng.random() < 0.03:
            at = rng.randrange(len(text))
            text = (
                text[:at]
                + rng.choice(['"', "1e9", "NaN", "[[", "-", "", "1.0"])
                + text[at + rng.randint(0, 3) :]
            )
        try:
            verify(start.content, text.encode(), MOST_WORK)
        except Unreadable:
            counts["unreadable"] += 1
        except Refused as reason:
            counts["malformed" if str(reason).startswith("malformed (") else "refused"] += 1
        else:
            proof = json.loads(text)
            counts["accepted, unchanged" if proof == start.proof else "accepted"] += 1
            if false := lie(start, proof, best):
                lies += 1
                print(
                    f"LIE of {' '.join(start.key)}: "
                    f"{false}\n{start.content.decode()[:2000]}\n{text[:4000]}"
                )
    print(", ".join(f"{number} {what}" for what, number in counts.most_common()))
    print(f"{lies} lies")
    raise SystemExit(1 if lies else 0)


if __name__ == "__main__":
    main()
