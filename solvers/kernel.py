"""Type of compiled kernels; numba is imported with this module, so import it on first use only."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.registry import CPUDispatcher

_call = CPUDispatcher.__call__


class Inner(CPUDispatcher):
    """Compiled function in the form that other compiled functions call."""

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """Argument types of a call; literal constants and small integers are widened to avoid
        recompilation.
        """
        return super().get_call_template(tuple(map(_widened, args)), kws)


class Kernel(CPUDispatcher):
    """Compiled function that re-raises exceptions of signal handlers that ran meanwhile.

    Python runs signal handlers between two of its own instructions, and numba executes some when it
    makes the result of a kernel, without looking at what they raise: Python then reports "returned
    a result with an exception set", a SystemError with the real exception at the end of its causes,
    which `except KeyboardInterrupt` would miss.
    """

    inner: Any
    """The same function for other kernels, and for itself: an `Inner`."""

    @property
    def _numba_type_(self) -> Any:
        return types.Dispatcher(self.inner)

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        try:
            return _call(self, *arguments)
        except SystemError as error:
            cause: BaseException = error
            while (
                isinstance(cause, SystemError) and cause.__cause__ is not None
            ):  # one for each function on the way out
                cause = cause.__cause__
            if cause is error:
                raise
            raise cause from None


def _widened(kind: Any) -> Any:
    kind = types.unliteral(kind)  # type: ignore[no-untyped-call]
    return types.int64 if kind in types.signed_domain else kind
