"""Predicts what the emulator counts, from the kernels' access functions alone."""

from polygpu.codegen.predict.region import Predicted, launches, predict

__all__ = ["Predicted", "launches", "predict"]
