"""How fast the emulator runs: lane accesses a second on a tiled matrix product, built with gcc.

    python benchmarks/emulator_speed.py [--size 512] [--device 8800gtx] [--cc gcc] [--keep DIR]

A lane access is one lane's load or store of global or shared memory; "with registers" adds the private
arrays' (two a multiply-add), as a count by an interpreter would.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

from polygpu.devices import load
from polygpu.model.expr import Binary, Cast, Expr, Int, Literal, Name, Reference
from polygpu.model.kernel import (
    ArrayArgument,
    Assign,
    Barrier,
    Buffer,
    DeclareArray,
    For,
    Kernel,
    Launch,
    Move,
    Region,
    ScalarArgument,
    SharedArray,
    Statement,
    Unit,
)
from polygpu.printing.emulator.program import print_emulator

N = Name("n")


def plus(*terms: Expr) -> Expr:
    total = terms[0]
    for term in terms[1:]:
        total = Binary("+", total, term)
    return total


def times(left: Expr, right: Expr) -> Expr:
    return Binary("*", left, right)


def element(array: str, *subscripts: Expr) -> Reference:
    return Reference(array, subscripts, "float")


def loop(index: str, upper: Expr, *body: Statement, step: int = 1, unroll: bool = True) -> For:
    return For(index, Int(0), upper, step, body, uniform=True, unroll=unroll)


def product(tile: tuple[int, int, int], block: tuple[int, int]) -> Kernel:
    """`C = A * B` for sizes that the tile (rows, columns, depth) divides, dealt to threads cyclically."""
    rows, columns, depth = tile
    x, y = block
    tx, ty, i, j, k = (Name(name) for name in ("thread_x", "thread_y", "i", "j", "k"))
    row, column = (times(Name(f"block_{d}"), Int(size)) for d, size in (("y", rows), ("x", columns)))
    mine_i, mine_j = plus(ty, times(i, Int(y))), plus(tx, times(j, Int(x)))
    acc = element("acc", i, j)
    zero = loop("i", Int(rows // y), loop("j", Int(columns // x), Assign(acc, Literal("0.0f", "float"))))
    stage_a = loop(
        "i", Int(rows // y),
        loop("j", Int(depth // x),
             Move(element("tile_A", mine_i, mine_j),
                  element("A", plus(row, mine_i), plus(Name("step"), mine_j)), 1)),
    )  # fmt: skip
    stage_b = loop(
        "i", Int(depth // y),
        loop("j", Int(columns // x),
             Move(element("tile_B", mine_i, mine_j),
                  element("B", plus(Name("step"), mine_i), plus(column, mine_j)), 1)),
    )  # fmt: skip
    multiply = loop(
        "k", Int(depth),
        loop("i", Int(rows // y), Assign(element("a", i), element("tile_A", mine_i, k))),
        loop("j", Int(columns // x), Assign(element("b", j), element("tile_B", k, mine_j))),
        loop("i", Int(rows // y),
             loop("j", Int(columns // x),
                  Assign(acc, plus(acc, times(element("a", i), element("b", j)))))),
        unroll=False,
    )  # fmt: skip
    store = loop(
        "i", Int(rows // y),
        loop("j", Int(columns // x),
             Assign(element("C", plus(row, mine_i), plus(column, mine_j)), acc)),
    )  # fmt: skip
    return Kernel(
        "product",
        (f"C = A * B in tiles of {rows} x {columns} x {depth}",),
        (ScalarArgument("n", "int"), ScalarArgument("pitch", "int")),
        tuple(
            ArrayArgument(name, "float", (None, N), Name("pitch"), read=name != "C", written=name == "C")
            for name in "ABC"
        ),
        (x, y, 1),
        (SharedArray("tile_A", "float", (rows, depth), 1), SharedArray("tile_B", "float", (depth, columns))),
        (
            DeclareArray("acc", "float", (rows // y, columns // x)),
            DeclareArray("a", "float", (rows // y,)),
            DeclareArray("b", "float", (columns // x,)),
            zero,
            loop("step", N, stage_a, stage_b, Barrier(), multiply, Barrier(), step=depth, unroll=False),
            store,
        ),
    )


def unit(tile: tuple[int, int, int], block: tuple[int, int]) -> Unit:
    """A unit whose region is `void polygpu_mm_1(int n, float *A, float *B, float *C)`."""
    pitch = times(Binary("/", plus(N, Int(31)), Int(32)), Int(32))
    size = Cast("long long", N)
    buffers = tuple(
        Buffer(name, "float", (size, size), (N, N), (Int(0), Int(0)), pitch, True, name != "C", name == "C")
        for name in "ABC"
    )
    grid = (Binary("/", N, Int(tile[1])), Binary("/", N, Int(tile[0])), Int(1))
    region = Region(
        "polygpu_mm_1",
        (ScalarArgument("n", "int"),),
        buffers,
        (product(tile, block),),
        (Launch("product", grid, (N, pitch)),),
        (),
    )
    return Unit("mm.c", "mm", (region,))


MAIN = """
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
void polygpu_mm_1(int n, float *A, float *B, float *C);
int main(int argc, char **argv)
{
    const int n = atoi(argv[1]);
    float *A = malloc(sizeof *A * n * n), *B = malloc(sizeof *B * n * n), *C = malloc(sizeof *C * n * n);
    for (int i = 0; i < n * n; i++) {
        A[i] = (i * 7 % 101) / 50.f;
        B[i] = (i * 13 % 103) / 50.f;
    }
    double best = 1e9;
    for (int i = 0; i < 5; i++) {
        struct timespec start, end;
        timespec_get(&start, TIME_UTC);
        polygpu_mm_1(n, A, B, C);
        timespec_get(&end, TIME_UTC);
        const double t = end.tv_sec - start.tv_sec + 1e-9 * (end.tv_nsec - start.tv_nsec);
        best = t < best ? t : best;
    }
    int wrong = 0;
    for (int i = 0; i < n; i += n / 8)
        for (int j = 0; j < n; j++) {
            float sum = 0;
            for (int k = 0; k < n; k++) {
                const float term = A[i * n + k] * B[k * n + j];
                sum += term;
            }
            wrong += sum != C[i * n + j];
        }
    printf("%.6f %d\\n", best, wrong);
    return argc < 2;
}
"""
FLAGS = ("-std=gnu11", "-O2", "-march=native", "-ffp-contract=off", "-fopenmp", "-Wall", "-Wextra", "-Werror")


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    for tile, block in (((32, 32, 16), (16, 16)), ((64, 64, 16), (16, 16)), ((64, 64, 32), (32, 8))):
        (folder / "emulator.c").write_text(print_emulator(unit(tile, block), load(arguments.device)))
        (folder / "main.c").write_text(MAIN)
        for counters in (1, 0):
            program = folder / f"mm{counters}"
            command = [arguments.cc, *FLAGS, f"-DPOLYGPU_COUNTERS={counters}", "emulator.c", "main.c"]
            subprocess.run([*command, "-o", program, "-lm"], check=True, cwd=folder)
            profile = folder / "profile.json"
            run = subprocess.run(
                [program, str(arguments.size)],
                env={**os.environ, "POLYGPU_PROFILE": str(profile)},
                check=True,
                capture_output=True,
                text=True,
            )
            seconds, wrong = run.stdout.split()
            if counters:
                totals = json.loads(profile.read_text())["regions"][0]["kernels"][0]["counters"]
                accesses = totals["lane_accesses"] // 5
            everything = accesses + 2 * arguments.size**3
            print(
                f"tile {tile} block {block} counters {'on' if counters else 'off'}: {float(seconds):.3f} s, "
                f"{accesses / float(seconds) / 1e6:.0f} M lane accesses/s "
                f"({everything / float(seconds) / 1e6:.0f} with registers), {wrong} wrong"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=512)
    parser.add_argument("--device", default="8800gtx")
    parser.add_argument("--cc", default="gcc")
    parser.add_argument("--keep", type=Path, help="a folder for the generated files")
    arguments = parser.parse_args()
    if arguments.keep:
        arguments.keep.mkdir(parents=True, exist_ok=True)
        measure(arguments, arguments.keep)
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure(arguments, Path(folder))


if __name__ == "__main__":
    main()
