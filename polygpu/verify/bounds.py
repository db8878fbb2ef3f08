"""Every access inside its array; wide moves aligned."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field

import islpy as isl

from polygpu.model.expr import SIZES, Reference
from polygpu.model.kernel import Buffer, DeclareArray
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import D
from polygpu.support.recent import Same
from polygpu.verify.affine import UNIVERSE, Scope, constant, variable
from polygpu.verify.counterexample import doer, element, parameters, sample, values
from polygpu.verify.events import Do, Place, executions, relation
from polygpu.verify.layouts import size
from polygpu.verify.order import WHOLE
from polygpu.verify.session import Session
from polygpu.verify.trace import Trace
from polygpu.verify.verdict import BOUNDS, Failure

Side = tuple[isl.PwAff, isl.PwAff]  # first index, one past the last
_MANY = 4  # pieces


def check_bounds(session: Session) -> None:
    for trace in session.traces:
        checked = _Checked(session, trace)
        for action in trace.actions:
            with session.step(BOUNDS, trace.kernel.name):
                for place in (*action.reads, *([action.target] if action.target else [])):
                    if place.index:
                        session.counts[BOUNDS] += 1
                        checked.check(action, place)
                        _width(session, trace, action, place)


@dataclass(frozen=True)
class _Checked:
    """What was found of a launch: `sides` of its arrays, and subscripts that are `inside`, which the accesses
    of a piece of code have in common; `around` domains of many pieces, sets without floors.
    """

    session: Session
    trace: Trace
    sides: dict[tuple[str, str], list[Side]] = field(default_factory=dict)
    inside: set[Hashable] = field(default_factory=set)
    around: dict[Hashable, isl.Set] = field(default_factory=dict)

    def check(self, action: Do, place: Place) -> None:
        """Whether the element is one of its array wherever the action happens, whatever the action is."""
        assert place.index is not None
        array = place.space, place.array
        if array not in self.sides:
            self.sides[array] = _sides(self.session, self.trace, place)
        for k, (index, side) in enumerate(zip(place.index, self.sides[array], strict=True)):
            key = Same(action.point.domain), array, k, str(index)
            if key in self.inside:
                continue
            beyond = index.lt_set(side[0]).union(index.ge_set(side[1]))
            # this takes less than to know where they meet
            if self._is_disjoint(action.point.domain, beyond):
                self.inside.add(key)
                continue
            outside = action.point.domain.intersect(beyond)
            if not _never_read(self.session, action, place, outside):
                message = f"an access outside of {place.space} array '{place.text or place.array}'"
                wrong = _wrong(self.session, self.trace, action, place, outside, message)
                self.session.failures.append(wrong)
                return

    def _is_disjoint(self, domain: isl.Set, beyond: isl.Set) -> bool:
        """Of many pieces with floors the sets around them mostly tell, in a hundredth of the time."""
        if domain.n_basic_set() > _MANY:
            key = Same(domain)
            if key not in self.around:
                self.around[key] = domain.remove_divs()
            if self.around[key].is_disjoint(beyond):
                return True
        return bool(domain.is_disjoint(beyond))


def _width(session: Session, trace: Trace, action: Do, place: Place) -> None:
    if action.width > 1 and place.space != "private":
        _aligned(session, trace, action, place)


def _aligned(session: Session, trace: Trace, action: Do, place: Place) -> None:
    """A wide move starts at a multiple of its width, in an array that itself is aligned like this."""
    assert place.index is not None
    first = place.index[-1].sub(variable(action.point.loops[-1]))
    row: isl.PwAff | None = None
    aligned = True
    if place.space == "shared":
        s = next(s for s in trace.kernel.shared if s.name == place.array)
        aligned = s.alignment % (action.width * SIZES.get(s.type, 1)) == 0
        row = constant(s.extents[-1] + s.padding) if len(s.extents) > 1 else None
    else:
        b = session.buffer(place.array)
        first = first.sub(size(trace.host, b.origin[-1])) if b.origin else first
        row = size(trace.host, b.pitch) if b.pitch is not None else None
    odd = isl.Set(UNIVERSE) if not aligned else _no_multiple(first, action.width)
    if row is not None:
        odd = odd.union(_no_multiple(row, action.width))
    odd = action.point.domain.intersect(odd)
    if not odd.is_empty():
        message = f"a move of {action.width} elements of '{place.text or place.array}' that is not aligned"
        session.failures.append(_wrong(session, trace, action, place, odd, message))


def _no_multiple(value: isl.PwAff, width: int) -> isl.Set:
    return value.mod_val(isl.Val(width)).ne_set(constant(0))


def _never_read(session: Session, action: Do, place: Place, outside: isl.Set) -> bool:
    """Whether the source, and so the kernel, reads nothing there, or the same element, which it may only do
    when data says so.
    """
    wrong = executions(action.point, WHOLE.dims(action.point), outside)
    happening = session.happening(action, place, wrong, WHOLE)
    if happening.is_empty():
        return True
    leaf = action.leaf(place)
    if leaf is None or not isinstance(leaf.source, Reference) or place.space != "global":
        return False
    assert action.matched is not None, "of which it is a leaf"
    statement = session.p.statement(action.matched.statement)
    access = next((a for a in statement.accesses if a.reference == leaf.source and not a.write), None)
    optional = access is not None and not access.must
    return optional and happening.is_subset(session.instances(action, WHOLE).domain())


def _wrong(session: Session, trace: Trace, action: Do, place: Place, wrong: isl.Set, message: str) -> Failure:
    assert place.index is not None
    p = session.p
    point = sample(relation(action.point, place.index, ()).intersect_domain(wrong))
    what = element(place.text or place.array, values(point, D.out))
    who = doer(p, action, point.params())
    where = parameters(point, p.parameters)
    return Failure(BOUNDS, trace.kernel.name, message, element=what, parameters=where, by=who)


def _sides(session: Session, trace: Trace, place: Place) -> list[Side]:
    match place.space:
        case "shared":
            s = next(s for s in trace.kernel.shared if s.name == place.array)
            return _constant((*s.extents[:-1], s.extents[-1] + s.padding))
        case "private":
            made = trace.private[place.array]
            return _constant(made.extents if isinstance(made, DeclareArray) else ())
    return _buffer_sides(session.buffer(place.array), trace.host)


def _constant(extents: tuple[int, ...]) -> list[Side]:
    return [(constant(0), constant(e)) for e in extents]


def _buffer_sides(b: Buffer, host: Scope) -> list[Side]:
    """Rows may be read up to their pitch."""
    origin = [size(host, o) for o in b.origin] or [constant(0)] * len(b.extents)
    lengths = [size(host, e) for e in b.extents]
    if b.pitch is not None:
        lengths[-1] = size(host, b.pitch)
    return [(o, o.add(n)) for o, n in zip(origin, lengths, strict=True)]
