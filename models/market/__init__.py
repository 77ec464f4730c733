"""What is optimal on a market, as programs."""
