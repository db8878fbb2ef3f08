"""What a run of the fuzzer found: said now and then, in the end, and as JSON."""

from __future__ import annotations

import json
import re
import sys
import time
from collections import Counter
from typing import Any

from tests.fuzz.examine import Failure, Outcome
from tests.fuzz.work import Job, describe

ALL = "all"
REFUSED = "refused"  # no failure
_CODE = re.compile(r"\[(PG\d+)\]")


class Report:
    """`forms` counts by form: programs, those refused, and certificates that are proved or not."""

    def __init__(self, verbose: bool) -> None:
        self.counts: Counter[str] = Counter()
        self.forms: dict[str, Counter[str]] = {ALL: Counter()}
        self.refused: Counter[str] = Counter()
        self.open: list[dict[str, str]] = []
        self.failures: list[tuple[Job, Failure]] = []
        self.verbose = verbose
        self.start = time.monotonic()

    def add(self, job: Job, outcome: Outcome) -> None:
        self.counts += outcome.counts
        for number in outcome.forms:
            self._count(outcome, number, "programs")
        for failure in outcome.failures:
            self._fail(job, outcome, failure)
        for made in outcome.certificates:
            self._count(outcome, made.number, "proved" if made.verdict == "holds" else "open")
            if made.verdict == "open":
                self.open.append({"program": f"{job.seed}:{job.first + made.number}", "reason": made.text})

    def _fail(self, job: Job, outcome: Outcome, failure: Failure) -> None:
        if failure.kind == REFUSED:
            code = _CODE.search(failure.text)
            self.refused[code[1] if code else "without a code"] += 1
            self._count(outcome, failure.number, REFUSED)
        else:
            self.failures.append((job, failure))
        if failure.kind != REFUSED or self.verbose:
            print(f"\r{describe(job, failure)}", flush=True)

    def _count(self, outcome: Outcome, number: int, what: str) -> None:
        for form in (ALL, *outcome.forms.get(number, ())):
            self.forms.setdefault(form, Counter())[what] += 1

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.start

    def progress(self) -> str:
        rate = self.counts["programs"] / self.seconds
        return f"{self.counts['programs']} programs, {rate:.1f} a second, {len(self.failures)} failures"

    def summary(self) -> str:
        """A table of forms, the codes of what is refused, and in the last line what failed."""
        kinds = Counter(f.kind for _, f in self.failures)
        rest = ((key, n) for key, n in sorted(self.counts.items()) if key != "programs")
        first = f"{self.counts['programs']} programs in {self.seconds:.0f} s ({_listed(rest)}): "
        codes = f"refused: {_listed(self.refused.most_common())}\n" if self.refused else ""
        return f"{self._table()}{codes}{first}{_listed(sorted(kinds.items())) or 'no failure'}"

    def _table(self) -> str:
        head = f"{'form':10}{'programs':>10}{'refused':>10}{'proved':>10}{'open':>10}\n"
        return head + "".join(_row(name, self.forms[name]) for name in sorted(self.forms, key=_all_last))

    def record(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "seconds": round(self.seconds, 1),
            "counts": dict(self.counts),
            "forms": {name: dict(counts) for name, counts in sorted(self.forms.items())},
            "refused": dict(self.refused.most_common()),
            "failures": [
                {"kind": failure.kind, "text": describe(job, failure), "said": failure.text}
                for job, failure in self.failures
            ],
            "open": self.open,
        }

    def json(self) -> str:
        return json.dumps(self.record(), indent=1) + "\n"


def _listed(counts: Any) -> str:
    return ", ".join(f"{n} {key}" for key, n in counts if n)


def _all_last(name: str) -> tuple[bool, str]:
    return name == ALL, name


def _row(name: str, counts: Counter[str]) -> str:
    made = counts["proved"] + counts["open"]
    share = f"  {100 * counts['proved'] / made:.0f} % proved" if made else ""
    columns = "".join(f"{counts[key]:10}" for key in ("programs", REFUSED, "proved", "open"))
    return f"{name:10}{columns}{share}\n"


class Shown:
    """Says how far a run is, once a second on a terminal, else every half minute."""

    def __init__(self) -> None:
        self.terminal = sys.stdout.isatty()
        self.last = time.monotonic()

    def due(self) -> bool:
        if time.monotonic() - self.last <= (1 if self.terminal else 30):
            return False
        self.last = time.monotonic()
        return True

    def say(self, text: str) -> None:
        print(f"\r{text}" if self.terminal else text, end="" if self.terminal else "\n", flush=True)
