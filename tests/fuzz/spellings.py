"""Other ways to write what a program does: helper functions, jumps, `switch`, `while`, two loops as one,
labels that nobody jumps to.

A spelling is a seed; what is written with it means the same, up to conversions of arguments.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from random import Random
from typing import Any, Protocol

from tests.fuzz.program import (
    FIELDS,
    RECORD,
    Affine,
    Array,
    Assign,
    Declare,
    If,
    Loop,
    Node,
    Read,
    Scalar,
    Turn,
    Value,
    is_floating,
)

STORES = (
    "{{ {store} }}",
    "{{ if (v < 5) {{ {target} = v; return; }} {store} }}",
    "{{ {type} t0 = {target}; if (i % 2 == 0) t0 = v; else if (i == 3) return; {target} = t0; }}",
    "{{ switch (i & 3) {{ case 0: {target} = v; break; case 1: case 3: return; default: {store} }} }}",
    "{{ if (i > 4) goto end; {store} end: if (v > 9) {target} = i; }}",
)
VALUES = (
    "{{ {type} t0 = {target}; {named} return t0; }}",
    "{{ if (v > 2) return v; return {target}; }}",
    "{{ if (i % 3 == 1) return {target}; {type} j = {target}; if (v > j) j = v; return j; }}",
    "{{ return {target} > v ? {target} : v; }}",
)
LABELLED = 0.3  # of the programs


class Writing(Protocol):
    """What writes a program, as spellings know it."""

    def lines(self, nodes: tuple[Node, ...], indent: str, loop: bool = False) -> list[str]: ...
    def value(self, value: Value) -> str: ...
    def header(self, loop: Loop) -> str: ...


@dataclass
class Spelling:
    """`prefix` begins the helpers' names, `parameters` are the function's, None where helpers cannot have
    them; `around` are the loops that are open. Grows helpers, in the order of the calls. `labelled` says what
    has a label.
    """

    random: Random
    labelled: Random
    prefix: str
    arrays: Mapping[str, Array]
    types: Mapping[str, str]
    parameters: Sequence[str] | None
    around: list[Loop] = field(default_factory=list)
    helpers: list[str] = field(default_factory=list)
    labels: int = 0

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def __post_init__(self) -> None:
        self.names_loops = self.labelled.random() < LABELLED

    def label(self, node: Node, indent: str) -> list[str]:
        """A name for a statement, of which decisions and other tools know it."""
        if not self.names_loops or isinstance(node, Declare | Turn) or self.labelled.random() < 0.5:
            return []
        self.labels += 1
        return [f"{indent}at{self.labels}:"]

    def lines(self, writer: Writing, node: Node, indent: str, last: bool) -> list[str] | None:
        """The node in another way, None for the usual one; it may be the last of a loop's body."""
        match node:
            case If():
                return self._if(writer, node, indent, last)
            case Assign() if self.chance(0.4):
                return self._assign(writer, node, indent)
            case Loop(body=(Loop() as inner,)) if _is_rectangle(node, inner) and self.chance(0.8):
                return self._collapsed(writer, node, inner, indent)
            case Loop() if self.chance(0.3) and self._stands_alone(node):
                return self._outlined(writer, node, indent)
        return None

    # -- control -------------------------------------------------------------------------------------

    def _if(self, writer: Writing, node: If, indent: str, last: bool) -> list[str] | None:
        test, inner = writer.value(node.test), indent + "    "
        then, otherwise = writer.lines(node.then, inner), writer.lines(node.otherwise, inner)
        kind = self.random.random()
        if last and kind < 0.5:
            leave = f"if (!({test}))" if self.chance(0.6) else f"switch ({test}) case 0:"
            first = [f"{indent}{leave} {{", *otherwise, f"{inner}continue;", f"{indent}}}"]
            return [*first, f"{indent}{{", *then, f"{indent}}}"]
        if kind < 0.3:
            return self._goto(test, then, otherwise, indent)
        if kind < 0.6:
            zero = (
                [f"{indent}case 0: {{", *otherwise, f"{indent}}} break;"]
                if otherwise
                else [f"{indent}case 0: break;"]
            )
            return [f"{indent}switch ({test}) {{", *zero, f"{indent}default: {{", *then, f"{indent}}} }}"]
        return self._once(test, then, otherwise, indent) if kind < 0.75 else None

    def _once(self, test: str, then: list[str], otherwise: list[str], indent: str) -> list[str]:
        """A loop that runs once, as in macros, and is left where the test holds, or fails."""
        inner, leave = indent + "    ", self.random.choice(("break;", "break;", "continue;"))
        if self.chance(0.4):
            test, then, otherwise = f"!({test})", otherwise, then
        first = [f"{inner}if ({test}) {{", *then, f"{inner}    {leave}", f"{inner}}}"]
        return [f"{indent}do {{", *first, *otherwise, f"{indent}}} while (0);"]

    def _goto(self, test: str, then: list[str], otherwise: list[str], indent: str) -> list[str]:
        self.labels += 2
        yes, end = f"l{self.labels}", f"l{self.labels + 1}"
        if not otherwise:
            return [
                f"{indent}if (!({test})) goto {end};",
                f"{indent}{{",
                *then,
                f"{indent}}}",
                f"{indent}{end}: ;",
            ]
        lines = [
            f"{indent}if ({test}) goto {yes};",
            f"{indent}{{",
            *otherwise,
            f"{indent}}}",
            f"{indent}goto {end};",
        ]
        return [*lines, f"{indent}{yes}: {{", *then, f"{indent}}}", f"{indent}{end}: ;"]

    def _collapsed(self, writer: Writing, outer: Loop, inner: Loop, indent: str) -> list[str] | None:
        """One loop whose iterator is divided, where each of two has an iteration."""
        if not all(writer.header(loop).startswith("for (int ") for loop in (outer, inner)):
            return None
        rows, columns = _extent(outer), _extent(inner)
        name = f"{outer.iterator}_{inner.iterator}"
        total = f"{rows} * {columns}" if self.chance(0.7) else f"{columns} * {rows}"
        tests = (f"{loop.uppers[0]} > {loop.lowers[0]}" for loop in (outer, inner))
        self.around.append(outer)
        body = self.inside(writer, inner, f"{indent}        ")
        self.around.pop()
        return [
            f"{indent}if ({' && '.join(tests)}) {{",
            f"{indent}    for (int {name} = 0; {name} < {total}; {name}++) {{",
            f"{indent}        int {outer.iterator} = {outer.lowers[0]} + {name} / {columns};",
            f"{indent}        int {inner.iterator} = {inner.lowers[0]} + {name} % {columns};",
            *body,
            f"{indent}    }}",
            f"{indent}}}",
        ]

    # -- helpers -------------------------------------------------------------------------------------

    def _assign(self, writer: Writing, node: Assign, indent: str) -> list[str]:
        ctype, member = self._type(node.target)
        target, value = writer.value(node.target), writer.value(node.value)
        whole = RECORD if member else ctype
        place = f"p->{member}" if member else self.random.choice(("p[0]", "(*p)"))
        given = self.random.choice(
            ("float", "double", ctype) if is_floating(ctype) else ("int", "long", ctype)
        )
        if given == "double":
            value = f"(({RECORD}){{ .w = {value} }}).w"
        address = f"&{target.removesuffix(f'.{member}') if member else target}"
        iterator = self.around[-1].iterator if self.around else "1"
        texts = {"type": ctype, "target": place, "store": node.template.format(place, "v")}
        texts["named"] = node.template.format("t0", "v")
        # Elements of an array of the region's have no value before what fills it.
        filling = isinstance(node.target, Read) and node.target.array not in self.arrays
        filling = filling or (is_floating(ctype) and _starts(node))
        storing = self.chance(0.6) or filling
        body = self.random.choice(STORES[: 1 if filling else None] if storing else VALUES).format(**texts)
        constant = "" if storing else "const "
        name = self._name()
        head = f"static {'void' if storing else ctype} {name}({constant}{whole} *p, {given} v, int i)"
        self.helpers.append(f"{head}\n{body}\n")
        call = f"{name}({address}, {value}, {iterator});"
        return [f"{indent}{call if storing else f'{target} = {call}'}"]

    def _name(self) -> str:
        return f"{self.prefix}{len(self.helpers)}"

    def _type(self, target: Read | Scalar) -> tuple[str, str]:
        """The target's type, and the member that it is of a record."""
        if isinstance(target, Read) and target.member:
            return dict(FIELDS)[target.member], target.member
        name = target.name if isinstance(target, Scalar) else target.array
        return (self.arrays[name].type if name in self.arrays else self.types[name]), ""

    def _stands_alone(self, loop: Loop) -> bool:
        """Whether a helper with the function's parameters can run the loop."""
        declared = {part.name for part in _parts(loop) if isinstance(part, Declare)}
        scalars = {part.name for part in _parts(loop) if isinstance(part, Scalar)}
        arrays = {part.array for part in _parts(loop) if isinstance(part, Read)}
        known = declared | self.arrays.keys()
        return self.parameters is not None and scalars <= declared and arrays <= known and bool(self.around)

    def _outlined(self, writer: Writing, loop: Loop, indent: str) -> list[str]:
        assert self.parameters is not None
        iterators = [f"{outer.type} {outer.iterator}" for outer in self.around]
        body = self._as_while(writer.header(loop), self.inside(writer, loop, "        "))
        name = self._name()
        head = f"static void {name}({', '.join([*self.parameters, *iterators])})"
        self.helpers.append("\n".join([head, "{", *body, "}", ""]))
        given = [_declared_name(text) for text in (*self.parameters, *iterators)]
        return [f"{indent}{name}({', '.join(given)});"]

    def _as_while(self, header: str, body: list[str]) -> list[str]:
        """The loop, or one that steps at its body's end."""
        start, test, step = header.removeprefix("for (").removesuffix(")").split("; ")
        if any("continue" in line for line in body) or self.chance(0.6):
            return [f"    {header} {{", *body, "    }"]
        return [f"    {start};", f"    while ({test}) {{", *body, f"        {step};", "    }"]

    def inside(self, writer: Writing, loop: Loop, indent: str) -> list[str]:
        self.around.append(loop)
        lines = writer.lines(loop.body, indent, loop=True)
        self.around.pop()
        return lines


def _starts(node: Assign) -> bool:
    """Whether it stores a number: what a sum of numbers begins with, that is exact if it does."""
    return node.template == "{0} = {1};" and isinstance(node.value, Affine) and not node.value.terms


def _is_rectangle(outer: Loop, inner: Loop) -> bool:
    """Whether both count up by 1 between a bound each, the inner one between the same in each iteration."""
    plain = all(
        loop.step == 1
        and loop.type == "int"
        and not loop.pragmas
        and len(loop.lowers) == len(loop.uppers) == 1
        for loop in (outer, inner)
    )
    return plain and outer.iterator not in f"{inner.lowers[0]} {inner.uppers[0]}"


def _extent(loop: Loop) -> str:
    low, high = str(loop.lowers[0]), str(loop.uppers[0])
    return f"({high})" if low == "0" else f"({high} - ({low}))"


def _declared_name(parameter: str) -> str:
    """`A` of `float A[restrict n][m]`."""
    return parameter.split("[", maxsplit=1)[0].rsplit(maxsplit=1)[-1].lstrip("*")


def _parts(part: Any) -> Iterator[Any]:
    if isinstance(part, tuple):
        for item in part:
            yield from _parts(item)
    elif hasattr(part, "__dataclass_fields__"):
        yield part
        for item in fields(part):
            yield from _parts(getattr(part, item.name))


def types_of(nodes: tuple[tuple[Node, ...], ...]) -> dict[str, str]:
    """The types of what the regions declare."""
    return {part.name: part.type for part in _parts(nodes) if isinstance(part, Declare)}
