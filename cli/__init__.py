"""The command line; its entry handles Ctrl-C and SIGTERM before anything slow is loaded."""

from __future__ import annotations

import atexit
import gc
import os

__all__ = ["main"]


def main() -> None:
    """Entry point of the command line; errors are one or two lines on stderr, never a traceback."""
    code = 130
    gc.set_threshold(50_000)  # what libraries make while they are loaded, they keep
    atexit.register(gc.freeze)  # what is no longer used then need not be looked for
    try:
        from ..solvers import interrupts, memory, stopwatch
        from .codes import BAD_INPUT

        try:
            interrupts.install_handlers()
            watch = stopwatch.ImportWatch()
            try:
                if not (short := memory.shortage()):
                    from .commands import run

                    code = run()
            except Exception as error:
                if not (short := memory.short_of_memory(error)):
                    raise
            if short:
                os.write(2, f"error: {short}\n".encode())
                code = BAD_INPUT
            del watch
        except KeyboardInterrupt:
            code = interrupts.exit_code()
            raise
        finally:
            interrupts.exit_with(code)
    except BaseException as error:
        # Python 3.11 makes a RuntimeError of an interrupt that comes while a class is made.
        if not isinstance(error, KeyboardInterrupt) and not isinstance(
            error.__cause__, KeyboardInterrupt
        ):
            raise
        os.write(2, b"interrupted; nothing was written\n")
    raise SystemExit(code)
