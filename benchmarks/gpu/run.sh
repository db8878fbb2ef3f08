#!/bin/bash
# Builds, checks, sanitizes and times the generated CUDA programs of build/gpu/ on this machine's GPU.
# Needs nvcc, gcc and python3, nothing of the compiler. Results: $OUT/gpu.json, or build/gpu/results/gpu.json.
#
#     python benchmarks/gpu/generate.py && benchmarks/gpu/run.sh [--only check,sanitize,time] [--kernels mm,lu]
set -eu
cd "$(dirname "$0")/../.."
exec env PYTHONUNBUFFERED=1 python3 benchmarks/gpu/measure.py "$@"
