"""A queue of the user's commands, done on machines by what a store knows of their types."""
