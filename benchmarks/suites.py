"""Suites of programs that others wrote, unmodified: what of them runs on the device, and whether it is equal.

python benchmarks/suites.py DIRECTORY... [--targets emulator,opencl,cuda] [--programs MG,tsvc] [--detail]
       [--flags='--reassociate'] [--json FILE]

Each DIRECTORY is a checkout of a suite of `suites.toml`, or a folder of C files with a main each; programs
are built in copies of it. A nest is a region, or a loop that is in no region and has none inside; where a
suite has a function for each of its loops, functions are counted instead.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import re
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks import programs
from benchmarks.nests import VERDICTS, Nest, by_function, nests_of
from polygpu.runtime.compare import compare_outputs, remaining
from polygpu.runtime.whole import has_main

TABLE = Path(__file__).with_name("suites.toml")
DEVICE_FILE = {"emulator": "_emulator.c", "opencl": "_opencl.c", "cuda": "_cuda.cu"}
DEVICE_COMPILER = {
    "emulator": ("gcc", "-O2", "-fopenmp", "-march=native", "-ffp-contract=off", "-w"),
    "opencl": ("gcc", "-O2", "-w"),
    "cuda": ("nvcc", "-arch=native", "-O3", "-fmad=false", "-w"),
}
LINKER = {
    "emulator": ("gcc", "-fopenmp"),
    "opencl": ("gcc", "-lOpenCL"),
    "cuda": ("nvcc", "-arch=native", "-Xcompiler=-fopenmp"),
}
HOST_FLAGS = ("-O1", "-ffp-contract=off", "-w")
HEADINGS = "nests  device  1 thread  host  refused  kernels  cpu s (max)      to device, back    equal"
_KERNEL = re.compile(r"const polygpu_kernel_info \w+_info =|^__kernel\b", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Program:
    """One program of a suite, as `suites.toml` describes it."""

    suite: str
    name: str
    sources: tuple[str, ...]
    linked: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    flags: str = ""
    prepare: str = ""
    headers: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    arguments: str | None = None
    directory: str = "."
    outputs: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    units: str = ""

    @property
    def title(self) -> str:
        return f"{self.suite} {self.name}"

    @property
    def language(self) -> tuple[str, ...]:
        return (*(f"-I{name}" for name in self.includes), *(f"-D{name}" for name in self.defines))


@dataclass(frozen=True, slots=True)
class Compiled:
    """What a source file comes to: its nests, or why there are none, how many kernels, and the processor time
    of `polygpu compile`.
    """

    source: str
    seconds: float
    nests: tuple[Nest, ...] = ()
    kernels: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """What a program comes to. `equal` and `moved` (bytes to the device, and back) are by target."""

    suite: str
    program: str
    files: tuple[Compiled, ...] = ()
    nests: tuple[Nest, ...] = ()
    equal: dict[str, str] = field(default_factory=dict)
    moved: dict[str, tuple[int, int]] = field(default_factory=dict)

    def count(self, verdict: str) -> int:
        return sum(nest.verdict == verdict for nest in self.nests)

    @property
    def reasons(self) -> Counter[str]:
        """How many nests have each reason, those of files that cannot be read among them."""
        said = (f"{n.verdict}: {r}" for n in self.nests for r in n.reasons)
        return Counter((*said, *(f"file: {f.problem}" for f in self.files if f.problem)))


@dataclass(frozen=True, slots=True)
class Asked:
    """How programs are compiled, for which targets, for how many seconds a step may run, and whether they are
    built and run.
    """

    targets: tuple[str, ...]
    flags: tuple[str, ...]
    seconds: float
    runs: bool = True


def programs_of(checkout: Path) -> list[Program]:
    """Those of the suite that lies there, or of each C file with a main. Raises ProgramError for none."""
    table = tomllib.loads(TABLE.read_text())["suite"]
    found = [p for entry in table if (checkout / entry["marker"]).exists() for p in described(entry)]
    if not found:
        files = sorted(path for path in checkout.glob("*.c") if has_main([path.read_text(errors="replace")]))
        found = [Program(checkout.name, path.stem, (path.name,), arguments="") for path in files]
    if not found:
        raise programs.ProgramError(f"{checkout}: neither a suite of {TABLE.name} nor C files with a main")
    return found


def described(entry: Mapping[str, Any]) -> Iterator[Program]:
    """The programs of an entry of the table."""
    lists = ("sources", "linked", "includes", "defines", "outputs", "ignore")
    plain = {key: value for key, value in entry.items() if key not in ("title", "names", "marker", *lists)}
    for name in entry["names"]:
        texts = {key: tuple(text.replace("{name}", name) for text in entry.get(key, ())) for key in lists}
        prepare = plain.get("prepare", "").replace("{name}", name)
        yield Program(**{**plain, **texts, "suite": entry["title"], "name": name, "prepare": prepare})


def say(program: Program, text: str) -> None:
    print(f"{program.title}: {text}", file=sys.stderr, flush=True)


def prepared(program: Program, checkout: Path, copy: Path) -> Program:
    """Makes a copy to build in; the program with the files that are there."""
    shutil.copytree(checkout, copy, ignore=shutil.ignore_patterns(".git"))
    for name, constants in program.headers.items():
        header = copy / name
        header.write_text(with_constants(header.read_text(), constants))
    if program.prepare:
        programs.call(("sh", "-ec", f"cd {shlex.quote(str(copy))}\n{program.prepare}"))
    sources, linked = (
        tuple(str(path.relative_to(copy)) for pattern in patterns for path in sorted(copy.glob(pattern)))
        for patterns in (program.sources, program.linked)
    )
    return replace(program, sources=sources, linked=linked)


def with_constants(text: str, constants: Mapping[str, int]) -> str:
    """`text` with other values of macros. Raises ProgramError for one that it does not define."""
    for name, value in constants.items():
        text, count = re.subn(rf"(?m)^([ \t]*#[ \t]*define[ \t]+{name})[ \t]+\S+", rf"\1 {value}", text)
        if not count:
            raise programs.ProgramError(f"no macro {name}")
    return text


def _path() -> str:
    """Where Python finds this polygpu before any other."""
    return os.pathsep.join(filter(None, (str(programs.ROOT), os.environ.get("PYTHONPATH"))))


def run(
    command: programs.Command, copy: Path, seconds: float, **environment: str
) -> subprocess.CompletedProcess[str]:
    """In the copy. Raises ProgramError if there is no end after so many seconds."""
    merged = os.environ | {"PYTHONPATH": _path()} | environment
    try:
        return subprocess.run(
            command, cwd=copy, env=merged, capture_output=True, errors="replace", timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        raise programs.ProgramError(f"{Path(command[0]).name}: no end after {seconds:g} s") from None


def compiled(program: Program, source: str, target: str, copy: Path, asked: Asked) -> Compiled:
    """Writes the files for a target into a folder of their own, `output_of`."""
    part: tuple[str, ...] = ("--part",) if len(program.sources) > 1 else ()
    beside = [other for other in (*program.sources, *program.linked) if other != source]
    part += tuple(word for other in beside for word in ("--with", other))
    chosen = ("--target", target, "--offload", "always", "--diagnostics", "json", *part, *asked.flags)
    output = output_of(program, source, target)
    (copy / output).mkdir(parents=True)
    command = (
        sys.executable,
        "-m",
        "polygpu",
        "compile",
        source,
        *program.language,
        *chosen,
        "-o",
        f"{output}/",
    )
    before = processor_time()
    try:
        done = run(command, copy, asked.seconds)
    except programs.ProgramError:
        problem = f"no end after {asked.seconds:g} s"
        return Compiled(source, processor_time() - before, problem=problem)
    seconds = processor_time() - before
    try:
        diagnostics = json.loads(done.stderr)
    except ValueError:
        said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
        problem = next((line for line in said if "error" in line.lower()), said[-1])
        return Compiled(source, seconds, problem=problem[:200])
    lines = lines_compiled(program, source, copy)
    nests = tuple(nests_of((copy / source).read_text(errors="replace"), diagnostics, lines))
    devices = (copy / output).glob(f"{Path(source).stem}_{target}.c*")
    kernels = sum(len(_KERNEL.findall(path.read_text())) for path in devices)
    problem = "" if done.returncode == 0 or nests else first_error(diagnostics)
    return Compiled(source, seconds, nests, kernels, problem)


def lines_compiled(program: Program, source: str, copy: Path) -> frozenset[int]:
    """Those of a source that the preprocessor leaves in."""
    text = subprocess.run(
        ("gcc", "-E", "-w", *program.language, source), cwd=copy, capture_output=True, text=True, check=False
    ).stdout
    found, file, line = set(), "", 0
    for part in text.splitlines():
        if mark := re.match(r'# (\d+) "([^"]*)"', part):
            file, line = mark[2], int(mark[1])
            continue
        if file == source and part.strip():
            found.add(line)
        line += 1
    return frozenset(found)


def processor_time() -> float:
    """Of the processes that this one has started and waited for, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def first_error(diagnostics: Iterable[Mapping[str, Any]]) -> str:
    errors = [d for d in diagnostics if d["severity"] == "error"]
    return f"{errors[0]['id']} {errors[0]['message'].splitlines()[0]}" if errors else "no error is said"


def output_of(program: Program, source: str, target: str) -> Path:
    return Path("polygpu", target, str(program.sources.index(source)))


def built(program: Program, target: str, copy: Path) -> str:
    """The program of the host and device files that were written, and of sources for which none were."""
    flags = (*HOST_FLAGS, *program.language, *shlex.split(program.flags))
    objects, pairs = [], [(source, source) for source in program.linked]
    for source in program.sources:
        stem = copy / output_of(program, source, target) / Path(source).stem
        host, device = Path(f"{stem}_host.c"), Path(f"{stem}{DEVICE_FILE.get(target, '')}")
        pairs.append((source, str(host) if host.exists() else source))
        if host.exists():
            objects.append(f"{device}.o")
            programs.call((*DEVICE_COMPILER[target], "-c", device, "-o", objects[-1]))
    for source, text in pairs:
        objects.append(str(copy / f"{target}_{len(objects)}.o"))
        beside = ("-iquote", str(Path(source).parent))
        programs.call(("env", "-C", copy, "gcc", *flags, *beside, "-c", text, "-o", objects[-1]))
    name = str(copy / f"program_{target}")
    linker, *libraries = LINKER.get(target, ("gcc",))
    flags = () if target == "cuda" else tuple(shlex.split(program.flags))
    programs.call((linker, *objects, "-o", name, *flags, *libraries, "-lm"))
    return name


def printed(program: Program, executable: str, copy: Path, asked: Asked, **environment: str) -> str:
    """What it prints and writes, without what no two runs print alike. Raises ProgramError."""
    command = (executable, *shlex.split(program.arguments or ""))
    done = run(command, copy / program.directory, asked.seconds, **environment)
    if notes := [line for line in done.stderr.splitlines() if line.startswith("polygpu:")]:
        say(program, notes[0])
    files = [done.stderr if name == "stderr" else (copy / name).read_text() for name in program.outputs]
    return remaining(f"status {done.returncode}\n{done.stdout}{''.join(files)}", program.ignore)


def judged(
    program: Program, target: str, copy: Path, expected: str, asked: Asked
) -> tuple[str, tuple[int, int]]:
    """Whether the program prints what the original prints, and the bytes that it moves."""
    profile = copy / f"{target}.json"
    try:
        executable = built(program, target, copy)
        say(program, f"running for {target}")
        found = printed(program, executable, copy, asked, POLYGPU_PROFILE=str(profile))
    except programs.ProgramError as problem:
        return f"not run: {problem}", (0, 0)
    comparison = compare_outputs(expected, found)
    regions = json.loads(profile.read_text())["regions"] if profile.exists() else []
    moved = (sum(r["bytes_in"] for r in regions), sum(r["bytes_out"] for r in regions))
    if comparison.difference:
        d = comparison.difference
        return f"DIFFERS line {d.line}: '{d.expected}' became '{d.found}'", moved
    return ("yes" if comparison.identical else f"to {comparison.largest:.1e}"), moved


def verified(program: Program, copy: Path, asked: Asked) -> str:
    """The verdict of `polygpu verify` on sources without a main."""
    wrong, same = [], 0
    for source in program.sources:
        limits = ("--seconds", "10", "--proof-seconds", "0", "--device", "generic", "--json")
        command = (
            sys.executable,
            "-m",
            "polygpu",
            "verify",
            source,
            *program.language,
            *limits,
            *asked.flags,
        )
        done = run(command, copy, asked.seconds)
        if done.returncode == 3:
            wrong.append(source)
        same += done.returncode == 0
    return f"DIFFERS by verify: {', '.join(wrong)}" if wrong else "by verify" if same else "nothing to run"


def examined(program: Program, checkout: Path, asked: Asked) -> Row:
    """Compiles, builds and runs a program."""
    with tempfile.TemporaryDirectory(prefix="suites-") as directory:
        copy = Path(directory) / checkout.name
        row = Row(program.suite, program.name)
        try:
            row = _examined(prepared(program, checkout, copy), copy, asked, row)
        except programs.ProgramError as problem:
            row = replace(row, equal={"": f"not run: {problem}"})
    say(program, " ".join(_cells(row).split()[1:]))
    return row


def _examined(program: Program, copy: Path, asked: Asked, row: Row) -> Row:
    expected = ""
    whole = asked.runs and program.arguments is not None
    if whole:
        expected = printed(program, built(program, "original", copy), copy, asked)
    for target in asked.targets:
        files = []
        for source in program.sources:
            files.append(compiled(program, source, target, copy, asked))
            say(program, f"{source} for {target} in {files[-1].seconds:.1f} s")
        if not row.files:
            row = replace(row, files=tuple(files), nests=_nests(program, files, copy))
        if whole:
            row.equal[target], row.moved[target] = judged(program, target, copy, expected, asked)
    if asked.runs and not whole:
        row.equal["verify"] = verified(program, copy, asked)
    return row


def _nests(program: Program, files: Iterable[Compiled], copy: Path) -> tuple[Nest, ...]:
    nests = tuple(nest for file in files for nest in file.nests)
    if not program.units:
        return nests
    texts = "\n".join((copy / source).read_text(errors="replace") for source in program.sources)
    return tuple(by_function(nests, dict.fromkeys(re.findall(program.units, texts))))


def table(rows: Iterable[Row]) -> Iterator[str]:
    """The lines of a readable table, with the sums of each suite."""
    suites: dict[str, list[Row]] = {}
    for row in rows:
        suites.setdefault(row.suite, []).append(row)
    for suite, mine in suites.items():
        yield f"{suite}"
        yield f"  {'program':17} {HEADINGS}"
        yield from (f"  {_cells(row)}" for row in mine)
        if len(mine) > 1:
            yield f"  {_cells(_sum(mine))}"
        yield ""


def _sum(rows: list[Row]) -> Row:
    files = tuple(file for row in rows for file in row.files)
    nests = tuple(nest for row in rows for nest in row.nests)
    return Row(rows[0].suite, "all", files, nests)


def _cells(row: Row) -> str:
    counts = [row.count(verdict) for verdict in VERDICTS]
    seconds = [file.seconds for file in row.files] or [0.0]
    times = f"{sum(seconds):.1f} ({max(seconds):.1f})"
    moved = ", ".join(f"{n / 1e6:.2f}" for n in next(iter(row.moved.values()), (0, 0)))
    equal = "; ".join(f"{target}: {text}" for target, text in row.equal.items())
    return (
        f"{row.program:17} {len(row.nests):5}  {counts[0]:6}  {counts[1]:8}  {counts[2]:4}  {counts[3]:7}"
        f"  {sum(f.kernels for f in row.files):7}  {times:13}  {moved:>16} MB  {equal}"
    )


def reasons(rows: Iterable[Row]) -> Iterator[str]:
    """The reasons why nests are not on the device, the most frequent first."""
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row.reasons)
    for text, count in total.most_common():
        yield f"{count:5} {text}"


def details(rows: Iterable[Row]) -> Iterator[str]:
    """A line for each nest."""
    for row in rows:
        for nest in row.nests:
            place = f"{row.program} {nest.function}:{nest.first}"
            yield f"{place:40} {nest.verdict:10} {'; '.join(nest.reasons)}".rstrip()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("checkouts", nargs="+", type=Path, metavar="DIRECTORY")
    parser.add_argument("--targets", default="emulator", help="emulator,opencl,cuda")
    parser.add_argument("--programs", default="", help="names with commas between them")
    parser.add_argument("--flags", default="", help="more options of polygpu compile, in one word")
    parser.add_argument("--seconds", type=float, default=300.0, help="for each file, and for each run")
    parser.add_argument("--compile-only", action="store_true", help="nothing is built, run or verified")
    parser.add_argument("--detail", action="store_true", help="a line for each nest")
    parser.add_argument("--json", type=Path, metavar="FILE")
    parser.add_argument("--jobs", type=int, default=2)
    return parser.parse_args()


def main() -> int:
    chosen = arguments()
    asked = Asked(
        tuple(chosen.targets.split(",")),
        tuple(shlex.split(chosen.flags)),
        chosen.seconds,
        not chosen.compile_only,
    )
    names = set(filter(None, chosen.programs.split(",")))
    tasks = [(p, c) for c in chosen.checkouts for p in programs_of(c) if not names or p.name in names]
    with ProcessPoolExecutor(chosen.jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        rows = list(pool.map(examined, *zip(*tasks, strict=True), itertools.repeat(asked)))
    for line in (*table(rows), "not on the device, and why", *reasons(rows)):
        print(line)
    if chosen.detail:
        print("", *details(rows), sep="\n")
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 1 if any("DIFFERS" in text for row in rows for text in row.equal.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
