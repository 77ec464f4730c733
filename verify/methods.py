"""Table of the checkers of all methods, by file. Only the files of a proof's problem are loaded."""

from importlib import import_module

from .frame import Methods, ProofFile
from .reading import MOST_WORK, Refused, Unreadable

FILES = {
    "accelerators": "accelerators",
    "admission": "admission",
    "colocation": "colocation colocation_fair colocation_stable",
    "elastic": "elastic",
    "game": "cooperative",
    "groups": "groups",
    "lifetimes": "lifetimes",
    "market": "market",
    "numa": "numa",
    "packing": "packing_game packing_servers packing_shares packing_cards",
    "quanta": "quanta",
    "scheduling": "scheduling",
}
"""Files with the checkers of each problem."""


def methods_of(problem: str) -> Methods:
    """Methods of a problem with their checkers; none for an unknown problem."""
    methods: Methods = {}
    for file in FILES.get(problem, "").split():
        methods |= import_module(f"{__package__}.{file}").METHODS
    return methods


def verify(instance: bytes, proof: bytes, most_work: int = MOST_WORK) -> str:
    """Sentence on what a proof proves of an instance; raises Refused or Unreadable."""
    try:
        file = ProofFile(instance, proof)
        return file.judge(methods_of(file.problem), most_work)
    except (Refused, Unreadable):
        raise
    except Exception as error:  # whatever a checker stumbles over in a malformed file
        what = f"malformed ({type(error).__name__}: {str(error)[:100]!a})"
    raise Refused(what)  # here, where what filled memory or stack is gone
