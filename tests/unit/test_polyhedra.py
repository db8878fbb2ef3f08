"""Domains, access relations and the original order, against sets written by hand."""

from __future__ import annotations

import islpy as isl
import pytest

from polygpu.analysis.polyhedra import AffineBuilder, array_tuple, parameter_space
from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Literal, Name, Reference, Select, Unary
from polygpu.verify.affine import Scope, variable
from tests.unit.middle import MATRICES, VECTORS, analysed, same_map, same_set

ONE = "for (int i = 0; i < n; i++) "


def test_triangular_domain() -> None:
    p = analysed(MATRICES, "for (int i = 0; i < n; i++) for (int j = i; j < m; j++) A[i][j] = 0;")
    assert same_set(p.statements[0].domain, "[n, m] -> { S0[i, j] : 0 <= i < n and i <= j < m }")


@pytest.mark.parametrize(
    ("header", "values"),
    [
        ("for (int i = 2; i < n; i += 3)", "2 <= i < n and exists a: i = 3a + 2"),
        ("for (int i = n - 1; i >= 1; i -= 2)", "1 <= i < n and exists a: i = n - 1 - 2a"),
        (
            "for (int i = 0; i <= n / 2; i++)",
            "n >= 0 and 0 <= i and 2i <= n or n < 0 and i = 0 and 2i <= n + 1",
        ),
    ],
)
def test_loop_values(header: str, values: str) -> None:
    (s,) = analysed(VECTORS, f"{header} x[i] = 0;").statements
    assert same_set(s.domain, f"[n] -> {{ S0[i] : {values} }}")


def test_conditions_restrict_the_domain() -> None:
    (s,) = analysed(VECTORS, ONE + "if (i > 2 && i % 2 == 1) x[i] = 0;").statements
    assert same_set(s.domain, "[n] -> { S0[i] : 2 < i < n and exists a: i = 2a + 1 }")


def test_unsigned_parameters_are_not_negative() -> None:
    p = analysed("unsigned n, float x[restrict n]", "for (unsigned i = 0; i < n; i++) x[i] = 0;")
    assert same_set(p.context.from_params(), "[n] -> { [] : n >= 0 }")


def test_accesses() -> None:
    (s,) = analysed(
        MATRICES,
        "for (int i = 0; i < n; i++) for (int j = 0; j < n; j++) C[2 * j + 1][i] += A[i][n - 1 - j];",
    ).statements
    found = {(a.reference.array, a.write): a for a in s.accesses}
    inside = "0 <= i < n and 0 <= j < n"
    assert found.keys() == {("C", True), ("C", False), ("A", False)}
    assert same_map(found["C", True].relation, f"[n, m] -> {{ S0[i, j] -> C[2j + 1, i] : {inside} }}")
    assert same_map(found["A", False].relation, f"[n, m] -> {{ S0[i, j] -> A[i, n - 1 - j] : {inside} }}")
    assert all(a.affine and a.must for a in s.accesses)


@pytest.mark.parametrize(
    ("array", "elements"), [("x[restrict n]", "0 <= e < n"), ("x[restrict 7]", "0 <= e < 7"), ("*x", "")]
)
def test_data_dependent_subscripts_may_read_any_element(array: str, elements: str) -> None:
    p = analysed(f"int n, int k[restrict n], float {array}", ONE + "x[i] = x[k[i]];")
    indirect = next(a for a in p.statements[0].accesses if a.text == "x[k[i]]")
    assert not indirect.affine
    inside = " and ".join(filter(None, ("0 <= i < n", elements)))
    assert same_map(indirect.relation, f"[n] -> {{ S0[i] -> x[e] : {inside} }}")


def test_stores_under_data_dependent_conditions_may_happen() -> None:
    (s,) = analysed(VECTORS, ONE + "if (x[i] > 0) y[i] = 1;").statements
    assert [(a.reference.array, a.must) for a in s.accesses if a.write] == [("y", False)]


def test_members_of_structures_are_arrays_of_their_own() -> None:
    p = analysed("int n, struct p q[restrict n]", ONE + "q[i].x = q[i].y;", "struct p { float x, y; };")
    assert same_map(p.relation(True), "[n] -> { S0[i] -> q__x[i] : 0 <= i < n }")
    assert same_map(p.relation(False), "[n] -> { S0[i] -> q__y[i] : 0 <= i < n }")


def test_members_that_could_be_taken_for_each_other() -> None:
    paths = (
        "a_b",
        "a.b",
        "a__b",
        "v[1]",
        "v_1",
        "v_i1",
        "a_.b",
        "a._b",
        "a_m_b",
        "v[1].x",
        "v[1][2]",
        "v[12]",
    )
    names = [array_tuple(Reference("S", (), "int", path)) for path in ("", *paths)]
    assert len({*names}) == len(names)
    read = [isl.Set(f"{{ {name}[] }}").get_tuple_name() for name in names]
    assert read == names


def test_scalars_have_one_element() -> None:
    p = analysed(VECTORS, "float t; for (int i = 0; i < n; i++) { t = x[i]; y[i] = t; }")
    writes = [a for s in p.statements for a in s.accesses if a.write and a.reference.array == "t"]
    assert same_map(writes[0].relation, "[n] -> { S0[i] -> t[] : 0 <= i < n }")


def test_original_order() -> None:
    p = analysed(
        MATRICES,
        "for (int i = 0; i < n; i++) { A[i][0] = 0; for (int j = m - 1; j >= 0; j--) A[i][0] += B[i][j]; }"
        "for (int i = 0; i < n; i++) A[i][1] = 1;",
    )
    order = p.schedule()
    inside = "0 <= i < n and 0 <= j < m"
    expected = isl.UnionMap(
        "[n, m] -> { S0[i] -> [0, i, 0, 0, 0] : 0 <= i < n;"
        f" S1[i, j] -> [0, i, 1, -j, 0] : {inside}; S2[i] -> [1, i, 0, 0, 0] : 0 <= i < n }}"
    )
    assert order.lex_lt_union_map(order).is_equal(expected.lex_lt_union_map(expected))


def test_lookups_by_name() -> None:
    p = analysed(VECTORS, ONE + "x[i] = y[i];")
    assert p.statement("S0") is p.statements[0]
    assert p.array("y").name == "y"


IT, N = Name("i"), Name("n")
SPACE = isl.Set("[n] -> { [i] }").get_space()


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (Binary("/", IT, Int(2)), "i >= 0 and 2v <= i < 2v + 2 or i < 0 and 2v - 2 < i <= 2v"),
        (
            Binary("%", IT, Int(3)),
            "(exists a: i = v + 3a) and (i >= 0 and 0 <= v < 3 or i < 0 and -3 < v <= 0)",
        ),
        (Call("min", (IT, N, Int(4)), "int"), "v <= i and v <= n and v <= 4 and (v = i or v = n or v = 4)"),
        (Call("max", (IT, N), "int"), "v >= i and v >= n and (v = i or v = n)"),
        (Call("floord", (IT, Int(4)), "int"), "4v <= i < 4v + 4"),
        (Select(Binary("<", IT, N), Int(1), Unary("-", IT)), "i < n and v = 1 or i >= n and v = -i"),
        (Binary("*", Int(-2), Binary("-", IT, N)), "v = 2n - 2i"),
        (Unary("+", Literal("0x10u", "unsigned int")), "v = 16"),
        (Binary("<", IT, N), "i < n and v = 1 or i >= n and v = 0"),
        (Unary("!", Binary("&&", IT, N)), "i != 0 and n != 0 and v = 0 or (i = 0 or n = 0) and v = 1"),
    ],
)
def test_values(expr: Expr, text: str) -> None:
    value = AffineBuilder(SPACE).value(expr)
    assert isl.Map.from_pw_aff(value).is_equal(isl.Map(f"[n] -> {{ [i] -> [v] : {text} }}"))


@pytest.mark.parametrize(
    ("test", "text"),
    [
        (Binary("||", Binary("<", IT, Int(2)), Binary("==", IT, N)), "i < 2 or i = n"),
        (Unary("!", Binary("&&", Binary(">=", IT, Int(1)), Binary("!=", IT, N))), "i < 1 or i = n"),
        (Binary(">", IT, N), "i > n"),
        (Binary("<=", IT, N), "i <= n"),
        (Binary("-", IT, N), "i != n"),
        (Binary("==", Binary("==", IT, Int(3)), Int(0)), "i != 3"),
        (Binary("<", Unary("!", IT), Binary(">", IT, N)), "i != 0 and i > n"),
    ],
)
def test_truth(test: Expr, text: str) -> None:
    """Of the source and of generated code."""
    assert AffineBuilder(SPACE).condition(test).is_equal(isl.Set(f"[n] -> {{ [i] : {text} }}"))
    found = Scope(isl.Set("{ [] }"), {"i": variable("i"), "n": variable("n")}).condition(test)
    assert found.is_equal(isl.Set(f"[i, n] -> {{ [] : {text} }}"))


@pytest.mark.parametrize(
    "expr",
    [
        Name("unknown"),
        Reference("x", (Int(0),), "int"),
        Literal("0.5", "double"),
        Cast("unsigned char", N),
        Cast("double", N),
        Unary("~", N),
    ],
)
def test_what_is_not_affine(expr: Expr) -> None:
    with pytest.raises(ValueError, match=r"."):
        AffineBuilder(parameter_space(("n",)).set_from_params()).value(expr)
