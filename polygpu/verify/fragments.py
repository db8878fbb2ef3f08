"""Products that a warp computes together: its lanes load what each of their threads says that it adds up.

The loop says what a thread adds to its sums: all terms of its rows and columns. The warp loads each element
once, by some lane, so that lanes have to agree: those of a row of threads, 4 along x, on the left operand,
those of a column, 8 along y, on the right one. Each lane's sums are elements of their own. That all threads
get there together is for `barriers`, that no lane writes what another one loads is for `races`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from itertools import combinations

import islpy as isl

from polygpu.model.expr import Int, Name, Reference
from polygpu.model.fragments import ACROSS, ALONG, EACH, Product, product_of
from polygpu.model.kernel import For, Kernel
from polygpu.model.rewrite import names_in
from polygpu.support.isl_idioms import D
from polygpu.verify.affine import Scope, constant
from polygpu.verify.events import THREADS
from polygpu.verify.match import MismatchError
from polygpu.verify.scoped import UnclearError, counted

_INDICES = ("f0__", "f1__", "f2__")  # row, column, term: no parameter has such a name


def check_fragment(kernel: Kernel, loop: For, scope: Scope, private: Mapping[str, str]) -> None:
    """Raises MismatchError for what tensor cores would not compute so, and UnclearError.

    `private` are the types of a thread's arrays.
    """
    product = product_of(loop)
    if product is None:
        raise UnclearError("a fragment that is no product of rows and columns")
    x, y, _ = kernel.block
    if x != ACROSS or y % ALONG:
        raise MismatchError(f"{kernel.name}: fragments of blocks of {x} x {y} threads")
    element, shared = product.policy.element, {s.name: s.type for s in kernel.shared}
    if private.get(product.target.array) != element:
        raise MismatchError(f"{kernel.name}: a fragment adds to '{product.target.array}'")
    inside = _inside(product, scope)
    for r, row, others in (
        (product.left, product.row, (THREADS[0], _INDICES[1])),
        (product.right, product.column, (THREADS[1], _INDICES[0])),
    ):
        if shared.get(r.array) != element:
            raise MismatchError(f"{kernel.name}: a fragment of '{r.array}', which is no shared {element}")
        _check_lanes(kernel, r, inside, others)
        _check_names(r, inside, {"thread_x", row, product.term})
    _check_sums(kernel, product, inside)


def _inside(product: Product, scope: Scope) -> Scope:
    counts = {product.row: EACH, product.column: EACH, product.term: product.policy.terms}
    for name, (index, count) in zip(_INDICES, counts.items(), strict=True):
        scope = counted(scope, index, name, Int(0), Int(count), 1)
    return scope


def _values(r: Reference, scope: Scope) -> list[isl.PwAff]:
    found = [scope.affine(e) for e in r.subscripts]
    known = [value for value in found if value is not None]
    if len(known) != len(found):
        raise UnclearError(f"a fragment of '{r.array}' at a place that data tell")
    return known


def _involves(value: isl.PwAff, name: str) -> bool:
    position = value.find_dim_by_name(D.param, name)
    return position >= 0 and bool(value.involves_dims(D.param, position, 1))


def _check_lanes(kernel: Kernel, r: Reference, scope: Scope, others: Iterable[str]) -> None:
    """The operand is the same whatever these are."""
    for value in _values(r, scope):
        if any(_involves(value, name) for name in others):
            raise MismatchError(f"{kernel.name}: the lanes of a fragment differ in what '{r.array}' is")


def _check_names(r: Reference, scope: Scope, replaced: Iterable[str]) -> None:
    """Other lanes' elements are found by replacing names: no other one may stand for a thread across."""
    for name in names_in(*r.subscripts) - {*replaced, r.array}:
        value = scope.affine(Name(name))
        if value is None or _involves(value, THREADS[0]):
            raise UnclearError(f"the lanes of a fragment differ in '{name}'")


def _check_sums(kernel: Kernel, product: Product, scope: Scope) -> None:
    """Each row and column has a sum of its own, to which all terms are added."""
    if any(_involves(value, _INDICES[2]) for value in _values(product.target, scope)):
        raise MismatchError(f"{kernel.name}: terms of a fragment are added to several sums")
    places = [
        _values(product.target, scope.bind(product.row, constant(r)).bind(product.column, constant(c)))
        for r in range(EACH)
        for c in range(EACH)
    ]
    for one, other in combinations(places, 2):
        same = reduce(isl.Set.intersect, (a.eq_set(b) for a, b in zip(one, other, strict=True)))
        if not scope.never(same):
            raise MismatchError(f"{kernel.name}: rows or columns of a fragment have one sum")
