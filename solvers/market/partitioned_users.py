"""The users of some parts of a market, in the process that holds them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ...instances.market.instance import Floats
from ...instances.market.memory import require_memory
from ...instances.market.parts import read_answer, read_blocks, read_header
from ...instances.market.parts_writing import write_answer
from ...instances.problem.errors import InfeasibleSolution, InvalidFile
from .linear import UserBlocks
from .user_groups import Blocks, Given, PartialSums, Question, UserGroup, block_size

_BYTES_PER_JOB = 150  # what stays of a job between two questions: its data, bids, reply, candidate


class PartitionedUsers(Blocks):
    """Users whose data stays here: what leaves are partial sums.

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
        self._of: list[list[UserGroup]] = [
            [
                UserGroup(block, unit, self.header.jobs)
                for block, _ in read_blocks(self.header, part, least)
            ]
            for part in self.parts
        ]
        super().__init__([group for groups in self._of for group in groups])

    def ask(
        self, question: Question[Given], *arguments: Given.args, **options: Given.kwargs
    ) -> PartialSums:
        """See `Users`; `write` and `answer` are asked of the parts as a whole."""
        whole: tuple[object, ...] = (PartitionedUsers.write, PartitionedUsers.answer)
        if question in whole:
            return question(self, *arguments, **options)
        return super().ask(question, *arguments, **options)

    def joined(self, diagonal: Floats) -> UserBlocks | None:
        """See `Users`."""
        return None

    def write(self, folder: str) -> PartialSums:
        """Write the best cores of each part into a folder."""
        for part, groups in zip(self.parts, self._of, strict=True):
            counts = [
                np.bincount(group.market.user, minlength=group.market.users) for group in groups
            ]
            write_answer(self.header, part, Path(folder), [group.best for group in groups], counts)
        return PartialSums()

    def answer(self, folder: str) -> PartialSums:
        """Make the candidate of the cores of an answer in a folder.

        Raises
        ------
        InvalidFile
            It is none of these users.
        InfeasibleSolution
            A job gets less than nothing, or no number of cores.
        """
        for part, groups in zip(self.parts, self._of, strict=True):
            cores, counts = read_answer(self.header, part, folder)
            expected = np.concatenate(
                [np.bincount(group.market.user, minlength=group.market.users) for group in groups]
            )
            if not np.array_equal(counts, expected):
                raise InvalidFile(
                    f"{Path(folder) / part.file} has other jobs than {part.file} of the market; "
                    "give the answer of this market"
                )
            if not ((cores >= 0) & (cores < np.inf)).all():
                raise InfeasibleSolution(
                    f"{Path(folder) / part.file} gives a job "
                    f"{cores[~((cores >= 0) & (cores < np.inf))][0]} cores; expected a finite "
                    "number, 0 or more"
                )
            ends = np.cumsum([group.market.jobs for group in groups])[:-1]
            for group, mine in zip(groups, np.split(cores, ends), strict=True):
                group.candidate = mine.copy()
        return PartialSums()
