"""Numbers as a person reads them."""

from __future__ import annotations

from collections.abc import Iterable


def byte_count(count: float) -> str:
    """`1.5 MiB`"""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024:
            return f"{count:.4g} {unit}"
        count /= 1024
    return f"{count:.4g} TiB"


def duration(seconds: float) -> str:
    """`45.2 ms`, in the unit that leaves one to three digits before the point."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "us")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def share(part: float) -> str:
    """`98 %`; what is neither nothing nor everything does not round to it."""
    if 0 < part < 0.005:
        return "< 1 %"
    if 0.995 <= part < 1:
        return "> 99 %"
    return f"{100 * part:.0f} %"


def counted(count: float, noun: str) -> str:
    """`1 launch`, `2 launches`"""
    plural = f"{noun}es" if noun.endswith(("ch", "s")) else f"{noun}s"
    return f"{count:,} {noun if count == 1 else plural}"


def number(value: float) -> str:
    """At most three decimals, none for an integer: `1`, `5.25`."""
    return f"{value:.3f}".rstrip("0").rstrip(".")


def rounded(value: float) -> str:
    """Three digits, or all of an integer part that has more: `0.451`, `62.8`, `66,900`."""
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def product(sizes: Iterable[int]) -> str:
    """`16 x 16`: the sizes up to the last that is not 1."""
    kept = list(sizes)
    while len(kept) > 1 and kept[-1] == 1:
        kept.pop()
    return " x ".join(str(size) for size in kept)
