"""What is compiled is certified, made again with more care where it is refuted, or not written at all."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import polygpu
from polygpu import cli
from polygpu.compilation import Options
from polygpu.compiler import RefutedError, compile_certified, compile_chosen
from polygpu.lower import blocks, kernels
from polygpu.lower.context import KernelContext
from polygpu.lower.points import Points
from polygpu.lower.staging import Copy
from polygpu.model.decisions import CARE
from polygpu.model.expr import Binary, Expr, Int, Reference
from polygpu.model.kernel import Assign, Barrier, Comment, For, If, Kernel, Statement
from polygpu.model.kernel_walk import statements
from polygpu.report.explain import explain
from polygpu.support import child
from polygpu.verify import certificate
from tests.support_kernels import some_by_default
from tests.unit.kernel_mutants import kernel_variants, later_loop, shorter_loop

PRODUCT = """\
void product(int n, int m, int p, const float A[restrict n][p], const float B[restrict p][m],
             float C[restrict n][m])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            for (int k = 0; k < p; k++)
                C[i][j] += A[i][k] * B[k][j];
#pragma endscop
}
"""
TRIANGLE = """\
void triangle(int n, float A[restrict n][n], const float x[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++)
            A[i][j] = A[i][j] * 0.5f + x[j];
#pragma endscop
}
"""
ROWS = """\
void rows(int n, int m, const float A[restrict n][m], const float y[restrict m], float x[restrict n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            x[i] += A[i][j] * y[j];
#pragma endscop
}
"""
HALF = """\
void half(int n, int m, const float A[restrict n][m], float C[restrict n][n])
{
#pragma scop
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            for (int k = 0; k < m; k++)
                C[i][j] += A[i][k] * A[j][k];
#pragma endscop
}
"""
Change = Callable[[Statement], tuple[Statement, ...] | None]
DEVICES = {"h100": 1, "generic": 1, "8800gtx": 2}  # with the level that chooses kernels


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def written(text: str, *arguments: str) -> tuple[int, set[str]]:
    """The status of `polygpu compile`, and the files it leaves."""
    Path("file.c").write_text(text)
    before = set(Path().iterdir())
    status = cli.invoke(["compile", "file.c", *arguments])
    return status, {p.name for p in set(Path().iterdir()) - before}


def test_certificates_come_with_the_files() -> None:
    Path("file.c").write_text(TRIANGLE)
    compilation = polygpu.compile("file.c", device="h100")
    (certificate,) = compilation.certificates
    assert certificate.holds
    assert {p.verdict for p in explain(compilation).regions[0].proofs} == {"proved"}
    without = polygpu.compile("file.c", device="h100", certify="off")
    assert without.certificates == ()
    assert without.files == compilation.files


def test_a_quick_certificate_leaves_open_what_takes_long() -> None:
    Path("file.c").write_text(PRODUCT)
    (quick,) = polygpu.compile("file.c", device="h100").certificates
    proved = {f.property for f in quick.facts if f.verdict == "proved"}
    assert {"barriers", "bounds", "ranges"} <= proved < {f.property for f in quick.facts}
    (full,) = polygpu.compile("file.c", device="h100", certify="full").certificates
    assert full.holds


@pytest.mark.parametrize("change", [later_loop, shorter_loop])
def test_a_quick_certificate_misses_no_instance(change: Change) -> None:
    """Of a product, of which it leaves open what values are computed."""
    Path("file.c").write_text(PRODUCT)
    (region,) = compile_chosen("file.c", Options(device="h100", level=1)).regions
    made = [*kernel_variants(region.region, lambda s: change(s) if executes(s) else None)]
    found = {"wrong": [replace(region, region=r) for r in made[:8]], "right": [region]}
    for r in found["wrong"]:
        (wrong,) = certificate.Certifying(quick=True).of([r]).values()
        assert "instances" in {f.property for f in wrong.failures}
    (right,) = certificate.Certifying(quick=True).of(found["right"]).values()
    assert not right.failures
    assert "instances" in {u.property for u in right.unproved}
    assert len(found["wrong"]) >= 3


def executes(s: Statement) -> bool:
    """Whether a loop is around an instance of the source."""
    return isinstance(s, For) and any(isinstance(i, Assign) and i.origin for i in statements(s.body))


def test_the_same_source_has_the_same_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever was compiled before: steps of isl are counted, not seconds, and in copies of the process,
    which know of no certificate that others made.
    """
    for module in (certificate, child):
        monkeypatch.setattr(module, "processors", lambda: 1)
    Path("file.c").write_text(PRODUCT)
    Path("other.c").write_text(ROWS)

    def proofs(source: str) -> Any:
        return [c.facts for c in polygpu.compile(source, device="h100").certificates]

    first = proofs("file.c")
    proofs("other.c")
    assert proofs("file.c") == first


def test_certificates_are_the_same_beside_the_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    """And those of regions that change with what is known of others are of these."""
    text = "".join(
        f"void f{k}(int n, float x[n], const float y[restrict n]) {{\n#pragma scop\n"
        f"for (int i = {k}; i < n; i++) x[i] = {k} * y[i];\n#pragma endscop\n}}\n"
        for k in range(3)
    )
    Path("file.c").write_text(text)
    begun: list[str] = []

    def facts(processors: int, *decisions: str) -> Any:
        for module in (certificate, child):
            monkeypatch.setattr(module, "processors", lambda: processors)
        made = polygpu.compile("file.c", device="8800gtx", decisions=decisions)
        return [c.facts for c in made.certificates]

    def begin(self: child.Beside[object], name: str, work: child.Work[object]) -> None:
        begun.append(name)
        usual(self, name, work)

    usual = child.Beside.begin
    monkeypatch.setattr(child.Beside, "begin", begin)
    first = facts(1)
    assert len(first) == 3 and all(fact.verdict == "proved" for facts in first for fact in facts)
    begun.clear()
    assert facts(3) == first and len(begun) == 3
    assert facts(3, "texture(y)") == facts(1, "texture(y)")


def test_what_is_proved_is_said(capfd: pytest.CaptureFixture[str]) -> None:
    assert written(TRIANGLE, "-v")[0] == 0
    assert "polygpu: polygpu_triangle_0: proved dependences, barriers, values" in capfd.readouterr().err
    assert cli.invoke(["inspect", "file.c"]) == 0
    assert "    bounds       proved  " in capfd.readouterr().out
    assert cli.invoke(["inspect", "--json", "file.c"]) == 0
    (region,) = json.loads(capfd.readouterr().out)["regions"]
    assert {p["verdict"] for p in region["proofs"]} == {"proved"}


def _unclamped(monkeypatch: pytest.MonkeyPatch) -> None:
    def clamped(self: Copy, k: int, index: Expr) -> Expr:
        return clean(replace(self, inside=(True,) * len(self.sizes)), k, index)

    clean = Copy._clamped
    monkeypatch.setattr(Copy, "_clamped", clamped)


def _unguarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Points, "guards", lambda self, k: [])


def _without_corners(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Points, "corner_test", None)


def _without_barriers(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(c: KernelContext) -> Kernel:
        made = clean(c)
        return replace(made, body=_unsynchronised(made.body))

    clean = kernels._kernel
    monkeypatch.setattr(kernels, "_kernel", kernel)


def _unsynchronised(body: tuple[Statement, ...]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for s in body:
        match s:
            case Barrier():
                found.append(Comment("no barrier"))
            case For():
                found.append(replace(s, body=_unsynchronised(s.body)))
            case If():
                found.append(replace(s, then=_unsynchronised(s.then), otherwise=_unsynchronised(s.otherwise)))
            case _:
                found.append(s)
    return tuple(found)


MISTAKES = {
    "clamps": (_unclamped, (PRODUCT, ROWS)),
    "guards": (_unguarded, (PRODUCT, ROWS, TRIANGLE, HALF)),
    "corners": (_without_corners, (TRIANGLE, HALF)),
    "barriers": (_without_barriers, (PRODUCT, ROWS)),
}
CASES = [(kind, text) for kind, (_, texts) in MISTAKES.items() for text in texts]


@pytest.mark.parametrize(
    ("kind", "text", "device"),
    some_by_default([(*case, device) for case in CASES for device in DEVICES], one_in=2),
    ids=[f"{k}-{t.split('(')[0][5:]}-{device}" for k, t in CASES for device in DEVICES],
)
def test_a_mistake_is_never_written(
    kind: str, text: str, device: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """It is avoided with a warning, or nothing is written and the status is that of an internal error."""
    clean = _clean(text, device)
    MISTAKES[kind][0](monkeypatch)
    capfd.readouterr()
    status, files = written(text, "--device", device, f"-O{DEVICES[device]}")
    said = capfd.readouterr().err
    if status == 4:
        assert (files, "[PG912]" in said) == (set(), True)
        return
    assert status == 0
    if "[PG911]" not in said:  # the mistake makes no difference here
        assert Path("file_cuda.cu").read_text() == clean or _holds(text, device)


@cache
def _clean(text: str, device: str) -> str:
    """The device file without any mistake."""
    return compile_certified(_file(text), Options(device=device, level=DEVICES[device])).files["_cuda.cu"]


def _file(text: str) -> str:
    Path("file.c").write_text(text)
    return "file.c"


def _holds(text: str, device: str) -> bool:
    """Whether a full certificate finds what is written right after all."""
    made = compile_certified(_file(text), Options(device=device, level=DEVICES[device], certify="full"))
    return all(c.holds for c in made.certificates)


def test_more_care_until_it_is_right(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Tiles that are fetched ahead without a clamp: without fetching ahead all is right."""

    def careless(c: KernelContext, around: Any, ahead: int) -> Any:
        return clean(c, around, 0)

    text = PRODUCT.replace("int n, int m, int p, ", "")
    for name in "nmp":
        text = text.replace(f"[{name}]", "[256]").replace(f"restrict {name}]", "restrict 256]")
        text = text.replace(f"< {name};", "< 256;")
    clean = blocks._copy_context
    monkeypatch.setattr(blocks, "_copy_context", careless)
    status, files = written(text, "--device", "h100", "-O1")
    assert (status, files) == (0, {"file_host.c", "file_cuda.cu"})
    said = capfd.readouterr().err
    assert said.count("[PG911]") == 1
    assert f"are made {CARE[1]}" in said
    assert "bounds: product_0_k0: an access outside of global array" in said
    assert "k_tile + 16" not in Path("file_cuda.cu").read_text().replace("k_tile += 16", "")


def _misplaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each global store goes one element too far."""

    def kernel(c: KernelContext) -> Kernel:
        made = clean(c)
        return replace(made, body=_moved(made.body, {a.name for a in made.arrays}))

    clean = kernels._kernel
    monkeypatch.setattr(kernels, "_kernel", kernel)


def _moved(body: tuple[Statement, ...], arrays: set[str]) -> tuple[Statement, ...]:
    found: list[Statement] = []
    for s in body:
        match s:
            case Assign(Reference() as target) if target.array in arrays:
                last = Binary("+", target.subscripts[-1], Int(1))
                found.append(replace(s, target=replace(target, subscripts=(*target.subscripts[:-1], last))))
            case For():
                found.append(replace(s, body=_moved(s.body, arrays)))
            case If():
                sides = _moved(s.then, arrays), _moved(s.otherwise, arrays)
                found.append(replace(s, then=sides[0], otherwise=sides[1]))
            case _:
                found.append(s)
    return tuple(found)


def test_nothing_is_written_where_no_care_helps(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    _misplaced(monkeypatch)
    assert written(TRIANGLE, "--device", "h100") == (4, set())
    said = capfd.readouterr().err
    assert said.count("[PG911]") == len(CARE) - 1
    assert "error: the kernels of this region are wrong" in said
    Path("file.c").write_text(TRIANGLE)
    with pytest.raises(RefutedError):
        polygpu.compile("file.c", device="h100")
    assert polygpu.compile("file.c", device="h100", certify="off").files


@pytest.mark.parametrize(
    ("text", "care"), some_by_default(list(product((PRODUCT, ROWS, TRIANGLE), range(len(CARE)))), one_in=2)
)
def test_each_level_of_care_is_right(text: str, care: int) -> None:
    name = f"polygpu_{text.split('(', maxsplit=1)[0][5:]}_0"
    Path("file.c").write_text(text)
    for device, level in DEVICES.items():
        options = Options(device=device, level=level, certify="full", care=((name, care),))
        made = compile_certified("file.c", options)
        assert [c.holds for c in made.certificates] == [True]
        if care >= 3:
            assert all(not k.shared for r in made.regions for k in r.region.kernels)
