"""Analysis of quanta: metrics of the useful slices that users get."""
