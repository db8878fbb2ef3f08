"""`for` headers: the iterator, its start, its step and the conditions that bound it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.liveness import changed_name, iterator_name
from polygpu.frontend.names.scopes import Variable
from polygpu.frontend.names.types import Basic, describe
from polygpu.frontend.read.expressions import Reader
from polygpu.frontend.read.promises import NOTHING
from polygpu.frontend.read.reasons import nonaffine
from polygpu.frontend.read.state import Binding, Iterator, Region, Substitute, source_text
from polygpu.frontend.read.unsupported import refusal
from polygpu.frontend.read.values import converted, current
from polygpu.frontend.shape.affine import (
    add,
    counted,
    expression,
    floored,
    polynomial,
    scaled,
    subtract,
    total,
)
from polygpu.frontend.text.nodes import parts_of
from polygpu.model.expr import (
    SIZES,
    Binary,
    Call,
    Cast,
    Expr,
    Int,
    Name,
    Select,
    common_type,
    is_floating,
    type_of,
)
from polygpu.model.linear import conjuncts
from polygpu.model.offsets import product_of
from polygpu.model.rewrite import scalars_in, substitute
from polygpu.model.scop import Loop
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.position import Position

_ORDER = frozenset({"<", "<=", ">", ">="})
_FORM = "write it as 'for (int i = lower; i < upper; i++)'"


@dataclass(frozen=True)
class Counter:
    """What a loop counts: its iterator's unique `name`, and where it starts.

    `start` is the source's, in its types: the iterator's is `type`. `first` is its affine form. `outside` is
    what the variable stands for before the loop and after it.
    """

    variable: Variable
    name: str
    type: str
    start: Expr
    first: Expr
    outside: Binding | None

    def before(self, at: Expr, step: int) -> Expr:
        """The number of iterations before the one at `at`."""
        distance = subtract(at, counted(self.first)) if step > 0 else subtract(counted(self.first), at)
        return distance if abs(step) == 1 else Binary("/", distance, Int(abs(step)))


@dataclass(frozen=True)
class Header:
    """A loop over `counter`. `domain` holds its bounds and its stride, `test` is the source's condition.

    Where the loop is reached, `reached` is at least 0: it ends at `!=`. `end` is the first value that is
    beyond the loop, None where it has no affine form.
    """

    counter: Counter
    domain: tuple[Expr, ...]
    step: int
    test: Expr
    reached: tuple[Expr, ...]
    end: Expr | None

    @property
    def final(self) -> Expr | None:
        """The value of the iterator after the loop."""
        first, end, step = counted(self.counter.first), self.end, abs(self.step)
        if end is None:
            return None
        if step == 1:
            return bound("max" if self.step > 0 else "min", first, end)
        distance = subtract(end, first) if self.step > 0 else subtract(first, end)
        count = bound("max", Int(0), floored(add(distance, Int(step - 1)), step))
        return add(first, product_of(Int(self.step), count))

    @property
    def runs(self) -> Expr:
        """Whether there is an iteration."""
        assert self.end is not None
        return Binary("<" if self.step > 0 else ">", counted(self.counter.first), self.end)


def bound(which: str, left: Expr, right: Expr) -> Expr:
    """The larger or smaller of two integers."""
    if isinstance(left, Int) and isinstance(right, Int):
        return Int(max(left.value, right.value) if which == "max" else min(left.value, right.value))
    return left if left == right else Call(which, (left, right), "int")


def begin(reader: Reader, node: c_ast.For, part: Any) -> Counter:
    """The counter of a loop that starts in a `part` of its header, or for None at the iterator's value.

    Up to `enter` that is what the variable stands for. Raises Diagnosed.
    """
    region = reader.region
    position = region.at(node)
    variable, start = _start(reader, node, part, position)
    ctype = _iterator_type(region.at(node.init or node), variable)
    if isinstance(region.bindings.get(variable), Iterator):
        message = f"the iterator '{variable.name}' of an outer loop is used again"
        help_text = "give the inner loop an iterator of its own"
        raise refusal("PG105", position, message, help_text, 3)
    first = region.affine.value(start)
    if first is None:
        what = f"the start of the loop over '{variable.name}' is"
        raise nonaffine(region, start, region.at(node.init or node), what)
    if variable.name in region.kept and not isinstance(part, c_ast.Decl):
        reader.binding(variable, node)
    outside = region.bindings.get(variable)
    name = region.unique(variable.name)
    region.iterators.add(name)
    region.spelled[name] = getattr(node, "shown", "") or variable.name
    region.bindings[variable] = Substitute(start, ctype)
    return Counter(variable, name, ctype, start, first, outside)


def sets(part: Any, name: str) -> bool:
    """Whether a part of a loop's header gives the iterator its first value."""
    match part:
        case c_ast.Decl(name=found):
            return bool(found == name)
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=found)):
            return bool(found == name)
    return False


def steps(part: Any, name: str) -> bool:
    """Whether a part of a loop's header changes the iterator."""
    return changed_name(part) == name


def enter(reader: Reader, counter: Counter) -> None:
    """Within the loop the variable is its iterator, until `leave`."""
    # Arithmetic promotes narrow types to int, which holds all their values.
    reader.region.bindings[counter.variable] = Iterator(counter.name, common_type(counter.type, "int"))


def step_past(reader: Reader, counter: Counter, step: int) -> None:
    """Behind the step in the header the variable has its next value."""
    following = Binary("+", converted(Name(counter.name), common_type(counter.type, "int")), Int(step))
    reader.region.bindings[counter.variable] = Substitute(following, counter.type)


def read_header(reader: Reader, node: c_ast.For, counter: Counter, step: int, text: str) -> Header:
    """The conditions of a loop that was entered. Raises Diagnosed."""
    region, name = reader.region, Name(counter.name)
    position = region.at(node)
    test = _condition(reader, node, counter, step, position)
    tests = _tests(region, test, name, step, counter.type, region.at(node.cond))
    reached = tuple(_distance(t, name, step, counter.first) for t in tests if _is_unequal(t, name))
    tests = tuple(_ordered(t, name, step) if _is_unequal(t, name) else t for t in tests)
    promise = region.promises.get(id(node), NOTHING)
    label = region.labels.get(str(node.coord), "")
    region.loops.append(
        Loop(
            counter.variable.name,
            position,
            text,
            step,
            label,
            promise.independent,
            promise.reassociates,
            promise.copied,
            promise.sections,
        )
    )
    if getattr(node, "certain", False):
        reached += tuple(_distance_to(substitute(t, {name.name: counter.first})) for t in tests)
    domain = (_first(name, counter.first, step), *tests, *_stride(counter.name, counter.first, step))
    region.bounding |= scalars_in(*domain)
    return Header(counter, domain, step, test, reached, _end(tests, name, step))


def tests_of(reader: Reader, node: c_ast.For) -> list[tuple[Any, Expr]]:
    """What has to be at least 0 where the loop is reached, each with its node. Raises Diagnosed."""
    values: list[tuple[Any, Expr]] = []
    for test in getattr(node, "tests", ()):
        value = reader.certain(test)
        found = reader.region.affine.value(value)
        if found is None:
            raise nonaffine(reader.region, value, reader.region.at(test), "what the loop is divided by is")
        values.append((test, found))
    return values


def enter_unclear(reader: Reader, node: c_ast.For) -> None:
    """Binds what a loop's header declares or sets, whatever is wrong with it: its body can be read then."""
    for declaration in getattr(node.init, "decls", None) or ():
        reader.scope.declare(declaration, "region")
    names = [d.name for d in getattr(node.init, "decls", None) or ()] or [iterator_name(node)]
    for name in names:
        variable = reader.scope.find(name)
        if isinstance(variable, Variable) and isinstance(variable.type, Basic):
            unique = reader.region.unique(name)
            reader.region.iterators.add(unique)
            reader.region.bindings[variable] = Iterator(unique, variable.type.name)


def leave(region: Region, counter: Counter) -> None:
    """After the loop the variable is what it was before."""
    del region.bindings[counter.variable]
    if counter.outside is not None:
        region.bindings[counter.variable] = counter.outside


def _start(reader: Reader, node: c_ast.For, part: Any, position: Position) -> tuple[Variable, Expr]:
    match part:
        case c_ast.Decl() if part.init is not None:
            start = reader.certain(part.init)
            variable = reader.scope.declare(part, "region")
        case c_ast.Assignment(op="="):
            variable, start = reader.variable(part.lvalue), reader.certain(part.rvalue)
        case None if name := iterator_name(node):
            iterator = c_ast.ID(name, node.coord)
            variable, start = reader.variable(iterator), reader.value(iterator)
            known = current(reader, variable)
            start = known.value if isinstance(known, Substitute) else start  # `conversions.of_start` converts
        case _:
            raise refusal("PG104", position, _no_start(node), _FORM, 3)
    if not isinstance(variable, Variable):
        raise refusal("PG104", position, "the loop has no iterator", _FORM, 3)
    return variable, start


def _no_start(node: c_ast.For) -> str:
    """What is wrong with a header that sets no variable."""
    for part in parts_of(node.init):
        if isinstance(part, c_ast.Assignment) and not isinstance(part.lvalue, c_ast.ID):
            return f"the loop counts in '{source_text(part.lvalue)}', which is no variable of its own"
    return "the loop's header does not set its iterator"


def _iterator_type(position: Position, variable: Variable) -> str:
    ctype = variable.type
    if not isinstance(ctype, Basic) or is_floating(ctype.name) or ctype.qualifiers & {"volatile", "_Atomic"}:
        message = f"the iterator '{variable.name}' is no plain integer but {describe(ctype)}"
        raise refusal("PG104", position, message, "use an int", len(variable.name))
    if variable.place == "global":
        message = f"the iterator '{variable.name}' is a global variable: other code sees its value"
        raise refusal("PG106", position, message, "declare it in the loop: 'for (int i = ...'")
    return ctype.name


def read_step(reader: Reader, node: c_ast.For, variable: Variable, outermost: bool) -> int:
    """What the header adds to the iterator. Raises Diagnosed.

    An `outermost` loop may step by a scalar that the region only reads: it is 1 mostly, by which strides of
    vectors are counted, and `units` of the region has it then. Inner loops can be run with any.
    """
    parts = [part for part in parts_of(node.next) if steps(part, variable.name)] or parts_of(node.next)
    if not parts:
        message = "the loop's header does not change its iterator"
        raise refusal("PG104", reader.region.at(node), message, _FORM, 3)
    where = reader.region.at(parts[0])
    amount = _amount(reader, parts[0], variable, outermost) if len(parts) == 1 else None
    if amount is None:
        message = f"the loop's header changes '{variable.name}' in a way that is no constant step"
        help_text = f"let '{variable.name}' step by a constant, or put the region inside the loop"
        raise refusal("PG103", where, message, help_text, len(variable.name))
    if amount == 0:
        raise refusal("PG103", where, "the loop's step is 0", "use a step that is not 0")
    return amount


def _amount(reader: Reader, node: Any, variable: Variable, outermost: bool) -> int | None:
    """The constant that one iteration adds to the iterator, 1 for what is taken to be that."""
    match node:
        case c_ast.UnaryOp(op="p++" | "++" | "p--" | "--" as op, expr=c_ast.ID(name=name)):
            return (1 if "+" in op else -1) if name == variable.name else None
        case c_ast.Assignment(op="+=" | "-=" as op, lvalue=c_ast.ID(name=name)):
            change = reader.region.affine.value(reader.certain(node.rvalue))
            if name == variable.name and outermost and isinstance(change, Name):
                change = _unit(reader.region, change, node)
            if name == variable.name and isinstance(change, Int):
                return change.value if op == "+=" else -change.value
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name)) if name == variable.name:
            own = polynomial(reader.value(c_ast.ID(name, node.coord)))
            difference = total(polynomial(reader.certain(node.rvalue)), scaled(own, -1))
            if set(difference) <= {()}:
                return difference.get((), 0)
    return None


def _unit(region: Region, step: Name, node: Any) -> Expr:
    """1 for a scalar that the region only reads, which a test in the host file sees to; else the name, as of
    one that loops around the region change.
    """
    source = region.hosts.get(step.name, step.name)
    if step.name not in region.scalars or not region.around.isdisjoint(re.findall(r"\w+", source)):
        return step
    region.units.setdefault(step.name, region.at(node))
    return Int(1)


def _condition(reader: Reader, node: c_ast.For, counter: Counter, step: int, position: Position) -> Expr:
    if node.cond is None:
        raise refusal("PG104", position, "the loop's header has no condition", _FORM, 3)
    is_unsigned = counter.type.startswith("unsigned")
    if getattr(node, "to_zero", False) and is_unsigned:
        return _before_wrapping(reader, node, node.cond.left)
    test = reader.certain(node.cond)
    if is_unsigned and step == -1 and (other := _ends_by_wrapping(test, counter)) is not None:
        starts = Binary("<", Cast(common_type(counter.type, "int"), counter.start), other)
        return Binary("&&", starts, _before_wrapping(reader, node, c_ast.ID(counter.variable.name)))
    return test


def _before_wrapping(reader: Reader, node: c_ast.For, iterator: Any) -> Expr:
    """Whether an unsigned iterator that counts down is no more than it was."""
    where = node.cond.coord
    below = c_ast.UnaryOp("-", c_ast.Constant("int", "1", where), where)
    return reader.certain(c_ast.BinaryOp("!=", iterator, below, where))


def _ends_by_wrapping(test: Expr, counter: Counter) -> Expr | None:
    """The n of `i < n`, where an unsigned i that counts down is when it has passed 0, if n is no wider."""
    match test:
        case Binary("<", Name(name) | Cast(_, Name(name)) as left, right) | Binary(
            ">", right, Name(name) | Cast(_, Name(name)) as left
        ) if name == counter.name and name not in scalars_in(right):
            own, others = type_of(left), type_of(right)
            narrow = not is_floating(others) and SIZES[others] <= SIZES[own]
            return right if own == counter.type and SIZES[own] >= SIZES["int"] and narrow else None
    return None


def _tests(
    region: Region, test: Expr, iterator: Name, step: int, ctype: str, where: Position
) -> tuple[Expr, ...]:
    """The conditions of the header, each of which ends the loop for good once it fails."""
    found: list[Expr] = []
    bounded = False
    for part in conjuncts(test):
        condition = region.affine.condition(part, unsigned=True)
        if condition is None:
            raise nonaffine(region, part, where, f"the bound of the loop over '{iterator.name}' is")
        if _always(part, condition, iterator, ctype):
            message = f"'{iterator.name} >= 0' always holds: '{iterator.name}' is unsigned"
            raise refusal("PG104", where, message, "use a signed iterator")
        bounded |= _bounds(condition, iterator, step, where)
        found.append(condition)
    if not bounded and not region.trials:
        raise _unbounded(iterator, step, where)
    return tuple(found)


def _unbounded(iterator: Name, step: int, where: Position) -> Diagnosed:
    direction = "up" if step > 0 else "down"
    message = f"the loop over '{iterator.name}' counts {direction}, but its condition does not end it there"
    help_text = (
        f"if it shall, use '{'<' if step > 0 else '>'}' or '{'<=' if step > 0 else '>='}' in the condition"
    )
    return refusal("PG104", where, message, help_text)


def _always(test: Expr, condition: Expr, iterator: Name, ctype: str) -> bool:
    """`i >= 0` of an unsigned i; `(int)i >= 0` does not hold once i has wrapped around."""
    if condition != Binary(">=", iterator, Int(0)) or not ctype.startswith("unsigned"):
        return False
    compared = type_of(Binary("+", test.left, test.right)) if isinstance(test, Binary) else ctype
    return compared.startswith("unsigned") or SIZES[ctype] < SIZES["int"]


def _bounds(condition: Expr, iterator: Name, step: int, where: Position) -> bool:
    """Whether the condition bounds the iterator in the loop's direction; False if it is not about it."""
    if iterator.name not in scalars_in(condition):
        return False
    match condition:
        case Binary("<" | "<=" | ">" | ">=" as op, left, right):
            difference = polynomial(subtract(left, right))
            factor = difference.pop((iterator,), 0)
            if not any(iterator.name in scalars_in(atom) for atoms in difference for atom in atoms):
                upwards = factor > 0 if op in ("<", "<=") else factor < 0
                if factor and upwards == (step > 0):
                    return True
                raise _unbounded(iterator, step, where)
        case Binary("!=", left) if not isinstance(left, Select):
            if abs(step) == 1 and _other_side(condition, iterator) is not None:
                return True
            message = (
                f"the loop over '{iterator.name}' ends at '!=': whether it is reached depends on the step"
            )
            help_text = f"use '{'<' if step > 0 else '>'}' if the loop ends exactly there"
            raise refusal("PG104", where, message, help_text)
    message = f"the condition of the loop over '{iterator.name}' is no comparison that bounds it"
    raise refusal("PG104", where, message, "join comparisons such as 'i < n' with '&&'")


def _first(iterator: Name, first: Expr, step: int) -> Expr:
    return Binary(">=" if step > 0 else "<=", iterator, first)


def _stride(name: str, first: Expr, step: int) -> tuple[Expr, ...]:
    if abs(step) == 1:
        return ()
    distance = subtract(Name(name), first) if step > 0 else subtract(first, Name(name))
    return (Binary("==", Binary("%", distance, Int(abs(step))), Int(0)),)


def _other_side(condition: Expr, iterator: Name) -> Expr | None:
    """What a comparison compares the iterator itself with; None where that is no such comparison."""
    if not isinstance(condition, Binary):
        return None
    difference = polynomial(counted(subtract(condition.left, condition.right)))
    factor = difference.pop((iterator,), 0)
    other = expression(scaled(difference, -factor))
    return None if abs(factor) != 1 or iterator.name in scalars_in(other) else other


def _is_unequal(condition: Expr, iterator: Name) -> bool:
    return isinstance(condition, Binary) and condition.op == "!=" and iterator.name in scalars_in(condition)


def _ordered(condition: Expr, iterator: Name, step: int) -> Expr:
    """`i != n` of a loop that counts up to n as `i < n`."""
    other = _other_side(condition, iterator)
    assert other is not None
    return Binary("<" if step > 0 else ">", iterator, other)


def _distance(condition: Expr, iterator: Name, step: int, first: Expr) -> Expr:
    other = _other_side(condition, iterator)
    assert other is not None
    return subtract(other, first) if step > 0 else subtract(first, other)


def _distance_to(condition: Expr) -> Expr:
    """What is at least 0 where a comparison holds."""
    assert isinstance(condition, Binary)
    left, right = condition.left, condition.right
    distance = subtract(right, left) if condition.op in ("<", "<=") else subtract(left, right)
    return distance if condition.op in ("<=", ">=") else subtract(distance, Int(1))


def _end(tests: Iterable[Expr], iterator: Name, step: int) -> Expr | None:
    """The first value beyond the loop where that is no value before its start."""
    found: Expr | None = None
    for test in tests:
        beyond = _beyond(test, iterator, step)
        if beyond is None:
            return None
        found = beyond if found is None else bound("min" if step > 0 else "max", found, beyond)
    return found


def _beyond(test: Expr, iterator: Name, step: int) -> Expr | None:
    """The first value for which a test fails that bounds the iterator: floor((n + 1) / 2) for 2 * i < n."""
    if not isinstance(test, Binary) or test.op not in _ORDER:
        return None
    difference = polynomial(counted(subtract(test.left, test.right)))
    factor = difference.pop((iterator,), 0)
    other = expression(scaled(difference, -1 if factor > 0 else 1))  # abs(factor) * i < other, <= or so on
    if factor == 0 or iterator.name in scalars_in(other):
        return None
    inclusive = test.op in ("<=", ">=")
    if (step > 0) != inclusive:  # the least i with abs(factor) * i >= other
        other = add(other, Int(abs(factor) - 1))
    return add(floored(other, abs(factor)), Int(inclusive * (1 if step > 0 else -1)))
