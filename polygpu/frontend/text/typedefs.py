"""Typedef names that the user's text takes from system headers, without parsing these."""

from __future__ import annotations

import re

# What begins with a literal word is found many times faster than what begins with its boundary.
_SIMPLE = re.compile(r"typedef(?<=\btypedef)\s+([\w\s*]*[\s*])(\w+)\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?;")
_FUNCTION = re.compile(r"typedef(?<=\btypedef)\s[^;{}]*?\(\s*\*?\s*(\w+)\s*\)\s*\([^;]*;")
_ARRAY = re.compile(r"typedef(?<=\btypedef)\s+[\w\s*]*[\s*](\w+)\s*\[[^;{}]*;")
_BRACED = re.compile(r"\}\s*(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)\s*(?:\[[^;{}]*)?;")
_WORD = re.compile(r"[A-Za-z_]\w*")
_KEYWORDS = frozenset(
    "char short int long float double void signed unsigned const volatile struct union enum _Bool "
    "_Complex __int128 restrict _Atomic".split()
)

# The standard's own typedefs on LP64, for use where no system header can be read.
STANDARD = {
    "size_t": "unsigned long", "ssize_t": "long", "ptrdiff_t": "long", "intptr_t": "long",
    "uintptr_t": "unsigned long", "intmax_t": "long", "uintmax_t": "unsigned long", "off_t": "long",
    "int8_t": "signed char", "int16_t": "short", "int32_t": "int", "int64_t": "long",
    "uint8_t": "unsigned char", "uint16_t": "unsigned short", "uint32_t": "unsigned int",
    "uint64_t": "unsigned long", "int_fast8_t": "signed char", "int_fast16_t": "long",
    "int_fast32_t": "long", "int_fast64_t": "long", "uint_fast8_t": "unsigned char",
    "uint_fast16_t": "unsigned long", "uint_fast32_t": "unsigned long", "uint_fast64_t": "unsigned long",
    "time_t": "long", "clock_t": "long", "wchar_t": "int", "FILE": "struct polygpu_FILE",
    "va_list": "int", "div_t": "struct polygpu_div_t", "jmp_buf": "int", "double_t": "double",
    "float_t": "float",
}  # fmt: skip

_COMPILER = {
    "__builtin_va_list": "int", "_Float32": "float", "_Float64": "double", "_Float32x": "double",
    "_Float64x": "long double", "_Float128": "long double", "__float128": "long double", "bool": "_Bool",
    "_Float16": "long double", "__bf16": "long double",
}  # fmt: skip


def prelude(words: set[str], system_text: str | None) -> str:
    """One line of typedefs for those of `words` that are system types; None for no headers read."""
    if system_text is None:
        known = _COMPILER | STANDARD
        return " ".join(f"typedef {known[word]} {word};" for word in sorted(words & known.keys()))
    known = _COMPILER | _typedefs(system_text)
    done: dict[str, str] = {}
    for word in sorted(words & known.keys()):
        _define(word, known, done)
    return " ".join(done.values())


def _typedefs(text: str) -> dict[str, str]:
    """Underlying types by name; what is no plain type is stood for by an incomplete structure."""
    names = (*_BRACED.findall(text), *_ARRAY.findall(text))
    found = {name: f"struct polygpu_{name}" for name in names}
    found |= dict.fromkeys(_FUNCTION.findall(text), "void *")
    found |= {name: " ".join(body.split()) for body, name in _SIMPLE.findall(text)}
    return found


def _define(name: str, known: dict[str, str], done: dict[str, str]) -> None:
    """Adds the typedef of `name` to `done`, those that it needs first."""
    if name in done:
        return
    body = known[name]
    done[name] = ""
    words = _WORD.findall(body)
    tag = words and words[-1] if words[:1] and words[0] in ("struct", "union", "enum") else None
    for word in words:
        if word in known and word != tag:
            _define(word, known, done)
        elif word not in _KEYWORDS and word != tag:
            body = "int"
    # Dictionaries keep the place of a key that is there: put the name behind what it needs.
    del done[name]
    done[name] = f"typedef {body} {name};"
