"""Sums over threads that are wrong are not proved, each kernel changed in one place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.compiler import compile_chosen
from polygpu.lower.realise import CompiledRegion
from polygpu.model.expr import Binary, Expr, Int, Literal, Name, Reference, Unary
from polygpu.model.kernel import Assign, Barrier, Declare, For, If, Region, Statement
from polygpu.model.kernel_walk import bodies, statements, with_bodies
from polygpu.model.rewrite import rewrite
from polygpu.printing.uses import launches
from polygpu.verify.certificate import certify
from polygpu.verify.verdict import VALUES, Certificate
from tests.test_mapped_programs import VECTOR
from tests.test_mapped_sums import region
from tests.unit.kernel_mutants import launches_dropped

Change = Callable[[Statement], tuple[Statement, ...]]
Kind = Callable[[Statement], bool]


def term(s: Statement) -> bool:
    return isinstance(s, Assign) and s.origin is not None


def update(s: Statement) -> bool:
    return isinstance(s, Assign) and isinstance(s.target, Reference) and s.target.array == "x"


def fold(s: Statement) -> bool:
    return isinstance(s, Assign) and isinstance(s.value, Binary) and not term(s) and not update(s)


def part(s: Statement) -> bool:
    return isinstance(s, Assign) and isinstance(s.value, Name)


def register(s: Statement) -> bool:
    return isinstance(s, Declare) and s.name == "x_r"


def around(kind: Kind) -> Kind:
    return lambda s: isinstance(s, If) and any(map(kind, s.then))


def level(half: int) -> Kind:
    """The level of the tree that leaves so many partial results."""
    return lambda s: isinstance(s, If) and s.test == Binary("<", Name("thread_x"), Int(half))


def become(kind: Kind, new: Change) -> Change:
    return lambda s: new(s) if kind(s) else (s,)


def put(s: Statement, **new: object) -> tuple[Statement, ...]:
    """`s` with other fields, which it has."""
    return (replace(s, **new),)  # type: ignore[arg-type]


def twice(kind: Kind) -> Change:
    return become(kind, lambda s: (s, Barrier(), s))


def gone(kind: Kind) -> Change:
    return become(kind, lambda s: bodies(s)[0] if bodies(s) else ())


def valued(kind: Kind, new: Callable[[Binary], Expr | None]) -> Change:
    return become(kind, lambda s: put(s, value=new(s.value)))  # type: ignore[union-attr, arg-type]


def with_test(kind: Kind, new: Callable[[Binary], Expr]) -> Change:
    return become(kind, lambda s: put(s, test=new(s.test)))  # type: ignore[union-attr, arg-type]


def one_row(e: Expr) -> Expr | None:
    """What all rows of a block use in common."""
    if isinstance(e, Reference) and e.array == "x_r_parts":
        return replace(e, subscripts=(Int(0), *e.subscripts[1:]))
    return None


def in_one_row(s: Statement) -> tuple[Statement, ...]:
    assert isinstance(s, Assign)
    return put(s, target=rewrite(s.target, one_row), value=rewrite(s.value, one_row))


X_I = Reference("x", (Name("i"),), "float")
X_NEXT = Reference("x", (Binary("+", Name("i"), Int(1)),), "float")
PART_1 = Reference("x_r_parts", (Name("thread_y"), Int(1)), "float")
MUTANTS: dict[str, Change] = {
    "a term twice": twice(term),
    "no guard": gone(around(term)),
    "no guard of rows": with_test(around(term), lambda test: test.right),
    "no guard of columns": with_test(around(term), lambda test: test.left),
    "a term less": with_test(around(term), lambda test: Binary("&&", test, Binary(">", Name("j"), Int(0)))),
    "tiles that overlap": become(lambda s: isinstance(s, For), lambda s: put(s, step=32)),
    "from a zero with a sign": valued(register, lambda _: Literal("0.0f", "float")),
    "from a zero that has none": valued(register, lambda _: Unary("-", Literal("0", "int"))),
    "from one": valued(register, lambda _: Literal("1.0f", "float")),
    "from the old value": valued(register, lambda _: X_I),
    "from nothing": valued(register, lambda _: None),
    "no parts": gone(part),
    "the register instead of a part": valued(fold, lambda both: replace(both, left=Name("x_r", "float"))),
    "a part with itself": valued(fold, lambda both: replace(both, right=both.left)),
    "the other part only": valued(fold, lambda both: both.right),
    "products of parts": valued(fold, lambda both: replace(both, op="*")),
    "differences of parts": valued(fold, lambda both: replace(both, op="-")),
    "rows together": become(lambda s: fold(s) or part(s), in_one_row),
    "not the old value": valued(update, lambda both: both.right),
    "the old value twice": valued(update, lambda both: replace(both, right=both.left)),
    "another's old value": valued(update, lambda both: replace(both, left=X_NEXT)),
    "another part than the sum": valued(update, lambda both: replace(both, right=PART_1)),
    "another element": become(update, lambda s: put(s, target=X_NEXT)),
    "two updates": twice(update),
    "no update": gone(update),
    "two threads that update": with_test(around(update), lambda test: Binary("<", Name("thread_x"), Int(2))),
    "updates of no rows": with_test(around(update), lambda test: test.left),
    "the sign of a product": valued(term, lambda both: replace(both, op="-")),
}
for left in (32, 8, 1):
    too_few = Binary("<", Name("thread_x"), Int(left // 2))
    MUTANTS |= {
        f"no level of {left}": become(level(left), lambda _: ()),
        f"the level of {left} twice": twice(level(left)),
        f"the level of {left} for all threads": gone(level(left)),
        f"the level of {left} for too few": become(level(left), partial(put, test=too_few)),
    }


@pytest.fixture(scope="module")
def product(tmp_path_factory: pytest.TempPathFactory) -> CompiledRegion:
    return region(VECTOR, (2, 64, 1, 1), tmp_path_factory.mktemp("product"))


def certified(product: CompiledRegion, change: Change) -> Certificate:
    """Of the region with other statements in its kernel."""

    def of(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
        return tuple(
            with_bodies(new, map(of, bodies(new))) if new is s else new for s in body for new in change(s)
        )

    (kernel,) = product.region.kernels
    body = of(kernel.body)
    assert body != kernel.body
    mutant = replace(product.region, kernels=(replace(kernel, body=body),))
    return certify(replace(product, region=mutant), reassociated=("x",))


@pytest.mark.parametrize("name", MUTANTS)
def test_wrong_sums_are_not_proved(name: str, product: CompiledRegion) -> None:
    certificate = certified(product, MUTANTS[name])
    assert VALUES in {f.property for f in certificate.failures} | {u.property for u in certificate.unproved}


def with_buffer(region: Region, **new: object) -> Region:
    buffers = (replace(b, **new) if b.name == "x" else b for b in region.buffers)  # type: ignore[arg-type]
    return replace(region, buffers=tuple(buffers))


def with_kernel(region: Region, **new: object) -> Region:
    return replace(region, kernels=(replace(region.kernels[0], **new),))  # type: ignore[arg-type]


REGIONS: dict[str, Callable[[Region], Region]] = {
    "two launches": lambda region: replace(region, body=(*region.body, *region.body)),
    "no launch": lambda region: replace(region, body=()),
    "no old values": lambda region: with_buffer(region, copy_in=False),
    "no results": lambda region: with_buffer(region, copy_out=False),
    "too few threads": lambda region: with_kernel(region, block=(32, 2, 1)),
    "too many threads": lambda region: with_kernel(region, block=(128, 2, 1)),
}


@pytest.mark.parametrize("name", REGIONS)
def test_wrong_regions_are_refuted(name: str, product: CompiledRegion) -> None:
    assert certify(replace(product, region=REGIONS[name](product.region)), reassociated=("x",)).failures


@pytest.mark.parametrize("number", range(6))
def test_each_barrier_is_needed(number: int, product: CompiledRegion) -> None:
    barriers = [s for s in statements(product.region.kernels[0].body) if isinstance(s, Barrier)]
    assert len(barriers) == 6
    certificate = certified(product, gone(lambda s: s is barriers[number]))
    assert any("no barrier in between" in f.message for f in certificate.failures)


def test_partial_results_of_a_loop_that_is_several_are_its_own_turns() -> None:
    """The last of the host's loops with the same launches lacks one of those that make and add up parts."""
    path = Path(__file__).parent / "fuzz" / "found" / "loop-of-the-host-in-several.c"
    options = Options(target="emulator", device="generic", level=2)
    (made,) = compile_chosen(str(path), options).regions
    names = [launch.kernel for launch in launches(made.region.body)]
    (parts,) = {
        k.name for k in made.region.kernels if any(a.name == "A1_part" and a.written for a in k.arrays)
    }
    last = max(k for k, name in enumerate(names) if name == parts)
    assert names.count(parts) > 1 and not certify(made).failures
    for wrong in list(launches_dropped(made.region))[last : last + 2]:
        assert certify(replace(made, region=wrong)).failures
