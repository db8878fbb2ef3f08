"""The user's own C text on the device: small functions and structure definitions, in a dialect's words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from polygpu.printing.dialect import Dialect
from polygpu.printing.printer import MATH

_WORD = re.compile(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|(?<!\w)[A-Za-z_]\w*')
_CALLED = re.compile(r"\b([A-Za-z_]\w*)\s*\(")
_QUALIFIER = re.compile(r"\b(?:static|extern|inline|__inline|__inline__)\b\s*")
_TERNARY = frozenset({"fma"})
_BINARY = frozenset({"atan2", "copysign", "fdim", "fmax", "fmin", "fmod", "hypot", "pow", "remainder"})


def device_functions(texts: Iterable[str], dialect: Dialect) -> list[str]:
    """The definitions, each once, after wrappers of the math functions whose C prototype matters.

    C converts the arguments of `sqrt` to double; where a dialect overloads it for float, or has no
    `sqrtf`, the wrapper with C's prototype keeps the meaning.
    """
    unique = list(dict.fromkeys(texts))
    translated = [_function(text, dialect) for text in unique]
    called = {name for text in unique for name in _CALLED.findall(text)}
    return [_wrapper(name, dialect) for name in sorted(called) if _wrapped(name, dialect)] + translated


def device_structure(definition: str, dialect: Dialect) -> str:
    """A structure's definition, ending in a semicolon."""
    return _translated(definition, dialect, stored=True).rstrip().removesuffix(";") + ";"


def _function(text: str, dialect: Dialect) -> str:
    head, brace, body = text.partition("{")
    plain = _QUALIFIER.sub("", head) + brace + body
    return _qualified(
        _translated(plain, dialect, stored=False).strip(), dialect.maybe_unused, dialect.function
    )


def _translated(text: str, dialect: Dialect, stored: bool) -> str:
    """`text` with the words replaced that the dialect spells otherwise."""
    if dialect.long_suffix == "L":
        text = re.sub(r"\blong\s+long\b", "long", text)
        text = re.sub(r"\b(0[xX][\da-fA-F]+|\d+)([uU]?)[lL]{2}\b", r"\1\2L", text)
    booleans = dialect.stored_type("_Bool") if stored else dialect.type("_Bool")
    return _WORD.sub(lambda match: _word(match, dialect, booleans), text)


def _word(match: re.Match[str], dialect: Dialect, booleans: str) -> str:
    word = match.group()
    if word in ("restrict", "__restrict", "__restrict__"):
        return dialect.restrict
    if word == "_Bool":
        return booleans
    if not match.string[match.end() :].lstrip().startswith("("):
        return dialect.spell(word)
    return f"c_{word}" if _wrapped(word, dialect) else dialect.spell_function(word)


def _wrapped(name: str, dialect: Dialect) -> bool:
    single = name not in MATH and name.removesuffix("f") in MATH
    return name in MATH or (single and not dialect.float_functions)


def _wrapper(name: str, dialect: Dialect) -> str:
    base = name if name in MATH else name.removesuffix("f")
    ctype = "double" if name in MATH else "float"
    letters = "xyz"[: 3 if base in _TERNARY else 2 if base in _BINARY else 1]
    parameters = ", ".join(f"{ctype} {letter}" for letter in letters)
    call = f"{dialect.calls.get(base, base)}({', '.join(letters)})"
    definition = f"{ctype} c_{name}({parameters}) {{ return {call}; }}"
    return _qualified(definition, dialect.maybe_unused, dialect.function)


def _qualified(definition: str, *qualifiers: str) -> str:
    return " ".join((*filter(None, qualifiers), definition))


def floor_division(functions: Collection[str], dialect: Dialect) -> list[str]:
    """Definitions of those of the quotients rounded down that are among `functions` (divisor > 0)."""
    types = {"floord": dialect.type("int"), "floord_long": dialect.type("long long")}
    return [
        _qualified(
            f"{ctype} {name}({ctype} a, {ctype} b) {{ return (a < 0 ? a - b + 1 : a) / b; }}",
            dialect.function,
        )
        for name, ctype in types.items()
        if name in functions
    ]


_HOST_HELPERS = {
    "polygpu_min": "long long a, long long b) { return a < b ? a : b; }",
    "polygpu_max": "long long a, long long b) { return a > b ? a : b; }",
    "polygpu_floord": "long long a, long long b) { return (a < 0 ? a - b + 1 : a) / b; }",
    "polygpu_extent": "long long count) { return count > 0 ? count : 0; }",
}


def host_helpers(functions: Collection[str]) -> list[str]:
    """C definitions of those of `functions` that printed host code calls and C lacks."""
    return [f"static long long {name}({rest}" for name, rest in _HOST_HELPERS.items() if name in functions]
