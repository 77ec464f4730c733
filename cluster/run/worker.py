"""A Dask worker of this computer that is one machine, and ends with whoever started it.

Its standard input is a pipe that nobody writes to: when it ends, the process leaves at once,
whatever it does; the supervisor of its group ends likewise.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from typing import IO, Any


def _leave(requests: IO[bytes]) -> None:
    requests.read(1)
    os._exit(1)


async def _work(address: str, name: str) -> None:
    from distributed import Worker

    make: Any = Worker  # not typed
    async with make(
        address, name=name, nthreads=1, memory_limit=0, host="127.0.0.1", dashboard=False
    ) as worker:
        await worker.finished()


def main(requests: IO[bytes]) -> None:
    """Be such a worker, of the address and by the name in `sys.argv`, until the scheduler, or
    whoever started it, is gone. Only SIGINT stays ignored: Ctrl-C is for the coordinator.
    """
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    threading.Thread(target=_leave, args=(requests,), name="cotenant-leaving", daemon=True).start()
    asyncio.run(_work(*sys.argv[1:]))
