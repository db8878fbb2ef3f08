"""Differential fuzzing: random affine programs, compiled and compared with the C compiler's."""
