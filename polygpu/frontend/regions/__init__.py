"""Which loops become a region, and each region as one scop."""
