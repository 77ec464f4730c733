"""The papers' tables and figures, each a function named in `registry`, redone."""
