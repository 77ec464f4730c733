"""Output of the command line: clean streams, tables, progress, early checks of output files."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...instances.problem.errors import InvalidFile
from ...instances.problem.text import in_ascii, sanitize_for_terminal

if TYPE_CHECKING:
    from rich.console import Console

    from .table import Table

WAIT_SECONDS = 2.0
"""A wait longer than this shows what is going on (terminals only)."""


class Form(StrEnum):
    """Form in which a command prints its tables."""

    TABLE = "table"
    WIDE = "wide"
    CSV = "csv"
    LATEX = "latex"
    MARKDOWN = "markdown"


def print_tables(
    tables: Iterable[Table],
    form: Form = Form.TABLE,
    *,
    width: float | None = None,
    columns: Sequence[str] = (),
) -> None:
    """Print tables on standard output, for people or in a text format; notes for which CSV has no
    place go to stderr.

    Parameters
    ----------
    width : centimeters of a line that LaTeX tables fit; a page's when None.
    columns : headings of those to show; all when empty.
    """
    from .fitting import fitted

    screen = console() if form is Form.TABLE else console(ANY_WIDTH)
    for number, table in enumerate(tables):
        table = table.only(columns) if columns else table
        if form in (Form.TABLE, Form.WIDE):
            letters = in_ascii if screen.options.ascii_only else str
            across = screen.width if form is Form.TABLE else None
            drawn, left_out = fitted(table, across, letters)
            screen.print(drawn)
            for note in (table.caption, *table.notes):
                if note:
                    screen.print(letters(note), highlight=False)
            if left_out:
                names = ", ".join(left_out)
                line = f"left out at {screen.width} columns: {names} (all: --format wide)"
                screen.print(line, highlight=False)
            continue
        text = table.latex(width) if form is Form.LATEX else table.write(form.value)
        sys.stdout.write(("\n" if number else "") + text)
        if form is Form.CSV:
            for note in table.notes:
                say(note)


PIPE_WIDTH = 160
"""Columns where the output is no terminal and COLUMNS says nothing (rich would assume 80)."""


ANY_WIDTH = 100_000
"""Columns that no table needs."""


def console(width: int | None = None) -> Console:
    """Console for tables on standard output, of a given width, else of COLUMNS or the terminal."""
    from rich.console import Console

    # No markup: "[s]" is a unit, not a style.
    if width is None and not sys.stdout.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        width = PIPE_WIDTH
    return Console(file=sys.stdout, width=width, soft_wrap=False, markup=False)


def say(words: object) -> None:
    """Print a line on stderr; nothing happens where stderr cannot be written."""
    text = sanitize_for_terminal(str(words))
    try:
        sys.stderr.write(f"{text if _has_unicode(sys.stderr) else in_ascii(text)}\n")
        sys.stderr.flush()
    except OSError:
        _to_nowhere(2)  # or the end of Python would try again, and fail


def _has_unicode(stream: Any) -> bool:
    """Whether the encoding of a stream has every character."""
    return (getattr(stream, "encoding", None) or "utf-8").lower().startswith("utf")


def print_json(content: Any) -> None:
    """Print one JSON document on standard output."""
    sys.stdout.write(json.dumps(content, allow_nan=False, indent=2) + "\n")


def require_writable(path: Path | None, *inputs: str | Path) -> None:
    """Refuse, before any work, an output that cannot be written or is an input too."""
    if path is None:
        return
    if any(path.absolute() == Path(given).absolute() for given in inputs) or (
        os.path.exists(path)
        and any(os.path.exists(given) and path.samefile(given) for given in inputs)
    ):
        raise InvalidFile(
            f"{path} is given as another file too and would be overwritten; choose another file"
        )
    folder = path.parent
    if why := _no_path(path):
        raise InvalidFile(f"{path} cannot be written: {why}")
    if (
        path.is_dir()
        or not folder.is_dir()
        or not os.access(path if path.exists() else folder, os.W_OK)
    ):
        raise InvalidFile(
            f"{path} cannot be written; choose a file in a folder that exists and is writable"
        )


def _no_path(path: Path) -> str:
    """Reason why no file can have this path, if examining it raises an error; "" otherwise."""
    whys = {
        errno.ENAMETOOLONG: "its name is too long; choose a shorter one",
        errno.ELOOP: "it is a link that leads back to itself; choose another file",
    }
    try:
        path.stat()
    except OSError as error:
        return whys.get(error.errno or 0, "")
    return ""


def open_missing_streams() -> None:
    """Open the null device for closed standard streams (`>&-`), whose descriptors the next opened
    file would otherwise get.

    What is written to a standard output that was closed is an error then; a stderr that was closed
    says nothing.
    """
    for number, mode in ((0, os.O_RDONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # takes the lowest number that is free
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.dup(2), "w")


class _Output(io.TextIOWrapper):
    """Standard output: a full disk is reported in one sentence; after a reader such as `| head` has
    closed the pipe, output is discarded and the command continues.
    """

    def write(self, text: str) -> int:
        with self.os_errors_as_invalid_file():
            super().write(text)
        return len(text)

    def flush(self) -> None:
        with self.os_errors_as_invalid_file():
            super().flush()

    @contextmanager
    def os_errors_as_invalid_file(self) -> Iterator[None]:
        try:
            yield
        except BrokenPipeError:
            _to_nowhere(self.fileno())
        except OSError as error:
            raise InvalidFile(
                f"standard output cannot be written: {error.strerror}; what was to be printed is "
                "lost"
            ) from None


def _to_nowhere(descriptor: int) -> None:
    """Redirect a file descriptor to the null device."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


@contextmanager
def quiet_stdout() -> Iterator[None]:
    """Redirect solvers' output on descriptor 1 to stderr; our output uses a duplicate of it."""
    original = sys.stdout
    try:
        keep = os.dup(1)
        os.dup2(2, 1)
    except OSError:  # no such descriptors, as under some test runners
        yield
        return
    terminal = os.isatty(keep)
    ours = _Output(
        open(keep, "wb"),
        # files and pipes are UTF-8 everywhere; a terminal shows what it can
        encoding="ascii" if terminal and not _has_unicode(original) else "utf-8",
        errors="replace",
        line_buffering=terminal,
    )
    sys.stdout = ours
    try:
        yield
    finally:
        try:
            ours.flush()
        except InvalidFile:
            _to_nowhere(keep)
            raise
        finally:
            os.dup2(keep, 1)
            ours.close()
            sys.stdout = original


@contextmanager
def waiting(title: str, wait: float = WAIT_SECONDS) -> Iterator[Callable[[str], None]]:
    """Show a line on stderr after some seconds, on terminals; yields a function that changes its
    text.
    """
    if not sys.stderr.isatty():
        yield lambda words: None
        return
    from rich.console import Console
    from rich.text import Text

    screen = Console(stderr=True)
    turning = "line" if screen.options.ascii_only else "dots"
    # no markup: "[/x]" may be a name
    status = screen.status(Text(sanitize_for_terminal(title)), spinner=turning)
    timer = threading.Timer(wait, status.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda words: status.update(
            Text("\n".join(sanitize_for_terminal(line) for line in f"{title}: {words}".split("\n")))
        )
    finally:
        timer.cancel()
        status.stop()


@contextmanager
def progress(title: str, log: Path | None) -> Iterator[Callable[..., None]]:
    """Context that yields a `report` callback for methods: it shows value and bound of the search
    in the terminal, and appends them to a log file if one is given.
    """
    from ...instances.problem.files import write_text

    lines: list[str] = []
    cut = False  # a line of the log was not written whole
    if log is not None:
        write_text(log, "")
    stream = None if log is None else log.open("a", encoding="utf-8", buffering=1)

    def report(
        seconds: float, objective: float | None, bound: float | None, text: str = ""
    ) -> None:
        nonlocal cut
        words = (
            f"{seconds:8.1f} s  value {_number(objective)}  bound {_number(bound)}  {text}".rstrip()
        )
        if stream is not None:
            lines.append(f"{sanitize_for_terminal(words)}\n")
            try:
                stream.write(lines[-1])
            except OSError:  # no reason to end a run
                cut = True
        show(words.strip())

    with waiting(title) as show:
        try:
            yield report
        finally:
            if log is not None and stream is not None:
                try:
                    stream.close()
                except OSError:
                    cut = True
                if cut:  # once more, whole: it says what is in the way
                    write_text(log, "".join(lines))


def clock_text(seconds: float) -> str:
    """Seconds as a clock shows them: 0:07, 12:30, 1:00:00."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:z.6g}"
