"""Programs that the fuzzer found wrong once, in few lines, and the fuzzer itself on a few programs.

A file of `found` says in its first lines how it is compiled; `// open: REASON` marks what is still wrong.
`--proof SECONDS` is for those whose certificates are open after any time. By default certificates are made
where they were what was wrong, and of a third of the others; of all by hand. What is said to be `slow` is
compiled by hand, too: isl takes many seconds for it, most often in vain.
"""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from polygpu.compilation import Options
from polygpu.compiler import compile_chosen
from polygpu.lower.realise import CompiledRegion
from polygpu.support.isl_idioms import slow
from tests.fuzz import compilation
from tests.fuzz.compilation import PROOF, Compiled, Message, Setup, are_well_formed, certificate, compiled
from tests.fuzz.examine import CHECKED, Batch, gcc, run
from tests.fuzz.examine import FLAGS as COMPILED
from tests.fuzz.examine import SANITIZED as ORIGINAL
from tests.fuzz.generate import program
from tests.fuzz.program import Program
from tests.fuzz.shrink import shrink
from tests.fuzz.text import source
from tests.processor import at_most
from tests.support_kernels import require_opencl

LATE = 5  # times the processor time that a certificate may need, with a second for what it always does
FOUND = sorted((Path(__file__).parent / "found").glob("*.c"))


def words_of(text: str) -> list[str]:
    return shlex.split(text.splitlines()[0].removeprefix("// flags:"))


def proof_of(text: str) -> float:
    """Seconds for the certificate of each region."""
    words = words_of(text)
    return float(words[words.index("--proof") + 1]) if "--proof" in words else PROOF


def options_of(text: str) -> Options:
    given = words_of(text)
    words = [word for word in given if word != "--reassociate"]
    values = dict(zip(words[::2], words[1::2], strict=True))
    decisions = tuple(v for k, v in zip(words[::2], words[1::2], strict=True) if k == "--decide")
    assume = tuple(v for k, v in zip(words[::2], words[1::2], strict=True) if k == "--assume")
    return Options(
        target=values["--target"],
        device=values.get("--device", ""),
        decisions=decisions,
        assume=assume,
        level=int(values.get("-O", 1)),
        reassociate="--reassociate" in given,
    )


def is_of_certificates(path: Path) -> bool:
    """Whether its first lines say that the certificate was wrong, or took too long."""
    said = path.read_text().partition("#include")[0]
    return any(word in said for word in ("certificate", "verifier", "budget"))


def takes_long(path: Path) -> bool:
    """Whether its first lines say so: it takes five seconds and more, be it at the limits of what isl may."""
    return "// slow" in path.read_text().splitlines()[:2]


def cases() -> Iterator[object]:
    """Each program, proved or not."""
    for number, path in enumerate(FOUND):
        proved = is_of_certificates(path) or number % 3 == 0
        yield pytest.param(path, proved, id=path.stem, marks=[pytest.mark.slow] if takes_long(path) else [])
        if not proved:
            yield pytest.param(path, True, id=f"{path.stem}-proved", marks=pytest.mark.slow)


def proved_in_time(regions: Sequence[CompiledRegion], seconds: float) -> bool:
    """Whether certificates of so many seconds take about as long; none may fail."""
    for region in regions:
        try:
            with at_most(LATE * slow() * (1 + seconds), "the certificate"):
                verdict = certificate(region, seconds).verdict
        except AssertionError:
            return False
        assert verdict not in ("fails", "raises")
    return True


def prove(path: str) -> None:
    """In a process of its own, which remembers nothing."""
    text = Path(path).read_text()
    assert proved_in_time(compile_chosen(path, options_of(text)).regions, proof_of(text)), "the certificate"


def check(path: Path, directory: Path, proved: bool) -> None:
    text = path.read_text()
    options = options_of(text)
    if options.target == "opencl":
        require_opencl()
    made = compile_chosen(str(path), options)
    are_well_formed(made.regions)
    if proved and not proved_in_time(made.regions, proof_of(text)):
        # a machine that stands still for a while counts that as the processor's
        again = f"from tests.fuzz.test_found import prove; prove({str(path)!r})"
        subprocess.run([sys.executable, "-c", again], cwd=Path(__file__).parents[2], check=True)
    gcc(directory, "original", ORIGINAL, [str(path)])
    for suffix, content in made.files.items():
        (directory / f"found{suffix}").write_text(content)
    if options.target == "opencl":
        gcc(directory, "program", COMPILED, ["found_host.c", "found_opencl.c"], "-lOpenCL")
    elif made.files:
        gcc(directory, "program", CHECKED, ["found_host.c", "found_emulator.c"])
    else:
        return  # nothing worth offloading
    expected, found = run(directory / "original"), run(directory / "program")
    assert expected.fine, expected.errors
    assert (found.status, found.output) == (0, expected.output), found.errors


@pytest.mark.parametrize(("path", "proved"), list(cases()))
def test_found(path: Path, proved: bool, tmp_path: Path) -> None:
    check(path, tmp_path, proved)


@pytest.mark.parametrize("said", [[], [Compiled({}, {}, (3,))]])
def test_what_goes_on_for_ever_is_ended(
    said: list[Message], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before there is an answer, or a certificate."""

    def steps(*_: object) -> Iterator[Message]:
        yield from said
        while True:
            pass

    monkeypatch.setattr(compilation, "_steps", steps)
    for name in ("HANG", "PATIENCE"):
        monkeypatch.setattr(compilation, name, 0.05)
    answer, certificates = compiled(tmp_path / "never.c", Setup("emulator", ""), ())
    assert [answer] == (said or [None])
    assert [(c.number, c.verdict) for c in certificates] == ([(3, "no end")] if said else [])


def test_programs_depend_on_their_seed_alone() -> None:
    texts = [source([program(f"{seed}:7")]) for seed in (1, 1, 2)]
    assert texts[0] == texts[1] != texts[2]


def test_a_few_programs(tmp_path: Path) -> None:
    batch = Batch([program(f"six:{k}") for k in range(6)], tmp_path)
    assert batch.valid
    batch.examine(Setup("emulator", "8800gtx"))
    assert batch.outcome.failures == []
    assert batch.outcome.counts["regions"] >= 6
    assert any(c.verdict == "holds" for c in batch.outcome.certificates)


def test_programs_without_undefined_behaviour(tmp_path: Path) -> None:
    """The originals run under the sanitizers, and not all do nothing."""
    batch = Batch([program(f"valid:{k}") for k in range(30)], tmp_path)
    assert batch.outcome.failures == []
    hashes = {line.split()[-1] for line in batch.whole.output.splitlines()}
    assert len(hashes) > 100


def test_failing_programs_become_small() -> None:
    """Whatever fails because of one store keeps that store and loses the rest."""

    def region(p: Program) -> str:
        return source([p]).split("#pragma scop")[1].split("#pragma endscop")[0]

    def fails(candidate: Program) -> bool:
        return "A1[" in region(candidate)

    start = next(p for p in (program(f"small:{k}") for k in range(100)) if fails(p))
    assert len(shown := region(shrink(start, fails, 20))) < len(region(start))
    assert shown.count(";") <= 3  # those of a loop's header, or a store alone
