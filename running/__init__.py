"""Where the package touches the world: the user's own commands, measured alone and together (`lab`)
and done on machines by what was measured (`batch`, which imports `lab` and never the other way).
"""
