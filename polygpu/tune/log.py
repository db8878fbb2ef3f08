"""The log of a search: a line of JSON for what is searched, then one for each evaluation.

    {"polygpu tune": "0.1", "source": "9f3a...", "device": "...", "sizes": {...}, "seed": 0, ...}
    {"kernel": "kernel_mm_0_k0", "region": "polygpu_kernel_mm_0", "nest": "18", "number": 476112,
     "decisions": "order(i, j) ...", "seconds": 1.04}, or "pruned": "less than a warp"

A search that was ended goes on with what its log has.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, field
from hashlib import sha256
from math import inf
from pathlib import Path
from typing import IO, Any, TypeAlias

from polygpu import __version__
from polygpu.compilation import Compilation
from polygpu.runtime.errors import error, writing
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed
from polygpu.support.files import write_files
from polygpu.tune.evaluate import Evaluation
from polygpu.tune.plan import Plan
from polygpu.tune.running import Runner
from polygpu.tune.subjects import Subject

Head: TypeAlias = Mapping[str, Any]
_FIRST = "polygpu tune"


@dataclass
class Log:
    """Evaluations by kernel and number; new ones are written behind them."""

    file: IO[str]
    known: dict[tuple[str, int], Evaluation] = field(default_factory=dict)

    def write(self, s: Subject, made: Evaluation) -> None:
        where = {"kernel": s.kernel, "region": s.region, "nest": s.place}
        self.file.write(json.dumps(where | made.record()) + "\n")
        self.file.flush()


def head_of(plan: Plan, made: Compilation, found: Iterable[Subject], runner: Runner | None = None) -> Head:
    """All that evaluations and their order depend on, but how many there are: a search can be made longer."""
    asked = made.options
    language = (asked.defines, asked.undefines, asked.include_files, asked.std, asked.assume_no_alias)
    decided = (asked.decisions, asked.replayed, asked.assume)
    return {
        _FIRST: __version__,
        "source": _digest(sorted(made.sources.items())),
        "options": _digest((language, decided)),
        "device": f"{made.device.title}, {_digest(made.device)}",
        "evaluation": _ran(runner) if runner else "model",
        "sizes": {s.kernel: dict(sorted(s.chooser.sizes.items())) for s in found},
        "strategy": plan.strategy,
        "seed": plan.seed,
        "pruned": asdict(plan.limits),
    }


def _ran(by: Runner) -> Head:
    runs = by.runs
    read = _digest(runs.stdin.read_bytes()) if runs.stdin else ""
    return {
        "target": runs.recipe.target,
        "on": by.hardware,
        "arguments": runs.arguments,
        "input": read,
        "flags": runs.recipe.extra,
        "times": runs.times,
        "tolerance": runs.tolerance,
    }


def _digest(it: object) -> str:
    return sha256(repr(it).encode("utf-8", "surrogateescape")).hexdigest()[:16]


@contextmanager
def opened(path: Path, head: Head) -> Iterator[Log]:
    """The log at `path`, made where there is none.

    Raises Diagnosed where it cannot be written, for a log of another search, and for what is no log. What is
    behind its last end of a line was being written when the search was ended, and is dropped.
    """
    with writing():
        if not path.exists() or not path.stat().st_size:
            write_files({path: json.dumps(head) + "\n"})
        whole = path.read_bytes()
        kept = whole[: whole.rfind(b"\n") + 1]
        known = _read(path, kept.decode("utf-8", "replace").splitlines(), head)
        if kept != whole:
            write_files({path: kept.decode("utf-8", "surrogateescape")})
        file = path.open("a", encoding="utf-8")
    with file:
        yield Log(file, known)


def _read(path: Path, lines: list[str], head: Head) -> dict[tuple[str, int], Evaluation]:
    _check_head(path, _parsed(path, lines, 0), head)
    found: dict[tuple[str, int], Evaluation] = {}
    for number in range(1, len(lines)):
        line = _parsed(path, lines, number)
        try:
            made = Evaluation(
                int(line["number"]), line["decisions"], line.get("seconds", inf), line.get("pruned", "")
            )
            found[line["kernel"], made.number] = made
        except (KeyError, ValueError):
            raise _no_log(path, number + 1) from None
    return found


def _parsed(path: Path, lines: list[str], number: int) -> dict[str, Any]:
    try:
        line = json.loads(lines[number])
    except (IndexError, ValueError):
        raise _no_log(path, number + 1) from None
    if not isinstance(line, dict) or (number == 0 and _FIRST not in line):
        raise _no_log(path, number + 1)
    return line


def _no_log(path: Path, line: int) -> Diagnosed:
    return Diagnosed(
        error("PG915", f"{path} is no log of `polygpu tune`: line {line} is none of its lines", _ELSEWHERE)
    )


_ELSEWHERE = "name another file with --log; it is made where there is none"


def _check_head(path: Path, found: Head, head: Head) -> None:
    other = [key for key in head if found.get(key) != json.loads(json.dumps(head[key]))]
    if other:
        was = ", ".join(f"{key} {json.dumps(found.get(key))}" for key in other)
        now = ", ".join(json.dumps(head[key]) for key in other)
        text = f"{path} is the log of another search: {was}, and not {now}"
        raise Diagnosed(error("PG915", text, f"{_ELSEWHERE}, or remove it"))
