"""Layer 4: heuristics of the papers, as plain functions.

Each is `method(instance, *, rng=None, time_limit=None, **options)` and answers with a solution that
passes `check`. What its own docstring leaves out is the same for all:

- `rng` makes what is drawn; `default_rng(0)` when not given. A policy that says nothing of a draw
  is deterministic.
- `time_limit` [seconds] is checked, and not needed by a policy that says nothing of it.
- InvalidOption for an option out of range; NoSolution where no answer exists, or none was found.
"""
