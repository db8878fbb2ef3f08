"""What the random programs are: half of them of constant sizes, and forms that real programs have."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import combinations
from pathlib import Path

import pytest

from tests.fuzz import complexes, held
from tests.fuzz.complexes import has_complex
from tests.fuzz.examine import CHECKED, Batch, gcc, run
from tests.fuzz.generate import program
from tests.fuzz.kinds import forms_of
from tests.fuzz.openmp import independent
from tests.fuzz.program import (
    RECORD,
    SPELLINGS,
    Affine,
    Array,
    Assign,
    Declare,
    If,
    Loop,
    Node,
    Operation,
    Program,
    Read,
    Scalar,
    Turn,
)
from tests.fuzz.ranges import at, declared, extents, goes_round, read_in, reads_of
from tests.fuzz.shrink import shrink
from tests.fuzz.sizes import tried_at
from tests.fuzz.text import source
from tests.fuzz.unsized import OPEN, has_unsized
from tests.fuzz.work import Job, what
from tests.fuzz.wrapping import within_bounds

Nest = tuple[Loop, ...]  # loops, the outermost first
BOTH = ("n", "m")


@cache
def programs() -> tuple[Program, ...]:
    return tuple(program(f"forms:{k}") for k in range(400))


def nodes_of(nodes: tuple[Node, ...], around: Nest = ()) -> Iterator[tuple[Node, Nest]]:
    """All nodes with the loops around each."""
    for node in nodes:
        yield node, around
        match node:
            case Loop(body=body):
                yield from nodes_of(body, (*around, node))
            case If(_, then, otherwise):
                yield from nodes_of((*then, *otherwise), around)
            case Turn(body=body):
                yield from nodes_of(body, around)


def everything(p: Program) -> Iterator[tuple[Node, Nest]]:
    return (found for region in p.regions for found in nodes_of(region))


def test_some_subscripts_are_remainders_within_their_arrays() -> None:
    """By constants and by sizes, at which arrays have that many elements at least."""
    found = [p for p in programs() if "around" in forms_of(p)]
    sizes = [
        (s.operands[1], extents(p)[read.array][d], p)
        for p in found
        for region in p.regions
        for read in read_in(region)
        for d, s in enumerate(read.subscripts)
        if isinstance(s, Operation) and goes_round(s)
    ]
    assert len(found) > 10
    for size, extent, p in sizes:
        assert isinstance(size, Affine)
        assert all(0 < at(size, n, m) <= at(extent, n, m) for n, m in p.sizes)
    assert {bool(size.terms) for size, _, _ in sizes if isinstance(size, Affine)} == {True, False}


def test_the_scalars_of_sums_have_one_type_each() -> None:
    """Functions of a file that change them have it from their names."""
    for k in range(60):
        made = [
            node for node, _ in everything(program(f"scalars:{k}", sums=True)) if isinstance(node, Declare)
        ]
        types = {(d.name, d.type) for d in made if d.value is not None}
        assert len(types) == len({name for name, _ in types}), types


def test_some_loops_have_pragmas_of_openmp() -> None:
    """A team of which one thread works, shared loops, and writes to places that data say."""
    pragmas = [" ".join(loop.pragmas) for p in programs() for loop, _ in loops(p) if loop.pragmas]
    for words in ("omp single", "omp for", "parallel for", "target teams", "schedule"):
        assert any(words in text for text in pragmas)
    assert sum(any(a.name == "P0" for a in p.arrays) for p in programs()) > 10


def test_loops_that_are_called_independent_are() -> None:
    """No two iterations of those that write what one iterator says touch the same element."""
    i, j = (Affine(((iterator, 1),)) for iterator in ("i", "j"))
    own, other = Read("A", (j, i)), Read("A", (i, j + Affine((), -1)))
    for target, value, answer in ((own, own, True), (own, other, False), (other, other, True)):
        nest = Loop("j", (i,), (i,), 1, (Assign(target, "{0} = {1};", value),))
        assert independent(Loop("i", (i,), (i,), 1, (nest,))) == answer
        assert not independent(replace(nest, body=(Assign(Scalar("s"), "{0} = {1};", own),)))
    turn = Turn("do", "t", own, other, 1, ())
    assert not independent(Loop("i", (i,), (i,), 1, (turn, Assign(own, "{0} = {1};", own))))


def loops(p: Program) -> Iterator[tuple[Loop, Nest]]:
    return ((node, around) for node, around in everything(p) if isinstance(node, Loop))


def subscripts(p: Program) -> Iterator[tuple[Read, Affine]]:
    for node, _ in everything(p):
        for value in (node.target, node.value) if isinstance(node, Assign) else ():
            for read in reads_of(value):
                yield from ((read, s) for s in read.subscripts if isinstance(s, Affine))


def iterators(a: Affine) -> list[str]:
    return [text for text, _ in a.terms if text not in BOTH]


def is_number(a: Affine) -> bool:
    return not a.terms


def bounded_twice(p: Program) -> bool:
    """for (i = ...; i < n && i < 96; ...), with n known at run time"""
    return any(
        loop.apart
        and any(map(is_number, loop.uppers))
        and any(u.factor(x) for u in loop.uppers for x in p.unknown)
        for loop, _ in loops(p)
    )


def triangle_to_a_number(p: Program) -> bool:
    """for (j = i; j < 96; ...) within a loop of a bound known at run time"""
    return any(
        is_number(loop.uppers[0])
        and any(iterators(low) for low in loop.lowers)
        and any(u.factor(x) for outer in around for u in outer.uppers for x in p.unknown)
        for loop, around in loops(p)
    )


def sum_of_iterators(p: Program) -> bool:
    """A[i + j]"""
    return any(len(iterators(s)) > 1 and all(k > 0 for _, k in s.terms) for _, s in subscripts(p))


def shifted_by_three(p: Program) -> bool:
    """A[i][j + 3]"""
    return any(iterators(s) and s.constant >= 3 for _, s in subscripts(p))


def flattened_rows_of_a_number(p: Program) -> bool:
    """A[(k - 1) * 33 + i]"""
    sizes = declared(p)
    flat = [a for a in p.arrays if a.storage == "flat" and a.rank > 1 and all(map(is_number, sizes[a.name]))]
    named = {read.array for read, s in subscripts(p) if iterators(s)}
    return bool(p.unknown) and any(a.name in named for a in flat)


def parameter_of_constant_rows(p: Program) -> bool:
    """float A[restrict 128][99], with rows longer than they need to be"""
    return any(a.storage == "restrict" and a.rank > 1 and a.constant and a.padding for a in p.arrays)


def global_of_constant_rows(p: Program) -> bool:
    """static float A[96][96]"""
    return not p.unknown and any(a.storage == "global" and a.rank > 1 for a in p.arrays)


def down_to_zero(p: Program) -> bool:
    """for (j = 16; j >= 0; j--)"""
    return any(
        loop.step == -1 and loop.lowers == (Affine(),) and all(map(is_number, loop.uppers))
        for loop, _ in loops(p)
    )


def accumulation(p: Program) -> bool:
    """A[i][j] = 1; for (k = ...) A[i][j] += ...;"""
    return any(
        isinstance(first, Assign) and isinstance(second, Loop)
        and any(isinstance(node, Assign) and node.target == first.target for node in second.body)
        for loop, _ in loops(p)
        for first, second in zip(loop.body, loop.body[1:], strict=False)
    )  # fmt: skip


def unsigned_bound(p: Program) -> bool:
    """for (int i = 0; i < n; ...) with an unsigned n"""
    return p.parameter == "unsigned int" and any(
        loop.type == "int" and any(u.factor(x) for u in loop.uppers for x in p.unknown)
        for loop, _ in loops(p)
    )


def narrow_array(p: Program) -> bool:
    return any(a.type in ("char", "unsigned char", "short") for a in p.arrays)


def scaled_record(p: Program) -> bool:
    """A[2 * j].x"""
    records = {a.name for a in p.arrays if a.type == RECORD}
    return any(read.array in records and any(k == 2 for _, k in s.terms) for read, s in subscripts(p))


def stencil(p: Program) -> bool:
    """for (t = 0; t < 4; t++) { A1[i] = A0[i - 1]...; A0[i] = A1[i + 1]...; } in two nests"""
    return any(
        len(loop.body) == 2 and all(isinstance(node, Loop) for node in loop.body)
        and loop.lowers == (Affine(),) and is_number(loop.uppers[0]) and _each_other(loop)
        for loop, _ in loops(p)
    )  # fmt: skip


def _each_other(time: Loop) -> bool:
    """Whether each of two nests reads what the other one writes."""
    first, second = (_arrays((nest,)) for nest in time.body)
    return bool(first[0] & second[1]) and bool(second[0] & first[1])


def _arrays(nodes: tuple[Node, ...]) -> tuple[set[str], set[str]]:
    """Written, read."""
    stores = [node for node, _ in nodes_of(nodes) if isinstance(node, Assign)]
    written = {s.target.array for s in stores if isinstance(s.target, Read)}
    return written, {read.array for s in stores for read in reads_of(s.value)}


def shared(p: Program) -> bool:
    """for (i = 1; ...) { for (j) A[i] += ...; for (j) B[i][j] = ... A[i] ...; } with rows of other loops"""
    return any(
        sum(isinstance(node, Loop) for node in loop.body) > 1
        and any(_arrays((a,))[0] & _arrays((b,))[1] for a, b in combinations(loop.body, 2))
        and any(a.uppers == b.uppers for a, b in combinations(_inner(loop), 2))
        for loop, _ in loops(p)
    )


def _inner(loop: Loop) -> list[Loop]:
    return [node for node in loop.body if isinstance(node, Loop)]


def straight(p: Program) -> bool:
    """t1 = ...; A[i][0] = ... t1 ...; A[i][2] = ...; in one body, many of them"""
    return any(
        sum(isinstance(node, Assign | Declare) for node in loop.body) > 8
        and any(isinstance(node, Assign) and isinstance(node.target, Scalar) for node in loop.body)
        and any(isinstance(node, Assign) and isinstance(node.target, Read) for node in loop.body)
        for loop, _ in loops(p)
    )


def turning(p: Program) -> bool:
    """for (c = A[i] & 3; c < (B[i] & 7); c++) { ... if (...) break; ... } with tests in it"""
    turns = [node for node, _ in everything(p) if isinstance(node, Turn)]
    return any(isinstance(t.limit, Operation) and any(isinstance(n, If) for n in t.body) for t in turns)


def layered(p: Program) -> bool:
    """for (i) for (j < 3) for (k) for (l) A0[i][j][k][l] = ... A1[i][j][k - 1][l] ...;"""
    stores = [(node, around) for node, around in everything(p) if isinstance(node, Assign)]
    return any(
        isinstance(node.target, Read) and len(node.target.subscripts) == len(around) == 4
        and any(is_number(loop.uppers[0]) for loop in around)
        for node, around in stores
    )  # fmt: skip


FORMS: tuple[Callable[[Program], bool], ...] = (
    bounded_twice, triangle_to_a_number, sum_of_iterators, shifted_by_three, flattened_rows_of_a_number,
    parameter_of_constant_rows, global_of_constant_rows, down_to_zero, accumulation, unsigned_bound,
    narrow_array, scaled_record, stencil, shared, straight, turning, layered,
)  # fmt: skip


def test_helpers_start_sums_of_floats_with_what_is_exact() -> None:
    """An element that keeps a fraction is no sum that can be added up in any order."""
    base = next(p for p in programs() if p.arrays and p.arrays[0].type == "float")
    target = Read(base.arrays[0].name, (Affine(),) * base.arrays[0].rank)
    starts = tuple(Assign(target, "{0} = {1};", Affine((), k)) for k in range(8))
    texts = [source([replace(base, regions=(starts,), spelling=f"{k}")]) for k in range(40)]
    helpers = [
        text for text in texts for text in re.findall(r"^static .* h0_\d+\(.*\n.*", text, re.MULTILINE)
    ]
    assert len(helpers) > 40
    plain = r"static void h0_\d+\(float \*p, \w+ v, int i\)\n\{ (p\[0\]|\(\*p\)) = v; \}"
    assert all(re.fullmatch(plain, text) for text in helpers), helpers


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.__name__)
def test_forms_occur(form: Callable[[Program], bool]) -> None:
    assert any(map(form, programs()))


def test_spellings_occur() -> None:
    spelled = [p for p in programs() if p.spelling]
    assert 0.15 < len(spelled) / len(programs()) < 0.35
    texts = [source([p]) for p in spelled]
    words = "continue;|goto |switch (|static void h0_|return;|(&|const float *p|{ .w = "
    for word in words.split("|"):
        assert sum(word in text for text in texts) > len(texts) / 20, word
    for shape in (
        r"for \(int (\w+) = 0; \1 < .*\) \* ",
        r"void h0_\d+\(.*\)\n\{\n    int \w = .*;\n    while \(",
    ):
        assert sum(bool(re.search(shape, text)) for text in texts) >= 3, shape
    assert sum(bool(re.search(r"^ +at\d+:\n +for ", text, re.MULTILINE)) for text in texts) > 3
    assert all("goto" not in source([replace(p, spelling="")]) for p in spelled[:20])


def test_half_of_the_programs_have_constant_sizes() -> None:
    known = Counter(len(p.constants) for p in programs()[:200])
    assert 80 <= known[2] <= 120
    assert known[0] >= 40
    assert known[1] >= 10
    assert {spelling for p in programs() for _, spelling in p.constants} == set(SPELLINGS)


def test_constant_sizes() -> None:
    """One pair, often of multiples of tiles, sometimes one more or less."""
    constant = [p for p in programs() if not p.unknown]
    assert all(len(p.sizes) == 1 for p in constant)
    values = Counter(value for p in constant for value in p.sizes[0])
    assert sum(values[k] for k in range(8, 513, 8)) > sum(values.values()) / 3
    assert any(values[k + 1] for k in (16, 32, 64))
    assert any(values[k - 1] for k in (16, 32, 64))
    assert values[1]


def test_constants_keep_their_value_at_all_sizes() -> None:
    mixed = [p for p in programs() if len(p.constants) == 1]
    for p in mixed:
        assert len({size[BOTH.index(p.constants[0][0])] for size in p.sizes}) == 1
    assert any(len(p.sizes) > 2 for p in mixed)


def test_programs_of_constant_sizes_are_valid(tmp_path: Path) -> None:
    chosen = [p for p in programs() if p.constants][:60]
    batch = Batch(chosen, tmp_path)
    assert batch.outcome.failures == []


def test_assumed_sizes_are_tried() -> None:
    """Programs that are not too deep for a size are tried at it, except in their constants."""
    flat = [p for p in programs()[:100] if max(a.rank for a in p.arrays) < 4]
    for p in (p for p in flat if "unsigned" not in p.parameter):
        sizes = tried_at(p, {"n": 16, "m": 16}).sizes
        assert set(p.sizes) <= set(sizes)
        known = dict(zip(BOTH, p.sizes[0], strict=True))
        assert not p.unknown or tuple(16 if x in p.unknown else known[x] for x in BOTH) in sizes
    assert any(Job(1, 8 * k, 8).setup().assumed.get("n", 0) % 16 == 0 for k in range(40))


def test_programs_of_constant_sizes_become_small() -> None:
    """With smaller constants, in a file that runs by itself."""

    def fails(p: Program) -> bool:
        return not p.unknown and any(u.terms == (("n", 1),) for loop, _ in loops(p) for u in loop.uppers)

    start = next(p for p in programs() if fails(p) and max(p.sizes[0]) > 16)
    small = shrink(start, fails, 10)
    assert max(small.sizes[0]) <= 1
    assert len(list(everything(small))) <= 3
    assert "int main(" in source([small])


def test_an_overflow_of_int_ends_the_program(tmp_path: Path) -> None:
    text = (
        "int main(int argc, char **argv) { volatile int c = 391679, t = 100000 * argc; return c * t == 0; }"
    )
    (tmp_path / "bound.c").write_text(text)
    gcc(tmp_path, "bound", CHECKED, ["bound.c"])
    found = run(tmp_path / "bound")
    assert not found.fine
    assert "signed integer overflow" in found.errors


@pytest.mark.parametrize("parts", [("unsigned int", "int"), ("int", "long"), ("unsigned int", "long")])
def test_scalars_that_pass_subscripts_on_hold_no_wrapped_ones(parts: tuple[str, str], tmp_path: Path) -> None:
    """A[i] and A[j - i + n - 1] in loops of these types over an unsigned n, however they are passed on."""
    n, i, j = (Affine(((name, 1),)) for name in ("n", "i", "j"))
    elements = [Read("A0", (s,)) for s in (i, j, j + i * -1 + n + Affine((), -1))]
    body = tuple(Assign(a, "{} += {};", elements[0]) for a in elements)
    outer, inner = parts
    inside = Loop("j", (Affine(),), (n,), -1, body, type=inner)
    loop = Loop("i", (Affine(),), (n,), 1, (inside,), type=outer)
    made = Program(
        (Array("A0", "unsigned int", 1),), (), ((loop,),), ((1, 1), (3, 3)), parameter="unsigned int"
    )
    assert within_bounds(made) == made
    carried = [replace(made, carried=str(k)) for k in range(60)]
    assert Batch(carried, tmp_path).outcome.failures == []


def test_sizes_that_are_tried_too_keep_wrapped_subscripts_inside() -> None:
    """a[-i + n] in a loop over an unsigned int, with n a long: far outside wherever it runs."""
    n, i = (Affine(((name, 1),)) for name in ("n", "i"))
    body = (Assign(Read("A0", (i * -1 + n,)), "{} = {};", Affine()),)
    loop = Loop("i", (Affine((), 2),), (n,), 3, body, type="unsigned int")
    made = Program((Array("A0", "int", 1),), (), ((loop,),), ((0, 0), (1, 1)), parameter="long")
    assert within_bounds(made) == made
    assert tried_at(made, {"n": 40}) == made


@pytest.mark.parametrize(("ctype", "kept"), [("char", False), ("unsigned char", True), ("int", True)])
def test_sizes_that_are_tried_too_fit_narrow_iterators(ctype: str, kept: bool) -> None:
    """for (char j = 1; j < n; j += 2) has no end where n is 128."""
    n, j = (Affine(((name, 1),)) for name in ("n", "j"))
    loop = Loop("j", (Affine((), 1),), (n,), 2, (Assign(Read("A0", (j,)), "{} = {};", j),), type=ctype)
    made = Program((Array("A0", "int", 1),), (), ((loop,),), ((0, 0), (1, 1)))
    assert within_bounds(made) == made
    assert (tried_at(made, {"n": 128}).sizes == (*made.sizes, (128, 1))) == kept


def test_loops_that_would_wrap_count_in_signed_types(tmp_path: Path) -> None:
    """for (char j = i + 1; j < i + 2; j++), within a branch too, has no end at i = 127."""
    i = Affine((("i", 1),))
    store = Assign(Read("A0", (i,)), "{} = {};", i)
    inside: Node = Loop("j", (i + Affine((), 1),), (i + Affine((), 2),), 1, (store,), type="char")
    for _ in range(2):
        loop = Loop("i", (Affine(),), (Affine((), 128),), 1, (inside,))
        made = within_bounds(Program((Array("A0", "int", 1),), (), ((loop,),), ((1, 1),)))
        assert [found.type for found, _ in loops(made)] == ["int", "int"]
        assert Batch([made], tmp_path).valid
        inside = If(Operation("{0} > 3", (i,)), (), (inside,))


def test_loops_over_pointers_go_where_the_ones_that_they_spell_go(tmp_path: Path) -> None:
    """for (int i = -1; i < n - 1; i++) has no iteration where n is unsigned, A - 1 is before A + (n - 1)."""
    i, n, zero = Affine((("i", 1),)), Affine((("n", 1),)), Affine()
    store = Assign(Read("A0", (Affine((("j", 1),)),)), "{} = {};", i)
    inside = Loop("j", (zero,), (i + Affine((), 1),), -1, (store,), type="unsigned short")
    loop = Loop("i", (Affine((), -1),), (n + Affine((), -1),), 1, (inside,))
    made = within_bounds(
        Program((Array("A0", "int", 1),), (), ((loop,),), ((1, 1), (5, 2)), parameter="unsigned int")
    )
    for k in range(10):
        assert Batch([replace(made, pointing=str(k))], tmp_path).valid
    from_zero = replace(made, regions=((replace(loop, lowers=(zero,)),),))
    texts = [source([replace(from_zero, pointing=str(k))]) for k in range(10)]
    assert any("int *q" in text for text in texts) and not all("int *q" in text for text in texts)


def test_tests_keep_products_within_int() -> None:
    """t * 2000000 behind a test of t, and nowhere else."""
    found = 0
    branches = [node for p in programs() for node, _ in everything(p) if isinstance(node, If)]
    for branch in branches:
        stores = [n for n in (*branch.then, *branch.otherwise) if isinstance(n, Assign)]
        large = [n for n in stores if "00000" in str(n.value)]
        found += len(large)
        assert not large or branch.test.template in ("{0} >= 0 && {0} < 1000", "{0} == 7")
    assert found >= 5


def test_failures_of_one_kind_differ_in_what_fails() -> None:
    outside = "p3_0_k1: an access outside of global array 'A2'; by thread (7, 0, 0)"
    assert what("certificate", outside) == ("certificate", "an access outside of global array ")
    assert what("crash", "status 1: a.c:2: runtime error: signed integer overflow: 3 * 5") == (
        "crash",
        "signed integer overflow",
    )
    assert what("traceback", "Traceback\n  File\nKeyError: 'n'\n") == ("traceback", "KeyError")


def test_programs_of_complex_numbers_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that are complex by force among many: whatever a template and a value come to together."""
    monkeypatch.setattr(complexes, "SHARE", 1)
    some = [p for k in range(150) if has_complex(p := program(f"complex:{k}"))]
    assert len(some) > 50
    (tmp_path / "complex.c").write_text(source(some, pragmas=False))
    gcc(tmp_path, "complex", ("-w", "-fsyntax-only"), ["complex.c"])


def test_sizes_and_arrays_are_held_elsewhere() -> None:
    programs = [program(f"1:{k}") for k in range(200)]
    places = {where for p in programs for _, where in p.held}
    assert places == {*held.SIZES, held.HELD}
    some = next(p for p in programs if ("n", "arrow") in p.held)
    assert "< h->n" in source([some])
    assert "< h->n" not in source([replace(some, held=())])


def test_arrays_of_unknown_size_are_only_read() -> None:
    """Most by subscripts that data tell."""
    found = [p for p in (program(f"unsized:{k}") for k in range(150)) if has_unsized(p)]
    assert len(found) > 2
    for p in found:
        unsized = {a.name for a in p.arrays if a.storage == OPEN}
        assert not any(unsized & _arrays(region)[0] for region in p.regions)
        assert re.search(r"\bU0\[\]", source([p]))
    assert any(re.search(r"\bA\d\[\(U0\[.*\] & 7\)\]", source([p])) for p in found)


def test_stores_depend_on_a_kind() -> None:
    some = next(p for p in programs() if len(p.kinds) == 3 and "if (kind" in source([p]))
    _, second, third = some.kinds
    assert re.search(
        rf"if \(kind == {second}\) (A[^=]*) = [^;]*; else if \(kind == {third}\) \1 = 0; else \1 = 1;",
        source([some]),
    )
    assert "if (kind" not in source([replace(some, kinds=())])


def test_numbers_are_chosen_and_parameters_declared_behind_the_list() -> None:
    """A branch chooses the number itself; what is written otherwise means the same."""
    programs = [program(f"1:{k}") for k in range(400)]
    some = next(p for p in programs if p.chosen and "chosen" in source([p]).partition("#pragma scop")[2])
    number, other = some.chosen[0]
    assert f"< 5000) {{ chosen{number} = {number}; }} else chosen{number} = {other};" in source([some])
    assert "chosen" not in source([replace(some, chosen=())])
    old = next(p for p in programs if p.old_style and len(p.unknown) == 2)
    assert re.search(r"^double p0\(n, m, .*\)\n    \S.* n; \S.* m; ", source([old]), re.MULTILINE)
    step = next(p for p in programs if p.step and "+= by)" in source([p]))
    assert re.search(r"p0\(.*int by\)", source([step])) and f", {step.step});" in source([step])
    assert any("acc " in text for p in programs for loop, _ in loops(p) for text in loop.pragmas)


def test_programs_with_chosen_numbers_and_old_declarations_are_valid(tmp_path: Path) -> None:
    made = [p for k in range(400) if (p := program(f"1:{k}")).chosen or p.old_style or p.step][:30]
    assert Batch(made, tmp_path).outcome.failures == []


def test_some_scalars_have_no_address() -> None:
    """Some of what passes subscripts on is `register`, and most is not."""
    text = "\n".join(source([p]) for p in programs() if p.carried)
    declared = re.findall(r"^    (register )?\w[\w ]* \w+ = \d;", text, re.MULTILINE)
    assert len(declared) / 20 < sum(map(bool, declared)) < len(declared) / 4


def test_rows_have_computed_lengths(tmp_path: Path) -> None:
    """What is passed for them makes them as long as those of other programs."""
    flat = [p for p in programs() if re.search(r"\* w1_A", source([replace(p, widths="")]))]
    assert any(p.widths for p in programs())
    made = [replace(p, widths=str(k)) for k, p in enumerate(flat[:40])]
    texts = [source([p]) for p in made]
    for way in (r"w1_A\d >> 1", r"w1_A\d / 3", r"w1_A\d \^ 5", r"~w1_A\d & 4095"):
        assert any(re.search(rf"\* \({way}\)", text) for text in texts), way
    assert Batch(made, tmp_path).outcome.failures == []


@pytest.mark.parametrize("seed", ["490001:1999", "420001:1598"])
def test_unsigned_variables_stay_at_0_and_above(seed: str, tmp_path: Path) -> None:
    """One that says how far a pointer is does not begin at -1, none counts down by 2 beyond 0."""
    made = program(seed)
    assert any(loop.type.startswith("unsigned") for loop, _ in loops(made))
    assert Batch([made], tmp_path).valid
