"""Functions that declare their parameters in the oldest style, as prototypes have them.

    f(a, n) float *a; { ... }    ->    int f(float *a, int n) { ... }

What callers pass is promoted and converted back (C99 6.9.1p10): within the function nothing differs.
"""

from __future__ import annotations

import re
from typing import Any

from pycparser import c_ast

# A function without a type of its value, which is `int`: pycparser takes none with parameters.
_UNTYPED = re.compile(
    r"[A-Za-z_]\w*\s*\(\s*[A-Za-z_]\w*(?:\s*,\s*[A-Za-z_]\w*)*\s*\)\s*(?:[A-Za-z_][^;{}()=]*;\s*)*\{"
)


def is_untyped(text: str, start: int) -> bool:
    """Whether a function begins there, with its name."""
    return _UNTYPED.match(text, start) is not None


def with_prototypes(root: Any) -> None:
    """Changes the tree of a file. Who is not declared is an `int`."""
    for node in root.ext:
        if isinstance(node, c_ast.FuncDef) and (given := node.decl.type.args):
            names = [p for p in given.params if isinstance(p, c_ast.ID)]
            if names and len(names) == len(given.params):
                declared = {declaration.name: declaration for declaration in node.param_decls or ()}
                given.params = [declared.get(name.name) or _integer(name) for name in names]
                node.param_decls = None


def _integer(name: c_ast.ID) -> c_ast.Decl:
    ctype = c_ast.IdentifierType(["int"], name.coord)
    declarator = c_ast.TypeDecl(name.name, [], None, ctype, name.coord)
    return c_ast.Decl(name.name, [], [], [], [], declarator, None, None, name.coord)
