"""Predicts what the emulator counts, from the kernels' access functions alone."""

from polygpu.perf.predict.region import Predicted, predict, predict_calls
from polygpu.perf.predict.values import Work

__all__ = ["Predicted", "Work", "predict", "predict_calls"]
