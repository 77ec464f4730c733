"""Analysis of elastic jobs: metrics of answers, and a simulation over rounds."""
