"""Functions in the oldest style are those that prototypes would make of them."""

from __future__ import annotations

from pathlib import Path

import pytest
from pycparser import c_ast, c_generator

from polygpu.frontend.options import FrontendOptions
from polygpu.frontend.text.clean import clean
from polygpu.frontend.text.preprocess import preprocess
from polygpu.frontend.text.recover import parse_tolerantly
from polygpu.frontend.text.source import Source


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("void f(a, n) float *a; int n; {}", ["void f(float *a, int n)"]),
        ("int f(n, a)\nfloat a[];\n{ return n; }", ["int f(int n, float a[])"]),
        ("int f(b, a) int a, b; { return a; }", ["int f(int b, int a)"]),
        ("f(w, m)\nfloat **w;\n{\n}", ["int f(float **w, int m)"]),
        ("int g;\nf(w) {}\n\nh(x) char x; {}\nint k(void);", ["int f(int w)", "int h(char x)"]),
        ("struct s { int n; };\nstatic f(p) struct s *p; {}", ["static int f(struct s *p)"]),
        ("int f(void) { return 1; } int g() { return 2; }", ["int f(void)", "int g()"]),
    ],
)
def test_prototypes(text: str, expected: list[str], tmp_path: Path) -> None:
    path = str(tmp_path / "in.c")
    Path(path).write_text(text + "\n")
    options = FrontendOptions()
    cleaned = clean(preprocess(path, text + "\n", options), path)
    parsed = parse_tolerantly(path, cleaned, {path: Source(path, text + "\n")}, options)
    assert not parsed.diagnostics
    functions = [node for node in parsed.tree.root.ext if isinstance(node, c_ast.FuncDef)]
    assert [c_generator.CGenerator().visit(f.decl) for f in functions] == expected
    assert not any(f.param_decls for f in functions)
    for f in functions:
        position = parsed.tree.positions.of(f.decl)
        assert text.splitlines()[position.line - 1][position.column - 1 :].startswith(f.decl.name)
