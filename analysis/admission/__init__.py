"""What is measured of an assignment of jobs to VMs, its frontiers, rounds and completion times."""
