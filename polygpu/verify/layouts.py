"""Host, device memory and kernels take arrays for the same: types, rows, what is copied of them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, reduce

import islpy as isl

from polygpu.model.expr import Expr
from polygpu.model.kernel import ArrayArgument, Buffer, Rows, Span
from polygpu.model.rewrite import scalars_in
from polygpu.model.scop import Array
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D, coalesced
from polygpu.verify.affine import UNIVERSE, Scope, constant, parameter, variable
from polygpu.verify.counterexample import element, example, values
from polygpu.verify.events import tuples
from polygpu.verify.session import Session
from polygpu.verify.slots import Slot, touching
from polygpu.verify.source import UnanalysableError
from polygpu.verify.trace import Trace
from polygpu.verify.verdict import BOUNDS, Failure


def check_layouts(session: Session) -> None:
    for trace in session.traces:
        with session.step(BOUNDS, trace.kernel.name):
            _kernel(session, trace)
    inside = isl.Set(UNIVERSE).intersect_params(session.p.context)
    scope = Scope(inside, {name: parameter(name) for name in session.p.parameters}, inside)
    for b in session.region.buffers:
        if b.host:
            with session.step(BOUNDS, ""):
                _buffer(session, scope, b)


def size(scope: Scope, expr: Expr) -> isl.PwAff:
    found = scope.affine(expr)
    if found is None:
        raise UnanalysableError("an array's size is no affine function of the parameters")
    return found


def _kernel(session: Session, trace: Trace) -> None:
    """The kernel addresses its arrays as the host laid them out."""
    for a in trace.kernel.arrays:
        b = session.buffers[a.name]
        if (a.type, a.structure) != (b.type, b.structure):
            _fail(session, trace.kernel.name, f"the kernel takes another type for '{a.name}' than the host")
        for name, ours, theirs in _pairs(a, b):
            if ours == theirs and _alike(trace.scope, trace.host, ours):
                continue
            inner, outer = trace.scope.affine(ours), trace.host.affine(theirs)
            if inner is None or outer is None:
                raise UnanalysableError(f"the {name} of '{a.name}' is not affine")
            differ = inner.ne_set(outer).intersect(trace.scope.domain)
            if not differ.is_empty():
                message = f"the kernel takes another {name} for '{a.name}' than the host"
                _fail(session, trace.kernel.name, message, differ)


def _alike(one: Scope, other: Scope, expr: Expr) -> bool:
    """Whether names mean the same in both, so that the expression does."""
    pairs = [(one.values.get(n), other.values.get(n)) for n in scalars_in(expr)]
    return all(a is not None and b is not None and a.plain_is_equal(b) for a, b in pairs)


def _pairs(a: ArrayArgument, b: Buffer) -> Iterator[tuple[str, Expr, Expr]]:
    for ours, theirs in zip(a.extents[1:-1], b.extents[1:-1], strict=True):
        assert ours is not None
        yield "extent", ours, theirs
    if b.pitch is not None:
        assert a.pitch is not None
        yield "pitch", a.pitch, b.pitch
    if (a.origin or b.origin) and len(a.origin) == len(b.origin):
        for ours, theirs in zip(a.origin, b.origin, strict=True):
            yield "origin", ours, theirs


def _fail(session: Session, kernel: str, message: str, where: isl.Set | None = None) -> None:
    text = ""
    if where is not None:
        text = example(session.p, isl.Map.from_domain(where)).parameters
    session.failures.append(Failure(BOUNDS, kernel, message, parameters=text))


def _buffer(session: Session, scope: Scope, b: Buffer) -> None:
    """The copies to and from the device move the elements that the source may touch, and no others."""
    array = next(a for a in session.p.scop.arrays if a.name == b.name)
    if (b.type, b.structure) != (array.element, array.structure):
        _fail(session, "", f"the device takes another type for '{b.name}' than the source")
    _rows(session, scope, array, b)
    copy, source = _Copy.of(scope, b), _box(scope, (), array.extents)
    if not copy.box.is_subset(source):
        beyond = copy.elements.subtract(source)
        if not beyond.is_empty():
            _fail(session, "", f"more of '{b.name}' is copied than there is", beyond.params())
    left = coalesced(copy.left_out(source))
    slots = [slot for slot in session.source.slots if slot.reference.array == b.name]
    elements = [_touched(session, slot, source) for slot in slots]
    for slot, mine in zip(slots, elements, strict=True):
        _copied(session, slot, left, mine)
    if b.rows:
        _packed(session, scope, b, source)
    elif array.extents and array.extents[0] is None:
        touched = reduce(isl.Set.union, elements, isl.Set.empty(source.get_space()))
        _not_too_much(session, b, copy, coalesced(touched))
    if copy.last is not None:
        _there(session, b, copy, elements)


def _touched(session: Session, slot: Slot, source: isl.Set) -> isl.Set:
    """The elements that an access may touch; of the array's, `source`, where it depends on data."""
    found = touching(session.p, slot).range().reset_tuple_id()
    return found if slot.relation is not None else found.intersect(source)


def _rows(session: Session, scope: Scope, array: Array, b: Buffer) -> None:
    """Host rows are as long as the source says."""
    inner = (
        array.extents if not array.pointers else (None, *b.extents[1:])
    )  # those of the block it is packed in
    for ours, theirs in zip(b.host_extents[1:], inner[1:], strict=True):
        if ours == theirs:
            continue
        assert ours is not None and theirs is not None
        differ = size(scope, ours).ne_set(size(scope, theirs)).intersect(scope.domain)
        if not differ.is_empty():
            _fail(
                session, "", f"the host's rows of '{b.name}' have another length than in the source", differ
            )


def _box(scope: Scope, origin: tuple[Expr, ...], extents: tuple[Expr | None, ...]) -> isl.Set:
    """The elements of an array with these extents; one without is unlimited."""
    names = tuple(f"e{k}__" for k in range(len(extents)))
    found = scope.domain
    for k, extent in enumerate(extents):
        index = variable(names[k])
        low = size(scope, origin[k]) if origin else constant(0)
        if extent is not None:
            found = found.intersect(low.le_set(index)).intersect(index.lt_set(low.add(size(scope, extent))))
    return tuples(found, names)


@dataclass(frozen=True)
class _Copy:
    """What of an array copies between host and device move: a box, up to the `last` element where that is
    not None, which depends on the parameters.
    """

    box: isl.Set
    last: isl.Set | None

    @staticmethod
    def of(scope: Scope, b: Buffer) -> _Copy:
        box, last = _box(scope, b.origin, b.extents), scope.domain
        if not b.last:
            return _Copy(box, None)
        names = tuple(f"e{k}__" for k in range(len(b.last)))
        for name, expr in zip(names, b.last, strict=True):
            last = last.intersect(variable(name).eq_set(size(scope, expr)))
        return _Copy(box, tuples(last, names))

    @cached_property
    def elements(self) -> isl.Set:
        return self.box if self.last is None else self.box.intersect(_before(self.last))

    def left_out(self, source: isl.Set) -> isl.Set:
        """What of `source` is not copied: told from the box and what is behind the last element, which has
        fewer pieces than what is before.
        """
        outside = source.subtract(self.box)
        if self.last is None:
            return outside
        behind = self.last.apply(isl.Map.lex_lt(self.box.get_space()))
        nothing = source.params().subtract(self.last.params())
        return outside.union(source.intersect(behind)).union(source.intersect_params(nothing))

    def ends_in(self, touched: isl.Set) -> bool:
        """Whether it soon shows that nothing is copied behind what is `touched`, nor before both it and 0."""
        if self.last is None:
            return False
        last, box = (s.intersect_params(touched.params()) for s in (self.last, self.box))
        rows, first = (_rows_of(s) for s in (box.upper_bound_val(D.set, 0, isl.Val(-1)), touched))
        behind = first.apply(isl.Map.lex_le(first.get_space()))
        return bool(last.is_subset(_before(touched)) and rows.is_subset(behind))


def _there(session: Session, b: Buffer, copy: _Copy, touched: list[isl.Set]) -> None:
    """The device has the last element that is copied, where any is touched that it has."""
    assert copy.last is not None
    beyond = copy.last.subtract(copy.box).params()
    if beyond.is_empty():
        return
    used = (elements.intersect(copy.box).params() for elements in touched)
    beyond = beyond.intersect(reduce(isl.Set.union, used, beyond.subtract(beyond)))
    if not beyond.is_empty():
        _fail(session, "", f"more of '{b.name}' is copied than the device has memory for", beyond)


def _before(elements: isl.Set) -> isl.Set:
    """These, and those before one of them."""
    return elements.apply(isl.Map.lex_ge(elements.get_space()))


def _rows_of(elements: isl.Set) -> isl.Set:
    """Their first subscripts."""
    return elements.project_out(D.set, 1, elements.dim(D.set) - 1)


def _copied(session: Session, slot: Slot, left: isl.Set, elements: isl.Set) -> None:
    """Of the `elements` of a slot none is `left` out, unless nothing depends on it."""
    missing = elements.intersect(left)
    if missing.is_empty() or not session.demand.matters(slot):
        return
    found = example(session.p, isl.Map.from_domain(missing))
    message = f"an element of '{slot.reference.array}' that the source touches is not copied"
    source = ""
    if slot.relation is not None:
        users = slot.relation.reset_tuple_id(D.out).reverse()
        source = found.access(slot, found.image(users))
    place = element(slot.array, values(found.pair, D.in_))
    session.failures.append(Failure(BOUNDS, "", message, source, element=place, parameters=found.parameters))


def _packed(session: Session, scope: Scope, b: Buffer, source: isl.Set) -> None:
    """Of each row behind a pointer, what is packed lies between elements that the source may touch, and what
    is unpacked between elements that it may write; and that is all of them.
    """
    assert b.rows is not None
    slots = [slot for slot in session.source.slots if slot.reference.array == b.name]
    device = _box(scope, b.origin, b.extents)
    for span, mine in ((b.rows.touched, slots), (b.rows.written, [slot for slot in slots if slot.write])):
        elements = isl.Set.empty(device.get_space())
        for slot in mine:
            elements = elements.union(_touched(session, slot, source))
        copied = device.subtract(device) if span is None else _of_span(scope, b.rows, span, device)
        missing, beyond = elements.subtract(copied), copied.subtract(_between(elements))
        if not missing.is_empty():
            _fail(
                session,
                "",
                f"elements of '{b.name}' that the source touches are not copied",
                missing.params(),
            )
        if not beyond.is_empty():
            _fail(
                session, "", f"more of a row of '{b.name}' is copied than the source touches", beyond.params()
            )


def _of_span(scope: Scope, rows: Rows, span: Span, device: isl.Set) -> isl.Set:
    """The elements that are copied between the host's rows and the block that they are packed in."""
    names = (*rows.counters, "column__")
    for name in rows.counters:
        scope = scope.bind(name, variable(name))
    found = scope.domain if span.test is None else scope.domain.intersect(scope.condition(span.test))
    column = variable(names[-1])
    found = found.intersect(size(scope, span.first).le_set(column)).intersect(
        column.lt_set(size(scope, span.end))
    )
    return device.intersect(tuples(found, names))


def _between(elements: isl.Set) -> isl.Set:
    """With all between two elements of a row."""
    rank = elements.dim(D.set)
    outer = [f"e{k}" for k in range(rank - 1)]
    sides = (
        isl.Map(f"{{ [{', '.join((*outer, 'from'))}] -> [{', '.join((*outer, 'to'))}] : from {op} to }}")
        for op in ("<=", ">=")
    )
    first, last = (elements.apply(side) for side in sides)
    return first.intersect(last)


def _not_too_much(session: Session, b: Buffer, copy: _Copy, touched: isl.Set) -> None:
    """Of an array of unknown length nothing is copied beyond what the source may touch, if it does.

    All from the pointer on up to that is there: C has pointers into one array only.
    """
    if copy.ends_in(touched):
        return
    device = copy.elements.intersect_params(touched.params())
    first, start = (_rows_of(s).dim_min(0) for s in (touched, device))
    beyond = start.lt_set(first).intersect(start.lt_set(start.sub(start))).params()
    same: isl.Set | None = None  # up to a dimension, the last element copied and the last one touched
    for ours, theirs in zip(_last_of(device), _last_of(touched), strict=True):
        further = ours.gt_set(theirs).params()
        beyond = beyond.union(further if same is None else further.intersect(same))
        equal = ours.eq_set(theirs).params()
        same = equal if same is None else same.intersect(equal)
    if not beyond.is_empty():
        message = f"more of '{b.name}' is copied than the source touches, and its length is not known"
        _fail(session, "", message, beyond)


def _last_of(elements: isl.Set) -> list[isl.PwAff]:
    """The subscripts of the lexicographically last element, for each value of the parameters."""
    found: list[isl.PwAff] = []
    rank = elements.dim(D.set)
    for k in range(rank):  # isl's lexicographic maximum fails for some sets
        found.append(elements.dim_max(k))
        there = isl.Set.from_pw_aff(found[k]).insert_dims(D.set, 0, k).add_dims(D.set, rank - k - 1)
        elements = elements.intersect(there)
    return found
