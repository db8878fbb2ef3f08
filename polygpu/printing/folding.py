"""Line breaks in generated code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator


def folded(lines: Iterable[str], width: int = 110) -> list[str]:
    """Lines of code broken where they are longer than `width`, at the outermost operator or comma."""
    return [part for line in lines for part in _fold(line, width)]


def _fold(line: str, width: int) -> list[str]:
    code = line.lstrip()
    indent = " " * (len(line) - len(code))
    if len(line) <= width or code.startswith(("//", "#")):
        return [line]
    found = _breaks(line[:width])  # what comes behind that is looked at when it is in the next line
    places = [(depth, -place) for place, depth in found if len(indent) + 16 < place < width]
    if not places:
        return [line]
    place = -min(places)[1]
    return [line[:place].rstrip(), *_fold(f"{indent}    {line[place:].lstrip()}", width)]


def _breaks(line: str) -> Iterator[tuple[int, int]]:
    """Places after a comma, a semicolon or an operator between spaces, with their depth in brackets."""
    depth = 0
    for match in re.finditer(r"[(\[{]|[)\]}]|[,;] | (?:&&|\|\||[-+*/?:=<>]|<=|>=|==|!=) ", line):
        token = match.group()
        if token in "([{":
            depth += 1
        elif token in ")]}":
            depth -= 1
        elif token.strip() not in ("<", ">", "<=", ">=", "==", "!="):
            yield match.end(), depth
