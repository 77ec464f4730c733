"""The program `kubectl-cotenant`: what kubectl lists of a cluster, handed to `cotenant advise`."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from inspect import signature

from ..analysis.report.console import say
from ..instances.problem.emitted import command_line
from . import main as cotenant
from .codes import BAD_INPUT, DONE, INTERRUPTED

RESOURCES = "nodes,pods,pdb,pv,pvc,csinodes,sc,ns"
"""What is listed: everything that advice reads."""

PASSED_ON = ("--context", "--kubeconfig")
"""Options that are kubectl's."""


def main() -> None:
    """Answer a question of `cotenant advise` about the cluster that kubectl reaches; nothing is
    written to it.
    """
    from .commands import advise

    # 1. Options of kubectl go into the listing, all others to the question.
    questions = [
        name for name, command in advise().items() if "states" in signature(command).parameters
    ]
    ours: list[str] = []
    listing = ["kubectl", "get", RESOURCES, "-A", "-o", "json"]
    words = iter(sys.argv[1:])
    for word in words:
        name, equals, value = word.partition("=")
        if name not in PASSED_ON:
            ours.append(word)
        elif value := value if equals else next(words, ""):
            listing += [name, value]
        else:  # kubectl would take the cluster that is current
            say(f"error: {name} is empty; expected {name} and a value, or neither")
            raise SystemExit(BAD_INPUT)
    # 2. Without a question, how to ask one.
    if not ours or ours[0] not in questions:
        say("usage: kubectl cotenant QUESTION [--context NAME] [--kubeconfig FILE] OPTION ...")
        say(f"lists {RESOURCES}, writes nothing, and asks")
        say("cotenant advise QUESTION - OPTION ... of what is listed; questions:")
        say(f"{', '.join(questions)}")
        raise SystemExit(DONE if ours[:1] == ["--help"] else BAD_INPUT)
    # 3. The listing, in a file that is the question's standard input.
    with tempfile.TemporaryFile() as state:
        if "--help" not in ours:
            try:
                code = subprocess.run(listing, stdout=state, check=False).returncode
            except OSError as error:
                say(f"error: kubectl cannot be run: {error.strerror}; put it on PATH")
                raise SystemExit(BAD_INPUT) from None
            except KeyboardInterrupt:
                raise SystemExit(INTERRUPTED) from None
            if code:
                say(
                    f"error: {command_line(listing)} failed with exit code {code}, for the reason "
                    f"above; where that is Forbidden, ask for the right to list {RESOURCES} in all "
                    "namespaces"
                )
                raise SystemExit(code)
            state.seek(0)
            os.dup2(state.fileno(), 0)
        sys.argv = ["cotenant", "advise", ours[0], "-", *ours[1:]]
        cotenant()
