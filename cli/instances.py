"""The commands `show`, `generate` and `convert`: instances and their files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..analysis.report.console import Form, print_json, print_tables, require_writable, say
from ..instances.problem.option_types import AtLeast
from .arguments import As, Json, Options
from .completion import formats, kinds, problems
from .functions import reader_of


def show(file: str | None = None, *, as_json: Json = False, form: As = Form.TABLE) -> None:
    """Show the facts of an instance, or list the bundled instances.

    Parameters
    ----------
    file : instance file or bundled instance. Without it, the bundled ones are listed
    """
    from ..analysis.report.tables import facts_table
    from ..instances.problem import bundled, read

    rows: dict[str, object]
    if file is None:
        rows = {name: read(name).source for name in bundled()}
        title = "bundled instances"
    else:
        rows = {name: value for name, value in read(file).summary().items() if value != ""}
        title = file
    if as_json:
        print_json(rows)
    else:
        print_tables([facts_table(rows, title)], form)


def generate(
    problem: Annotated[str, problems],
    *,
    out: Annotated[Path, "FILE"],
    option: Options = None,
    kind: Annotated[str | None, kinds] = None,
    seed: Annotated[int, AtLeast(0)] = 0,
    seeds: Annotated[int | None, "N", AtLeast(1)] = None,
) -> None:
    """Generate an instance, or a folder of them.

    Parameters
    ----------
    problem : a problem
    out : write the instance here (.json or .json.gz); with --seeds, a folder
    kind : which generator; the problem's first when not given
    seed : seed of the random draws
    seeds : write N instances, one file for each seed from --seed on
    """
    import numpy as np

    from ..instances.problem import UnknownName, problem_named, write
    from ..instances.problem.files import require_folder
    from ..instances.problem.lookup import PROBLEM_NAMES
    from ..instances.problem.options import parse_options
    from ..instances.problem.registry import resolve

    generators = problem_named(problem).generators
    chosen = kind or next(iter(generators))
    if chosen not in generators:
        others = [each for each in PROBLEM_NAMES if chosen in problem_named(each).generators]
        raise UnknownName(f"{problem} generator", chosen, generators, elsewhere=others)
    function = resolve(generators[chosen])
    options = parse_options(function, option or [], f"generator {chosen!r}")

    def drawn(seed: int) -> Any:
        instance = function(rng=np.random.default_rng(seed), **options)
        return instance.replace(
            name=f"{instance.name}-seed-{seed}",
            source=f"{instance.source}; generator {chosen}, seed {seed}",
        )

    if seeds is None:
        require_writable(out)
        _said(drawn(seed), write, out)
        return
    require_folder(out)
    for each in range(seed, seed + seeds):
        instance = drawn(each)
        write(instance, out / f"{instance.name}.json")
    typer.echo(f"{out}: {seeds} instances, seeds {seed} to {seed + seeds - 1}")


def convert(
    source: str,
    *,
    form: Annotated[str, "--from FORMAT", formats],
    out: Annotated[Path, "FILE"],
    option: Options = None,
    fill: Annotated[str | None, "predict|forbid"] = None,
) -> None:
    """Convert a file of a foreign format to an instance.

    Parameters
    ----------
    source : file in another format, or a folder of tables
    form : its format, such as penalty-csv; csv for tables whose plain headers say what they are;
        json for an instance of this package; game for `cotenant analyze core`
    out : write the instance here (.json or .json.gz), or the game that FUGA plays on it (.efg)
    fill : what to do with pairs that are missing: predict them from the others, or forbid them
    """
    from ..analysis.packing.trees import game_in_efg
    from ..instances.coalitions import game_document
    from ..instances.problem import write
    from ..instances.problem.files import write_text
    from ..instances.problem.option_types import RESERVED_IN_READERS
    from ..instances.problem.options import accepts, described, parse_options
    from ..instances.problem.tables import plain_forms, unread

    texts: dict[str, Callable[..., str]] = {"game": game_document, "efg": game_in_efg}
    if (text := "efg" if (form, out.suffix) == ("json", ".efg") else form) in texts:
        options = parse_options(texts[text], option or [], f"format {text!r}", {"path"})
        require_writable(out, source)
        typer.echo(f"{write_text(out, texts[text](source, **options))}: the game")
        return
    form, function = reader_of(form, source, option or [])
    options = parse_options(function, option or [], f"format {form!r}", RESERVED_IN_READERS)
    if fill is not None:
        options["missing"] = _filling(fill, form, accepts(function, "missing"))
    require_writable(out, source)
    instance = function(source, **options)
    _said(instance, write, out)
    say(f"{instance.problem}: {instance.source}")
    files = [plain.file for plain in plain_forms().values() if plain.form == form]
    # the other tables are options of the reader, by their names
    files += [f"{each.name}.csv" for each in described(function) if "text" in each.takes]
    if len(files) > 1 and (others := unread(source, files)):
        say(f"not read: {', '.join(others)}; tables of this format are {', '.join(files)}")


def _filling(fill: str, form: str, taken: bool) -> Any:
    """Value of a reader's argument `missing` for `convert --fill`."""
    from ..analysis.colocation.prediction import predicted_penalties
    from ..instances.problem import InvalidOption

    if fill not in ("predict", "forbid"):
        raise InvalidOption(f"fill is {fill!r}; expected predict or forbid")
    if not taken:
        raise InvalidOption(
            f"fill is {fill}; format {form!r} has no pairs to fill in; leave it out"
        )
    return predicted_penalties if fill == "predict" else fill


def _said(instance: Any, write: Callable[..., Path], out: Path) -> None:
    from ..instances.problem.text import sanitize_for_terminal

    path = write(instance, out)
    facts = [f"{name}: {value}" for name, value in instance.summary().items()]
    typer.echo(sanitize_for_terminal(f"{path}: {', '.join(facts[3:6])}"))
