"""Who is owed what on a cluster by the logs of its scheduler, and what would change it."""
