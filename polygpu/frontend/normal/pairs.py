"""Values of complex expressions as pairs of real expressions.

A real operand has no imaginary part, rather than one that is 0 (C99, G.5.1 and G.5.2), as compilers have it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names import mathematics
from polygpu.frontend.names.constants import number
from polygpu.frontend.names.scopes import Function, Scope
from polygpu.frontend.names.types import Basic, CType, complex_part, has_complex_parts
from polygpu.frontend.normal.complex_library import exponential, product
from polygpu.frontend.normal.kinds import type_of
from polygpu.frontend.normal.trees import Names, assigns, changed, has_effects, is_free, mapped
from polygpu.frontend.read.state import FileContext, source_text
from polygpu.frontend.read.unsupported import refusal
from polygpu.model.expr import COMPARISONS, common_type, is_floating
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.position import Position


@dataclass(frozen=True)
class Pair:
    """The parts of a complex value, both of a real `type`; those of a `simple` one may be named twice."""

    re: Any
    im: Any
    type: str
    simple: bool = True
    constant: bool = False


def real(value: Any) -> Any:
    """A value as C converts it to a real type."""
    return value.re if isinstance(value, Pair) else value


def member(whole: Any, name: str) -> c_ast.StructRef:
    return c_ast.StructRef(whole, ".", c_ast.ID(name, whole.coord), whole.coord)


def declared(name: str, ctype: str, value: Any, node: Any) -> c_ast.Decl:
    spelled = c_ast.TypeDecl(
        name, [], None, c_ast.IdentifierType(ctype.split(), node.coord), coord=node.coord
    )
    return c_ast.Decl(name, [], [], [], [], spelled, value, None, coord=node.coord)


@dataclass(frozen=True)
class Values:
    """Finds values of expressions at a scope. Where there is a list of what runs `before`, intermediate
    results become variables. All methods raise Diagnosed.
    """

    context: FileContext
    scope: Scope
    names: Names
    before: list[Any] | None

    @property
    def before_or_none(self) -> list[Any]:
        return self.before or []

    def again(self) -> Values:
        """For what is not computed exactly once."""
        return replace(self, before=None)

    def within(self, node: Any) -> Any:
        """A node with the real values of its parts."""
        if isinstance(node, c_ast.FuncCall):
            return node if node.args is None else changed(node, args=mapped(node.args, self._real))
        return mapped(node, self._real)

    def _real(self, node: Any) -> Any:
        return real(self.of(node))

    def test(self, node: Any) -> Any:
        """An expression as a condition."""
        return self._truth(self.of(node))

    def of(self, node: Any) -> Any:
        """The value: a Pair, or the node of a real one."""
        match node:
            case c_ast.ID() | c_ast.ArrayRef() | c_ast.StructRef() | c_ast.UnaryOp(op="*"):
                return self._place(node)
            case c_ast.BinaryOp(op="&&" | "||"):
                right = self.again().test(node.right)
                return c_ast.BinaryOp(node.op, self.test(node.left), right, node.coord)
            case c_ast.BinaryOp():
                return self.operation(node, node.op, self.of(node.left), self.of(node.right))
            case c_ast.UnaryOp(op="-" | "+" | "~" | "!"):
                return self._unary(node, self.of(node.expr))
            case c_ast.UnaryOp(op="sizeof" | "&") | c_ast.Typename() | c_ast.Decl():
                return node
            case c_ast.Cast():
                return self._cast(node)
            case c_ast.TernaryOp():
                return self._ternary(node)
            case c_ast.ExprList(exprs=[inner]):
                return self.of(inner)
            case c_ast.Assignment() | c_ast.CompoundLiteral():
                self._check_parts(node)
            case c_ast.FuncCall(name=c_ast.ID(name=name)):
                return self._call(node, name)
        return self.within(node)

    def _place(self, node: Any) -> Any:
        part = complex_part(type_of(node, self.scope))
        place = self.within(node)
        if part is None:
            return place
        if has_effects(node):
            message = f"'{source_text(node)}' is a complex number, of which both parts are read"
            raise refusal("PG140", self._at(node), message, "move the pointer in a statement of its own")
        return Pair(member(place, "re"), member(place, "im"), part)

    def _unary(self, node: c_ast.UnaryOp, value: Any) -> Any:
        if not isinstance(value, Pair):
            return c_ast.UnaryOp(node.op, value, node.coord)
        minus = [c_ast.UnaryOp("-", part, node.coord) for part in (value.re, value.im)]
        match node.op:
            case "-":
                return replace(value, re=minus[0], im=minus[1])
            case "~":
                return replace(value, im=minus[1])
            case "!":
                return c_ast.UnaryOp("!", self._truth(value), node.coord)
        return value

    def _truth(self, value: Any) -> Any:
        if not isinstance(value, Pair):
            return value
        zero = c_ast.Constant("int", "0", value.re.coord)
        tests = [c_ast.BinaryOp("!=", part, zero, value.re.coord) for part in (value.re, value.im)]
        return c_ast.BinaryOp("||", *tests, value.re.coord)

    def _cast(self, node: c_ast.Cast) -> Any:
        ctype, value = self.scope.resolve(node.to_type), self.of(node.expr)
        if part := complex_part(ctype):
            return self.converted(value, part, node)
        if isinstance(value, Pair) and isinstance(ctype, Basic) and ctype.name == "_Bool":
            value = self._truth(value)
        return c_ast.Cast(node.to_type, real(value), node.coord)

    def _ternary(self, node: c_ast.TernaryOp) -> Any:
        test, inner = self.test(node.cond), self.again()
        sides = inner.of(node.iftrue), inner.of(node.iffalse)
        if not any(isinstance(side, Pair) for side in sides):
            return c_ast.TernaryOp(test, *sides, node.coord)
        common = self._common(*sides)
        yes, no = (self.converted(side, common, node) for side in sides)
        parts = [c_ast.TernaryOp(test, *both, node.coord) for both in ((yes.re, no.re), (yes.im, no.im))]
        return self.held(Pair(parts[0], parts[1], common, simple=False))

    def _call(self, node: c_ast.FuncCall, name: str) -> Any:
        known, given = self.scope.find(name), list(node.args.exprs) if node.args else []
        if isinstance(known, Function) and known.definition is not None:
            return self.within(node)
        if mathematics.library_name(name) == "complex" and len(given) == 2:
            return self._made_of(*(self._real(part) for part in given))
        stem, result = mathematics.complex_name(name)
        if stem in mathematics.OTHER_COMPLEX:
            message = f"'{name}' of a complex number: the C library rounds it in a way of its own"
            help_text = "compute it of real numbers, or before the region"
            raise refusal("PG140", self._at(node), message, help_text, len(name))
        if len(given) != 1 or not mathematics.is_of_complex(name):
            return self.within(node)
        value = self.converted(self.of(given[0]), result, node)
        if stem == "cexp":
            return self._exponential(node, value)
        if stem == "conj":
            return replace(value, im=c_ast.UnaryOp("-", value.im, node.coord))
        if stem in mathematics.PARTS:
            return getattr(value, mathematics.PARTS[stem])
        function, parts = mathematics.OF_PARTS[stem]
        suffix = "f" if result == "float" else ""
        return _called(function + suffix, [getattr(value, part) for part in parts], node)

    def _made_of(self, re: Any, im: Any) -> Pair:
        """CMPLX(re, im), or an imaginary constant, whose type is that of its imaginary part."""
        constant = isinstance(im, c_ast.Constant)
        common = self._type(im) if constant else common_type(self._type(re), self._type(im))
        return self.held(Pair(re, im, common, is_free(re) and is_free(im), constant))

    def converted(self, value: Any, part: str, node: Any) -> Pair:
        """A value in the complex type with such parts."""
        if not isinstance(value, Pair):
            return Pair(_cast(value, part), _cast(c_ast.Constant("int", "0", node.coord), part), part)
        if value.type == part:
            return value
        return replace(value, re=_cast(value.re, part), im=_cast(value.im, part), type=part)

    def operation(self, node: Any, op: str, left: Any, right: Any) -> Any:
        """`left op right`."""
        pairs = [isinstance(side, Pair) for side in (left, right)]
        if not any(pairs):
            return c_ast.BinaryOp(op, left, right, node.coord)
        if op in COMPARISONS:
            return self._compared(node, op, left, right)
        common = self._common(left, right)
        if op not in ("+", "-", "*", "/") or not is_floating(common):
            message = f"'{op}' of complex integers, or of complex numbers where C has none"
            raise refusal("PG140", self._at(node), message, "use complex numbers of type double")
        left, right = (self._side(side, common, node) for side in (left, right))
        match op:
            case "+" | "-":
                return self._sum(node, op, left, right)
            case "*" if all(pairs):
                return self._product(node, self.held(left), self.held(right))
            case "*" if pairs[0]:
                return self._scaled(node, left, self.once(right))
            case "*":
                return self._scaled(node, right, self.once(left))
        if pairs[1]:
            raise self.divided(node)
        divisor = self.once(right)
        return self._both(left, lambda part: c_ast.BinaryOp("/", part, divisor, node.coord))

    def _scaled(self, node: Any, value: Pair, factor: Any) -> Pair:
        constant = value.constant and isinstance(factor, c_ast.Constant)
        return self._both(value, lambda part: c_ast.BinaryOp("*", factor, part, node.coord), constant)

    def divided(self, node: Any) -> Diagnosed:
        message = "a division by a complex number: compilers do it in ways that round differently"
        help_text = "multiply by the conjugate, and divide by the square of the magnitude"
        return refusal("PG140", self._at(node), message, help_text)

    def _check_parts(self, node: Any) -> None:
        """Refuses what is set within an expression, and lists of parts."""
        is_list = isinstance(node, c_ast.CompoundLiteral)
        ctype = self.scope.resolve(node.type) if is_list else type_of(node.lvalue, self.scope)
        if ctype is not None and has_complex_parts(ctype):
            message = "a complex number is set within an expression"
            raise refusal("PG140", self._at(node), message, "set it in a statement of its own")

    def _common(self, left: Any, right: Any) -> str:
        """The real type of the parts that an operation has."""
        return common_type(*(s.type if isinstance(s, Pair) else self._type(s) for s in (left, right)))

    def _side(self, value: Any, part: str, node: Any) -> Any:
        """An operand, in the common type where it is complex; one that changes a variable does so once."""
        if isinstance(value, Pair):
            return self.converted(value, part, node)
        return self.once(value) if assigns(value) else value

    def _both(self, value: Pair, change: Callable[[Any], Any], constant: bool = False) -> Pair:
        return Pair(change(value.re), change(value.im), value.type, simple=False, constant=constant)

    def _sum(self, node: Any, op: str, left: Any, right: Any) -> Pair:
        re = c_ast.BinaryOp(op, real(left), real(right), node.coord)
        if not isinstance(right, Pair):
            return Pair(re, left.im, left.type, simple=False)
        if not isinstance(left, Pair):
            im = right.im if op == "+" else c_ast.UnaryOp("-", right.im, node.coord)
            return Pair(re, im, right.type, simple=False)
        im = c_ast.BinaryOp(op, left.im, right.im, node.coord)
        return Pair(re, im, left.type, simple=False)

    def _compared(self, node: Any, op: str, left: Any, right: Any) -> Any:
        if op not in ("==", "!="):
            message = f"'{op}' of complex numbers, which have no order"
            raise refusal("PG140", self._at(node), message, "compare their parts")
        zero = c_ast.Constant("int", "0", node.coord)
        imaginary = [side.im if isinstance(side, Pair) else zero for side in (left, right)]
        tests = [
            c_ast.BinaryOp(op, real(left), real(right), node.coord),
            c_ast.BinaryOp(op, *imaginary, node.coord),
        ]
        return c_ast.BinaryOp("&&" if op == "==" else "||", *tests, node.coord)

    def _product(self, node: Any, left: Pair, right: Pair) -> Pair:
        if left.constant and right.constant:
            message = "a product of complex constants, which compilers round in different ways"
            raise refusal("PG140", self._at(node), message, "write its value")
        if not (left.simple and right.simple):
            message = "a product of complex products where it may not be computed"
            raise refusal("PG140", self._at(node), message, "compute it in a statement of its own")

        def times(a: Any, b: Any) -> Any:
            return c_ast.BinaryOp("*", a, b, node.coord)

        re = c_ast.BinaryOp("-", times(left.re, right.re), times(left.im, right.im), node.coord)
        im = c_ast.BinaryOp("+", times(left.re, right.im), times(left.im, right.re), node.coord)
        plain = self.held(Pair(re, im, left.type, simple=False))
        tests = [_called("isnan", [part], node) for part in (plain.re, plain.im)]
        undefined = c_ast.BinaryOp("&&", *tests, node.coord)
        given = [left.re, left.im, right.re, right.im]
        made = []
        for name, part in (("re", plain.re), ("im", plain.im)):
            found = product(self.context.scope, name, left.type, node.coord)
            made.append(c_ast.TernaryOp(undefined, _called(found, given, node), part, node.coord))
        return Pair(made[0], made[1], left.type, simple=False)

    def _exponential(self, node: Any, value: Pair) -> Pair:
        value = self.held(value)
        names = [exponential(self.context.scope, part, value.type, node.coord) for part in ("re", "im")]
        made = [_called(name, [value.re, value.im], node) for name in names]
        return Pair(made[0], made[1], value.type, simple=False)

    def once(self, value: Any) -> Any:
        """A real value that may be named twice."""
        if self.before is None and assigns(value):
            message = "a variable is changed beside a complex number where it may not be computed"
            raise refusal("PG140", self._at(value), message, "change it in a statement of its own")
        if self.before is None or is_free(value):
            return value
        decl = declared(self.names.fresh("factor"), self._type(value), value, value)
        return self._declare(decl)

    def held(self, value: Pair) -> Pair:
        """A value whose parts may be named twice."""
        if self.before is None or value.simple:
            return value
        re = declared(self.names.fresh("re"), value.type, value.re, value.re)
        im = declared(self.names.fresh("im"), value.type, value.im, value.im)
        return Pair(self._declare(re), self._declare(im), value.type)

    def _declare(self, decl: c_ast.Decl) -> c_ast.ID:
        assert self.before is not None
        self.before.append(decl)
        self.scope.declare(decl, "local")
        return c_ast.ID(decl.name, decl.coord)

    def _at(self, node: Any) -> Position:
        return self.context.at(node)

    def _type(self, node: Any) -> str:
        """The type of a real value."""
        ctype: CType | None
        match node:
            case c_ast.Constant(type="float" | "double" as real_type):
                return str(real_type)
            case c_ast.Constant(value=text):
                found = number(text)
                return found.type if found else "int"
            case c_ast.UnaryOp(op="!" | "sizeof") | c_ast.BinaryOp(op="&&" | "||"):
                return "int"
            case c_ast.UnaryOp(op="-" | "+" | "~", expr=inner):
                return common_type(self._type(inner), "int")
            case c_ast.ExprList(exprs=[*_, inner]):
                return self._type(inner)
            case c_ast.BinaryOp(op=op):
                both = (self._type(node.left), self._type(node.right))
                return "int" if op in COMPARISONS else common_type(*both)
            case c_ast.TernaryOp():
                return common_type(self._type(node.iftrue), self._type(node.iffalse))
            case c_ast.Cast():
                ctype = self.scope.resolve(node.to_type)
            case c_ast.FuncCall(name=c_ast.ID(name=name)):
                known = self.scope.find(name)
                if not isinstance(known, Function):
                    own = mathematics.FUNCTIONS.get(mathematics.library_name(name))
                    return own[0] if own else "int" if name in mathematics.CLASSIFICATIONS else "double"
                ctype = self.scope.resolve(known.node.type.type)
            case _:
                ctype = type_of(node, self.scope)
        return ctype.name if isinstance(ctype, Basic) else "int"


def _called(name: str, given: list[Any], node: Any) -> c_ast.FuncCall:
    return c_ast.FuncCall(c_ast.ID(name, node.coord), c_ast.ExprList(given, node.coord), node.coord)


def _cast(value: Any, part: str) -> Any:
    spelled = c_ast.TypeDecl(
        None, [], None, c_ast.IdentifierType(part.split(), value.coord), coord=value.coord
    )
    return c_ast.Cast(c_ast.Typename(None, [], None, spelled, coord=value.coord), value, value.coord)
