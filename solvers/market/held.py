"""The users of some parts of a market, in the process that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...instances.market.instance import Floats
from ...instances.market.parts import read_blocks, read_header, write_answer
from .bidders import Bidders, Blocks, Tally, block_size
from .linear import UserBlocks


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
        self.header = read_header(folder)
        self.parts = [self.header.parts[number] for number in parts]
        least, unit = block_size(len(self.header.capacity)), self.header.unit
        self._of: list[list[Bidders]] = [
            [Bidders(block, unit) for block, _ in read_blocks(self.header, part, least)]
            for part in self.parts
        ]
        super().__init__([group for groups in self._of for group in groups])

    def joined(self, diagonal: Floats) -> UserBlocks | None:
        """See `Parties`."""
        return None

    def money(self) -> Tally:
        """All budgets of the users held here, in one sum."""
        return Tally((np.array([float(sum(group.market.budget.sum() for group in self.groups))]),))

    def write(self, folder: str) -> Tally:
        """Write the best cores of each part into a folder."""
        for part, groups in zip(self.parts, self._of, strict=True):
            counts = [
                np.bincount(group.market.user, minlength=group.market.users) for group in groups
            ]
            write_answer(self.header, part, Path(folder), [group.best for group in groups], counts)
        return Tally()
