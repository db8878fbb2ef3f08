"""Preprocessing without a C compiler: pcpp, with the standard headers' macros built in."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TextIO, TypeAlias

from pcpp.parser import Action, OutputDirective
from pcpp.preprocessor import Preprocessor

from polygpu.frontend.options import FrontendOptions

Report: TypeAlias = Callable[[str, int, bool, str], None]

COMMAND_LINE = "<command-line>"

_NULL = {"NULL": "((void *)0)"}
_FLOATS = {
    "FLT_MAX": "3.40282347e+38F", "FLT_MIN": "1.17549435e-38F", "FLT_EPSILON": "1.19209290e-07F",
    "DBL_MAX": "1.7976931348623157e+308", "DBL_MIN": "2.2250738585072014e-308",
    "DBL_EPSILON": "2.2204460492503131e-16",
}  # fmt: skip
_LIMITS = {
    "CHAR_BIT": "8", "SCHAR_MIN": "(-128)", "SCHAR_MAX": "127", "UCHAR_MAX": "255",
    "CHAR_MIN": "(-128)", "CHAR_MAX": "127", "SHRT_MIN": "(-32768)", "SHRT_MAX": "32767",
    "USHRT_MAX": "65535", "INT_MIN": "(-2147483647 - 1)", "INT_MAX": "2147483647",
    "UINT_MAX": "4294967295U", "LONG_MIN": "(-9223372036854775807L - 1L)",
    "LONG_MAX": "9223372036854775807L", "ULONG_MAX": "18446744073709551615UL",
}  # fmt: skip
_INTEGERS = {
    "INT8_MAX": "127", "INT16_MAX": "32767", "INT32_MAX": "2147483647", "INT64_MAX": "9223372036854775807L",
    "INT8_MIN": "(-128)", "INT16_MIN": "(-32768)", "INT32_MIN": "(-2147483647 - 1)",
    "INT64_MIN": "(-9223372036854775807L - 1L)", "UINT8_MAX": "255", "UINT16_MAX": "65535",
    "UINT32_MAX": "4294967295U", "UINT64_MAX": "18446744073709551615UL",
    "SIZE_MAX": "18446744073709551615UL",
}  # fmt: skip
_MATH = {
    "M_E": "2.7182818284590452354", "M_PI": "3.14159265358979323846", "M_PI_2": "1.57079632679489661923",
    "M_PI_4": "0.78539816339744830962", "M_1_PI": "0.31830988618379067154",
    "M_2_PI": "0.63661977236758134308", "M_SQRT2": "1.41421356237309504880",
    "M_SQRT1_2": "0.70710678118654752440", "M_LN2": "0.69314718055994530942",
    "M_LN10": "2.30258509299404568402", "M_LOG2E": "1.4426950408889634074",
    "INFINITY": "(__builtin_inff())", "HUGE_VAL": "(__builtin_huge_val())", "NAN": '(__builtin_nanf(""))',
}  # fmt: skip
_FORMATS = {
    f"PRI{letter}{bits}": f'"{length}{letter}"'
    for bits, length in (("32", ""), ("64", "l"))
    for letter in "diux"
}
STANDARD_MACROS: dict[str, dict[str, str]] = {
    "assert.h": {"assert(x)": "((void)0)", "static_assert": "_Static_assert"},
    "complex.h": {
        "complex": "_Complex",
        "_Complex_I": "1.0iF",
        "I": "1.0iF",
        "CMPLX(x,y)": "__builtin_complex((double) (x), (double) (y))",
        "CMPLXF(x,y)": "__builtin_complex((float) (x), (float) (y))",
    },
    "float.h": _FLOATS,
    "inttypes.h": _INTEGERS | _FORMATS,
    "limits.h": _LIMITS,
    "locale.h": _NULL,
    "math.h": _MATH,
    "stdbool.h": {"bool": "_Bool", "true": "1", "false": "0"},
    "stddef.h": _NULL,
    "stdint.h": _INTEGERS,
    "stdio.h": _NULL | {"EOF": "(-1)"},
    "stdlib.h": _NULL | {"EXIT_SUCCESS": "0", "EXIT_FAILURE": "1", "RAND_MAX": "2147483647"},
    "string.h": _NULL,
    "sys/time.h": _NULL,
    "time.h": _NULL | {"CLOCKS_PER_SEC": "((clock_t) 1000000)"},
    "unistd.h": _NULL,
    "wchar.h": _NULL,
}

# Headers whose macros are not needed to understand a loop.
OTHER_HEADERS = frozenset(
    f"{name}.h"
    for name in (
        "alloca ctype dirent errno fcntl fenv getopt libgen malloc memory omp pthread sched setjmp signal "
        "stdalign stdarg stdatomic stdnoreturn strings sys/mman sys/resource sys/stat sys/types sys/wait "
        "tgmath threads uchar wctype"
    ).split()
)

_MACRO = re.compile(r"(\w+(?:\([^)]*\))?)(?:=(.*))?$", re.DOTALL)


class _Pure(Preprocessor):  # type: ignore[misc]
    """Reports through `report`; standard headers that -I does not provide are built in."""

    def __init__(self, report: Report, directories: Sequence[str]) -> None:
        super().__init__()
        self.report = report
        self.directories = directories
        self.names: dict[str, str] = {}
        self.assume_encoding = "utf-8"

    def name_of(self, absolute: str) -> str:
        """The file as the user would name it."""
        if absolute not in self.names:
            self.names[absolute] = self._nearest(absolute)
        return self.names[absolute]

    def _nearest(self, absolute: str) -> str:
        """In terms of the directory that it was found in, as compilers do."""
        for directory in self.directories:
            above = os.path.normpath(Path(directory).absolute()) + os.sep
            if absolute.startswith(above):
                return str(Path(directory) / absolute.removeprefix(above))
        return absolute

    def on_error(self, file: str, line: int, msg: str) -> None:
        self.report(self.name_of(file), line, False, msg)

    def on_file_open(self, is_system_include: bool, includepath: str) -> Any:
        file = Path(includepath).open(encoding="utf-8", errors="surrogateescape")  # noqa: SIM115 (pcpp closes it)
        self.name_of(includepath)
        return file

    def on_include_not_found(self, is_malformed: bool, is_system: bool, directory: str, path: str) -> None:
        if (path in STANDARD_MACROS or path in OTHER_HEADERS) and not is_malformed:
            for name, value in STANDARD_MACROS.get(path, {}).items():
                self.define(f"{name} {value}")
        else:
            text = "malformed #include" if is_malformed else f"{path}: No such file or directory"
            self.on_error(self.lastdirective.source, self.lastdirective.lineno, text)
        raise OutputDirective(Action.IgnoreAndRemove)

    def on_directive_unknown(self, directive: Any, toks: Any, ifpassthru: bool, precedingtoks: Any) -> Any:
        if directive.value in ("error", "warning"):
            text = "#" + directive.value + " " + "".join(t.value for t in toks).strip()
            self.report(self.name_of(directive.source), directive.lineno, directive.value == "warning", text)
            return True
        return None

    def on_comment(self, tok: Any) -> bool:
        """Comments become blanks that keep the columns behind them."""
        return False


def run(path: str, text: str, options: FrontendOptions, out: TextIO, report: Report) -> None:
    """Writes the preprocessed `text` with linemarkers to `out`; errors go to `report`."""
    directories = [*options.include_dirs, str(Path(path).parent)]
    preprocessor = _Pure(report, sorted(directories, key=len, reverse=True))
    preprocessor.names[os.path.normpath(Path(path).absolute())] = path
    for directory in options.include_dirs:
        preprocessor.add_path(directory)
    if not options.include_dirs:
        preprocessor.add_path(str(Path(path).parent))
    preprocessor.rewrite_paths = []  # add_path adds one a directory; `name_of` does it better
    for definition in options.defines:
        if match := _MACRO.match(definition):
            preprocessor.define(f"{match[1]} {match[2] if match[2] is not None else '1'}")
    for name in options.undefines:
        preprocessor.undef(name)
    forced = "".join(f'#include "{file}"\n' for file in options.includes)
    try:
        _write(preprocessor, forced, COMMAND_LINE, out)
        _write(preprocessor, text.replace("\r\n", "\n"), path, out)
    except Exception as error:  # noqa: BLE001 (pcpp has no exception of its own for malformed input)
        report(path, 1, False, f"cannot preprocess this file without a C compiler ({error})")
    out.writelines(f'\n# 1 "{_quoted(opened)}"\n' for opened in preprocessor.names.values())


def _write(preprocessor: _Pure, text: str, source: str, out: TextIO) -> None:
    preprocessor.parse(text, source)
    place: tuple[str, int] | None = None
    while (token := preprocessor.token()) is not None:
        here = (preprocessor.name_of(token.source or source), token.lineno)
        if here != place and token.value.strip():
            out.write(f'\n# {here[1]} "{_quoted(here[0])}"\n')
            place = here
        out.write(token.value)
        if place is not None:
            place = (place[0], place[1] + token.value.count("\n"))


def _quoted(name: str) -> str:
    return name.replace("\\", "\\\\").replace('"', '\\"')
