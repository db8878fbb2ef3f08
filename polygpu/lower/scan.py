"""Loops that scan integer sets: isl's AST generator, its result as plain values.

scan ::= ScanFor | ScanIf | ScanBlock | ScanLeaf
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import islpy as isl

from polygpu.model.expr import Binary, Call, Expr, Int, Name, Select, Unary
from polygpu.model.linear import add, simplify
from polygpu.support.dataclass import dataclass
from polygpu.support.gist import function_gist, gist
from polygpu.support.isl_idioms import bounded, c_name, has_many_floors, identifier
from polygpu.support.recent import Recent

_N: Any = isl.ast_node_type  # islpy declares kinds as int
_X: Any = isl.ast_expr_op_type
_E: Any = isl.ast_expr_type


_STEPS = 1_000_000  # of isl, for one expression; in ordinary kernels thousands


@dataclass(frozen=True)
class ScanFor:
    """`for (index = lower; index < upper; index += step)`."""

    index: str
    lower: Expr
    upper: Expr
    step: int
    body: Scan


@dataclass(frozen=True)
class ScanIf:
    test: Expr
    then: Scan
    otherwise: Scan | None


@dataclass(frozen=True)
class ScanBlock:
    children: tuple[Scan, ...]


@dataclass(frozen=True)
class ScanLeaf:
    """One instance of `statement`, whose iterators have the values `arguments`."""

    statement: str
    arguments: tuple[Expr, ...]


Scan: TypeAlias = ScanFor | ScanIf | ScanBlock | ScanLeaf
_TESTS: Recent[Expr | None] = Recent(256)


def generated(schedule: isl.UnionMap, context: isl.Set, names: tuple[str, ...]) -> Scan:
    """isl's code that visits the domain of `schedule` (every map to the same space) in its order.

    `context` (parameters only) holds when the code runs; `names` are the loops' indices. isl errs for some
    statements that take turns in strides: see `checked_scan`.
    """
    build = _under(plain(context), schedule.get_space())
    ids = isl.IdList.alloc(isl.DEFAULT_CONTEXT, len(names))
    for name in names:
        ids = ids.add(identifier(name))
    build = build.set_iterators(ids)
    return _node(build.node_from_schedule_map(schedule), {})


def value_of(aff: isl.PwAff, context: isl.Set) -> Expr:
    """A function of parameters as an expression, simplified under `context`."""
    context = plain(context)
    with bounded(_STEPS):
        build = _under(context, aff.get_space())
        inside = function_gist(aff, context) if aff.dim(isl.dim_type.in_) == 0 else aff
        return expr_of(build.expr_from_pw_aff(inside), {})


def test_of(condition: isl.Set, context: isl.Set) -> Expr | None:
    """`condition` on the parameters as an expression; None when `context` implies it."""
    context = plain(context)
    return _TESTS.get((str(condition), str(context)), lambda: _test_of(condition, context))


def _test_of(condition: isl.Set, context: isl.Set) -> Expr | None:
    try:
        left = gist(condition.params(), context.params())
    except isl.Error:  # an assertion of isl's that some sets with several moduli break
        left = condition.params()
    if left.plain_is_universe() or context.params().is_subset(condition.params()):
        return None
    return expr_of(_under(context, left.get_space()).expr_from_set(left), {})


def plain(context: isl.Set) -> isl.Set:
    """`context`, or what it says without floors where these are many: isl takes for ever with them.

    Code then tests what holds.
    """
    return context.remove_divs() if has_many_floors(context) else context


def _under(context: isl.Set, space: isl.Space) -> isl.AstBuild:
    """Code generation for things of `space` under `context`.

    Where the two have their parameters in different orders, isl takes one for another in the operands
    of `%`, and the guards that it makes are wrong.
    """
    return isl.AstBuild.from_context(context.align_params(space))


def _node(node: isl.AstNode, values: dict[str, Expr]) -> Scan:
    kind = node.get_type()
    if kind == _N.for_:
        return _for(node, values)
    if kind == _N.if_:
        other = _node(node.if_get_else_node(), values) if node.if_has_else_node() else None
        return ScanIf(expr_of(node.if_get_cond(), values), _node(node.if_get_then_node(), values), other)
    if kind == _N.block:
        children = node.block_get_children()
        return ScanBlock(tuple(_node(children.get_at(i), values) for i in range(children.n_ast_node())))
    if kind == _N.user:
        call = node.user_get_expr()
        arguments = [call.get_op_arg(i) for i in range(call.get_op_n_arg())]
        name = arguments[0].get_id().get_name()
        return ScanLeaf(name, tuple(expr_of(a, values) for a in arguments[1:]))
    raise AssertionError(f"unexpected AST node {kind}")


def _for(node: isl.AstNode, values: dict[str, Expr]) -> Scan:
    index = node.for_get_iterator().get_id().get_name()
    lower = expr_of(node.for_get_init(), values)
    if node.for_is_degenerate():
        return _node(node.for_get_body(), {**values, index: lower})
    condition = node.for_get_cond()
    bound = expr_of(condition.get_op_arg(1), values)
    inclusive = condition.get_op_type() == _X.le
    step = node.for_get_inc().get_val().to_python()
    upper = _plus_one(bound) if inclusive else bound
    return ScanFor(index, lower, upper, step, _node(node.for_get_body(), values))


def _plus_one(bound: Expr) -> Expr:
    if isinstance(bound, Call) and bound.function in ("min", "max"):
        return simplify(Call(bound.function, tuple(_plus_one(a) for a in bound.arguments), "int"))
    return add(bound, 1)


def rewritten(tree: Scan, change: Callable[[Expr], Expr]) -> Scan:
    """The same code with other expressions."""
    match tree:
        case ScanFor(index, lower, upper, step, body):
            return ScanFor(index, change(lower), change(upper), step, rewritten(body, change))
        case ScanIf(test, then, otherwise):
            other = rewritten(otherwise, change) if otherwise is not None else None
            return ScanIf(change(test), rewritten(then, change), other)
        case ScanBlock(children):
            return ScanBlock(tuple(rewritten(child, change) for child in children))
        case ScanLeaf(statement, arguments):
            return ScanLeaf(statement, tuple(map(change, arguments)))


_BINARY = {
    _X.add: "+", _X.sub: "-", _X.mul: "*", _X.div: "/", _X.pdiv_q: "/", _X.pdiv_r: "%",
    _X.zdiv_r: "%", _X.eq: "==", _X.le: "<=", _X.lt: "<", _X.ge: ">=", _X.gt: ">",
    _X.and_: "&&", _X.and_then: "&&", _X.or_: "||", _X.or_else: "||",
}  # fmt: skip


def expr_of(expr: isl.AstExpr, values: dict[str, Expr]) -> Expr:
    """isl's expression as ours; `values` replaces the indices of degenerate loops."""
    return simplify(_expr(expr, values))


def _expr(expr: isl.AstExpr, values: dict[str, Expr]) -> Expr:
    kind = expr.get_type()
    if kind == _E.int:
        return Int(expr.get_val().to_python())
    if kind == _E.id:
        name = expr.get_id().get_name()
        return values.get(name, Name(c_name(name)))
    op = expr.get_op_type()
    arguments = tuple(_expr(expr.get_op_arg(i), values) for i in range(expr.get_op_n_arg()))
    if op == _X.minus:
        return Unary("-", arguments[0])
    if op in (_X.min, _X.max):
        return Call("min" if op == _X.min else "max", arguments, "int")
    if op == _X.fdiv_q:
        return Call("floord", arguments, "int")
    if op in (_X.cond, _X.select):
        return Select(*arguments)
    return Binary(_BINARY[op], arguments[0], arguments[1])
