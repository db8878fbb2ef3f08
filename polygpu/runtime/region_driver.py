"""A C program that runs one region, original or compiled, on arrays of its own.

    program OUTPUT scalar...

The region's text becomes the body of a function whose parameters are what it reads and writes, in a file
that includes the user's own. So regions of any function can be run at any size, `main` and static
functions included. OUTPUT receives, for each array (for each member of a structure), a line
`name type count extents...` and the raw elements, then the bytes around the array that nobody owns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Expr, Int, Name, is_floating
from polygpu.model.kernel import Buffer
from polygpu.model.rewrite import walk
from polygpu.model.scop import Array, Scop
from polygpu.printing.calls import call_of, in_source
from polygpu.printing.host import print_user, prologue, replacement

GUARD = 64  # bytes before and after each array of the compiled region; the original's are the sanitizer's

_TOOLS = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#undef main

static FILE *polygpu_out;

static double polygpu_value(long long t, int seed)
{
    return (((unsigned)t * 2654435761u + (unsigned)seed * 2246822519u) >> 16) / 65536.0;
}

static void *polygpu_new(const char *name, long long count, long long size)
{
    char *bytes;
    if (count < 0)
        count = 0;
    if (count > POLYGPU_MOST / size || !(bytes = malloc(count * size + 2 * POLYGPU_GUARD))) {
        fprintf(stderr, "polygpu: '%s' is too large\\n", name);
        exit(77);
    }
    memset(bytes, 0xa5, count * size + 2 * POLYGPU_GUARD);
    return bytes + POLYGPU_GUARD;
}

static void polygpu_guards(const char *name, const void *array, long long count, long long size)
{
    const char *before = (const char *)array - POLYGPU_GUARD, *after = (const char *)array + count * size;
    fprintf(polygpu_out, "%s guard %d\\n", name, 2 * POLYGPU_GUARD);
    fwrite(before, 1, POLYGPU_GUARD, polygpu_out);
    fwrite(after, 1, POLYGPU_GUARD, polygpu_out);
}
"""


@dataclass(frozen=True, slots=True)
class Parameter:
    """An array as the driver holds it: `rows` * `width` elements, the first with the outer index `first`.

    `flat` arrays are pointers to elements in the source, `scalar` ones variables.
    """

    array: Array
    rows: str
    width: str
    first: str
    flat: bool

    @property
    def scalar(self) -> bool:
        return not self.array.extents

    @property
    def count(self) -> str:
        return f"({self.rows}) * ({self.width})" if not self.scalar else "1"


@dataclass(frozen=True, slots=True)
class Driver:
    """`scalars` are (name, type) in the order of the arguments; `not_compared` names arrays and says why."""

    original: str
    compiled: str
    scalars: tuple[tuple[str, str], ...]
    compared: tuple[str, ...]
    not_compared: tuple[tuple[str, str], ...]


def driver(region: CompiledRegion, text: str) -> Driver:
    """The two programs for `region` of the file with `text`."""
    scop = region.scop
    scalars = tuple(_scalars(scop))
    buffers = in_source(region).buffers
    parameters = [_parameter(a, buffers) for a in scop.arrays if a.storage != "region"]
    signature = ", ".join([*(f"{ctype} {name}" for name, ctype in scalars), *map(_declaration, parameters)])
    call = call_of(region)
    main = _main(scalars, parameters)
    bodies = (text[scop.start : scop.end], replacement(text, scop, call))
    heads = (f'#line 1 "{scop.file}"\n', prologue(scop.file, (call,)))
    original, compiled = (
        _program(scop, guard, head, _function(region, signature, parameters, body), main)
        for guard, head, body in zip((0, GUARD), heads, bodies, strict=True)
    )
    kept = tuple((p.array.name, "it is dead after the region") for p in parameters if not p.array.live_out)
    compared = tuple(p.array.name for p in parameters if p.array.live_out)
    return Driver(original, compiled, scalars, compared, kept)


def _scalars(scop: Scop) -> Iterator[tuple[str, str]]:
    """What the region reads, and what sizes its arrays."""
    found = {s.name: s.type for s in scop.scalars}
    for array in scop.arrays:
        for extent in array.extents:
            names = (e for e in walk(extent) if isinstance(e, Name)) if extent is not None else ()
            found |= {e.name: e.type for e in names if e.name not in found}
    yield from found.items()


def _parameter(array: Array, buffers: tuple[Buffer, ...]) -> Parameter:
    if not array.extents:
        return Parameter(array, "1", "1", "0", flat=True)
    width = " * ".join(f"(long long)({print_user(e)})" for e in array.extents[1:] if e is not None) or "1"
    if array.extents[0] is not None:
        return Parameter(array, _long(array.extents[0]), width, "0", "[0]" not in array.host)
    buffer = next((b for b in buffers if b.name == array.name), None)
    if buffer is None:
        return Parameter(array, "1", width, "0", "[0]" not in array.host)
    first = buffer.origin[0] if buffer.origin else Int(0)
    rows = f"{_long(buffer.extents[0])} + polygpu_above({_long(first)})"
    return Parameter(array, rows, width, f"polygpu_below({_long(first)})", "[0]" not in array.host)


def _long(expr: Expr) -> str:
    return f"(long long)({print_user(expr)})"


def _declaration(p: Parameter) -> str:
    """The parameter under the source's name; variables come by address."""
    a = p.array
    if p.scalar:
        return f"{a.element_in_source} *polygpu_at_{a.name}"
    if p.flat:
        return f"{a.element_in_source} *restrict {a.name}"
    inner = "".join(f"[{print_user(e)}]" for e in a.extents[1:] if e is not None)
    return f"{a.element_in_source} {a.name}[restrict]{inner}"


def _function(region: CompiledRegion, signature: str, parameters: list[Parameter], body: str) -> str:
    scop = region.scop
    variables = [p.array for p in parameters if p.scalar]
    taken = {a.name for a in scop.arrays} | {s.name for s in scop.scalars}
    lines = [f"static void polygpu_region({signature or 'void'})", "{"]
    lines += [f"    {a.element_in_source} {a.name} = *polygpu_at_{a.name};" for a in variables]
    lines += [f"    {s.type} {s.name} = {value};" for s, value in region.prepared.assumed.items()]
    lines += [f"    int {name};" for name in _iterators(scop) if name not in taken]
    lines += [f'#line {scop.position.line} "{scop.file}"', body, "    ;"]
    lines += [f"    *polygpu_at_{a.name} = {a.name};" for a in variables]
    return "\n".join([*lines, "}"])


def _iterators(scop: Scop) -> list[str]:
    return list(dict.fromkeys(loop.iterator for loop in scop.loops))


def _program(scop: Scop, guard: int, head: str, function: str, main: str) -> str:
    """The user's file, whose own main gets out of the way, the region and the driver."""
    limits = f"#define POLYGPU_GUARD {guard}\n#define POLYGPU_MOST (256LL << 20)\n"
    above = (
        "static long long polygpu_above(long long first) { return first > 0 ? first : 0; }\n"
        "static long long polygpu_below(long long first) { return first < 0 ? -first : 0; }\n"
    )
    name = str(Path(scop.file).resolve()).replace("\\", "\\\\").replace('"', '\\"')
    parts = ["#define main polygpu_main_of_the_user", f'#include "{name}"', limits + _TOOLS + above]
    return "\n".join([*parts, head, function, '#line 1 "driver.c"', main]) + "\n"


def _main(scalars: tuple[tuple[str, str], ...], parameters: list[Parameter]) -> str:
    lines = ["int main(int argc, char **argv)", "{"]
    lines += [f"    if (argc != {len(scalars) + 2})", "        return 78;"]
    for k, (name, ctype) in enumerate(scalars):
        read = "atof" if is_floating(ctype) else "atoll"
        lines.append(f"    {ctype} {name} = ({ctype}){read}(argv[{k + 2}]);")
    lines += [line for seed, p in enumerate(parameters) for line in _filled(p, seed + 1)]
    arguments = ", ".join([*(name for name, _ in scalars), *map(_argument, parameters)])
    lines += [f"    polygpu_region({arguments});", '    polygpu_out = fopen(argv[1], "wb");']
    lines += ["    if (!polygpu_out)", "        return 79;"]
    lines += [line for p in parameters if p.array.live_out for line in _shown(p)]
    return "\n".join([*lines, "    return fclose(polygpu_out) != 0;", "}"])


def _argument(p: Parameter) -> str:
    name = f"polygpu_new_{p.array.name}"
    return name if p.scalar else f"(void *)({name} + {p.first} * ({p.width}))"


def _filled(p: Parameter, seed: int) -> list[str]:
    """Small positive numbers, so that nothing overflows and nothing is divided by zero."""
    a, name = p.array, f"polygpu_new_{p.array.name}"
    count = f"polygpu_count_{a.name}"
    lines = [
        f"    long long {count} = {p.count};",
        f'    {a.element_in_source} *{name} = polygpu_new("{a.name}", {count}, sizeof *{name});',
        f"    for (long long t = 0; t < {count}; t++) {{",
    ]
    fields = a.structure.fields if a.structure else (("", a.element),)
    for number, (path, ctype) in enumerate(fields):
        value = f"polygpu_value(t, {seed + 100 * number})"
        element = f"{name}[t]{f'.{path}' if path else ''}"
        lines.append(f"        {element} = ({ctype})({_scaled(value, ctype)});")
    return [*lines, "    }"]


def _scaled(value: str, ctype: str) -> str:
    if is_floating(ctype):
        return f"0.5 + {value}"
    return f"2 * {value}" if ctype == "_Bool" else f"1 + 7 * {value}"


def _shown(p: Parameter) -> list[str]:
    a, name, count = p.array, f"polygpu_new_{p.array.name}", f"polygpu_count_{p.array.name}"
    inner = [_long(e) for e in a.extents[1:] if e is not None]
    fields = a.structure.fields if a.structure else (("", a.element),)
    lines = [f"    {count} = {count} < 0 ? 0 : {count};"]
    for path, ctype in fields:
        shown = f"{a.name}.{path}" if path else a.name
        formats = " %lld" * (2 + len(inner) - bool(p.scalar))
        values = ", ".join([count, *([] if p.scalar else [p.first]), *inner])
        member = f".{path}" if path else ""
        lines += [
            f'    fprintf(polygpu_out, "{shown} {ctype.replace(" ", "_")}{formats}\\n", {values});',
            f"    for (long long t = 0; t < {count}; t++)",
            f"        fwrite(&{name}[t]{member}, sizeof {name}[t]{member}, 1, polygpu_out);",
        ]
    return [*lines, f'    polygpu_guards("{a.name}", {name}, {count}, sizeof *{name});']
