"""Integer programs, and proofs by trees of cases that no integer point satisfies their rows."""

from .reading import (
    MOST_TERMS,
    Refused,
    Step,
    beyond,
    charge,
    listed,
    product,
    refuse_if,
    whole,
    wholes,
)

Terms = list[tuple[int, int]]


class Program:
    """Integer program: 0 <= low <= column <= high, with rows: sum of factor x column <= most.

    `impossible` checks that no whole numbers satisfy all rows, by a tree of cases. In each case the
    bounds are tightened first. A row leaves `room`: most less the least that its sum can be; if it
    is below 0 the case is empty, and a column can be no further from its end that adds least to the
    sum than room / |factor|, rounded down. What then is left is split by a hint at a column into
    (column <= value) and (column > value), or it is closed by multipliers: a sum of rows, each some
    times, that is a row again, for which there is no room. `cuts` are rows made of others first:
    their sum, each some times, divided by a number and all rounded down (Chvatal 1973), which holds
    as the columns are whole numbers that are not negative.
    """

    def __init__(self) -> None:
        self.low: list[int] = []
        self.high: list[int] = []
        self.rows: list[tuple[list[tuple[int, int]], int]] = []
        self.terms = 0

    def column(self, high: int) -> int:
        """Add an integer variable from 0 to `high`, and return its column."""
        self.low.append(0)
        self.high.append(high)
        return len(self.low) - 1

    def at_most(self, terms: list[tuple[int, int]], most: int) -> None:
        """Add a row: the sum of factor x column over pairs (column, factor), each column once, is
        at most `most`.
        """
        charge(4 * len(terms) + 4 + beyond([a for _, a in terms]) // 16)
        self.terms += len(terms) + 1
        refuse_if(self.terms > MOST_TERMS, "the program is larger than this one has memory for")
        self.rows.append(([(j, a) for j, a in terms if a], most))

    def equal(self, terms: list[tuple[int, int]], value: int) -> None:
        """Add two rows for an equality."""
        self.at_most(terms, value)
        self.at_most([(j, -a) for j, a in terms], -value)

    def columns_of_rows(self) -> None:
        """List for each column the rows that it is in, and for each row the work to check it."""
        self.of: list[list[int]] = [[] for _ in self.low]
        wide = 64 + max(map(int.bit_length, self.high), default=0)
        self.steps = [len(terms) + 1 + product(beyond([a for _, a in terms]), wide)
                      for terms, _ in self.rows]  # fmt: skip
        for r, (terms, _) in enumerate(self.rows):
            for j, _ in terms:
                self.of[j].append(r)

    def sum_of(self, hint: list[int]) -> tuple[dict[int, int], int]:
        """Left and right side of a sum of rows times positive multipliers, from [row, multiplier,
        row, ...].
        """
        total: dict[int, int] = {}
        right = 0
        for r, times in zip(hint[::2], hint[1::2], strict=True):
            terms, most = self.rows[whole(r, "a row", 0)]
            right += whole(times, "times", 1) * most
            charge(product(beyond([a for _, a in terms]), 64 + times.bit_length()))
            for j, a in terms:
                total[j] = total.get(j, 0) + a * times
            charge(3 * len(terms) + beyond([total[j] for j, _ in terms]) // 2_000)
        charge((sum(map(int.bit_length, total.values())) + right.bit_length()) // 8)
        return total, right

    def tighten(self, low: list[int], high: list[int], rows: list[int]) -> bool:
        """Tighten bounds of columns by some rows, and by the rows of each column that changes;
        False if infeasible.
        """
        todo, waiting = list(rows), set(rows)
        while todo:
            r = todo.pop()
            waiting.remove(r)
            terms, most = self.rows[r]
            charge(self.steps[r])
            room = most - sum([a * (low[j] if a > 0 else high[j]) for j, a in terms])
            if room < 0:
                return False
            for j, a in terms:
                if abs(a) * (high[j] - low[j]) > room:
                    if a > 0:
                        high[j] = low[j] + room // a
                    else:
                        low[j] = high[j] - room // -a
                    more = [other for other in self.of[j] if other not in waiting]
                    waiting.update(more)
                    todo += more
        return True

    def impossible(self, step: Step) -> None:
        """Refuse the proof unless the tree, leaves and cuts of a step show that no integer point
        satisfies all rows.
        """
        for hint in listed(step.get("cuts", []), "cuts"):
            divisor, *rest = wholes(hint, "a cut", None, 0)
            total, right = self.sum_of(rest)
            charge(product(beyond([*total.values()]), divisor.bit_length()))
            self.at_most([(j, a // divisor) for j, a in total.items()], right // divisor)
        self.columns_of_rows()
        hints = iter(wholes(step["tree"], "tree", None, -1))
        leaves = iter(listed(step.get("leaves", []), "leaves"))
        cases = [(self.low, self.high, list(range(len(self.rows))))]
        while cases:
            charge(2 * len(self.low))
            low, high, rows = cases.pop()
            if not self.tighten(low, high, rows):
                continue
            column = next(hints, None)
            if column is None:
                raise Refused("the tree ends before all its cases do")
            if column < 0:
                total, right = self.sum_of(wholes(next(leaves, None), "a leaf", None, 0))
                if sum(a * (low[j] if a > 0 else high[j]) for j, a in total.items()) <= right:
                    raise Refused("the multipliers of a leaf do not close it")
                continue
            value = whole(next(hints, None), "where a case is split", low[column], high[column] - 1)
            above, below = list(low), list(high)
            above[column], below[column] = value + 1, value
            cases += [(above, high, self.of[column]), (low, below, self.of[column])]
        refuse_if(next(hints, None) is not None, "the tree goes on when all its cases are closed")
