"""Colocation: the fewest blocking pairs."""

import math
from fractions import Fraction

from .colocation import Colocation, mean_bound, no_pairing, pairing_program, partners_of
from .frame import CheckedLevel, Methods, ProofCase
from .program import Program, Terms
from .reading import Refused, Step, charge, listed, rational, refuse_if, whole, wholes


class Gains:
    """Gains of agents: an agent gains by a penalty change from old to new iff old - new > alpha.

    Two other readings of alpha: "relative-penalty", old - new > alpha |old|, "relative-throughput",
    old - new > alpha (1 - old). A pair of agents blocks an answer when both would gain by it.
    """

    def __init__(self, given: Colocation, options: Step) -> None:
        self.given, self.mode = given, options.get("alpha_mode", "penalty-points")
        self.alpha = rational(options.get("alpha", 0), "alpha")
        modes = ("penalty-points", "relative-penalty", "relative-throughput")
        if self.alpha < 0 or self.mode not in modes:
            raise Refused("alpha is below 0, or its mode is not known")

    def most(self, old: int) -> int:
        """Largest penalty at which an agent gains that had the penalty `old`; all are integers."""
        unit, mode = self.given.unit, self.mode
        base = abs(old) if mode == "relative-penalty" else unit
        base -= old if mode == "relative-throughput" else 0
        return old - self.alpha.numerator * base // self.alpha.denominator - 1

    def tempted(self) -> list[tuple[int, int, list[int]]]:
        """Agents of the answer by type a and penalty, as (a, number, types by which they gain)."""
        given = self.given
        alone = [(a, given.single, n) for a, n in enumerate(given.singles) if n and given.left]
        found = []
        for a, old, number in given.beside() + alone:
            charge(given.size)
            most, row = self.most(old), given.penalty[a]
            better = [c for c, new in enumerate(row) if new is not None and new <= most]
            found.append((a, number, better))
        return found

    def counts(self) -> tuple[Fraction, Fraction, Fraction]:
        """Number of agents of the answer in a blocking pair, the largest number of blocking pairs
        of one agent, and the number of blocking pairs.

        An a-agent that gains by c is in one with each of the W[c][a] who gain by a; of its own type
        it is one of these itself. Each pair is counted by its two agents.
        """
        agents, most, twice, tempted = 0, 0, 0, self.tempted()
        willing = [[0] * self.given.size for _ in range(self.given.size)]  # W[a][c]
        for a, number, better in tempted:
            for c in better:
                willing[a][c] += number
        for a, number, better in tempted:
            pairs = sum(willing[c][a] - (c == a) for c in better)
            agents += number if pairs else 0
            most = max(most, pairs)
            twice += number * pairs
        return Fraction(agents), Fraction(most), Fraction(twice, 2)

    def blocking(self) -> Fraction | None:
        """Number of blocking pairs of the answer; None without an answer."""
        return self.counts()[2] if self.given.answered else None


class Deletions:
    """Lower bounds on blocking pairs when all agents differ, by stable partitions.

    A partition P puts every agent i into a cycle ("party"): after pred(i), before succ(i). Call it
    stable here when, with "i prefers x to y" for: i gains by going from y to x,
    (1) in a party of three or more, i prefers succ(i) to pred(i) (a tie is not enough: a P would
        not block), and
    (2) of any two agents i, j who may share and are not neighbors in P, one prefers its predecessor
        to the other; a party of one prefers nothing.
    Let O be the number of parties of odd size, counting those of one only if all must be paired.

    Theorem 1. Every answer M has at least O / 2 blocking pairs.
    Proof. Call i of a larger party W if it prefers pred(i) to what it has in M (or has nobody); P
    if it has pred(i); S if it has succ(i); and else B if it prefers succ(i) to what it has, A if
    not. A W prefers succ(i) as well, by (1). By (2) two who are paired in M are neighbors, an S and
    a P, or one of them is W. So A's and B's (and parties of one) that have a partner have a W: in
    all #W >= #A + #B + #(parties of one that have a partner). If s is W and its predecessor p is W,
    B or P, then p and s block M: both prefer each other. p cannot be S, as s would be P. So a party
    of three or more contains at least #W - #A blocking pairs, and none is counted twice. In it S
    and P come in twos, so #W - #A - #B is odd if its size is; hence twice its blocking pairs are at
    least #W - #A - #B, plus 1 if its size is odd. A party of two either is paired, and then has no
    A, B, W, or it blocks if both are W: twice its blocking pairs are at least #W - #A - #B. A party
    of one counts -1 if it has a partner, and has one if all must be paired: -1 + 1 = 0. Add all up:
    twice the blocking pairs are at least 0 + O.

    Theorem 2. Let M have the blocking pairs B, and let D be part of B. If the pairs of D may not
    share, M still is an answer, with the blocking pairs B - D. So by theorem 1, on what is left,
    |B| >= |D| + O / 2. And if O > 0, B - D contains a pair of neighbors of P: otherwise P would be
    stable even if no pair of B may share, and M, which then has no blocking pair, contradicts 1.

    So a tree proves |B| >= least: a node (D, P) is done when |D| + O / 2 reaches it; or else it has
    a child for each pair of neighbors, in some order, which adds that pair to D, while pairs that
    come before it in the order are taken not to be in B. A node is stored as what changes in its
    parent's partition: only for agents with another neighbor, or a deleted one, need (1) and (2) be
    looked at again.
    """

    def __init__(self, given: Colocation, gains: Gains) -> None:
        if any(number != 1 for number in given.count) or (given.alone and not given.left):
            raise Refused("stable partitions are for agents who all differ, and none content alone")
        self.given, self.size, self.penalty = given, given.size, given.penalty
        self.over = [[None if p is None else gains.most(p) for p in row] for row in given.penalty]
        self.worst = gains.most(given.single)

    def bound(self, step: Step) -> Fraction:
        """Lower bound on blocking pairs that the tree of deletions in a proof step proves."""
        self.least = whole(step["least"], "least", 1)
        self._node([-1] * self.size, step["tree"], set(), set(), ())
        return Fraction(self.least)

    def _node(self, after: list[int], node: object, gone: set[int], outside: set[int],
              ends: tuple[int, ...]) -> None:  # fmt: skip
        """Check one node, which deletes the pair `ends` and changes its parent's partition."""
        changes, children = listed(node, "a node", 2)
        flat = wholes(changes, "changes", None, 0, self.size - 1)
        charge(2 * self.size * (len(flat) + len(ends) + 8))
        after, changed = list(after), flat[::2]
        for agent, following in zip(changed, flat[1::2], strict=True):
            after[agent] = following
        odd = self._odd(after, {*changed, *flat[1::2], *ends}, gone)
        if len(gone) + Fraction(odd, 2) > self.least - 1:
            return
        refuse_if(odd == 0, "so many deletions are enough: a node has no odd party")
        left = {self._pair(i, j) for i, j in enumerate(after) if i != j} - outside
        for child in listed(children, "children"):
            first, *rest = listed(child, "a child", 3)
            i = whole(first, "the agent of a child", 0, self.size - 1)
            pair = self._pair(i, after[i])
            refuse_if(pair not in left, "a child deletes what is no pair of neighbors that is left")
            left.remove(pair)
            self._node(after, rest, gone | {pair}, outside, (i, after[i]))
            outside = outside | {pair}
        if left:
            raise Refused(f"a node of the tree lacks {len(left)} children")

    def _pair(self, i: int, j: int) -> int:
        return min(i, j) * self.size + max(i, j)

    def _odd(self, after: list[int], changed: set[int], gone: set[int]) -> int:
        """Number of odd parties of a partition, where `after` has each agent's successor. It is
        refused unless it is stable once the pairs in `gone` are forbidden. Only the agents in
        `changed` are checked: the others are as in the node's parent.
        """
        refuse_if(sorted(after) != list(range(self.size)), "a partition is none")
        before = sorted(range(self.size), key=after.__getitem__)
        before_penalty = [self.penalty[i][j] if i != j else None for i, j in enumerate(before)]
        for i in changed:
            ahead, own = self.penalty[i][after[i]], before_penalty[i]
            if after[i] != i:
                if ahead is None or own is None or self._pair(i, after[i]) in gone:
                    raise Refused(f"agent {i} may not share with its neighbor")
                if after[i] != before[i] and ahead > whole(
                    self.over[i][before[i]], "whom an agent prefers"
                ):
                    raise Refused(f"agent {i} does not fit into its party")
                if self.given.left and own > self.worst:
                    raise Refused(f"agent {i} would as soon be unpaired as be with its predecessor")
            for j, much in enumerate(self.over[i]):  # up to which penalty i prefers another to j
                if much is not None and (own is None or own > much):
                    his, other = before_penalty[j], self.over[j][i]
                    fine = his is not None and other is not None and his <= other
                    if not fine and i not in (after[j], before[j]) and self._pair(i, j) not in gone:
                        raise Refused(f"agents {i} and {j} prefer each other to their predecessors")
        seen, odd = [False] * self.size, 0
        for i in range(self.size):
            length = 0
            while not seen[i]:
                seen[i], i, length = True, after[i], length + 1
            odd += length % 2 if length > 1 or not self.given.left else 0
        return odd


def stable_program(given: Colocation, gains: Gains, few: int = 0) -> tuple[Program, Terms]:
    """Integer program of the pairings with at most `few` blocking pairs, with its cost by column.

    For a c-agent an a-agent leaves the first k of its partners, the one it leaves soonest first.
    Columns besides those of `pairing_program`: for each such k, and c that might come too, s is the
    number of a-agents beside these partners, at most `most`; and z_i = 1 if s >= i, else 0, for
    each i up to few + 1. Rows besides its: each s is the one before it and who is beside the
    partners in between, and who is beside none of them makes it count[a]; for each z_i,
    i z_i <= s <= i - 1 + (most - i + 1) z_i. Types a and c with s and t have s t blocking pairs:
    if i j > few, not both z_i of s and z_j of t are 1; else their number v is at least i t if z_i
    is 1, so v >= i t - i most(t) (1 - z_i), and the same with s and t exchanged. Among the agents
    of a type there are s (s - 1) / 2. All v together are at most `few`.

    Where all agents differ and few = 0, pairs are left out first (Irving 1985): if i gains by c
    whoever else is left to it, and by c from being alone, then c with somebody from whom c gains by
    i is blocked by i and c: either i has c or i and c would both rather. (Of such pairs no rows say
    that they may not block: fewer rows prove nothing that is false.)
    """
    # 1. Pairs that are left out, of agents who all differ.
    size, count, penalty, partners = given.size, given.count, given.penalty, partners_of(given)
    over = [{b: gains.most(whole(penalty[a][b], "")) for b in partners[a]} for a in range(size)]
    agents = all(number == 1 for number in count) and (given.left or not given.alone)
    waiting = list(range(size)) if agents and not few else []
    while waiting:
        i = waiting.pop()
        charge(2 * size)
        best = min(partners[i], key=lambda b: whole(penalty[i][b], ""), default=None)
        if best is None or any(
            whole(penalty[i][best], "") > over[i][b] for b in partners[i] if b != best
        ):
            continue
        if given.left and whole(penalty[i][best], "") > gains.most(given.single):
            continue
        refused = [b for b in partners[best] if whole(penalty[best][i], "") <= over[best][b]]
        for b in refused:
            partners[best].remove(b)
            partners[b].remove(best)
            waiting += [b, best]
    # 2. The partners of each type, the one it leaves soonest first, and how many it leaves.
    program, column, alone, cost = pairing_program(given, partners)
    ranked: list[list[tuple[int, int, int]]] = []  # of each type: column, agents in it, and `over`
    number: list[dict[int, int]] = []  # how many of these an agent leaves for a c-agent
    for a in range(size):
        beside = [(column[a, b], 1 + (a == b), over[a][b]) for b in partners[a]]
        if alone:  # who is content alone gains by nothing
            beside.append((alone[a], 1, gains.most(given.single) if given.left else -(10**999)))
        ranked.append(sorted(beside, key=lambda entry: -entry[2]))
        number.append({})
        charge(20 * len(beside))
        k = 0
        for new, c in sorted([(whole(penalty[a][c], ""), c) for c in partners[a]], reverse=True):
            while k < len(beside) and ranked[a][k][2] >= new:
                k += 1
            number[a][c] = k
    # 3. The columns s and z of each type, and their rows.
    sums: list[dict[int, tuple[int, list[int]]]] = []  # by k: s, and z_1, z_2, ...
    for a in range(size):
        sums.append({})
        start, so_far = 0, Terms()
        for k in sorted({k for c, k in number[a].items() if k and number[c][a]}):
            so_far += [(j, n) for j, n, _ in ranked[a][start:k]]
            most = min(count[a], sum(program.high[j] * n for j, n in so_far))
            s, flags = program.column(most), [program.column(1) for _ in range(min(few + 1, most))]
            program.equal([*so_far, (s, -1)], 0)
            for i, z in enumerate(flags, 1):
                program.at_most([(s, 1), (z, i - 1 - most)], i - 1)
                program.at_most([(z, i), (s, -1)], 0)
            start, so_far, sums[a][k] = k, [(s, 1)], (s, flags)
        if start:
            program.equal(so_far + [(j, n) for j, n, _ in ranked[a][start:]], count[a])
    # 4. The blocking pairs v of every two types.
    pairs: list[int] = []
    both = [(a, c) for a in range(size) for c, k in number[a].items() if k and number[c][a]]
    for a, c in [(one, other) for one, other in both if one <= other]:
        pairs.append(program.column(few))
        (s, mine), (t, theirs), v = sums[a][number[a][c]], sums[c][number[c][a]], pairs[-1]
        if a == c:
            program.at_most([(s, 1)], (1 + math.isqrt(8 * few + 1)) // 2)
            for i, z in enumerate(mine, 1):
                program.at_most([(z, i * (i - 1) // 2), (v, -1)], 0)
            continue
        for flags, other in ((mine, t), (theirs, s)) if few else ():
            for i, z in enumerate(flags, 1):
                most = i * program.high[other]
                program.at_most([(other, i), (z, most), (v, -1)], most)
        for i, z in enumerate(mine, 1):
            if few // i < len(theirs):
                program.at_most([(z, 1), (theirs[few // i], 1)], 1)
    program.at_most([(j, 1) for j in pairs], few)
    return program, cost


def colocation_stable(case: ProofCase) -> list[CheckedLevel]:
    """Check the fewest blocking pairs; then the least mean penalty among such answers."""
    given = Colocation(case)
    gains = Gains(given, case.options)
    if no_pairing(given, case.steps[0]):
        return [CheckedLevel(infeasible=True)]
    levels = [CheckedLevel(gains.blocking(), Fraction(0)), CheckedLevel(given.mean())]
    kinds = {"witness": "", "deletions": "least tree", "propagation": "tree|few leaves cuts"}
    for kind, step in case.each(0, **kinds):
        if kind == "deletions":
            levels[0].at_least(Deletions(given, gains).bound(step))
        if kind == "propagation":  # no pairing has as few blocking pairs
            few = whole(step.get("few", 0), "few", 0, 99)
            stable_program(given, gains, few)[0].impossible(step)
            levels[0].at_least(Fraction(few + 1))
    kinds = {"dual": "over prices rent sets", "propagation": "below tree|leaves cuts"}
    for kind, step in case.each(1, **kinds):
        if levels[0].value is None:
            raise Refused("the second level is about an answer, and there is none")
        if kind == "dual":  # of all pairings, so of these too
            levels[1].at_least(mean_bound(given, step))
            continue
        few = whole(levels[0].value.numerator, "blocking pairs", 0, 99)
        below = whole(step["below"], "below")  # none with so few costs less than so many units
        program, cost = stable_program(given, gains, few)
        program.at_most(cost, below - 1)
        program.impossible(step)
        levels[1].at_least(Fraction(below, given.unit * given.agents))
    return levels[: len(case.steps)]


def by_agent(case: ProofCase, agents: bool) -> list[CheckedLevel]:
    """Check the fewest agents in blocking pairs (`agents`), or the fewest blocking pairs of the
    agent with most; then the least mean penalty.

    The steps of the first level prove that there are k blocking pairs. Among so many agents v there
    are v (v - 1) / 2 pairs; and of n agents one is in 2 k / n or more.
    """
    pairs = colocation_stable(ProofCase(case.document, case.options, case.witness, case.steps[:1]))
    if pairs[0].infeasible or case.witness is None:
        raise Refused("an answer is expected")
    given = Colocation(case)
    value = Gains(given, case.options).counts()[0 if agents else 1]
    least = int(pairs[0].bound or 0)
    few = next(v for v in range(2 * least + 1) if v * (v - 1) // 2 >= least)
    bound = few if agents else -(-2 * least // given.agents)
    levels = [CheckedLevel(value, Fraction(bound)), CheckedLevel(given.mean())]
    for _, step in case.each(1, dual="over prices rent sets"):
        levels[1].at_least(mean_bound(given, step))
    return levels[: len(case.steps)]


def minimum_regret(case: ProofCase) -> list[CheckedLevel]:
    """Check the least maximum penalty of an agent among answers without a blocking pair.

    In an answer without blocking pair whose penalties are all less than this one's worst, w,
    everyone has a partner if being alone is no better than w. It is an answer too, and without
    blocking pair, where pairs may not share in which a penalty is w or more. The step proves that
    there every answer has one.
    """
    given = Colocation(case)
    gains = Gains(given, {})
    levels = [CheckedLevel(gains.blocking(), Fraction(0))]
    if levels[0].value != 0:
        raise Refused("an answer without blocking pairs is expected")
    list(case.each(0, witness=""))
    borne = [old for _, old, _ in given.beside()] + [given.single] * any(given.singles)
    worst = max(borne)
    levels.append(CheckedLevel(Fraction(worst, given.unit)))
    for _, step in case.each(1, deletions="least tree"):
        if given.alone and (not given.left or given.single < worst):
            raise Refused("somebody may be alone at less than the worst penalty")
        short = Colocation(case)
        short.left, short.alone, size = False, 0, range(given.size)
        dear = [[p is None or p >= worst for p in row] for row in given.penalty]
        short.penalty = [
            [None if dear[a][b] or dear[b][a] else given.penalty[a][b] for b in size] for a in size
        ]
        Deletions(short, Gains(short, {})).bound(step)
        levels[1].at_least(Fraction(worst, given.unit))
    return levels[: len(case.steps)]


ALPHA = "alpha alpha_mode"
METHODS: Methods = {
    "stable": (ALPHA, "blocking_pairs min, penalty min", colocation_stable),
    "egalitarian": ("", "blocking_pairs min, penalty min", colocation_stable),
    "stable-agents": (ALPHA, "blocking_agents min, penalty min", lambda c: by_agent(c, True)),
    "stable-minimax": (ALPHA, "most_blocking min, penalty min", lambda c: by_agent(c, False)),
    "minimum-regret": ("", "blocking_pairs min, worst_penalty min", minimum_regret),
}
