"""Executor on the workers of a Dask scheduler, for the setting `dask` of `compare`."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import Executor, Future
from contextlib import contextmanager, suppress
from typing import Any

from ...instances.problem.errors import InvalidOption, install
from ...solvers.engines.answer import start_thread

ANSWER_SECONDS = 4.0
"""How long a scheduler, and then its first worker, have to answer."""


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """Dask's own executor, `client.get_executor()`; runs in progress end when it is closed.

    Nothing is logged meanwhile: Dask tells of every connection that breaks, and what matters of it
    becomes an error or a row.

    Raises
    ------
    InvalidOption
        Dask is not installed, no scheduler answers at the address, or it has no worker.
    """
    try:
        from distributed import Client
    except ImportError as error:
        missing = f"dask needs the Dask libraries ({error}); {install('cluster')}"
        raise InvalidOption(missing) from None
    connect: Any = Client  # not typed
    found: Future[Any] = Future()

    def ask() -> None:
        try:
            client = connect(address, timeout=ANSWER_SECONDS, set_as_default=False)
            client.wait_for_workers(1, timeout=ANSWER_SECONDS)
            found.set_result(client)
        except Exception as error:
            found.set_exception(error)

    logging.disable(logging.CRITICAL)
    try:
        # In a thread: Dask waits without end for what listens at the address and says nothing.
        start_thread(ask, "cotenant-asking")
        try:
            client = found.result(2 * ANSWER_SECONDS + 1)
        except Exception as error:
            raise InvalidOption(
                f"dask is {address!r}: no scheduler with a worker answers there within "
                f"{ANSWER_SECONDS:g} s ({str(error) or type(error).__name__}); start `dask "
                "scheduler` and `dask worker ADDRESS`, and give the address that the first prints, "
                "such as tcp://10.0.0.1:8786"
            ) from None
        try:
            yield client.get_executor(pure=False)
        finally:
            with suppress(Exception):
                client.close(timeout=ANSWER_SECONDS)
    finally:
        logging.disable(logging.NOTSET)
