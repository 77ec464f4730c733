"""Colocation over types: which pairs of types share a processor, and how often, as linear programs.

x[a, b] for allowed types a <= b counts the processors that hold an a-b pair, single[a] the a-jobs
without a co-runner:

    sum over b of x[a, b] (1 + [a = b]) + single[a] = count[a],      sum over a of single[a] <=
    singles allowed.

The size depends on the number of types, not of agents. The programs are built as sparse matrices
for the solvers; `readable` states the same in Pyomo, and tests hold both to the same optimum.
"""

from .assignment import PairingProgram, penalty_program, repair_program
from .by_agent import AgentObjective, agent_program, agent_terms
from .fair import FINE, FairProgram, Surroundings, fair_program
from .gain_sets import UNPAIRED, GainSets, gain_sets
from .order import order_program, order_terms
from .stable import blocking_program, stable_program

__all__ = [
    "FINE",
    "UNPAIRED",
    "AgentObjective",
    "FairProgram",
    "GainSets",
    "PairingProgram",
    "Surroundings",
    "agent_program",
    "agent_terms",
    "blocking_program",
    "fair_program",
    "gain_sets",
    "order_program",
    "order_terms",
    "penalty_program",
    "repair_program",
    "stable_program",
]
