"""The benchmark kernels with sizes that the compiler knows.

Each file of kernels/ has one kernel function, whose `int` parameters are its sizes, and a `main` that has an
`int` of the same name for each, set from the arguments. Its constant form has these sizes as macros:

    static void kernel_mv(int n, int m, REAL x[restrict n], REAL A[restrict n][m], REAL y[restrict m])
    {...}

becomes, for 64 and 96,

    #define constant_n (64)
    #define constant_m (96)
    #define n constant_n
    #define m constant_m
    static void kernel_mv(REAL x[restrict n], REAL A[restrict n][m], REAL y[restrict m])
    {...}
    #undef n
    #undef m

and with global arrays the array parameters become `static REAL constant_x[n]` and so on, which `main` copies
its arrays to before the call, and from after it. The program still takes its sizes, and fails if they differ.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks import programs

_FUNCTION = re.compile(r"^static void (kernel_\w+)\(([^)]*)\)\n(\{\n.*?^\}\n)", re.MULTILINE | re.DOTALL)
_SIZE = re.compile(r"int (\w+)")
_ARRAY = re.compile(r"(\w+) (\w+)\[restrict ([^\]]+)\](.*)")
_ARGUMENT = re.compile(r"argc > (\d+) \? atoi\(argv\[\1\]\) : (\w+)")


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel function, what its file has before and after it, and the arguments `main` calls it with."""

    name: str
    parameters: tuple[str, ...]
    body: str
    before: str
    after: str

    @property
    def arguments(self) -> tuple[str, ...]:
        return _separated(self._call[1])

    @property
    def _call(self) -> re.Match[str]:
        (call,) = re.finditer(rf"^    {self.name}\((.*)\);\n", self.after, re.MULTILINE)
        return call

    @property
    def sizes(self) -> tuple[str, ...]:
        return tuple(found[1] for found in map(_SIZE.fullmatch, self.parameters) if found)

    def calling(self, statements: str) -> str:
        """What comes after the function, with `statements` in the place of the call."""
        start, end = self._call.span()
        return self.after[:start] + statements + self.after[end:]

    def initial(self, size: str) -> str:
        """The expression in `argc` and `argv` that `main` sets a size to."""
        (found,) = re.finditer(rf"^    int {size} = (.*);\n", self.after, re.MULTILINE)
        return found[1]


@dataclass(frozen=True, slots=True)
class Array:
    """An array parameter, as a global array of constant extents."""

    type: str
    name: str
    extents: str

    @property
    def alone(self) -> str:
        return f"constant_{self.name}"

    @property
    def declaration(self) -> str:
        return f"static {self.type} {self.alone}{self.extents};"


def constant_form(kernel: str, sizes: programs.Sizes, global_arrays: bool = False) -> str:
    """The text of the kernel's program for `sizes`, the arguments its usage line names, only."""
    k = parsed(programs.source_of(kernel).read_text())
    arrays = _arrays(k) if global_arrays else {}
    macros = {size: f"constant_{size}" for size in k.sizes} | {a.name: a.alone for a in arrays.values()}
    kept = [p for p in k.parameters if not _SIZE.fullmatch(p) and p not in arrays]
    lines = [
        *(["#include <string.h>"] if arrays else []),
        *(f"#define constant_{size} ({_value(k.initial(size), sizes)})" for size in k.sizes),
        *(f"#define {name} {macro}" for name, macro in macros.items()),
        *(a.declaration for a in arrays.values()),
        f"static void {k.name}({', '.join(kept) or 'void'})",
        *k.body.splitlines(),
        *(f"#undef {name}" for name in macros),
    ]
    return k.before + "\n".join(lines) + "\n" + k.calling("".join(_call(k, arrays)))


def parsed(text: str) -> Kernel:
    (found,) = _FUNCTION.finditer(text)
    name, parameters, body = found.groups()
    return Kernel(name, _separated(parameters), body, text[: found.start()], text[found.end() :])


def _separated(text: str) -> tuple[str, ...]:
    return tuple(" ".join(part.split()) for part in text.split(","))


def _arrays(k: Kernel) -> dict[str, Array]:
    """The parameters that are arrays with extents; a pointer has none that it could be declared with."""
    found = ((p, _ARRAY.fullmatch(p)) for p in k.parameters)
    return {p: Array(m[1], m[2], f"[{m[3]}]{m[4]}") for p, m in found if m}


def _value(expression: str, sizes: programs.Sizes) -> str:
    """`expression` with the arguments that are given, and for the others what `main` takes instead."""

    def argument(found: re.Match[str]) -> str:
        place = int(found[1])
        return str(sizes[place - 1]) if place <= len(sizes) else found[2]

    return _ARGUMENT.sub(argument, expression)


def _call(k: Kernel, arrays: dict[str, Array]) -> Iterator[str]:
    """The statements of `main` that call the function, if the sizes are those it was made for."""
    given = dict(zip(k.parameters, k.arguments, strict=True))
    copied = [(a.alone, given[p]) for p, a in arrays.items()]
    kept = (given[p] for p in k.parameters if not _SIZE.fullmatch(p) and p not in arrays)
    yield f"    if ({' || '.join(f'{size} != constant_{size}' for size in k.sizes)})\n"
    yield "        return 1;\n"
    yield from (f"    memcpy({own}, {its}, sizeof {own});\n" for own, its in copied)
    yield f"    {k.name}({', '.join(kept)});\n"
    yield from (f"    memcpy({its}, {own}, sizeof {own});\n" for own, its in copied)
