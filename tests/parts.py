"""The emulator's runtime, which takes gcc longer than the kernels after it, compiled once for many files.

Each file for the emulator has the same static functions before its kernels. Here they become a file of their
own, with external linkage, and declarations in the file of the kernels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

SUFFIX = "_emulator.c"
_RUNTIME = "/* The emulated chip. "  # begins with this comment
_KERNELS = re.compile(
    r"^(?:/\* (?:.*\n \* )+\d+ x \d+ x \d+ threads\.$|static polygpu_kernel )", re.MULTILINE
)
_INTERNAL = re.compile(r"^((?:POLYGPU_\w+ )*)static (?:inline )?", re.MULTILINE)
_NAME = r"[a-zA-Z_][^;={}#]*"
_FUNCTION = re.compile(rf"^({_NAME}\))\n{{\n.*?^}}\n", re.MULTILINE | re.DOTALL)
_VARIABLE = re.compile(
    r"^static ((?:struct \{\n[^{}]*\n\} )?[^;={}()#]*?)(?: = [^;]*)?;", re.MULTILINE
)  # of any type that is no function's


class Parts(NamedTuple):
    runtime: str
    kernels: str


def parts(text: str) -> Parts | None:
    """Of a file for the emulator, two that make the same program; None where it is no such file."""
    start = text.find(_RUNTIME)
    if start < 0 or not (end := _KERNELS.search(text, start)):
        return None
    before, runtime, after = text[:start], text[start : end.start()], text[end.start() :]
    directives = "\n".join(line for line in before.splitlines() if line.startswith("#"))
    declared = _FUNCTION.sub(r"\1;\n", _VARIABLE.sub(r"extern \1;", runtime))
    external = [_INTERNAL.sub(r"\1", part) for part in (runtime, declared)]
    return Parts(f"{directives}\n{external[0]}", before + external[1] + after)


def in_parts(words: Sequence[str], folder: Path, call: Callable[[Sequence[str]], object]) -> tuple[str, ...]:
    """The command to build a program or an object, with the runtime of its emulator file already compiled.

    It is another command only where gcc does not optimise: else whole files make other programs than parts.
    `call` executes what compiles the runtime, a little optimised: few devices have one, and all programs run
    for the most part there. Files are written into `folder`.
    """
    sources = [word for word in words if word.endswith(SUFFIX)]
    flags = tuple(word for word in words if word.startswith("-") and not word.startswith(("-o", "-l")))
    plain = [word for word in words if not word.startswith("-") and not word.endswith((".c", ".o"))]
    level = [word for word in ("-O0", *flags) if word.startswith("-O")][-1]
    output = words[words.index("-o") + 1] if "-o" in words else ""
    others = [word for word in plain[1:] if word != output and not Path(word).is_dir()]
    if words[0] not in ("gcc", "cc") or not output or others or len(sources) != 1 or level != "-O0":
        return tuple(words)
    source = Path(sources[0])
    if not (found := parts(source.read_text())):
        return tuple(words)
    runtime, kernels = folder / "runtime.c", folder / source.name
    runtime.write_text(found.runtime)
    kernels.write_text(found.kernels)
    own = [flag for flag in flags if flag not in ("-c", "-I", "-iquote")]  # it includes the system's headers
    call((words[0], *own, "-Og", "-c", str(runtime), "-o", f"{runtime}.o"))
    linked = {sources[0]: (str(kernels),), "-c": ("-r", "-nostdlib")}  # -r: an object of two
    return (*(w for word in words for w in linked.get(word, (word,))), f"{runtime}.o")
