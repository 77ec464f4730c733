"""Packing: the game of servers that choose their VMs one after the other."""

from fractions import Fraction

from .frame import CheckedLevel, Methods, ProofCase
from .packing import Packing
from .reading import MOST_PRICE, Refused, Step, charge, common, rational, refuse_if, whole

Row = tuple[int, ...]
Powers = tuple[Fraction, ...]


class Play:
    """Subgame-perfect play of Xu and Yu's allocation game (2014, section 4.3), by definition.

    Each server chooses among the `eta` combinations of VMs that leave its least used resource most
    used (eq. 10; ties: lexicographic); servers move in order of the last one's (eq. 11), and each
    wants v + skewness small: v = (sum of |n_i r_ij / C_j - lambda d_ij|^(alpha - 1))^(1 / alpha)
    over all users and resources (eq. 4, 5), skewness = root of sum (u_j / mean u - 1)^2 (eq. 7).
    What others do matters through total counts alone: backward induction over these, ties to the
    lexicographically first. Roots are whole numbers of 2^-bits, rounded down, so that what they add
    up to lies between two numbers; what 4,000 bits do not tell apart must be equal part by part.
    """

    def __init__(self, given: Packing, options: Step) -> None:
        self.given, self.cap = given, given.request
        self.servers, share, (_, total) = given.cluster()
        alpha, players = rational(options.get("alpha", 2), "alpha"), sum(self.servers)
        self.over = whole(alpha.denominator, "the denominator of alpha", 1, 64)
        self.alpha = whole(alpha.numerator, "the numerator of alpha", self.over + 1, 64)
        shrunk = max([2, *(n for n in range(2, 11) if n ** min(players, 99) <= 100_000)])
        eta = options.get("eta", 5)
        self.eta = shrunk if eta == "shrinking" else whole(eta, "eta", 1)
        self.most = rational(options.get("overload", MOST_PRICE), "overload")
        refuse_if(players > 1000, "there are too many servers")
        wish = [[part / max(row) for part in row] for row in share]
        digits = common([part.denominator for row in wish for part in row]).bit_length()
        self.digits = (digits * self.alpha) ** 2 // 10**4  # steps that such a power takes
        level = 1 / max(map(sum, zip(*wish, strict=True)))
        there = [j for j, n in enumerate(total) if n]
        self.due = [[(a[j], level * b[j]) for j in there] for a, b in zip(share, wish, strict=True)]
        self.roots, self.parts = dict[tuple[Fraction, int, int], int](), dict[Row, Powers]()
        moves = [self.moves(c) for c in range(len(self.servers))]
        order = sorted((lowest, c) for c, (lowest, _) in enumerate(moves))
        self.kinds = [c for _, c in order for _ in range(self.servers[c])]
        self.choices = [moves[c][1] for c in self.kinds]

    def moves(self, c: int) -> tuple[Fraction, list[tuple[Row, Fraction]]]:
        """VM combinations that a server of class c chooses among, sorted, each with skewness^2.
        Before them stands the least utilization of the last one, min(O) in equation 11.
        """
        given, rows = self.given, [(Row(), self.given.room[c])]
        for size, cap in zip(given.size, self.cap, strict=True):
            longer = list[tuple[Row, list[int]]]()
            for row, free in rows:
                fits = [f // d for f, d in zip(free, size, strict=True) if d]
                most = min(fits if cap is None else [cap, *fits])
                charge((most + 1) * (300 + 30 * len(free)))
                for n in range(most + 1):
                    left = [f - n * d for f, d in zip(free, size, strict=True)]
                    longer.append(((*row, n), left))
            rows = longer
        ranked = []
        for row, free in rows:
            used, uneven = self.skewness(c, free)
            ranked.append((not any(row) or max(used) > self.most, -min(used), row, uneven))
        chosen = sorted(entry for entry in ranked if not entry[0])[: self.eta] or ranked[:1]
        return -chosen[-1][1], sorted((row, uneven) for _, _, row, uneven in chosen)

    def skewness(self, c: int, free: list[int]) -> tuple[list[Fraction], Fraction]:
        """Used fraction of each resource of a server, and the square of its skewness."""
        used = [Fraction(s - f, s) for s, f in zip(self.given.start[c], free, strict=True) if s]
        squares, total = sum(u * u for u in used), sum(used) or Fraction(1)
        return used, max(len(used) * (len(used) * squares / total**2 - 1), Fraction(0))

    def variance(self, total: Row) -> Powers:
        """Fairness variance v^alpha of total counts; for alpha = p/q with q > 1 its terms to the
        power p - q, in order.
        """
        if total not in self.parts:
            charge((600 + self.digits) * len(total))
            parts = [abs(n * a - b) for n, due in zip(total, self.due, strict=True) for a, b in due]
            powers = sorted(Fraction(part ** (self.alpha - self.over)) for part in parts)
            once = self.over == 1
            self.parts[total] = (sum(powers, Fraction(0)),) if once else tuple(powers)
        return self.parts[total]

    def root(self, value: Fraction, k: int, bits: int) -> int:
        """Root of order k times 2^bits, rounded down, by Newton's method from above."""
        if (value, k, bits) not in self.roots:
            number = (value.numerator << k * bits) // value.denominator
            guess, lower = 1 << -(-number.bit_length() // k), -1
            while number and lower < guess:
                guess = guess if lower < 0 else lower
                lower = ((k - 1) * guess + number // guess ** (k - 1)) // k
            self.roots[value, k, bits] = guess if number else 0
        return self.roots[value, k, bits]

    def around(self, worth: tuple[Powers, Fraction], bits: int) -> tuple[int, int]:
        """Integer bounds, in 2^-bits, on unfairness v + skewness, which are given as powers."""
        powers, uneven = worth
        charge(4 * bits * len(powers) * self.over)
        sums = [powers[0]] * 2
        if self.over > 1:
            roots = sum(self.root(power, self.over, bits) for power in powers)
            sums = [Fraction(n, 2**bits) for n in (roots, roots + len(powers))]
        low, high = (self.root(n**self.over, self.alpha, bits) for n in sums)
        skewness = self.root(uneven, 2, bits)
        return low + skewness, high + skewness + 2

    def less(self, one: tuple[Powers, Fraction], two: tuple[Powers, Fraction]) -> bool:
        """Whether unfairness v plus skewness is less for one choice of VMs than for another."""
        if one == two:
            return False
        for bits in (64, 4000):
            (low, high), (least, most) = self.around(one, bits), self.around(two, bits)
            if high <= least or most <= low:
                return high <= least
        raise Refused("two utilities are equal to a thousand digits, but not part by part")

    def after(self, total: Row, turn: int) -> list[tuple[Row, Fraction, Row]]:
        """Choices of a server at some total counts as (VMs, skewness^2, new total counts); an empty
        one if none fits.
        """
        choices, nothing = [], (0,) * len(total)
        for row, uneven in self.choices[turn]:
            more = tuple(n + added for n, added in zip(total, row, strict=True))
            if all(cap is None or n <= cap for n, cap in zip(more, self.cap, strict=True)):
                choices.append((row, uneven, more))
        charge(150 * len(self.choices[turn]))
        idle = self.skewness(self.kinds[turn], self.given.room[self.kinds[turn]])[1]
        return choices or [(nothing, idle, total)]

    def least(self) -> Fraction:
        """Lower bound on disutility, servers x v + skewness, of all plays; roots rounded down."""
        sums = {(0,) * len(self.cap): 0}
        for turn in range(len(self.kinds)):
            after = dict[Row, int]()
            for total, done in sums.items():
                for _, uneven, more in self.after(total, turn):
                    worth = done + self.root(uneven, 2, 256)
                    after[more] = min(worth, after.get(more, worth))
            sums = after
        around = {total: self.around((self.variance(total), Fraction(0)), 256) for total in sums}
        return Fraction(min(len(self.kinds) * around[t][0] + sums[t] for t in sums), 2**256)

    def worth(self) -> Fraction:
        """Disutility of the answer, rounded up, if it is a play with its servers in order."""
        queues: dict[int, list[Row]] = {c: [] for c in self.kinds}
        for c, row in zip(self.given.kinds, self.given.rows, strict=True):
            queues[c].append(tuple(row))
        total, worth = (0,) * len(self.cap), 0
        for turn, c in enumerate(self.kinds):
            own = queues[c].pop(0) if queues[c] else (0,) * len(self.cap)
            choice = [entry for entry in self.after(total, turn) if entry[0] == own]
            refuse_if(not choice, "the answer is no play of the game")
            worth += self.root(choice[0][1], 2, 256) + 1
            total = choice[0][2]
        high = self.around((self.variance(total), Fraction(0)), 256)[1]
        return Fraction(worth + len(self.kinds) * high, 2**256)

    def play(self) -> list[Row]:
        """Choices of the servers in the subgame-perfect play, in the order of moves."""
        moves, nothing, after = self.choices, (0,) * len(self.cap), self.after
        levels = [{nothing}]
        for turn in range(len(moves)):
            levels.append({more for total in levels[-1] for _, _, more in after(total, turn)})
        end, choices = {total: total for total in levels[-1]}, list[dict[Row, tuple[Row, Row]]]()
        for turn in range(len(moves) - 1, -1, -1):
            before, chosen = dict[Row, Row](), dict[Row, tuple[Row, Row]]()
            for total in levels[turn]:
                best: tuple[Powers, Fraction] | None = None
                for row, uneven, more in after(total, turn):
                    worth = (self.variance(end[more]), uneven)
                    if best is None or self.less(worth, best):
                        best, chosen[total], before[total] = worth, (row, more), end[more]
            end = before
            choices.insert(0, chosen)
        rows, total = list[Row](), nothing
        for chosen in choices:
            row, total = chosen[total]
            rows.append(row)
        return rows


def packing_play(case: ProofCase) -> list[CheckedLevel]:
    """Check that the answer is the subgame-perfect play of the packing game."""
    given, level = Packing(case), CheckedLevel()
    for _ in case.each(0, recompute=""):
        play = Play(given, case.options)
        own = sorted(used for used in zip(play.kinds, play.play(), strict=True) if any(used[1]))
        rows = zip(given.kinds, map(tuple, given.rows), strict=True)
        if given.answered and own == sorted(used for used in rows if any(used[1])):
            level.epsilon = {"regret": Fraction(0)}
    return [level]


def packing_joint(case: ProofCase) -> list[CheckedLevel]:
    """Check the least total disutility of all servers over the plays of the game."""
    given, level = Packing(case), CheckedLevel()
    for _ in case.each(0, recompute=""):
        play = Play(given, case.options)
        level = CheckedLevel(play.worth() if given.answered else None, play.least())
    return [level]


METHODS: Methods = {
    "FUGA": ("alpha eta overload", "disutility min", packing_play),
    "FUGA-tree": ("alpha eta overload", "disutility min", packing_play),
    "joint-optimum": ("alpha eta overload", "disutility min", packing_joint),
}
