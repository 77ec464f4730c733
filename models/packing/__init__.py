"""Packing programs: assignment, columns, arc-flow, the joint optimum of the game, shares of fixed
servers.
"""
