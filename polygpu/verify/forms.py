"""Arrays and locals of a kernel that hold something made of elements with scalars, instead of these.

    A_s[k][i] = alpha * A_next[k];   ...   A_v = A_s[k][i];   c += A_v * B_s[k][j];

What comes to such a memory is made in the same way wherever it is written, so that it may be written out
wherever it is read: `c += (alpha * A_v) * B_s[k][j]`, with A_v for the element that was copied there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from typing import TypeAlias

from polygpu.model.expr import Expr, Name, Reference, is_floating, type_of
from polygpu.model.kernel import Assign, Declare, DeclareArray, Kernel, Move, Statement
from polygpu.model.kernel_walk import bodies, statements
from polygpu.model.rewrite import children, rewrite, substitute, with_children
from polygpu.support.dataclass import dataclass
from polygpu.verify.match import MismatchError
from polygpu.verify.scoped import UnclearError

Write: TypeAlias = Assign | Declare | Move
Forms: TypeAlias = Mapping[str, Expr]
"""What memories hold, by their names, in terms of `_HOLE`: of those that are not named, elements."""

_HOLE = "what was copied"  # no name of C


def forms_of(kernel: Kernel) -> Forms:
    """Raises MismatchError for a memory that holds different things, and UnclearError where one that does not
    hold elements is used in another way than to copy it on the chip.
    """
    memories = _Memories(
        frozenset(_on_chip(kernel)),
        frozenset(s.name for s in kernel.scalars),
        tuple(_writes(kernel.body, False)),
    )
    locals_ = {s.name for s in statements(kernel.body) if isinstance(s, Declare)}
    plain: set[str] = set()  # locals that hold now this, now that, which is theirs to be proved
    while True:
        found: dict[str, Expr] = {}
        while (more := {k: v for k, v in memories.known(found).items() if k not in plain}) != found:
            found = more
        different = (memories.differing(found) & locals_) - plain
        if not different:
            break
        plain |= different
    if found:
        memories.check(found)
    return found


def written_out(expr: Expr, forms: Forms) -> Expr:
    """The expression with what memories hold in the place of what is read of them."""

    def change(e: Expr) -> Expr | None:
        form = forms.get(_memory(e) or "")
        return None if form is None else substitute(form, {_HOLE: e})

    return rewrite(expr, change) if forms else expr


def copied(value: Expr, form: Expr) -> Expr | None:
    """The memory of which `value` makes the form, or which has it already."""
    found = [e for e in _memories_in(value) if substitute(form, {_HOLE: e}) == value]
    return found[0] if found else value if _memory(value) else None


def _on_chip(kernel: Kernel) -> Iterator[str]:
    yield from (s.name for s in kernel.shared)
    for s in statements(kernel.body):
        if isinstance(s, DeclareArray | Declare):
            yield s.name


def _writes(body: Iterable[Statement], within: bool) -> Iterator[tuple[Write, bool]]:
    """All that is written, and whether no statement of the source says so: none is `within`, or the write."""
    for s in body:
        known = within or getattr(s, "origin", None) is not None
        if isinstance(s, Assign | Declare | Move):
            yield s, not known
        for inner in bodies(s):
            yield from _writes(inner, known)


def _memory(e: Expr) -> str | None:
    return e.array if isinstance(e, Reference) else e.name if isinstance(e, Name) else None


def _memories_in(value: Expr) -> Iterator[Expr]:
    """Names and references in an expression, those in subscripts left out."""
    if _memory(value) is not None:
        yield value
    else:
        for part in children(value):
            yield from _memories_in(part)


@dataclass(frozen=True)
class _Memories:
    """What `writes` do to memories `on_chip`; `scalars` are the kernel's arguments."""

    on_chip: Set[str]
    scalars: Set[str]
    writes: tuple[tuple[Write, bool], ...]  # and whether the source has none of it: it moves elements

    def known(self, found: Forms) -> dict[str, Expr]:
        """The forms that follow from those that were found."""
        more = dict(found)
        for target, value in self._copies():
            form = self._form(target, value, found)
            if form is not None:
                more.setdefault(target, form)
        return more

    def differing(self, found: Forms) -> set[str]:
        """The memories to which something else comes than they hold elsewhere."""
        return {
            target
            for s, moves in self.writes
            for target, _ in (_parts(s),)
            if target in found and self._made(s, moves, found) != found[target]
        }

    def _made(self, s: Write, moves: bool, found: Forms) -> Expr | None:
        target, value = _parts(s)
        return self._form(target, value, found) if moves and value is not None else None

    def check(self, found: Forms) -> None:
        for s, moves in self.writes:
            target, value = _parts(s)
            made = self._made(s, moves, found) if target in found else None
            read = {_memory(e) or "" for e in _memories_in(value)} if value is not None else set()
            if made != found.get(target):
                raise MismatchError(f"'{target}' holds different things")
            if made is None and moves and read & set(found):
                raise UnclearError(f"what '{target}' holds is made of something else than elements")

    def _copies(self) -> Iterator[tuple[str, Expr]]:
        for s, moves in self.writes:
            target, value = _parts(s)
            if value is not None and moves:
                yield target, value

    def _form(self, target: str, value: Expr, found: Forms) -> Expr | None:
        """What the target holds by this; None where that are elements, or nothing that is clear."""
        if target not in self.on_chip:
            return None
        if (memory := _memory(value)) is not None:
            return found.get(memory)
        others = [e for e in _memories_in(value) if not self._is_scalar(e)]
        if len(others) != 1 or not is_floating(type_of(others[0])) or type_of(value) != type_of(others[0]):
            return None
        return None if _memory(others[0]) in found else _with_hole(value, others[0])

    def _is_scalar(self, e: Expr) -> bool:
        return isinstance(e, Name) and e.name in self.scalars and e.name not in self.on_chip


def _parts(s: Write) -> tuple[str, Expr | None]:
    match s:
        case Move(target, source):
            return target.array, source
        case Assign(target, value):
            return _memory(target) or "", value
        case Declare(name, _, value):
            return name, value


def _with_hole(value: Expr, read: Expr) -> Expr:
    if value is read:
        return Name(_HOLE, type_of(read))
    if _memory(value) is not None:
        return value
    return with_children(value, tuple(_with_hole(part, read) for part in children(value)))
