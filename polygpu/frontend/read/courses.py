"""What loops do to the scalars and pointers that they change.

    k = 5; for (i = a; i < b; i++) { ... k += 2; }      k is 5 + 2 * (i - a) at the start of iteration i
    p = N; for (i = a; i < b; i++) { ... p = i; }       p is i == a ? N : i - 1

The body is read once for trial with a symbol for each of them. What an iteration adds to one of them, or sets
it to, is then an expression that holds in every iteration, whatever else happens in the body.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from typing import Any, TypeAlias

from polygpu.frontend.names.effects import outer_iterators
from polygpu.frontend.names.liveness import assigned_names
from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.names.types import Basic
from polygpu.frontend.read.expressions import Reader
from polygpu.frontend.read.loops import Counter, Header
from polygpu.frontend.read.state import Lost, Region, Substitute, Value
from polygpu.frontend.read.values import (
    at_offset,
    chosen,
    converted,
    current,
    is_followed,
    is_small,
    offset,
    same_base,
    unknown,
)
from polygpu.frontend.shape.affine import (
    Polynomial,
    add,
    counted,
    expression,
    multiplied,
    polynomial,
    scaled,
    subtract,
    total,
)
from polygpu.model.expr import SIZES, Binary, Call, Cast, Expr, Int, Name, Select, type_of
from polygpu.model.offsets import product_of
from polygpu.model.rewrite import scalars_in, substitute, walk
from polygpu.model.scop import Conversion
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.position import Position

Where: TypeAlias = tuple[str, Position]  # a loop's header and where it stands


@dataclass(frozen=True)
class Course:
    """A variable through a loop: its value before, at the start of an iteration, and what each one adds.

    `amount` is None where that is not always the same; it is added in the arithmetic of `type`.
    """

    before: Value
    entry: Value
    amount: Expr | None = None
    type: str = "int"


@dataclass(frozen=True)
class _Trial:
    """A variable before a loop, as the symbol that stands for it, and at the end of the body."""

    before: Value
    symbol: Name
    end: Value


def changed(reader: Reader, counter: Counter, loop: Any) -> list[Variable]:
    """The variables that are followed and that an iteration may change, but for the iterator."""
    names = assigned_names(loop) | set(outer_iterators(loop))
    found = (reader.scope.find(name) for name in sorted(names))
    followed = (v for v in found if isinstance(v, Variable) and is_followed(reader.region, v))
    return [v for v in followed if v is not counter.variable]


def courses(
    reader: Reader,
    counter: Counter,
    step: int,
    variables: list[Variable],
    read: Callable[[], object],
    where: Where,
) -> dict[Variable, Course]:
    """How each of `variables` goes through the loop at `where`, whose header and body `read` reads once."""
    known = {v: value for v in variables if (value := current(reader, v)) is not None}
    trials = _trials(reader.region, known, read)
    found = _inductions(reader.region, counter, step, trials, where)
    while further := _wrapped(counter, step, trials, found):
        found |= further
    for variable, t in trials.items():
        if variable not in found:
            found[variable] = Course(t.before, unknown(reader.region, variable, t.before, t.end))
    return found


def _trials(
    region: Region, known: Mapping[Variable, Value], read: Callable[[], object]
) -> dict[Variable, _Trial]:
    """Reads the body with symbols in place of what is known. Where that fails nothing is found."""
    symbols = {v: Name(f"{v.name}@{len(region.loops)}", _type(v)) for v in known}
    started = {v: at_offset(value, symbols[v]) for v, value in known.items()}
    with region.trial():
        region.values.update(started)
        try:
            read()
            ends: Mapping[Variable, Value] = {v: region.values[v] for v in known}
        except Diagnosed:
            ends = {v: _after_failure(region, v) for v in known}
    return {v: _Trial(value, symbols[v], ends[v]) for v, value in known.items()}


def _after_failure(region: Region, variable: Variable) -> Value:
    return Lost(region.at(variable.node)) if variable.name in region.kept else unknown(region, variable)


def _type(variable: Variable) -> str:
    """That of the variable's `offset`."""
    return variable.type.name if isinstance(variable.type, Basic) else "long"


def _inductions(
    region: Region, counter: Counter, step: int, trials: Mapping[Variable, _Trial], where: Where
) -> dict[Variable, Course]:
    """Those to which each iteration adds the same."""
    foreign = {counter.name, *(t.symbol.name for t in trials.values())}
    count = counter.before(Name(counter.name), step)
    found = {}
    for variable, t in trials.items():
        start, amount = offset(t.before), _amount(region, t, foreign, where)
        if start is not None and amount is not None:
            ctype = _arithmetic(t.end)
            entry = _advanced(start, amount, count, ctype)
            if is_small(entry):
                found[variable] = Course(t.before, at_offset(t.before, entry), amount, ctype)
    return found


def _amount(region: Region, t: _Trial, foreign: Set[str], where: Where) -> Expr | None:
    """What an iteration adds, where that is the same in all of them."""
    end = offset(t.end)
    if end is None or not same_base(t.before, t.end) or not _keeps(_computed(t.end), t.symbol):
        return None
    added = total(polynomial(end), scaled(polynomial(t.symbol), -1))
    if scalars_in(expression(added)) & foreign:
        return None
    return expression(_total(region, added, where))


def _computed(end: Value) -> Expr:
    """What C computes, before it converts it to the variable's type."""
    number = end.value if isinstance(end, Substitute) else offset(end)
    assert number is not None
    return number


def _arithmetic(end: Value) -> str:
    return type_of(_computed(end)) if isinstance(end, Substitute) else "long"


def _keeps(end: Expr, symbol: Name) -> bool:
    """Whether no conversion in `end` may change what it is made of the symbol."""
    return not any(
        isinstance(e, Cast) and symbol.name in scalars_in(e) and not _holds(e.type, type_of(e.operand))
        for e in walk(end)
    )


def _holds(ctype: str, other: str) -> bool:
    """Whether values of the `other` type come back from `ctype` unchanged."""
    return ctype == other or SIZES[ctype] > SIZES[other]


def _total(region: Region, amount: Polynomial, where: Where) -> Polynomial:
    """`amount` with n for the max(0, n) that loops up to n add; that 0 <= n is tested at run time."""
    found: Polynomial = {}
    for atoms, factor in amount.items():
        product: Polynomial = {(): factor}
        for atom in atoms:
            product = multiplied(product, polynomial(_end_of_range(region, atom, where)))
        found = total(found, product)
    return found


def _end_of_range(region: Region, atom: Expr, where: Where) -> Expr:
    match atom:
        case Call("max" | "min" as which, (Int() as first, end)) if not scalars_in(end) & region.iterators:
            length = subtract(end, first) if which == "max" else subtract(first, end)
            region.conversions.append(Conversion((), (), length, "unsigned int", *where))
            return end
    return atom


def _advanced(start: Expr, amount: Expr, count: Expr, ctype: str) -> Expr:
    """start + amount * count"""
    return add(start, product_of(amount, converted(count, ctype)))


def _wrapped(
    counter: Counter, step: int, trials: Mapping[Variable, _Trial], found: Mapping[Variable, Course]
) -> dict[Variable, Course]:
    """Those that an iteration sets to something known: at its start they have what the last one set."""
    symbols = {t.symbol.name for t in trials.values()}
    entries = {t.symbol.name: offset(found[v].entry) for v, t in trials.items() if v in found}
    known = {name: entry for name, entry in entries.items() if entry is not None}
    last = {counter.name: add(Name(counter.name), Int(-step))}
    more = {}
    for variable, t in trials.items():
        start, end = offset(t.before), offset(t.end)
        if variable in found or start is None or end is None or not same_base(t.before, t.end):
            continue
        if scalars_in(end) & symbols <= known.keys():
            set_before = substitute(substitute(end, known), last)
            first = Binary("==", Name(counter.name), counted(counter.first))
            entry = Select(first, start, set_before)
            if is_small(entry):
                more[variable] = Course(t.before, at_offset(t.before, entry))
    return more


def after(region: Region, header: Header, courses: Mapping[Variable, Course]) -> dict[Variable, Value]:
    """What is known after the loop, at the end of whose body `region.values` are known."""
    found = {}
    for variable, course in courses.items():
        end = region.values[variable]
        value = course.before if end == course.before else _after(header, course, end)
        found[variable] = value or unknown(region, variable, course.before, end)
    return found


def _after(header: Header, course: Course, end: Value) -> Value | None:
    before, last, final = offset(course.before), offset(end), header.final
    if before is None or last is None or final is None or not same_base(course.before, end):
        return None
    if course.amount is not None:
        number = _advanced(before, course.amount, header.counter.before(final, header.step), course.type)
    else:
        iterator = {header.counter.name: add(final, Int(-header.step))}
        number = chosen(header.runs, substitute(last, iterator), before)
    return at_offset(course.before, number) if is_small(number) else None
