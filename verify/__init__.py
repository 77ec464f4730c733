"""The verifier of proofs; see `__main__.py` for what it does, and how to read it."""

from .methods import methods_of, verify
from .reading import Refused, Unreadable

__all__ = ["Refused", "Unreadable", "methods_of", "verify"]
