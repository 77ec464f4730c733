"""Commands that carry out a plan, as text. Nothing here runs anything."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

from ...instances.problem.emitted import comment, csv_text, named_word, quoted
from ...instances.problem.errors import InvalidOption
from ..judge.scheduler_filters import Move
from ..plan.answer import Answer
from ..state.state import Pod
from .text_report import left_to_default, not_by_default

FREED = "cotenant.plan/freed"
"""Label and taint of nodes that a plan empties."""


def emit(advice: Answer, form: str) -> str:
    """Convert a plan to one of `FORMS`, preceded by its `head` where the form allows comments.

    Raises
    ------
    InvalidOption
        There is no such form, or it is of another platform than the state.
    """
    require_form(form, advice.state.platform)
    text = FORMS[form][1](advice)
    if form == "csv":  # a table has no comments
        return text
    return "\n".join([*map(comment, head(advice)), text])


def head(advice: Answer) -> Iterator[str]:
    """Comment lines before the commands of a plan: warnings about the state, and what the default
    scheduler and cluster-autoscaler would do with the plan.
    """
    yield from (f"warning: {each.sentence} [{each.code}]" for each in advice.state.warnings)
    if advice.targets and advice.left_pending:
        yield left_to_default(advice)
    yield from not_by_default(advice)


def require_form(form: str | None, platform: str = "") -> None:
    """Raise InvalidOption for an output format of plans that is unknown, or that belongs to another
    platform than the state (if that is known).
    """
    if form is None:
        return
    if form not in FORMS:
        raise InvalidOption(f"emit is {form!r}; expected one of {', '.join(FORMS)}")
    meant, _ = FORMS[form]
    if platform and meant not in ("", platform):
        fit = [each for each, (of, _) in FORMS.items() if of in ("", platform)]
        raise InvalidOption(
            f"emit is {form!r}, which is for {meant}, and the state is of {platform}; "
            f"expected {' or '.join(fit)}"
        )


def _kubectl(advice: Answer) -> str:
    """`kubectl` commands that cordon and label the nodes, then evict wave by wave through the API
    that respects disruption budgets.
    """
    state = advice.state
    lines = ["# Evictions keep disruption budgets; a pod that one protects is refused (429)."]
    for name in advice.freed:
        lines.append(f"kubectl cordon {named_word(name)}")
        lines.append(f"kubectl label node {named_word(name)} {FREED}=true --overwrite")
    if advice.reserved:
        lines.append("# nothing else may come to these nodes before the pods they are for")
        lines += [f"kubectl cordon {named_word(name)}" for name in advice.reserved]
    for number, wave in enumerate(advice.order.waves, 1):
        words = f"# wave {number} of {len(advice.order.waves)}; wait until its pods run again"
        lines += [words, *(line for move in wave for line in _eviction(state.pods[move.pod], move))]
    lines += [f"kubectl uncordon {named_word(name)}" for name in advice.reserved]
    for n, why in advice.order.stuck.items():
        lines.append(comment(f"no step was found for {state.pods[n].title}: {', '.join(why)}"))
    for name in advice.freed:
        lines.append(f"kubectl get pods -A --field-selector spec.nodeName={quoted(name)}")
    return "\n".join(lines) + "\n"


def _eviction(pod: Pod, move: Move) -> list[str]:
    words = f"{pod.title}: {pod.node} -> {move.node}{' (for a time)' * move.temporary}"
    body = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod.name, "namespace": pod.namespace},
    }
    path = f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}/eviction"
    request = f"echo {quoted(json.dumps(body))} | kubectl create --raw {quoted(path)} -f -"
    return [comment(words), request]


def _csv(advice: Answer) -> str:
    rows: list[list[object]] = [["wave", "namespace", "name", "from", "to", "temporary"]]
    where: dict[int, str] = {}
    for number, wave in enumerate(advice.order.waves, 1):
        for move in wave:
            pod = advice.state.pods[move.pod]
            old = where.get(move.pod, pod.node)
            where[move.pod] = move.node
            rows.append([number, pod.namespace, pod.name, old, move.node, int(move.temporary)])
    return csv_text(rows)


FORMS: dict[str, tuple[str, Callable[[Answer], str]]] = {
    "kubectl": ("kubernetes", _kubectl),
    "csv": ("", _csv),
}
"""Form -> the platform it is for ("" for all), and what makes it."""
