"""Programs that pass subscripts and iterators on in scalars and pointers, as people write them.

    for (int i = 1; i < n; i++) A[2 * i] = B[i + m];

    ci = 2 * i;              i = 1; ui = 3;                 q = B + i + m;
    A[ci] = ...;             while (i < n) { A[2 * ui - 4] = ...; ui++; i++; }

They mean the same as without: no long holds what an unsigned int wraps to on the way, of k - 1 + 1 at k = 0.
How each part is spelled follows from `Program.carried` and the part's number.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from random import Random
from typing import TYPE_CHECKING, Any

from tests.fuzz.program import Affine, Assign, Declare, If, Loop, Node, Program, Read, substituted

if TYPE_CHECKING:
    from tests.fuzz.text import _Writer as Writer
else:
    Writer = object

_HEADER = re.compile(r"for \((.*?); (.*); (.*?)\)$")
_SIGNED = ("int", "long")


class Carrying(Writer):
    """Writes as a writer behind it does, but for what it passes on in variables that it declares."""

    def __init__(self, number: int, p: Program) -> None:
        super().__init__(number, p)
        self.random = Random(p.carried)
        self.before: list[str] = []
        self.loops: list[Loop] = []
        self.trackers: dict[str, Affine] = {}
        self.types: dict[str, str] = {}  # of iterators, and of what follows them
        self.target: object = None

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def named(self, prefix: str, ctype: str, live: float = 0.2) -> str:
        """A new scalar of the function, which may be wanted after it."""
        name = f"{prefix}{len(self.declared)}"
        self.declared[name] = f"{ctype} {name} = {self.random.randrange(9)}"
        if self.chance(live):
            self.live.append(name)
        return name

    def _node(self, node: Node, indent: str) -> list[str]:
        if isinstance(node, Loop) and not node.pragmas:
            return self.loop(node, indent)
        if isinstance(node, If):
            return self.branches(node, indent)
        made = self.tracked(node) if isinstance(node, Assign | Declare) else node
        self.target = getattr(made, "target", None)
        lines = super()._node(made, indent)
        return [*self.set_before(indent), *lines]

    def set_before(self, indent: str) -> list[str]:
        """What sets the scalars that the statement behind it names."""
        lines, self.before = [indent + line for line in self.before], []
        return lines

    def branches(self, node: If, indent: str) -> list[str]:
        test = self.value(node.test)
        lines = [*self.set_before(indent), f"{indent}if ({test}) {{", *self.lines(node.then, indent + "    ")]
        if node.otherwise:
            lines += [f"{indent}}} else {{", *self.lines(node.otherwise, indent + "    ")]
        return [*lines, f"{indent}}}"]

    def tracked(self, node: Assign | Declare) -> Assign | Declare:
        """With what follows an iterator in its place, now and then."""
        for iterator, value in self.trackers.items():
            if self.chance(0.6):
                node = self.followed(node, iterator, value)
        return node

    def followed(self, part: Any, iterator: str, value: Affine, inside: bool = False) -> Any:
        """`part` with `value` for the iterator in the subscripts of its elements; `inside` of one."""
        match part:
            case Affine():
                return substituted(part, iterator, value) if inside and not self.widened(part) else part
            case Read():
                return replace(part, subscripts=self.followed(part.subscripts, iterator, value, True))
            case tuple():
                return tuple(self.followed(item, iterator, value, inside) for item in part)
        if hasattr(part, "__dataclass_fields__"):
            items = ((f.name, getattr(part, f.name)) for f in fields(part))
            return replace(part, **{k: self.followed(item, iterator, value, inside) for k, item in items})
        return part

    def widened(self, *sums: Affine, ctype: str = "int") -> bool:
        """Whether a sum that wraps as an unsigned int may go on as a long: as it is or in a `ctype`."""
        names = {name for a in sums for name, _ in a.terms}
        types = {self.types.get(name, self.program.parameter) for name in names}
        return "unsigned int" in types and any("long" in t for t in (ctype, *types))

    def loop(self, loop: Loop, indent: str) -> list[str]:
        match = _HEADER.match(self.header(loop))
        assert match is not None
        start, test, step = match.groups()
        self.types[loop.iterator] = "int" if self.program.old else loop.type
        lines, ends = self.follow(loop, start, indent)
        self.loops.append(loop)
        body = [*self.lines(loop.body, indent + "    "), *(f"{indent}    {end};" for end in ends)]
        self.loops.pop()
        self.trackers.pop(loop.iterator, None)
        if self.chance(0.3):
            inner = [f"{indent}{start};", f"{indent}while ({test}) {{", *body, f"{indent}    {step};"]
            around = ([], []) if self.program.old else ([f"{indent}{{"], [f"{indent}}}"])
            return [*lines, *around[0], *inner, f"{indent}}}", *around[1]]
        if ends and self.chance(0.4):  # the steps stand in the header
            body = body[: -len(ends)]
            step = ", ".join((*ends, step))
        return [*lines, f"{indent}for ({start}; {test}; {step}) {{", *body, f"{indent}}}"]

    def follow(self, loop: Loop, start: str, indent: str) -> tuple[list[str], list[str]]:
        """What lets a scalar follow the iterator, before the loop and at the end of its body."""
        if not self.loops and self.chance(0.15):
            walker = self.named("w", "char *", live=0)
            self.declared[walker] = f"char *{walker} = walked"
            self.live.append(f"({walker} - walked)")
            return [], [self.random.choice((f"{walker}++", f"{walker} += 2", f"{walker} = {walker} + 1"))]
        signed = self.program.old or loop.type in _SIGNED
        if not signed or not self.chance(0.5):
            return [], []
        first, ctype = start.split(" = ", 1)[1], self.types[loop.iterator]
        if self.widened(*loop.lowers, *loop.uppers, ctype=ctype):
            return [], []
        if self.chance(0.3):
            name = self.named("v", ctype)
            self.types[name] = ctype
            self.trackers[loop.iterator] = Affine(((name, 1),), loop.step)
            return [f"{indent}{name} = {first} - {loop.step};"], [f"{name} = {loop.iterator}"]
        name, way, at = self.named("u", ctype), self.random.choice((1, 1, -1)), self.random.randrange(-3, 4)
        self.types[name] = ctype
        self.trackers[loop.iterator] = Affine(((name, way),), -way * at)
        change = way * loop.step
        end = f"{name} {'+' if change > 0 else '-'}= {abs(change)}" if self.chance(0.5) else ""
        end = end or f"{name} = {name} + {change}"
        if abs(change) == 1 and self.chance(0.5):
            end = f"{name}{'++' if change > 0 else '--'}"
        return [f"{indent}{name} = {'-' if way < 0 else ''}({first}) + {at};"], [end]

    def _element(self, read: Read) -> str:
        array = self.arrays.get(read.array)
        kinds = ("plain", "plain", "parts", "branches") + ("data",) * (read is not self.target)
        carried = replace(read, subscripts=tuple(self._subscript(s, kinds) for s in read.subscripts))
        text = super()._element(carried)
        if array is not None and array.storage == "flat" and self.chance(0.3):
            name = self.named("q", f"{array.type} *", live=0)
            self.declared[name] = f"{array.type} *{name}"
            offset = text.split("[", 1)[1].rsplit("]", 1)[0]
            self.before.append(f"{name} = {array.name} + ({offset});")
            member = f".{read.member}" if read.member else ""
            return f"(*{name}){member}" if self.chance(0.5) else f"{name}[0]{member}"
        return text

    def _subscript(self, subscript: object, kinds: tuple[str, ...]) -> Any:
        if not isinstance(subscript, Affine) or not subscript.terms or not self.chance(0.35):
            return subscript
        ctype = self.random.choice(("int", "int", "long"))
        name = self.named("c", ctype)
        kind = self.random.choice(kinds) if self.loops else "plain"
        if self.widened(subscript, ctype=ctype):
            kind = "plain"
        if kind == "parts":
            first, *rest = subscript.terms
            self.before.append(f"{name} = {Affine((first,))};")
            self.before.append(f"{name} += {Affine(tuple(rest), subscript.constant)};")
        elif kind in ("branches", "data"):
            iterator = self.random.choice(self.loops).iterator
            test = f"{iterator} {self.random.choice(('<', '>', '=='))} 3"
            if kind == "data":  # no affine test: either value may be meant
                test = f"{iterator} % 40 * ({iterator} % 40) % 3 == 1"
            less = subscript + Affine((), -1)
            self.before.append(f"if ({test}) {name} = {subscript}; else {{ {name} = {less}; {name}++; }}")
        else:
            self.before.append(f"{name} = {subscript};")
        return Affine(((name, 1),))
