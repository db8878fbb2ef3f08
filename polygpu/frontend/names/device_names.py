"""Names that mean something in generated files, whatever the target: a user's own function is renamed there.

They are those that the model gives a meaning (`floord`), the functions and types that CUDA C++ and OpenCL C
define, what the headers of the generated files declare or may declare, and what polygpu makes itself.
"""

from __future__ import annotations

import re
import tomllib
from importlib import resources

from polygpu.frontend.names import mathematics

_RESERVED = tomllib.loads(resources.files(__package__).joinpath("reserved.toml").read_text("utf-8"))
_WORDS = frozenset(" ".join(_RESERVED[kind] for kind in ("model", "library", "device")).split())
_MATHEMATICS = frozenset(_RESERVED["mathematics"].split()) | frozenset(mathematics.FUNCTIONS)
_FAMILIES = re.compile("|".join(_RESERVED["families"]))
_OTHER_TYPES = re.compile(r"(?:f|l|f16|f32|f64|f128|f32x|f64x)$")


def device_name(name: str) -> str:
    """The name of a user's function in generated files: distinct functions have distinct names."""
    return f"user_{name}" if is_taken(name) else name


def is_taken(name: str) -> bool:
    """Whether a generated file may give the name another meaning."""
    bases = {name, _OTHER_TYPES.sub("", name)} & _MATHEMATICS
    return name in _WORDS or bool(bases or _FAMILIES.fullmatch(name))
