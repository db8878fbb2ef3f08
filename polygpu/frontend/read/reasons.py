"""Why an expression is not affine, in the user's words."""

from __future__ import annotations

from polygpu.frontend.names.types import with_article
from polygpu.frontend.read.state import Region
from polygpu.frontend.read.unsupported import refusal
from polygpu.model.expr import Binary, Call, Expr, Literal, Name, Reference, is_floating
from polygpu.model.rewrite import children, scalars_in
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.position import Position


def nonaffine(
    region: Region, expr: Expr, position: Position, what: str, identity: str = "PG101"
) -> Diagnosed:
    """The refusal of an expression that the polyhedral model cannot hold; `what` begins the sentence."""
    reason, help_text = reason_for(region, expr, identity)
    return refusal(identity, position, f"{what} not affine: {reason}", help_text)


# What to do about a dependence on data, by the diagnostic that tells of it.
_DATA_HELP = {
    "PG101": "let the loop run to a bound known before it starts, and guard its body with an if",
    "PG102": "if no two iterations write the same element, say so with '#pragma omp parallel for'",
    "PG160": "copy the value to a variable before the array's declaration",
    "PG161": "declare the array with all its sizes, as in 'float a[n][m]', and write a subscript for each",
}


def reason_for(region: Region, expr: Expr, identity: str = "PG101") -> tuple[str, str]:
    """(reason, what to do) for the first part of `expr` that is not affine."""
    part = culprit(region, expr)
    match part:
        case Reference(name, (), _, _, site):
            text = region.sites[site].text if site >= 0 else name
            return f"'{text}' is changed in the region", _counted(text, part.type, identity)
        case Reference(_, _, _, _, site):
            return (
                f"it depends on the data in '{region.sites[site].text}'",
                _DATA_HELP[identity],
            )
        case Binary("*", left, right):
            return _multiplied(region, left, right)
        case Binary("/" | "%" | "<<" | ">>" as op, _, _):
            return f"'{op}' by a value that is no positive constant", "use a constant"
        case Name(name, ctype) if is_floating(ctype):
            return f"'{name}' is {with_article(ctype)}", "use an integer"
        case Name(name, _):
            return f"'{name}' is computed within the statement", "use the loops' iterators directly"
        case Literal(text, _):
            return f"'{text}' is no integer", "use an integer"
        case Call(name, _, _):
            return f"it calls '{name}'", "where the value does not change, compute it before the region"
    return "it is no sum of iterators, parameters and constants", "use sums of iterators times constants"


def _counted(text: str, ctype: str, identity: str) -> str:
    """What to do where a region changes what has to be known before."""
    if is_floating(ctype) and identity == "PG101":
        return "put the region inside the loop: the host decides whether it goes on"
    counted = f"where '{text}' counts iterations, compute it from the loops' iterators instead"
    return f"{counted}; else put the region inside the loop" if identity == "PG101" else counted


def _multiplied(region: Region, left: Expr, right: Expr) -> tuple[str, str]:
    reason = f"it multiplies {_named(left)} by {_named(right)}, which is no constant"
    if region.iterators & scalars_in(left, right):
        return reason, "use sums of iterators times constants"
    return reason, "compute the product before the region into a variable of its own"


def _named(expr: Expr) -> str:
    names = sorted(name.partition("@")[0] for name in scalars_in(expr))
    return "'" + "', '".join(names) + "'" if names else "a value"


def culprit(region: Region, expr: Expr) -> Expr:
    """The smallest part of `expr` that is not affine on its own."""
    for part in () if isinstance(expr, Reference) else children(expr):
        if region.affine.value(part) is None and region.affine.condition(part) is None:
            return culprit(region, part)
    return expr
