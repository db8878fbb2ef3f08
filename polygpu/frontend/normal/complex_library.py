"""Functions for what C leaves to its library: a product both of whose parts have become NaN, and `cexp`."""

from __future__ import annotations

from typing import Any

from pycparser import c_ast, c_parser

from polygpu.frontend.names.scopes import Function, Scope
from polygpu.frontend.text.nodes import nodes

# C99, G.5.1: an infinite factor is one of magnitude 1 in its direction, and what is NaN beside it is 0,
# as it does where partial products overflow.
_PRODUCT = """
static {T} {name}({T} a, {T} b, {T} c, {T} d)
{{
    int again = 0;
    {T} ac = a * c, bd = b * d, ad = a * d, bc = b * c;
    if (isinf(a) || isinf(b)) {{
        a = copysign{f}(isinf(a) ? 1 : 0, a);
        b = copysign{f}(isinf(b) ? 1 : 0, b);
        if (isnan(c)) c = copysign{f}(0, c);
        if (isnan(d)) d = copysign{f}(0, d);
        again = 1;
    }}
    if (isinf(c) || isinf(d)) {{
        c = copysign{f}(isinf(c) ? 1 : 0, c);
        d = copysign{f}(isinf(d) ? 1 : 0, d);
        if (isnan(a)) a = copysign{f}(0, a);
        if (isnan(b)) b = copysign{f}(0, b);
        again = 1;
    }}
    if (!again && (isinf(ac) || isinf(bd) || isinf(ad) || isinf(bc))) {{
        if (isnan(a)) a = copysign{f}(0, a);
        if (isnan(b)) b = copysign{f}(0, b);
        if (isnan(c)) c = copysign{f}(0, c);
        if (isnan(d)) d = copysign{f}(0, d);
        again = 1;
    }}
    return again ? __builtin_inff() * ({value}) : {plain};
}}
"""
_PRODUCTS = {
    "re": {"value": "a * c - b * d", "plain": "ac - bd"},
    "im": {"value": "a * d + b * c", "plain": "ad + bc"},
}

# C99, G.6.3.1. Where exp alone would overflow, its argument is taken apart.
_EXPONENTIAL = """
static {T} {name}({T} a, {T} b)
{{
    {T} along = {along}{f}(b), power;
    if (isnan(a))
        return {nan};
    if (isinf(a)) {{
        if (b == 0)
            return {of_zero};
        if (isnan(b) || isinf(b))
            return {unknown};
        return copysign{f}(signbit(a) ? 0 : a, along);
    }}
    if (a > {limit}) {{
        power = exp{f}({limit});
        a -= {limit};
        along *= power;
        if (a > {limit}) {{
            a -= {limit};
            along *= power;
        }}
        if (a > {limit})
            return {most} * along;
    }}
    return exp{f}(a) * along;
}}
"""
_EXPONENTIALS = {
    "re": {
        "along": "cos",
        "nan": "a",
        "of_zero": "signbit(a) ? 0 : a",
        "unknown": "signbit(a) ? 0 : a",
    },
    "im": {
        "along": "sin",
        "nan": "b == 0 ? b : a",
        "of_zero": "b",
        "unknown": "signbit(a) ? copysign{f}(0, b) : b - b",
    },
}
_LIMITS = {
    "double": {"limit": "709", "most": "1.7976931348623157e+308"},
    "float": {"limit": "88", "most": "3.40282347e+38f"},
}


def product(scope: Scope, part: str, ctype: str, coord: Any) -> str:
    """The name of the function for a part of a product, which the file's `scope` knows then."""
    return _known(scope, f"polygpu_product_{part}", _PRODUCT, _PRODUCTS[part], ctype, coord)


def exponential(scope: Scope, part: str, ctype: str, coord: Any) -> str:
    """The name of the function for a part of e to the power of a complex number."""
    values = _EXPONENTIALS[part] | _LIMITS[ctype]
    return _known(scope, f"polygpu_exp_{part}", _EXPONENTIAL, values, ctype, coord)


def _known(scope: Scope, stem: str, text: str, values: dict[str, str], ctype: str, coord: Any) -> str:
    suffix = "f" if ctype == "float" else ""
    name = stem + suffix
    if scope.find(name) is None:
        given = {"T": ctype, "name": name, "f": suffix}
        filled = text.format(**given, **{key: value.format(**given) for key, value in values.items()})
        definition = c_parser.CParser().parse(filled).ext[0]
        for node in nodes(definition):
            node.coord = coord
        assert isinstance(definition, c_ast.FuncDef)
        scope.symbols[name] = Function(name, definition.decl, definition)
    return name
