"""The best of each nest as a file of decisions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from polygpu.model.decisions import Decision, listing
from polygpu.pipeline import File
from polygpu.tune.search import Tuned
from polygpu.tune.subjects import compiled


def result(tuned: Sequence[Tuned]) -> str:
    """All decisions of the file, as `polygpu inspect --decisions` lists them, each with who took it."""
    best: dict[str, tuple[Decision, ...]] = defaultdict(tuple)
    for t in tuned:
        best[t.subject.region] += t.best
    return listed(tuned[0].subject.file, best)


def listed(file: File, best: Mapping[str, tuple[Decision, ...]]) -> str:
    """The decisions of a file with the best ones for its regions."""
    made = compiled(file, best)
    nests = [nest for r in made.regions for nest in r.taken]
    return listing([replace(t, by="search") if t.by == "model" else t for t in nest] for nest in nests)
