"""Analysis of lifetimes: metrics of server-time and of servers at the peak, and pictures."""
