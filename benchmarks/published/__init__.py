"""Published measurements of the modelled devices, beside what the model says of the same kernels.

python -m benchmarks.published [MEASUREMENTS.toml] [--bindings FILE.toml] [--plot FILE.svg] [--perturb N]
"""
