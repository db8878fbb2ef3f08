"""Programs as one C file, whose `main` runs them at their sizes and prints a hash of every array."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from tests.fuzz import chosen, held, outside, pointing, widths
from tests.fuzz.carried import Carrying
from tests.fuzz.pointing import ROWS
from tests.fuzz.program import (
    RECORD,
    Affine,
    Array,
    Assign,
    Declare,
    If,
    Leave,
    Loop,
    Node,
    Operation,
    Program,
    Read,
    Scalar,
    Turn,
    Value,
    constant_type,
    substituted,
    with_literals,
)
from tests.fuzz.ranges import declared
from tests.fuzz.spellings import Spelling, types_of
from tests.fuzz.unsized import OPEN

PRELUDE = """\
#include <assert.h>
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static char walked[1 << 28]; /* what pointers go through that nothing is read by */
struct record { float x; int v_1; double w; unsigned char c; float v[3]; };

static void note(const char *name, long v) { printf("%s.note %ld\\n", name, v); }
static int toint(double x) { return x > -1000 && x < 1000 ? (int)x : 7; }
static int mix(int a, int b) { int t = a ^ b; if (t > 40) t = t / 3; return t + 1; }
static double blend(double a, double b) { return a < b ? 0.5 * a + 0.25 * b : 0.25 * a; }
"""
TOOLS = """\
static void *make(long count, size_t size, int seed, int kind)
{
    void *made = malloc(count * size);
    long t = 0;
    while (t < count) {
        unsigned bits = ((unsigned)t * 2654435761u + seed * 2246822519u) >> 16;
        switch (kind) {
        case 0: ((unsigned char *)made)[t] = bits; break;
        case 1: ((short *)made)[t] = bits; break;
        case 2: ((int *)made)[t] = (int)bits - 999; break;
        case 3: ((long *)made)[t] = (long)bits - 999; break;
        case 4: ((float *)made)[t] = bits / 65536.0f; break;
        case 5: ((double *)made)[t] = bits / 65536.0; break;
        case 7: ((float _Complex *)made)[t] = CMPLXF(bits / 65536.0f, 0.75f - bits / 131072.0f); break;
        case 8: ((double _Complex *)made)[t] = CMPLX(bits / 65536.0, 0.75 - bits / 131072.0); break;
        default: ((struct record *)made)[t] = (struct record){ bits / 65536.0f, bits, bits / 65536.0, bits,
            { bits / 131072.0f, 1, bits / 32768.0f } };
        }
        t++;
    }
    return made;
}

static unsigned long long hash;
static int signs; /* whether zeros have some */

static void add(double value)
{
    unsigned long long bits;
    value = value == value ? value : 0x1p-1000;
    if (!signs && value == 0)
        value = 0;
    memcpy(&bits, &value, sizeof bits);
    hash = (hash ^ bits) * 1099511628211ull;
    hash ^= hash >> 29;
}

static void show(const char *name, int n, int m, long count, const void *made, int kind)
{
    long t = 0;
    hash = 14695981039346656037ull;
    while (t < count) {
        const struct record *r = (const struct record *)made + t;
        switch (kind) {
        case 0: add(((unsigned char *)made)[t]); break;
        case 1: add(((short *)made)[t]); break;
        case 2: add(((int *)made)[t]); break;
        case 3: add(((long *)made)[t] >> 32); add(((long *)made)[t] & 0xffffffff); break;
        case 4: add(((float *)made)[t]); break;
        case 5: add(((double *)made)[t]); break;
        case 7: add(((float *)made)[2 * t]); add(((float *)made)[2 * t + 1]); break;
        case 8: add(((double *)made)[2 * t]); add(((double *)made)[2 * t + 1]); break;
        default: add(r->x); add(r->v_1); add(r->w); add(r->c); add(r->v[0]); add(r->v[1]); add(r->v[2]);
        }
        t++;
    }
    printf("%s %d %d %016llx\\n", name, n, m, hash);
}
"""
SUFFIXES = {"int": "", "unsigned int": "u", "long": "L", "unsigned long": "ul"}
KINDS = {
    "char": 0, "unsigned char": 0, "short": 1, "int": 2, "unsigned int": 2, "long": 3, "unsigned long": 3,
    "float": 4, "double": 5, RECORD: 6, "float _Complex": 7, "double _Complex": 8,
}  # fmt: skip


_LARGER = " = fmaxf("
_NAMES = re.compile(r"[A-Za-z_]\w*")
_PRELUDE = PRELUDE.replace("<stdlib.h>\n", "<stdlib.h>\n#include <string.h>\n")


def source(programs: Sequence[Program], pragmas: bool = True) -> str:
    """One C file; `program [number [n m]]` runs all programs at all sizes, one at all, or one at one."""
    functions = [_functions(k, p, pragmas) for k, p in enumerate(programs)]
    drivers = [_driver(k, p, _LARGER not in functions[k]) for k, p in enumerate(programs)]
    return "\n".join([_PRELUDE, *functions, TOOLS, pointing.TABLE, *drivers, _main(programs)])


def program_at(line: int, programs: Sequence[Program], pragmas: bool = True) -> int | None:
    """The number of the program whose functions have a line of `source`."""
    end = _PRELUDE.count("\n") + 1
    for k, p in enumerate(programs):
        start, end = end, end + _functions(k, p, pragmas).count("\n") + 1
        if start < line <= end:
            return k
    return None


def _functions(k: int, p: Program, pragmas: bool) -> str:
    return "\n".join([*_globals(k, p), _function(k, p, pragmas)])


def _main(programs: Sequence[Program]) -> str:
    lines = ["int main(int argc, char **argv)", "{", "    int which = argc > 1 ? atoi(argv[1]) : -1;"]
    for k, p in enumerate(programs):
        calls = " ".join(f"run{k}({n}, {m});" for n, m in p.sizes)
        lines += [
            f"    if (which == {k} && argc > 3)",
            f"        run{k}(atoi(argv[2]), atoi(argv[3]));",
            f"    else if (which < 0 || which == {k}) {{",
            f"        {calls}",
            "    }",
        ]
    return "\n".join([*lines, "    return 0;", "}", ""])


def _globals(k: int, p: Program) -> list[str]:
    lines = []
    for text, value in p.spelled("macro").items():
        suffix = SUFFIXES[constant_type("macro", p.parameter)]
        lines.append(f"#define {_constant(k, text, 'macro')} {value}{suffix}")
    if enumerated := p.spelled("enum"):
        members = ", ".join(f"{_constant(k, text, 'enum')} = {v}" for text, v in enumerated.items())
        lines.append(f"enum {{ {members} }};")
    sizes = _extents(k, p)
    lines += [
        _in_file(k, p, a, f"{a.type} {{0}}{''.join(f'[{e}]' for e in sizes[a.name])};")
        for a in p.arrays
        if a.storage == "global"
    ]
    return [*lines, *held.declarations(k, p)]


def _in_file(k: int, p: Program, a: Array, declaration: str) -> str:
    if held.is_held(p, a.name):
        return f"static struct {{ int unused; {declaration.format(a.name)} }} G{k}_{a.name};"
    return f"static {declaration.format(_renamed(k, p, a))}"


def _constant(k: int, text: str, spelling: str) -> str:
    """What a constant of program `k` is called."""
    return {"macro": f"P{k}_{text.upper()}", "enum": f"p{k}_{text}"}.get(spelling, text)


def _renamed(k: int, p: Program, a: Array) -> str:
    return f"G{k}_{a.name}" + (f".{a.name}" if held.is_held(p, a.name) else "")


def _extents(k: int, p: Program) -> dict[str, tuple[Affine, ...]]:
    """As written outside of the function's body, where no variable is known that is const."""
    sizes: dict[str, tuple[Affine, ...]] = declared(p)
    for text, value in p.spelled("literal", "const").items():
        sizes = {a: substituted(e, text, Affine((), value)) for a, e in sizes.items()}
    return {a: _with_names(k, p, e) for a, e in sizes.items()}


def _with_names(k: int, p: Program, part: Any) -> Any:
    for text, spelling in p.constants:
        if spelling in ("macro", "enum"):
            part = substituted(part, text, Affine(((_constant(k, text, spelling), 1),)))
    return part


def _unknown(p: Program, extent: Affine) -> bool:
    return any(text in p.unknown for text, _ in extent.terms)


def _parameters(k: int, p: Program) -> list[str]:
    sizes = _extents(k, p)
    found = [f"{p.parameter} {text}" for text in p.unknown]
    for a in p.arrays:
        if a.storage == "flat":
            widths = enumerate(sizes[a.name][1:], 1)
            found += [f"{p.parameter} w{d}_{a.name}" for d, width in widths if _unknown(p, width)]
            found.append(f"{a.type} *restrict {a.name}")
        elif a.storage == ROWS:
            found.append(pointing.declared(a))
        elif a.storage != "global":
            first, *rest = sizes[a.name]
            qualifier = "restrict " if a.storage == "restrict" else ""
            size = "" if a.storage == OPEN else f"{qualifier}{first}"
            found.append(f"{a.type} {a.name}[{size}]{''.join(f'[{e}]' for e in rest)}")
    return [*found, *held.parameters(k, p), *chosen.parameters(p)]


def _function(k: int, p: Program, pragmas: bool) -> str:
    writer = _CarryingWriter(k, p) if p.carried else _Writer(k, p)
    regions: list[str] = []
    for region in _with_names(k, p, with_literals(p)):
        regions += ["#pragma scop"] * pragmas
        lines = chosen.noted(p, k, writer.lines(region, "    "))
        regions += [held.spelled(p, chosen.spelled(p, line)) for line in lines]
        regions += ["#pragma endscop"] * pragmas
    lines = [chosen.head(p, f"double p{k}", _parameters(k, p)), "{", *chosen.declarations(p)]
    lines += [f"    const {p.parameter} {text} = {value};" for text, value in p.spelled("const").items()]
    own, members = held.scalars_of(p)
    lines += [*own, *outside.declarations(p)]
    if p.old:
        lines.append("    int i, j, k, l, d;")
    lines += [f"    {text};" for text in writer.declarations()]
    lines += [*members, *regions]
    total = held.spelled(
        p, " + ".join(["0.0", *(text for text, _ in p.scalars), *outside.returned(p), *writer.live])
    )
    helpers = writer.spelling.helpers if writer.spelling else []
    return "\n".join([*helpers, *lines, f"    return {total};", "}", ""])


class _Writer:
    """`declared` are further variables of the function; those that are `live` are returned."""

    def __init__(self, number: int, p: Program) -> None:
        self.declared: dict[str, str] = {}
        self.live: list[str] = []
        self.number, self.program, self.sizes = number, p, _extents(number, p)
        self.arrays = {a.name: a for a in p.arrays}
        self.spelling = self._spelling() if p.spelling else None
        self.pointing = pointing.pointing(p)

    def declarations(self) -> Iterator[str]:
        """Those of the further variables, of which some that are no pointers have no address."""
        for name, text in self.declared.items():
            chance = Random(f"{self.program.carried}:{name}:register").random()
            yield f"register {text}" if chance < 0.15 and "*" not in text and name not in self.live else text

    def _spelling(self) -> Spelling:
        p, k = self.program, self.number
        types = {**dict(p.scalars), **types_of(p.regions)}
        parameters = None if p.old or p.spelled("const") else _parameters(k, p)
        labels = Random(f"{p.spelling}:labels")
        return Spelling(Random(p.spelling), labels, f"h{k}_", self.arrays, types, parameters)

    def lines(self, nodes: tuple[Node, ...], indent: str, loop: bool = False) -> list[str]:
        """`loop` if the nodes are the body of one."""
        last = len(nodes) - 1
        return [
            line for k, node in enumerate(nodes) for line in self._spelled(node, indent, loop and k == last)
        ]

    def _spelled(self, node: Node, indent: str, last: bool) -> list[str]:
        if self.spelling is None:
            return self._node(node, indent)
        label = self.spelling.label(node, indent)
        found = self.spelling.lines(self, node, indent, last)
        return [*label, *(self._node(node, indent) if found is None else found)]

    def _node(self, node: Node, indent: str) -> list[str]:
        match node:
            case Loop(pragmas=(outer, inner)):
                return [
                    f"#pragma {outer}",
                    f"{indent}{{",
                    *self._node(replace(node, pragmas=(inner,)), indent + "    "),
                    f"{indent}}}",
                ]
            case Loop():
                head = [f"#pragma {pragma}" for pragma in node.pragmas]
                body = self._body(node, indent + "    ")
                if self.pointing and (made := self.pointing.loop(node, self.header(node), body, indent)):
                    return made
                return [*head, f"{indent}{self.header(node)} {{", *body, f"{indent}}}"]
            case If():
                lines = [f"{indent}if ({self.value(node.test)}) {{", *self.lines(node.then, indent + "    ")]
                if node.otherwise:
                    lines += [f"{indent}}} else {{", *self.lines(node.otherwise, indent + "    ")]
                return [*lines, f"{indent}}}"]
            case Assign():
                return [indent + node.template.format(self.value(node.target), self.value(node.value))]
            case Declare(name, ctype, None):
                extent = "".join(f"[{e.constant}]" for e in self.sizes.get(name, (Affine((), 1),)))
                return [f"{indent}{ctype} {name}{extent};"]
            case Declare(name, ctype, value):
                assert value is not None
                return [f"{indent}{ctype} {name} = {self.value(value)};"]
            case Leave(how):
                return [f"{indent}{how};"]
            case Turn():
                return [indent + line for line in self._turn(node)]

    def _turn(self, turn: Turn) -> list[str]:
        counter, body = turn.counter, self.lines(turn.body, "    ")
        start, test = f"int {counter} = {self.value(turn.start)};", f"{counter} < {self.value(turn.limit)}"
        step = _advance(counter, turn.step)
        match turn.form:
            case "for":
                return [f"for ({start} {test}; {step}) {{", *body, "}"]
            case "while":
                return [start, f"while ({test}) {{", f"    {step};", *body, "}"]
        return [start, "do {", f"    {step};", *body, f"}} while ({test});"]

    def _body(self, loop: Loop, indent: str) -> list[str]:
        if self.spelling:
            return self.spelling.inside(self, loop, indent)
        return self.lines(loop.body, indent)

    def header(self, loop: Loop) -> str:
        i = loop.iterator
        declare = "" if self.program.old else f"{loop.type} "
        if loop.step < 0:
            first = _least(tuple(u + Affine((), -1) for u in loop.uppers))
            if loop.wraps and not self.program.old:
                return f"for ({declare}{i} = {first}; {i} < {loop.uppers[0]}; {_advance(i, loop.step)})"
            if loop.inclusive and len(loop.lowers) == 1:
                compare = f"{i} > {loop.lowers[0] + Affine((), -1)}"
            else:
                lows = loop.lowers if loop.apart else (_largest(loop.lowers),)
                compare = " && ".join(f"{i} >= {low}" for low in lows)
            return f"for ({declare}{i} = {first}; {compare}; {_advance(i, loop.step)})"
        if loop.inclusive and len(loop.uppers) == 1:
            compare = f"{i} <= {loop.uppers[0] + Affine((), -1)}"
        else:
            ends = loop.uppers if loop.apart else (_least(loop.uppers),)
            compare = " && ".join(f"{i} < {end}" for end in ends)
        return f"for ({declare}{i} = {_largest(loop.lowers)}; {compare}; {_advance(i, loop.step)})"

    def value(self, value: Value) -> str:
        match value:
            case Affine():
                return str(value)
            case Scalar(name):
                return name
            case Operation(template, operands):
                return template.format(*(self.value(o) for o in operands))
            case Read():
                return self._element(value)

    def _element(self, read: Read) -> str:
        subscripts = [self.value(s) for s in read.subscripts]
        array = self.arrays.get(read.array)
        member = f".{read.member}" if read.member else ""
        if array is None or array.storage not in ("flat", "global"):
            return f"{read.array}{''.join(f'[{s}]' for s in subscripts)}{member}"
        if array.storage == "global":
            return (
                f"{_renamed(self.number, self.program, array)}{''.join(f'[{s}]' for s in subscripts)}{member}"
            )
        text = subscripts[0]
        for d, subscript in enumerate(subscripts[1:], 1):
            # -i of an unsigned int is far away where it is added to an unsigned long before the rest is, and
            # an i of -1 where it is added to an unsigned int before an unsigned long is
            many = "unsigned" in self.program.parameter and len(_NAMES.findall(subscript)) > 1
            within = f"({subscript})" if many or subscript.startswith("-") else subscript
            text = f"({text}) * {self._width(array, d)} + {within}"
        return f"{array.name}[{text}]{member}"

    def _width(self, array: Array, d: int) -> str:
        width = self.sizes[array.name][d]
        if _unknown(self.program, width):
            return widths.computed(self.program, array, f"w{d}_{array.name}")
        return f"({width})" if width.terms else str(width)


class _CarryingWriter(Carrying, _Writer):
    pass


def _advance(i: str, step: int) -> str:
    if abs(step) == 1:
        return f"{i}{'++' if step > 0 else '--'}"
    return f"{i} += {step}" if step > 0 else f"{i} -= {-step}"


def _least(choices: tuple[Affine, ...]) -> str:
    return str(choices[0]) if len(choices) == 1 else "({0} < {1} ? {0} : {1})".format(*choices)


def _largest(choices: tuple[Affine, ...]) -> str:
    return str(choices[0]) if len(choices) == 1 else "({0} > {1} ? {0} : {1})".format(*choices)


def _driver(k: int, p: Program, signs: bool) -> str:
    """Fresh arrays, one call, and a hash of every array afterwards: of zeros without `signs` where C says of
    results which is larger, but not which of two zeros that is.
    """
    sizes = declared(p)
    lines = [f"static void run{k}(int n, int m)", "{"]
    arguments = [chosen.passed(p, text) for text in p.unknown]
    for seed, a in enumerate(p.arrays):
        count = " * ".join(f"(long)({e})" for e in sizes[a.name])
        lines.append(f"    long count{seed} = {count};")
        lines.append(
            f"    {a.type} *{a.name} = make(count{seed}, sizeof *{a.name}, {seed}, {KINDS[a.type]});"
        )
        if a.storage == "global":
            lines.append(f"    memcpy({_renamed(k, p, a)}, {a.name}, count{seed} * sizeof *{a.name});")
            continue
        if a.storage == "flat":
            rows = [widths.passed(p, a, str(e)) for e in sizes[a.name][1:] if _unknown(p, e)]
            arguments += [chosen.passed(p, row) for row in rows]
        if a.storage == ROWS:
            arguments.append(pointing.passed(a, sizes[a.name]))
            continue
        arguments.append(f"(void *){a.name}")
    arguments += [*held.arguments(p), *chosen.arguments(p)]
    lines += ["    used = 0;", f"    signs = {int(signs)};", *held.setup(k, p)]
    lines += [
        f"    double value = p{k}({', '.join(arguments)});",
        f'    show("p{k}.value", n, m, 1, &value, 5);',
    ]
    for seed, a in enumerate(p.arrays):
        place = _renamed(k, p, a) if a.storage == "global" else a.name
        lines += [
            f'    show("p{k}.{a.name}", n, m, count{seed}, {place}, {KINDS[a.type]});',
            f"    free({a.name});",
        ]
    return "\n".join([*lines, "}", ""])
