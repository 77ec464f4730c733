"""Frame of all proofs: the content of a claim, and the conditions of accepting it.

A proof has one level, or several when a method asks for the best of one objective first and then,
among the answers worth no less than this one there, for the best of another. Each level claims:
  value       what the answer ("witness") is worth; null when no answer is shown
  bound       no answer is worth less (sense "min") or more ("max"); null when nothing is proved
  claim_kind  "optimal": value = bound. "gap": both hold. "infeasible": there is no answer at all.
              "equilibrium": the answer is one to within the numbers in "epsilon".
Value and bound are recomputed. Where fractions are long a claim may be rounded, by at most a
billionth and only to the side where it says less.
"""

import hashlib
import math
from fractions import Fraction

from .reading import (
    MOST_WORK,
    ROUNDING,
    Refused,
    Step,
    WorkLimit,
    fields,
    listed,
    parse,
    rational,
    refuse_if,
    whole,
)

CLAIM = "objective sense value bound claim_kind"
Methods = dict[str, tuple[str, str, object]]
"""What can be proved: by method the options that may be given (a text of words), the levels
(objective and sense), and the checker: from a `ProofCase` to what it found of each level.
"""


class ProofCase:
    """Input of a checker: the instance, the options, the answer, each level's steps."""

    def __init__(self, document: Step, options: Step, witness: object,
                 steps: list[list[object]]) -> None:  # fmt: skip
        self.document, self.options, self.witness, self.steps = document, options, witness, steps

    def each(self, level: int, **kinds: str) -> "map[tuple[str, Step]]":
        """Kind and fields of each step of a level, in order."""
        steps = self.steps[level] if level < len(self.steps) else []
        return map(lambda step: step_of(step, **kinds), steps)

    def one(self, level: int, **kinds: str) -> Step:
        """Fields of the only step of a level."""
        refuse_if(len(self.steps[level]) != 1, "one step is expected")
        return step_of(self.steps[level][0], **kinds)[1]


class CheckedLevel:
    """Result of a checker for a level: value, bound (None for none), or that no answer exists."""

    def __init__(self, value: Fraction | None = None, bound: Fraction | None = None,
                 infeasible: bool = False,
                 epsilon: dict[str, Fraction] | None = None) -> None:  # fmt: skip
        self.value, self.bound, self.infeasible, self.epsilon = value, bound, infeasible, epsilon

    def at_least(self, bound: Fraction) -> None:
        """Raise the lower bound of the level to a proved number, if that is larger."""
        self.bound = bound if self.bound is None else max(self.bound, bound)

    def at_most(self, bound: Fraction) -> None:
        """Reduce the upper bound of the level to a proved number, if that is smaller."""
        self.bound = bound if self.bound is None else min(self.bound, bound)


def step_of(value: object, **kinds: str) -> tuple[str, Step]:
    """Kind and fields of a step; `kinds`: required fields of each, and optional ones after "|"."""
    kind = value.get("kind") if isinstance(value, dict) else None
    if type(kind) is not str or kind not in kinds:
        raise Refused(f"a step of kind {kind!a:.40} proves nothing here; known: {', '.join(kinds)}")
    needed, _, others = kinds[kind].partition("|")
    return kind, fields(value, f"kind {needed}", others, f"the step {kind!r}")


def _stated(claimed: object, proved: Fraction | None, lower: bool, what: str) -> Fraction | None:
    """Return a claimed number; refuse it unless it is the proved one or slightly below it
    (`lower`), or else slightly above it.
    """
    if claimed is None:
        return None
    number = rational(claimed, what)
    less = number if proved is None else (proved - number if lower else number - proved)
    if proved is None or less < 0 or less > ROUNDING * abs(proved):
        raise Refused(f"{what} is claimed to be {shown(number)}; found: {shown(proved)}")
    return number


def shown(value: Fraction | None) -> str:
    """Text of a number for people."""
    try:
        return "nothing" if value is None else f"{float(value):.12g}"
    except OverflowError:
        return "beyond 1e308"


def _level(value: object, goal: list[str], checked: CheckedLevel) -> str:
    """Sentence on what is proved of a lexicographic level; refuse the file if it claims more."""
    claim = fields(value, CLAIM, "epsilon", "a claim")
    (objective, sense), kind = goal, claim["claim_kind"]
    up = sense == "max"
    if (claim["objective"], claim["sense"]) != (objective, sense):
        raise Refused(f"the claim is not about {objective}, {sense}")
    refuse_if(("epsilon" in claim) != (kind == "equilibrium"), "only an equilibrium has an epsilon")
    if kind == "infeasible":
        if not checked.infeasible or claim["value"] is not None or claim["bound"] is not None:
            raise Refused("it is not proved that there is no answer at all")
        return f"{objective}: there is no answer at all"
    worth = _stated(claim["value"], checked.value, up, f"the value of {objective}")
    bound = _stated(claim["bound"], checked.bound, not up, f"the bound on {objective}")
    if worth is not None and bound is not None and (worth > bound if up else worth < bound):
        raise Refused(f"{objective}: {shown(worth)} is beyond {shown(bound)}: a defect here")
    if kind == "equilibrium":
        off = checked.epsilon or {}
        claimed = fields(claim["epsilon"], " ".join(off), what="epsilon")
        errors = [f"{n} {shown(_stated(claimed[n], off[n], False, n))}" for n in off]
        if not errors or None in claimed.values():
            raise Refused("no equilibrium is proved, or not to within how much")
        return f"{objective}: an equilibrium, to within {', '.join(errors)}"
    beyond = f"no answer is {'above' if up else 'below'} {shown(bound)}"
    if kind == "optimal" and worth is not None and worth == bound:
        return f"{objective} is {shown(worth)}, and {beyond}: optimal"
    if kind != "gap" or (worth is None and bound is None):
        raise Refused(f"{objective}: {kind!a:.20} with value {shown(worth)}, bound {shown(bound)}")
    parts = [f"the answer is worth {shown(worth)}"] * (worth is not None)
    return f"{objective}: {' and '.join(parts + [beyond] * (bound is not None))}"


class ProofFile:
    """Parsed proof with its instance."""

    def __init__(self, instance: bytes, proof: bytes) -> None:
        self.document, content = parse(instance, decimals=True), parse(proof, decimals=False)
        keys = "cotenant_proof problem method options instance claim witness levels steps"
        self.content = fields(content, keys, what="the proof")
        version = whole(content["cotenant_proof"], "cotenant_proof")
        if version != 2 or whole(self.document.pop("cotenant", 0), "cotenant") != 1:
            raise Refused("this program reads version 2 of proofs, of instances of format 1")
        problem, name, _ = (self.document.pop(key, "") for key in ("problem", "name", "source"))
        meant = {"sha256": hashlib.sha256(instance).hexdigest(), "name": name}
        if content["instance"] != meant or content["problem"] != problem:
            raise Refused("the proof is of another instance (its problem, sha256 or name differs)")
        self.problem, self.name = str(problem), str(name)
        levels = [{"claim": content["claim"], "steps": content["steps"]}]
        for level in listed(content["levels"], "levels"):
            levels.append(fields(level, "claim steps", what="a level"))
        self.levels = levels
        self.steps = [listed(level["steps"], "steps") for level in self.levels]

    def judge(self, methods: Methods, most_work: int = MOST_WORK) -> str:
        """Sentence on what is proved; raises Refused."""
        levels, content, method = self.levels, self.content, self.content["method"]
        allowed, goals, checker = methods.get(str(method), ("", "", None))
        aims = [goal.split() for goal in goals.split(",")]
        if not callable(checker) or len(levels) > len(aims):
            raise Refused(f"no proofs of {len(levels)} levels are known for {method!a:.40} here")
        options = fields(content["options"], "", allowed, "options")
        WorkLimit.left = most_work
        try:
            checked = checker(ProofCase(self.document, options, content["witness"], self.steps))
        finally:
            WorkLimit.left = math.inf
        sentences = [_level(level["claim"], aims[k], checked[k]) for k, level in enumerate(levels)]
        for level in levels[:-1]:  # the next is about answers no worse than this witness here
            if fields(level["claim"], CLAIM)["value"] is None:
                raise Refused("a level is claimed beyond one whose value is not told")
        if len(sentences) > 3:
            sentences[2:] = [f"{len(levels) - 2} more levels, each as the file claims"]
        given = "".join(f" {option}={value!a}" for option, value in sorted(options.items()))
        then = "; then, of the answers no worse than this one there, "
        return f"{self.problem} {self.name[:80]!a}, {method}{given}: {then.join(sentences)}"
