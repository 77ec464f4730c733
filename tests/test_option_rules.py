"""Options and settings: one annotation rules Python, the command line and the lists."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np
import pytest
import typer
from support.messages import approved, refused
from typer.testing import CliRunner

import cotenant
from cotenant.catalog import METHODS, Method
from cotenant.cli.command import command
from cotenant.instances.problem import PROBLEM_NAMES, problem_named
from cotenant.instances.problem.errors import InvalidOption
from cotenant.instances.problem.option_types import Above, AtLeast, Between, validate_options
from cotenant.instances.problem.options import accepts, described, parse_options
from cotenant.instances.problem.registry import resolve
from cotenant.instances.problem.settings import with_settings

GIVEN = {
    f"{name} {kind}": path
    for name in PROBLEM_NAMES
    for kind, path in problem_named(name).generators.items()
}
READ = {
    f"{name} {form}": path
    for name in PROBLEM_NAMES
    for form, path in problem_named(name).formats.items()
}
TAKERS = {f"{method.problem} {method.name}": method.function for method in METHODS} | GIVEN | READ
"""Every method, generator and reader."""


@validate_options
def sample(
    given: object,
    *,
    machines: Annotated[int, AtLeast(1, "processors")] = 2,
    share: Annotated[float, Above(0, most=1)] | None = None,
    alpha: Annotated[float, AtLeast(0, "a least gain", cure="0.05 is five points")] = 0.0,
    memory: Annotated[float, Above(0, "gigabytes", infinite=True)] = 4.0,
    level: Annotated[int, Between(1, 10)] = 1,
    rule: Literal["first", "best"] = "first",
    deep: bool = False,
    other: object = None,
    seed: int = 0,
) -> dict[str, object]:
    """A function with one option of each kind.

    Parameters
    ----------
    given : what is given.
    machines : processors in all.
    share, alpha : two options
        in two lines.

    Returns
    -------
    what was chosen : all of it.
    """
    return {"machines": machines, "share": share, "alpha": alpha, "rule": rule}


@pytest.mark.parametrize(
    "options",
    [
        {"machines": 0}, {"machines": True}, {"machines": 1.5}, {"share": 0},
        {"share": np.float64(1.1)}, {"alpha": -1e-9}, {"alpha": float("nan")},
        {"alpha": float("inf")}, {"level": 11}, {"rule": "worst"}, {"deep": 1},
    ],
)  # fmt: skip
def test_value_outside_the_annotation_is_refused(options: dict[str, object]) -> None:
    with refused(InvalidOption):
        sample(None, **options)


def test_numpy_numbers_and_documented_infinity_are_accepted() -> None:
    sample(None, machines=10**400)
    sample(None, machines=np.int64(3), share=None, memory=np.inf, deep=np.True_, other=object())
    sample(None, alpha=np.float32(0.5))


def test_option_texts_are_converted_by_the_annotations() -> None:
    texts = ["machines=3", "share=none", "alpha=0.25", "rule=best", "deep=yes"]
    expected = {"machines": 3, "share": None, "alpha": 0.25, "rule": "best", "deep": True}
    assert parse_options(sample, texts, "this") == expected
    for text in ("machines=0", "alpha=many"):
        with refused(InvalidOption):
            parse_options(sample, [text], "this")


def test_option_list_has_meaning_default_and_values() -> None:
    options = {option.name: option for option in described(sample)}
    assert "seed" not in options  # `solve` fills it
    approved(options["machines"].meaning)
    assert options["share"].meaning == options["alpha"].meaning == "two options in two lines."
    assert (options["share"].default, options["machines"].default) == ("none", "2")
    assert options["rule"].choices == ("first", "best")
    approved(options["level"].takes)
    assert options["other"].meaning == ""


@pytest.mark.parametrize("taker", TAKERS)
def test_every_option_of_every_method_generator_and_reader_is_described(taker: str) -> None:
    for option in described(resolve(TAKERS[taker])):
        assert option.meaning.endswith((".", ")")), option
        assert not option.meaning.startswith(("see ", "as ")), option
        assert option.takes, option
        assert all(choice in option.takes for choice in option.choices), option


@pytest.mark.parametrize("taker", TAKERS)
def test_annotation_of_every_number_has_a_range(taker: str) -> None:
    unlimited = {"a number", "a number or none", "a whole number", "a whole number or none"}
    found = {
        option.name for option in described(resolve(TAKERS[taker])) if option.takes in unlimited
    }
    assert found <= {"rho", "degree"}  # their ranges hang on other options


@pytest.mark.parametrize("method", METHODS, ids=lambda method: f"{method.problem}-{method.name}")
def test_every_method_refuses_value_outside_its_annotations(method: Method) -> None:
    """Python checks what the lists and the command line say: each option by a value that no
    annotation takes.
    """
    function, tiny = method.resolve(), cotenant.read(f"{method.problem}/tiny")
    limit = ["time_limit"] if accepts(function, "time_limit") else []
    for name in [*(option.name for option in described(function)), *limit]:
        with refused(InvalidOption):
            function(tiny, **{name: -np.inf})


@pytest.mark.parametrize("taker", GIVEN)
def test_every_generator_refuses_value_outside_its_annotations(taker: str) -> None:
    function = resolve(GIVEN[taker])
    given = {"rng": np.random.default_rng(0)} if accepts(function, "rng") else {}
    for option in described(function):
        with pytest.raises(InvalidOption):
            function(**given, **{option.name: -np.inf})


@validate_options
@dataclass(frozen=True)
class Shape:
    """A dataclass whose fields have limits."""

    rows: Annotated[int, AtLeast(1)]
    kind: Literal["wide", "tall"] = "wide"


def test_dataclass_fields_and_positional_values_are_checked() -> None:
    assert Shape(2) == Shape(rows=2, kind="wide")
    with refused(InvalidOption):
        Shape(0)
    with refused(InvalidOption):
        replace(Shape(1), kind="flat")


@validate_options
@dataclass(frozen=True)
class Pace:
    """How fast.

    Attributes
    ----------
    steps : steps between two looks; see `kind`.
    kind : how they are counted.
    hidden : nobody's option.
    """

    steps: Annotated[int, AtLeast(1)] = 5
    kind: Literal["slow", "fast"] = "slow"
    hidden: bool = False


SLOW, FAST = Pace(), Pace(7, "fast")


@validate_options
@with_settings(hide={"hidden"})
def walk(place: str, *, pace: Pace = FAST, back: bool = False) -> tuple[Any, ...]:
    """Walk.

    Parameters
    ----------
    pace : see `Pace`.
    back : whether to return.
    """
    return place, pace, back


def test_settings_fields_become_keyword_options() -> None:
    assert list(inspect.signature(walk).parameters) == ["place", "steps", "kind", "back"]
    assert walk("x") == ("x", FAST, False)
    assert walk("x", steps=2, back=True) == ("x", Pace(2, "fast"), True)
    assert walk("x", pace=SLOW, kind="fast") == ("x", Pace(5, "fast"), False)
    shown = {option.name: option for option in described(walk)}
    assert {name: option.default for name, option in shown.items()} == {
        "steps": "7", "kind": "fast", "back": "False",
    }  # fmt: skip
    assert shown["steps"].meaning.startswith("steps between")
    assert shown["kind"].choices == ("slow", "fast")


@pytest.mark.parametrize("given", [{"steps": 0}, {"kind": "x"}, {"stepz": 1}, {"back": 3}])
def test_invalid_settings_field_is_refused_like_an_option(given: dict[str, Any]) -> None:
    with refused(InvalidOption):
        walk("x", **given)


@dataclass(frozen=True)
class Shown:
    """How fast.

    Attributes
    ----------
    steps : steps between two looks.
    kind : how they are counted.
    hidden : not an option, as its annotation is only a type.
    """

    kind: Annotated[Literal["slow", "fast"], "--kind"] = "slow"
    steps: Annotated[int, AtLeast(1), "N"] = 5
    hidden: int = 7


SEEN: list[dict[str, Any]] = []


def go(place: str = "x", *, shown: Shown, loud: bool = False) -> None:
    """Go.

    Not far.

    Parameters
    ----------
    place : whence
    loud : with noise
    """
    SEEN.append({"place": place, "shown": shown, "loud": loud})


def test_command_has_arguments_options_and_help_of_its_function() -> None:
    app = typer.Typer(rich_markup_mode=None)
    app.command()(command(go))
    text = CliRunner().invoke(app, ["--help"]).stdout
    names = [word for word in text.split() if word in ("--kind", "--steps", "--loud", "--hidden")]
    assert names == ["--kind", "--steps", "--loud"]
    assert "Not far." in text
    assert "Whence." in text
    assert "Parameters" not in text
    assert CliRunner().invoke(app, ["y", "--kind", "fast", "--loud", "--steps", "3"]).exit_code == 0
    assert [{"place": "y", "shown": Shown("fast", 3), "loud": True}] == SEEN
    assert type(SEEN[0]["shown"].kind) is str
    assert CliRunner().invoke(app, ["--steps", "0"]).exit_code == 2
