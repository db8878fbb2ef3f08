"""How profiles describe an access of the source."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polygpu.model.kernel import Site
from polygpu.model.text import PLAIN
from polygpu.perf.lockstep import Access
from polygpu.support.position import basename


def site_entry(access: Access, sites: Mapping[int, Site]) -> dict[str, Any]:
    """An entry of a profile's "sites" but its counters."""
    site = sites.get(access.element.site)
    return {
        "site": site.number if site else -1,
        "array": access.element.array,
        "space": access.space,
        "write": access.write,
        "text": site.text if site else PLAIN.text(access.element),
        "file": basename(site.position.file) if site else None,
        "line": site.position.line if site else None,
        "column": site.position.column if site else None,
    }
