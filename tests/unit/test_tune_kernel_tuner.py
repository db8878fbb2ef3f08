"""What `polygpu tune --export kernel-tuner` writes: parameters, restrictions, sources, and the program."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from itertools import product
from math import prod
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from polygpu import cli, devices
from polygpu.compilation import Options
from polygpu.model.decisions import Decision, Place
from polygpu.search.space import Choice, Nest, Space
from polygpu.tune import kernel_tuner
from polygpu.tune.kernel_tuner import choice_of, nests, restrictions, tune_params
from tests.support_kernels import require_nvcc, require_opencl

SCALE = """\
void scale(int n, int m, float A[restrict n][m], float B[restrict m][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++)
            A[i][j] = B[j][i] * 2.0f;
}
"""
COPY = """\
void copy(int n, float y[restrict n], double x[n + 2])
{
    for (int i = 0; i < n; i++)
        y[i] = x[i + 2];
}
"""
SPACES = [
    Space(Nest(0, Place(1), axes, loops, ("A", "B"), {}), devices.load(device))
    for axes in (("i",), ("-i", "j"), ("i", "j", "k"), ("h", "i", "j", "k"))
    for loops, device in ((("l",), "h100"), ((), "8800gtx"))
]
FRAGMENTS = {"tensor": Decision("tensor", (("", "half"),))}
SPACES.append(Space(Nest(0, Place(1), ("h", "i", "j"), ("l",), ("A", "B"), FRAGMENTS), devices.load("h100")))


def parameters_of(choice: Choice) -> dict[str, Any]:
    shapes = (("block_size", choice.threads), ("points", choice.points))
    each = {f"{name}_{x}": v for name, shape in shapes for x, v in zip("xyz", reversed(shape), strict=False)}
    deal, staged = "/".join(map(str, choice.deal)), ",".join(choice.staged)
    rest = {"deal": deal, "staged": staged, "unroll": str(choice.unroll)}
    own = {name: getattr(choice, name) for name in ("width", "buffer", "wide")}
    return {"lanes": choice.order[-1], **each, **rest, **own}


@pytest.mark.parametrize("space", SPACES)
def test_every_choice_has_parameters(space: Space) -> None:
    values = tune_params(space)
    for number in range(0, len(space), max(1, len(space) // 500)):
        p = parameters_of(space[number])
        assert p.keys() == values.keys()
        assert all(p[name] in values[name] for name in p)
        assert choice_of(space, p) == space[number]


@pytest.mark.parametrize("space", SPACES)
def test_restrictions_leave_what_is_worth_making(space: Space) -> None:
    values, chance, seen = tune_params(space), Random(0), set()
    most = 128 if space.nest.policy else 32
    for _ in range(2000):
        p = {name: chance.choice(several) for name, several in values.items()}
        choice = choice_of(space, p)
        shapes = (prod(choice.threads) <= space.device.max_threads_per_block, prod(choice.points) <= most)
        worth = all(shapes) and not space.why_not(choice)
        assert all(eval(text, {}, p) for text in restrictions(space)) == worth
        seen.add(worth)
    assert seen == {True, False}


@pytest.fixture
def source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    Path("k.c").write_text(SCALE)
    return "k.c"


def built(text: str, compiler: str, flags: tuple[str, ...], suffix: str) -> Any:
    """As Kernel Tuner's C backend does it."""
    Path(f"k{suffix}").write_text(text)
    pic = ("-Xcompiler=-fPIC",) if compiler == "nvcc" else ("-fPIC",)
    subprocess.run((compiler, "-c", f"k{suffix}", *pic, *flags, "-o", "k.o"), check=True)
    subprocess.run((compiler, "k.o", *pic, *flags, "-shared", "-o", "k.so"), check=True)
    return ctypes.CDLL(str(Path("k.so").resolve()))


CHOICE = {
    "lanes": "i", "block_size_x": 8, "block_size_y": 8, "points_x": 1, "points_y": 4,
    "deal": "blocked/cyclic", "width": 0, "staged": "B", "buffer": "none", "wide": 0, "unroll": "auto",
}  # fmt: skip


@pytest.mark.parametrize("choice", [{}, CHOICE], ids=["rules", "choice"])
def test_the_source_computes_and_says_how_long(choice: dict[str, Any], source: str) -> None:
    require_opencl()
    (nest,) = nests(source, Options(target="opencl")).values()
    library = built(nest.source(choice), *kernel_tuner.COMPILERS["opencl"], ".cc")
    function = library[nest.function]
    function.restype = ctypes.c_float
    A, B = np.zeros((40, 30), np.float32), np.random.default_rng(0).random((30, 40), np.float32)  # noqa: N806
    milliseconds = function(40, 30, A.ctypes, B.ctypes)
    assert 0 < milliseconds < 1000
    np.testing.assert_array_equal(A, 2 * B.T)


def test_cuda_builds(source: str) -> None:
    require_nvcc()
    (nest,) = nests(source, Options(target="cuda")).values()
    text = nest.source({**CHOICE, "staged": "", "unroll": "4"})
    flags = tuple(f for f in kernel_tuner.COMPILERS["cuda"][1] if f != "-arch=native")
    assert built(text, "nvcc", flags, ".cu")[nest.function]


def test_what_is_refused_is_what_kernel_tuner_skips(source: str) -> None:
    (nest,) = nests(source, Options(target="opencl", device="8800gtx")).values()
    large = {**CHOICE, "block_size_y": 64, "points_y": 16, "points_x": 2}
    assert nest.source(large).startswith("#error uses too much shared data, or: '5: stage(B)")


@pytest.fixture
def tuned(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """With what a library of that name is called, which prefers long tiles and unrolled loops."""
    calls: list[dict[str, Any]] = []

    def run_kernel(arguments: list[Any], params: dict[str, Any], **fixed: Any) -> list[Any]:
        assert fixed["kernel_name"] in fixed["kernel_source"](params)
        return arguments

    def tune_kernel(tune_params: dict[str, list[Any]], **others: Any) -> tuple[list[dict[str, Any]], object]:
        calls.append(others)
        every = [dict(zip(tune_params, values, strict=True)) for values in product(*tune_params.values())]
        allowed = [p for p in every if all(eval(rule, {}, p) for rule in others["restrictions"])]
        assert others["verify"](others["answer"], others["arguments"], 1e-6)
        times = [1.0 / (p["points_x"] + p["block_size_x"]) + (p["unroll"] != "4") for p in allowed]
        failed = [{**allowed[0], "__error__": ValueError()}]
        return [{**p, "time": t} for p, t in zip(allowed, times, strict=True)] + failed, None

    module = ModuleType("kernel_tuner")
    module.__dict__.update(run_kernel=run_kernel, tune_kernel=tune_kernel)
    monkeypatch.setitem(sys.modules, "kernel_tuner", module)
    return calls


def test_the_program_searches_and_writes_decisions(
    source: str, tuned: list[dict[str, Any]], capfd: pytest.CaptureFixture[str]
) -> None:
    Path(source).write_text(COPY)
    assert cli.invoke(["tune", "--export", "kernel-tuner", "--size", "n=500", source]) == 0
    assert "polygpu: k_kernel_tuner.py: for `python k_kernel_tuner.py`" in capfd.readouterr().err
    program = compile(Path("k_kernel_tuner.py").read_text(), "k_kernel_tuner.py", "exec")
    names: dict[str, Any] = {"__name__": "k"}
    exec(program, names)
    names["main"]("greedy_mls", "30")
    (call,) = tuned
    assert (call["strategy"], call["strategy_options"]) == ("greedy_mls", {"max_fevals": 30})
    n, y, x = call["arguments"]
    assert (n, y.shape, y.dtype, x.shape, x.dtype) == (500, (500,), np.float32, (502,), np.float64)
    assert call["answer"][0] is None
    found = Path("k_kernel_tuner.decisions").read_text()
    assert "threads(i: 512)" in found
    assert "unroll(4)" in found
    assert (
        cli.invoke(["compile", "--decisions", "k_kernel_tuner.decisions", "--offload", "always", source]) == 0
    )


@pytest.mark.parametrize(
    ("text", "arguments", "status", "said"),
    [
        (SCALE, ["-t", "emulator"], 2, "--export kernel-tuner goes with --target cuda or opencl"),
        (SCALE, ["--even"], 2, "Kernel Tuner searches all choices: --even"),
        (
            "struct p { float x, y; };\n"
            "void f(int n, struct p a[restrict n])\n{ for (int i = 0; i < n; i++) a[i].x = a[i].y; }\n",
            [], 1, "the nest 3 cannot be exported: numpy has no type for 'a' [PG917]",
        ),
        (
            "float a[100];\nvoid f(int n)\n{ for (int i = 0; i < n; i++) a[i] += 1; }\n",
            ["--size", "n=101"], 1,
            "exported: at its sizes subscript 1 of 'a[i]' must stay inside the array [PG917]",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_is_not(
    text: str, arguments: list[str], status: int, said: str, source: str, capfd: pytest.CaptureFixture[str]
) -> None:
    Path(source).write_text(text)
    assert cli.invoke(["tune", "--export", "kernel-tuner", *arguments, source]) == status
    assert said in capfd.readouterr().err
    assert not list(Path().glob("*.py"))
