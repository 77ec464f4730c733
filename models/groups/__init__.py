"""Mixed-integer programs of groups, with a column for each kind of group."""
