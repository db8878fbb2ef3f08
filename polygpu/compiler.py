"""The compiler as users meet it: chooses, compiles, certifies what would be written, and does it again
where it must.

Nothing that a certificate refutes leaves this module. A region that is refuted is compiled once more with
decisions that are simpler to get right (`model.decisions.CARE`), until its certificate finds nothing wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from polygpu import pipeline
from polygpu.compilation import Compilation, Options
from polygpu.lower.realise import CompiledRegion
from polygpu.lower.remarks import left_out
from polygpu.model.decisions import CARE
from polygpu.pipeline import Choose
from polygpu.support.diagnostics import Diagnosed, Diagnostic

if TYPE_CHECKING:
    from polygpu.verify.certificate import Certifying
    from polygpu.verify.verdict import Certificate


def _chooser(options: Options) -> Choose | None:
    if options.level < 2:
        return None
    from polygpu.search.choose import choose  # noqa: PLC0415 - only where something is chosen

    return partial(choose, thorough=options.level > 2, seen={})


class RefutedError(Diagnosed):
    """Whatever the care, the certificate finds something wrong: a bug of the compiler."""

    status = 4


def compile_certified(path: str, options: Options) -> Compilation:
    """Compiles the C file at `path`, and certifies each region as `options.certify` says.

    Raises Diagnosed for errors in the file or in the options, and RefutedError.
    """
    if options.certify == "off":
        return compile_chosen(path, options)
    from polygpu.verify.certificate import Certifying  # noqa: PLC0415 - a seventh of all there is to import

    certifying = Certifying(quick=options.certify == "quick")
    try:
        return _certified(path, options, certifying)
    finally:
        certifying.beside.end()


def _certified(path: str, options: Options, certifying: Certifying) -> Compilation:
    file, decisions = opened(path, options), pipeline.decisions_of(options)
    care = dict(options.care)
    warnings: list[Diagnostic] = []
    known: dict[str, Certificate] = {}
    while True:
        made = file.realise(decisions, care, lambda r: None if r.scop.name in known else certifying.begin(r))
        known.update(certifying.of([r for r in made.regions if r.scop.name not in known]))
        refuted = [r for r in made.regions if known[r.scop.name].failures]
        if not refuted:
            certificates = tuple(known[r.scop.name] for r in made.regions)
            return replace(made, diagnostics=(*made.diagnostics, *warnings), certificates=certificates)
        hopeless = [r for r in refuted if care.get(r.scop.name, 0) + 1 == len(CARE)]
        if hopeless:
            raise RefutedError(*warnings, *(_given_up(r, known[r.scop.name]) for r in hopeless))
        for r in refuted:
            level = care[r.scop.name] = care.get(r.scop.name, 0) + 1
            warnings.append(_again(r, known.pop(r.scop.name), level))


def compile_chosen(path: str, options: Options) -> Compilation:
    """The same without certificates: `pipeline.compile_file` with what the model chooses."""
    return opened(path, options).realise(pipeline.decisions_of(options), dict(options.care))


def opened(path: str, options: Options) -> pipeline.File:
    """The C file at `path`, for which the model chooses as `options` say: prepared once, realised often."""
    return pipeline.File(path, options, _chooser(options))


_REPORT = "this is a bug of polygpu, from which its certificate kept you: please report it with this file"


def _again(r: CompiledRegion, certificate: Certificate, level: int) -> Diagnostic:
    message = f"the kernels of this region were wrong ({_first(certificate)}) and are made {CARE[level]}"
    return Diagnostic("PG911", "warning", message, r.scop.position, _REPORT)


def _given_up(r: CompiledRegion, certificate: Certificate) -> Diagnostic:
    message = f"the kernels of this region are wrong ({_first(certificate)}): nothing is written"
    return Diagnostic("PG912", "error", message, r.scop.position, _REPORT)


def _first(certificate: Certificate) -> str:
    failure = certificate.failures[0]
    return f"{failure.property}: {failure}"


def summaries(compilation: Compilation) -> Iterator[str]:
    """What was proved of each region and what is open, and which decisions nests left out: a line each."""
    yield from left_out(compilation.regions)
    for r, certificate in zip(compilation.regions, compilation.certificates, strict=False):
        proved = [f.property for f in certificate.facts if f.verdict == "proved"]
        left = [f"{f.property} ({f.why})" for f in certificate.facts if f.verdict == "open"]
        yield f"{r.scop.name}: proved {', '.join(proved) or 'nothing'}" + (
            f"; open {', '.join(left)}" if left else ""
        )
