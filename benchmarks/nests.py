"""The loops of a C text by their lines, found without parsing it, and what became of each."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

Verdict: TypeAlias = Literal["device", "one thread", "host", "refused"]
VERDICTS: tuple[Verdict, ...] = ("device", "one thread", "host", "refused")

_HIDDEN = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
_LOOP = re.compile(r"\b(?:for|while)\s*(?=\()")
_HEADED = re.compile(r"\b(?:for|while|if|switch)\s*(?=\()|\b(?:do|else)\b")
_OTHERWISE = re.compile(r"\s*(?=else\b)")
_FUNCTION = re.compile(r"(\w+)\s*\([^;{}()]*(?:\([^;{}()]*\)[^;{}()]*)*\)[^;{}()=]*\{")
_REGION = re.compile(r"region (\w+): lines? (\d+)(?:-(\d+))?")
_NAME = re.compile(r"(?<!\w)'[^']*'")
_ABOUT = re.compile(r"(?<=dependence): .*")
_BY_THREADS = "threads of OpenMP may run this loop"
_IN_ONE_THREAD, _REGION_FOUND, _REFUSED = "PG330", "PG180", "PG181"


@dataclass(frozen=True, slots=True)
class Loop:
    """Lines count from 1 and include the last one."""

    first: int
    last: int
    function: str

    def holds(self, first: int, last: int) -> bool:
        return self.first <= first and last <= self.last


@dataclass(frozen=True, slots=True)
class Nest:
    """A region, or loops that are in none and hold none, with the reasons why they are not on the device."""

    first: int
    last: int
    function: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()


def loops_of(text: str) -> list[Loop]:
    """All loops in the order of the text."""
    bare = _DIRECTIVE.sub(_blank, _HIDDEN.sub(_blank, text))
    functions = list(_functions(bare))
    found = []
    for match in _LOOP.finditer(bare):
        body = _closed(bare, match.end())
        if bare[body : body + 1] == ";" and match[0].startswith("while"):
            continue  # the end of a do, or an empty loop
        last = _end(bare, match.start())
        name = next((name for name, first, end in functions if first <= match.start() < end), "")
        found.append(Loop(_line(bare, match.start()), _line(bare, last - 1), name))
    return found


def nests_of(
    text: str, diagnostics: Sequence[dict[str, Any]], compiled: Container[int] | None = None
) -> list[Nest]:
    """What `polygpu compile --diagnostics json` says of a file's loops; maximal ones, without an overlap.

    Of loops on lines that are not `compiled` nothing is expected.
    """
    loops = [loop for loop in loops_of(text) if compiled is None or loop.first in compiled]
    regions = list(_regions(diagnostics, loops))
    free = [p for p in loops if not any(r.first <= p.last and p.first <= r.last for r in regions)]
    outer = [p for p in free if not any(q != p and q.holds(p.first, p.last) for q in free)]
    refusals = [d for d in diagnostics if d["id"] == _REFUSED]
    refused = (
        Nest(p.first, p.last, p.function, "refused", _reasons(p, refusals, loops))
        for p in dict.fromkeys(outer)
    )
    return sorted((*regions, *refused), key=lambda nest: nest.first)


def by_function(nests: Iterable[Nest], functions: Iterable[str]) -> list[Nest]:
    """One for each function: the best that became of its nests."""
    found: dict[str, list[Nest]] = {name: [] for name in functions}
    for nest in nests:
        found.get(nest.function, []).append(nest)
    return [
        min(mine, key=lambda nest: VERDICTS.index(nest.verdict))
        if mine
        else Nest(0, 0, name, "refused", ("no loop was found",))
        for name, mine in found.items()
    ]


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _functions(bare: str) -> Iterator[tuple[str, int, int]]:
    """Name, first and last character of each function's body."""
    end = 0
    for match in _FUNCTION.finditer(bare):
        if match.start() >= end and match[1] not in ("for", "while", "if", "switch"):
            end = _closed(bare, match.end() - 1)
            yield match[1], match.end(), end


def _closed(bare: str, opening: int) -> int:
    """The first character that is no space behind the bracket that closes the one at `opening`."""
    depth = 0
    for at in range(opening, len(bare)):
        depth += (bare[at] in "({") - (bare[at] in ")}")
        if depth == 0:
            rest = bare[at + 1 :]
            return at + 1 + len(rest) - len(rest.lstrip())
    return len(bare)


def _end(bare: str, start: int) -> int:
    """The character behind the statement that starts at `start`, spaces before it skipped."""
    while start < len(bare) and bare[start].isspace():
        start += 1
    if match := _HEADED.match(bare, start):
        end = _end(bare, match.end() if match[0] in ("do", "else") else _closed(bare, match.end()))
        otherwise = _OTHERWISE.match(bare, end) if match[0].startswith("if") else None
        return _end(bare, otherwise.end()) if otherwise else end
    if bare[start : start + 1] == "{":
        return len(bare[: _closed(bare, start)].rstrip())
    end = bare.find(";", start)
    return len(bare) if end < 0 else end + 1


def _regions(diagnostics: Sequence[dict[str, Any]], loops: Sequence[Loop]) -> Iterator[Nest]:
    for d in diagnostics:
        if d["id"] == _REGION_FOUND and (found := _REGION.match(d["message"])):
            first, last = int(found[2]), int(found[3] or found[2])
            function = next((p.function for p in loops if first <= p.first <= last), "")
            yield _judged(Nest(first, last, function, "device"), diagnostics)


def _judged(region: Nest, diagnostics: Sequence[dict[str, Any]]) -> Nest:
    """`region` with what warnings say of it."""
    inside = [d for d in diagnostics if d["line"] and region.first <= d["line"] <= region.last]
    verdicts: dict[str, Verdict] = {"PG309": "host", "PG335": "host", _IN_ONE_THREAD: "one thread"}
    for identity, verdict in verdicts.items():
        if reasons := tuple(dict.fromkeys(reason(d) for d in inside if d["id"] == identity)):
            return Nest(region.first, region.last, region.function, verdict, reasons)
    return region


def _reasons(loop: Loop, refusals: Sequence[dict[str, Any]], loops: Sequence[Loop]) -> tuple[str, ...]:
    """Why a loop is in no region: what is said of it and in it, or else of the loops around it."""
    here = [d for d in refusals if loop.first <= d["line"] <= loop.last]
    inside = [d for d in here if not _of_threads(d)] or here
    innermost = [d for d in inside if not any(_around(d, e, loops) for e in inside)]
    around = {p.first for p in loops if p.holds(loop.first, loop.last)}
    said = innermost or [d for d in refusals if d["line"] in around]
    notes = [n for d in said for n in d["notes"][:1]]
    notes = notes or [n for d in refusals for n in d["notes"] if loop.first <= (n["line"] or 0) <= loop.last]
    return tuple(dict.fromkeys(map(reason, notes))) or ("nothing is said",)


def _of_threads(refusal: dict[str, Any]) -> bool:
    """Whether a loop stays only because one around it does."""
    return any(_BY_THREADS in note["message"] for note in refusal["notes"][:1])


def _around(one: dict[str, Any], other: dict[str, Any], loops: Sequence[Loop]) -> bool:
    """Whether the loop that `one` is about is around that of `other`."""
    line = other["line"]
    return one["line"] != line and any(p.first == one["line"] and p.holds(line, line) for p in loops)


def reason(diagnostic: dict[str, Any]) -> str:
    """Its id and its message without the names that it quotes, so that alike ones can be counted."""
    message = _NAME.sub("'...'", diagnostic["message"].splitlines()[0])
    message = _ABOUT.sub("", message)
    return f"{diagnostic['id']} {message}"
