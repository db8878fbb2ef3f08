"""PolyBench/C at the sizes of `table.toml` on a real GPU: each program's time against its goal and PPCG's.

python benchmarks/gpu/table.py generate POLYBENCH OUT [--only lu,gemm] [--less 1] [--flags=--reassociate]
python benchmarks/gpu/table.py run OUT [--arch sm_90] [--repeat 3] [--limit 60] [--json table.json]
       [--sanitize memcheck,racecheck,synccheck] [--untimed] [--unchecked]
python benchmarks/gpu/table.py show table.json [--plot table.svg]

`generate` needs polygpu and a checkout of PolyBench/C 4.2.1; `--less 1` makes all extents one less, which no
tile divides, `--run-time` takes the programs of benchmarks/kernels, whose sizes are arguments. What it leaves
in OUT is all that `run` needs on the machine with the GPU, beside nvcc, gcc and Python; with PyTorch there,
`run` measures the bandwidth of copies and the vendor's product, too.

Each program is also generated for the sizes `check` of its row. `run` builds that without fused multiply-add
and compares what it prints with what the original prints, built by gcc: a hash of the bits of all numbers
(`sums.h`). `--sanitize` runs it under compute-sanitizer, with each of the tools. `run` exits with 1 where a
program prints anything else or a tool finds something, `show` where a row is beyond 1.5 times its goal, too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from benchmarks import programs

HERE = Path(__file__).resolve().parent
ROWS: dict[str, dict[str, Any]] = tomllib.loads((HERE / "table.toml").read_text())
WRAPPED = (
    "cudaLaunchKernel",
    "__cudaLaunchKernel",
    "cudaLaunchCooperativeKernel",
    "cudaMemcpy",
    "cudaMemcpyAsync",
    "cudaMemcpy2D",
    "cudaMemcpy2DAsync",
)
CAP, STOPPED = 50, 15_000  # of a ratio; milliseconds of programs that PPCG's output did not end in
# What makes a matrix positive definite in time of n^3 on the host, as a dominant diagonal does at once.
BODY = re.compile(r"^(static void kernel_\w+\([^{]*\)\n\{\n)(.*?)^\}", re.DOTALL | re.MULTILINE)
DOMINANT = re.compile(r"/\* Make the matrix positive semi-definite.*?POLYBENCH_FREE_ARRAY\(B\);", re.DOTALL)
REFERENCE = """
import torch
torch.backends.cuda.matmul.allow_tf32 = False
def best(call):
    times = []
    for _ in range(8):
        a, b = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        a.record(); call(); b.record(); torch.cuda.synchronize()
        times.append(a.elapsed_time(b))
    return min(times)
x = torch.rand(1 << 28, device="cuda"); y = torch.empty_like(x)
print("copy", 8 * x.numel() / best(lambda: y.copy_(x)) / 1e6)
a, b = (torch.rand(4096, 4096, device="cuda") for _ in range(2))
print("product", best(lambda: a @ b))
"""


@dataclass(frozen=True)
class Row:
    """A program's time; `milliseconds` is None where it failed, and `why` says how.

    `found` is what its check found: "same" where it prints what the original prints, else what is wrong.
    """

    name: str
    milliseconds: float | None
    launches: int
    why: str
    found: str = ""

    @property
    def goal(self) -> float:
        return float(ROWS[self.name]["goal"])

    @property
    def ratio(self) -> float:
        """How many times faster than PPCG's, at most CAP; nan where that has no figure."""
        ppcg = float(ROWS[self.name]["ppcg"])
        if ppcg == math.inf:
            return math.nan
        return min(ppcg / (STOPPED if self.milliseconds is None else self.milliseconds), CAP)


def generate(root: Path, out: Path, chosen: argparse.Namespace) -> int:
    """Writes each program's files into a directory of `out`; the number of those that could not be."""
    listed = (root / "utilities" / "benchmark_list").read_text().split()
    sources = {Path(name).stem: root / name for name in listed}
    names = list(ROWS) if chosen.only == "all" else chosen.only.split(",")
    out.mkdir(parents=True, exist_ok=True)
    for name in ("polybench.c", "polybench.h"):
        shutil.copy(root / "utilities" / name, out)
    for name in ("clock.c", "sums.h"):
        shutil.copy(HERE / name, out)
    with ThreadPoolExecutor(chosen.jobs) as pool:
        problems = list(pool.map(lambda n: _generated(n, sources[n], out, chosen), names))
    return sum(map(bool, problems))


def _generated(name: str, source: Path, out: Path, chosen: argparse.Namespace) -> str:
    directory = out / name
    shutil.rmtree(directory, ignore_errors=True)
    sizes = {k: v - chosen.less * (k not in ("TSTEPS", "TMAX")) for k, v in ROWS[name]["sizes"].items()}
    try:
        if chosen.run_time:
            _generate_run_time(name, sizes, directory, chosen)
        else:
            _generate_constant(name, source, sizes, directory, chosen)
            _generate_constant(name, source, ROWS[name]["check"], directory / "check", chosen)
    except programs.ProgramError as problem:
        print(f"{name}: {problem}", flush=True)
        return str(problem)
    print(name, flush=True)
    return ""


def _generate_constant(
    name: str, source: Path, sizes: dict[str, int], directory: Path, chosen: argparse.Namespace
) -> None:
    """The program of the suite, the sizes constants. Raises ProgramError."""
    directory.mkdir()
    ctype = ROWS[name].get("type", "float").upper()
    macros = ["-DLARGE_DATASET", f"-DDATA_TYPE_IS_{ctype}", *(f"-D{k}={v}" for k, v in sizes.items())]
    macros += ["-DPOLYBENCH_USE_C99_PROTO", "-DPOLYBENCH_USE_SCALAR_LB"]
    text = source.read_text(encoding="latin-1")
    if ROWS[name].get("dominant"):
        text, count = DOMINANT.subn("for (i = 0; i < n; i++) A[i][i] += n;", text)
        assert count == 1, f"{name} makes its matrix in another way"
    (directory / f"{name}.c").write_text(text, encoding="latin-1")
    shutil.copy(source.with_suffix(".h"), directory)
    (directory / "flags.json").write_text(json.dumps({"macros": macros, "arguments": []}))
    _compile(name, directory, ("-I", str(chosen.out), *macros), chosen)


def _generate_run_time(name: str, sizes: dict[str, int], directory: Path, chosen: argparse.Namespace) -> None:
    """The program of benchmarks/kernels, whose sizes are arguments. Raises ProgramError."""
    directory.mkdir()
    text = programs.source_of(name).read_text()
    if "#pragma scop" not in text:  # else the loops that fill the arrays are found, too
        text, count = BODY.subn(r"\1#pragma scop\n\2#pragma endscop\n}", text)
        assert count == 1, f"{name} has its loops elsewhere"
    (directory / f"{name}.c").write_text(text)
    macros = [f"-D{k}={v}" for k, v in ROWS[name].get("room", {}).items()]
    order = ROWS[name].get("arguments", list(sizes))
    flags = {
        "macros": macros,
        "arguments": [str(sizes.get(k, k)) for k in order],
        "check": [str(ROWS[name]["check"].get(k, k)) for k in order],
    }
    (directory / "flags.json").write_text(json.dumps(flags))
    _compile(name, directory, macros, chosen)


def _compile(name: str, directory: Path, macros: Sequence[str], chosen: argparse.Namespace) -> None:
    options = (*macros, "--target", "cuda", "--device", chosen.device, "--offload", "always")
    command = (sys.executable, "-m", "polygpu", "compile", directory / f"{name}.c", *options)
    programs.call(
        (*command, *chosen.flags.split(), "-o", f"{directory}/"),
        timeout=600,
        PYTHONPATH=str(programs.ROOT),
    )


def built(directory: Path, arch: str) -> Path:
    """The program of a directory, with its clock. Raises ProgramError."""
    name, out = directory.name, directory.parent
    wrapped = [f for symbol in WRAPPED for f in ("-Xlinker", f"--wrap={symbol}")]
    return _linked(directory / "program", name, out, arch, (out / "clock.c",), (), (), wrapped)


def built_exact(directory: Path, arch: str) -> tuple[Path, list[str]]:
    """The program of a directory at the sizes of its check, without fused multiply-add, and its arguments."""
    name, out, flags = directory.name, directory.parent, _flags(directory)
    if "check" in flags:
        return _linked(directory / "exact", name, out, arch, (), (), ("-fmad=false",), ()), flags["check"]
    host = ("-include", str(out / "sums.h"), "-DPOLYBENCH_DUMP_ARRAYS")
    return _linked(directory / "check" / "exact", name, out, arch, (), host, ("-fmad=false",), ()), []


def built_original(directory: Path) -> tuple[Path, list[str]]:
    """The original of what `built_exact` builds. Raises ProgramError."""
    name, out, flags = directory.name, directory.parent, _flags(directory)
    place = directory if "check" in flags else directory / "check"
    suite = () if "check" in flags else (out / "polybench.c",)
    options = ("-O2", "-ffp-contract=off", "-w", "-I", str(out), "-I", str(place), *_flags(place)["macros"])
    host = () if "check" in flags else ("-include", str(out / "sums.h"), "-DPOLYBENCH_DUMP_ARRAYS")
    objects = []
    for source, more in ((place / f"{name}.c", host), *((s, ()) for s in suite)):
        objects.append(place / f"{source.stem}_original.o")
        programs.call(("gcc", *options, *more, "-c", source, "-o", objects[-1]))
    programs.call(("gcc", *objects, "-o", place / "original", "-lm"))
    return place / "original", flags.get("check", [])


def _linked(
    program: Path,
    name: str,
    out: Path,
    arch: str,
    sources: Sequence[Path],
    host: Sequence[str],
    device: Sequence[str],
    linked: Sequence[str],
) -> Path:
    directory, flags = program.parent, _flags(program.parent)
    options = ("-O2", "-ffp-contract=off", "-w", "-I", str(out), "-I", str(directory), *flags["macros"])
    suite = () if "check" in flags else (out / "polybench.c",)
    objects = []
    for source, more in ((directory / f"{name}_host.c", host), *((s, ()) for s in (*sources, *suite))):
        objects.append(directory / f"{program.name}_{source.stem}.o")
        programs.call(("gcc", *options, *more, "-c", source, "-o", objects[-1]))
    objects.append(directory / f"{program.name}_device.o")
    programs.compile_cuda(directory / f"{name}_cuda.cu", objects[-1], arch, *device)
    programs.call((*programs.nvcc(), f"-arch={arch}", *objects, *linked, "-lm", "-o", program))
    return program


def _flags(directory: Path) -> dict[str, list[str]]:
    found: dict[str, list[str]] = json.loads((directory / "flags.json").read_text())
    return found


def checked(directory: Path, arch: str, tools: Sequence[str]) -> str:
    """What is wrong with a program at the sizes of its check, "same" where nothing is."""
    try:
        program, arguments = built_exact(directory, arch)
        original, _ = built_original(directory)
        expected = programs.call((original, *arguments), timeout=120).stdout
        found = programs.call((program, *arguments), timeout=120)
        if "polygpu:" in found.stderr:
            return found.stderr.splitlines()[0]
        if not expected.strip():
            return "the original prints nothing"
        problems = [_difference(expected, found.stdout)] if expected != found.stdout else []
        problems += [p for p in (_sanitized(program, arguments, tool) for tool in tools) if p]
    except programs.ProgramError as problem:
        return str(problem)[:300]
    return "; ".join(problems) or "same"


def _difference(expected: str, found: str) -> str:
    pairs = list(zip(expected.splitlines(), found.splitlines(), strict=False))
    lines = [f"{a} became {b}" for a, b in pairs if a != b]
    return f"{len(lines)} of {len(pairs)} lines differ: {lines[0] if lines else 'lines are missing'}"


def _sanitized(program: Path, arguments: Sequence[str], tool: str) -> str:
    options = ("--tool", tool, "--error-exitcode", "9", "--print-limit", "3")
    try:
        done = programs.call(("compute-sanitizer", *options, program, *arguments), timeout=150)
    except programs.ProgramError as problem:
        return f"{tool}: {problem}"[:300]
    return "" if re.search(r"(ERROR SUMMARY: 0 errors|0 hazards)", done.stdout) else f"{tool}: no summary"


def timed(program: Path, repeat: int, limit: float) -> Row:
    """The best of so many runs, of long ones of fewer."""
    name, best, launches = program.parent.name, math.inf, 0
    arguments = _flags(program.parent)["arguments"]
    for _ in range(repeat):
        try:
            done = programs.call((program, *arguments), timeout=limit, CUDA_MODULE_LOADING="EAGER")
        except programs.ProgramError as problem:
            return Row(name, None, 0, str(problem)[:200])
        found = re.search(r"clock: ([\d.]+) ms (\d+) launches", done.stderr)
        said = [line for line in done.stderr.splitlines() if line.startswith("polygpu:")]
        if found is None or said:
            return Row(name, None, 0, (said or ["nothing was launched"])[0])
        best, launches = min(best, float(found[1])), int(found[2])
        if best > 400:
            break
    return Row(name, best, launches, "")


def reference() -> dict[str, float]:
    """GB/s of a copy and milliseconds of the vendor's product of 4096, where PyTorch can measure them."""
    done = subprocess.run((sys.executable, "-c", REFERENCE), capture_output=True, text=True, check=False)
    return {key: float(value) for key, value in map(str.split, done.stdout.splitlines())}


def run(chosen: argparse.Namespace) -> int:
    directories = [chosen.out / name for name in ROWS if (chosen.out / name / f"{name}_cuda.cu").exists()]
    measured = reference()
    tools = chosen.sanitize.split(",") if chosen.sanitize else []
    rows = {d.name: Row(d.name, None, 0, "not timed") for d in directories}
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        timed_ones = [] if chosen.untimed else directories
        programs_built = {d.name: pool.submit(built, d, chosen.arch) for d in timed_ones}
        checked_ones = [] if chosen.unchecked else directories
        checks = {d.name: pool.submit(checked, d, chosen.arch, tools) for d in checked_ones}
        for name, check in checks.items():
            rows[name] = replace(rows[name], found=check.result())
            print(f"{name:16} {rows[name].found}", flush=True)
            _save(chosen.json, measured, list(rows.values()))
    for name, program in programs_built.items():
        problem, found = program.exception(), rows[name].found
        if problem is None:
            rows[name] = replace(timed(program.result(), chosen.repeat, chosen.limit), found=found)
        else:
            rows[name] = Row(name, None, 0, str(problem)[:200], found)
        print(f"{name:16} {rows[name].milliseconds} ms {rows[name].launches} {rows[name].why}", flush=True)
        _save(chosen.json, measured, list(rows.values()))
    print(report(measured, list(rows.values())))
    return int(any(row.found != "same" for row in rows.values() if row.name in checks))


def _save(path: Path, measured: dict[str, float], rows: list[Row]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"reference": measured, "rows": [vars(row) for row in rows]}, indent=1))


def report(measured: dict[str, float], rows: list[Row]) -> str:
    """The table as text."""
    lines = (
        [f"copy {measured['copy']:.0f} GB/s, vendor's product of 4096 {measured['product']:.2f} ms"]
        if measured
        else []
    )
    titles = ("ms", "launches", "goal", "x goal", "before", "PPCG", "x PPCG")
    head = "".join(f"{t:>{10 if k < 2 else 8}}" for k, t in enumerate(titles))
    lines.append(f"{'program':16}{head}  prints")
    for row in sorted(rows, key=lambda r: list(ROWS).index(r.name)):
        of = ROWS[row.name]
        if row.milliseconds is None:
            lines.append(f"{row.name:16}  {row.why}  {row.found}")
            continue
        numbers = (row.milliseconds / row.goal, of["before"], of["ppcg"], row.ratio)
        lines.append(
            f"{row.name:16}{row.milliseconds:10.3f}{row.launches:10}{row.goal:8g}{numbers[0]:8.2f}"
            f"{numbers[1]:8g}{numbers[2]:8g}{numbers[3]:8.2f}  {row.found}"
        )
    ratios = [row.ratio for row in rows if not math.isnan(row.ratio)]
    beyond = [row.milliseconds / row.goal if row.milliseconds else math.inf for row in rows]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines.append(
            f"geometric mean {mean:.2f} times PPCG's over {len(ratios)} programs; "
            f"{sum(b <= 1.15 for b in beyond)} of {len(rows)} within 1.15 of their goals, "
            f"{sum(b <= 1.5 for b in beyond)} within 1.5; {sum(r < 1 for r in ratios)} slower than PPCG's; "
            f"{sum(row.found == 'same' for row in rows)} of {len(rows)} print what the original prints"
        )
    return "\n".join(lines)


def plot(rows: list[Row]) -> str:
    """An SVG of each row's time as a multiple of its goal, on a logarithmic scale; the line is the goal."""
    width, line, left = 900, 18, 130
    scale = (width - left - 60) / math.log10(1000)

    def bar(k: int, row: Row) -> str:
        times = (row.milliseconds or STOPPED) / row.goal
        end = scale * math.log10(max(min(times, 500), 0.5) / 0.5)
        colour = "#4a7" if times <= 1.15 else "#ca3" if times <= 1.5 else "#c54"
        y = 30 + k * line
        return (
            f'<text x="{left - 6}" y="{y + 11}" text-anchor="end">{row.name}</text>'
            f'<rect x="{left}" y="{y}" width="{end:.1f}" height="{line - 5}" fill="{colour}"/>'
            f'<text x="{left + end + 4:.1f}" y="{y + 11}">{times:.2f}</text>'
        )

    bars = "\n".join(bar(k, row) for k, row in enumerate(rows))
    goal, height = left + scale * math.log10(2), 40 + line * len(rows)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'font-size="11">\n<text x="{left}" y="16">time as a multiple of the goal</text>\n{bars}\n'
        f'<line x1="{goal:.1f}" x2="{goal:.1f}" y1="24" y2="{height - 8}" stroke="#333"/>\n</svg>\n'
    )


def show(chosen: argparse.Namespace) -> int:
    found = json.loads(chosen.json.read_text())
    rows = [Row(**row) for row in found["rows"]]
    print(report(found["reference"], rows))
    if chosen.plot:
        chosen.plot.write_text(plot(rows), encoding="utf-8")
    wrong = (row.milliseconds is None or row.milliseconds > 1.5 * row.goal for row in rows)
    return int(any(wrong) or any(row.found != "same" for row in rows))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("generate")
    making.add_argument("polybench", type=Path)
    making.add_argument("out", type=Path)
    making.add_argument("--only", default="all")
    making.add_argument("--less", type=int, default=0)
    making.add_argument("--run-time", action="store_true")
    making.add_argument("--flags", default="")
    making.add_argument("--device", default="h100")
    making.add_argument("--jobs", type=int, default=2)
    running = commands.add_parser("run")
    running.add_argument("out", type=Path)
    running.add_argument("--arch", default="sm_90")
    running.add_argument("--repeat", type=int, default=3)
    running.add_argument("--limit", type=float, default=60, help="seconds of a run")
    running.add_argument("--json", type=Path, default=Path("table.json"))
    running.add_argument("--sanitize", default="", help="tools of compute-sanitizer, with commas between")
    running.add_argument("--untimed", action="store_true", help="only what is printed, and --sanitize")
    running.add_argument("--unchecked", action="store_true", help="only the times")
    showing = commands.add_parser("show")
    showing.add_argument("json", type=Path)
    showing.add_argument("--plot", type=Path)
    chosen = parser.parse_args()
    if chosen.command == "generate":
        return 1 if generate(chosen.polybench, chosen.out.resolve(), chosen) else 0
    return run(chosen) if chosen.command == "run" else show(chosen)


if __name__ == "__main__":
    sys.exit(main())
