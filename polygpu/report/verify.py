"""What `polygpu verify` checked, as text and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from polygpu.lower.realise import CompiledRegion
from polygpu.model.scop import Scop, promised
from polygpu.report.quantities import counted, duration
from polygpu.runtime.trial import Attempt, Trial
from polygpu.runtime.whole import ProgramTrial
from polygpu.support.dataclass import dataclass
from polygpu.verify.verdict import COUNTED, PROPERTIES, VALUES, Certificate


@dataclass(frozen=True, slots=True)
class RegionReport:
    """`certificate` is None where no proof was asked for."""

    region: CompiledRegion
    certificate: Certificate | None
    trial: Trial

    @property
    def faulty(self) -> bool:
        return bool(self.trial.faulty or (self.certificate and self.certificate.failures))


@dataclass(frozen=True, slots=True)
class Report:
    """For a device, which is that of `targets` by default; `program` is what came of the whole program, or
    why it was not run.
    """

    file: str
    device: str
    targets: tuple[str, ...]
    regions: tuple[RegionReport, ...]
    program: ProgramTrial

    @property
    def faulty(self) -> bool:
        return self.program.faulty or any(r.faulty for r in self.regions)

    @property
    def proved(self) -> bool:
        """Whether every region has a certificate that holds."""
        return all(r.certificate is not None and r.certificate.holds for r in self.regions)


def verify_text(reports: tuple[Report, ...]) -> str:
    return "\n".join((*(line for r in reports for line in _lines(r)), f"verify: {_summary(reports)}")) + "\n"


def _lines(report: Report) -> Iterator[str]:
    meant = f"{' and '.join(report.targets)}, " if report.targets else ""
    yield f"{report.file}: {meant}verified on the emulator as {report.device}"
    for r in report.regions:
        yield ""
        yield f"region {r.region.scop.name}  {r.region.scop.position}, in {r.region.scop.function}()"
        yield from (f"  {line}" for line in certificate_lines(r.certificate))
        yield from (f"  {line}" for line in _given(r.region.scop))
        yield from (f"  {line}" for line in _trial(r.trial))
    yield ""
    yield f"program  {_outcome(report.program.outcome)}: {report.program.reason}"
    yield ""


def _given(scop: Scop) -> Iterator[str]:
    """What the proof takes from pragmas; a run of the program with its own data tests it."""
    if texts := dict.fromkeys(a.text for a in promised(scop)):
        loops = sorted({loop.position.line for loop in scop.loops if loop.independent})
        what = f"the pragma of the loop in line {loops[0]}" if len(loops) == 1 else "pragmas of loops"
        yield f"given   {what}: no two iterations meet at {', '.join(texts)}"


_PROPERTIES = {
    "dependences": "every dependence of the source is kept",
    "barriers": "all threads of a block meet at each",
    "values": "each instance reads what the source reads, through all copies; no two threads race",
    "bounds": "all accesses lie inside of their global, shared and private arrays",
    "ranges": "all integers computed of sizes and indices fit into their types",
    "instances": "every instance of the source is executed, nothing else has an effect",
}


def certificate_lines(certificate: Certificate | None) -> Iterator[str]:
    """What was proved, and what is wrong, with a counterexample for each kind of failure."""
    if certificate is None:
        yield "no proof was asked for"
        return
    for kind in PROPERTIES:
        failures = [(f, count) for f, count in certificate.distinct if f.property == kind]
        gaps = [(u.kernel, u.reason) for u in certificate.unproved if u.property == kind]
        for failure, count in failures:
            yield f"WRONG   {kind}: {failure.title()}"
            yield from (f"          {label:7}  {text}" for label, text in failure.details())
            if count > 1:
                yield f"          and {count - 1} more like this"
        if gaps and not failures:
            yield f"NOT PROVED  {kind}: {_gaps(gaps)}"
        elif any(proof.property == kind for proof in certificate.proofs):
            yield f"proved  {kind}: {_PROPERTIES[kind]} ({_counted(certificate, kind)})"
            if kind == VALUES and certificate.permuted:
                yield f"          {certificate.permuted}"
    yield f"{'proved' if certificate.holds else 'stopped'} after {duration(certificate.seconds)}"


def _counted(certificate: Certificate, kind: str) -> str:
    return counted(certificate.counts.get(kind, 0), COUNTED[kind])


def _gaps(gaps: list[tuple[str, str]]) -> str:
    """`budget (kernel_a, kernel_b)`"""
    reasons: dict[str, list[str]] = {}
    for kernel, reason in gaps:
        reasons.setdefault(reason, []).append(kernel)
    return "; ".join(f"{reason}{_of(filter(None, kernels))}" for reason, kernels in reasons.items())


def _of(kernels: Iterable[str]) -> str:
    names = ", ".join(kernels)
    return f" ({names})" if names else ""


def _trial(trial: Trial) -> Iterator[str]:
    if trial.reason:
        yield f"not run alone: {trial.reason}"
        return
    for attempt in trial.faulty:
        yield f"{attempt.outcome} at {at(attempt)}"
    if same := trial.of("same"):
        yield f"same arrays as the original, no fault, at {counted(len(same), 'size')}: {_spans(same)}"
    if largest := max((a.largest for a in trial.attempts), default=0.0):
        yield f"largest relative difference {largest:.2g}"
    for reason, group in _by_reason(trial.of("same")).items():
        if reason:
            yield f"compared with the optimised original at {_spans(group)}: {reason}"
    titles = (("host", "runs the original loop"), ("not done", "not run"), ("silent", "not compared"))
    for outcome, title in titles:
        for reason, group in _by_reason(trial.of(outcome)).items():
            yield f"{title} at {_spans(group)}: {reason}"
    for name, reason in trial.not_compared:
        yield f"{name} is not compared: {reason}"


def _by_reason(attempts: tuple[Attempt, ...]) -> dict[str, tuple[Attempt, ...]]:
    found: dict[str, tuple[Attempt, ...]] = {}
    for attempt in attempts:
        found[attempt.reason] = (*found.get(attempt.reason, ()), attempt)
    return found


def at(attempt: Attempt) -> str:
    """`n=5 m=3`; n=m=5 for equal sizes."""
    if not attempt.sizes:
        return "its own size"
    values = {value for _, value in attempt.sizes}
    if len(values) == 1:
        return "=".join([*(name for name, _ in attempt.sizes), str(values.pop())])
    return " ".join(f"{name}={value}" for name, value in attempt.sizes)


def _spans(attempts: tuple[Attempt, ...]) -> str:
    text = ", ".join(at(a) for a in attempts[:12])
    return text if len(attempts) <= 12 else f"{text}, ... {at(attempts[-1])}"


def _outcome(outcome: str) -> str:
    return {"not done": "not run", "silent": "not compared"}.get(outcome, outcome)


def _summary(reports: tuple[Report, ...]) -> str:
    if any(r.faulty for r in reports):
        return "the compiled program is wrong"
    regions = [region for r in reports for region in r.regions]
    runs = sum(len(r.trial.of("same")) for r in regions)
    proof = "proved for all sizes; " if all(r.proved for r in reports) else ""
    same = any(r.program.outcome == "same" for r in reports)
    if not runs:
        return f"{proof}{'no difference in what the program prints' if same else 'nothing could be compared'}"
    compared = sum(bool(region.trial.of("same")) for region in regions)
    return f"{proof}no difference in {_several(runs, 'run')} of {_several(compared, 'region')}"


def _several(count: int, noun: str) -> str:
    return f"{count} {noun}{'' if count == 1 else 's'}"


def verify_json(reports: tuple[Report, ...]) -> str:
    document = {
        "file": reports[0].file,
        "different": any(r.faulty for r in reports),
        "devices": [_device(r) for r in reports],
    }
    return json.dumps(document, indent=2) + "\n"


def _device(report: Report) -> dict[str, Any]:
    return {
        "device": report.device,
        "targets": list(report.targets),
        "different": report.faulty,
        "regions": [_region(r) for r in report.regions],
        "program": asdict(report.program),
    }


def _region(r: RegionReport) -> dict[str, Any]:
    scop = r.region.scop
    return {
        "name": scop.name,
        "function": scop.function,
        "line": scop.position.line,
        "certificate": _proofs(r.certificate),
        "reason": r.trial.reason,
        "not_compared": [{"array": name, "reason": reason} for name, reason in r.trial.not_compared],
        "attempts": [_attempt(a) for a in r.trial.attempts],
    }


def _proofs(certificate: Certificate | None) -> dict[str, Any] | None:
    if certificate is None:
        return None
    failed = ("property", "kernel", "message", "source", "target", "by", "element", "parameters")
    return {
        "holds": certificate.holds,
        "seconds": round(certificate.seconds, 3),
        "counts": dict(certificate.counts),
        "proofs": [asdict(p) for p in certificate.proofs],
        "failures": [{name: getattr(f, name) for name in failed} for f in certificate.failures],
        "unproved": [asdict(u) for u in certificate.unproved],
    }


def _attempt(a: Attempt) -> dict[str, Any]:
    return {
        "sizes": dict(a.sizes),
        "outcome": a.outcome,
        "reason": a.reason,
        "largest_relative_difference": a.largest,
        "values": [asdict(v) for v in a.values],
    }
