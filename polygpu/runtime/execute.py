"""Runs a built program."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

from polygpu.runtime.errors import error
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed


@dataclass(frozen=True, slots=True)
class Execution:
    """`status` is the exit status as a shell gives it (128 + signal); outputs are empty unless captured."""

    status: int
    stdout: bytes
    seconds: float
    stderr: bytes = b""


def run_program(
    program: Path,
    arguments: tuple[str, ...] = (),
    *,
    capture: bool = False,
    stdin: Path | None = None,
    environment: Mapping[str, str] | None = None,
    timeout: float | None = None,
    errors: bool = False,
    output: TextIO | None = None,
) -> Execution:
    """Runs `program` in the current directory, reading `stdin` (its own standard input when that is None).

    It prints on `output`, its own standard output when that is None.
    A captured run reads nothing when `stdin` is None, so that two runs see the same. `errors` captures its
    standard error too. Raises Diagnosed (PG904)
    when the program cannot be started or runs for over `timeout` seconds.
    """
    start = time.perf_counter()
    try:
        with (stdin or Path(os.devnull)).open("rb") as source:
            result = subprocess.run(
                (str(program), *arguments),
                stdin=source if capture or stdin else None,
                stdout=subprocess.PIPE if capture else output,
                stderr=subprocess.PIPE if errors else None,
                env={**os.environ, **(environment or {})},
                timeout=timeout,
                check=False,
            )
    except subprocess.TimeoutExpired:
        text = f"{program.name} did not end within {timeout:g} s"
        raise Diagnosed(error("PG904", text, "use a smaller problem size or a longer --timeout")) from None
    except OSError as problem:
        raise Diagnosed(error("PG904", f"cannot run {problem.filename}: {problem.strerror}")) from problem
    status = result.returncode if result.returncode >= 0 else 128 - result.returncode
    return Execution(status, result.stdout or b"", time.perf_counter() - start, result.stderr or b"")
