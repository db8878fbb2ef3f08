"""The GPUs the compiler knows, one TOML file each; a user's own file works the same way.

A file has `name`, `title`, `aliases`, a table `limits` with the fields of `Device` and a table `costs`
with the constants of the timing model. A value is `{ value, unit, source, confidence }`, or bare.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from functools import cache
from pathlib import Path
from typing import Any

from polygpu.model.device import WARP, Device
from polygpu.model.fragments import POLICIES
from polygpu.support.diagnostics import Diagnosed, Diagnostic

COSTS = (
    "issue", "shared", "replay", "coalesced", "store_line", "loads_in_flight", "raw", "ilp", "ilp_unrolled",
    "conflict_in_issue", "efficiency", "latency", "departure", "near32", "far32", "page", "translation",
    "dispatch", "dispatch_overlap", "launch", "grid_barrier", "row_stripe", "partitions", "interleave",
    "camped", "to_device", "from_device", "copy", "allocation", "host_rate", "host_bandwidth",
    "flops_per_cycle", "double_flops_per_cycle", "divide", "sqrt", "special", "int_multiply", "int_divide",
    "double_add", "double_multiply", "double_mad", "double_divide", "double_sqrt", "double_special",
)  # fmt: skip
_OF_TENSOR_CORES = {f"tensor_{policy}": policy for policy in POLICIES}  # costs of devices that have them
RULES = ("cc10", "cc13", "sector")
_MAY_BE_ZERO = frozenset({"shared_reserved", "l2_bytes", "spare_transactions"})
_TRANSACTIONS = (32, 64, 128)  # bytes that have a counter
_POWERS_OF_TWO = (
    "request_lanes", "bank_bytes", "narrowest_coalesced", "widest_access", "allocation_alignment",
    "texture_line",
)  # fmt: skip
_MOST_BANKS = 64  # a word of the emulator's holds those that are busy
_POSITIVE_COSTS = frozenset({
    "issue", "ilp", "ilp_unrolled", "efficiency", "dispatch_overlap", "raw", "flops_per_cycle",
    "to_device", "from_device", "host_rate", "host_bandwidth",
})  # fmt: skip
_IN_WORDS = {
    "str": "a text",
    "bool": "true or false",
    "int": "an integer of at least 0",
    "float": "a number of at least 0",
}
_HEAD = ("name", "title", "aliases")
_TABLES = ("costs", "sources", "units")
_LIMITS = {f.name: f for f in fields(Device) if f.name not in (*_HEAD, *_TABLES)}


def names() -> tuple[str, ...]:
    """The names of the devices that come with polygpu, sorted."""
    return tuple(sorted(head["name"] for head, _ in _shipped()))


@cache
def load(name_or_path: str) -> Device:
    """The device of that name or alias, or the one a TOML file describes.

    Raises Diagnosed when there is no such device (PG801), the file cannot be read or parsed (PG802),
    or a value is missing or has the wrong type (PG803).
    """
    for head, text in _shipped():
        if name_or_path.lower() in (head["name"], *head["aliases"]):
            return _device(text, f"{head['name']}.toml")
    if "/" in name_or_path or name_or_path.endswith(".toml"):
        return _device(_read(name_or_path), name_or_path)
    known = ", ".join(names())
    raise _diagnosed("PG801", f"unknown device '{name_or_path}'", f"known devices: {known}; or a TOML file")


@cache
def _shipped() -> tuple[tuple[dict[str, Any], str], ...]:
    """(name, title and aliases; whole text) of each file, without parsing its tables."""
    texts = [file.read_text("utf-8") for file in Path(__file__).parent.glob("*.toml")]
    return tuple((tomllib.loads(text.partition("\n[")[0]), text) for text in sorted(texts))


def _read(path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise _diagnosed("PG802", f"cannot read device file '{path}': {reason}") from None


def _device(text: str, file: str) -> Device:
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _diagnosed("PG802", f"device file '{file}' is not valid TOML: {error}") from None
    limits, costs = (_table(content, key, file) for key in ("limits", "costs"))
    values: dict[str, Any] = {key: _typed(_value(entry)) for key, entry in limits.items()}
    problems = tuple(_problems(content, limits, costs)) or tuple(_unsupported(values))
    if problems:
        advice = "polygpu devices NAME lists every value; copy a file of polygpu/devices and change it"
        message = f"device file '{file}': {'; '.join(problems)}"
        raise _diagnosed("PG803", message, advice)
    entries = {**limits, **costs}
    return Device(
        name=content["name"],
        title=content.get("title", content["name"]),
        costs={key: float(_value(entry)) for key, entry in costs.items()},
        sources={key: _source(entry) for key, entry in entries.items()},
        units={key: entry["unit"] for key, entry in entries.items() if _unit(entry)},
        **values,
    )


def _table(content: Mapping[str, Any], key: str, file: str) -> dict[str, Any]:
    table = content.get(key)
    if isinstance(table, dict):
        return table
    raise _diagnosed("PG803", f"device file '{file}' has no table [{key}]")


def _problems(
    content: Mapping[str, Any], limits: Mapping[str, Any], costs: Mapping[str, Any]
) -> Iterator[str]:
    """What is wrong with the file, in words; nothing when it describes a device."""
    if not isinstance(content.get("name"), str):
        yield "'name' is missing or no text"
    for key, limit in _LIMITS.items():
        if key in limits or limit.default is MISSING:
            yield from _problem("limits", limits, key, str(limit.type), key in _MAY_BE_ZERO)
    for key in COSTS:
        yield from _problem("costs", costs, key, "float", key not in _POSITIVE_COSTS)
    yield from (f"limits.{key} is not known" for key in limits if key not in _LIMITS)
    policies = str(_value(limits.get("tensor_cores", ""))).split()
    for key, policy in _OF_TENSOR_CORES.items():
        if policy in policies or key in costs:
            yield from _problem("costs", costs, key, "float", True)
    known = {*COSTS, *_OF_TENSOR_CORES}
    yield from (f"costs.{key} is not known" for key in costs if key not in known)
    if "rule" in limits and _value(limits["rule"]) not in RULES:
        yield f"limits.rule is none of {', '.join(RULES)}"


def _unsupported(limits: Mapping[str, Any]) -> Iterator[str]:
    """What a chip could be like, but the rules for requests and the emulator do not provide for."""
    if limits["warp"] != WARP:
        yield f"limits.warp is not {WARP}"
    for key in _POWERS_OF_TWO:
        if limits.get(key, 1).bit_count() != 1:
            yield f"limits.{key} is no power of two"
    if limits.get("texture_line", limits["widest_access"]) < limits["widest_access"]:
        yield "limits.texture_line is less than limits.widest_access"
    if limits["request_lanes"] > WARP:
        yield f"limits.request_lanes is more than {WARP}"
    if limits["banks"] > _MOST_BANKS:
        yield f"limits.banks is more than {_MOST_BANKS}"
    smallest, largest = limits["smallest_transaction"], limits["largest_transaction"]
    if not {smallest, largest} <= set(_TRANSACTIONS):
        yield f"limits.smallest_transaction or limits.largest_transaction is none of {_TRANSACTIONS}"
    if smallest > largest:
        yield "limits.smallest_transaction is more than limits.largest_transaction"
    if limits["rule"] == "cc10" and limits["request_lanes"] * limits["narrowest_coalesced"] < smallest:
        yield "limits.smallest_transaction is more than a request of the narrowest words takes"


def _problem(
    table: str, entries: Mapping[str, Any], key: str, annotation: str, zero_allowed: bool
) -> Iterator[str]:
    if key not in entries:
        yield f"{table}.{key} is missing"
    elif not _fits(_value(entries[key]), annotation):
        yield f"{table}.{key} is not {_IN_WORDS.get(annotation, 'three integers')}"
    elif annotation in ("int", "float") and not zero_allowed and _value(entries[key]) == 0:
        yield f"{table}.{key} must be positive"


def _fits(value: object, annotation: str) -> bool:
    match annotation:
        case "str":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "int":
            return type(value) is int and value >= 0
        case "float":
            return type(value) in (int, float) and value >= 0  # type: ignore[operator]
        case _:
            return isinstance(value, list) and len(value) == 3 and all(_fits(v, "int") for v in value)


def _value(entry: Any) -> Any:
    return entry.get("value") if isinstance(entry, dict) else entry


def _typed(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _unit(entry: Any) -> bool:
    return isinstance(entry, dict) and bool(entry.get("unit"))


def _source(entry: Any) -> str:
    if not isinstance(entry, dict):
        return "device file"
    source, confidence = entry.get("source", ""), entry.get("confidence", "")
    return f"{source} ({confidence})" if confidence else source


def _diagnosed(identity: str, message: str, advice: str = "") -> Diagnosed:
    return Diagnosed(Diagnostic(identity, "error", message, help=advice))
