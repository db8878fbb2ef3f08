"""Products on tensor cores: refused where they cannot be, proved, and what lanes load is what PTX wants."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from itertools import islice, product
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

import pytest

from polygpu import devices
from polygpu.cli import invoke
from polygpu.compilation import Compilation, Options
from polygpu.lower.realise import CompiledRegion, Realiser
from polygpu.model.decisions import parse
from polygpu.model.expr import Binary, Expr, Int, Name, Reference
from polygpu.model.fragments import POLICIES, Product, left_parts, product_of, right_parts, sums
from polygpu.model.kernel import Assign, For, If, Region, Statement
from polygpu.model.kernel_walk import map_statements, statements
from polygpu.model.linear import add
from polygpu.model.rewrite import rewrite
from polygpu.pipeline import compile_file
from polygpu.runtime.compare import accepted
from polygpu.search.choose import choose
from polygpu.search.price import price
from polygpu.search.space import Space, nests_of
from polygpu.support.diagnostics import Diagnosed
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import BARRIERS, VALUES
from tests.support_kernels import compile_cuda, require_nvcc
from tests.unit import kernel_mutants

SUM = "C[i][j] += A[i][k] * B[k][j];"
SOURCE = """
void product(int n, float s, TYPE A[restrict n][n], TYPE B[restrict n][n], TYPE C[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                SUM
#pragma endscop
}
"""


@cache
def compiled(
    policy: str, body: str = SUM, more: str = "", device: str = "h100", target: str = "cuda"
) -> Compilation:
    element = POLICIES[policy].element
    with TemporaryDirectory(prefix="polygpu-tests-") as directory:
        file = Path(directory, "product.c")
        file.write_text(SOURCE.replace("TYPE", element).replace("SUM", body))
        decisions = (f"tensor({policy})", *((more,) if more else ()))
        return compile_file(str(file), Options(target=target, device=device, decisions=decisions))


def region(policy: str = "tf32", body: str = SUM, more: str = "") -> CompiledRegion:
    (found,) = compiled(policy, body, more).regions
    return found


def loops(r: Region) -> Iterator[For]:
    return (s for k in r.kernels for s in statements(k.body) if isinstance(s, For) and s.fragments)


BODIES = [
    SUM,
    "C[i][j] += s * A[i][k] * B[k][j];",
    "C[i][j] += B[k][j] * A[i][k];",
    "C[i][j] += A[k][i] * B[k][j];",
    "C[i][j] += A[i][k] * B[j][k];",
    "C[i][j] += A[i][k] * A[j][k];",
]


@pytest.mark.parametrize(
    ("policy", "body", "more"),
    [
        *((policy, SUM, "") for policy in POLICIES),
        *(("tf32", body, "") for body in BODIES[1:]),
        ("half", SUM, "buffer(ring: 3)"),
        ("tf32", SUM, "tile(i: 64, j: 32, k: 32) threads(i: 16) buffer(none)"),
    ],
)
def test_products_are_proved(policy: str, body: str, more: str) -> None:
    r = region(policy, body, more)
    assert any(loops(r.region))
    certificate = certify(r)
    assert certificate.holds
    assert certificate.permuted == f"'C' by a permutation of the source's + in tensor cores ({policy})"


@pytest.mark.parametrize(("policy", "tolerance"), [("tf32", 1e-2), ("bfloat16", 5e-2), ("double", 1e-9)])
def test_results_may_differ_by_what_operands_are_rounded_by(policy: str, tolerance: float) -> None:
    assert accepted(None, 0.0, [region(policy)]) == tolerance
    assert accepted(1e-4, 0.0, [region(policy)]) == 1e-4


def test_nobody_has_permitted_it() -> None:
    r = region()
    (asked,) = r.asked
    other = replace(asked, decisions=())
    (open_,) = (u for u in certify(replace(r, asked=(other,))).unproved if u.property == VALUES)
    assert open_.reason == "products are those of tensor cores (tf32)"


@pytest.mark.parametrize(
    ("policy", "body", "more", "device", "target", "why"),
    [
        ("tf32", SUM, "", "8800gtx", "cuda", "NVIDIA GeForce 8800 GTX has no tensor cores for tf32"),
        ("double", SUM, "", "generic", "cuda", "a current GPU has no tensor cores for double"),
        ("half", SUM, "", "h100", "opencl", "no tensor cores for half that programs of this target reach"),
        ("half", SUM, "", "h100", "emulator", "no tensor cores for half that programs of this target reach"),
        ("tf32", "C[i][j] -= A[i][k] * B[k][j];", "", "h100", "cuda", "no loop adds up products"),
        ("tf32", "C[i][j] += A[i][k] * B[k][j] * B[k][i];", "", "h100", "cuda", "no loop adds up products"),
        ("tf32", SUM, "stage(A)", "h100", "cuda", "no loop adds up products"),
        ("tf32", SUM, "threads(j: 8)", "h100", "cuda", "'j' is not dealt to 4 threads, 2 points at once"),
        ("tf32", SUM, "deal(i: blocked)", "h100", "cuda", "'i' is not dealt in turn to a multiple of 8"),
        ("half", SUM, "tile(k: 24)", "h100", "cuda", "the tile of the sum is no multiple of 16"),
        ("tf32", SUM, "unroll(4)", "h100", "cuda", "none of a product whose tiles are whole"),
    ],
)  # fmt: skip
def test_what_is_no_product_of_fragments(
    policy: str, body: str, more: str, device: str, target: str, why: str
) -> None:
    with pytest.raises(Diagnosed, match=re.escape(why)) as refused:
        compiled(policy, body, more, device, target)
    assert [d.id for d in refused.value.diagnostics] == ["PG304"]


def test_a_policy_is_for_its_type(tmp_path: Path) -> None:
    file = tmp_path / "product.c"
    file.write_text(SOURCE.replace("TYPE", "double").replace("SUM", SUM))
    with pytest.raises(Diagnosed, match="tf32 is for products of float, not of double"):
        compile_file(str(file), Options(device="h100", decisions=("tensor(tf32)",)))


def test_a_nest_of_one_parallel_loop_has_none(tmp_path: Path) -> None:
    file = tmp_path / "product.c"
    column = SOURCE.replace("for (int j = 0; j < n; j++)", "").replace("SUM", SUM.replace("j]", "0]"))
    file.write_text(column.replace("TYPE", "float"))
    with pytest.raises(Diagnosed, match="two parallel loops"):
        compile_file(str(file), Options(device="h100", decisions=("tensor(tf32)",)))


def test_an_option_is_the_decision_for_all_nests(tmp_path: Path) -> None:
    """Where a nest has a decision of its own, that counts."""
    (tmp_path / "product.c").write_text(SOURCE.replace("TYPE", "float").replace("SUM", SUM))
    compile_ = ["compile", "-d", "h100", "--tensor-cores", "half", "-o", f"{tmp_path}/"]
    for more, there in (([], True), (["--decide", "product: tensor(none)"], False)):
        assert invoke([*compile_, *more, str(tmp_path / "product.c")]) == 0
        assert ("polygpu_multiply_half(" in (tmp_path / "product_cuda.cu").read_text()) == there


@pytest.mark.parametrize("policy", POLICIES)
def test_the_search_deals_threads_as_fragments_are(policy: str) -> None:
    """Each choice is one that tensor cores multiply, or that shared memory has no room for."""
    r, (decision,) = region(policy), parse(f"tensor({policy})")
    (nest,) = nests_of(r)
    space, device = Space(nest, devices.load("h100")), devices.load("h100")
    realiser, refused = Realiser(r.prepared, device), 0
    assert nest.policy == policy and len(space) > 500
    for number in islice(space.drawn(Random(1)), 12):
        choice = space[number].decisions(nest)
        assert {d.key for d in choice} == {"tensor", "tile", "threads", "deal", "buffer"}
        try:
            made = realiser.realise((*choice, decision))
        except Diagnosed as problem:
            assert "shared memory" in str(problem)
            refused += 1
            continue
        assert any(loops(made.region))
    assert refused < 8


def test_small_products_are_of_smaller_blocks() -> None:
    """On an H100 a product of 512 is one of 16 blocks of 256 x 64, for 132 multiprocessors."""
    r, (decision,), device = region("tf32"), parse("tensor(tf32)"), devices.load("h100")
    realiser = Realiser(r.prepared, device)
    before, after = (
        price(made, 0, device, {"n": 512}).seconds
        for made in (r, realiser.realise((*choose(r, realiser, (decision,), {"n": 512}), decision)))
    )
    assert after < (1 - device.margin) * before
    assert choose(r, realiser, (decision,), {"n": 4096}) == ()


def test_decisions_make_it_again(tmp_path: Path) -> None:
    made = compiled("bfloat16")
    taken = tuple(str(t.decision) for r in made.regions for kernel in r.taken for t in kernel)
    assert any(d.endswith(": tensor(bfloat16)") for d in taken)
    file = tmp_path / "product.c"
    file.write_text(SOURCE.replace("TYPE", "float").replace("SUM", SUM))
    again = compile_file(str(file), Options(device="h100", decisions=taken))
    assert again.files == made.files


@pytest.mark.slow
@pytest.mark.parametrize("policy", POLICIES)
def test_cuda_compiles_without_warnings(policy: str, tmp_path: Path) -> None:
    require_nvcc()
    file = tmp_path / "product_cuda.cu"
    file.write_text(compiled(policy).files["_cuda.cu"])
    compile_cuda(file, "sm_90")


# What registers of lane 4 g + t hold: PTX ISA 8.5, 9.7.14.5, mma.m16n8k8 of tf32 and f64, m16n8k16 of f16
LEFT = {
    8: [(g8, t4) for t4 in (0, 4) for g8 in (0, 8)],  # rows g + .., terms t + ..
    16: [(g8, t + t8) for t8 in (0, 8) for g8 in (0, 8) for t in (0, 1)],  # terms 2 t + ..
}
RIGHT = {8: [0, 4], 16: [0, 1, 8, 9]}  # terms t + .., or 2 t + .., of column g
SUMS = [(0, 0), (0, 1), (8, 0), (8, 1)]  # rows g + .., columns 2 t + ..


def value(e: Expr, names: dict[str, int]) -> int:
    match e:
        case Int(number):
            return number
        case Name(name):
            return names[name]
        case Binary(op, left, right):
            x, y = value(left, names), value(right, names)
            return {"+": x + y, "-": x - y, "*": x * y, "/": x // (y or 1), "%": x % (y or 1)}[op]
    raise AssertionError(e)


def element(r: Reference, names: dict[str, int]) -> tuple[str, ...]:
    return (r.array, *(str(value(e, names)) for e in r.subscripts))


def number(r: Reference, names: dict[str, int]) -> int:
    """Any integer, another one for each element."""
    return hash(element(r, names)) % 1009


def in_a_warp(p: Product, around: dict[str, int]) -> dict[tuple[int, tuple[str, ...]], int]:
    """What each lane's sums get, as the instruction multiplies what the lanes load."""
    terms, stride = p.policy.terms, p.policy.together
    a, b = {}, {}
    lanes = [
        {**around, "thread_x": t, "thread_y": around["warp"] * 8 + g} for g in range(8) for t in range(4)
    ]
    for names in lanes:
        g, t = names["thread_y"] % 8, names["thread_x"]
        for (row, term), r in zip(LEFT[terms], left_parts(p), strict=True):
            a[g + row, stride * t + term] = number(r, names)
        for term, r in zip(RIGHT[terms], right_parts(p), strict=True):
            b[stride * t + term, g] = number(r, names)
    assert (len(a), len(b)) == (16 * terms, terms * 8)
    found = {}
    for lane, names in enumerate(lanes):
        g, t = names["thread_y"] % 8, names["thread_x"]
        for (row, column), r in zip(SUMS, sums(p), strict=True):
            line = (a[g + row, k] * b[k, 2 * t + column] for k in range(terms))
            found[lane, element(r, names)] = sum(line)
    return found


def in_threads(p: Product, around: dict[str, int]) -> dict[tuple[int, tuple[str, ...]], int]:
    """What the loop says that each thread adds to its sums."""
    found: dict[tuple[int, tuple[str, ...]], int] = {}
    for lane in range(32):
        names = {**around, "thread_x": lane % 4, "thread_y": around["warp"] * 8 + lane // 4}
        for row, column, term in product(range(2), range(2), range(p.policy.terms)):
            here = {**names, p.row: row, p.column: column, p.term: term}
            key = lane, element(p.target, here)
            found[key] = found.get(key, 0) + number(p.left, here) * number(p.right, here)
    return found


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("body", [SUM, "C[i][j] += B[j][k] * A[k][i];"])
def test_a_warp_adds_up_what_its_threads_say(policy: str, body: str) -> None:
    around = {"k_in": 8, "i_r": 2, "j_g": 3, "k_tile_slot": 1, "warp": 2}
    for loop in loops(region(policy, body).region):
        p = product_of(loop)
        assert p is not None
        assert in_a_warp(p, around) == in_threads(p, around)


def elsewhere(which: str, place: Callable[[Product], Expr]) -> Callable[[Region], Region]:
    """The fragments with something added to the last subscript of one of their references."""

    def changed(s: Statement) -> Statement:
        p = product_of(s) if isinstance(s, For) and s.fragments else None
        if p is None or not isinstance(s, For):
            return s
        old: Reference = getattr(p, which)
        new = replace(old, subscripts=(*old.subscripts[:-1], add(old.subscripts[-1], place(p))))

        def put(e: Expr) -> Expr | None:
            alike = isinstance(e, Reference) and e.array == old.array and e.subscripts == old.subscripts
            return new if alike else None

        def in_place(inner: Statement) -> Statement:
            if not isinstance(inner, Assign) or not isinstance(inner.target, Reference):
                return inner
            target = new if inner.target == old else inner.target
            return replace(inner, target=target, value=rewrite(inner.value, put))

        return replace(s, body=map_statements(s.body, in_place))

    return lambda r: of_kernels(r, changed)


def of_kernels(r: Region, change: Callable[[Statement], Statement]) -> Region:
    kernels = tuple(replace(k, body=map_statements(k.body, change)) for k in r.kernels)
    assert kernels != r.kernels
    return replace(r, kernels=kernels)


def in_other_blocks(r: Region) -> Region:
    return replace(r, kernels=tuple(replace(k, block=(8, 16, 1)) for k in r.kernels))


def of_some_threads(s: Statement) -> Statement:
    if isinstance(s, For) and any(isinstance(x, For) and x.fragments for x in s.body):
        return replace(s, body=(If(Binary("<", Name("thread_y"), Int(31)), s.body, (), uniform=False),))
    return s


MUTANTS: dict[str, tuple[Callable[[Region], Region], str]] = {
    "lanes of a row differ": (elsewhere("left", lambda _: Name("thread_x")), VALUES),
    "lanes of a column differ": (elsewhere("right", lambda _: Name("thread_y")), VALUES),
    "another row": (elsewhere("left", lambda _: Int(1)), VALUES),
    "another column": (elsewhere("right", lambda _: Int(-1)), VALUES),
    "the terms of a row by its columns": (elsewhere("left", lambda p: Name(p.column)), VALUES),
    "one sum of two columns": (elsewhere("target", lambda p: Binary("*", Int(-1), Name(p.column))), VALUES),
    "a sum for each term": (elsewhere("target", lambda p: Name(p.term)), VALUES),
    "blocks of another shape": (in_other_blocks, VALUES),
    "some threads": (lambda r: of_kernels(r, of_some_threads), BARRIERS),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_fragments_are_refuted(name: str) -> None:
    change, kind = MUTANTS[name]
    r = region()
    certificate = certify(replace(r, region=change(r.region)))
    assert kind in {f.property for f in certificate.failures}


@pytest.mark.parametrize("more", ["buffer(none)", "buffer(ring: 3)"])
def test_fragments_without_a_barrier_are_refuted(more: str) -> None:
    """Also where each thread reads what it wrote itself: it loads for others."""
    r = region("tf32", SUM, more)
    mutants = list(kernel_mutants.kernel_variants(r.region, kernel_mutants.without_barrier))
    assert mutants
    assert all(certify(replace(r, region=mutant)).failures for mutant in mutants)
