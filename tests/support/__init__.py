"""What several test modules share: cases, machines on paper, and oracles."""
