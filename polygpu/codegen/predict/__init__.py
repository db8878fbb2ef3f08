"""Predicts what the emulator counts, from the kernels' access functions alone."""

from polygpu.codegen.predict.calls import predict_calls
from polygpu.codegen.predict.region import Predicted, launches, predict
from polygpu.codegen.predict.values import Work

__all__ = ["Predicted", "Work", "launches", "predict", "predict_calls"]
