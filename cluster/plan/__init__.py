"""Questions about a cluster state, their translation into packing instances, and bounds on the
answers.
"""
