"""The scop as integer sets: domains, access relations and the original schedule of each statement."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property, reduce
from typing import Any

import islpy as isl

from polygpu.analysis.names import names_of
from polygpu.model.expr import (
    SIZES,
    Binary,
    Call,
    Cast,
    Expr,
    Int,
    Literal,
    Name,
    Position,
    Reference,
    Select,
    Unary,
    is_floating,
)
from polygpu.model.rewrite import numbered
from polygpu.model.scop import Access, Action, Array, Course, Let, Number, Part, Scop, Statement
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.isl_idioms import D, coalesced, identifier, isl_name, union_of, union_set_of
from polygpu.support.recent import Recent

_RECENT = 1024  # answers


@dataclass(frozen=True)
class PolyAccess:
    """One reference of a statement: `relation` maps instances to elements of `reference.array`.

    See `Access` for `must` and `exposed`.
    """

    reference: Reference
    relation: isl.Map
    write: bool
    must: bool
    affine: bool
    position: Position
    text: str
    exposed: bool = True


@dataclass(frozen=True)
class PolyStatement:
    """A statement with its `domain`, its accesses and its place in the original order.

    `whole` names the statement of the scop when this is a piece of it (`analysis.index_sets`); what only
    `combines` partial results is of none, nor is what `copies` elements as they were before the region.
    """

    name: str
    iterators: tuple[str, ...]
    loops: tuple[int, ...]
    domain: isl.Set
    schedule: isl.Map
    body: tuple[Action, ...]
    accesses: tuple[PolyAccess, ...]
    position: Position
    text: str
    whole: str = ""
    parts: tuple[Part, ...] = ()
    combines: bool = False
    copies: bool = False

    @cached_property
    def actions(self) -> dict[Number, Action]:
        """All actions by their numbers, those of a branch right behind it."""
        return dict(numbered(self.body))

    @cached_property
    def locals(self) -> frozenset[str]:
        """The names that its actions give to values of an instance."""
        return frozenset(a.name for a in self.actions.values() if isinstance(a, Let))

    @cached_property
    def accesses_of(self) -> dict[tuple[Reference, bool], list[PolyAccess]]:
        """By reference, and whether it is written."""
        found: dict[tuple[Reference, bool], list[PolyAccess]] = {}
        for a in self.accesses:
            found.setdefault((a.reference, a.write), []).append(a)
        return found

    @cached_property
    def affine(self) -> frozenset[Reference]:
        """The references whose elements are known."""
        return frozenset(a.reference for a in self.accesses if a.affine)


@dataclass(frozen=True)
class Polyhedra:
    """A scop whose sets are isl's. `arrays` may have grown or lost temporaries by expansion.

    `recent` is what passes found of its nests, which many kernels may be made of.
    """

    scop: Scop
    context: isl.Set
    parameters: tuple[str, ...]
    statements: tuple[PolyStatement, ...]
    arrays: tuple[Array, ...]
    recent: Recent[Any] = field(
        default_factory=lambda: Recent(_RECENT), init=False, compare=False, repr=False
    )

    def statement(self, name: str) -> PolyStatement:
        return self._statements[name]

    @cached_property
    def _statements(self) -> dict[str, PolyStatement]:
        found = {s.name: s for s in self.statements}
        assert len(found) == len(self.statements), "each statement has a name of its own"
        return found

    def array(self, name: str) -> Array:
        return self._arrays[name]

    @cached_property
    def _arrays(self) -> dict[str, Array]:
        return {a.name: a for a in self.arrays}

    def accesses_of(self, name: str) -> list[tuple[PolyStatement, PolyAccess]]:
        """Those of an array, in the order of the statements."""
        return self._accesses.get(name, [])

    @cached_property
    def _accesses(self) -> dict[str, list[tuple[PolyStatement, PolyAccess]]]:
        found: dict[str, list[tuple[PolyStatement, PolyAccess]]] = {}
        for s in self.statements:
            for a in s.accesses:
                found.setdefault(a.reference.array, []).append((s, a))
        return found

    def without_unused(self, name: str) -> Polyhedra:
        """Without an array that is not the scop's, where nothing accesses it any more."""
        if any(a.name == name for a in self.scop.arrays) or self.accesses_of(name):
            return self
        return replace(self, arrays=tuple(a for a in self.arrays if a.name != name))

    def source_names(self) -> dict[str, str]:
        """The iterators of all statements, unique in the scop, as the source calls them."""
        return self._source_names

    @cached_property
    def _source_names(self) -> dict[str, str]:
        return {
            i: self.scop.loops[number].iterator
            for s in self.statements
            for i, number in zip(s.iterators, s.loops, strict=False)
        }

    def names(self) -> set[str]:
        """What no loop of a kernel may be called: scalars, arrays, and the locals of statements."""
        return set(self._names)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset((*(a.name for a in self.arrays), *names_of(self.scop)))

    def domain(self) -> isl.UnionSet:
        return union_set_of([s.domain for s in self.statements])

    def schedule(self) -> isl.UnionMap:
        return self._schedule

    @cached_property
    def _schedule(self) -> isl.UnionMap:
        return union_of([s.schedule for s in self.statements])

    @property
    def positions(self) -> int:
        """How many places there are at the top of the source's order, as far as anything is executed."""
        tops = (s.schedule.range() for s in self.statements if not s.schedule.is_empty())
        return max((int(top.dim_max_val(0).to_python()) + 1 for top in tops), default=0)

    def relation(self, write: bool, must: bool | None = None) -> isl.UnionMap:
        """All write relations, of `must` kind only if given, or those of the exposed reads."""
        return union_of(
            [
                a.relation
                for s in self.statements
                for a in s.accesses
                if a.write == write and a.exposed and (must is None or a.must == must)
            ]
        )


class AffineBuilder:
    """Turns C expressions over iterators and parameters into isl functions on one statement's space."""

    def __init__(self, space: isl.Space) -> None:
        self.space = space
        self.local = isl.LocalSpace.from_space(space)

    def value(self, expr: Expr) -> isl.PwAff:
        match expr:
            case Int(value):
                return self._constant(value)
            case Literal(text, _):
                return self._constant(int(text.rstrip("uUlL"), 0))
            case Name(name, _):
                return self._name(name)
            case Unary("-", operand):
                return self.value(operand).neg()
            case Unary("+", operand):
                return self.value(operand)
            case Binary(op, left, right) if op in "+-*/%":
                return self._arithmetic(op, self.value(left), self.value(right))
            case Call("min" | "max" as function, arguments, _):
                choose = isl.PwAff.min if function == "min" else isl.PwAff.max
                return reduce(choose, map(self.value, arguments))
            case Call("floord", (left, right), _):
                return self.value(left).div(self.value(right)).floor()
            case Select(test, yes, no):
                holds = self.condition(test)
                return (
                    self.value(yes)
                    .intersect_domain(holds)
                    .union_add(self.value(no).intersect_domain(holds.complement()))
                )
            case Cast(ctype, operand) if not is_floating(ctype) and SIZES[ctype] >= SIZES["int"]:
                return self.value(operand)  # narrower ones may change it
            case Unary("!") | Binary("&&" | "||" | "==" | "!=" | "<" | "<=" | ">" | ">="):
                return self.value(Select(expr, Int(1), Int(0)))
        raise ValueError(f"not affine: {expr}")

    def condition(self, expr: Expr) -> isl.Set:
        """The set where `expr` is true (C: not zero)."""
        match expr:
            case Binary("&&", left, right):
                return self.condition(left).intersect(self.condition(right))
            case Binary("||", left, right):
                return self.condition(left).union(self.condition(right))
            case Unary("!", operand):
                return self.condition(operand).complement()
            case Binary(op, left, right) if op in _COMPARE:
                found: isl.Set = getattr(self.value(left), _COMPARE[op])(self.value(right))
                return found
        return self.value(expr).ne_set(self._constant(0))

    def _constant(self, value: int) -> isl.PwAff:
        return isl.PwAff.from_aff(isl.Aff.zero_on_domain(self.local).set_constant_val(isl.Val(str(value))))

    def _name(self, name: str) -> isl.PwAff:
        for kind in (D.set, D.param):
            position = self.space.find_dim_by_name(kind, isl_name(name))
            if position >= 0:
                return isl.PwAff.from_aff(isl.Aff.var_on_domain(self.local, kind, position))
        raise ValueError(f"{name} is neither an iterator nor a parameter")

    def _arithmetic(self, op: str, left: isl.PwAff, right: isl.PwAff) -> isl.PwAff:
        match op:
            case "+":
                return left.add(right)
            case "-":
                return left.sub(right)
            case "*":
                return left.mul(right)
            case "/":
                return left.tdiv_q(right)
        return left.tdiv_r(right)


_COMPARE = {
    "<": "lt_set",
    "<=": "le_set",
    ">": "gt_set",
    ">=": "ge_set",
    "==": "eq_set",
    "!=": "ne_set",
}


def parameter_space(parameters: tuple[str, ...]) -> isl.Space:
    space = isl.Space.params_alloc(isl.DEFAULT_CONTEXT, len(parameters))
    for i, name in enumerate(parameters):
        space = space.set_dim_id(D.param, i, identifier(isl_name(name)))
    return space


def statement_space(parameters: tuple[str, ...], name: str, iterators: tuple[str, ...]) -> isl.Space:
    space = parameter_space(parameters).set_from_params().add_dims(D.set, len(iterators))
    for i, iterator in enumerate(iterators):
        space = space.set_dim_name(D.set, i, isl_name(iterator))
    return space.set_tuple_name(D.set, name)


def named(space: isl.Space, instances: isl.Set) -> isl.Set:
    """`instances`, whatever they are called, as those of a statement's `space`."""
    found = instances.reset_tuple_id().set_tuple_name(space.get_tuple_name(D.set))
    for i in range(space.dim(D.set)):
        found = found.set_dim_id(D.set, i, space.get_dim_id(D.set, i))
    return found


def array_tuple(reference: Reference) -> str:
    """The isl tuple of an array; members of structures never overlap and count as arrays of their own.

    x.a__p, x.a.p, x.a[1]  ->  x__a__p, x__0a_mp, x__0a_i1, which isl reads: no member begins with a digit
    """
    path = reference.field
    if not path or path.isidentifier():
        return f"{reference.array}__{path}" if path else reference.array
    spelled = path.replace("_", "__").replace(".", "_m").replace("[", "_i").replace("]", "")
    return f"{reference.array}__0{spelled}"


def access_relation(
    builder: AffineBuilder, domain: isl.Set, access: Access, extents: tuple[Expr | None, ...] = ()
) -> isl.Map:
    """The elements of an array with these `extents` that instances may touch."""
    reference = access.reference
    for guard in access.guards:
        domain = domain.intersect(builder.condition(guard))
    if not access.affine:
        relation = _somewhere(builder, domain, access, extents)
    elif not reference.subscripts:
        relation = isl.Map.from_domain(domain)
    else:
        parts = [isl.Map.from_pw_aff(builder.value(s)) for s in reference.subscripts]
        relation = parts[0]
        for part in parts[1:]:
            relation = relation.flat_range_product(part)
        relation = relation.intersect_domain(domain)
    return relation.set_tuple_name(D.out, array_tuple(reference))


def _somewhere(
    builder: AffineBuilder, domain: isl.Set, access: Access, extents: tuple[Expr | None, ...]
) -> isl.Map:
    """All elements, or those of a course, or those of which subscripts tell."""
    if access.course is not None:
        return _along(builder, domain, access.course)
    line = isl.Set.universe(builder.space.params().set_from_params().add_dims(D.set, 1))
    anywhere = isl.Map.from_domain_and_range(domain, line)
    parts = [anywhere] * len(access.reference.subscripts)
    told = access.forms or ((),) * len(parts)
    for k, (forms, extent) in enumerate(zip(told, extents or (None,) * len(parts), strict=True)):
        if forms:
            each = (isl.Map.from_pw_aff(builder.value(form)) for form in forms)
            parts[k] = reduce(isl.Map.union, each).intersect_domain(domain)
        elif extent is not None:
            ends = isl.Map.from_pw_aff(builder.value(extent)).intersect_domain(domain)
            parts[k] = ends.apply_range(isl.Map("{ [end] -> [i] : 0 <= i < end }"))
    return reduce(isl.Map.flat_range_product, parts)


def _along(builder: AffineBuilder, domain: isl.Set, course: Course) -> isl.Map:
    """Instances to all elements of a course."""
    own = builder.space.dim(D.set)
    space = builder.space.add_dims(D.set, len(course.iterators))
    for k, name in enumerate(course.iterators):
        space = space.set_dim_name(D.set, own + k, isl_name(name))
    within = AffineBuilder(space)
    inside = isl.Set.universe(space)
    for condition in course.domain:
        inside = inside.intersect(within.condition(condition))
    parts = (isl.Map.from_pw_aff(within.value(s)) for s in course.subscripts)
    relation = reduce(isl.Map.flat_range_product, parts).intersect_domain(inside)
    found = relation.project_out(D.in_, own, len(course.iterators))
    return found.set_tuple_name(D.in_, domain.get_tuple_name()).intersect_domain(domain)


def build(scop: Scop) -> Polyhedra:
    """The polyhedral form of `scop`."""
    parameters = tuple(s.name for s in scop.scalars if s.affine)
    context = _context(scop, parameters)
    length = max((len(s.schedule) for s in scop.statements), default=1)
    extents = {a.name: a.extents for a in scop.arrays}
    statements = tuple(_statement(s, parameters, context, length, extents) for s in scop.statements)
    return Polyhedra(scop, context, parameters, _running(statements), scop.arrays)


def _running(statements: tuple[PolyStatement, ...]) -> tuple[PolyStatement, ...]:
    """The statements that run at all. Raises Diagnosed for a loop that never ends."""
    for s in statements:
        if not s.domain.is_bounded():
            message = "a loop around this statement has no bound in one direction"
            help_text = "write a condition that ends it, as in 'i < n'"
            raise Diagnosed(Diagnostic("PG306", "error", message, s.position, help_text))
    return tuple(s for s in statements if not s.domain.is_empty())


def _context(scop: Scop, parameters: tuple[str, ...]) -> isl.Set:
    space = parameter_space(parameters)
    builder = AffineBuilder(space.set_from_params())
    context = isl.Set.universe(space.set_from_params())
    for condition in scop.context:
        context = context.intersect(builder.condition(condition))
    for scalar in scop.scalars:
        if scalar.affine and scalar.type.startswith("unsigned"):
            context = context.intersect(builder.condition(Binary(">=", Name(scalar.name), Int(0))))
        if scalar.affine and scalar.between is not None:
            low, high = map(Int, scalar.between)
            name = Name(scalar.name)
            test = Binary("&&", Binary("<=", low, name), Binary("<=", name, high))
            context = context.intersect(builder.condition(test))
    return context.params()


def _statement(
    s: Statement,
    parameters: tuple[str, ...],
    context: isl.Set,
    length: int,
    extents: Mapping[str, tuple[Expr | None, ...]],
) -> PolyStatement:
    space = statement_space(parameters, s.name, s.iterators)
    builder = AffineBuilder(space)
    domain = isl.Set.universe(space)
    for condition in s.domain:
        domain = domain.intersect(builder.condition(condition))
    domain = coalesced(domain.intersect_params(context))
    accesses = tuple(_accesses(s, builder, domain, extents))
    order = _original_order(s, builder, domain, length)
    return PolyStatement(
        s.name,
        s.iterators,
        s.loops,
        domain,
        order,
        s.body,
        accesses,
        s.position,
        s.text,
        parts=s.parts,
    )


def _accesses(
    s: Statement, builder: AffineBuilder, domain: isl.Set, extents: Mapping[str, tuple[Expr | None, ...]]
) -> Iterator[PolyAccess]:
    """Straight-line code touches few elements many times: their relations are built once."""
    known: dict[Hashable, isl.Map] = {}
    for a in s.accesses:
        r = a.reference
        key = r.array, r.field, r.subscripts, a.guards, a.affine, a.forms, a.course
        if key not in known:
            known[key] = access_relation(builder, domain, a, extents[r.array])
        yield PolyAccess(r, known[key], a.write, a.must, a.affine, a.position, a.text, a.exposed)


def _original_order(s: Statement, builder: AffineBuilder, domain: isl.Set, length: int) -> isl.Map:
    order: isl.Map | None = None
    for entry in s.schedule + (0,) * (length - len(s.schedule)):
        if isinstance(entry, int):
            value = builder.value(Int(entry))
        else:
            value = builder.value(Name(entry.removeprefix("-")))
            value = value.neg() if entry.startswith("-") else value
        part = isl.Map.from_pw_aff(value)
        order = part if order is None else order.flat_range_product(part)
    assert order is not None
    return order.intersect_domain(domain)
