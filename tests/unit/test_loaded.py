"""What a thread loads once, in kernels written by hand."""

from __future__ import annotations

from polygpu.lower.loaded import load_once
from polygpu.model.expr import Binary, Expr, Int, Name, Reference, Select
from polygpu.model.kernel import Assign, Barrier, Declare, DeclareArray, For, If, Statement
from polygpu.model.kernel_walk import reads, statements
from polygpu.model.rewrite import references

MEMORY = frozenset({"A", "B", "C"})


def at(array: str, *subscripts: Expr | str | int) -> Reference:
    made = (Name(s) if isinstance(s, str) else Int(s) if isinstance(s, int) else s for s in subscripts)
    return Reference(array, tuple(made), "float")


def plus(name: str, constant: int) -> Expr:
    return Binary("+", Name(name), Int(constant))


def unrolled(index: str, count: int, *body: Statement) -> For:
    return For(index, Int(0), Int(count), 1, body, uniform=True, unroll=True)


def rolled(index: str, *body: Statement) -> For:
    return For(index, Int(0), Name("n"), 1, body, uniform=True)


def added(target: Reference, value: Expr) -> Assign:
    return Assign(target, Binary("+", target, value))


def loads(body: tuple[Statement, ...], array: str) -> int:
    """How often a thread that runs `body` loads from `array`; loops of unknown length run 10 times."""
    total = 0
    for s in body:
        total += sum(r.array == array for e in reads(s) for r in references(e))
        match s:
            case For(lower=Int(lower), upper=Int(upper)):
                total += (upper - lower) * loads(s.body, array)
            case For():
                total += 10 * loads(s.body, array)
            case If():
                total += loads(s.then, array)
    return total


def product() -> tuple[Statement, ...]:
    update = added(at("C_r", "i", "j"), Binary("*", at("A", "k", "i"), at("B", "k", "j")))
    return (rolled("k", unrolled("i", 4, unrolled("j", 8, update))),)


def test_points_share_what_they_load() -> None:
    before = product()
    assert (loads(before, "A"), loads(before, "B")) == (320, 320)
    after = load_once(before, MEMORY, 32)
    assert (loads(after, "A"), loads(after, "B")) == (40, 80)


def test_registers_are_a_limit() -> None:
    assert load_once(product(), MEMORY, 0) == product()
    few = load_once(product(), MEMORY, 7)  # B's eight do not fit, A's one does
    assert (loads(few, "A"), loads(few, "B")) == (40, 320)


def test_what_a_rolled_loop_does_not_change_is_loaded_where_it_has_iterations() -> None:
    (branch,) = load_once((rolled("k", added(at("x_r"), at("A", "i"))),), MEMORY, 32)
    assert isinstance(branch, If) and branch.test == Binary("<", Int(0), Name("n"))
    load, loop = branch.then
    assert isinstance(load, Declare) and load.value == at("A", "i")
    assert loads((loop,), "A") == 0


def test_neighbours_slide() -> None:
    stencil = Assign(at("B", "i"), Binary("+", at("A", plus("i", -1)), at("A", plus("i", 1))))
    body = (unrolled("r", 8, Declare("i", "int", Binary("+", Name("t"), Name("r"))), stencil),)
    after = load_once(body, MEMORY, 32)
    assert (loads(body, "A"), loads(after, "A")) == (16, 10)
    assert isinstance(after[0], DeclareArray) and after[0].extents == (10,)
    backwards = Assign(
        at("B", "r"), Binary("+", at("A", Binary("-", Name("t"), Name("r"))), at("A", plus("t", 5)))
    )
    assert loads(load_once((unrolled("r", 4, backwards),), MEMORY, 32), "A") == 5
    even = Assign(at("B", "r"), Binary("+", at("A", Binary("*", Int(2), Name("r"))), at("A", 3)))
    assert loads(load_once((unrolled("r", 4, even),), MEMORY, 32), "A") == 5


def test_neighbours_too_far_apart_do_not() -> None:
    far = Assign(at("B", "r"), Binary("+", at("A", "r"), at("A", plus("r", 4))))
    body = (unrolled("r", 4, far),)
    assert load_once(body, MEMORY, 32) == body
    other = Assign(at("B", "r"), Binary("+", at("A", "r", "t"), at("A", plus("r", 1), "u")))
    assert load_once((unrolled("r", 4, other),), MEMORY, 32) == (unrolled("r", 4, other),)


def test_what_changes_is_loaded_each_time() -> None:
    for change in (
        Assign(at("A", "i"), at("B", "k")),
        Assign(at("A", "k"), at("B", "k")),  # perhaps the same element
        Assign(Name("i"), Int(3)),
        Declare("i", "int", Binary("*", Int(2), Name("k"))),
    ):
        body = (rolled("k", change, added(at("x_r"), at("A", "i"))),)
        assert loads(load_once(body, MEMORY, 32), "A") == 10


def test_barriers_let_others_write() -> None:
    used = added(at("x_r"), at("A", "i"))
    written = Assign(at("A", "t"), at("B", "t"))
    assert loads(load_once((rolled("k", Barrier(), used),), MEMORY, 32), "A") == 1
    assert loads(load_once((written, Barrier(), rolled("k", Barrier(), used)), MEMORY, 32), "A") == 10


def test_what_is_perhaps_not_read_stays() -> None:
    under_a_test = If(Binary("<", Name("i"), Name("m")), (added(at("x_r"), at("A", "i")),), (), uniform=False)
    chosen = added(at("x_r"), Select(Binary("<", Name("i"), Name("m")), at("A", "i"), at("B", "k")))
    second = added(at("x_r"), Binary("&&", Name("m"), at("A", "i")))
    inner = For("j", Int(0), Name("m"), 1, (added(at("x_r"), at("A", "i")),), uniform=True)
    for s in (under_a_test, chosen, second):
        assert load_once((rolled("k", s),), MEMORY, 32) == (rolled("k", s),)
    after = load_once((rolled("k", inner),), MEMORY, 32)
    assert loads(after, "A") == 10  # before the inner loop: the outer one may find it without iterations


def test_loops_of_one_name_are_told_apart() -> None:
    narrow = unrolled("j", 2, added(at("x_r"), at("B", "j")))
    wide = unrolled("j", 4, added(at("x_r"), at("B", "j")))
    (*_, loop) = load_once((unrolled("i", 4, narrow, wide),), MEMORY, 2)
    assert isinstance(loop, For)
    assert [s for s in statements(loop.body) if isinstance(s, For)][1] == wide
    for registers in (2, 4, 6):
        after = load_once((unrolled("i", 4, narrow, wide),), MEMORY, registers)
        extents = {s.name: s.extents for s in after if isinstance(s, DeclareArray)}
        for s in statements(after):
            if isinstance(s, For) and isinstance(s.upper, Int) and s.index == "j":
                held = [
                    r
                    for e in (e for i in s.body for e in reads(i))
                    for r in references(e)
                    if r.array in extents
                ]
                assert all(s.upper.value <= extents[r.array][0] for r in held)


def test_names_are_new() -> None:
    body = (Declare("A_v", "float", None, mutable=True), rolled("k", added(at("x_r"), at("A", "i"))))
    names = [s.name for s in statements(load_once(body, MEMORY, 32)) if isinstance(s, Declare)]
    assert names == ["A_v", "A_v2"]
