"""A stored result as a problem's `facts` sees it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

Facts = dict[str, Any]
"""The entries of a certificate by name; `...` for one that must be there, whatever it is."""


class Stated(NamedTuple):
    """A result as it is stored: the answer (or None), and the certificate as JSON values; and its
    options with the usual values of those that were not given.
    """

    method: str
    instance: Any
    answer: Any
    certificate: Mapping[str, Any]
    options: Mapping[str, Any]

    def together(self, *names: str) -> Facts:
        """Hints of which none is of use without the others."""
        return dict.fromkeys(names, ...) if self.certificate.keys() & {*names} else {}

    def echoed(self, *names: str) -> Facts:
        """Options that the certificate repeats."""
        return {name: self.options[name] for name in names}
