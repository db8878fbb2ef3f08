"""What can go wrong around a compilation: outputs, toolchains, builds and runs."""

from __future__ import annotations

import os
from pathlib import Path

from polygpu.support.catalogue import Entry
from polygpu.support.diagnostics import Diagnosed, Diagnostic

ENTRIES: dict[str, Entry] = {
    "PG900": Entry(
        "internal error",
        "The compiler broke one of its own rules: this is never the source's fault. Please report it with\n"
        "the source file and the traceback that --debug (or POLYGPU_DEBUG=1) prints.",
    ),
    "PG901": Entry(
        "an output file cannot be written",
        "The output is written to a temporary name in the directory of the file and then renamed, so that\n"
        "directory must exist and be writable. Nothing was written.",
    ),
    "PG902": Entry(
        "a tool is missing",
        "`polygpu run` builds programs with a C compiler, and with nvcc for CUDA. `polygpu doctor` lists\n"
        "what was looked for and how to install it.",
    ),
    "PG903": Entry(
        "the program could not be built",
        "The C compiler or nvcc refused the program; its own messages follow. When they are about a header\n"
        "or a library of yours, pass the option that your build uses (-I, -D, --cflags).",
    ),
    "PG904": Entry(
        "the program failed",
        "A program that `polygpu run` built could not be started, or did not end within --timeout.",
    ),
    "PG905": Entry(
        "the compiled program prints something else than the original",
        "`polygpu run --check` and `polygpu verify` build the original program too, run both and compare:\n"
        "numbers with a decimal point or an exponent to the relative --tolerance, everything else exactly.",
    ),
    "PG906": Entry(
        "the profile cannot be read",
        "The program did not write the JSON document that POLYGPU_PROFILE asks for, or it is malformed.\n"
        "A program that is killed or calls _exit does not write it.",
    ),
    "PG907": Entry(
        "nothing was offloaded",
        "No region of the file can run on the device; the messages before this one say why, each with its\n"
        "line. Nothing was written.",
    ),
    "PG908": Entry(
        "the compiled region computes something else than the original",
        "`polygpu verify` runs the region alone, original and compiled, on the same arrays, at small, odd\n"
        "and boundary sizes. An element that differs is a bug of the compiler: please report it\n"
        "with the source file and the options. `--decide stage=off` or another tile may avoid it meanwhile.",
    ),
    "PG909": Entry(
        "a kernel breaks a rule when it runs",
        "The emulator found a race between threads, a read of memory that nothing has written, an address\n"
        "outside of its array, or a copy that was not waited for, while `polygpu verify` ran the compiled\n"
        "region or program. The message names the access in the source. That is a bug of the compiler\n"
        "unless the original does the same: build it with `cc -fsanitize=address,undefined` to see.",
    ),
    "PG910": Entry(
        "the mapping is proved wrong",
        "The certificate of `polygpu verify` found two statement instances that the kernels run in the\n"
        "wrong order, or an access that reads something else; the message shows\n"
        "them with the values of the parameters. That is a bug of the compiler: please report it with the\n"
        "source file.",
    ),
    "PG911": Entry(
        "kernels that were proved wrong are made in a simpler way",
        "What is compiled is certified before it is written (--certify). The certificate of a region found\n"
        "something wrong, which the message names, so the region was compiled again with fewer\n"
        "optimizations, and then the certificate found nothing. What is written is right but may be slow.\n"
        "Please report it with the source file: it is a bug of the compiler.",
    ),
    "PG912": Entry(
        "kernels are proved wrong",
        "What is compiled is certified before it is written (--certify). The certificate of a region found\n"
        "something wrong even without any optimization. Nothing was written. Please report it with the\n"
        "source file: it is a bug of the compiler.",
    ),
}


def error(identity: str, message: str, help_text: str = "") -> Diagnostic:
    return Diagnostic(identity, "error", message, help=help_text)


_ELSEWHERE = "choose a place that you may write to with -o"
_ADVICE = {
    "NotADirectoryError": "{parent} is not a directory: choose another place with -o",
    "IsADirectoryError": "{path} is a directory: write `-o {path}/` to put the files into it",
    "PermissionError": _ELSEWHERE,
}


def unwritable(problem: OSError) -> Diagnosed:
    """The diagnostic for an OSError of `support.files`."""
    path = Path(str(problem.filename))
    advice = _ADVICE.get(type(problem).__name__, "free the place, or choose another with -o")
    if isinstance(problem, FileNotFoundError):
        advice = _ELSEWHERE if path.parent.is_dir() else "create the directory first: mkdir -p {parent}"
    reason = problem.strerror or os.strerror(problem.errno or 5)
    help_text = advice.format(path=path, parent=path.parent)
    return Diagnosed(error("PG901", f"cannot write {path}: {reason}", help_text))
