"""C expressions to the model's: names resolved, types made explicit where C++ would differ."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.constants import character
from polygpu.frontend.names.literals import constant, double
from polygpu.frontend.names.scopes import Enumerator, Function, Scope, Variable
from polygpu.frontend.names.types import (
    Basic,
    Opaque,
    Pointer,
    Qualified,
    Vector,
    describe,
    described,
    element_of,
    rank,
    refusal_of,
    tables,
)
from polygpu.frontend.read import calls, initialisers, places, pointers, values
from polygpu.frontend.read.state import (
    Address,
    Binding,
    InMemory,
    Iterator,
    Local,
    Lost,
    RawArray,
    Region,
    Scalar,
    Substitute,
)
from polygpu.frontend.read.unsupported import expression_refusal, note, refusal
from polygpu.frontend.read.values import converted
from polygpu.frontend.shape.affine import subtract
from polygpu.frontend.text.nodes import nodes
from polygpu.model.expr import (
    SIZES,
    Binary,
    Cast,
    Expr,
    Int,
    Name,
    Reference,
    Select,
    Unary,
    is_floating,
    type_of,
)
from polygpu.model.scop import Let, Store
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.position import Position

_OF_INTEGERS = frozenset({"%", "&", "|", "^", "<<", ">>"})
_BETWEEN_POINTERS = frozenset("- < <= > >= == !=".split())
_OPERATORS = frozenset("+ - * / % << >> & | ^ && || == != < <= > >=".split())


@dataclass(frozen=True)
class Reader:
    """Reads expressions of one region at one scope. All methods raise Diagnosed."""

    region: Region
    scope: Scope

    def at(self, scope: Scope) -> Reader:
        return Reader(self.region, scope)

    def child(self) -> Reader:
        return Reader(self.region, self.scope.child())

    def value(self, node: Any) -> Expr:
        """The value of an expression without side effects."""
        convert = _CONVERSIONS.get(type(node).__name__)
        if convert is None:
            raise expression_refusal(node, self.region.at(node))
        return convert(self, node)

    def constant(self, node: c_ast.Constant) -> Expr:
        code = character(node.value) if node.type == "char" else None
        found = constant(node.type, node.value) if code is None else Int(code)
        if found is None:
            message = f"a constant of type {node.type} in a region: the GPU has no such type"
            help_text = "leave text to the host" if node.type == "string" else "use double"
            raise refusal("PG140", self.region.at(node), message, help_text, len(node.value))
        return found

    def name(self, node: c_ast.ID) -> Expr:
        value = self.scope.constant(node)
        if value is not None:
            return value.expr
        if node.name in ("true", "false") and self.scope.find(node.name) is None:
            return Int(int(node.name == "true"))
        variable = self.variable(node)
        binding = self.binding(variable, node)
        among: tuple[Expr, ...] = ()
        match values.current(self, variable) if isinstance(binding, Local | RawArray) else None:
            case Substitute(expr, ctype):
                return converted(expr, ctype)
            case Lost(position) if isinstance(variable.type, Basic):
                raise self._lost(node, position)
            case InMemory(among):
                pass
        match binding:
            case Iterator(name, ctype):
                return converted(Name(name), ctype)
            case Substitute(expr, ctype):
                return converted(expr, ctype)
            case Local(name, ctype) | Scalar(name, ctype, _):
                return Name(name, ctype)
            case RawArray() if rank(variable.type) == 0 and isinstance(variable.type, Basic):
                found = self.reference(node)
                self.region.choices[found.site] = among
                return found
        what = "structure" if isinstance(variable.type, Qualified) else "array or pointer"
        message = f"the {what} '{node.name}' is used as a whole"
        raise refusal("PG141", self.region.at(node), message, "name one element of it", len(node.name))

    def _lost(self, node: c_ast.ID, loop: Any) -> Exception:
        return refusal(
            "PG106",
            self.region.at(node),
            f"the iterator '{node.name}' is used after its loop",
            "compute the value that it has there from the loop's bound",
            len(node.name),
            (note("the loop is here", loop),),
        )

    def variable(self, node: c_ast.ID) -> Variable:
        """The variable that a name means here."""
        symbol = self.scope.find(node.name)
        if isinstance(symbol, Variable):
            return symbol
        position, length = self.region.at(node), len(node.name)
        if isinstance(symbol, Function):
            message = f"the function '{node.name}' is used as a value"
            raise refusal("PG131", position, message, "call it directly", length)
        if isinstance(symbol, Enumerator):
            message = f"the value of the constant '{node.name}' is not known"
        else:
            message = f"'{node.name}' is not declared in a file of yours"
        raise refusal("PG144", position, message, "copy its value to a local variable first", length)

    def binding(self, variable: Variable, node: Any) -> Binding:
        """What the variable stands for; an outer one is bound at its first use."""
        if variable not in self.region.bindings:
            self.check_type(variable, node)
            self.region.bindings[variable] = self._bind(variable, node)
        return self.region.bindings[variable]

    def _bind(self, variable: Variable, node: Any) -> Binding:
        name = variable.name
        if variable.place == "region":
            return self.add_array(variable, self.array_name(variable))
        if self._is_taken(name):
            message = f"two variables called '{name}' matter to the region: one hides the other"
            raise refusal("PG115", self.region.at(variable.node), message, "rename one of them", len(name))
        if name in self.region.kept:
            return self.add_array(variable, self.array_name(variable))
        self.region.names.add(name)
        if isinstance(variable.type, Basic) and name not in self.region.written:
            if variable in self.region.constants:
                return Substitute(self.region.constants[variable], variable.type.name)
            self.region.scalars[name] = Scalar(name, variable.type.name, variable)
            return self.region.scalars[name]
        return self.add_array(variable, name)

    def _is_taken(self, name: str) -> bool:
        """Whether another variable from outside of the region has the name."""
        if name not in self.region.kept:
            return name in self.region.names
        return any(
            v.name == name and v.place != "region" and isinstance(binding, Iterator | RawArray)
            for v, binding in self.region.bindings.items()
        )

    def array_name(self, variable: Variable) -> str:
        """A unique name for the element of a variable that another one has, or an iterator."""
        name = variable.name
        return self.region.unique(f"{name}_end" if name in self.region.kept else name)

    def add_array(self, variable: Variable, name: str) -> RawArray:
        """Enters an array under a name that is unique already."""
        array = RawArray(name, variable, self.region.at(variable.node))
        self.region.arrays[variable] = array
        return array

    def check_type(self, variable: Variable, node: Any) -> None:
        """Refuses types that the device does not have."""
        ctype = variable.type
        element = element_of(ctype)
        qualifiers = ctype.qualifiers | element.qualifiers
        shown = getattr(node, "original", variable.name) if isinstance(node, c_ast.ID) else variable.name
        position, length = self.region.at(node), len(shown)
        if "volatile" in qualifiers:
            message = f"'{shown}' is volatile: each of its accesses would have to happen on the host"
            raise refusal("PG142", position, message, "use a copy that is not volatile", length)
        if "_Atomic" in qualifiers:
            message = f"'{shown}' is atomic"
            raise refusal("PG143", position, message, "use a plain type in the region", length)
        if tables(ctype) and variable.place == "region":
            raise self._rows_anywhere(variable, position, length)
        match element:
            case Opaque(what, _):
                help_text = "use int, unsigned, long, char, float, double or a structure of these"
                message = f"'{variable.name}' is of a type that regions cannot use: {what}"
                raise refusal("PG140", position, message, help_text, length)
            case Pointer() | Vector():
                raise self._rows_anywhere(variable, position, length)
            case Qualified(record, _) if reason := refusal_of(
                record, variable.name not in self.region.reasons
            ):
                message = (
                    f"the {describe(element)} of '{variable.name}' cannot be used on the device: {reason}"
                )
                help_text = "use a structure of numbers, or separate arrays"
                if variable.name in self.region.reasons:
                    why, help_text = self.region.reasons[variable.name]
                    message = f"{message}, and {why}"
                raise refusal("PG146", position, message, help_text, length)

    def _rows_anywhere(self, variable: Variable, position: Position, length: int) -> Diagnosed:
        message = f"'{variable.name}' is {described(variable.type)}: its rows lie anywhere in memory"
        help_text = f"use one block of memory: 'float (*{variable.name})[m]' or {variable.name}[i * m + j]"
        return refusal("PG145", position, message, help_text, length)

    def unary(self, node: c_ast.UnaryOp) -> Expr:
        match node.op:
            case "+" | "-" | "!" | "~":
                operand = self.value(node.expr)
                if node.op == "~" and is_floating(type_of(operand)):
                    raise self._of_integers(node, "~")
                return Unary(node.op, operand)
            case "*":
                return self.reference(node)
            case "sizeof":
                return self._sizeof(node)
            case "p++" | "p--" | "++" | "--" if isinstance(node.expr, c_ast.ID):
                return self.stepped(node)
        raise expression_refusal(node, self.region.at(node))

    def stepped(self, node: c_ast.UnaryOp) -> Expr:
        """`k++` within an expression; what it stores is left for the end of the statement."""
        variable, before = self.variable(node.expr), self.value(node.expr)
        if values.current(self, variable) is None:
            places.place(self, node.expr)  # raises for an iterator
            raise expression_refusal(node, self.region.at(node))
        after = self.operation(node, node.op[-1], before, Int(1))
        match self.binding(variable, node.expr):
            case Local(name, ctype):
                self.region.pending.append(Let(name, ctype, after, assign=True))
            case _:
                target = self.reference(node.expr)
                ctype = target.type
                self.region.pending.append(Store(target, after))
        values.assign(self.region, variable, after)
        return before if node.op.startswith("p") else converted(after, ctype)

    def certain(self, node: Any) -> Expr:
        """The value of a part that C may leave out: nothing in it may change a variable."""
        if any(map(is_step, nodes(node))):
            message = "a variable is changed in a part of an expression that is not always computed"
            raise refusal("PG150", self.region.at(node), message, "increment in a statement of its own")
        return self.value(node)

    def _sizeof(self, node: c_ast.UnaryOp) -> Expr:
        ctype = self.scope.resolve(node.expr) if isinstance(node.expr, c_ast.Typename) else None
        if isinstance(ctype, Basic):
            return Cast("unsigned long", Int(SIZES[ctype.name]))
        help_text = "compute it before the region and use the result"
        raise refusal("PG153", self.region.at(node), "'sizeof' in a region", help_text, 6)

    def binary(self, node: c_ast.BinaryOp) -> Expr:
        if node.op not in _OPERATORS:
            raise expression_refusal(node, self.region.at(node))
        if node.op in _BETWEEN_POINTERS and all(
            places.is_pointer(self.scope, n) for n in (node.left, node.right)
        ):
            return self._between(node)
        right = self.certain if node.op in ("&&", "||") else self.value
        return self.operation(node, node.op, self.value(node.left), right(node.right))

    def _between(self, node: c_ast.BinaryOp) -> Expr:
        """A comparison of pointers into one array, or their distance."""
        right, left = pointers.together(self, self.address(node.right), self.address(node.left), node)
        left, right = converted(left, "long"), converted(right, "long")
        return subtract(left, right) if node.op == "-" else Binary(node.op, left, right)

    def operation(self, node: Any, op: str, left: Expr, right: Expr) -> Binary:
        """`left op right`, written at `node`. Raises Diagnosed for operands that C does not allow."""
        if op in _OF_INTEGERS and any(is_floating(type_of(side)) for side in (left, right)):
            raise self._of_integers(node, op)
        return Binary(op, left, right)

    def _of_integers(self, node: Any, op: str) -> Diagnosed:
        help_text = "call 'fmod'" if op == "%" else "convert it to an integer type"
        return refusal("PG153", self.region.at(node), f"'{op}' of a floating-point value", help_text)

    def ternary(self, node: c_ast.TernaryOp) -> Expr:
        return Select(self.value(node.cond), self.certain(node.iftrue), self.certain(node.iffalse))

    def cast(self, node: c_ast.Cast) -> Expr:
        ctype = self.scope.resolve(node.to_type)
        if isinstance(ctype, Basic):
            known = ctype.name == "double" and isinstance(node.expr, c_ast.Constant)
            found = double(node.expr.value) if known else None
            return found or converted(self.value(node.expr), ctype.name)
        message = f"a conversion to {describe(ctype)} in a region"
        raise refusal(
            "PG140", self.region.at(node), message, "use int, unsigned, long, char, float or double"
        )

    def comma(self, node: c_ast.ExprList) -> Expr:
        if len(node.exprs) == 1:
            return self.value(node.exprs[0])
        raise expression_refusal(node, self.region.at(node))

    def member(self, node: c_ast.StructRef) -> Expr:
        return initialisers.member(self, node) or self.reference(node)

    def reference(self, node: Any) -> Reference:
        """The array element, or scalar in memory, that an lvalue names; numbers a new access."""
        place = places.place(self, node)
        return places.reference(self, place, node, self.region.site(node))

    def address(self, node: Any) -> Address:
        """The value of a pointer expression."""
        return places.address(self, node)


def is_step(node: Any) -> bool:
    return isinstance(node, c_ast.UnaryOp) and node.op in ("p++", "++", "p--", "--")


_CONVERSIONS: dict[str, Callable[[Reader, Any], Expr]] = {
    "Constant": Reader.constant,
    "ID": Reader.name,
    "Named": Reader.name,
    "UnaryOp": Reader.unary,
    "BinaryOp": Reader.binary,
    "TernaryOp": Reader.ternary,
    "Cast": Reader.cast,
    "ExprList": Reader.comma,
    "ArrayRef": Reader.reference,
    "StructRef": Reader.member,
    "FuncCall": calls.call,
}
