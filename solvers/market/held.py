"""The users of some parts of a market, in the process that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...instances.market.instance import Floats
from ...instances.market.memory import require_memory
from ...instances.market.parts import read_blocks, read_header
from ...instances.market.parts_writing import write_answer
from .bidders import Bidders, Blocks, Tally, block_size
from .linear import UserBlocks

_BYTES_PER_JOB = 150  # what stays of a job between two questions: its data, bids, reply, candidate


class HeldParts(Blocks):
    """Parties whose data stays here: what leaves are tallies.

    Parameters
    ----------
    folder : of the market in parts.
    parts : which of them are held here, by their numbers in the header.

    Raises
    ------
    InvalidFile, InvalidInstance
        As `instances.market.parts.read_blocks`.
    """

    def __init__(self, folder: str, parts: Sequence[int]) -> None:
        self.header = read_header(folder, parts)
        self.parts = [self.header.parts[number] for number in parts]
        jobs = sum(part.jobs for part in self.parts)
        require_memory(_BYTES_PER_JOB * jobs, f"holding parts of {jobs} jobs")
        least, unit = block_size(len(self.header.capacity)), self.header.unit
        self._of: list[list[Bidders]] = [
            [Bidders(block, unit) for block, _ in read_blocks(self.header, part, least)]
            for part in self.parts
        ]
        super().__init__([group for groups in self._of for group in groups])

    def ask(self, what: str, *arguments: Any) -> Tally:
        """See `Parties`; "write" is asked of the parts as a whole."""
        if what == "write":
            return self.write(*arguments)
        return super().ask(what, *arguments)

    def joined(self, diagonal: Floats) -> UserBlocks | None:
        """See `Parties`."""
        return None

    def write(self, folder: str) -> Tally:
        """Write the best cores of each part into a folder."""
        for part, groups in zip(self.parts, self._of, strict=True):
            counts = [
                np.bincount(group.market.user, minlength=group.market.users) for group in groups
            ]
            write_answer(self.header, part, Path(folder), [group.best for group in groups], counts)
        return Tally()
