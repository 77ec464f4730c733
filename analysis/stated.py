"""Stored result in the form in which the `facts` of a problem read it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Facts = dict[str, Any]
"""The entries of a certificate by name; `...` for one that must be there, whatever it is."""


class Stated(NamedTuple):
    """Stored result: the answer (or None), the certificate as JSON values, and the options with
    defaults for those that were not given.
    """

    method: str
    instance: Any
    answer: Any
    certificate: Mapping[str, Any]
    options: Mapping[str, Any]

    def together(self, *names: str) -> Facts:
        """Entries of a certificate that are hints, of which none is of use without the others."""
        return dict.fromkeys(names, ...) if self.certificate.keys() & {*names} else {}

    def echoed(self, *names: str) -> Facts:
        """Options that a certificate repeats."""
        return {name: self.options[name] for name in names}
