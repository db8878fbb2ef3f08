"""A C program that runs one region, original or compiled, on arrays of its own.

    program OUTPUT scalar...

The region's text becomes the body of a function whose parameters are what it reads and writes, in a file
that includes the user's own. So regions of any function can be run at any size, `main` and static
functions included. OUTPUT receives, for each array (for each member of a structure), a line
`name type count extents...` and the raw elements, then the bytes around the array that nobody owns.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Expr, Int, Name, is_floating
from polygpu.model.kernel import Buffer
from polygpu.model.rewrite import references, walk
from polygpu.model.scop import Array, Scop, promised
from polygpu.printing.calls import call_of, in_scop
from polygpu.printing.host import print_user, prologue, replacement
from polygpu.support.dataclass import dataclass
from polygpu.support.templates import environment

GUARD = 64  # bytes before and after each array of the compiled region; the original's are the sanitizer's


@dataclass(frozen=True, slots=True)
class Parameter:
    """An array as the driver holds it: `rows` * `width` elements, the first with the outer index `first`.

    `flat` arrays are pointers to elements in the source, `scalar` ones variables. The elements of `distinct`
    ones are all numbers below their count: by promise, iterations write what these say to different places.
    Where the source has pointers to rows, `inner` are the lengths of dimensions behind the outer one, each
    with the place of subscript 0.
    """

    array: Array
    rows: str
    width: str
    first: str
    flat: bool
    distinct: bool = False
    inner: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return self.array.name

    @property
    def element(self) -> str:
        """The type of an element, as the source has it."""
        return self.array.element_in_source

    @property
    def scalar(self) -> bool:
        return not self.array.extents

    @property
    def is_complex(self) -> bool:
        return self.array.structure is not None and bool(self.array.structure.complex)

    @property
    def count(self) -> str:
        return f"({self.rows}) * ({self.width})" if not self.scalar else "1"

    @property
    def shape(self) -> list[str]:
        """The first outer index and the inner extents; nothing of a variable."""
        inner = [_long(e) for e in self.array.extents[1:] if e is not None] + [n for n, _ in self.inner]
        return [] if self.scalar else [self.first, *inner]

    @property
    def members(self) -> list[tuple[str, str, str, str]]:
        """Each scalar of an element: its name, how C selects it of element t, its type, and what scales a
        value from 0 to 1 for it.

        Small positive numbers, so that nothing overflows and nothing is divided by zero.
        """
        structure = self.array.structure
        element = f"polygpu_new_{self.name}[t]"
        if structure is None:
            return [("", element, self.array.element, _scaled(self.array.element))]
        return [
            (f".{path}", structure.selected(element, path), ctype, _scaled(ctype))
            for path, ctype in structure.fields
        ]


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
    computed = tuple(_computed(scop))
    buffers = in_scop(region).buffers
    apart = _distinct(scop)
    parameters = [
        replace(_roomy(_parameter(a, buffers), scop), distinct=a.name in apart)
        for a in scop.arrays
        if a.storage != "region"
    ]
    call = call_of(replace(region, gain=None))  # what is small is verified too
    passed = [(name, ctype) for name, ctype, _ in computed]
    arrays = {a.name for a in scop.arrays}
    taken = arrays | {name for name, _ in (*scalars, *passed)}
    assumed = {s.name for s in region.prepared.assumed}
    idle = [s for s in scop.numbers if s.name not in taken | assumed]
    named = taken | {s.name for s in idle}
    values = {
        # the user's own main gets out of the way
        "file": str(Path(scop.file).resolve()).replace("\\", "\\\\").replace('"', '\\"'),
        "source": scop.file,
        "line": scop.position.line,
        "parameters": parameters,
        "scalars": [(name, ctype, "atof" if is_floating(ctype) else "atoll") for name, ctype in scalars],
        "signature": ", ".join(
            [*(f"{ctype} {name}" for name, ctype in (*scalars, *passed)), *map(_declared, parameters)]
        ),
        "arguments": ", ".join([*(name for name, _ in (*scalars, *passed)), *map(_argument, parameters)]),
        "computed": computed,
        "setup": list(_setup(scop, taken)),
        "given": scop.given,
        "tables": any(p.inner for p in parameters),
        "paged": any(p.is_complex for p in parameters),
        "assumed": [(s.name, s.type, value) for s, value in region.prepared.assumed.items()],
        "idle": [(s.name, s.type, "0" if s.value is None else print_user(s.value)) for s in idle],
        "iterators": [i for i in dict.fromkeys(loop.iterator for loop in scop.loops) if i not in named],
    }
    template = environment().get_template("verify/driver.c.j2")
    live = [p for p in parameters if p.array.live_out]
    return Driver(
        template.render(values, guard=0, head=f'#line 1 "{scop.file}"\n', body=text[scop.start : scop.end]),
        template.render(
            values, guard=GUARD, head=prologue(scop.file, (call,)), body=replacement(text, scop, call)
        ),
        scalars,
        tuple(p.name for p in live),
        tuple((p.name, "it is dead after the region") for p in parameters if p not in live),
    )


def _distinct(scop: Scop) -> frozenset[str]:
    """The arrays that say where independent loops write."""
    return frozenset(
        r.array
        for a in promised(scop)
        if a.write
        for subscript in a.reference.subscripts
        for r in references(subscript)
        if not is_floating(r.type)
    )


def _scalars(scop: Scop) -> Iterator[tuple[str, str]]:
    """What the region reads, and what sizes its arrays."""
    tests = {g.name for g in scop.given if g.kind == "test"}
    read = (*scop.scalars, *scop.whole)
    found = {s.name: s.type for s in read if s.value is None and s.name not in tests}
    made = {s.name for s in read} - found.keys()
    for array in scop.arrays:
        for extent in array.extents:
            names = (e for e in walk(extent) if isinstance(e, Name)) if extent is not None else ()
            found |= {e.name: e.type for e in names if e.name not in found and e.name not in made}
    yield from found.items()


def _computed(scop: Scop) -> Iterator[tuple[str, str, str]]:
    """Name, type and value of what is made of others, of tests for NULL, and of subscripts."""
    names = {name for name, _ in _scalars(scop)}
    for s in scop.scalars:
        if s.value is not None:
            yield s.name, s.type, print_user(s.value)
    for number, g in enumerate(scop.given):
        if g.kind == "test":
            yield g.name, "int", "1"
        elif g.kind == "subscript" and g.name not in names:
            yield g.name, g.type, str(number)  # others than of the others


def _setup(scop: Scop, taken: set[str]) -> Iterator[str]:
    """Statements that give the source's variables the values of what the region reads of them."""
    given = [g for g in scop.given if g.kind != "subscript"]
    for root, declaration in {g.root: g.declaration for g in given if g.root not in taken}.items():
        yield f"{declaration}; memset((void *)&{root}, 0, sizeof {root});"
    rooms: dict[str, list[str]] = {}
    for pointer, subscript in (p for g in given for p in g.pointers if p[0] not in taken):
        rooms.setdefault(pointer, []).append(f"(long long)({subscript})")
    for pointer in sorted(rooms, key=_depth):
        most = " + ".join(rooms[pointer])
        yield f"*(void **)&{pointer} = polygpu_room(sizeof *{pointer}, {most} + {len(rooms[pointer])});"
    for g in given:
        match g.kind:
            case "scalar":
                yield f"*({g.type} *)&{g.place} = {g.name};"
            case "pointer":
                yield f"*(void **)&{g.place} = (void *){g.name};"
            case "end":
                yield f"*(void **)&{g.place} = (void *)({g.type});"
            case "table":
                yield f"memcpy((void *)&{g.place}, {g.name}, sizeof {g.place});"
            case "array":
                yield f"memcpy((void *)&{g.place}, {g.name}, polygpu_bytes_{g.name});"
            case "place":
                yield f"memcpy((void *)&{g.place}, &{g.name}, sizeof {g.name});"
            case "test" if g.place not in {*taken, *rooms, *(h.place for h in given if h.kind == "pointer")}:
                yield f"*(void **)&{g.place} = polygpu_room(1, 1);"


def _depth(pointer: str) -> int:
    return pointer.count("->") + pointer.count(".") + pointer.count("[")


def _roomy(p: Parameter, scop: Scop) -> Parameter:
    """With the elements that are read once before the region."""
    more = {s for g in scop.given for pointer, s in g.pointers if pointer == p.name and s.isdecimal()}
    if p.scalar or not more:
        return p
    return replace(p, rows=f"polygpu_most({p.rows}, {max(map(int, more)) + 1} + ({p.first}))")


def _parameter(array: Array, buffers: tuple[Buffer, ...]) -> Parameter:
    if not array.extents:
        return Parameter(array, "1", "1", "0", flat=True)
    width = " * ".join(f"(long long)({print_user(e)})" for e in array.extents[1:] if e is not None) or "1"
    if array.extents[0] is not None:
        return Parameter(array, _long(array.extents[0]), width, "0", "[0]" not in array.host)
    buffer = next((b for b in buffers if b.name == array.name), None)
    if buffer is None:
        inner = (("1", "0"),) * array.pointers
        return Parameter(array, "1", width, "0", "[0]" not in array.host, inner=inner)
    (rows, first), *others = (_reach(buffer, k) for k in range(1 + array.pointers))
    width = " * ".join(f"({n})" for n, _ in others) or width
    return Parameter(array, rows, width, first, "[0]" not in array.host, inner=tuple(others))


def _reach(buffer: Buffer, k: int) -> tuple[str, str]:
    """How many subscripts of a dimension there are, from 0 or what is below it, and the place of 0."""
    first = _long(buffer.origin[k] if buffer.origin else Int(0))
    return f"{_long(buffer.extents[k])} + polygpu_above({first})", f"polygpu_below({first})"


def _long(expr: Expr) -> str:
    return f"(long long)({print_user(expr)})"


def _declared(p: Parameter) -> str:
    """The parameter under the source's name; variables come by address."""
    if p.scalar:
        return f"{p.element} *polygpu_at_{p.name}"
    if p.inner:
        return f"{p.element} {'*' * len(p.inner)}*{p.name}"
    if p.flat:
        return f"{p.element} *restrict {p.name}"
    inner = "".join(f"[{print_user(e)}]" for e in p.array.extents[1:] if e is not None)
    return f"{p.element} {p.name}[restrict]{inner}"


def _argument(p: Parameter) -> str:
    name = f"polygpu_new_{p.name}"
    if p.inner:
        counts, firsts = zip((p.rows, p.first), *p.inner, strict=True)
        lists = (f"(long long[]){{{', '.join(part)}}}" for part in (counts, firsts))
        return f"polygpu_table((char *){name}, sizeof *{name}, {len(p.inner)}, {', '.join(lists)})"
    return name if p.scalar else f"(void *)({name} + {p.first} * ({p.width}))"


def _scaled(ctype: str) -> str:
    if is_floating(ctype):
        return "0.5 + "
    return "2 * " if ctype == "_Bool" else "1 + 7 * "
