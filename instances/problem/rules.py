"""The old name of `option_types`."""

from .renamed import old_module

__getattr__ = old_module(
    __name__,
    "instances.problem.option_types",
    {
        "HOUSE": "RESERVED_PARAMETERS",
        "Rule": "OptionType",
        "checked": "validate_options",
        "rules_of": "option_types_of",
    },
)
