"""Where the package touches the world: the user's own commands, measured alone and together, and
done on machines by what was measured.
"""
