"""What NVIDIA's compilers translate wrongly, spelled so that they are right, in CUDA and in OpenCL.

- nvcc 13.0 to 13.5: of `c ? r[i] : a[j]` they load from one of two addresses, and where `r` is `const` and
  `restrict` by a load that sees no stores of the kernel, though the kernel has stored `a[j]`. If `r` is not
  `restrict` they do not, and its other loads are what they were.
- nvcc 13.0 to 13.5: `a[-2 * i + 64]` is held to be none of the elements that constants name, one of which is
  kept in a register while `a[-2 * i + 64]` is stored. `a[64 - 2 * i]` and `a[-(2 * i)]` are not.
- nvcc 12.6 to 13.3, compute capability 9.0: `max(max(-k, k + a), b)` is `max(max(k, k + a), b)`.
- nvcc 12.4 to 13.5, compute capability 9.0: `for (int c = a; c < -j; ++c)` may end after its first iteration,
  and `for (int i = a; i > -min(b, c); --i)` go on too long, where the sign changes behind the first use.
  Neither loops that count down have such tests (`printing.countdown`), nor do others, which go on while
  `c + j < 0` or `i + min(b, c) > 0` (`printing.printer`).
- nvcc 13.0 and 13.1: of `for (int k = 0; k < n; ++k) a[r * p + i] += a[k * p + i + 2]`, which they unroll,
  they store at `a[r * p + i + 2]`: they tell one of two rows by the other's address, constants included. Of
  `for (int k = 0; k < n; ++k) if (a[k * p + 2] > b) a[k * p + 2] = b` they store at `a[k * p + 4]`, but for
  the first of the iterations that they make one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Set
from functools import lru_cache
from itertools import takewhile
from typing import TypeAlias

from polygpu.model.expr import SIZES, Binary, Call, Expr, Int, Name, Reference, Select, Unary
from polygpu.model.kernel import ArrayArgument, Assign, Declare, For, If, Kernel, Statement, While
from polygpu.model.kernel_walk import Body, bodies, operands, reads, statements
from polygpu.model.linear import affine, linear, subtract
from polygpu.model.rewrite import REMEMBERED, children, scalars_in, walk, with_children

_OPPOSITE = {"min": "max", "max": "min"}

Load: TypeAlias = tuple[str, int]  # an array and how many bytes are loaded
Pairs: TypeAlias = Set[tuple[str, Load]]  # what a load is for, "" in a conditional, and the load
Values: TypeAlias = Mapping[str, Expr | None]


def read_beside_stores(kernel: Kernel) -> frozenset[str]:
    """The arrays that a kernel only reads, of which something gets an element by one side of a branch or of a
    conditional, and elsewhere one as large of an array that the kernel writes.
    """
    only_read = {a.name for a in kernel.arrays if a.read and not a.written}
    changed = {a.name for a in kernel.arrays if a.read and a.written}
    if not only_read or not changed:
        return frozenset()
    copies = _copies(kernel.body)
    everywhere = _assigned(kernel.body, copies)
    pairs = [*_sides(kernel.body, copies)]
    pairs += (({*arm}, {*(everywhere - arm)}) for arm in _arms(kernel.body, copies))
    return frozenset(
        array
        for one, other in pairs
        for target, (array, size) in one
        if array in only_read and any((target, (name, size)) in other for name in changed)
    )


def _arms(body: Body, copies: Mapping[str, frozenset[Load]]) -> Iterator[Counter[tuple[str, Load]]]:
    branches = (s for s in statements(body) if isinstance(s, If | While))
    return (_assigned(arm, copies) for s in branches for arm in bodies(s))


def _sides(body: Body, copies: Mapping[str, frozenset[Load]]) -> Iterator[tuple[Pairs, Pairs]]:
    """Of conditionals, both ways round."""
    for e in (e for s in statements(body) for expr in reads(s) for e in walk(expr)):
        if isinstance(e, Select):
            yes, no = ({("", load) for load in _loads(side, copies)} for side in (e.yes, e.no))
            yield from ((yes, no), (no, yes))


def _assigned(body: Body, copies: Mapping[str, frozenset[Load]]) -> Counter[tuple[str, Load]]:
    """How often what is loaded for what, by its name."""
    return Counter(
        (target, load)
        for s in statements(body)
        for target, value in _assignments(s)
        for load in _loads(value, copies)
    )


def _assignments(s: Statement) -> Iterator[tuple[str, Expr]]:
    match s:
        case Declare(name=name, value=value) if value is not None:
            yield name, value
        case Assign(Name(name) | Reference(name), value):
            yield name, value


def _loads(value: Expr, copies: Mapping[str, frozenset[Load]]) -> Iterator[Load]:
    for e in walk(value):
        match e:
            case Reference(array, _, ctype):
                yield array, SIZES.get(ctype, 0)
            case Name(name):
                yield from copies.get(name, ())


def _copies(body: Body) -> dict[str, frozenset[Load]]:
    """The scalars that hold elements as they were loaded."""
    found: dict[str, frozenset[Load]] = {}
    for s in statements(body):
        for target, value in _assignments(s):
            if isinstance(value, Reference | Name):
                found[target] = found.get(target, frozenset()).union(_loads(value, found))
    return found


def goes_through_rows(loop: For, arrays: Mapping[str, object], values: Values) -> bool:
    """Whether a loop that compilers may unroll in part gets elements of an array of `arrays` from a row for
    each iteration, a constant behind what else tells them, and others of it from rows that stay, or stores
    such elements under a test; where the distance of rows is no constant.
    """
    if loop.unroll or linear(subtract(loop.upper, loop.lower)).terms == ():
        return False
    inside = [*statements(loop.body)]
    if any(isinstance(s, For) and not s.unroll for s in inside):
        return False
    varying, going, staying = _varying(loop.index, inside), set[Reference](), set[str]()
    for e in (e for s in inside for operand in operands(s) for e in walk(operand)):
        if isinstance(e, Reference) and isinstance(array := arrays.get(e.array), ArrayArgument):
            rows, rest = _parts_of_offset(e, array)
            if not any(scalars_in(row) & varying for row in rows):
                staying.add(e.array)
            elif any(_shift(part, values) != 0 for part in rest):
                going.add(e)
    loaded = {e.array for s in inside for value in reads(s) for e in walk(value) if e in going}
    return bool({e.array for e in going} & staying) or bool(_stored_under_tests(inside, going) & loaded)


def _stored_under_tests(inside: Iterable[Statement], places: Set[Reference]) -> frozenset[str]:
    """The arrays of those `places` that are stored to where a test holds."""
    arms = (arm for s in inside if isinstance(s, If) for arm in bodies(s))
    targets = (s.target for arm in arms for s in statements(arm) if isinstance(s, Assign))
    return frozenset(t.array for t in targets if isinstance(t, Reference) and t in places)


def values_of(body: Body) -> Values:
    """What the scalars of a body are, and iterators at first; None for those that are set more than once."""
    found: dict[str, Expr | None] = {}
    for s in statements(body):
        match s:
            case Declare(name=name, value=value, mutable=False):
                found[name] = None if name in found else value
            case Declare(name=name) | Assign(target=Name(name)):
                found[name] = None
            case For(index=name, lower=value):
                found[name] = None if found.get(name, value) != value else value
    return found


def _shift(expr: Expr, values: Values) -> int | None:
    """The constant that is added to what else an expression is made of; None: it is not known."""
    total = linear(expr)
    shift = total.constant
    for part, factor in total.terms:
        match part:
            case Name(name) if name in values:
                value = values[name]
                more = None if value is None else _shift(value, values)
                if more is None:
                    return None
                shift += factor * more
            case Call() | Select():
                return None
    return shift


def _varying(index: str, inside: Iterable[Statement]) -> frozenset[str]:
    """The scalars that may be others in each iteration of the loop over `index`."""
    assigned = [(name, scalars_in(value)) for s in inside for name, value in _assignments(s)]
    found, known = frozenset({index}), frozenset[str]()
    while found != known:
        known = found
        found |= {name for name, names in assigned if names & known}
    return found


def _parts_of_offset(place: Reference, array: ArrayArgument) -> tuple[list[Expr], list[Expr]]:
    """Of an element's offset, what is multiplied by something that is no constant, and what is not."""
    sizes = [*array.extents[1:-1], array.pitch] if len(place.subscripts) > 1 else []
    constant = len([*takewhile(lambda size: isinstance(size, Int), reversed(sizes))])
    rows = [*place.subscripts[: len(sizes) - constant]]
    rest = [*place.subscripts[len(rows) :]]
    rows += [
        e
        for part in rest
        for e in walk(part)
        if isinstance(e, Binary) and e.op == "*" and not any(isinstance(x, Int) for x in (e.left, e.right))
    ]
    return rows, rest


@lru_cache(REMEMBERED)
def without_negative_factors(subscript: Expr) -> Expr:
    """before:  -2 * i + 64        after:  64 - 2 * i"""
    new = with_children(subscript, tuple(map(without_negative_factors, children(subscript))))
    match new:
        case Binary("*", Int(value), other) | Binary("*", other, Int(value)) if value < -1:
            return Unary("-", Binary("*", Int(-value), other))
        case Binary("+", Unary("-", Binary("*") as less), Int() as constant):
            return Binary("-", constant, less)
        case Binary("+", left, Unary("-", Binary("*") as less)):
            return Binary("-", left, less)
        case Binary("-", left, Unary("-", Binary("*") as more)):
            return Binary("+", left, more)
    return new


def without_negations(extreme: Call) -> tuple[str, Call]:
    """The sign and the call for a minimum or maximum of three ints or more, of which fewer begin with a sign:

    before:  max(-j, max(-k, k - n + 1))        after:  -min(j, min(k, n - k - 1))
    """
    arguments = _parts(extreme)
    signs = sum(map(_is_negated, arguments))
    if len(arguments) < 3 or not signs or not all(map(affine, arguments)):
        return "", extreme
    turned = tuple(subtract(Int(0), a) for a in arguments)
    if sum(map(_is_negated, turned)) < signs:
        return "-", _outermost(Call(_OPPOSITE[extreme.function], turned, extreme.type))
    return "", _outermost(Call(extreme.function, arguments, extreme.type))


def _parts(expr: Expr, function: str = "") -> tuple[Expr, ...]:
    """The arguments of calls of one function within each other."""
    match expr:
        case Call("min" | "max" as inner, arguments, "int") if inner == (function or inner):
            return tuple(part for a in arguments for part in _parts(a, inner))
    return (expr,)


def _outermost(call: Call) -> Call:
    """With what begins with a sign in front, where the call is printed that is made last."""
    return Call(call.function, tuple(sorted(call.arguments, key=lambda a: not _is_negated(a))), call.type)


def _is_negated(expr: Expr) -> bool:
    match expr:
        case Unary("-"):
            return True
        case Binary("*", Int(value), _):
            return value < 0
        case Binary("+" | "-", left, _):
            return _is_negated(left)
    return False
