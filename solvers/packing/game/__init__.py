"""The fairness-utilization game of Xu and Yu (2014): strategies, the extensive game, its exact
play, the joint optimum.
"""
