"""Expressions keep their meaning with few parentheses; statements read like hand-written code."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polygpu.model.expr import Binary, Call, Cast, Expr, Int, Literal, Name, Reference, Select, Unary
from polygpu.model.kernel import (
    ArrayArgument,
    Assign,
    Barrier,
    Comment,
    CommitCopies,
    Declare,
    DeclareArray,
    For,
    HostFor,
    HostIf,
    If,
    Launch,
    Move,
    SharedArray,
    WaitCopies,
)
from polygpu.printing.dialect import Dialect
from polygpu.printing.dialects import CUDA, HOST_C, OPENCL
from polygpu.printing.embed import device_functions, device_structure, floor_division, host_helpers
from polygpu.printing.printer import Names, print_expr, print_host
from polygpu.printing.statements import print_body, print_statement
from tests.unit.kernel_programs import at, e

VALUES = {"a": 7, "b": -3, "c": 12, "d": 0}
X, Y = Name("x", "float"), Name("y", "double")
CUDA_NAMES = Names(
    CUDA,
    {
        "A": ArrayArgument("A", "float", (None, Name("m")), Name("A_pitch"), True, True),
        "T": ArrayArgument(
            "T", "float", (None, Int(5), Name("m")), Int(64), True, True, None, (Int(1), Int(0), Int(2))
        ),
        "v": ArrayArgument("v", "float", (None,), None, True, True),
        "s": ArrayArgument("s", "float", (), None, True, True),
        "p": ArrayArgument("p", "struct point", (None,), None, True, True),
        "flag": ArrayArgument("flag", "_Bool", (None,), None, True, True),
        "As": SharedArray("As", "float", (16, 16), 4, 16),
        "r": DeclareArray("r", "float", (2, 4)),
    },
    "offset_t",
)
OPENCL_NAMES = Names(OPENCL, CUDA_NAMES.arrays, "offset_t")


def c_value(expr: Expr) -> int:
    """The value in C, over VALUES, of an expression of ints."""
    match expr:
        case Int(value):
            return value
        case Name(name):
            return VALUES[name]
        case Unary(op, operand):
            value = c_value(operand)
            return {"-": -value, "!": int(not value), "~": ~value, "+": value}[op]
        case Select(test, yes, no):
            return c_value(yes if c_value(test) else no)
        case Binary(op, left, right):
            return c_binary(op, c_value(left), c_value(right))
    raise NotImplementedError


def c_binary(op: str, a: int, b: int) -> int:
    if op in ("/", "%"):
        quotient = abs(a) // abs(b) * (1 if a * b >= 0 else -1)
        return quotient if op == "/" else a - b * quotient
    results = {
        "+": a + b, "-": a - b, "*": a * b, "&": a & b, "|": a | b, "^": a ^ b, "<": a < b, "<=": a <= b,
        "==": a == b, "!=": a != b, ">": a > b, ">=": a >= b, "&&": a and b, "||": a or b,
    }  # fmt: skip
    return int(bool(results[op])) if op in ("&&", "||") else int(results[op])


OPERATORS = ["+", "-", "*", "/", "%", "&", "|", "^", "<", "<=", "==", "!=", ">", ">=", "&&", "||"]
ATOMS = st.one_of(st.sampled_from([Name(name) for name in VALUES]), st.integers(-9, 9).map(Int))


def compound(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(Binary, st.sampled_from(OPERATORS), inner, inner),
        st.builds(Unary, st.sampled_from("-!~+"), inner),
        st.builds(Select, inner, inner, inner),
    )


def defined(expr: Expr) -> bool:
    """Whether C defines the value: no overflow, no division by zero, in any part."""
    parts = [
        getattr(expr, name)
        for name in ("left", "right", "operand", "test", "yes", "no")
        if hasattr(expr, name)
    ]
    if not all(map(defined, parts)):
        return False
    if isinstance(expr, Binary) and expr.op in ("/", "%") and c_value(expr.right) == 0:
        return False
    return abs(c_value(expr)) < 2**31


EXPRESSIONS: st.SearchStrategy[Expr] = st.recursive(ATOMS, compound, max_leaves=8).filter(defined)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@settings(max_examples=8)
@given(st.lists(EXPRESSIONS, min_size=40, max_size=60))
def test_printed_expressions_mean_the_same_to_a_c_compiler(expressions: list[Expr]) -> None:
    variables = "".join(f"    volatile int {name} = {value};\n" for name, value in VALUES.items())
    prints = "".join(f'    printf("%d\\n", {print_expr(expr)});\n' for expr in expressions)
    with TemporaryDirectory() as folder:
        source, program = Path(folder, "main.c"), Path(folder, "main")
        source.write_text(f"#include <stdio.h>\nint main(void)\n{{\n{variables}{prints}    return 0;\n}}\n")
        # GCC asks for more parentheses than C in these places; readers do too.
        command = [
            "gcc",
            "-Wparentheses",
            "-Wlogical-not-parentheses",
            "-Werror",
            str(source),
            "-o",
            str(program),
        ]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        assert built.returncode == 0, built.stderr
        output = subprocess.run([str(program)], capture_output=True, text=True, check=True).stdout
    assert [int(line) for line in output.split()] == [c_value(expr) for expr in expressions]


@pytest.mark.parametrize(
    ("expr", "text"),
    [
        (e("a + b * (c - d)"), "a + b * (c - d)"),
        (e("a - (b - c)"), "a - (b - c)"),
        (Binary("+", Name("a"), Int(-2)), "a - 2"),
        (Binary("-", Name("a"), Int(-2)), "a + 2"),
        (Unary("-", Int(-5)), "-(-5)"),
        (Unary("-", Unary("-", Name("a"))), "-(-a)"),
        (Int(-(2**31)), "-2147483647 - 1"),
        (Binary("*", Int(2), Int(-(2**31))), "2 * (-2147483647 - 1)"),
        (Int(5_000_000_000), "5000000000LL"),
        (Cast("double", e("a + b")), "(double)(a + b)"),
        (Select(e("a < b"), e("a"), Select(e("b < c"), e("b"), e("c"))), "a < b ? a : b < c ? b : c"),
        (Call("min", (e("a"), e("b"), e("c + 1")), "int"), "polygpu_min(a, polygpu_min(b, c + 1))"),
        (Call("floord", (e("a"), Int(32)), "int"), "polygpu_floord(a, 32)"),
    ],
)
def test_parentheses_only_where_c_or_its_readers_need_them(expr: Expr, text: str) -> None:
    assert print_expr(expr) == text


@pytest.mark.parametrize(
    ("expr", "cuda", "opencl"),
    [
        (Call("sqrtf", (X,), "float"), "sqrtf(x)", "sqrt(x)"),
        (Call("sqrt", (X,), "double"), "sqrt((double)x)", "sqrt((double)x)"),
        (Call("powf", (X, Y), "float"), "powf(x, (float)y)", "pow(x, (float)y)"),
        (Call("erff", (X,), "float"), "erff(x)", "erf(x)"),
        (Call("abs", (Name("i"),), "int"), "abs(i)", "(int)abs(i)"),
        (Call("max", (Name("i"), Name("n", "long")), "long"), "max((long long)i, n)", "max((long)i, n)"),
        (Call("max", (X, X), "float"), "max_(x, x)", "max_(x, x)"),
        (Call("floord", (Name("i"), Int(4)), "int"), "floord(i, 4)", "floord(i, 4)"),
        (
            Call("floord", (Name("n", "long"), Int(4)), "long"),
            "floord_long(n, (long long)4)",
            "floord_long(n, (long)4)",
        ),
        (Call("check", (X,), "float"), "check_(x)", "check(x)"),
        (Cast("_Bool", Name("i")), "(bool)i", "i != 0"),
        (Cast("unsigned long long", X), "(unsigned long long)x", "(unsigned long)x"),
        (Int(2**40), "1099511627776LL", "1099511627776L"),
        (Literal("7ull", "unsigned long long"), "7ull", "7ul"),
        (Name("new", "float"), "new_", "new"),
        (Name("new_", "float"), "new__", "new_"),
        (Name("global"), "global", "global_"),
        (Binary("*", Name("thread_x"), Int(4)), "(int)threadIdx.x * 4", "(int)get_local_id(0) * 4"),
    ],
)
def test_dialects_differ_only_by_their_tables(expr: Expr, cuda: str, opencl: str) -> None:
    assert print_expr(expr, CUDA_NAMES) == cuda
    assert print_expr(expr, OPENCL_NAMES) == opencl


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        (at("A", "i", "j"), "A[(offset_t)i * A_pitch + j]"),
        (at("A", "i + 1", "j - 1"), "A[(offset_t)(i + 1) * A_pitch + j - 1]"),
        (at("A", "0", "j"), "A[j]"),
        (at("T", "i", "j", "k"), "T[((offset_t)(i - 1) * 5 + j) * 64 + k - 2]"),
        (at("T", "1", "2", "k + 2"), "T[k + 128]"),
        (at("v", "i + 2"), "v[i + 2]"),
        (at("s"), "s[0]"),
        (at("p", "i", field="position.new"), "p[i].position.new_"),
        (at("As", "ty", "tx"), "As[ty][tx]"),
        (at("r", "0", "1"), "r[0][1]"),
    ],
)
def test_places_of_array_elements(reference: Reference, text: str) -> None:
    assert print_expr(reference, CUDA_NAMES) == text


def test_offsets_known_to_fit_are_plain_int() -> None:
    assert print_expr(at("A", "i", "j"), Names(CUDA, CUDA_NAMES.arrays)) == "A[i * A_pitch + j]"


MOVES = [
    (
        Move(at("As", "ty", "x"), at("A", "0", "j"), 4),
        ["*reinterpret_cast<float4 *>(&As[ty][x]) = *reinterpret_cast<const float4 *>(&A[j]);"],
        ["*(__local float4 *)&As[ty][x] = *(const __global float4 *)&A[j];"],
    ),
    (
        Move(at("r", "1", "0"), at("v", "i"), 2),
        ["{", "    const float2 lanes = *reinterpret_cast<const float2 *>(&v[i]);", "    r[1][0] = lanes.x;",
         "    r[1][1] = lanes.y;", "}"],
        ["{", "    const float2 lanes = *(const __global float2 *)&v[i];", "    r[1][0] = lanes.x;",
         "    r[1][1] = lanes.y;", "}"],
    ),
    (
        Move(at("v", "i"), at("r", "0", "2"), 2),
        ["*reinterpret_cast<float2 *>(&v[i]) = make_float2(r[0][2], r[0][3]);"],
        ["*(__global float2 *)&v[i] = (float2)(r[0][2], r[0][3]);"],
    ),
    (
        Move(at("As", "ty", "x"), at("v", "i"), 4, asynchronous=True),
        ["__pipeline_memcpy_async(&As[ty][x], &v[i], 16);"],
        ["*(__local float4 *)&As[ty][x] = *(const __global float4 *)&v[i];"],
    ),
    (Move(at("As", "ty", "x"), at("v", "i"), 1), ["As[ty][x] = v[i];"], ["As[ty][x] = v[i];"]),
    (Move(at("As", "y", "x"), at("v", "i"), 3), [f"As[y][x{k}] = v[i{k}];" for k in ("", " + 1", " + 2")],
     [f"As[y][x{k}] = v[i{k}];" for k in ("", " + 1", " + 2")]),
    (Move(at("r", "0", "2"), at("r", "1", "0"), 2), ["r[0][2] = r[1][0];", "r[0][3] = r[1][1];"],
     ["r[0][2] = r[1][0];", "r[0][3] = r[1][1];"]),
]  # fmt: skip


@pytest.mark.parametrize(("move", "cuda", "opencl"), MOVES)
def test_moves(move: Move, cuda: list[str], opencl: list[str]) -> None:
    assert print_statement(move, CUDA_NAMES) == cuda
    assert print_statement(move, OPENCL_NAMES) == opencl


def test_statements_read_like_written_by_hand() -> None:
    body = (
        Comment("stage A"),
        Declare("tx", "int", Name("thread_x")),
        Declare("sum", "float", Literal("0.0f", "float"), mutable=True),
        DeclareArray("r", "float", (2, 4)),
        For(
            "k",
            Int(0),
            e("n + 1"),
            1,
            (Assign(Name("sum", "float"), Binary("+", Name("sum", "float"), at("v", "k"))),),
            True,
        ),
        For("q", e("tx"), e("n"), 32, (Barrier(),), True, unroll=True),
        If(
            e("tx < n"),
            (Assign(at("v", "tx"), Name("sum", "float")),),
            (If(e("tx < m"), (Assign(at("v", "tx"), Int(0)),), (Assign(at("v", "tx"), Int(1)),), False),),
            False,
        ),
        CommitCopies(),
        WaitCopies(2),
    )
    assert "\n".join(print_body(body, CUDA_NAMES)) == """\
// stage A
const int tx = threadIdx.x;
float sum = 0.0f;
float r[2][4];
for (int k = 0; k <= n; ++k) {
    sum += v[k];
}
#pragma unroll
for (int q = tx; q < n; q += 32) {
    __syncthreads();
}
if (tx < n) {
    v[tx] = sum;
} else if (tx < m) {
    v[tx] = 0;
} else {
    v[tx] = 1;
}
__pipeline_commit();
__pipeline_wait_prior(2);"""  # fmt: skip
    assert print_body((CommitCopies(), WaitCopies(2)), OPENCL_NAMES) == []


def test_comment_cannot_swallow_the_next_line() -> None:
    assert print_statement(Comment("#define f(x) \\\n  x"), CUDA_NAMES) == ["// #define f(x)", "//   x"]


def test_booleans_in_opencl_memory_hold_zero_or_one() -> None:
    store = Assign(at("flag", "i", ctype="_Bool"), Binary("&", Name("m"), Int(6)))
    assert print_statement(store, OPENCL_NAMES) == ["flag[i] = (m & 6) != 0;"]


def test_host_loops_and_tests() -> None:
    launch = Launch("k", (e("n"), Int(1), Int(1)), ())
    body = (HostFor("t", Int(0), e("steps"), 1, (HostIf(e("0 < n"), (launch,)),)),)
    lines = print_host(body, lambda one: [f"run_{one.kernel}({print_expr(one.grid[0])});"])
    assert lines == [
        "for (int t = 0; t < steps; ++t) {",
        "    if (0 < n) {",
        "        run_k(n);",
        "    }",
        "}",
    ]  # fmt: skip


FUNCTION = """static inline float f(float local, int new)
{
    return sqrtf(local) + (float)sqrt(2.0) * (float)new + 3ll;
}"""
CALLED_CELL = "static float cell(float x) { return x + 0x1Full; }"


@pytest.mark.parametrize(
    ("dialect", "texts"),
    [
        (
            CUDA,
            [
                "[[maybe_unused]] static __device__ double c_sqrt(double x) { return sqrt(x); }",
                "[[maybe_unused]] static __device__ float f(float local, int new_)\n"
                "{\n    return sqrtf(local) + (float)c_sqrt(2.0) * (float)new_ + 3ll;\n}",
            ],
        ),
        (
            OPENCL,
            [
                "double c_sqrt(double x) { return sqrt(x); }",
                "float c_sqrtf(float x) { return sqrt(x); }",
                "float f(float local_, int new)\n"
                "{\n    return c_sqrtf(local_) + (float)c_sqrt(2.0) * (float)new + 3L;\n}",
            ],
        ),
    ],
)
def test_functions_of_the_user_keep_their_meaning(dialect: Dialect, texts: list[str]) -> None:
    assert device_functions([FUNCTION, FUNCTION], dialect) == texts


def test_names_that_look_like_suffixes_stay() -> None:
    assert device_functions([CALLED_CELL], OPENCL) == ["float cell(float x) { return x + 0x1FuL; }"]


def test_structures_in_the_words_of_the_dialect() -> None:
    text = "struct cell { float x; long long new; _Bool set; };"
    assert device_structure(text, CUDA) == "struct cell { float x; long long new_; bool set; };"
    assert device_structure(text, OPENCL) == "struct cell { float x; long new; unsigned char set; };"


def test_helpers_are_defined_only_where_called() -> None:
    assert floor_division({"floord"}, OPENCL) == [
        "int floord(int a, int b) { return (a < 0 ? a - b + 1 : a) / b; }"
    ]
    assert floor_division({"polygpu_floord"}, CUDA) == []
    assert host_helpers({"polygpu_max", "f"}) == [
        "static long long polygpu_max(long long a, long long b) { return a > b ? a : b; }"
    ]
    assert HOST_C.spell("class") == "class_"
