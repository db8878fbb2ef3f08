"""What staged arrays hold instead of their elements: what a statement makes of each with scalars alone.

    A_s[i][k] = A[i][k]                             A_s[i][k] = alpha * A[i][k]
    C[i][j] += alpha * A_s[i][k] * B_s[k][j]   ->   C[i][j] += A_s[i][k] * B_s[k][j]

It is computed once for an element of a tile, not once for each point that reads it.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from polygpu.mapping.program import ELEMENT, Grid, ReferenceKey, reference_key
from polygpu.model.expr import Binary, Expr, Literal, Name, Reference, Unary, is_floating, type_of
from polygpu.model.rewrite import action_expressions, actions, children, walk, with_children
from polygpu.support.dataclass import dataclass


def form_of(m: Grid, keys: Iterable[ReferenceKey]) -> Expr | None:
    """What all the statements make of elements that these references read, in terms of ELEMENT, as far as
    nothing but floating-point scalars of the region comes in: the same in each place, else None.
    """
    wanted, found = frozenset(keys), set[Expr]()
    for name in {statement for statement, _, _ in wanted}:
        scalars = frozenset(s.name for s in m.p.scop.scalars) - m.p.statement(name).locals
        reading = _Reading(name, wanted, scalars)
        for action in actions(m.p.statement(name).body):
            for expr in action_expressions(action):
                found |= {*reading.closed(expr)}
    form = found.pop() if len(found) == 1 else None
    return None if isinstance(form, Name) else form


@dataclass(frozen=True)
class _Reading:
    """Expressions of a statement that read what `keys` name; `scalars` are the region's."""

    statement: str
    keys: frozenset[ReferenceKey]
    scalars: Set[str]

    def closed(self, expr: Expr) -> list[Expr]:
        """The largest form around each reference."""
        return self._read(expr)[1]

    def _read(self, expr: Expr) -> tuple[Expr | None, list[Expr]]:
        """The expression in terms of ELEMENT, if it is made of one and of scalars, and the largest forms in
        it.
        """
        if isinstance(expr, Reference) and self._is_element(expr):
            return Name(ELEMENT, expr.type), [Name(ELEMENT, expr.type)]
        parts = [self._read(part) for part in children(expr)]
        form = self._around(expr, [own for own, _ in parts])
        return form, [form] if form is not None else [found for _, inner in parts for found in inner]

    def _is_element(self, r: Reference) -> bool:
        return is_floating(r.type) and reference_key(self.statement, r) in self.keys

    def _around(self, expr: Expr, parts: list[Expr | None]) -> Expr | None:
        """The form of an operation, of whose operands one has a form."""
        if sum(part is not None for part in parts) != 1:
            return None
        match expr:
            case Unary("-") | Binary("+" | "-" | "*" | "/"):
                made = (own or part for own, part in zip(parts, children(expr), strict=True))
                form = with_children(expr, tuple(made))
                leaves = [e for e in walk(form) if not children(e)]
                others = [e for e in leaves if not isinstance(e, Name) or e.name != ELEMENT]
                one = len(leaves) - len(others) == 1 and all(map(self._is_scalar, others))
                return form if one and {*map(type_of, leaves)} == {type_of(form)} else None
        return None

    def _is_scalar(self, e: Expr) -> bool:
        return isinstance(e, Literal) or (isinstance(e, Name) and e.name in self.scalars)
