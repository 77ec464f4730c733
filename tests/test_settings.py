"""Settings: fields that a function takes as keywords, and that a command shows as options."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
import typer
from support.messages import refused
from typer.testing import CliRunner

from cotenant.cli.command import command
from cotenant.instances.problem.errors import InvalidOption
from cotenant.instances.problem.option_types import AtLeast, validate_options
from cotenant.instances.problem.options import described
from cotenant.instances.problem.settings import with_settings


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
