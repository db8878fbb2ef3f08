"""Kernel IR and host programs as C text: CUDA, OpenCL, the emulator."""
