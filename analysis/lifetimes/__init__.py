"""Lifetimes: server-time and number of servers at the peak."""
