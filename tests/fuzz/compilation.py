"""How a batch is compiled, and what a compilation and its certificates say, from a process of its own."""

from __future__ import annotations

import multiprocessing
import re
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import TypeAlias

from polygpu.pipeline import Compilation, CompiledRegion, Options, compile_file
from polygpu.printing.emit import emit_device
from polygpu.support.diagnostics import Diagnosed, render
from polygpu.verify.certificate import certify
from tests.fuzz.sizes import ASSUMED

DEVICES = ("8800gtx", "gtx285", "h100", "generic")
HANG = 120  # seconds for a batch to compile
PROOF = 2.0  # seconds for the certificate of a region
PATIENCE = 30  # seconds until a certificate that goes on has not kept to that
FORK = multiprocessing.get_context("fork")
_NUMBER = re.compile(r"p(\d+)_")
_TILE = re.compile(r":(tile|threads)=")


@dataclass(frozen=True)
class Setup:
    """How a batch is compiled. `decisions` name kernels of single programs by their number in the batch."""

    target: str
    device: str
    decisions: tuple[str, ...] = ()
    pragmas: bool = True
    assume: tuple[str, ...] = ()

    def options(self) -> Options:
        return Options(target=self.target, device=self.device, decisions=self.decisions, assume=self.assume)

    @property
    def assumed(self) -> dict[str, int]:
        return {name: int(value) for name, value in (a.split("=") for a in self.assume)}

    def words(self) -> str:
        """As options of the command line."""
        words = ["--target", self.target, *(("--device", self.device) if self.device else ())]
        words += [w for d in self.decisions for w in ("--decide", d)]
        return " ".join([*words, *(w for a in self.assume for w in ("--assume", a))])


def random_setup(random: Random, count: int) -> Setup:
    decisions = [d for k in range(count) for d in _decisions(random, k)]
    if random.random() < 0.5:
        decisions += _tiles(random, random.randrange(count))
    setup = Setup("emulator", random.choice(DEVICES), tuple(decisions), random.random() > 0.15)
    spaces = random.random() < 0.25
    if random.random() < (0.6 if spaces else 0.15):  # the constant cache wants sizes that are known
        setup = replace(setup, assume=_assumptions(random))
    return _with_spaces(setup, random, count) if spaces else setup


def _assumptions(random: Random) -> tuple[str, ...]:
    n, m = random.choice(ASSUMED)
    return random.choice(((f"n={n}", f"m={m}"),) * 3 + ((f"n={n}",), (f"m={m}",)))


def _with_spaces(setup: Setup, random: Random, count: int) -> Setup:
    """Arrays of some programs through the caches."""
    decisions = list(setup.decisions)
    for number in range(count):
        arrays = random.sample(("A0", "A1", "A2", "A3"), 3)
        picked = {"constant": "+".join(arrays[:2]), "texture": "+".join(arrays[1:])}
        keys = random.choice((["constant"], ["texture"], ["constant", "texture"], []))
        decisions += _for_all_kernels(number, {key: picked[key] for key in keys})
    return replace(setup, decisions=tuple(decisions))


def _decisions(random: Random, number: int) -> list[str]:
    """Sometimes a few for the kernels of program `number`."""
    if random.random() < 0.6:
        return []
    choices = {
        "deal": ("cyclic", "blocked", "grouped"),
        "step": ("4", "8", "16", "5", "32"),
        "buffering": ("none", "prefetch", "ring"),
        "stages": ("2", "3", "4"),
        "stage": ("on", "off"),
        "pad": ("0", "1", "3", "auto"),
        "unroll": ("full", "none", "2", "4"),
        "loads": ("1", "2", "all"),
    }
    keys = random.sample(list(choices), random.choice((1, 1, 2, 3)))
    return _for_all_kernels(number, {key: random.choice(choices[key]) for key in keys})


def _tiles(random: Random, number: int) -> list[str]:
    """A tile for the kernels of program `number`, which is refused where it has the wrong rank."""
    tiles = {"16x16": "8x8", "8x32": "4x16", "32": "8", "64x16": "16x4", "4x8x16": "2x4x8"}
    tile = random.choice(list(tiles))
    picked = {"tile": tile, **({"threads": tiles[tile]} if random.random() < 0.5 else {})}
    return _for_all_kernels(number, picked)


def _for_all_kernels(number: int, picked: dict[str, str]) -> list[str]:
    kernels = [f"p{number}_{r}_k{k}" for r in range(2) for k in range(3)]
    return [f"{kernel}:{key}={value}" for kernel in kernels for key, value in picked.items()]


@dataclass(frozen=True)
class Compiled:
    """What is left of a compilation that another process has made; of which program each region is."""

    files: dict[str, str]
    counts: dict[str, int]
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Refused:
    number: str
    text: str


@dataclass(frozen=True)
class Certified:
    """The certificate of a region of program `number`: "holds", "fails", "raises", "no end", or why it is
    open.
    """

    number: int
    verdict: str
    text: str = ""


Answer: TypeAlias = Compiled | Refused | str | None
Message: TypeAlias = Answer | Certified


def compiled(file: Path, setup: Setup, targets: Sequence[str]) -> tuple[Answer, list[Certified]]:
    """Compiles `file` in a process of its own, for all `targets` with the same kernels.

    The answer is the traceback if that raises, None if it does not end in time.
    """
    receiver, sender = FORK.Pipe(duplex=False)
    process = FORK.Process(target=_send, args=(lambda: _steps(file, setup, targets), sender))
    process.start()
    sender.close()
    try:
        messages = list(_received(receiver))
    finally:
        process.kill()
        process.join()
    match messages:
        case []:
            return f"the compiler ended without a word, status {process.exitcode}", []
        case [None | Refused() | str() as answer, *_]:
            return answer, []
        case [Compiled() as answer, *rest]:
            return answer, [_certified(m, number) for m, number in zip(rest, answer.numbers, strict=False)]
    raise AssertionError(f"unexpected messages {messages}")


def _received(receiver: Connection) -> Iterator[Message]:
    """What the process says until it ends; None in the end if it takes too long."""
    seconds = HANG
    while receiver.poll(seconds):
        try:
            yield receiver.recv()
        except EOFError:
            return
        seconds = PATIENCE
    yield None


def _certified(message: Message, number: int) -> Certified:
    match message:
        case Certified():
            return message
        case None:
            return Certified(number, "no end", f"no certificate after {PATIENCE} s, where it has {PROOF} s")
        case text:
            return Certified(number, "raises", str(text))


def _send(work: Callable[[], Iterator[Message]], sender: Connection) -> None:
    try:
        for message in work():
            sender.send(message)
    except Exception:  # noqa: BLE001 - any exception is what is looked for
        sender.send(traceback.format_exc())


def _steps(file: Path, setup: Setup, targets: Sequence[str]) -> Iterator[Message]:
    done, refused = _fitting(file, setup)
    if isinstance(done, Refused):
        yield done
        return
    files = dict(done.files)
    for target in targets if files else ():
        files.update(emit_device(done.unit, done.device, target))
    numbers = tuple(map(_number, done.regions))
    yield Compiled(files, {"regions": done.offloaded, "decisions refused": refused}, numbers)
    for region in done.regions:
        yield certificate(region, PROOF)


def _fitting(file: Path, setup: Setup) -> tuple[Compilation | Refused, int]:
    """Compiles, with fewer decisions where a kernel cannot follow them, or nothing assumed where no program
    has the parameter; how many refusals that took.
    """
    tiles = tuple(d for d in setup.decisions if not _TILE.search(d))
    fewer = [replace(setup, decisions=decisions) for decisions in (setup.decisions, tiles, ())]
    tries = [*fewer, replace(setup, assume=()), replace(setup, decisions=(), assume=())]
    for number, tried in enumerate(dict.fromkeys(tries)):
        try:
            return compile_file(str(file), tried.options()), number
        except Diagnosed as refused:
            errors = [d for d in refused.diagnostics if d.severity == "error"]
            if not (tried.decisions or tried.assume) or errors[0].id not in ("PG304", "PG305", "PG312"):
                return Refused(errors[0].id, render(errors, {})), number
    raise AssertionError("no decisions, and yet refused")


def _number(region: CompiledRegion) -> int:
    """Of which program of the batch it is."""
    found = _NUMBER.search(region.scop.name)
    return int(found[1]) if found else 0


def certificate(region: CompiledRegion, budget: float) -> Certified:
    number = _number(region)
    try:
        made = certify(region, budget)
    except Exception:  # noqa: BLE001 - any exception is what is looked for
        return Certified(number, "raises", traceback.format_exc())
    if made.failures:
        return Certified(number, "fails", "\n".join(str(f) for f in made.failures))
    if made.unproved:
        reason = made.unproved[0].reason.split(":")[0]
        return Certified(number, f"unproved: {reason}", str(made.unproved[0]))
    return Certified(number, "holds")
