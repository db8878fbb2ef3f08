"""Which thread runs what, and where data lie: grids, tiles, points of threads, staging, padding, spaces."""
