"""Random decisions for single programs of a batch, by their functions: p3: tile(i: 16, k: 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

from tests.fuzz.program import Affine, If, Loop, Node, Program, Read

Draw: TypeAlias = Callable[[Random, "Names"], str]


class Names:
    """What decisions for program `number` can name, as its text has it."""

    def __init__(self, number: int, p: Program) -> None:
        parts = list(_parts(p.regions))
        stored = {a.name: f"G{number}_{a.name}" if a.storage == "global" else a.name for a in p.arrays}
        plain = {a.name for a in p.arrays if a.storage != "flat"}
        self.nests = sorted({path for region in p.regions for path in _paths(region)})
        self.loops = sorted({part.iterator for part in parts if isinstance(part, Loop)})
        self.arrays = sorted(stored.values())
        self.scalars = sorted(name for _, name in p.scalars)
        self.references = sorted(
            {
                f"{stored[part.array]}{''.join(f'[{s}]' for s in part.subscripts)}"
                for part in parts
                if isinstance(part, Read) and part.array in plain and not part.member
                if part.subscripts and all(isinstance(s, Affine) for s in part.subscripts)
            }
        )


def _paths(nodes: tuple[Node, ...]) -> Iterator[tuple[str, ...]]:
    """The iterators around what is innermost, the outermost first."""
    for node in nodes:
        match node:
            case Loop(iterator, body=body):
                yield from ((iterator, *path) for path in list(_paths(body)) or [()])
            case If(_, then, otherwise):
                yield from _paths((*then, *otherwise))


def _parts(part: Any) -> Iterator[Any]:
    if isinstance(part, tuple):
        for item in part:
            yield from _parts(item)
    elif hasattr(part, "__dataclass_fields__"):
        yield part
        for name in part.__dataclass_fields__:
            yield from _parts(getattr(part, name))


def _some(random: Random, names: list[str], most: int = 3) -> list[str]:
    return random.sample(names, min(len(names), random.randrange(most + 1)))


LARGE = (300, 1000, 4096, 32768)  # what few nests have room for
OFTEN = 0.05


def _by_loop(values: tuple[object, ...], others: tuple[str, ...] = ()) -> Draw:
    """A value for some of the loops, or one of `others` for all."""

    def draw(random: Random, names: Names) -> str:
        loops = _some(random, names.loops) if random.random() < 0.7 or not others else []
        large = (*values, *LARGE) if random.random() < OFTEN else values
        return ", ".join(f"{n}: {random.choice(large)}" for n in loops) or random.choice((*others, ""))

    return draw


def _one_of(*values: str) -> Draw:
    return lambda random, _: random.choice(values)


def _order(random: Random, names: Names) -> str:
    """Some of the loops of a nest, the lanes' last."""
    loops = list(dict.fromkeys(random.choice(names.nests or [()])))
    loops = loops[: random.choice((1, 2, 2, 3))]
    random.shuffle(loops)
    return ", ".join(random.choice(("", "", "-")) + name for name in loops)


def _inside(random: Random, names: Names) -> str:
    """Some of the loops of a nest, in any order."""
    loops = list(dict.fromkeys(random.choice(names.nests or [()])))
    return ", ".join(random.choice(("", "", "-")) + name for name in _some(random, loops))


def _held(random: Random, names: Names) -> str:
    return ", ".join(_some(random, names.arrays, 1))


def _expanded(random: Random, names: Names) -> str:
    """Scalars and arrays, as far as they can, by loops of a nest, or not at all."""
    loops = " ".join(dict.fromkeys(random.choice(names.nests or [()])))
    values = ["", ": none", *([f": {loops}"] if loops else [])]
    return ", ".join(
        f"{name}{random.choice(values)}" for name in _some(random, [*names.scalars, *names.arrays], 2)
    )


def _statements(random: Random, names: Names) -> str:
    """Those that write some of the arrays."""
    return ", ".join(_some(random, names.arrays))


def _staged(random: Random, names: Names) -> str:
    """Nothing, arrays, or references, in a tile of a loop or of the block."""
    found = _some(random, names.references if random.random() < 0.6 else names.arrays, 2)
    levels = ["", "", ": block", *(f": {name}" for name in names.loops)]
    return ", ".join(dict.fromkeys(f"{name}{random.choice(levels)}" for name in found))


def _padded(random: Random, names: Names) -> str:
    if random.random() < OFTEN:
        return str(random.choice(LARGE))
    if random.random() < 0.6 or not names.arrays:
        return random.choice(("0", "1", "3", "auto"))
    return f"{random.choice(names.arrays)}: {random.choice((0, 1, 5))}"


KINDS: dict[str, Draw] = {
    "expand": _expanded,
    "version": lambda random, names: ", ".join(_some(random, names.arrays, 1)),
    "split": _statements,
    "fuse": _statements,
    "steps": _by_loop((0, 2, 4), ()),
    "batch": _by_loop((1, 4, 16), ()),
    "ahead": _by_loop((1, 4, 16), ()),
    "wave": _by_loop((1, 2, 4, 16), ()),
    "scale": lambda random, names: ", ".join(_some(random, names.arrays, 1)),
    "share": _by_loop((4, 16, 16, 64), ("",)),
    "sequential": lambda random, names: ", ".join(_some(random, names.loops, 1)),
    "order": _order,
    "inner": _inside,
    "tile": _by_loop((4, 8, 16, 16, 32, 5, 64)),
    "threads": _by_loop((2, 4, 8, 16)),
    "deal": _by_loop(("cyclic", "blocked", "grouped", 2), ("cyclic", "blocked", "grouped")),
    "hold": _held,
    "stage": _staged,
    "buffer": _one_of("none", "prefetch", "double", "ring", "ring: 2", "ring: 4"),
    "wide": _one_of("0", "4", "8", "16"),
    "loads": _one_of("1", "2", "all"),
    "unroll": _one_of("full", "none", "2", "4"),
    "reuse": _one_of("0", "3", "32", "100"),
    "walk": _one_of("rows", "snake", "columns"),
    "pad": _padded,
    "registers": _one_of("16", "auto"),
    "attend": _by_loop((1, 4, 32, 128), ("1", "4", "32", "128")),
    "launch": _one_of("one", "each"),
}
EMPTY = frozenset({"hold", "stage", "share", "version"})  # that may name nothing


def drawn(random: Random, number: int, p: Program) -> list[str]:
    """Sometimes a few for program `number`, each by itself."""
    if random.random() < 0.6:
        return []
    names = Names(number, p)
    keys = random.sample(list(KINDS), random.choice((1, 1, 2, 3)))
    if "tile" in keys and random.random() < 0.5:
        keys = [*dict.fromkeys((*keys, "threads"))]
    texts = {key: KINDS[key](random, names) for key in keys}
    return [f"p{number}: {key}({text})" for key, text in texts.items() if text or key in EMPTY]


def spaces(random: Random, number: int, p: Program) -> list[str]:
    """Arrays of the program through the caches."""
    arrays = random.sample(names := Names(number, p).arrays, min(3, len(names)))
    picked = {"constant": arrays[:2], "texture": arrays[1:]}
    keys = random.choice((("constant",), ("texture",), ("constant", "texture"), ()))
    return [f"p{number}: {key}({', '.join(picked[key])})" for key in keys]
