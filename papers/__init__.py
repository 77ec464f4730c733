"""The papers' tables and figures, computed again: `registry` has every one of them."""
