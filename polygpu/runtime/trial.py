"""Runs a region's original and its compiled form on the same data and compares every array."""

from __future__ import annotations

import os
import re
import struct
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import is_floating
from polygpu.runtime import build
from polygpu.runtime.compare import relative_difference
from polygpu.runtime.region_driver import GUARD, Driver, driver
from polygpu.runtime.sizes import vectors
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed

# gcc and clang define shifts of negative numbers to the left (C99 6.5.7p4 does not), as all targets do
SANITIZERS = (
    "-fsanitize=address,undefined",
    "-fno-sanitize=vla-bound,shift-base",
    "-fno-sanitize-recover=undefined",
)
# of the compiled region: what its bounds, guards and subscripts compute
CHECKED = (
    "-DPOLYGPU_CHECK=1",
    "-fsanitize=signed-integer-overflow,shift-exponent,integer-divide-by-zero,bounds",
)
# 2048 bytes around each object: with 16, an element far behind one is found in another
_WATCHED = "detect_leaks=0:redzone=2048"
QUIET = ("-w", "-ffp-contract=off")
PERMISSIVE = (
    "-no-pie",
    "-Wl,--unresolved-symbols=ignore-all",
)  # the region calls nothing of files that are not named
TOO_LARGE = 77
FAULTS = 3
_FORMATS = {
    "_Bool": "?", "char": "b", "signed char": "b", "unsigned char": "B", "short": "h", "unsigned short": "H",
    "int": "i", "unsigned int": "I", "long": "l", "unsigned long": "L", "long long": "q",
    "unsigned long long": "Q", "float": "f", "double": "d",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Value:
    """An element that came out wrong; `element` is in C (`A[3][4]`), or the bytes around an array."""

    element: str
    expected: str
    found: str
    count: int  # of the array's elements that are wrong


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run at `sizes`. `outcome`: "same", "different", "faults", "failed", "host", "not done" or "silent",
    where there is nothing to compare.

    It is "same", for a `reason`, where the original gives what it gives when it is optimised as the compiled
    region is, and something else when it is not.
    """

    sizes: tuple[tuple[str, int], ...]
    outcome: str
    reason: str = ""
    values: tuple[Value, ...] = ()
    largest: float = 0.0


@dataclass(frozen=True, slots=True)
class Trial:
    """All attempts of one region; `reason` says why there are none."""

    attempts: tuple[Attempt, ...]
    reason: str = ""
    not_compared: tuple[tuple[str, str], ...] = ()

    def of(self, *outcomes: str) -> tuple[Attempt, ...]:
        return tuple(a for a in self.attempts if a.outcome in outcomes)

    @property
    def faulty(self) -> tuple[Attempt, ...]:
        return self.of("different", "faults", "failed")


@dataclass(frozen=True, slots=True)
class Programs:
    """The built drivers of a region; `optimising` is the command that builds the original as the compiled one
    is built, at `optimised`, where results may depend on that.
    """

    driver: Driver
    original: Path
    compiled: Path
    optimised: Path | None = None
    optimising: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Limits:
    """`seconds` for one run; numbers may differ by `tolerance`, relative."""

    seconds: float = 20.0
    tolerance: float = 0.0


def shared(region: CompiledRegion) -> str:
    """A variable of the file that the region has and that functions which it calls use, "" if there is none:
    a driver has another one, and passes it to the region alone.
    """
    scop = region.scop
    mine = {*(a.name for a in scop.arrays), *(s.name for s in (*scop.scalars, *scop.whole))}
    return min(scop.named & mine, default="")


def build_programs(region: CompiledRegion, text: str, device_file: Path, recipe: build.Recipe) -> Programs:
    """The drivers, built beside `device_file`. Raises Diagnosed when the region does not build on its own."""
    made = driver(region, text)
    stem = device_file.parent / region.scop.name
    original, compiled, optimised = (
        stem.with_name(f"{stem.name}_{kind}.c") for kind in ("original", "compiled", "optimised")
    )
    original.write_text(made.original)
    compiled.write_text(made.compiled)
    optimised.write_text(made.original)
    flags = (*recipe.language, *QUIET, *recipe.extra)
    others = tuple(_others(recipe, flags, device_file.parent))
    _build((*recipe.cc, "-O0", *SANITIZERS), flags, (original, *others))
    _build((*recipe.cc, "-O1"), (*flags, *CHECKED, "-fno-sanitize-recover"), (compiled, device_file, *others))
    again = _command((*recipe.cc, "-O1"), (*flags, *PERMISSIVE), (optimised, *others))
    return Programs(
        made, original.with_suffix(""), compiled.with_suffix(""), optimised.with_suffix(""), again
    )


def _others(recipe: build.Recipe, flags: tuple[str, ...], directory: Path) -> Iterator[Path]:
    """The program's other files, whose functions a region may call; the main is the driver's."""
    for k, source in enumerate(recipe.others):
        made = directory / f"other_{k}.o"
        if not made.exists():
            command = (*recipe.cc, "-O1", *flags, "-Dmain=polygpu_main_of_program", "-c", source)
            build.execute((*command, "-o", str(made)))
        yield made


def _build(compiler: tuple[str, ...], flags: Sequence[str], files: tuple[Path, ...]) -> None:
    try:
        build.execute(_command(compiler, flags, files))
    except Diagnosed:
        build.execute(_command(compiler, (*flags, *PERMISSIVE), files))


def _command(compiler: tuple[str, ...], flags: Sequence[str], files: tuple[Path, ...]) -> tuple[str, ...]:
    return (*compiler, *flags, *map(str, files), "-o", str(files[0].with_suffix("")), "-lm")


def attempts(programs: Programs, region: CompiledRegion, limits: Limits) -> Iterator[Attempt]:
    """One attempt for each choice of sizes, the cheapest first; ends when a run takes too long."""
    sized = {s.name for s in region.scop.scalars if s.affine}
    names = tuple(name for name, ctype in programs.driver.scalars if _is_size(name, ctype, sized, region))
    possible = {s.name: s for s in region.scop.scalars}
    for vector in vectors(region, len(names)):
        drawn = zip(names, vector, strict=True)
        sizes = tuple((n, possible[n].nearest(v) if n in possible else v) for n, v in drawn)
        attempt = _attempt(programs, sizes, limits)
        yield attempt
        if attempt.outcome == "not done" and attempt.reason.startswith("no end"):
            return


def _is_size(name: str, ctype: str, sized: set[str], region: CompiledRegion) -> bool:
    known = {s.name for s in region.scop.scalars}
    return not is_floating(ctype) and (name in sized or name not in known)


def _attempt(programs: Programs, sizes: tuple[tuple[str, int], ...], limits: Limits) -> Attempt:
    chosen = dict(sizes)
    arguments = [str(chosen.get(name, _other(ctype))) for name, ctype in programs.driver.scalars]
    try:
        original = _run(programs.original, arguments, limits.seconds)
        if original.returncode:
            return Attempt(sizes, "not done", _refusal(original))
        compiled = _run(programs.compiled, arguments, limits.seconds)
    except subprocess.TimeoutExpired:
        return Attempt(sizes, "not done", f"no end within {limits.seconds:g} s")
    if compiled.returncode == FAULTS:
        return Attempt(sizes, "faults", compiled.stderr.strip())
    if compiled.returncode and "out of memory" in compiled.stderr:
        return Attempt(sizes, "not done", "the emulator is out of memory")
    if compiled.returncode:
        return Attempt(sizes, "failed", f"status {compiled.returncode}: {compiled.stderr.strip()}")
    expected, found = (_dump(p) for p in (programs.original, programs.compiled))
    largest, wrong = compare(expected, found, limits.tolerance)
    if wrong and programs.optimised:
        expected = _optimised(programs.optimised, programs.optimising, arguments, limits)
        if not compare(expected, found, limits.tolerance)[1]:
            return Attempt(sizes, "same", "the original's results depend on how it is optimised")
    if wrong:
        return Attempt(sizes, "different", "", wrong, largest)
    if "the loop runs on the host" in compiled.stderr:
        return Attempt(sizes, "host", compiled.stderr.strip().splitlines()[0].rpartition("host: ")[2])
    if not programs.driver.compared:
        return Attempt(sizes, "silent", "nothing that the region writes is used after it")
    return Attempt(sizes, "same", largest=largest)


def _optimised(program: Path, command: tuple[str, ...], arguments: list[str], limits: Limits) -> bytes:
    """The dump of the original, optimised as the compiled region is."""
    if not program.exists():
        build.execute(command)
    _run(program, arguments, limits.seconds)
    return _dump(program)


def _other(ctype: str) -> str:
    """The value of a scalar that is no size."""
    return "1.25" if is_floating(ctype) else "3"


def _run(program: Path, arguments: list[str], seconds: float) -> subprocess.CompletedProcess[str]:
    command = (str(program), str(program.with_suffix(".out")), *arguments)
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, timeout=seconds,
        env={**os.environ, "ASAN_OPTIONS": _WATCHED, "POLYGPU_PROFILE": ""},
    )  # fmt: skip


def _dump(program: Path) -> bytes:
    return program.with_suffix(".out").read_bytes()


def _refusal(done: subprocess.CompletedProcess[str]) -> str:
    """Why the original cannot run with these sizes."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    telling = next((line for line in lines if "runtime error" in line or "ERROR" in line), "")
    if done.returncode == TOO_LARGE:
        return lines[-1].removeprefix("polygpu: ") if lines else "too large"
    text = telling.partition("Sanitizer: ")[2] or telling.partition("runtime error: ")[2]
    text = re.sub(" address 0x[0-9a-f]+", " an address", text)  # which is another one each time
    what = re.split(" on (?:unknown |an )?address", text)[0] or f"status {done.returncode}"
    return f"undefined in the original: {what}"


@dataclass(frozen=True, slots=True)
class Block:
    """An array of a dump, or a variable. The first subscript of the first element is `-before`."""

    name: str
    type: str
    count: int
    before: int
    inner: tuple[int, ...]
    data: bytes
    variable: bool


def blocks(dump: bytes) -> Iterator[Block]:
    place = 0
    while place < len(dump):
        end = dump.index(b"\n", place)
        name, ctype, count, *rest = dump[place:end].decode().split()
        ctype = ctype.replace("_", " ") if ctype != "_Bool" else ctype
        size = 1 if ctype == "guard" else struct.calcsize(_FORMATS[ctype])
        length = int(count) * size
        numbers = tuple(map(int, rest)) or (0,)
        data = dump[end + 1 : end + 1 + length]
        yield Block(name, ctype, int(count), numbers[0], numbers[1:], data, not rest)
        place = end + 1 + length


def compare(expected: bytes, found: bytes, tolerance: float) -> tuple[float, tuple[Value, ...]]:
    """The largest accepted relative difference, and the first wrong element of each array."""
    largest, wrong = 0.0, []
    for left, right in zip(blocks(expected), blocks(found), strict=True):
        if left.type == "guard":
            if right.data == b"\xa5" * len(right.data):
                continue
            where = f"the {GUARD} bytes before and after {left.name}"
            wrong.append(Value(where, "untouched", "overwritten", 1))
            continue
        if left.data == right.data:
            continue
        pairs = list(zip(_values(left), _values(right), strict=True))
        distances = [_distance(a, b, left.type) for a, b in pairs]
        places = [k for k, distance in enumerate(distances) if distance > tolerance]
        largest = max([largest, *(d for d in distances if d <= tolerance)])
        if places:
            a, b = pairs[places[0]]
            wrong.append(Value(_element(left, places[0]), f"{a!r}", f"{b!r}", len(places)))
    return largest, tuple(wrong)


def _values(block: Block) -> tuple[float, ...]:
    return struct.unpack(f"{block.count}{_FORMATS[block.type]}", block.data)


def _distance(a: float, b: float, ctype: str) -> float:
    if is_floating(ctype):
        return relative_difference(a, b)
    return 0.0 if a == b else float("inf")


def _element(block: Block, place: int) -> str:
    """`A[3][4].x` for element `place`; a variable is its name."""
    if block.variable:
        return block.name
    subscripts: list[int] = []
    for extent in reversed(block.inner):
        subscripts.append(place % extent)
        place //= extent
    array, dot, member = block.name.partition(".")
    indices = "".join(f"[{s}]" for s in (place - block.before, *reversed(subscripts)))
    return f"{array}{indices}{dot}{member}"
