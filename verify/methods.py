"""Table of the checkers of all methods, by file. Only the files of a proof's problem are loaded."""

from .frame import Methods, ProofFile
from .reading import MOST_WORK, Refused, Unreadable


def methods_of(problem: str) -> Methods:
    """Methods of a problem with their checkers."""
    if problem == "colocation":
        from . import colocation, colocation_fair, colocation_stable

        return colocation.METHODS | colocation_fair.METHODS | colocation_stable.METHODS
    if problem == "packing":
        from . import packing_cards, packing_game, packing_servers, packing_shares

        others = packing_servers.METHODS | packing_shares.METHODS
        return packing_game.METHODS | others | packing_cards.METHODS
    if problem == "accelerators":
        from .accelerators import METHODS
    elif problem == "admission":
        from .admission import METHODS
    elif problem == "game":
        from .cooperative import METHODS
    elif problem == "elastic":
        from .elastic import METHODS
    elif problem == "groups":
        from .groups import METHODS
    elif problem == "lifetimes":
        from .lifetimes import METHODS
    elif problem == "market":
        from .market import METHODS
    elif problem == "numa":
        from .numa import METHODS
    elif problem == "quanta":
        from .quanta import METHODS
    elif problem == "scheduling":
        from .scheduling import METHODS
    else:
        return {}
    return METHODS


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
