"""Whether the value of a kernel's action is the value of a source action, leaf by leaf."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from functools import reduce

import islpy as isl

from polygpu.analysis.polyhedra import array_tuple
from polygpu.model.expr import (
    COMPARISONS,
    Binary,
    Call,
    Cast,
    Expr,
    Int,
    Name,
    Reference,
    Select,
    Unary,
    common_type,
    limits,
    type_of,
)
from polygpu.model.rewrite import children, walk, with_children
from polygpu.support.dataclass import dataclass
from polygpu.verify.affine import UNIVERSE, Scope, constant
from polygpu.verify.events import Leaf, Place
from polygpu.verify.scoped import UnclearError


class MismatchError(Exception):
    """The two values differ, with how as the message."""


@dataclass
class Matcher:
    """Matches values in kernel scope `here` with source values in scope `there` (iterators, parameters).

    `symbols` are host expressions of the kernel's scalars, `place` resolves what the kernel reads,
    `locals` are the source's names of the instance's locals, `arrays` those of its arrays. `leaves` collects
    what was read.
    """

    here: Scope
    there: Scope
    symbols: Mapping[str, Expr]
    locals: frozenset[str]
    arrays: frozenset[str]
    place: Callable[[Expr], Place | None]
    leaves: list[Leaf] = field(default_factory=list)

    def match(self, source: Expr, kernel: Expr) -> None:
        """Raises MismatchError unless `kernel` computes what `source` does, given equal leaves."""
        if isinstance(source, Reference):
            self._reference(source, kernel)
        elif isinstance(source, Name) and source.name in self.locals:
            self._leaf(source.name, source.type, kernel)
        elif not (
            self._same_parameter(source, kernel)
            or self._same_integer(source, kernel)
            or self._same_scalar(source, kernel)
        ):
            self._same_node(source, kernel)

    def _leaf(self, source: Reference | str, ctype: str, kernel: Expr) -> Place:
        place = self.place(kernel)
        if place is None:
            raise MismatchError(f"no memory is read where the source reads {_shown(source)}")
        self.check_type(ctype, place)
        self.leaves.append(Leaf(place, source, self.element(source)))
        return place

    def check_type(self, ctype: str, place: Place) -> None:
        if place.type != ctype:
            raise MismatchError(f"'{place.text}' of type {place.type} stands for a value of type {ctype}")

    def element(self, source: Reference | str) -> tuple[isl.PwAff, ...] | None:
        """The subscripts of `source` where all are affine."""
        if isinstance(source, str):
            return None
        found = [self.there.affine(s) for s in source.subscripts]
        known = tuple(f for f in found if f is not None)
        return known if len(known) == len(found) else None

    def _reference(self, source: Reference, kernel: Expr) -> None:
        place = self._leaf(source, source.type, kernel)
        self.subscripts(source, kernel, place)

    def subscripts(self, source: Reference, kernel: Expr, place: Place) -> None:
        """Subscripts that depend on data must be the same expressions."""
        if self.element(source) is not None:
            return
        if isinstance(kernel, Name) and type_of(kernel) == source.type:
            raise UnclearError(f"{_shown(source)} has subscripts that depend on data and is read ahead")
        if not isinstance(kernel, Reference) or not self._may_hold(source, kernel, place):
            raise MismatchError(
                f"{_shown(source)} has subscripts that depend on data and is not read in place"
            )
        more = len(kernel.subscripts) - len(source.subscripts)  # which say whose copy of a temporary it is
        if more < 0:
            raise MismatchError(f"{_shown(source)} is read of an array of fewer dimensions")
        for a, b in zip(source.subscripts, kernel.subscripts[more:], strict=True):
            self.match(a, b)

    def _may_hold(self, source: Reference, kernel: Reference, place: Place) -> bool:
        """Whether the kernel reads the source's array, or a temporary, of whose values others judge."""
        temporary = (
            place.space == "global" and kernel.array not in self.arrays and kernel.field == source.field
        )
        return temporary or array_tuple(source) == array_tuple(kernel)

    def _same_integer(self, source: Expr, kernel: Expr) -> bool:
        """Whether both are affine; raises MismatchError where they differ."""
        if isinstance(source, Binary) and source.op in COMPARISONS:
            return False  # part by part: of unsigned values it is not what it is of integers
        expected = integer(self.there, source)
        if expected is None:
            return False
        found = integer(self.here, kernel)
        if found is None and (type_of(source) != "int" or _typed_alike(source, kernel)):
            return False  # computed as in the source, with its conversions
        if found is None:
            raise MismatchError("an index of the source is computed from data")
        if not self.there.never(expected.ne_set(found)):
            raise MismatchError("an index used as a value differs")
        return True

    def _same_parameter(self, source: Expr, kernel: Expr) -> bool:
        """Whether `kernel` gives a parameter that is passed as int its type in the source."""
        match source, kernel:
            case Name(name, ctype), Cast(given, Name(passed)) if ctype == given:
                symbol = self.symbols.get(passed)
                return isinstance(symbol, Name) and symbol.name == name
        return False

    def _same_scalar(self, source: Expr, kernel: Expr) -> bool:
        if not isinstance(source, Name):
            return False
        if not isinstance(kernel, Name) or self.symbols.get(kernel.name) != source:
            raise MismatchError(f"the scalar '{source.name}' of the source is something else")
        return True

    def _same_node(self, source: Expr, kernel: Expr) -> None:
        ours, theirs = children(source), children(kernel)
        if type(source) is not type(kernel) or len(ours) != len(theirs) or _bare(source) != _bare(kernel):
            raise MismatchError("the operations differ from the source's")
        for a, b in zip(ours, theirs, strict=True):
            self.match(a, b)
            if isinstance(source, Unary | Binary | Select) and type_of(a) != type_of(b):
                raise MismatchError("the operations have other types than the source's")


def integer(scope: Scope, expr: Expr) -> isl.PwAff | None:
    """The value of an affine expression, None where one of its parts wraps around as an unsigned one."""
    value = scope.affine(expr)
    return None if value is None or any(_wraps(scope, e) for e in walk(expr)) else value


def _wraps(scope: Scope, expr: Expr) -> bool:
    """Whether an operation on unsigned values may be another one than that on integers: where any of these,
    or the result, is no value of the type.
    """
    if not isinstance(expr, Unary | Binary | Call):
        return False
    operands = children(expr)
    ctype = reduce(common_type, map(type_of, operands), "int")
    if not ctype.startswith("unsigned"):
        return False
    low, high = limits(ctype)
    values = [scope.value(e) for e in (expr, *operands)]
    beyond = (v.lt_set(constant(low)).union(v.gt_set(constant(high))) for v in values)
    return not all(scope.never(b.intersect(_of_types(scope, expr))) for b in beyond)


def _of_types(scope: Scope, expr: Expr) -> isl.Set:
    """The values that names may have by their types."""
    found = isl.Set(UNIVERSE)
    for name in (e for e in walk(expr) if isinstance(e, Name)):
        low, high = limits(name.type)
        value = scope.value(name)
        found = found.intersect(value.ge_set(constant(low))).intersect(value.le_set(constant(high)))
    return found


def _typed_alike(source: Expr, kernel: Expr) -> bool:
    """Whether two expressions have the same type, and so have their parts, as far as operations agree."""
    if type_of(source) != type_of(kernel):
        return False
    pairs = zip(children(source), children(kernel), strict=False)
    return type(source) is not type(kernel) or all(_typed_alike(a, b) for a, b in pairs)


def _bare(expr: Expr) -> Expr:
    """The node without its operands."""
    return with_children(expr, tuple(Int(0) for _ in children(expr)))


def _shown(source: Reference | str) -> str:
    return f"'{source if isinstance(source, str) else source.array}'"


def instances_of(arguments: tuple[isl.PwAff, ...]) -> isl.Map:
    """The instance with these iterators, where they have values."""
    found = isl.Map("{ [] -> [] }")
    for a in arguments:
        found = found.flat_range_product(isl.Map.from_pw_aff(a))
    return found


def instances_in(arguments: tuple[isl.PwAff, ...], domain: isl.Set, scope: isl.Set) -> isl.Set:
    """Where in `scope` the instance with these iterators is one of `domain`."""
    found = instances_of(arguments).intersect_domain(scope)
    return found.intersect_range(domain.reset_tuple_id()).domain()
