"""Options: what an annotation says is what Python, the command line and the lists go by."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Literal

import numpy as np
import pytest
from support.messages import approved, refused

import cotenant
from cotenant.catalog import METHODS, Method
from cotenant.instances.problem import PROBLEM_NAMES, problem_named
from cotenant.instances.problem.errors import InvalidOption
from cotenant.instances.problem.option_types import Above, AtLeast, Between, validate_options
from cotenant.instances.problem.options import accepts, described, parse_options
from cotenant.instances.problem.registry import resolve

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
