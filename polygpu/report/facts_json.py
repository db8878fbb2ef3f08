"""The facts of a compilation as JSON, for `inspect --json` and other tools."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from polygpu.model.facts import CompilationFacts


def facts_json(facts: CompilationFacts, predicted: dict[str, Any] | None = None) -> str:
    """One object with the fields of `polygpu.model.facts`, in their order; ends with a newline.

    What is `predicted` follows as a member of that name.
    """
    members = asdict(facts) | ({"predicted": predicted} if predicted is not None else {})
    return json.dumps(members, indent=2) + "\n"
