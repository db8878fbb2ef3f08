"""`python -m tests`: every check of the project, then a summary of what could not be checked here.

Arguments go to pytest: `python -m tests -m slow` runs the long checks.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
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
        "fuzzing": (*python, "tests.fuzz", *"--programs 20 --seed 1 --jobs 2 --batch 2 --shrink 0".split()),
        "pytest": (
            *python,
            "pytest",
            "-n",
            "3",  # on two processors: one waits for compilers and programs now and then
            "--dist=worksteal",
            "--durations=5",
            "-q",
            *pytest_arguments,
        ),
    }


def main() -> int:
    """The exit status: whether any failed."""
    # hundreds of processes load the package: compiled once, as pip leaves it, it takes half the time
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    *others, tests = checks(sys.argv[1:]).items()
    with ThreadPoolExecutor(len(others)) as pool:  # beside the tests: no processor waits for the last of them
        running = [pool.submit(report, check) for check in others]
        print(f"== {tests[0]}", flush=True)
        status = subprocess.run(tests[1], cwd=ROOT, check=False).returncode
        results = [*(future.result() for future in running), (tests[0], status)]
    failed = [name for name, status in results if status]
    if failed:
        print(f"== failed: {', '.join(failed)}", flush=True)
    return int(bool(failed))


def report(check: tuple[str, tuple[str, ...]]) -> tuple[str, int]:
    """Runs a check beside others, and prints what it says in one go, maybe among the dots of pytest; its name
    and exit status.
    """
    (name, command), start = check, time.monotonic()
    done = subprocess.run(
        command, cwd=ROOT, check=False, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    result = "FAILED" if done.returncode else "ok"
    print(f"== {name}\n{done.stdout}   {result}, {time.monotonic() - start:.1f} s", flush=True)
    return name, done.returncode


if __name__ == "__main__":
    sys.exit(main())
