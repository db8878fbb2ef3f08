"""Counters for kernels that ran on a real device, which measures their time and counts nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polygpu.model.device import Device
from polygpu.model.kernel import Region
from polygpu.perf.effort import THOROUGH, look, marked
from polygpu.perf.launches import Calls
from polygpu.report.measures import Record


def with_counts(document: Record, regions: Sequence[Region], device: Device) -> dict[str, Any]:
    """The profile `document` with what `device` would count added to the kernels that have a time only.

    These have "predicted", which is "exactly" or "in part", as `marked` has it, or else "not_counted", the
    reason.
    """
    known = {region.name: region for region in regions}
    found = [_region(record, known.get(record["name"]), device) for record in document["regions"]]
    return {**document, "regions": found}


def _region(record: Record, region: Region | None, device: Device) -> Record:
    if region is None or all("counters" in kernel for kernel in record["kernels"]):
        return record
    calls = [Calls(made["calls"], made["values"]) for made in record.get("sizes", ())]
    if not calls or sum(c.times for c in calls) < record["calls"]:
        return _none_of(record, "the profile lacks sizes that its region is called with")
    try:
        (found,), most = look([(region, calls)], device, THOROUGH)
    except MemoryError:
        return _none_of(record, "there are too many blocks and iterations to predict what they count")
    predicted = {kernel["name"]: kernel for kernel in marked(found, most)}
    return {**record, "kernels": [_counted(k, predicted[k["name"]]) for k in record["kernels"]]}


def _none_of(record: Record, reason: str) -> Record:
    return {**record, "kernels": [_uncounted(kernel, reason) for kernel in record["kernels"]]}


def _uncounted(kernel: Record, reason: str) -> Record:
    return {**kernel, "not_counted": reason}


def _counted(kernel: Record, predicted: Record) -> Record:
    """What was measured, where both know it: a grid too large for the device is launched in parts."""
    if predicted["predicted"] in ("at most", "roughly"):
        return _uncounted(kernel, "data decide what it accesses, or how often")
    return {**predicted, **kernel}
