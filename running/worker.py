"""A Dask worker of this computer that is one machine, and ends with whoever started it.

    python -m cotenant.running.worker ADDRESS NAME

Its standard input is a pipe that nobody writes to: when it ends, the process leaves at once,
whatever it does; the supervisor of its group ends likewise.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from typing import Any


def _leave() -> None:
    os.read(0, 1)
    os._exit(1)


async def _work(address: str, name: str) -> None:
    from distributed import Worker

    make: Any = Worker  # not typed
    async with make(
        address, name=name, nthreads=1, memory_limit=0, host="127.0.0.1", dashboard=False
    ) as worker:
        await worker.finished()


def main() -> None:
    """Be such a worker until the scheduler, or whoever started it, is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the coordinator
    threading.Thread(target=_leave, name="cotenant-leaving", daemon=True).start()
    asyncio.run(_work(*sys.argv[1:]))


if __name__ == "__main__":
    main()
