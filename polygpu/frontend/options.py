"""What the front end is told and what it hands over."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from polygpu.model.scop import Scop
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnostic
from polygpu.support.position import Position

_TO_DEVICE = re.compile(r'polygpu_update\([^"]*, 0, "')
Vetoed: TypeAlias = Mapping[tuple[int, int], Diagnostic]  # first and last character -> why it is no region


@dataclass(frozen=True, slots=True)
class FrontendOptions:
    """The C compiler's own options, as given on the command line.

    `defines` are NAME or NAME=VALUE. `cc` is the compiler whose preprocessor is used: None finds one,
    "" uses pcpp whatever is installed. `assume_no_alias` marks every scop as free of overlap; a
    file that is a `part` of a program has others beside it. `others` are such files: functions that they
    define may be written into its regions.
    """

    include_dirs: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    undefines: tuple[str, ...] = ()
    includes: tuple[str, ...] = ()
    standard: str = ""
    assume_no_alias: bool = False
    cc: str | None = None
    part: bool = False
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Decided:
    """The text of a `#pragma polygpu`, its place, and that of the loop behind it."""

    text: str
    position: Position
    loop: Position


@dataclass(frozen=True)
class HostScope:
    """Regions between whose calls arrays stay on the device, and how often these run.

    That is `times` the iterations of so many loops whose `unknown` lengths only a run tells.
    """

    regions: frozenset[str]
    times: int = 1
    unknown: int = 0


@dataclass(frozen=True)
class Kept:
    """What the host file says so that arrays stay on the device: texts at offsets of the source, in order.

    `regions` are those that find arrays there. In `scopes` the host touches no array at each iteration.
    Other files may call the `exported` functions while arrays are on the device.
    """

    inserted: tuple[tuple[int, str], ...] = ()
    regions: frozenset[str] = frozenset()
    scopes: tuple[HostScope, ...] = ()
    exported: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.inserted or self.exported)

    @property
    def maps(self) -> bool:
        """Whether it says what pragmas map to the device."""
        calls = ("polygpu_map(", "polygpu_unmap(", "polygpu_update(")
        return any(call in text for _, text in self.inserted for call in calls)

    @property
    def updates(self) -> bool:
        """Whether a pragma says that the host has the right values of an array."""
        return any(_TO_DEVICE.search(text) for _, text in self.inserted)


@dataclass(frozen=True, slots=True)
class Lifted:
    """A source file and its regions.

    `text` is the file exactly as read (UTF-8 with surrogateescape, line ends kept); the offsets of the
    scops count its characters. `dependencies` are the user's files that were read, the source first;
    `system_dependencies` those of the system's directories. `sources` has the text of every file that
    a position may name. Regions are `detected` where nobody marked any. `kept` says of regions that run on
    the device what stays there between them.
    """

    path: str
    text: str
    scops: tuple[Scop, ...]
    diagnostics: tuple[Diagnostic, ...]
    dependencies: tuple[str, ...]
    system_dependencies: tuple[str, ...]
    sources: dict[str, str]
    detected: bool = False
    decided: tuple[Decided, ...] = ()
    kept: Callable[[Sequence[Scop]], Kept] = field(default=lambda _: Kept(), compare=False, repr=False)
    again: Callable[[Vetoed], Lifted] | None = field(default=None, compare=False, repr=False)
