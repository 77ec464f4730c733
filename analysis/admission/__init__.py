"""What is measured of an assignment of jobs to VMs, and the paper's experiments."""
