"""What is measured of slices over time: how many are of use, and how evenly they fall."""
