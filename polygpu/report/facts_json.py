"""The facts of a compilation as JSON, for `inspect --json` and other tools."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from polygpu.model.facts import CompilationFacts


def facts_json(facts: CompilationFacts, **more: Any) -> str:
    """One object with the fields of `polygpu.model.facts`, in their order; ends with a newline.

    What is known `more` follows as members of these names.
    """
    known = {name: value for name, value in more.items() if value is not None}
    return json.dumps(asdict(facts) | known, indent=2) + "\n"
