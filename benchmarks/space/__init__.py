"""Two spaces of the optimization study of Ryoo et al., modelled: `python -m benchmarks.space`."""
