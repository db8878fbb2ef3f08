"""The JSON document that a generated program writes when POLYGPU_PROFILE names a file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from operator import itemgetter
from pathlib import Path
from typing import Any

from polygpu.runtime.errors import error
from polygpu.support.diagnostics import Diagnosed

_DOCUMENT = itemgetter("target", "regions")
_REGION = itemgetter("name", "bytes_in", "bytes_out", "kernels")
_KERNEL = itemgetter("name", "launches", "grid", "block")


def read_profile(path: Path) -> Mapping[str, Any]:
    """Reads the document at `path`. Raises Diagnosed (PG906)."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        _check(document)
    except OSError as problem:
        text = f"the program wrote no profile: {problem.strerror}"
        help_text = "it did not reach its exit handlers: it was killed or called _exit"
        raise Diagnosed(error("PG906", text, help_text)) from problem
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise Diagnosed(error("PG906", f"the profile is malformed: {problem!r}")) from problem
    return document


def _check(document: Mapping[str, Any]) -> None:
    """Raises KeyError or TypeError when `document` lacks what every profile has."""
    _DOCUMENT(document)
    for region in document["regions"]:
        _REGION(region)
        for kernel in region["kernels"]:
            _KERNEL(kernel)
