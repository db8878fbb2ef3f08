"""How profiles describe an access of the source."""

from __future__ import annotations

from typing import Any

from polygpu.model.kernel import Site
from polygpu.support.position import basename


def site_entry(site: Site | None, array: str, space: str, write: bool, text: str) -> dict[str, Any]:
    """An entry of a profile's "sites" but its counters; `text` is for what is no access of the source."""
    return {
        "site": site.number if site else -1,
        "array": array,
        "space": space,
        "write": write,
        "text": site.text if site else text,
        "file": basename(site.position.file) if site else None,
        "line": site.position.line if site else None,
        "column": site.position.column if site else None,
    }
