"""Layer 4: the heuristics and rival policies of the papers, as plain functions."""
