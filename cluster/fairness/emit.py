"""Commands that set fair-share weights, or weights of queues, fitted to the fair schedule."""

from __future__ import annotations

import json
import re

from ...analysis.scheduling.fairness import Fairness
from ...analysis.scheduling.fit import Fitted, fit
from ...instances.problem.emitted import comment, quoted
from ...instances.problem.errors import InvalidOption
from .words import amount


def require_form(form: str | None) -> None:
    """Raise InvalidOption for an unknown form of commands."""
    if form not in (None, "slurm", "kueue"):
        raise InvalidOption(f"emit is {form!r}; expected slurm or kueue")


def emit(judged: Fairness, form: str = "slurm") -> str:
    """Commands that set the fair-share weights of accounts (or the weights of a Kueue's queues)
    fitted to the fair schedule, with the simulated improvement as comments. Nothing here runs them.

    Raises
    ------
    InvalidOption
        The organizations are not accounts, or not queues; another form.
    """
    require_form(form)
    kueue = form == "kueue"
    if judged.found.kind != ("queue" if kueue else "account"):
        raise InvalidOption(
            "emit is kueue, which sets the weights of queues; give what kubectl lists of a Kueue, "
            "and leave out by and mapping"
            if kueue
            else "emit is slurm, which sets the shares of accounts; leave out by, mapping and "
            "schedule"
        )
    log, now, weights = fit(judged)
    later = now.later is not None
    rule = "borrowed share" if kueue else "fair share"
    lines = [
        "# Suggestions, fitted to the past. How far each is from the fair schedule, in",
        "# seconds by which a unit of work comes too late or too early on average"
        + (", in the" if later else ":"),
        *["# windows that it was fitted to and in later ones, which the fit did not see:"] * later,
    ]
    for name, each in (
        ("this log", log),
        (f"{rule} as it is", now),
        (f"{rule} with these weights", weights),
    ):
        rest = "" if each.later is None else f"{amount(each.later):>10}"
        lines.append(f"#   {name:33}{amount(each.error):>7}{rest}")
    lines += [
        "# A simulation of admission by borrowed share (fairSharing.enable), within one",
        "# cohort, each queue in its order, with borrowing and lending limits: preemption,",
        "# priorities and topology are not in it. Look at it before you run it.",
    ] if kueue else [
        "# A simulation of fair share by use alone: half lives, age, the QOS there are,",
        "# memory and partitions are not in it. Look at it before you run it.",
    ]  # fmt: skip
    if weights.nearer(now):
        commands = (_patches if kueue else _weights)(judged, weights)
        lines += ["# Weights that are nearer:", *commands]
    else:
        lines.append("# Nothing was found that is nearer than what there is: change nothing.")
    return "\n".join(lines) + "\n"


def _patches(judged: Fairness, fitted: Fitted) -> list[str]:
    """`kubectl patch` commands that set the weights of queues, scaled such that the least is 1."""
    least = min(filter(None, fitted.values.tolist()), default=1)
    return [
        f"kubectl patch clusterqueue {quoted(name)} --type=merge -p "
        + quoted(json.dumps({"spec": {"fairSharing": {"weight": f"{weight / least:.4g}"}}}))
        for name, weight in zip(judged.names, fitted.values.tolist(), strict=True)
    ]


def _weights(judged: Fairness, fitted: Fitted) -> list[str]:
    """`sacctmgr` commands that set the fair-share weights of accounts."""
    lines = []
    for name, weight in zip(judged.names, fitted.values.tolist(), strict=True):
        change = f"fairshare={weight}"
        if _ACCOUNT.fullmatch(name):
            account = quoted(f"name={name}")
            lines.append(f"sacctmgr -i modify account where {account} set {change}")
        else:
            lines.append(comment(f"no account to be named in a command: {name}, {change}"))
    return lines


_ACCOUNT = re.compile(r"[^(\"',][^\"',]*")
"""What sacctmgr takes for one account: in a name it takes commas and quotes for a list's."""
