"""Products of tiles that a warp computes together: fragments of tensor cores.

    for (t < terms)                      loop.fragments = policy, uniform, unrolled
        for (r < 2)
            for (c < 2)
                C_r[.. r ..][.. c ..] = C_r[.. r ..][.. c ..] + A_s[.. r, t ..] * B_s[.. t, c ..]

That is what each thread gets: two rows and two columns of the 16 x 8 elements that its warp adds up. Where
the lanes of a row of threads (4 along x) agree on A_s, and those of a column (8 along y) on B_s, a warp loads
each element once: lane l has rows l / 4 and the one 8 further, and columns 2 (l % 4) and the next one. The
policy says what operands are rounded to before they are multiplied, the device in which order it adds up.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType

from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.kernel import Assign, For, Statement
from polygpu.model.linear import Linear, add, linear, multiply, simplify
from polygpu.model.rewrite import names_in, substitute
from polygpu.support.dataclass import dataclass

ACROSS, ALONG = 4, 8  # lanes of a warp that have a row's elements, and those that have a column's
EACH = 2  # rows, and columns, of a lane


@dataclass(frozen=True, slots=True)
class Policy:
    """The type of elements and sums, and the terms of a multiply-add, to whose type operands are rounded."""

    element: str
    terms: int

    @property
    def together(self) -> int:
        """Terms that a lane loads one behind the other."""
        return self.terms // 8


POLICIES: Mapping[str, Policy] = MappingProxyType({
    "tf32": Policy("float", 8),
    "half": Policy("float", 16),
    "bfloat16": Policy("float", 16),
    "double": Policy("double", 8),
})  # fmt: skip


def multiply_add(policy: str) -> int:
    """The operations of a multiply-add of a warp."""
    return 2 * (EACH * ALONG) * (EACH * ACROSS) * POLICIES[policy].terms


@dataclass(frozen=True, slots=True)
class Product:
    """The parts of such a loop: the indices, and what is multiplied and where it is added."""

    policy: Policy
    term: str
    row: str
    column: str
    assign: Assign
    target: Reference
    left: Reference
    right: Reference


def product_of(loop: For) -> Product | None:
    """The parts of a loop of `fragments`; None where it has another form."""
    policy = POLICIES.get(loop.fragments)
    row = _only(loop)
    column = _only(row)
    assign = column.body[0] if column is not None and len(column.body) == 1 else None
    if policy is None or row is None or column is None or not isinstance(assign, Assign):
        return None
    counts = [(s.lower, s.upper, s.step, s.unroll) for s in (loop, row, column)]
    if counts != [(Int(0), Int(n), 1, True) for n in (policy.terms, EACH, EACH)]:
        return None
    match assign:
        case Assign(
            Reference() as target, Binary("+", old, Binary("*", Reference() as one, Reference() as other))
        ):
            left, right = (one, other) if row.index in names_in(one) else (other, one)
            if is_same(old, target) and {target.type, left.type, right.type} == {policy.element}:
                return Product(policy, loop.index, row.index, column.index, assign, target, left, right)
    return None


def is_same(one: Expr, other: Reference) -> bool:
    """Whether both are the same element, wherever they stand in the source."""
    return isinstance(one, Reference) and replace(one, site=-1) == replace(other, site=-1)


def _only(loop: Statement | None) -> For | None:
    """The loop that is all of a loop's body."""
    inner = loop.body if isinstance(loop, For) else ()
    return inner[0] if len(inner) == 1 and isinstance(inner[0], For) else None


def sums(p: Product) -> Iterator[Reference]:
    """The elements of a lane that a fragment adds to, in the order of its registers."""
    for row in range(EACH):
        for column in range(EACH):
            yield _at(p.target, {p.row: Int(row), p.column: Int(column)})


def left_parts(p: Product) -> Iterator[Reference]:
    """What a lane loads of its own rows, of its share of the terms, in the order of registers."""
    for terms in _terms(p.policy):
        for row in range(EACH):
            for term in terms:
                yield _at(p.left, {p.row: Int(row), p.term: term})


def right_parts(p: Product) -> Iterator[Reference]:
    """What a lane loads of a column, that of its number along, of its share of the terms."""
    along = Binary("%", Name("thread_y"), Int(ALONG))
    lane, column = Binary("/", along, Int(EACH)), Binary("%", along, Int(EACH))
    for terms in _terms(p.policy):
        for term in terms:
            sides = [linear(e) for e in p.right.subscripts]
            even = all(_of(x, "thread_x") == EACH * _of(x, p.column) for x in sides)
            place: dict[str, Expr] = {
                "thread_x": Int(0) if even else lane,
                p.column: along if even else column,
            }
            yield _at(p.right, {**place, p.term: term})


def _of(sum_: Linear, name: str) -> int:
    """The coefficient of a name."""
    return dict(sum_.terms).get(Name(name), 0)


def _terms(policy: Policy) -> Iterator[tuple[Expr, ...]]:
    """The terms that a lane loads, by its number across: two groups of neighbours."""
    first = multiply(Name("thread_x"), policy.together)
    for group in range(2):
        yield tuple(add(first, policy.terms // 2 * group + k) for k in range(policy.together))


def _at(r: Reference, values: Mapping[str, Expr]) -> Reference:
    return replace(r, subscripts=tuple(simplify(substitute(e, dict(values))) for e in r.subscripts))
