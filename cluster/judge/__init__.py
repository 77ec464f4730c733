"""The default scheduler's filters and scores, and an order of moves in which each step fits."""
