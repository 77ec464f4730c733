"""Groups, as programs over kinds of groups."""
