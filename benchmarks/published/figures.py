"""Published figures and what they are bound to, as their files have them."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path
from re import fullmatch
from typing import Any

HERE = Path(__file__).parent
MEASUREMENTS = HERE / "measurements.toml"
BINDINGS = HERE / "bindings.toml"
SECONDS = {"s": 1.0, "ms": 1e-3, "us": 1e-6}
UNITS = ("gflops", *SECONDS, "threads")


class PublishedError(Exception):
    """A file that cannot be understood; the message says where and why."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One published number, `value` in `unit`. `keys` lead to it in its row: ("4096", "direct").

    `row` is the row itself, for the tables beside the figures.
    """

    row: Mapping[str, Any]
    keys: tuple[str, ...]
    unit: str
    value: float

    @property
    def id(self) -> str:
        return str(self.row["id"])

    @property
    def device(self) -> str:
        return str(self.row["device"])

    @property
    def fitted(self) -> tuple[str, ...]:
        """The constants of the model that were fitted to the row."""
        return tuple(name.strip() for name in self.row.get("fitted", "").split(",") if name.strip())

    @property
    def name(self) -> str:
        return " ".join((self.id, *self.keys))


@dataclass(frozen=True, slots=True)
class Binding:
    """What computes the figures that `row` and `variant` match; see bindings.toml for the fields."""

    row: str
    variant: str = ""
    kernel: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    assume: tuple[str, ...] | None = None
    decisions: str = ""
    flops: str = ""
    group: str = ""
    block: int = 0
    blocks: int = 0
    launch: bool = False

    def matches(self, figure: Figure) -> bool:
        return fnmatchcase(figure.id, self.row) and fnmatchcase(".".join(figure.keys), self.variant)


def read(path: Path) -> dict[str, Any]:
    """The document at `path`. Raises PublishedError."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as problem:
        raise PublishedError(f"{path}: {problem}") from None


def figures(document: Mapping[str, Any]) -> tuple[Figure, ...]:
    """All figures of a document of measurements, in its order. Raises PublishedError for a row without."""
    rows = document.get("row")
    if not isinstance(rows, list):
        raise PublishedError("no [[row]] in the file")
    return tuple(figure for row in rows for figure in _of_row(row))


def _of_row(row: Mapping[str, Any]) -> Iterator[Figure]:
    missing = [key for key in ("id", "device") if not isinstance(row.get(key), str)]
    units = [unit for unit in UNITS if unit in row]
    if missing or not units:
        lacks = ", ".join(missing) or f"a figure in {', '.join(UNITS)}"
        raise PublishedError(f"row '{row.get('id', '?')}' lacks {lacks}")
    for unit in units:
        for keys, value in _leaves(row, row[unit], ()):
            yield Figure(row, keys, unit, value)


def _leaves(
    row: Mapping[str, Any], value: Any, keys: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], float]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(row, inner, (*keys, key))
    elif isinstance(value, int | float) and value > 0:
        yield keys, float(value)
    else:
        raise PublishedError(f"row '{row['id']}' {'.'.join(keys)}: {value!r} is no positive number")


def bindings(document: Mapping[str, Any]) -> tuple[Binding, ...]:
    """Raises PublishedError for an entry with other fields than a Binding's."""
    found: list[Binding] = []
    for entry in document.get("binding", ()):
        assume = {"assume": tuple(entry["assume"])} if "assume" in entry else {}
        try:
            found.append(Binding(**{**entry, **assume}))
        except TypeError as problem:
            raise PublishedError(f"binding of '{entry.get('row', '?')}': {problem}") from None
    return tuple(found)


def bound(figure: Figure, known: tuple[Binding, ...]) -> Binding | None:
    """The first binding that matches, its values filled in; None where there is none."""
    binding = next((b for b in known if b.matches(figure)), None)
    if binding is None:
        return None
    shapes = [key.split("x") for key in figure.keys if fullmatch(r"\d+x\d+", key)]
    shape = dict(zip("yx", shapes[-1], strict=True)) if shapes else {}

    def fill(text: str) -> str:
        return text.format(*figure.keys, **shape)

    decisions = fill(binding.decisions)
    if "registers" in figure.row and "registers(" not in decisions:
        decisions = f"{decisions} registers({figure.row['registers']})".strip()
    return replace(
        binding,
        arguments={name: fill(value) for name, value in binding.arguments.items()},
        decisions=decisions,
        group=binding.group or " ".join((figure.id, *figure.keys[:-1])),
    )


def operations(binding: Binding) -> float:
    """Floating-point operations of a launch."""
    total = 1.0
    for factor in binding.flops.split():
        total *= float(binding.arguments.get(factor, factor))
    return total


def seconds(figure: Figure, binding: Binding) -> float:
    """The published time; of a rate by the operations of the binding."""
    if figure.unit in SECONDS:
        return figure.value * SECONDS[figure.unit]
    return operations(binding) / (figure.value * 1e9)


def in_unit(seconds: float, figure: Figure, binding: Binding) -> float:
    """A time as the figure's unit has it."""
    if figure.unit in SECONDS:
        return seconds / SECONDS[figure.unit]
    return operations(binding) / seconds / 1e9
