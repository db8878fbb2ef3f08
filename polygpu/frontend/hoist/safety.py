"""When the host may read an object early: where the source reads it too, or where nothing can fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from typing import TypeAlias

from pycparser import c_ast

from polygpu.frontend.hoist.paths import Index, Path
from polygpu.frontend.hoist.uses import Guard, Use, Where
from polygpu.frontend.names.types import Pointer, Vector
from polygpu.frontend.read.state import source_text
from polygpu.support.dataclass import dataclass

Texts: TypeAlias = tuple[str, ...]


def risky(path: Path) -> Iterator[str]:
    """The objects on the way that need not exist unless they are accessed, from the variable on."""
    for place, (step, ctype) in enumerate(zip(path.steps, path.types, strict=True)):
        if isinstance(step, Index) and not _inside(step, ctype, path.decayed and place == 0):
            yield path.cut(place + 1).text


def _inside(step: Index, ctype: object, decayed: bool) -> bool:
    """Whether it is an element of a declared array for certain."""
    return (
        not decayed
        and isinstance(ctype, Vector)
        and step.value is not None
        and _extent(ctype) is not None
        and 0 <= step.value < (_extent(ctype) or 0)
    )


def _extent(ctype: Vector) -> int | None:
    if isinstance(ctype.extent, int):
        return ctype.extent
    found = ctype.scope.constant(ctype.extent) if ctype.scope is not None else None
    return found.value if found else None


def loaded(path: Path) -> Path | None:
    """The last pointer in memory that leads to the object: all that its address depends on."""
    places = [k for k, ctype in enumerate(path.types) if k and isinstance(ctype, Pointer)]
    return path.cut(places[-1]) if places else None


@dataclass(frozen=True)
class Condition:
    """A condition in C, "" for one that always holds, and what it reads."""

    text: str
    reads: tuple[Path, ...] = ()


ALWAYS = Condition("")


@dataclass
class Safety:
    """`exact` are the conditions under which an object is accessed at least, each a conjunction."""

    stable: Callable[[Path], bool]
    exact: dict[str, set[Texts]] = field(default_factory=dict)
    reads: dict[str, tuple[Path, ...]] = field(default_factory=dict)  # of each guard

    def enter(self, uses: Iterable[Use]) -> None:
        for use in uses:
            path = loaded(use.path) if use.kind == "address" else use.path
            known, exact = self._texts(use.where)
            if path is not None and exact:
                for key in risky(path):
                    self.exact.setdefault(key, set()).add(known)

    def _texts(self, where: Where) -> tuple[Texts, bool]:
        """The guards that the host can compute, and whether these are all."""
        known = [guard for guard in where.guards if self._computable(guard)]
        texts = tuple(text_of(guard) for guard in known)
        self.reads |= {t: tuple(use.path for use in g.reads) for t, g in zip(texts, known, strict=True)}
        return texts, where.exact and len(known) == len(where.guards)

    def _computable(self, guard: Guard) -> bool:
        return all(not use.path.steps or self.stable(use.path) for use in guard.reads)

    def guard(self, path: Path, uses: Iterable[Use]) -> Condition | None:
        """When the object may be read before the region; None for never. `uses` are those that need it."""
        key = ([*risky(path)] or [""])[-1]
        if not key:
            return ALWAYS
        sure = self.exact.get(key, set())
        for use in uses:
            known, _ = self._texts(use.where)
            if not any(set(texts) <= set(known) for texts in sure):
                return None
        if () in sure:
            return ALWAYS
        least = sorted(t for t in sure if not any(set(other) < set(t) for other in sure))
        joined = (" && ".join(texts) for texts in least)
        text = " || ".join(f"({test})" if len(least) > 1 else test for test in joined)
        reads = dict.fromkeys(path for texts in least for t in texts for path in self.reads[t])
        return Condition(text, tuple(reads))


def text_of(guard: Guard) -> str:
    """As C, an operand of anything that binds less than a comparison."""
    text = source_text(guard.test)
    if not guard.holds:
        return f"!({text})"
    simple = not isinstance(guard.test, c_ast.BinaryOp) or guard.test.op not in ("||", "&", "|", "^")
    return text if simple and not isinstance(guard.test, c_ast.TernaryOp) else f"({text})"
