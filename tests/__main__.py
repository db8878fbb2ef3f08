"""`python -m tests`: every check of the project, then a summary of what could not be checked here.

Arguments go to pytest: `python -m tests -m slow` runs the long checks.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHON_FILES = ("polygpu", "tests", "benchmarks")


def tool(name: str, *arguments: str) -> tuple[str, ...]:
    """A console script of the running interpreter's environment."""
    return (str(Path(sys.executable).with_name(name)), *arguments)


def checks(pytest_arguments: list[str]) -> dict[str, tuple[str, ...]]:
    """Each check's command; pytest comes last, so that its summary closes the output."""
    python = (sys.executable, "-m")
    return {
        "ruff check": (*python, "ruff", "check", *PYTHON_FILES),
        "ruff format": (*python, "ruff", "format", "--check", *PYTHON_FILES),
        "mypy": (*python, "mypy"),
        "import-linter": tool("lint-imports"),
        "fuzzing": (*python, "tests.fuzz", *"--minutes 1 --seed 1 --jobs 2 --shrink 0".split()),
        "pytest": (
            *python,
            "pytest",
            "-n",
            "2",
            "--dist=worksteal",
            "--durations=5",
            "-q",
            *pytest_arguments,
        ),
    }


def main() -> int:
    failed = []
    for name, command in checks(sys.argv[1:]).items():
        print(f"== {name}", flush=True)
        start = time.monotonic()
        status = subprocess.run(command, cwd=ROOT, check=False).returncode
        if status:
            failed.append(name)
        if name != "pytest":
            print(f"   {'FAILED' if status else 'ok'}, {time.monotonic() - start:.1f} s", flush=True)
    if failed:
        print(f"== failed: {', '.join(failed)}", flush=True)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
