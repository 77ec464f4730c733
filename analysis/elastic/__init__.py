"""What is measured of elastic jobs: utilities, jobs without devices, devices in use."""
