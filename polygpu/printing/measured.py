"""What the host does before a region to measure arrays: loops that find the largest of some subscripts."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from polygpu.analysis.measured import read_by
from polygpu.lower.measured import loops
from polygpu.lower.scan import Scan, ScanBlock, ScanFor, ScanIf, ScanLeaf
from polygpu.model.expr import Binary, Cast, Expr, Name, Reference, is_floating
from polygpu.model.kernel import ArrayArgument, Buffer
from polygpu.model.rewrite import action_expressions, actions, rewrite, scalars_in, substitute, walk
from polygpu.model.scop import (
    LARGEST_SIZE,
    Action,
    Array,
    Branch,
    Let,
    Measure,
    Repeat,
    Scop,
    Statement,
    Store,
)
from polygpu.printing.dialects import C
from polygpu.printing.printer import Names, braced, indented, print_expr
from polygpu.support.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Measured:
    """`lines` that set the variables `names`, and `tests` of what they found, each with the clause that says
    what fails. Where arrays may stay on the device, that those which they read are `inspected` brings back
    what is newer there, and `contents` are numbers for what is in them: what was found with these and the
    numbers `given` is found again. None are given where it takes more than integers.
    """

    names: tuple[str, ...]
    lines: tuple[str, ...]
    inspected: str
    tests: tuple[tuple[str, str], ...]
    contents: tuple[str, ...] = ()
    given: tuple[str, ...] | None = None

    def kept(self) -> list[str]:
        """The lines where arrays may stay on the device."""
        if self.given is None or not self.contents:
            return [*self.lines]
        now, found = [*self.contents, *self.given], [v for n in self.names for v in (n, f"{n}_first")]
        places = [(f"polygpu_known[{k}]", v) for k, v in enumerate(found, len(now))]
        return [
            f"static __thread long long polygpu_known[{len(now) + len(found)}];",
            f"const long long polygpu_now[] = {{{', '.join(now)}}};",
            *braced(
                f"if (!polygpu_is_known(polygpu_known, polygpu_now, {len(self.contents)}, {len(now)}))",
                [*self.lines, *(f"{place} = {value};" for place, value in places)],
            ),
            *(f"{value} = {place};" for place, value in places),
        ]


def chosen_reason(
    tests: Iterable[tuple[str, str]], measured: Iterable[Measured], says: str, kept: bool
) -> str:
    """What sets `polygpu_reason` to that of the first test that fails, in `tests` a C string.

    Arrays are measured as soon as all tests hold that do not need it, one after the other: what they are
    measured by is what the region reads then. `says` begins what is said of tests that are `measured`.
    """
    left, measured = list(tests), tuple(measured)
    unknown = {name for m in measured for name in m.names}
    text = "".join(f"    long long {n} = 0, {n}_first = 0;\n" for m in measured for n in m.names)
    now = [t for t in left if unknown.isdisjoint(_words(t[0]))]
    reason = f"\n        {_first(now, ' ' * 8)}" if now else " 0"
    text += f"    const char *polygpu_reason ={reason};\n"
    for m in measured:
        left = [t for t in left if t not in now]
        unknown -= {*m.names}
        now = [(test, f'"{says}{why}"') for test, why in m.tests]
        now += [t for t in left if unknown.isdisjoint(_words(t[0]))]
        reason = f"polygpu_reason =\n    {_first(now, '    ')};"
        lines = [*(m.kept() if kept else m.lines), *reason.split("\n")]
        if kept and m.inspected:
            why = f"{says}a pragma maps what tells how much of an array is read"
            text += f'    if (!polygpu_reason && !({m.inspected}))\n        polygpu_reason = "{why}";\n'
        text += "".join(f"    {line}\n" for line in braced("if (!polygpu_reason)", lines))
    return text


def _words(test: str) -> list[str]:
    return re.findall(r"\w+", test)


HELPERS = """\
static inline void polygpu_reach(long long subscript, long long *first, long long *extent)
{
    *first = subscript < *first ? subscript : *first;
    *extent = subscript < *extent ? *extent : subscript + 1;
}
"""
KEPT_HELPERS = """\
static inline int polygpu_is_known(long long *known, const long long *now, int contents, int count)
{
    int k, same = 1;
    for (k = 0; k < count; k++) {
        same &= known[k] == now[k] && (k >= contents || now[k]);
        known[k] = now[k];
    }
    return same;
}
"""


def _first(tests: Iterable[tuple[str, str]], margin: str) -> str:
    """The reason of the first test that fails."""
    return f" :\n{margin}".join([*(f"!({test}) ?\n{margin}    {why}" for test, why in tests)]) + " : 0"


@dataclass(frozen=True)
class Measuring:
    """Prints the measures of `scop`, in whose place the host file has a call.

    `plain` spells out what C lacks; `span` tells of a buffer of an array where it is and its bytes.
    """

    scop: Scop
    buffers: Mapping[str, Buffer]
    plain: Callable[[Expr], Expr]
    span: Callable[[Array, Buffer], tuple[str, str]]

    def of(self, m: Measure) -> Measured:
        names = {array: self._sources[scalar] for array, scalar in m.extents}
        arrays = [a for a in self.scop.arrays if a.name in read_by(m)]
        unknown = {
            array for later in self.scop.measures[self.scop.measures.index(m) :] for array, _ in later.extents
        }
        statements = {s.name: s for s in m.statements}
        scanned = self._scanned(loops(self.scop, m), statements)
        pointers = [f"(long long)(unsigned long)({a.host or a.name})" for a in arrays]
        numbers = self._numbers(m, arrays)
        return Measured(
            tuple(names.values()),
            (*map(_pointer, arrays), *map(_copy, m.copies), *scanned),
            " && ".join(_inspected(self._place(a, unknown)) for a in arrays),
            tuple(_test(name, a.shown) for a in self.scop.arrays if (name := names.get(a.name))),
            tuple(f"polygpu_host_knows({', '.join(self._place(a, unknown))})" for a in arrays),
            None if numbers is None else (*pointers, *numbers),
        )

    def _numbers(self, m: Measure, arrays: Iterable[Array]) -> list[str] | None:
        """The scalars that it depends on; None where others than integers of the region are among these."""
        bodies = [e for s in m.statements for a in actions(s.body) for e in action_expressions(a)]
        sizes = [e for a in arrays for e in a.extents[1:] if e is not None]
        names = scalars_in(*sizes, *(e for s in m.statements for e in s.domain), *bodies)
        found = [s for s in self.scop.scalars if s.name in names]
        if any(a.host for a in m.copies) or any(is_floating(s.type) for s in found):
            return None
        return [f"(long long)({s.source})" for s in found]

    @cached_property
    def _sources(self) -> dict[str, str]:
        return {s.name: s.source for s in self.scop.scalars}

    def _place(self, array: Array, unknown: Container[str]) -> tuple[str, str]:
        """Where the elements are that the region touches, and their bytes; all memory where it has none, or
        how many is `unknown`.
        """
        buffer = self.buffers.get(array.name)
        return self.span(array, buffer) if buffer and array.name not in unknown else ("0", "0")

    def _scanned(self, tree: Scan, statements: Mapping[str, Statement]) -> list[str]:
        match tree:
            case ScanFor(index, lower, upper, step, body):
                low, test = self._bound(lower), self._bound(Binary("<", Name(index), upper))
                head = f"for (int {index} = {low}; {test}; {index} += {step})"
                return braced(head, self._inside(body, statements))
            case ScanIf(test, then, otherwise):
                lines = braced(f"if ({self._bound(test)})", self._inside(then, statements))
                return lines + (braced("else", self._inside(otherwise, statements)) if otherwise else [])
            case ScanBlock(children):
                return [line for child in children for line in self._scanned(child, statements)]
        return ["{", *indented(self._inside(tree, statements)), "}"]

    def _inside(self, tree: Scan, statements: Mapping[str, Statement]) -> list[str]:
        """What stands in braces of its own."""
        if not isinstance(tree, ScanLeaf):
            return self._scanned(tree, statements)
        s = statements[tree.statement]
        types = _types(s)
        values = zip(s.iterators, tree.arguments, strict=True)
        given = [f"const {types[i]} {_own(i)} = {self._bound(value)};" for i, value in values if i in types]
        return [*given, *self._body(s.body, s)]

    def _bound(self, e: Expr) -> str:
        """Of a loop: sizes of any type count as wide."""
        wide = {s.name: Cast("long long", Name(s.name)) for s in self.scop.scalars if s.affine and not s.fits}
        return self._text(substitute(e, {**wide}))

    def _body(self, body: Iterable[Action], s: Statement) -> Iterator[str]:
        for a in body:
            match a:
                case Store(target, value):
                    yield self._stored(target.array, self._value(value, s))
                case Let(name, ctype, value, assign):
                    yield f"{'' if assign else f'{ctype} '}{_own(name)} = {self._value(value, s)};"
                case Branch(test, then, otherwise):
                    yield from braced(f"if ({self._value(test, s)})", self._body(then, s))
                    if otherwise:
                        yield from braced("else", self._body(otherwise, s))
                case Repeat(test, inner):
                    yield from braced(f"while ({self._value(test, s)})", self._body(inner, s))

    def _stored(self, scalar: str, value: str) -> str:
        if scalar not in self.scop.measured:
            return f"{_own(scalar)} = {value};"
        name = self._sources[scalar]
        return f"polygpu_reach({value}, &{name}_first, &{name});"

    def _value(self, e: Expr, s: Statement) -> str:
        own = {*s.iterators, *(a.name for a in actions(s.body) if isinstance(a, Let))}
        names = (n for n in walk(e) if isinstance(n, Name) and n.name in own)
        return self._text(substitute(e, {n.name: replace(n, name=_own(n.name)) for n in names}))

    def _text(self, e: Expr) -> str:
        return print_expr(self._in_source(e), self._names)

    def _in_source(self, e: Expr) -> Expr:
        return self.plain(rewrite(e, self._named))

    def _named(self, e: Expr) -> Expr | None:
        """As the host file calls it."""
        match e:
            case Name(name, ctype) if name in self._sources:
                return Name(self._sources[name], ctype)
            case Reference(array, (), ctype):
                return Name(_own(array), ctype)
        return None

    @cached_property
    def _names(self) -> Names:
        arrays = {a.name: self._argument(a) for a in self.scop.arrays if a.extents}
        return Names(C, arrays, "long long", constants={name: _own(name) for name in arrays})

    def _argument(self, a: Array) -> ArrayArgument:
        extents = tuple(e if e is None else self._in_source(e) for e in a.extents)
        pitch = extents[-1] if len(extents) > 1 else None
        return ArrayArgument(a.name, a.element, extents, pitch, True, False, a.structure)


def _inspected(place: tuple[str, str]) -> str:
    why = "subscripts tell how much of an array is read"
    return f'polygpu_host_inspects({", ".join(place)}, "{why}")'


def _own(name: str) -> str:
    return f"polygpu_the_{name}"


def _pointer(a: Array) -> str:
    return f"const {a.element_in_source} *const {_own(a.name)} = ({a.host or a.name});"


def _copy(a: Array) -> str:
    """A scalar of the region's own has no value yet."""
    return f"{a.element_in_source} {_own(a.name)} = {f'*({a.host})' if a.host else '0'};"


def _test(extent: str, shown: str) -> tuple[str, str]:
    why = f"a subscript of '{shown}' is below 0, or beyond what kernels count to"
    return f"{extent}_first >= 0 && {extent} <= {LARGEST_SIZE}", why


def _types(s: Statement) -> dict[str, str]:
    """The types that iterators have in what the statement computes."""
    names = (
        e
        for a in actions(s.body)
        for whole in action_expressions(a)
        for e in walk(whole)
        if isinstance(e, Name) and e.name in s.iterators
    )
    return {e.name: e.type for e in names}
