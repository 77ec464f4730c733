"""What is measured of VMs on servers over time: how long servers are on, and how many at once."""
