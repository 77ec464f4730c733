"""Help (commands in sections, examples, options of readers), and messages of usage errors."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any

from typer.core import TyperCommand, TyperGroup

from ..instances.problem.errors import CotenantError
from ..instances.problem.text import without_unit

SECTIONS = {
    "Solve": "solve compare report merge methods analyze",
    "Data": "show generate convert fetch schema",
    "Proofs": "check prove verify bounds",
    "Clusters": "advise",
    "Measuring": "measure profiles run",
    "Papers": "reproduce",
    "This program": "completion warm new",
}
"""The commands by what they are for, in the order of the help."""

EXAMPLES = {
    "solve": "solve colocation/tiny -m optimal\nsolve market/tiny -m fisher --out result.json",
    "compare": "compare colocation/cooper-1000\ncompare jobs.json -m stable -m GR --out rows.jsonl",
    "report": "report rows.jsonl --out report.html",
    "merge": "merge rows-1-of-2.jsonl rows-2-of-2.jsonl --out rows.jsonl",
    "methods": "methods colocation\nmethods colocation stable",
    "analyze matchings": "analyze matchings colocation/two-sides-6",
    "analyze core": "analyze core scheduling/tiny\nanalyze core game.csv",
    "analyze misreports": "analyze misreports admission/tiny -m SM",
    "show": "show\nshow colocation/tiny",
    "generate": "generate colocation -o agents=20 --out jobs.json\n"
    "generate packing --seeds 10 --out packings",
    "convert": "convert slowdowns.csv --from slowdown-csv --out jobs.json\n"
    "convert tables --from csv --out vms.json",
    "fetch": "fetch\nfetch lpc-egee",
    "schema": "schema packing",
    "check": "check colocation/tiny result.json",
    "prove": "prove colocation/tiny -m optimal --out proof.json",
    "verify": "verify colocation/tiny proof.json",
    "measure": "measure jobs.toml --store lab.db --half-width 0.01 --budget 2h",
    "profiles": "profiles lab.db --out jobs.json",
    "run queue": "run queue jobs.toml --store lab.db --local 4",
    "run advice": "run advice lab.db 7",
    "reproduce": "reproduce --list\nreproduce cooper --out rows.jsonl",
    "completion": "completion bash",
    "warm": "warm",
    "advise nodes": "advise nodes cluster.json\nadvise nodes cluster.json --report plan.html",
    "advise drain": "advise drain cluster.json node-2",
    "advise safe": "advise safe cluster.json",
    "advise fit": "advise fit cluster.json --add web.yaml",
    "advise buy": "advise buy --add web.yaml --replicas 40 --types types.csv",
    "advise repair": "advise repair cluster.json",
    "advise gpus": "advise gpus cluster.json --topology rack",
    "advise fairness": "advise fairness sacct.txt --machines 8",
    "bounds add": "bounds add packing/tiny proof.json --table open.jsonl",
    "bounds show": "bounds show --table open.jsonl",
    "bounds check": "bounds check --table open.jsonl",
    "new problem": "new problem shelves",
}
"""What is typed after `cotenant`, by command."""


def examples_of(command: str) -> str:
    """Last paragraph of a command's help: its examples."""
    lines = EXAMPLES[command].splitlines()
    return "\n".join(["\b", "Examples:", *(f"  cotenant {line}" for line in lines)])


class Sections(TyperGroup):
    """Group of all commands, whose help lists the commands by purpose."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a help section of commands for each of `SECTIONS`."""
        room = formatter.width - 6 - max(map(len, self.commands))
        for title, names in SECTIONS.items():
            with formatter.section(title):
                rows = [(name, self.commands[name]) for name in names.split()]
                formatter.write_dl([(name, one.get_short_help_str(room)) for name, one in rows])


class Listing(TyperCommand):
    """Command whose help lists the generators of all problems (`generate`), or the formats that are
    read (`convert`), with their options.
    """

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write help sections of generators or formats, then the examples."""
        from ..instances.problem import PROBLEM_NAMES, problem_named
        from ..instances.problem.registry import known_formats

        sections: Mapping[str, Mapping[str, str]]
        sections = {"Formats, and their options": known_formats()}
        if self.name == "generate":
            sections = {
                f"Kinds of {problem}, and their options": problem_named(problem).generators
                for problem in PROBLEM_NAMES
            }
        for title, functions in sections.items():
            with formatter.section(title):
                formatter.write_dl(_with_options(functions))
        super().format_epilog(ctx, formatter)


def _with_options(functions: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names of functions, each with its options on one line."""
    from ..instances.problem.options import described
    from ..instances.problem.registry import resolve

    rows = [(name, described(resolve(path))) for name, path in functions.items()]
    return [(name, ", ".join(each.name for each in options) or "-") for name, options in rows]


_UNITS = {"S": "seconds", "CM": "centimeters", "SHARE": "a share, such as 0.05"}
"""What numbers are counted in, by the option's metavar."""


_NUMBER = re.compile("valid (number|float|integer|int)")
"""How the library that reads the command line says that a text is no number."""


def usage_lines(error: Any, arguments: Sequence[str], root: Any) -> list[str]:
    """Describe a usage error of typer about the arguments of the command `root`, with a cure."""
    words = io.StringIO()
    error.show(words)  # it quotes what was typed, which a shell may have put in for a star
    lines = words.getvalue().splitlines()
    context, parameter = error.ctx, getattr(error, "param", None)
    kind = type(error).__name__
    if context is None:  # what splits the line into words knows no command yet
        return [_no_value(root, error.option_name, arguments)]
    if kind == "MissingParameter" and parameter is not None:
        return [*lines, *_missing(context, parameter)]
    if parameter is not None and (number := _NUMBER.search(lines[-1])):
        whole = number[1].startswith("int")
        lines[-1] = _no_number(parameter, _given(parameter, arguments), whole)
    elif kind == "NoSuchOption":
        lines += _options(context, error.option_name, bool(error.possibilities))
    elif written := [
        hint for word in arguments if (hint := option_hint(word)) and word in lines[-1]
    ]:
        lines += written
    elif getattr(context.command, "commands", None):
        first = next(iter(context.command.commands))
        lines.append(
            f"Commands of {context.command_path}: {', '.join(context.command.commands)}, as in "
            f"{context.command_path} {first} ..."
        )
    return lines


def option_hint(word: str) -> str:
    """Say how to write an option of a method for a word such as alpha=0.1; "" for a word without
    "=".
    """
    return f"an option of a method is written -o {word}" if re.match(r"[a-z_]+=", word) else ""


def _no_value(command: Any, option: str, arguments: Sequence[str]) -> str:
    """Message that an option was given without a value, and which value it expects."""
    for word in arguments:
        command = getattr(command, "commands", {}).get(word, command)
    for each in command.params:
        if option in each.opts:
            choices = getattr(each.bare_type, "__members__", {}).values()
            what = each.metavar or "|".join(choices) or "VALUE"
            return f"Error: {option} has no value; expected {option} {what}: {each.help}"
    return f"Error: {option} has no value; write one after it"


def _missing(context: Any, parameter: Any) -> list[str]:
    """Describe a missing option or argument, with the names that it takes where they are few."""
    what = " ".join([*parameter.opts[-1:], parameter.metavar or ""]).strip()
    lines = [f"{what}: {parameter.help}"] if parameter.help else []
    names = _names(context, parameter)
    return [*lines, f"one of {', '.join(names)}"] if names else lines


def _names(context: Any, parameter: Any) -> list[str]:
    """List the formats that can be converted, or the methods that apply to the instance given."""
    if parameter.name == "form":
        from ..instances.problem.registry import known_formats

        return list(known_formats())
    if parameter.name != "method":
        return []
    from ..catalog import methods
    from ..instances.problem import read

    try:
        instance = read(str(context.params["file"]))
    except (CotenantError, KeyError):  # it is not there yet, or will be an error of its own
        return []
    exact = context.command.name == "prove"
    return [
        entry.name
        for entry in methods(instance.problem)
        if entry.applies_to(instance) and (entry.proof_producer or not exact)
    ]


def _given(parameter: Any, arguments: Sequence[str]) -> str:
    """Text of the value that was written for an option; "" if none."""
    for index, word in enumerate(arguments):
        name, equals, value = word.partition("=")
        if name in parameter.opts:
            return value if equals else " ".join(arguments[index + 1 : index + 2])
    return ""


def _no_number(parameter: Any, text: str, whole: bool) -> str:
    """Sentence on why a text is no number for an option, and what to write."""
    unit = _UNITS.get(parameter.metavar or "", "")
    expected = f"a {'whole ' * whole}number{f' ({unit})' if unit else ''}"
    cure = without_unit(text, unit)
    return f"Error: {parameter.opts[-1]} is {text!r}; expected {expected}{cure and f'; {cure}'}"


def _options(context: Any, name: str, has_near: bool) -> list[str]:
    """Name what takes the place of an unknown option, or list the options of the command."""
    taken = [each for each in context.command.params if "LAB.db" in (each.metavar or "")]
    if name == "--store" and taken:
        return [f"The store is the first argument: {context.command_path} LAB.db"]
    known = [each.opts[-1] for each in context.command.params if each.opts[0].startswith("-")]
    return (
        [] if has_near or not known else [f"Options of {context.command_path}: {', '.join(known)}"]
    )
