"""Hand-written kernel IR, each beside the plain C that says what it computes."""

from __future__ import annotations

import re

from polygpu.model.expr import Binary, Call, Expr, Int, Name, Position, Reference, Select
from polygpu.model.kernel import (
    ArrayArgument,
    Assign,
    Barrier,
    Buffer,
    CommitCopies,
    Declare,
    DeclareArray,
    For,
    HostFor,
    If,
    Kernel,
    Launch,
    Move,
    Region,
    ScalarArgument,
    SharedArray,
    Statement,
    Unit,
    WaitCopies,
)

N = Name("n")
_LEVELS = ({"&&"}, {"<"}, {"+", "-"}, {"*", "/", "%"})


def e(text: str) -> Expr:
    """An int expression from its text: names, constants, + - * / % < && and parentheses."""
    tokens = re.findall(r"\d+|\w+|&&|[-+*/%<()]", text)
    expr = _binary(tokens, 0)
    assert not tokens, text
    return expr


def _binary(tokens: list[str], level: int) -> Expr:
    if level == len(_LEVELS):
        return _atom(tokens)
    left = _binary(tokens, level + 1)
    while tokens and tokens[0] in _LEVELS[level]:
        left = Binary(tokens.pop(0), left, _binary(tokens, level + 1))
    return left


def _atom(tokens: list[str]) -> Expr:
    token = tokens.pop(0)
    if token == "(":
        inner = _binary(tokens, 0)
        tokens.pop(0)
        return inner
    return Int(int(token)) if token.isdigit() else Name(token)


def at(array: str, *subscripts: str, ctype: str = "float", field: str = "") -> Reference:
    return Reference(array, tuple(map(e, subscripts)), ctype, field)


def lane(axis: str, name: str | None = None) -> Declare:
    """`const int tx = threadIdx.x` and the like."""
    return Declare(name or f"t{axis}", "int", Name(f"thread_{axis}"))


def group(axis: str) -> Declare:
    return Declare(f"b{axis}", "int", Name(f"block_{axis}"))


def vector(name: str, read: bool, written: bool, extent: Expr = N, ctype: str = "float") -> ArrayArgument:
    return ArrayArgument(name, ctype, (extent,), None, read, written)


def matrix(name: str, read: bool, written: bool, columns: Expr = N) -> ArrayArgument:
    pitch = columns if isinstance(columns, Int) else Name(f"{name}_pitch")
    return ArrayArgument(name, "float", (None, columns), pitch, read, written)


def pitch_of(columns: str) -> Expr:
    return e(f"({columns} + 31) / 32 * 32")


def buffer(
    name: str, *extents: str, copy_in: bool = True, copy_out: bool = False, ctype: str = "float"
) -> Buffer:
    sizes = tuple(map(e, extents))
    pitch = pitch_of(extents[-1]) if len(extents) > 1 else None
    return Buffer(name, ctype, sizes, sizes, (), pitch, True, copy_in, copy_out)


def unit(region: Region) -> Unit:
    return Unit("kernels/loop.c", "loop", (region,))


def region(
    kernel: Kernel, buffers: tuple[Buffer, ...], launch: Launch, functions: tuple[str, ...] = ()
) -> Region:
    return Region(
        "polygpu_f_0",
        (ScalarArgument("n", "int"), *(s for s in kernel.scalars if s.type == "float")),
        buffers,
        (kernel,),
        (launch,),
        (),
        functions,
        Position("kernels/loop.c", 7, 5),
    )


def saxpy() -> Unit:
    body: tuple[Statement, ...] = (
        Declare("i", "int", e("block_x * 128 + thread_x")),
        If(
            Binary("<", Name("i"), N),
            (
                Assign(
                    at("y", "i"),
                    Binary("+", at("y", "i"), Binary("*", Name("alpha", "float"), at("x", "i"))),
                ),
            ),
            (),
            uniform=False,
        ),
    )
    kernel = Kernel(
        "f_0_0",
        ("loop.c:8: y[i] += alpha * x[i]", "i -> x of grid and block"),
        (ScalarArgument("n", "int"), ScalarArgument("alpha", "float")),
        (vector("x", True, False), vector("y", True, True)),
        (128, 1, 1),
        (),
        body,
    )
    launch = Launch(
        "f_0_0",
        (Call("floord", (e("n + 127"), Int(128)), "int"), Int(1), Int(1)),
        (N, Name("alpha", "float")),
    )
    return unit(region(kernel, (buffer("x", "n"), buffer("y", "n", copy_out=True)), launch))


def product(width: int = 1, asynchronous: bool = False, tile: int = 16, padding: int = 4) -> Unit:
    """C = A * B, square tiles in shared memory, one element of C a thread; `width` elements a move.

    Load addresses are clamped and the last tile's excess is skipped, so that any n works.
    """
    column = f"tx * {width}" if width > 1 else "tx"
    load: list[Statement] = [
        Declare("row_a", "int", Call("min", (e(f"by * {tile} + ty"), e("n - 1")), "int")),
        Declare("row_b", "int", Call("min", (e("k + ty"), e("n - 1")), "int")),
        Declare("col_a", "int", Call("min", (e(f"k + {column}"), e(f"A_pitch - {width}")), "int")),
        Declare("col_b", "int", Call("min", (e(f"bx * {tile} + {column}"), e(f"B_pitch - {width}")), "int")),
    ]
    moves: list[Statement] = [
        Move(at("As", "ty", column), at("A", "row_a", "col_a"), width, asynchronous),
        Move(at("Bs", "ty", column), at("B", "row_b", "col_b"), width, asynchronous),
    ]
    guarded: list[Statement] = moves
    if width > 1:
        guarded = [If(e(f"tx < {tile // width}"), tuple(moves), (), uniform=False)]
    waits: list[Statement] = [CommitCopies(), WaitCopies(0)] if asynchronous else []
    inner = For(
        "q",
        Int(0),
        Call("min", (Int(tile), e("n - k")), "int"),
        1,
        (
            Assign(
                Name("sum", "float"),
                Binary("+", Name("sum", "float"), Binary("*", at("As", "ty", "q"), at("Bs", "q", "tx"))),
            ),
        ),
        uniform=True,
    )
    body: tuple[Statement, ...] = (
        lane("x"),
        lane("y"),
        group("x"),
        group("y"),
        Declare("i", "int", e(f"by * {tile} + ty")),
        Declare("j", "int", e(f"bx * {tile} + tx")),
        Declare("sum", "float", Int(0), mutable=True),
        For("k", Int(0), N, tile, (*load, *guarded, *waits, Barrier(), inner, Barrier()), uniform=True),
        If(e("i < n && j < n"), (Assign(at("C", "i", "j"), Name("sum", "float")),), (), uniform=False),
    )
    pitches = tuple(ScalarArgument(f"{name}_pitch", "int") for name in "ABC")
    kernel = Kernel(
        "f_0_0",
        ("loop.c:9: C[i][j] += A[i][k] * B[k][j]",),
        (ScalarArgument("n", "int"), *pitches),
        (matrix("A", True, False), matrix("B", True, False), matrix("C", False, True)),
        (tile, tile, 1),
        (
            SharedArray("As", "float", (tile, tile), padding, 16),
            SharedArray("Bs", "float", (tile, tile), padding, 16),
        ),
        body,
    )
    blocks = e(f"(n + {tile - 1}) / {tile}")
    launch = Launch("f_0_0", (blocks, blocks, Int(1)), (N, *([pitch_of("n")] * 3)))
    buffers = (
        buffer("A", "n", "n"),
        buffer("B", "n", "n"),
        buffer("C", "n", "n", copy_in=False, copy_out=True),
    )
    return unit(region(kernel, buffers, launch))


def private_rows(ctype: str = "float") -> Unit:
    """y[i][0..3] = 2 * x[i][0..3] through a private array moved four wide both ways."""
    body: tuple[Statement, ...] = (
        Declare("i", "int", e("block_x * 64 + thread_x")),
        DeclareArray("r", ctype, (4,)),
        If(
            e("i < n"),
            (
                Move(at("r", "0", ctype=ctype), at("x", "i", "0", ctype=ctype), 4),
                For(
                    "c",
                    Int(0),
                    Int(4),
                    1,
                    (Assign(at("r", "c", ctype=ctype), Binary("*", at("r", "c", ctype=ctype), Int(2))),),
                    uniform=True,
                    unroll=True,
                ),
                Move(at("y", "i", "0", ctype=ctype), at("r", "0", ctype=ctype), 4),
            ),
            (),
            uniform=False,
        ),
    )
    arrays = tuple(ArrayArgument(a, ctype, (None, Int(4)), Int(32), a == "x", a == "y") for a in "xy")
    kernel = Kernel("f_0_0", (), (ScalarArgument("n", "int"),), arrays, (64, 1, 1), (), body)
    launch = Launch("f_0_0", (e("(n + 63) / 64"), Int(1), Int(1)), (N,))
    buffers = (
        buffer("x", "n", "4", ctype=ctype),
        buffer("y", "n", "4", copy_in=False, copy_out=True, ctype=ctype),
    )
    return unit(region(kernel, buffers, launch))


def boxes() -> Unit:
    """Adds 1 to the interior of a cube, only which is on the device, in two time steps on the host."""
    body: tuple[Statement, ...] = (
        Declare("i", "int", Binary("+", Name("block_z"), Int(1))),
        Declare("j", "int", Binary("+", Name("block_y"), Int(1))),
        Declare("k", "int", e("block_x * 32 + thread_x + 1")),
        If(
            e("k < n - 1"),
            (Assign(at("A", "i", "j", "k"), Binary("+", at("A", "i", "j", "k"), Name("one", "float"))),),
            (),
            uniform=False,
        ),
    )
    inside = e("n - 2")
    array = ArrayArgument(
        "A", "float", (None, inside, inside), Name("A_pitch"), True, True, None, (Int(1),) * 3
    )
    scalars = (ScalarArgument("n", "int"), ScalarArgument("A_pitch", "int"), ScalarArgument("one", "float"))
    kernel = Kernel("f_0_0", (), scalars, (array,), (32, 1, 1), (), body)
    pitch = pitch_of("n - 2")
    launch = Launch("f_0_0", (e("(n - 2 + 31) / 32"), inside, inside), (N, pitch, Name("one", "float")))
    box = Buffer("A", "float", (inside,) * 3, (None, N, N), (Int(1),) * 3, pitch, True, True, True)
    made = region(kernel, (box,), launch)
    loop = HostFor("step", Int(0), Int(2), 1, (launch,))
    return unit(Region(made.name, made.scalars, made.buffers, made.kernels, (loop,), (), (), made.position))


def with_function() -> Unit:
    """y[i] = new(x[i]): a user's function with C++ and OpenCL words in it."""
    text = """static inline float step(float x, int new)
{
    float local = sqrtf(x) + fmaxf(x, 0.5f);
    return new > 2 ? (float)sqrt(x) : local;
}"""
    value = Call("step", (at("x", "i"), Select(e("i % 2 < 1"), Int(1), Int(3))), "float")
    body: tuple[Statement, ...] = (
        Declare("i", "int", e("block_x * 32 + thread_x")),
        If(
            e("i < n"),
            (Assign(at("new", "i"), Binary("+", value, Call("sqrtf", (Name("i"),), "float"))),),
            (),
            uniform=False,
        ),
    )
    kernel = Kernel(
        "f_0_0",
        (),
        (ScalarArgument("n", "int"),),
        (vector("x", True, False), vector("new", False, True)),
        (32, 1, 1),
        (),
        body,
    )
    launch = Launch("f_0_0", (e("(n + 31) / 32"), Int(1), Int(1)), (N,))
    buffers = (buffer("x", "n"), buffer("new", "n", copy_in=False, copy_out=True))
    return unit(region(kernel, buffers, launch, (text,)))
