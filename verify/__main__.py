"""Does a proof file prove what it claims of an instance?    python -I verify INSTANCE PROOF
                                                           (with --patience N: N times the work)

This folder (or `verify.pyz`, its files in a zip), with Python's standard library, is all that has
to be trusted: it runs no solver and imports nothing of the package whose proofs it reads. It
computes in whole numbers and fractions, and takes every decimal of the instance as it is written.
What a proof says is never taken on trust: an answer is checked and measured again, and each
multiplier, set, price or branch is only a hint, from which the bound is worked out again, by a
theorem that stands above the code that uses it.

How to read it: `reading.py` reads files, and `frame.py` says what a claim is and what accepting one
means; `methods.py` loads what one problem needs. Besides these a proof needs, of
  colocation   colocation, pairing, and program if it has a tree; for `stable` also
               colocation_stable, for `fair` colocation_fair
  market       market, logarithms
  packing      packing, then for servers, cost and moves packing_prices, packing_servers, program;
               for shares and utilization packing_prices, packing_shares, program; for cards
               packing_cards, program; for the game packing_game
  lifetimes    lifetimes, packing, packing_prices, program
  quanta       quanta, logarithms
  elastic      elastic, program
  others       admission, numa; scheduling or a game, and cooperative; groups, pairing and
               program

Exit code 0: the proof is accepted, and one sentence says what is proved. 1: it is refused, with the
first reason. 2: a file cannot be read. Limits: files of 64 MB (unpacked), eight million values,
four million lists, a million objects, numbers of 4,000 digits; and what a proof may take to judge.
A pipe is read until its end comes, however long that takes.
"""

import sys

if not __package__ and __spec__:  # a folder or a zip is run: make a package of the files in it
    package = type(sys)("verify")
    package.__path__ = [sys.path.pop(0)]
    sys.modules["verify"], __spec__.name, __package__ = package, "verify.__main__", "verify"

from .methods import verify
from .reading import MOST_WORK, Refused, Unreadable, read

USAGE = (
    "usage: python -I verify INSTANCE PROOF [--patience N] (one file may be -; N: how many times "
    "its usual work judging may take, 1 to 999999)"
)


def main(arguments: list[str], usual: int = MOST_WORK) -> int:
    """Print what is proved, or why the proof is refused; returns the exit code."""
    try:
        once = ["--patience", "1"]
        *files, word, times = arguments if len(arguments) == 4 else [*arguments, *once]
        number = int(times) if times.isdecimal() and len(times) < 7 else 0
        if len(files) != 2 or files == ["-", "-"] or word != once[0] or not number:
            raise Unreadable(USAGE)
        print(f"accepted: {verify(read(files[0]), read(files[1]), number * usual)}")
        return 0
    except Unreadable as reason:
        print(f"unreadable: {reason}")
        return 2
    except Refused as reason:
        print(f"refused: {reason}")
    return 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
