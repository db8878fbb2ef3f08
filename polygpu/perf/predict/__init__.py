"""Predicts what the emulator counts, from the kernels' access functions alone."""

from polygpu.perf.predict.calls import predict_calls
from polygpu.perf.predict.region import Predicted, launches, predict
from polygpu.perf.predict.values import Work

__all__ = ["Predicted", "Work", "launches", "predict", "predict_calls"]
