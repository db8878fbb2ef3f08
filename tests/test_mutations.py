"""Broken kernels through the whole compiler: files or diagnostics, never a traceback, and soon."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest

from benchmarks import programs
from polygpu import pipeline
from polygpu.compilation import Options
from polygpu.support.diagnostics import Diagnosed
from tests.processor import at_most

MOST_SECONDS = 30.0
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
_OTHERS = "0 1 - + * / % i j n < >= 2*i i*j ( [ ] ++ A[i]".split()
_TARGETS = [("emulator", "8800gtx"), ("emulator", "h100"), ("opencl", ""), ("cuda", "h100")]


def mutant(choice: random.Random) -> str:
    """A kernel of the benchmarks with one or two tokens of its function changed."""
    source = programs.ROOT / "benchmarks" / "kernels" / f"{choice.choice(programs.kernel_names())}.c"
    text = source.read_text()
    start = text.index("kernel_")
    end = text.index("\n}\n", start)
    tokens = _TOKEN.findall(text[start:end])
    for _ in range(choice.choice((1, 1, 2))):
        place = choice.randrange(len(tokens))
        match choice.randrange(4):
            case 0:
                tokens[place] = ""
            case 1:
                tokens[place] = choice.choice(tokens)
            case 2:
                tokens[place] *= 2
            case _:
                tokens[place] = choice.choice(_OTHERS)
    return text[:start] + "".join(tokens) + text[end:]


def survive(count: int, seed: int, directory: Path) -> None:
    choice = random.Random(seed)
    file = directory / "mutant.c"
    answers = {"files": 0, "diagnostics": 0}
    for number in range(count):
        file.write_text(mutant(choice))
        target, device = choice.choice(_TARGETS)
        with at_most(MOST_SECONDS, f"mutant {number} of seed {seed}"):
            try:
                found = pipeline.compile_file(str(file), Options(target=target, device=device))
                answers["files"] += bool(found.files)
            except Diagnosed as refused:
                answers["diagnostics"] += 1
                assert all(d.message and d.id for d in refused.diagnostics)
    assert min(answers.values()) > count // 20, answers  # mutants of both kinds were tried


def test_mutated_kernels(tmp_path: Path) -> None:
    survive(60, 1, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_many_mutated_kernels(seed: int, tmp_path: Path) -> None:
    survive(200, 100 + seed, tmp_path)
