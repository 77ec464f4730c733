"""Xu and Yu, A Game Theory Approach to Fair and Efficient Resource Allocation in Cloud Computing
(2014).
"""
