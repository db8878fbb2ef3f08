"""Small kernels written in Kernel IR, as a compiler would, for the tests of the emulator."""

from __future__ import annotations

from polygpu.model.expr import Binary, Expr, Int, Literal, Name
from polygpu.model.kernel import (
    Assign,
    Barrier,
    CommitCopies,
    Declare,
    DeclareArray,
    For,
    If,
    Kernel,
    Move,
    SharedArray,
    Statement,
    WaitCopies,
)
from tests.unit.emulator_harness import (
    BX,
    BY,
    Program,
    X,
    Y,
    argument,
    at,
    buffer,
    kernel,
    less,
    plus,
    site,
    times,
)

N, ROW, J, K = Name("n"), Name("i"), Name("j"), Name("k")
ZERO = Literal("0.0f", "float")


def uniform(index: str, upper: Expr, *body: Statement, unroll: bool = False) -> For:
    return For(index, Int(0), upper, 1, body, uniform=True, unroll=unroll)


def saxpy(n: int, block: int, shift: int = 0) -> Program:
    """`y[i] = 2 * x[i + shift] + y[i]` for i < n."""
    index = plus(ROW, Int(shift)) if shift else ROW
    value = plus(times(Literal("2.0f", "float"), at("x", index, site=0)), at("y", ROW, site=1))
    body: list[Statement] = [
        Declare("i", "int", plus(times(BX, Int(block)), X)),
        If(less(ROW, N), (Assign(at("y", ROW, site=2), value),), (), uniform=False),
    ]
    return Program(
        (kernel(body, [argument("x"), argument("y")], (block, 1, 1), scalars=["n"]),),
        (buffer("x", n + shift), buffer("y", n)),
        (-(-n // block), 1, 1),
        {"n": n},
        sites=(site(0, "x", "x[i]"), site(1, "y", "y[i]"), site(2, "y", "y[i]", write=True)),
    )


def transpose(n: int, padding: int, barrier: bool = True) -> Program:
    """`b[j][i] = a[i][j]` through a 16 x 16 tile; n is a multiple of 16."""
    body: list[Statement] = [
        Assign(at("tile", Y, X), at("a", plus(times(BY, Int(16)), Y), plus(times(BX, Int(16)), X), site=0)),
        *([Barrier()] if barrier else []),
        Assign(
            at("b", plus(times(BX, Int(16)), Y), plus(times(BY, Int(16)), X), site=1),
            at("tile", X, Y, site=0),
        ),
    ]
    pitched = [argument(name, None, Int(n), pitch=Int(n)) for name in "ab"]
    return Program(
        (kernel(body, pitched, (16, 16, 1), [SharedArray("tile", "float", (16, 16), padding)]),),
        (buffer("a", n, n), buffer("b", n, n)),
        (n // 16, n // 16, 1),
        sites=(site(0, "a", "a[i][j]"), site(1, "b", "b[j][i]", write=True)),
    )


def reduction(blocks: int) -> Program:
    """`out[b]` is the sum of 128 numbers, by halves, with a barrier in a loop and a value that crosses it."""
    s, half = Name("s"), Name("half")
    body: list[Statement] = [
        Declare("mine", "int", at("x", plus(times(BX, Int(128)), X), ctype="int"), mutable=True),
        Assign(at("part", X, ctype="int"), Name("mine")),
        Barrier(),
        uniform(
            "s", Int(7),
            Declare("half", "int", Binary(">>", Int(64), s)),
            If(
                less(X, half),
                (Assign(Name("mine"), plus(Name("mine"), at("part", plus(X, half), ctype="int"))),
                 Assign(at("part", X, ctype="int"), Name("mine"))),
                (),
                uniform=False,
            ),
            Barrier(),
        ),
        If(Binary("==", X, Int(0)), (Assign(at("out", BX, ctype="int"), Name("mine")),), (), uniform=False),
    ]  # fmt: skip
    return Program(
        (
            kernel(
                body,
                [argument("x", ctype="int"), argument("out", ctype="int")],
                (128, 1, 1),
                [SharedArray("part", "int", (128,))],
            ),
        ),
        (buffer("x", 128 * blocks, ctype="int"), buffer("out", blocks, ctype="int")),
        (blocks, 1, 1),
    )


def triangle(n: int) -> Program:
    """`out[i] = a[i][0] + ... + a[i][i]` for i < n, a thread a row."""
    body: list[Statement] = [
        Declare("i", "int", plus(times(BX, Int(64)), X)),
        Declare("sum", "float", ZERO, mutable=True),
        If(
            less(ROW, N),
            (
                For(
                    "j", Int(0), plus(ROW, Int(1)), 1,
                    (Assign(Name("sum", "float"), plus(Name("sum", "float"), at("a", ROW, J, site=0))),),
                    uniform=False,
                ),
                Assign(at("out", ROW, site=1), Name("sum", "float")),
            ),
            (),
            uniform=False,
        ),
    ]  # fmt: skip
    pitch = -(-n // 32) * 32
    arrays = [argument("a", None, N, pitch=Int(pitch)), argument("out")]
    return Program(
        (kernel(body, arrays, (64, 1, 1), scalars=["n"]),),
        (buffer("a", n, n, pitch=pitch), buffer("out", n)),
        (-(-n // 64), 1, 1),
        {"n": n},
        sites=(site(0, "a", "a[i][j]"), site(1, "out", "out[i]", write=True)),
    )


def wide(n: int) -> Program:
    """`y[4*i + j] = x[4*i + j]` four at a time, added up in registers on the way."""
    place = times(plus(times(BX, Int(32)), X), Int(4))
    body: list[Statement] = [
        DeclareArray("four", "float", (4,)),
        Move(at("four", Int(0)), at("x", place, site=0), 4),
        uniform(
            "j", Int(4), Assign(at("four", J), plus(at("four", J), Literal("1.0f", "float"))), unroll=True
        ),
        Move(at("y", place, site=1), at("four", Int(0)), 4),
    ]
    return Program(
        (kernel(body, [argument("x"), argument("y")], (32, 1, 1)),),
        (buffer("x", n), buffer("y", n)),
        (n // 128, 1, 1),
        sites=(site(0, "x", "x[i]"), site(1, "y", "y[i]", write=True)),
    )


def ring(rows: int, pending: int) -> Program:
    """`y[r][i] = x[r][63 - i] + 1` row by row through two asynchronously filled buffers.

    One group of copies runs ahead, so `pending` is 1; 2 would not wait for the row that is read.
    """
    slot = Binary("%", Name("r"), Int(2))
    ahead = plus(Name("r"), Int(1))

    def fetch(row: Expr, place: Expr) -> tuple[Statement, ...]:
        move = Move(at("buffer", place, X), at("x", row, X, site=0), 1, asynchronous=True)
        return (If(less(row, Int(rows)), (move,), (), uniform=True), CommitCopies())

    body: list[Statement] = [
        *fetch(Int(0), Int(0)),
        uniform(
            "r", Int(rows),
            *fetch(ahead, Binary("%", ahead, Int(2))),
            WaitCopies(pending),
            Barrier(),
            Assign(
                at("y", Name("r"), X, site=1),
                plus(at("buffer", slot, Binary("-", Int(63), X)), Literal("1.0f", "float")),
            ),
            Barrier(),
        ),
    ]  # fmt: skip
    arrays = [argument(name, None, Int(64), pitch=Int(64)) for name in "xy"]
    return Program(
        (kernel(body, arrays, (64, 1, 1), [SharedArray("buffer", "float", (2, 64))]),),
        (buffer("x", rows, 64), buffer("y", rows, 64)),
        sites=(site(0, "x", "x[r][i]"), site(1, "y", "y[r][i]", write=True)),
    )


def products(n: int) -> tuple[Program, Program]:
    """C = A * B with 16 x 16 threads, naive and tiled, every loop rolled (PPoPP'08, section 4)."""
    row, column = plus(times(BY, Int(16)), Y), plus(times(BX, Int(16)), X)
    acc = Name("acc", "float")
    pitched = [argument(name, None, Int(n), pitch=Int(n)) for name in "ABC"]
    begin = Declare("acc", "float", ZERO, mutable=True)
    end = Assign(at("C", row, column), acc)
    naive = kernel(
        [
            begin,
            uniform(
                "k",
                Int(n),
                Assign(acc, plus(acc, times(at("A", row, K, site=0), at("B", K, column, site=1)))),
            ),
            end,
        ],
        pitched,
        (16, 16, 1),
    )
    step = Name("step")
    tiles = [SharedArray(name, "float", (16, 16)) for name in ("As", "Bs")]
    tiled = kernel(
        [
            begin,
            For(
                "step", Int(0), Int(n), 16,
                (
                    Assign(at("As", Y, X), at("A", row, plus(step, X), site=0)),
                    Assign(at("Bs", Y, X), at("B", plus(step, Y), column, site=1)),
                    Barrier(),
                    uniform("k", Int(16), Assign(acc, plus(acc, times(at("As", Y, K), at("Bs", K, X))))),
                    Barrier(),
                ),
                uniform=True,
            ),
            end,
        ],
        pitched,
        (16, 16, 1),
        tiles,
    )  # fmt: skip
    return _product(naive, n), _product(tiled, n)


def _product(code: Kernel, n: int) -> Program:
    return Program(
        (code,),
        tuple(buffer(name, n, n) for name in "ABC"),
        (n // 16, n // 16, 1),
        sites=(site(0, "A", "A[i][k]"), site(1, "B", "B[k][j]")),
    )
