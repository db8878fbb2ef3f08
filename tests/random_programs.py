"""Random affine programs as C text: every subscript stays inside its array and no value overflows."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

ITERATORS = ("i", "j", "k")
TYPES = ("float", "double", "int")


@dataclass(frozen=True)
class Array:
    """`reach[d]` is the largest sum of coefficients a subscript of dimension d may have."""

    name: str
    type: str
    reach: tuple[int, ...]

    @property
    def extents(self) -> tuple[str, ...]:
        """Each term of a subscript lies in [0, n], its constant in [0, 2]."""
        return tuple(f"{r} * n + 3" if r > 1 else "n + 3" for r in self.reach)

    @property
    def parameter(self) -> str:
        return f"{self.type} {self.name}[restrict {']['.join(self.extents)}]"


@dataclass(frozen=True)
class Program:
    """The body of `void <name>(int n, arrays)`; `scalars` are declared before the region and live after."""

    arrays: tuple[Array, ...]
    scalars: tuple[tuple[str, str], ...]
    body: tuple[str, ...]

    def function(self, name: str) -> str:
        parameters = ", ".join(["int n", *(a.parameter for a in self.arrays)])
        lines = [f"static double {name}({parameters})", "{"]
        lines += [f"    {ctype} {scalar} = 1;" for scalar, ctype in self.scalars]
        lines += ["#pragma scop", *(f"    {line}" for line in self.body), "#pragma endscop"]
        total = " + ".join(["0.0", *(scalar for scalar, _ in self.scalars)])
        return "\n".join([*lines, f"    return {total};", "}"])


@dataclass(frozen=True)
class Scope:
    """What a statement may name: the iterators around it and the scalars declared so far."""

    arrays: tuple[Array, ...]
    iterators: tuple[str, ...]
    locals: tuple[tuple[str, str], ...]
    scalars: tuple[tuple[str, str], ...]


@st.composite
def programs(draw: st.DrawFn) -> Program:
    arrays = tuple(draw(_array(f"A{k}")) for k in range(draw(st.integers(1, 3))))
    scalars = (("s", draw(st.sampled_from(TYPES))),) if draw(st.integers(0, 3)) == 3 else ()
    scope = Scope(arrays, (), (), scalars)
    body: list[str] = []
    for _ in range(draw(st.integers(1, 2))):
        body += draw(_loop(scope))
    return Program(arrays, scalars, tuple(body))


@st.composite
def _array(draw: st.DrawFn, name: str) -> Array:
    rank = draw(st.sampled_from([1, 2, 2, 2, 3]))
    reach = tuple(draw(st.sampled_from([1, 1, 1, 1, 2])) for _ in range(rank))
    return Array(name, draw(st.sampled_from(TYPES)), reach)


@st.composite
def _loop(draw: st.DrawFn, scope: Scope) -> list[str]:
    """A loop whose iterator stays in [0, n - 1]."""
    name = ITERATORS[len(scope.iterators)]
    low = draw(st.sampled_from(["0", "0", "1", *scope.iterators, *(f"{i} + 1" for i in scope.iterators[:1])]))
    high = draw(
        st.sampled_from(["n", "n", "n - 1", *scope.iterators, *(f"n - {i}" for i in scope.iterators)])
    )
    step = draw(st.sampled_from([1, 1, 1, 2, 3]))
    if draw(st.integers(0, 3)) == 3:
        advance = f"{name}--" if step == 1 else f"{name} -= {step}"
        header = f"for (int {name} = {high} - 1; {name} >= {low}; {advance})"
    else:
        advance = f"{name}++" if step == 1 else f"{name} += {step}"
        header = f"for (int {name} = {low}; {name} < {high}; {advance})"
    inside = Scope(scope.arrays, (*scope.iterators, name), (), scope.scalars)
    return [f"{header} {{", *(f"    {line}" for line in draw(_block(inside))), "}"]


@st.composite
def _block(draw: st.DrawFn, scope: Scope) -> list[str]:
    """A deeper loop while there is depth left, or statements, the last one a store."""
    lines: list[str] = []
    for number in range(draw(st.sampled_from([0, 1, 1, 2] if len(scope.iterators) < 3 else [0, 0, 1]))):
        kinds = ["store", "store", "local", "if", "when"]
        kinds += ["loop"] * 4 if len(scope.iterators) < len(ITERATORS) else []
        match draw(st.sampled_from(kinds)):
            case "loop":
                lines += draw(_loop(scope))
            case "local":
                name = f"t{len(scope.iterators)}{number}"
                ctype = draw(st.sampled_from(TYPES))
                lines.append(f"{ctype} {name} = {draw(_value(scope, ctype))};")
                scope = Scope(scope.arrays, scope.iterators, (*scope.locals, (name, ctype)), scope.scalars)
            case "store":
                lines.append(draw(_store(scope)))
            case "if":
                lines.append(f"if ({draw(_affine_test(scope))}) {draw(_store(scope))}")
            case "when":
                lines.append(f"if ({draw(_data_test(scope))}) {draw(_store(scope))}")
    if not lines or lines[-1] != "}" or draw(st.booleans()):
        lines.append(draw(_store(scope)))
    return lines


@st.composite
def _affine_test(draw: st.DrawFn, scope: Scope) -> str:
    left = draw(st.sampled_from(scope.iterators))
    right = draw(st.sampled_from([*scope.iterators, "n - 2", "1", "2"]))
    tests = [f"{left} {op} {right}" for op in ("<", "<=", ">", ">=", "==", "!=")]
    tests += [f"({left} + {right}) % 2 == 0", f"{left} % 3 == 1", f"{left} < {right} || {left} > 3"]
    return draw(st.sampled_from(tests))


@st.composite
def _data_test(draw: st.DrawFn, scope: Scope) -> str:
    return f"{draw(_element(scope))} > {draw(_element(scope))}"


@st.composite
def _store(draw: st.DrawFn, scope: Scope) -> str:
    """An assignment, or an accumulation over whatever loops the target does not use."""
    names = [*scope.scalars, *scope.locals]
    if names and draw(st.integers(0, 2)) == 2:
        target, ctype = draw(st.sampled_from(names))
    else:
        array = draw(st.sampled_from(scope.arrays))
        target, ctype = draw(_element_of(array, scope)), array.type
    value = draw(_value(scope, ctype))
    if draw(st.booleans()):
        return f"{target} = {value};"
    if ctype == "int":
        return f"{target} = ({target} & 4095) + {value};"
    return f"{target} += {value};"


@st.composite
def _value(draw: st.DrawFn, scope: Scope, ctype: str) -> str:
    """A small positive number: a weighted mean of up to three operands."""
    operands = [draw(_operand(scope, ctype)) for _ in range(draw(st.integers(1, 3)))]
    if ctype == "int":
        return " + ".join(f"({operand} & 1023)" for operand in operands)
    weight = ("0.5f", "0.25f", "0.125f") if ctype == "float" else ("0.5", "0.25", "0.125")
    return " + ".join(f"{w} * {operand}" for w, operand in zip(weight, operands, strict=False))


@st.composite
def _operand(draw: st.DrawFn, scope: Scope, ctype: str) -> str:
    arrays = [a for a in scope.arrays if ctype != "int" or a.type == "int"]
    names = [n for n, t in (*scope.scalars, *scope.locals) if ctype != "int" or t == "int"]
    kind = draw(st.sampled_from(["element"] * 4 * bool(arrays) + ["name"] * 2 * bool(names) + ["number"]))
    match kind:
        case "element":
            return draw(_element_of(draw(st.sampled_from(arrays)), scope))
        case "name":
            return draw(st.sampled_from(names))
    iterator = draw(st.sampled_from(scope.iterators))
    return f"({iterator} + 2)" if draw(st.booleans()) else "3"


@st.composite
def _element(draw: st.DrawFn, scope: Scope) -> str:
    return draw(_element_of(draw(st.sampled_from(scope.arrays)), scope))


@st.composite
def _element_of(draw: st.DrawFn, array: Array, scope: Scope) -> str:
    return array.name + "".join([f"[{draw(_subscript(r, scope))}]" for r in array.reach])


@st.composite
def _subscript(draw: st.DrawFn, reach: int, scope: Scope) -> str:
    """The sum of `reach` terms i or n - i, or none, and 0, 1 or 2."""
    chosen = [draw(st.sampled_from(scope.iterators)) for _ in range(draw(st.sampled_from([0, *[reach] * 7])))]
    terms = [f"n - {c}" if draw(st.integers(0, 9)) == 9 else c for c in chosen]
    constant = draw(st.sampled_from([0, 1, 1, 2]))
    return " + ".join([*terms, *([str(constant)] if constant or not terms else [])])


_PRELUDE = """\
#include <stdio.h>
#include <stdlib.h>

static void *new_array(size_t count, size_t size, unsigned seed, int kind)
{
    char *bytes = malloc(count * size);
    for (size_t t = 0; t < count; t++) {
        unsigned bits = ((unsigned)t * 2654435761u + seed * 2246822519u) >> 16;
        if (kind == 0)
            ((int *)bytes)[t] = (int)bits;
        else if (kind == 1)
            ((float *)bytes)[t] = (float)bits / 65536;
        else
            ((double *)bytes)[t] = (double)bits / 65536;
    }
    return bytes;
}

static void show(const char *name, size_t size, const void *array)
{
    const unsigned char *bytes = array;
    unsigned long long hash = 14695981039346656037ull;
    for (size_t t = 0; t < size; t++)
        hash = (hash ^ bytes[t]) * 1099511628211ull;
    printf("%s %016llx\\n", name, hash);
}
"""


def source(programs: list[Program]) -> str:
    """One C file of all `programs`; its `main` runs each for every size on the command line."""
    parts = [_PRELUDE, *(p.function(f"p{k}") for k, p in enumerate(programs))]
    parts += [_driver(k, p) for k, p in enumerate(programs)]
    calls = " ".join(f"run{k}(n);" for k in range(len(programs)))
    parts.append(
        "int main(int argc, char **argv)\n{\n    for (int a = 1; a < argc; a++) {\n"
        f"        int n = atoi(argv[a]);\n        {calls}\n    }}\n    return 0;\n}}"
    )
    return "\n\n".join(parts) + "\n"


def _driver(number: int, p: Program) -> str:
    """Fresh arrays, one call, and a hash of every array afterwards."""
    lines = [f"static void run{number}(int n)", "{"]
    for seed, a in enumerate(p.arrays):
        count = " * ".join(f"(size_t)({e})" for e in a.extents)
        make = f"new_array({count}, sizeof({a.type}), {seed}, {('int', 'float', 'double').index(a.type)})"
        lines.append(f"    void *{a.name} = {make};")
    arguments = ", ".join(["n", *(a.name for a in p.arrays)])
    lines += [
        f"    double value = p{number}({arguments});",
        f'    show("p{number} value", sizeof value, &value);',
    ]
    for a in p.arrays:
        count = " * ".join([f"(size_t)({e})" for e in a.extents] + [f"sizeof({a.type})"])
        lines += [f'    show("p{number} {a.name}", {count}, {a.name});', f"    free({a.name});"]
    return "\n".join([*lines, "}"])
