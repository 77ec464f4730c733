"""Queue of the user's jobs, run on machines in pairs chosen by the penalties in a store."""
