"""What is asked of a nest, in the names of the source: which decisions are for it, and what they name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from polygpu.analysis.dependences import Dependences
from polygpu.analysis.places import array_names, holds
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.analysis.verdicts import Obstacle, ends, loop_verdicts
from polygpu.model.decisions import KEYS, SPACES, VALUES, Decision, Value
from polygpu.model.facts import LoopVerdict
from polygpu.schedule.loop_names import falls, loop_names
from polygpu.schedule.tree import Band, Member, Nest, Node, Sequence
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic

_OF_BLOCKS = frozenset(
    {"wide", "loads", "unroll", "buffer", "reuse", "walk"}
)  # of which one thread alone makes no use
_NAME = re.compile(r"[A-Za-z_]\w*")  # of those in t + i


class RefusedError(Diagnosed):
    """A decision that the nest of `statements` cannot follow."""

    def __init__(self, decision: Decision, statements: tuple[str, ...], why: Diagnostic) -> None:
        super().__init__(why)
        self.decision = decision
        self.statements = statements


@dataclass(frozen=True)
class Wanted:
    """The decisions for a nest of `p`, those that count most last; `care` goes before all of them.

    `dependences` say why a loop is not parallel.
    """

    p: Polyhedra
    nest: Nest
    decisions: tuple[Decision, ...] = ()
    care: int = 0
    dependences: Dependences | None = None

    def find(self, key: str) -> Decision | None:
        return next((d for d in reversed(self.decisions) if d.key == key), None)

    def follows(self, decision: Decision) -> bool:
        """Whether the decision is one for the nest, which has something that it names."""
        if decision not in self.decisions:
            return False
        match KEYS[decision.key].named:
            case "array" if decision.key in VALUES:
                return False
            case "loop" if decision.key in ("batch", "ahead", "wave"):
                return False  # of kernels before there are nests
            case "array":
                names = set(map(array_of, decision.names))
                return not names or decision.value is not None or bool(names & self.known(decision))
            case "loop" if decision.key == "steps" and self.nest.steps is None:
                none = {name for name, value in decision.items if value == 0}
                return bool(none & {"", *self.known(decision)})
            case "loop":
                names = {n for name in decision.names for n in (name, name.removeprefix("-"))}
                known = [loop_names(self.p, loop) for loop in self._loops(decision.key)]
                return not decision.items or any(decision.value is not None or names & mine for mine in known)
            case "statement":
                return False  # not about a nest, but about which nests there are
        return decision.key not in _OF_BLOCKS or bool(self.nest.parallel)

    def _arrays(self) -> frozenset[str]:
        mine = (a for s in self.nest.statements for a in self.p.statement(s).accesses)
        return frozenset(name for a in mine for name in array_names(a))

    def _structures(self) -> set[str]:
        """Those of the source whose members are arrays of the region."""
        return {a.source.partition(".")[0] for a in self.p.scop.arrays if "." in a.source}

    def _loops(self, key: str) -> Iterator[Member]:
        """Those that a decision can be about: the parallel ones, of tiles those that are strip-mined too."""
        if self.nest.batch is not None or self.nest.waves is not None:
            return
        if self.nest.shared is not None:
            yield from self.nest.shared.loops if key in ("share", "threads") else ()
            return
        if self.nest.steps is not None and key == "steps":
            yield self.nest.steps.member
        yield from self.nest.parallel if key not in ("share", "steps", "attend") else ()
        if self.nest.steps is not None:
            return
        body = self.nest.body
        if key in ("inner", "attend") or (key == "tile" and self.find("inner")):
            yield from body_loops(body)
        elif key == "tile" and self.nest.parallel:
            parts = body.children if isinstance(body, Sequence) else (body,)
            yield from (part.members[0] for part in parts if isinstance(part, Band))

    def knows(self, decision: Decision, name: str) -> bool:
        """Whether the nest has what a decision names so."""
        return bool(set(_NAME.findall(re.split(r"[@\[]", name)[0])) & self.known(decision))

    def known(self, decision: Decision) -> frozenset[str]:
        """The loops, or the arrays, that such a decision could name."""
        mine = [self.p.statement(s) for s in self.nest.statements]
        if KEYS[decision.key].named == "array":
            return self._arrays() | (self._structures() if decision.key == "reassociate" else set())
        sources = self.p.source_names()
        return frozenset(sources.get(i, i) for s in mine for i in s.iterators)

    def names(self, key: str) -> tuple[str, ...]:
        """What the decision of that key names."""
        decision = self.find(key)
        return decision.names if decision is not None else ()

    def sequential(self, loop: str) -> LoopVerdict | None:
        """Why a loop of the nest is not parallel, if a dependence says so."""
        mine = {k for s in self.nest.statements for k in self.p.statement(s).loops}
        verdicts = loop_verdicts(self.p, self.dependences) if self.dependences is not None else ()
        named = (v for k, v in enumerate(verdicts) if k in mine and v.iterator == loop)
        return next((v for v in named if not v.parallel), None)

    def refused(
        self,
        decision: Decision,
        number: str,
        why: str,
        advice: str = "",
        verdict: LoopVerdict | Obstacle | None = None,
    ) -> RefusedError:
        """The error that says why the nest cannot follow the decision."""
        position = self.p.statement(self.nest.statements[0]).position
        reason = Diagnostic(number, "error", f"'{decision}': {why}", position, advice, ends(verdict))
        return RefusedError(decision, self.nest.statements, reason)

    def value(self, key: str, loop: Member) -> Value:
        """The value that a decision gives a loop, or all loops; None where it says nothing of this one."""
        decision = self.find(key)
        if decision is None:
            return None
        names = loop_names(self.p, loop)
        return next((value for name, value in decision.items if name in names), decision.value)


def body_loops(body: Node) -> Iterator[Member]:
    """The loops of a nest's body, each before those inside it."""
    match body:
        case Band(members, _, child):
            yield from members
            yield from body_loops(child)
        case Sequence(children):
            for child in children:
                yield from body_loops(child)


def array_of(name: str) -> str:
    """The array that `A[i][k]@14` is about."""
    return re.split(r"[@\[]", name)[0]


def source_arrays(p: Polyhedra, statements: Iterable[str]) -> dict[str, str]:
    """What the source calls the arrays of the statements, by the compiler's name."""
    return dict(array_names(a) for s in statements for a in p.statement(s).accesses)


def array_label(sources: dict[str, str], name: str) -> str:
    """The source's name for an array, where no other one of `sources` has it."""
    written = sources.get(name, name)
    return written if list(sources.values()).count(written) == 1 else name


def wanted(
    p: Polyhedra,
    nest: Nest,
    decisions: Iterable[Decision],
    care: int,
    dependences: Dependences | None = None,
) -> Wanted:
    """The decisions that hold for a nest, the last of a key being the one that counts.

    Those for everything, or for a function, hold where there is what they name.
    """
    mine = [d for d in decisions if d.place is None or any(holds(d.place, p, s) for s in nest.statements)]
    asked = Wanted(p, nest, tuple(mine), care, dependences)
    held = (d for d in asked.decisions if is_exact(d, p) or d.key in SPACES or asked.follows(d))
    return replace(asked, decisions=tuple(held))


def is_exact(decision: Decision, p: Polyhedra) -> bool:
    """Whether it is for the nests of one loop or statement: they must follow it."""
    return decision.place is not None and decision.place.function in ("", *(x.label for x in p.scop.loops))


def direction(name: str, known: frozenset[str]) -> bool | None:
    """Whether a decision names the loop that is `known` so to run backwards; None where it does not at all.

    `-i` is `i` backwards, where `-1 + i` may be a name itself.
    """
    return False if name in known else True if name.startswith("-") and name[1:] in known else None


def runs_backwards(loop: Member) -> bool:
    """Whether the loop goes down as its iterator goes up."""
    return falls(loop.rows[loop.statements[0]])


def labels(p: Polyhedra, loops: list[Member]) -> list[str]:
    """A name for each of the loops that no other one of them has, where that is possible."""
    found: list[str] = []
    for loop in loops:
        names = sorted(loop_names(p, loop), key=lambda name: ("@" in name, name))
        others = [loop_names(p, other) for other in loops if other is not loop]
        found.append(next((n for n in names if not any(n in other for other in others)), names[0]))
    return found
