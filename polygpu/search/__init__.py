"""Choosing among decisions by the price of the kernels that they make."""
