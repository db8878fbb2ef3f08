"""The facts of a compilation as JSON, for `inspect --json` and other tools."""

from __future__ import annotations

import json
from dataclasses import asdict

from polygpu.model.facts import CompilationFacts


def facts_json(facts: CompilationFacts) -> str:
    """One object with the fields of `polygpu.model.facts`, in their order; ends with a newline."""
    return json.dumps(asdict(facts), indent=2) + "\n"
