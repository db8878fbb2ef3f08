"""Names that mean something in generated files, whatever the target: a user's own function is renamed there.

They are those that the model gives a meaning (`floord`), the functions and types that CUDA C++ and OpenCL C
define, what the headers of the generated files declare or may declare, and what polygpu makes itself.
"""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import NamedTuple

from polygpu.frontend.names import mathematics

_OTHER_TYPES = re.compile(r"(?:f|l|f16|f32|f64|f128|f32x|f64x)$")


class _Reserved(NamedTuple):
    words: frozenset[str]
    mathematics: frozenset[str]
    families: re.Pattern[str]


@cache
def _reserved() -> _Reserved:
    """Few files have functions that could be renamed."""
    kinds = tomllib.loads(Path(__file__).with_name("reserved.toml").read_text("utf-8"))
    words = frozenset(" ".join(kinds[kind] for kind in ("model", "library", "device")).split())
    known = frozenset(kinds["mathematics"].split()) | frozenset(mathematics.FUNCTIONS)
    return _Reserved(words, known, re.compile("|".join(kinds["families"])))


def device_name(name: str) -> str:
    """The name of a user's function in generated files: distinct functions have distinct names."""
    return f"user_{name}" if is_taken(name) else name


def is_taken(name: str) -> bool:
    """Whether a generated file may give the name another meaning."""
    reserved = _reserved()
    bases = {name, _OTHER_TYPES.sub("", name)} & reserved.mathematics
    return name in reserved.words or bool(bases or reserved.families.fullmatch(name))
