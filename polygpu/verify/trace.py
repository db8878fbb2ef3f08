"""From the Kernel IR of a region to its events: a symbolic walk of the host program and its launches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

import islpy as isl

from polygpu.model.expr import Expr, Int, Name, type_of
from polygpu.model.kernel import Declare, DeclareArray, HostFor, HostIf, HostStatement, Kernel, Launch, Region
from polygpu.model.rewrite import substitute
from polygpu.support.dataclass import dataclass
from polygpu.verify.affine import UNIVERSE, Scope, parameter, variable
from polygpu.verify.computed import Computed
from polygpu.verify.events import BLOCKS, THREADS, Do, Launched, Path, Point, Sync, box
from polygpu.verify.scoped import between, clear, counted
from polygpu.verify.source import Source
from polygpu.verify.walk import KernelWalk


@dataclass(frozen=True)
class Trace:
    """Everything a launch does. `scope` is the host's at the launch, with the kernel's scalars bound."""

    launch: Launched
    kernel: Kernel
    statement: Launch
    host: Scope
    scope: Scope
    actions: tuple[Do, ...]
    syncs: tuple[Sync, ...]
    private: Mapping[str, DeclareArray | Declare]
    computed: Computed
    together: Mapping[str, list[Point]]


def trace(region: Region, source: Source, context: isl.Set, computed: Computed) -> list[Trace]:
    """The events of `region`, in host order, and what the host computes in `computed`.

    Raises UnclearError, and TooLongError where time is limited.
    """
    values = {s.name: parameter(s.name) if s.name in source.p.parameters else None for s in region.scalars}
    known: dict[str, Expr] = {s.name: Name(s.name, s.type) for s in region.scalars}
    host = _Host(region, source, computed)
    everywhere = isl.Set(UNIVERSE).intersect_params(context)
    host.body(region.body, Scope(everywhere, values, everywhere), known, (), ())
    return host.found


@dataclass
class _Host:
    region: Region
    source: Source
    computed: Computed
    found: list[Trace] = field(default_factory=list)
    count: int = 0

    def body(
        self,
        body: tuple[HostStatement, ...],
        scope: Scope,
        known: dict[str, Expr],
        path: Path,
        loops: tuple[str, ...],
    ) -> None:
        for position, s in enumerate(body):
            match s:
                case HostFor(index, lower, upper, step, inner):
                    name = f"h{self.count}__"
                    self.count += 1
                    inside = counted(scope, index, name, lower, upper, step)
                    self.computed.loop(scope, inside, index, (lower, upper), step)
                    names = {**known, index: Name(index)}
                    self.body(inner, inside, names, (*path, (position, name)), (*loops, name))
                case HostIf(test, inner):
                    self.computed.compute(scope, (test,))
                    inside = scope.where(clear(scope, test))
                    self.body(inner, inside, known, (*path, (position, "")), loops)
                case Launch() if not scope.domain.is_empty():
                    self.launch(s, scope, known, (*path, (position, "")), loops)

    def launch(
        self, s: Launch, scope: Scope, known: dict[str, Expr], path: Path, loops: tuple[str, ...]
    ) -> None:
        kernel = next(k for k in self.region.kernels if k.name == s.kernel)
        values: dict[str, isl.PwAff | None] = {}
        cases: dict[str, str] = {}  # values that differ from case to case, by what they are
        inside = scope
        self.computed.compute(scope, (*s.grid, *s.scalars))
        computed = Computed(kernel.name, {a.name: a.origin for a in kernel.arrays})
        for argument, given in zip(kernel.scalars, s.scalars, strict=True):
            values[argument.name] = value = scope.affine(given)
            if value is not None and value.n_piece() > 1:
                case = str(value)
                if case not in cases:
                    cases[case] = f"s{len(cases)}__"
                    inside = inside.within(variable(cases[case]).eq_set(value))
                values[argument.name] = variable(cases[case])
            computed.bind(values[argument.name], scope, given)
        launched = Launched(len(self.found), kernel.name, path, loops, tuple(cases.values()))
        for name, count in zip(BLOCKS, s.grid, strict=True):
            inside = inside.within(between(scope, variable(name), Int(0), count))
        inside = inside.within(box(kernel.block))
        sizes = map(Int, kernel.block)
        for letter, names, counts in (("block", BLOCKS, s.grid), ("thread", THREADS, sizes)):
            for axis, name, count in zip("xyz", names, counts, strict=True):
                values[f"{letter}_{axis}"] = variable(name)
                computed.bind(values[f"{letter}_{axis}"], scope, Int(0), count)
        symbols = {
            argument.name: substitute(given, known)
            for argument, given in zip(kernel.scalars, s.scalars, strict=True)
            if argument.type == type_of(given)
        }
        # names that an origin mentions although the kernel takes no such argument
        for name, value in scope.values.items():
            values.setdefault(name, value)
        inner = replace(inside, values=values)
        walked = KernelWalk(kernel, self.source, launched, symbols, computed=computed)
        walked.run(inner)
        self.found.append(
            Trace(
                launched,
                kernel,
                s,
                scope,
                inner,
                tuple(walked.actions),
                tuple(walked.syncs),
                walked.private,
                computed,
                walked.together,
            )
        )
