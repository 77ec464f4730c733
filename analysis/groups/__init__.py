"""Groups: metrics, the price of stability, pictures, and residuals of the models."""
