"""Numbers as a person reads them: never more than four digits that count, exact counts below 10,000 apart."""

from __future__ import annotations

from collections.abc import Iterable

_EXACT = 10_000  # counts from here on are rounded


def significant(value: float, digits: int = 3) -> str:
    """Without an exponent between 0.0001 and 999,999: `0.451`, `62.8`, `66,900`."""
    kept = float(f"{value:.{digits}g}")
    return f"{kept:,.0f}" if 1000 <= abs(kept) < 1e6 else f"{kept:.{digits}g}"


def byte_count(count: float) -> str:
    """`1.5 MiB`"""
    units = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
    power = 0
    while float(f"{count:.4g}") >= 1024 and power < len(units) - 1:
        count, power = count / 1024, power + 1
    return f"{significant(count, 4)} {units[power]}"


def duration(seconds: float) -> str:
    """`45.2 ms`, in the unit that leaves one to three digits before the point."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if float(f"{seconds:.3g}") >= scale:
            return f"{significant(seconds / scale)} {unit}"
    return f"{significant(seconds * 1e9)} ns"


def share(part: float) -> str:
    """`98 %`; what is neither nothing nor everything does not round to it."""
    if 0 < part <= 0.005:
        return "< 1 %"
    if 0.995 <= part < 1:
        return "> 99 %"
    return f"{100 * part:.0f} %"


def count(value: float) -> str:
    """`9,999` as it is, more in three digits: `539 M`."""
    if value < _EXACT:
        return f"{value:,.0f}"
    for scale, unit in ((1e3, "k"), (1e6, "M"), (1e9, "G")):
        if float(f"{value:.3g}") < 1000 * scale:
            return f"{value / scale:.3g} {unit}"
    return f"{significant(value / 1e12)} T"


def counted(value: float, noun: str) -> str:
    """`1 launch`, `2 launches`, `3 pairs of accesses`"""
    first, *rest = noun.split(" ")
    plural = f"{first}es" if first.endswith(("ch", "s")) else f"{first}s"
    return f"{count(value)} {noun if value == 1 else ' '.join((plural, *rest))}"


def number(value: float) -> str:
    """At most three decimals, none for an integer: `1`, `5.25`."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def product(sizes: Iterable[int]) -> str:
    """`16 x 16`: the sizes up to the last that is not 1."""
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return " x ".join(str(size) for size in kept)
