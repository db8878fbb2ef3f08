"""Predicts what the emulator counts, from the kernels' access functions alone."""

import os

# numpy starts the threads of a library for products of floats, which there are none of here, in a quarter of
# the time that it takes to import it. Programs that are run later shall find what they would have found.
_THREADS = "OPENBLAS_NUM_THREADS"
_asked = os.environ.get(_THREADS)
os.environ[_THREADS] = "1"

from polygpu.perf.predict.region import Predicted, predict, predict_calls  # noqa: E402
from polygpu.perf.predict.values import Work  # noqa: E402

if _asked is None:
    del os.environ[_THREADS]
else:
    os.environ[_THREADS] = _asked

__all__ = ["Predicted", "Work", "predict", "predict_calls"]
