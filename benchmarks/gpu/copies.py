"""What a call of a region takes on a real GPU whose arrays come and go each time, against copies and kernels.

python benchmarks/gpu/copies.py generate OUT [--device h100]
python benchmarks/gpu/copies.py run OUT [--arch sm_90] [--chunks 0,1,2,4,8,16] [--sizes 4,64,512] [--calls 20]

`generate` needs polygpu, and leaves in OUT all that `run` needs on the machine with the GPU: nvcc, gcc and
Python's standard library. Chunks are the MiB of the pinned buffers, 0 for none, sizes those of an array.
`run` prints a line for each of them, and ends with 1 where a call, from the second on, takes more than 1.15
times what cudaMemcpy takes for the same pageable memory and the kernels on the device, with the buffers that
files have.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

LIMIT = 1.15
OWN = 4  # MiB of the buffers where nothing is defined
KERNELS = """\
void flat(int n, const float *restrict x, float *restrict y)
{
    for (int i = 0; i < n * n; i++)
        y[i] = 2 * x[i] + y[i];
}
void rows(int n, const float *restrict x, float *restrict y)
{
    for (int i = 1; i < n - 1; i++)
        for (int j = 1; j < n - 1; j++)
            y[i * n + j] = 0.25f * (x[(i - 1) * n + j] + x[(i + 1) * n + j] + x[i * n + j - 1]);
}
"""
MAIN = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
void flat(int n, const float *x, float *y);
void rows(int n, const float *x, float *y);
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}
int main(int argc, char **argv)
{
    const int n = atoi(argv[2]), calls = atoi(argv[3]);
    float *x = malloc(4L * n * n), *y = malloc(4L * n * n);
    double sum = 0;
    for (long i = 0; i < (long)n * n; i++)
        x[i] = y[i] = i % 17;
    for (int call = 0; call < calls; call++) {
        const double start = now();
        (strcmp(argv[1], "flat") ? rows : flat)(n, x, y);
        printf("%.6f\\n", now() - start);
    }
    for (long i = 0; i < (long)n * n; i++)
        sum += y[i] * (i % 13);
    printf("%.17g\\n", sum);
    return argc < 4;
}
"""
PLAIN = """\
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <time.h>
static double now()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e3 + t.tv_nsec * 1e-6;
}
int main(int, char **argv)
{
    const size_t bytes = 4 * atol(argv[2]) * atol(argv[2]);
    char *x = (char *)malloc(bytes), *y = (char *)malloc(bytes);
    char *there, *other;
    for (size_t i = 0; i < bytes; i++)
        x[i] = y[i] = (char)i;
    if (cudaMalloc((void **)&there, bytes) || cudaMalloc((void **)&other, bytes))
        return 1;
    for (int call = 0; call < atoi(argv[3]); call++) {
        const double start = now();
        cudaMemcpy(there, x, bytes, cudaMemcpyHostToDevice);
        cudaMemcpy(other, y, bytes, cudaMemcpyHostToDevice);
        cudaMemcpy(y, other, bytes, cudaMemcpyDeviceToHost);
        printf("%.6f\\n", now() - start);
    }
    return 0;
}
"""


def generate(out: Path, device: str | None) -> None:
    from polygpu import compile  # noqa: A004, PLC0415 - the machine with the GPU need not have it

    out.mkdir(parents=True, exist_ok=True)
    (out / "kernels.c").write_text(KERNELS)
    (out / "main.c").write_text(MAIN)
    (out / "plain.cu").write_text(PLAIN)
    made = compile(out / "kernels.c", target="cuda", offload="always", device=device)
    for suffix, text in made.files.items():
        (out / f"kernels{suffix}").write_text(text)


def call(*command: str | Path, **environment: str) -> list[str]:
    """The lines that a command prints."""
    words = [str(word) for word in command]
    done = subprocess.run(
        words, capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    if done.returncode:
        raise SystemExit(f"{' '.join(words)}: {done.stderr[-2000:]}")
    return done.stdout.splitlines()


def build(out: Path, chunk: int, nvcc: tuple[str, ...]) -> Path:
    program = out / f"chunk{chunk}"
    kernels, host = out / f"kernels{chunk}.o", out / "host.o"
    call(*nvcc, f"-DPOLYGPU_CHUNK={chunk << 20}", "-c", out / "kernels_cuda.cu", "-o", kernels)
    call("gcc", "-O2", "-c", out / "kernels_host.c", "-o", host)
    call("gcc", "-O2", "-c", out / "main.c", "-o", out / "main.o")
    call(*nvcc, out / "main.o", host, kernels, "-o", program)
    return program


def median(times: list[str]) -> float:
    """Of all calls but the first, in milliseconds."""
    return statistics.median(map(float, times[1:]))


def kernel_ms(program: Path, name: str, n: int, calls: int) -> float:
    """Of a call, with a profile, which waits for each kernel."""
    document = program.with_suffix(".json")
    call(program, name, str(n), str(calls), POLYGPU_PROFILE=str(document))
    regions = json.loads(document.read_text())["regions"]
    return sum(float(k["ms"]) for r in regions for k in r["kernels"]) / calls


def run(out: Path, chosen: argparse.Namespace) -> int:
    nvcc = (os.environ.get("NVCC", "nvcc"), "-O2", f"-arch={chosen.arch}", "-fmad=false")
    call(*nvcc, out / "plain.cu", "-o", out / "plain")
    failed = 0
    print("region  MiB   chunk  first call  call       copies     kernels    call : copies + kernels")
    for chunk in (int(text) for text in chosen.chunks.split(",")):
        program = build(out, chunk, nvcc)
        for name in ("flat", "rows"):
            for size in (int(text) for text in chosen.sizes.split(",")):
                n = int((size * 2**18) ** 0.5)
                *times, total = call(program, name, str(n), str(chosen.calls))
                copies = median(call(out / "plain", name, str(n), str(chosen.calls)))
                kernels = kernel_ms(program, name, n, chosen.calls)
                ratio = median(times) / (copies + kernels)
                failed |= chunk == OWN and ratio > LIMIT
                shown = "".join(f"{ms:8.3f} ms" for ms in (float(times[0]), median(times), copies, kernels))
                print(f"{name:6}  {size:4}  {chunk:5} {shown}  {ratio:.3f}  (sum {total})", flush=True)
    return int(failed)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    making, running = commands.add_parser("generate"), commands.add_parser("run")
    for command in (making, running):
        command.add_argument("out", type=Path)
    making.add_argument("--device", default="h100")
    running.add_argument("--arch", default="sm_90")
    running.add_argument("--chunks", default="0,1,2,4,8,16")
    running.add_argument("--sizes", default="4,64,512")
    running.add_argument("--calls", type=int, default=20)
    chosen = parser.parse_args()
    if chosen.command == "run":
        return run(chosen.out, chosen)
    generate(chosen.out, chosen.device)
    return 0


if __name__ == "__main__":
    sys.exit(main())
