"""Emulator programs: C that runs kernels warp by warp and counts what a chip would do."""
