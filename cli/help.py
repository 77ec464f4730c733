"""Help: commands in sections, examples of each, and the options of generators and readers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typer.core import TyperCommand, TyperGroup

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


class Generators(TyperCommand):
    """A command whose help lists the generators of all problems with their options."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write a help section of generators for each problem, then the examples."""
        from ..instances.problem import PROBLEM_NAMES, problem_named

        for problem in PROBLEM_NAMES:
            with formatter.section(f"Kinds of {problem}, and their options"):
                formatter.write_dl(_with_options(problem_named(problem).generators))
        super().format_epilog(ctx, formatter)


class Readers(TyperCommand):
    """A command whose help lists the formats that are read with their options."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:
        """Write a help section of file formats, then the examples."""
        from ..instances.problem.registry import known_formats

        with formatter.section("Formats, and their options"):
            formatter.write_dl(_with_options(known_formats()))
        super().format_epilog(ctx, formatter)


def _with_options(functions: Mapping[str, str]) -> list[tuple[str, str]]:
    """Names of functions, each with its options on one line."""
    from ..instances.problem.options import described
    from ..instances.problem.registry import resolve

    rows = [(name, described(resolve(path))) for name, path in functions.items()]
    return [(name, ", ".join(each.name for each in options) or "-") for name, options in rows]
