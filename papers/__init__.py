"""Tables and figures of the papers, computed again; `registry` lists all experiments."""
