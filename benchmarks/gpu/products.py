"""Products of matrices on a real GPU, beside the vendor's: A*B, A^T*B and A*B^T at several sizes.

python benchmarks/gpu/products.py generate OUT [--sizes 4096,4095] [--flags=-O1]
python benchmarks/gpu/products.py run OUT [--arch sm_90] [--json products.json]

`generate` needs polygpu; what it leaves in OUT is all that `run` needs on the machine with the GPU, beside
nvcc, gcc and Python, with PyTorch for the vendor's times. A time is the least of several launches in one
process, without copies, of the kernels of a product. `run` exits with 1 where a product is below its goal:
the part of the vendor's rate in `GOALS`, or, of doubles, of the peak of what is no tensor core.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import programs
from polygpu.runtime.profile import read_profile

FORMS = {"nn": ("A[i][k]", "B[k][j]"), "tn": ("A[k][i]", "B[k][j]"), "nt": ("A[i][k]", "B[j][k]")}
SIZES = (1000, 2000, 4000, 4095, 4096, 4097)
GOALS = {1000: 0.83, 4095: 0.9, 4097: 0.9}  # of the vendor's rate
GOAL_OF_FORM = {"nn": 0.98, "tn": 0.98, "nt": 0.94}  # from 4000 upwards
DOUBLE, PEAK = 4096, 0.9  # of the rate of fused multiply-adds that are not those of tensor cores
DOUBLES = 64 * 2  # operations a cycle of a multiprocessor of an H100 (NVIDIA H100 white paper, table 2)
CALLS = 8
SOURCE = """
#include <stdio.h>
#include <stdlib.h>

static {type} A[N][N], B[N][N], C[N][N];

static void product(void)
{{
#pragma scop
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {{
            C[i][j] = 0;
            for (int k = 0; k < N; k++)
                C[i][j] += {left} * {right};
        }}
#pragma endscop
}}

int main(void)
{{
    for (int i = 0; i < N; i++)
        for (int j = 0; j < N; j++) {{
            A[i][j] = (i * 7 + j * 3) % 16 * 0.125;
            B[i][j] = (i * 5 + j * 11) % 32 * 0.0625 - 1;
        }}
    double wrong = 0;
    for (int call = 0; call < {calls}; call++)
        product();
    for (int at = 0; at < 64; at++) {{ /* these terms and sums have few bits: any order gives the same */
        int i = (at * 977) % N, j = (at * 1489) % N;
        double sum = 0;
        for (int k = 0; k < N; k++)
            sum += (double){left} * {right};
        wrong += sum < C[i][j] ? C[i][j] - sum : sum - C[i][j];
    }}
    printf("%g\\n", wrong);
    return wrong != 0;
}}
"""
VENDOR = """
import json, sys
import torch
torch.backends.cuda.matmul.allow_tf32 = False
found = {}
for form, n, kind in json.loads(sys.argv[1]):
    a, b = (torch.rand(n, n, device="cuda", dtype=getattr(torch, kind)) for _ in range(2))
    a, b = a.T if form == "tn" else a, b.T if form == "nt" else b
    times = []
    for _ in range(10):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record(); a @ b; end.record(); torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    found[f"{form}_{n}_{kind}"] = min(times)
properties = torch.cuda.get_device_properties(0)
found["multiprocessors"] = properties.multi_processor_count
print(json.dumps(found))
"""


@dataclass(frozen=True)
class Product:
    """Of matrices of `n` rows and columns of a C `type`."""

    form: str
    n: int
    type: str = "float"

    @property
    def name(self) -> str:
        return f"{self.form}_{self.n}_{self.kind}"

    @property
    def kind(self) -> str:
        return {"float": "float32", "double": "float64"}[self.type]

    @property
    def goal(self) -> float | None:
        """The part of the vendor's rate that is wanted."""
        if self.type == "double" or (self.n < 4000 and self.n not in GOALS):
            return None
        return GOALS.get(self.n, GOAL_OF_FORM[self.form])

    def rate(self, milliseconds: float) -> float:
        """TFLOP/s."""
        return 2 * self.n**3 / milliseconds / 1e9


@dataclass(frozen=True)
class Found:
    """Milliseconds of a product and of the vendor's, nan where that is not known."""

    name: str
    milliseconds: float
    vendor: float
    why: str = ""


def products(sizes: tuple[int, ...]) -> Iterator[Product]:
    yield from (Product(form, n) for form in FORMS for n in sizes)
    yield Product("nn", DOUBLE, "double")


def generate(out: Path, sizes: tuple[int, ...], flags: list[str]) -> int:
    """Writes each product's files into a directory of `out`; the number of those that could not be."""
    out.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(2) as pool:
        return sum(pool.map(lambda p: _generated(p, out, flags), products(sizes)))


def _generated(p: Product, out: Path, flags: list[str]) -> bool:
    place = out / p.name
    place.mkdir(exist_ok=True)
    left, right = FORMS[p.form]
    source = place / "product.c"
    source.write_text(SOURCE.format(type=p.type, left=left, right=right, calls=CALLS))
    command = (sys.executable, "-m", "polygpu", "compile", source, f"-DN={p.n}", "--device", "h100")
    try:
        programs.call((*command, *flags, "-o", f"{place}/"), timeout=300, PYTHONPATH=str(programs.ROOT))
    except programs.ProgramError as problem:
        print(f"{p.name}: {problem}", flush=True)
        return True
    return False


def _built(p: Product, out: Path, arch: str) -> Path:
    place = out / p.name
    host, device, program = place / "host.o", place / "device.o", place / "program"
    programs.call(("gcc", "-O2", f"-DN={p.n}", "-w", "-c", place / "product_host.c", "-o", host))
    programs.compile_cuda(place / "product_cuda.cu", device, arch)
    programs.call((*programs.nvcc(), f"-arch={arch}", host, device, "-lm", "-o", program))
    return program


def _timed(p: Product, program: Path) -> float:
    """Milliseconds. Raises ProgramError where the product is wrong, too."""
    place = program.with_suffix(".json")
    programs.call((program,), timeout=300, POLYGPU_PROFILE=str(place), CUDA_MODULE_LOADING="EAGER")
    regions = read_profile(place)["regions"]
    return sum(k["ms_min"] * k["launches"] for r in regions for k in r["kernels"]) / CALLS


def run(out: Path, arch: str, to: Path | None) -> int:
    """Builds side by side, times one after another; whether a product is below its goal."""
    chosen = [_named(name) for name in sorted(d.name for d in out.iterdir() if d.is_dir())]
    wanted = json.dumps([(p.form, p.n, p.kind) for p in chosen])
    done = subprocess.run((sys.executable, "-c", VENDOR, wanted), capture_output=True, text=True, check=False)
    vendor = json.loads(done.stdout) if done.returncode == 0 else {}
    found: list[Found] = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        built = {p: pool.submit(_built, p, out, arch) for p in chosen}
    for p, program in built.items():
        try:
            found.append(Found(p.name, _timed(p, program.result()), vendor.get(p.name, float("nan"))))
        except programs.ProgramError as problem:
            found.append(Found(p.name, float("nan"), vendor.get(p.name, float("nan")), str(problem)[:200]))
        if to:
            to.write_text(json.dumps([asdict(f) for f in found], indent=1))
    peak = vendor.get("multiprocessors", 0) * DOUBLES * _clock() / 1e12  # TFLOP/s
    behind = [_behind(p, f, peak) for p, f in zip(chosen, found, strict=True)]
    return int(any(behind))


def _behind(p: Product, f: Found, peak: float) -> bool:
    """Says what a product takes; whether that is below its goal."""
    rate = p.rate(f.milliseconds)
    part, of = (rate / peak if peak else float("nan"), "peak") if p.type == "double" else (
        f.vendor / f.milliseconds, "vendor"
    )  # fmt: skip
    goal = PEAK if p.type == "double" else p.goal
    said = f"{f.milliseconds:8.3f} ms {rate:6.1f} TFLOP/s  {part:6.1%} of {of}'s"
    print(f"{p.name:18} {said}{'' if goal is None else f' (goal {goal:.0%})'} {f.why}", flush=True)
    return goal is not None and not part >= goal


def _clock() -> float:
    """Cycles a second at most, by the driver's tool; 0 where it is not there."""
    query = ("nvidia-smi", "--query-gpu=clocks.max.sm", "--format=csv,noheader,nounits")
    done = subprocess.run(query, capture_output=True, text=True, check=False)
    return float(done.stdout.split()[0]) * 1e6 if done.returncode == 0 and done.stdout.strip() else 0.0


def _named(name: str) -> Product:
    form, n, kind = name.split("_")
    return Product(form, int(n), {"float32": "float", "float64": "double"}[kind])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("generate", "run"))
    parser.add_argument("out", type=Path)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--flags", default="", help="of polygpu compile")
    parser.add_argument("--arch", default="sm_90")
    parser.add_argument("--json", type=Path)
    chosen = parser.parse_args()
    if chosen.step == "run":
        return run(chosen.out, chosen.arch, chosen.json)
    return generate(chosen.out, tuple(map(int, chosen.sizes.split(","))), chosen.flags.split())


if __name__ == "__main__":
    sys.exit(main())
