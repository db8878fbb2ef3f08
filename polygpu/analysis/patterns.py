"""How accesses move when one dimension of a schedule advances: the basis of coalescing decisions.

For a statement with schedule rows T (one a dimension, independent) and an access with matrix F, stepping
dimension d by one moves the iteration by the vector v with T v = e_d and the subscripts by F v.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import islpy as isl

from polygpu.analysis.polyhedra import PolyAccess, PolyStatement
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, pieces
from polygpu.support.recent import Recent, Same

Vector = tuple[int, ...]


@dataclass(frozen=True)
class Pattern:
    """`matrix` is that of the access. `steps[d]`: change of each subscript along parallel dimension d; None
    where it is not constant.

    `depth` counts the sequential loops around the access inside the kernel.
    """

    statement: str
    access: PolyAccess
    matrix: tuple[Vector | None, ...]
    steps: tuple[Vector | None, ...]
    depth: int

    def kind(self, d: int) -> str:
        """Along dimension d: "broadcast", "unit" (next element of the row), "reverse" or "strided"."""
        step = self.steps[d]
        if step is None:
            return "strided"
        if not any(step):
            return "broadcast"
        if any(step[:-1]) or abs(step[-1]) != 1:
            return "strided"
        return "unit" if step[-1] == 1 else "reverse"


def coefficients(row: isl.PwAff) -> Vector | None:
    """The iterator coefficients of an affine row; None when it is piecewise or has divisions."""
    found = pieces(row)
    if len(found) != 1 or found[0][1].dim(D.div):
        return None
    aff = found[0][1]
    values = [aff.get_coefficient_val(D.in_, i) for i in range(aff.dim(D.in_))]
    return tuple(v.to_python() for v in values) if all(v.is_int() for v in values) else None


def subscripts(access: PolyAccess) -> list[isl.PwAff]:
    """The subscripts as functions of the instance; none of them where data decide."""
    count = access.relation.dim(D.out)
    if not (access.affine and count):
        return []
    function = isl.MultiPwAff.from_pw_multi_aff(isl.PwMultiAff.from_map(access.relation))
    return [function.get_pw_aff(k) for k in range(count)]


_MATRICES: Recent[tuple[Vector | None, ...]] = Recent(2**12)  # those of a large region


def access_matrix(access: PolyAccess) -> list[Vector | None]:
    """One coefficient vector a subscript; None for those that are not affine in one piece."""
    if not access.affine:
        return [None] * len(access.reference.subscripts)
    return list(_MATRICES.get(Same(access), lambda: tuple(map(coefficients, subscripts(access)))))


def direction(rows: Sequence[Vector], position: int) -> Vector | None:
    """The integer v with rows[position] . v = 1 and all other rows . v = 0; None when there is none."""
    if not rows:
        return None
    width = len(rows[0])
    system = [[Fraction(c) for c in row] + [Fraction(int(k == position))] for k, row in enumerate(rows)]
    pivots: list[int] = []
    line = 0
    for column in range(width):
        pivot = next((r for r in range(line, len(system)) if system[r][column]), None)
        if pivot is None:
            return None  # the rows leave this direction free: not a full schedule of the statement
        system[line], system[pivot] = system[pivot], system[line]
        scale = system[line][column]
        system[line] = [x / scale for x in system[line]]
        for r in range(len(system)):
            if r != line and system[r][column]:
                factor = system[r][column]
                system[r] = [x - factor * y for x, y in zip(system[r], system[line], strict=True)]
        pivots.append(column)
        line += 1
    if any(row[-1] for row in system[line:]):
        return None
    values = [system[k][-1] for k in range(width)]
    return tuple(int(v) for v in values) if all(v.denominator == 1 for v in values) else None


def patterns(s: PolyStatement, rows: Sequence[isl.PwAff], parallel: int, depth: int) -> list[Pattern]:
    """The patterns of all accesses of `s`; the first `parallel` of `rows` are the kernel's dimensions."""
    vectors = [coefficients(row) for row in rows]
    known = [v for v in vectors if v is not None]
    moves: list[Vector | None] = []
    for d in range(parallel):
        moves.append(direction(known, d) if len(known) == len(vectors) else None)
    matrices = [tuple(access_matrix(a)) for a in s.accesses]
    return [
        Pattern(s.name, a, matrix, tuple(_step(matrix, m) for m in moves), depth)
        for a, matrix in zip(s.accesses, matrices, strict=True)
    ]


def _step(matrix: tuple[Vector | None, ...], move: Vector | None) -> Vector | None:
    if move is None or any(row is None for row in matrix):
        return None
    return tuple(sum(c * v for c, v in zip(row, move, strict=True)) for row in matrix if row is not None)
