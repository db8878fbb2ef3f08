"""From preprocessed text to what pycparser can parse, with the way back to the source.

Everything that came out of system headers is cut, but for typedefs that the user's text needs; GNU
extensions are blanked out or respelled. Lines keep their tokens; `Clean.places` says where they came from.
"""

from __future__ import annotations

import re

from polygpu.frontend.text.preprocess import Preprocessed
from polygpu.frontend.text.typedefs import prelude
from polygpu.support.dataclass import dataclass

_MARKER = re.compile(r'^#(?:line)? *(\d+) "((?:[^"\\\n]|\\.)*)"([ \d]*)$', re.MULTILINE)

_RESPELLED = {
    "__restrict__": "restrict", "__restrict": "restrict", "__inline__": "inline", "__inline": "inline",
    "__const__": "const", "__const": "const", "__volatile__": "volatile", "__volatile": "volatile",
    "__signed__": "signed", "__signed": "signed", "__alignof__": "_Alignof", "__alignof": "_Alignof",
    "__thread": "_Thread_local", "__extension__": "", "__builtin_offsetof": "offsetof",
    "__typeof__": "typeof", "__typeof": "typeof", "__cdecl": "", "__stdcall": "",
}  # fmt: skip
_BALANCED = ("__attribute__", "__attribute", "__declspec", "__asm__", "__asm", "asm")
_SPECIAL = ("va_arg", "__builtin_va_arg", "__builtin_types_compatible_p")
_IMAGINARY = r"(?<![\w.])(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?[fFlL]?[iIjJ][fFlL]?\b"
_SCAN = re.compile(
    _IMAGINARY + r'|"(?:[^"\\\n]|\\.)*"|'
    r"'(?:[^'\\\n]|\\.)*'|[{}]|\b(?:"
    + "|".join(sorted((*_RESPELLED, *_BALANCED, *_SPECIAL), key=len, reverse=True))
    + r")\b"
)
_PAREN = re.compile(r'"(?:[^"\\\n]|\\.)*"|' r"'(?:[^'\\\n]|\\.)*'|[(),]")
# A region that is the branch of an if without braces: no parser of C takes the pragma before the else.
_BEFORE_ELSE = re.compile(
    r"(\n[ \t]*#[ \t]*pragma[ \t]+scop\b(?:(?!pragma[ \t]+scop\b)[\s\S])*?"
    r"#[ \t]*pragma[ \t]+endscop\b[^\n]*\n\s*)(else\b)"
)
_WORD = re.compile(r"[A-Za-z_]\w*")

INLINE_ASSEMBLY = "__asm__"


@dataclass(frozen=True, slots=True)
class Attribute:
    """A GNU attribute that was hidden, and the line of the clean text (from 1) that it belongs to."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Clean:
    """`places[k]` is the (file, line) of line k + 1 of `text`; ("", 0) for the prelude."""

    text: str
    places: tuple[tuple[str, int], ...]
    attributes: tuple[Attribute, ...]
    files: tuple[str, ...]
    system_files: tuple[str, ...]


@dataclass(slots=True)
class _Line:
    file: str
    number: int
    text: str


def clean(preprocessed: Preprocessed, path: str) -> Clean:
    """`path` is the main source's name, also when it holds nothing."""
    segments = _segments(preprocessed.text, path)
    own = {file: None for file, _, system, _ in segments if not system and not file.startswith("<")}
    every = {file: None for file, _, _, _ in segments if not file.startswith("<") and not file.endswith("//")}
    lines: list[_Line] = []
    system_text = []
    for file, number, system, body in segments:
        # A macro of a system header that is used in the user's file is marked as system text too.
        if file in own:
            _append(lines, file, number, body)
        elif system:
            system_text.append(body)
    text, attributes = _hide("\n".join(line.text for line in lines))
    text = _BEFORE_ELSE.sub(r" {\1} \2", text)
    words = set(_WORD.findall(text))
    head = prelude(words, "".join(system_text) if preprocessed.system else None)
    return Clean(
        text=f"{head}\n{text}\n",
        places=(("", 0), *((line.file, line.number) for line in lines)),
        attributes=tuple(Attribute(a.line + 1, a.text) for a in attributes),
        files=(path, *(file for file in own if file != path and not file.endswith("//"))),
        system_files=tuple(file for file in every if file not in own),
    )


def _segments(text: str, path: str) -> list[tuple[str, int, bool, str]]:
    """(file, first line, from a system header, text) between linemarkers."""
    marks = list(_MARKER.finditer(text))
    if not marks:
        return [(path, 1, False, text)]
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    return [
        (_unquoted(mark[2]), int(mark[1]), "3" in mark[3].split(), text[mark.end() + 1 : end])
        for mark, end in zip(marks, ends, strict=True)
    ]


def _unquoted(name: str) -> str:
    return re.sub(r"\\(.)", r"\1", name)


def _append(lines: list[_Line], file: str, number: int, body: str) -> None:
    """Adds the non-blank lines; pieces of one source line, split by linemarkers, are joined again."""
    for text in body.split("\n"):
        if text.strip():
            last = lines[-1] if lines else None
            directive = text.lstrip().startswith("#")
            joined = last is not None and (last.file, last.number) == (file, number) and not directive
            if joined and last is not None and not last.text.lstrip().startswith("#"):
                last.text += " " + text.strip()
                number += 1
                continue
            lines.append(_Line(file, number, text.rstrip("\r")))
        number += 1


def _hide(text: str) -> tuple[str, list[Attribute]]:
    """Blanks or respells GNU extensions, keeping columns where the new spelling is not longer."""
    pieces: list[str] = []
    attributes: list[Attribute] = []
    done = depth = 0
    for match in _SCAN.finditer(text):
        word, start = match[0], match.start()
        if start < done:
            continue
        if word in "{}":
            depth += 1 if word == "{" else -1
            continue
        if word[0] in "\"'":
            continue
        end, replacement = match.end(), word
        if word[0] in "0123456789.":
            real = re.sub("[iIjJ]", "", word)  # a call as any other, where no constant is imaginary
            replacement = f"__builtin_complex({'0' if real.isdecimal() else '0.0f'}, {real})"
        elif word in _RESPELLED:
            replacement = _RESPELLED[word]
        elif word in _BALANCED:
            end = _closing(text, _behind_qualifiers(text, end))
            statement = (
                "asm" in word and depth > 0 and text[:start].rstrip()[-1:] in (";", "{", "}", ")", ":")
            )
            replacement = f"{INLINE_ASSEMBLY}()" if statement else ""
            if "asm" not in word:
                attributes.append(Attribute(_owner_line(text, start), text[start:end]))
        else:
            end = _closing(text, end)
            replacement = _special(word, text[match.end() : end])
        pieces += [text[done:start], _padded(replacement, text[start:end])]
        done = end
    return "".join(pieces) + text[done:], attributes


def _owner_line(text: str, offset: int) -> int:
    """The line of what an attribute belongs to: after the brace of a structure, its last member."""
    if text[:offset].rstrip().endswith("}"):
        offset = max(text.rfind(";", 0, offset), 0)
    return text.count("\n", 0, offset) + 1


def _behind_qualifiers(text: str, offset: int) -> int:
    """Skips `volatile`, `inline` and `goto` in front of the parenthesis of an asm statement."""
    match = re.compile(r"(?:\s*\b(?:__volatile__|__volatile|volatile|__inline__|inline|goto)\b)*").match(
        text, offset
    )
    return match.end() if match else offset


def _closing(text: str, offset: int) -> int:
    """The offset after the parenthesis that closes the one at `offset` (blanks skipped), or `offset`."""
    opening = re.compile(r"\s*\(").match(text, offset)
    if not opening:
        return offset
    depth = 0
    for match in _PAREN.finditer(text, opening.end() - 1):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
    return offset


def _special(word: str, arguments: str) -> str:
    """Built-ins with types as arguments, as an expression of the same kind."""
    if word == "__builtin_types_compatible_p":
        return "0"
    depth, comma = 0, -1
    for match in _PAREN.finditer(arguments):
        depth += {"(": 1, ")": -1}.get(match[0], 0)
        if match[0] == "," and depth == 1:
            comma = match.end()
    return f"(*({arguments[comma:].rstrip()[:-1].strip()} *) 0)" if comma >= 0 else word + arguments


def _padded(replacement: str, original: str) -> str:
    """`replacement` with the line breaks of `original`, and as wide as it where it can be."""
    blank = re.sub(r"[^\n]", " ", original)
    first = blank.split("\n", 1)[0]
    return replacement.replace("\n", " ").ljust(len(first)) + blank[len(first) :]
