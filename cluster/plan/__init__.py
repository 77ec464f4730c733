"""Questions about a state, their translation into packing instances, and bounds on the answers."""
