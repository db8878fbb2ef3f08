"""Decisions: what is chosen for a nest, by a rule, the model, the search or a person.

    decisions ::= [place ":"] decision+
    place     ::= [file ":"] line ["." column] ["#" number] | function | label
    decision  ::= key "(" [item ("," item)*] ")"
    item      ::= name [":" value] | value | place          value ::= number | word

One grammar for --decide, for `#pragma polygpu` before a loop and for the files that `inspect --decisions`
writes; `record` and `from_record` are its JSON. A place is the line of a statement, or of a loop around it,
where many stand on the line that of one, the label of a loop, or a function; without a place a decision is
for all nests. Names are those of the source: iterators of loops, arrays, references as they are written
there, `@line` behind them where they mean different ones. Statements go by their places, or by the arrays
that they write.

    14: order(i, j) tile(i: 64, j: 128, k: 16) threads(i: 8, j: 16) stage(A[i][k]: k) buffer(prefetch)
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from polygpu.model.scop import COUNTED
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.position import Position

Value: TypeAlias = int | str | None
Author: TypeAlias = Literal["rule", "model", "search", "person"]


@dataclass(frozen=True, slots=True)
class Key:
    """What a decision is about. `named` is what its items name: "loop", "array", "statement" or nothing;
    `words` and `least` number are the values that they can have. Items with a value of their own have a name
    and a `:`.
    """

    about: str
    example: str
    named: str = ""
    words: tuple[str, ...] = ()
    least: int | None = None
    plain: bool = False  # whether names stand without a value
    for_all: bool = False  # whether a value without a name is one for all loops


KEYS = {
    "expand": Key("temporaries with an element for each iteration of loops, by default of all they can",
                  "expand(t: i j, s: none)", "array", ("none",), plain=True),
    "version": Key("arrays of which values from before the region are read from a copy", "version(B)",
                   "array", plain=True),
    "split": Key("statements with which a kernel of its own begins", "split(15)", "statement", plain=True),
    "fuse": Key("statements that one kernel runs, by their lines or what they write", "fuse(12, C)",
                "statement", plain=True),
    "reassociate": Key("what of floating-point sums and the like may come in another order, by default all",
                       "reassociate(s)", "array", plain=True),
    "share": Key("loops whose terms threads share, a block those of so many iterations: of sums and the like",
                 "share(i: 2048)", "loop", least=1, plain=True),
    "steps": Key("iterations of a sequential loop that a launch runs, in overlapped tiles; 0: none",
                 "steps(t: 4)", "loop", least=0),
    "batch": Key("steps of a sequential loop around kernels that launches run at once, in tiles; 1: one",
                 "batch(k: 32)", "loop", least=1),
    "ahead": Key("steps of a sequential loop before which terms of a sum go that wait for none; 1: none",
                 "ahead(k: 32)", "loop", least=1),
    "wave": Key("iterations in a tile of loops that all pass values, of which waves run at once; all 1: none",
                "wave(t: 4, i: 64, j: 128)", "loop", least=1),
    "sequential": Key("parallel loops that a thread runs by itself", "sequential(i)", "loop", plain=True),
    "order": Key("parallel loops, from the outermost to that of the lanes; -i runs backwards", "order(i, j)",
                 "loop", plain=True),
    "inner": Key("loops that a thread runs, from the outermost; -k runs backwards", "inner(l, k)", "loop",
                 plain=True),
    "tile": Key("iterations of a loop in a tile: parallel ones a block's, others between two copies",
                "tile(i: 64, j: 128, k: 16)", "loop", least=1),
    "threads": Key("threads of a block along a parallel loop", "threads(i: 8, j: 16)", "loop", least=1),
    "deal": Key("how the points of a tile are dealt to threads: in turn, in one piece, or so many at once",
                "deal(i: cyclic, j: 4)", "loop", ("cyclic", "blocked", "grouped"), least=1),
    "hold": Key("arrays whose elements stay in registers", "hold(C)", "array", plain=True),
    "stage": Key("arrays, or references, that go through shared memory, a tile of a loop or a block at once",
                 "stage(A[i][k]: k, x[j]: block)", "array", ("block",), plain=True),
    "scale": Key("staged arrays combined with scalars while they are copied, not where they are used",
                 "scale(A)", "array", plain=True),
    "buffer": Key("how staged tiles follow each other; a ring of so many", "buffer(ring: 3)", "",
                  ("none", "prefetch", "double", "ring"), least=2),
    "wide": Key("bytes that a lane copies or reads at once, at most; 0: one element", "wide(16)", least=0),
    "loads": Key("global loads that a thread has in flight while it copies a tile", "loads(2)", "", ("all",),
                 least=1),
    "unroll": Key("iterations of innermost loops in a row", "unroll(4)", "", ("auto", "full", "none"),
                  least=1),
    "reuse": Key("registers of a thread for values that it loads once for all its points and iterations",
                 "reuse(32)", least=0),
    "walk": Key("how a thread goes through its points: row by row, forth and back, or so column by column",
                "walk(snake)", "", ("rows", "snake", "columns")),
    "pad": Key("elements of padding on the rows of staged arrays", "pad(A: 1)", "array", ("auto",), least=0),
    "registers": Key("registers of a thread, instead of the estimate", "registers(10)", "", ("auto",),
                     least=1),
    "attend": Key("threads of a block that copy in tiles of loops for those that compute, where one loop is "
                  "parallel at most", "attend(j: 256)", "loop", least=1, for_all=True),
    "tensor": Key("what operands of products are rounded to for tensor cores; none: no tensor cores",
                  "tensor(tf32)", "", ("none", "tf32", "half", "bfloat16", "double")),
    "launch": Key("whether the launches in a loop of the host are one, where the grids fit the chip",
                  "launch(one)", "", ("one", "each")),
    "constant": Key("arrays that are read through the constant cache", "constant(A)", "array", plain=True),
    "texture": Key("arrays that are read through the texture cache", "texture(A, B)", "array", plain=True),
}  # fmt: skip
MOST = 2**31 - COUNTED
"""The largest number: what kernels count to and so many more iterations are int still."""
VALUES = ("expand", "version")  # what decides where values are kept
KERNELS = ("split", "fuse")  # what decides which kernels there are
OF_ONE_THREAD = frozenset(
    {"sequential", "order", "inner", "tile", "deal", "hold", "stage", "scale", "buffer"}
)
"""Of nests in which each sum is one thread's."""
SPACES: tuple[Literal["constant", "texture"], ...] = ("constant", "texture")

_PLACE = re.compile(
    r"(?:(?:(?P<file>[^:\s()]+):)?(?P<line>\d+)(?:\.(?P<column>\d+))?(?:#(?P<number>\d+))?|(?P<function>[A-Za-z_]\w*))"
    r"\s*:(?!\d)"
)
_DECISION = re.compile(r"\s*([a-z]+)\s*\(")
_COMMENT = re.compile(r"(?:^|\s)#(?:\s.*)?$")


@dataclass(frozen=True, slots=True)
class Place:
    """A statement or a loop: `column` and `number` (from 1, of those at the same place) are 0 for any. Or
    all of a `function`, or of the loop with that label.
    """

    line: int = 0
    file: str = ""
    column: int = 0
    number: int = 0
    function: str = ""

    def __str__(self) -> str:
        if self.function:
            return self.function
        file = f"{self.file}:" if self.file else ""
        column = f".{self.column}" if self.column else ""
        return f"{file}{self.line}{column}" + (f"#{self.number}" if self.number else "")


@dataclass(frozen=True, slots=True)
class Decision:
    """`items` of `key`: (name, value), the name "" for a value alone, the value None for a name alone."""

    key: str
    items: tuple[tuple[str, Value], ...] = ()
    place: Place | None = None

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self.items if name)

    @property
    def value(self) -> Value:
        """The value of a decision that names nothing, or the one for all that it does not name."""
        return next((value for name, value in self.items if not name), None)

    def __str__(self) -> str:
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.key}({', '.join(_item(name, value) for name, value in self.items)})"


@dataclass(frozen=True, slots=True)
class Taken:
    """A decision and who took it."""

    decision: Decision
    by: Author


def ranked(decisions: Iterable[Decision]) -> tuple[Decision, ...]:
    """In the order in which later ones count more: those for all nests, for functions, for places."""
    return tuple(sorted(decisions, key=lambda d: 0 if d.place is None else 1 if d.place.function else 2))


def _item(name: str, value: Value) -> str:
    return f"{name}: {value}" if name and value is not None else name or str(value)


CARE = (
    "",
    "without fetching tiles ahead",
    "without fetching tiles ahead and without wide accesses",
    "with one element a thread, from global memory",
    "in the source's order, with one element a thread, from global memory",
)
"""What is avoided at each level of care, that of the levels before included: what a certificate refutes is
compiled again with more, which goes before decisions."""


def parse(text: str) -> tuple[Decision, ...]:
    """The decisions of one text. Raises ValueError, with what is wrong as its message."""
    rest, place = text.strip(), None
    head = _PLACE.match(rest)
    if head:
        place, rest = _place(head), rest[head.end() :]
    found: list[Decision] = []
    while rest.strip():
        start = _DECISION.match(rest)
        end = _closing(rest, start.end()) if start else -1
        if start is None or end < 0:
            raise ValueError(f"'{rest.strip()}' is no decision; write KEY(...), as in {KEYS['tile'].example}")
        found.append(_decision(start[1], rest[start.end() : end], place))
        rest = rest[end + 1 :]
    if not found:
        raise ValueError(f"'{text}' is no decision; write KEY(...), as in {KEYS['tile'].example}")
    return tuple(found)


def _place(match: re.Match[str]) -> Place:
    line, column, number = (int(match[part] or 0) for part in ("line", "column", "number"))
    return Place(line, match["file"] or "", column, number, match["function"] or "")


def statement_place(text: str) -> Place | None:
    """The place of a statement that an item names."""
    match = _PLACE.fullmatch(f"{text}:")
    return _place(match) if match and match["line"] else None


def _closing(text: str, start: int) -> int:
    """Where the parenthesis before `start` is closed; -1 if it is not."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
    return -1


def _split(text: str, at: str) -> list[str]:
    """The parts of `text` between characters `at` outside of brackets."""
    depth, parts = 0, [""]
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == at and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return [" ".join(part.split()) for part in parts]


def _decision(key: str, text: str, place: Place | None) -> Decision:
    if key not in KEYS:
        raise ValueError(f"'{key}' is no decision; they are {', '.join(KEYS)}")
    read = _read if KEYS[key].named != "statement" else _read_statement
    items = tuple(read(part) for part in _split(text, ",")) if text.strip() else ()
    return checked(Decision(key, items, place))


def _read(text: str) -> tuple[str, Value]:
    name, *value = _split(text, ":")
    if value:
        return name, _number(":".join(value))
    word = _number(name)
    return ("", word) if isinstance(word, int) or _is_word(name) else (name, None)


def _read_statement(text: str) -> tuple[str, Value]:
    return text.replace(" ", ""), None


def _is_word(text: str) -> bool:
    """Whether the text is a value of some decision: loops and arrays of that name go by `name@line`."""
    return any(text in key.words for key in KEYS.values())


def _number(text: str) -> int | str:
    return int(text) if text.isascii() and text.isdigit() else text


def checked(decision: Decision) -> Decision:
    """The decision itself. Raises ValueError where its items are not those of its key."""
    key = KEYS[decision.key]
    items = tuple(_named(key, name, value) for name, value in decision.items)
    decision = Decision(decision.key, items, decision.place)
    large = [value for _, value in items if isinstance(value, int) and value > MOST]
    if large:
        raise ValueError(
            f"'{decision}': {large[0]} is more than {MOST}, behind which int has no room; ask for less"
        )
    if not all(_fits(key, name, value) for name, value in items) or (not items and not key.plain):
        raise ValueError(f"'{decision}': {decision.key} is {key.about}, as in {key.example}")
    return decision


def _named(key: Key, name: str, value: Value) -> tuple[str, Value]:
    """A word that stands alone is a name where the key has no such value."""
    alone = not name and isinstance(value, str) and value not in key.words and key.named
    return (str(value), None) if alone else (name, value)


def _fits(key: Key, name: str, value: Value) -> bool:
    if key.named == "statement":
        return value is None and (name.isidentifier() or statement_place(name) is not None)
    if value is None:
        return key.plain and bool(name)
    if name and not key.named:  # ring: 3
        return name in key.words and isinstance(value, int) and key.least is not None and value >= key.least
    if isinstance(value, int):
        return (
            key.least is not None
            and value >= key.least
            and (bool(name) or not key.named or key.named == "array" or key.for_all)
        )
    return value in key.words or bool(name and key.named == "array" and key.plain)


def listing(nests: Iterable[Iterable[Taken]]) -> str:
    """The decisions of nests as a file that `read` takes: places, under each a decision a line."""
    lines: list[str] = []
    for nest in nests:
        for number, taken in enumerate(nest):
            if number == 0:
                lines.append(f"{taken.decision.place}:")
            text = str(replace(taken.decision, place=None))
            lines.append(f"    {text:<60}  # {taken.by}")
    return "".join(f"{line}\n" for line in lines)


def read(text: str) -> tuple[Decision, ...]:
    """The decisions of a file: as `listing` writes them, or as JSON. Raises ValueError for what is neither.

    A line that is not indented begins with a place, or holds for all nests; ` # ` begins a comment.
    """
    if text.lstrip().startswith(("[", "{")):
        return tuple(_read_json(json.loads(text)))
    nests: list[str] = []
    for line in text.splitlines():
        plain = _COMMENT.sub("", line)
        if plain[:1].isspace() and nests:
            nests[-1] += plain
        elif plain.strip():
            nests.append(plain)
    return tuple(d for nest in nests for d in parse(nest))


def _read_json(nests: Any) -> Iterator[Decision]:
    for nest in nests if isinstance(nests, list) else [nests]:
        if not (isinstance(nest, dict) and isinstance(nest.get("decisions"), dict)):
            raise ValueError('a nest is an object with a "nest" and its "decisions"')
        head = _PLACE.fullmatch(f"{nest['nest']}:") if nest.get("nest") else None
        if nest.get("nest") and head is None:
            raise ValueError(f"'{nest['nest']}' is no place of a nest")
        yield from from_record(nest["decisions"], _place(head) if head else None)


def json_listing(nests: Iterable[Iterable[Taken]]) -> list[dict[str, Any]]:
    """The decisions of nests as JSON: "nest", "decisions" and "by", who took each."""
    found: list[dict[str, Any]] = []
    for nest in map(tuple, nests):
        decisions = [t.decision for t in nest]
        by = {t.decision.key: t.by for t in nest}
        found.append({"nest": str(decisions[0].place), "decisions": record(decisions), "by": by})
    return found


def record(decisions: Iterable[Decision]) -> dict[str, Any]:
    """As JSON: a value, a list of names, or an object of values by name, by key."""
    return {d.key: _json(d) for d in decisions}


def _json(d: Decision) -> Any:
    if all(value is None for _, value in d.items):
        return list(d.names)
    return d.value if not d.names else dict(d.items)


def from_record(values: dict[str, Any], place: Place | None) -> Iterator[Decision]:
    """The decisions of `record`. Raises ValueError for what is none."""
    for key, value in values.items():
        if key not in KEYS:
            raise ValueError(f"'{key}' is no decision; they are {', '.join(KEYS)}")
        match value:
            case dict():
                items: tuple[tuple[str, Value], ...] = tuple((name, _word(v)) for name, v in value.items())
            case list():
                items = tuple((str(name), None) for name in value)
            case _:
                items = (("", _word(value)),)
        yield checked(Decision(key, items, place))


def _word(value: Any) -> Any:
    """`true` of JSON is a word: it is no 1."""
    return str(value).lower() if isinstance(value, bool) else value


def diagnosed(
    reading: Callable[[str], tuple[Decision, ...]], text: str, where: str, position: Position | None = None
) -> tuple[Decision, ...]:
    """The decisions of a text. Raises Diagnosed for what is none."""
    try:
        return reading(text)
    except ValueError as error:
        help_text = "see `polygpu explain PG303`"
        raise Diagnosed(Diagnostic("PG303", "error", f"{where}: {error}", position, help_text)) from None
