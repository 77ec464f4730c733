"""How commands exit."""

DONE, NO_ANSWER, BAD_INPUT = 0, 1, 2
"""Done; no solution, a check that fails or a method that failed; bad input or usage."""

INTERRUPTED = 130
"""After Ctrl-C; after SIGTERM it is 143."""
