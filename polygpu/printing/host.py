"""The host file: the user's text with each region replaced by a call of its device function."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations, product

from polygpu.analysis.aliasing import may_alias, may_change, may_overlap, types_in
from polygpu.analysis.in_step import in_step
from polygpu.frontend import Kept
from polygpu.model.expr import SIZES, Binary, Call, Cast, Expr, Int, Literal, Name, Select
from polygpu.model.kernel import Buffer, Region, Rows, Span
from polygpu.model.offsets import product_of
from polygpu.model.rewrite import rewrite, substitute
from polygpu.model.scop import Array, Scop
from polygpu.printing.dialects import C
from polygpu.printing.layout import pointer_type, region_parameters
from polygpu.printing.measured import HELPERS, KEPT_HELPERS, Measured, Measuring, chosen_reason
from polygpu.printing.printer import Names, print_expr
from polygpu.printing.rows import PROTOTYPES, Packed
from polygpu.support.dataclass import dataclass
from polygpu.support.position import basename

_USER = Names(C)  # the user's own names, in the user's own file
_PRAGMA = re.compile(
    r"^[ \t]*#[ \t]*pragma[ \t]+(?:scop|endscop|polygpu)\b.*$"
    r'|_Pragma\s*\(\s*"(?:scop|endscop|polygpu)\b[^"]*"\s*\)',
    re.MULTILINE,
)
_FOR_DEVICES = re.compile(r'(?:#[ \t]*pragma[ \t]+|_Pragma\s*\(\s*"\s*)(?:acc|omp[ \t]+target)\b')
_NOTHING = Kept()
_TOUCHES = "(const volatile void *host, unsigned long long bytes, const char *why)"
_MAPS = "(const volatile void *host, long long bytes, "
_KEEPING = {
    "polygpu_keep": "void polygpu_keep(void);\n",
    "polygpu_release": "void polygpu_release(const char *why);\n",
    "polygpu_host_reads": f"void polygpu_host_reads{_TOUCHES};\n",
    "polygpu_host_writes": f"void polygpu_host_writes{_TOUCHES};\n",
    "polygpu_host_inspects": f"int polygpu_host_inspects{_TOUCHES};\n",
    "polygpu_host_knows": "long long polygpu_host_knows"
    "(const volatile void *host, unsigned long long bytes);\n",
    "polygpu_forget": "void polygpu_forget(const volatile void *host, unsigned long long bytes);\n",
    "polygpu_pause": "int polygpu_pause(const char *why);\n",
    "polygpu_leave": "int polygpu_leave(void);\n",
    "polygpu_resume": "void polygpu_resume(int scopes);\n",
    "polygpu_map": "void polygpu_map(const volatile void *host, long long bytes);\n",
    "polygpu_unmap": f"void polygpu_unmap{_MAPS}int all, const char *why);\n",
    "polygpu_update": f"void polygpu_update{_MAPS}int back, const char *why);\n",
}
# Threads may still be at what stands before the region, and each of them tests what it needs.
_ONE_FOR_ALL = "#pragma omp barrier\n#pragma omp single copyprivate(polygpu_left)\n"
_DISJOINT = """\
static inline int polygpu_disjoint(const void *p, long long m, const void *q, long long n)
{
    const char *a = (const char *)p, *b = (const char *)q;
    return m <= 0 || n <= 0 || a + m <= b || b + n <= a;
}
"""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two variables of which one is written: pointers and byte sizes as C text in the user's names.

    They may be the same one where the region keeps both `in_step`.
    """

    first: str
    first_bytes: str
    second: str
    second_bytes: str
    reason: str
    in_step: bool = False


@dataclass(frozen=True, slots=True)
class HostCall:
    """The call that replaces a region, and what must hold at run time for it.

    `parameters` are those of the prototype, `scalars` and `buffers` the arguments in that order, as C
    text in the user's names. Each condition is a C test and the clause that says what fails when it is 0.
    `gain` is the test that offloading pays, "" for none: nothing is said where it fails.
    Arrays may be `kept` on the device; those `stored` to are among the buffers. Rows behind pointers are
    `packed` before the call; statements have `listed` memory that they must not be part of, where that is
    not sure.
    """

    scop: str
    parameters: tuple[str, ...]
    scalars: tuple[str, ...]
    buffers: tuple[str, ...]
    conditions: tuple[tuple[str, str], ...] = ()
    overlaps: tuple[Overlap, ...] = ()
    gain: str = ""
    kept: bool = False
    packed: tuple[Packed, ...] = ()
    listed: tuple[str, ...] = ()
    stored: tuple[str, ...] = ()
    measured: tuple[Measured, ...] = ()


def host_call(
    scop: Scop,
    region: Region,
    conditions: Iterable[tuple[str, str]] = (),
    gain: str = "",
    named: Region | None = None,
) -> HostCall:
    """The call of `region`, with the tests of `conditions` and those that no two pointers overlap.

    It is in the names of the source, `named` in those of the scop where some differ.
    """
    arrays = {array.name: array for array in scop.arrays}
    hosts = [buffer for buffer in region.buffers if buffer.host]
    scalars = tuple(scalar.name for scalar in region.scalars)
    rows = {b.name: _packed(arrays[b.name], b) for b in hosts if b.rows}
    passed_as = {b.name: rows[b.name].variable if b.rows else _address(arrays[b.name]) for b in hosts}
    buffers = tuple(f"({pointer_type(b, _USER.dialect)}){passed_as[b.name]}" for b in hosts)
    return HostCall(
        scop=scop.name,
        parameters=region_parameters(named or region, _USER.dialect),
        scalars=scalars,
        buffers=buffers,
        conditions=tuple(conditions),
        overlaps=() if scop.no_alias else overlap_tests(scop, region),
        gain=gain,
        packed=tuple(rows.values()),
        listed=() if scop.no_alias else tuple(_listed(scop, region, rows)),
        stored=tuple(passed_as[b.name] for b in hosts if b.copy_out and not b.rows),
        measured=tuple(map(Measuring(scop, {b.name: b for b in hosts}, _plain, _span).of, scop.measures)),
    )


def _packed(array: Array, buffer: Buffer) -> Packed:
    return Packed(buffer, _address(array), _in_source(buffer), array.shown, print_user)


def _listed(scop: Scop, region: Region, rows: Mapping[str, Packed]) -> Iterator[str]:
    """Lists rows that are written, or that stores to other arrays may reach, and what they must not be."""
    buffers = {buffer.name: buffer for buffer in region.buffers if buffer.host}
    arrays = [array for array in scop.arrays if array.name in buffers]
    tables = [array for array in arrays if array.name in rows]
    others: dict[str, None] = {}
    together: dict[str, None] = {}
    for a, b in product(tables, arrays):
        written = buffers[a.name].copy_out or buffers[b.name].copy_out
        if written and (a is b or may_overlap(a, b)):
            together[a.name] = None
            (together if b.name in rows else others)[b.name] = None
    for a, e in product(tables, scop.exposed):
        if buffers[a.name].copy_out and may_alias({e.type}, types_in(a)):
            others[e.name] = None
    for name in together:
        yield from rows[name].listing
        if buffers[name].copy_out and "char" in next(types_in(a) for a in tables if a.name == name):
            yield from rows[name].pointers
    for array in arrays:
        if array.name in others:
            start, size = _span(array, buffers[array.name])
            yield f"polygpu_list_memory({start}, {size}, 0, {int(buffers[array.name].copy_out)});"
    for e in scop.exposed:
        if e.name in others:
            yield f"polygpu_list_memory({e.address}, {e.size}, 0, 0);"


def in_source_names(
    region: Region, names: Mapping[str, str], unsigned: Collection[str] = frozenset()
) -> Region:
    """What the host file sees of `region`, where kernels call something else than the source does.

    Scalars that are `unsigned` there count as signed, as kernels do: else C takes `-n` for a large number.
    """
    if not names and not unsigned:
        return region
    values: dict[str, Expr] = {new: Name(old) for new, old in names.items()}
    signed: dict[str, Expr] = {name: Cast("long long", Name(name)) for name in unsigned}

    def expr(e: Expr) -> Expr:
        return substitute(substitute(e, values), signed)

    def buffer(b: Buffer) -> Buffer:
        return replace(
            b,
            name=names.get(b.name, b.name),
            extents=tuple(map(expr, b.extents)),
            host_extents=tuple(e if e is None else expr(e) for e in b.host_extents),
            origin=tuple(map(expr, b.origin)),
            rows=b.rows and _rows_with(b.rows, expr),
        )

    scalars = tuple(replace(s, name=names.get(s.name, s.name)) for s in region.scalars)
    return replace(region, scalars=scalars, buffers=tuple(map(buffer, region.buffers)))


def _rows_with(rows: Rows, change: Callable[[Expr], Expr]) -> Rows:
    def span(s: Span) -> Span:
        return Span(change(s.first), change(s.end), s.test and change(s.test))

    return replace(rows, touched=span(rows.touched), written=rows.written and span(rows.written))


def _address(array: Array) -> str:
    text = array.host or array.name
    return text if re.fullmatch(r"\w+|&[\w\[\]]+", text) else f"({text})"


def overlap_tests(scop: Scop, region: Region) -> tuple[Overlap, ...]:
    """A test for each two variables that C lets overlap and of which the region writes one."""
    buffers = {buffer.name: buffer for buffer in region.buffers if buffer.host}
    arrays = [array for array in scop.arrays if array.name in buffers]
    of_arrays = (
        replace(
            _overlap(a.shown, _span(a, buffers[a.name]), b.shown, _span(b, buffers[b.name])),
            in_step=in_step(scop, a, b),
        )
        for a, b in combinations(arrays, 2)
        if not (a.pointers or b.pointers)
        and may_overlap(a, b)
        and (buffers[a.name].copy_out or buffers[b.name].copy_out)
    )
    # What is only read is read once: no store may change it meanwhile.
    of_copies = (
        _overlap(e.name, (e.address, e.size), a.shown, _span(a, buffers[a.name]))
        for e, a in product(scop.exposed, arrays)
        if not a.pointers and may_change(e, a) and buffers[a.name].copy_out
    )
    return (*of_arrays, *of_copies)


def _overlap(a: str, first: tuple[str, str], b: str, second: tuple[str, str]) -> Overlap:
    return Overlap(*first, *second, reason=f"'{a}' and '{b}' overlap, or may by their sizes")


def _span(array: Array, buffer: Buffer) -> tuple[str, str]:
    """The first of the rows that the region touches, and their bytes."""
    if not buffer.extents:
        return _address(array), f"sizeof *{_address(array)}"
    skipped = _bytes(buffer.origin[0], buffer) if buffer.origin else "0"
    start = _address(array) if skipped == "0" else f"(const char *){_address(array)} + {skipped}"
    return start, _bytes(buffer.extents[0], buffer)


def _bytes(rows: Expr, buffer: Buffer) -> str:
    """The bytes of `rows` rows of the host's array, computed in long long."""
    if rows == Int(0):
        return "0"
    known = SIZES.get(buffer.type)
    total: Expr = Literal(f"{known}LL" if known else f"(long long)sizeof({_in_source(buffer)})", "long long")
    for factor in (rows, *buffer.host_extents[1:]):
        assert factor is not None, "only the outermost extent of an array may be unknown"
        total = product_of(total, factor)
    return print_user(total)


def _in_source(buffer: Buffer) -> str:
    return buffer.structure.in_source if buffer.structure else buffer.type


def print_user(expr: Expr) -> str:
    """`expr` in the user's file: min, max and floord, which C lacks, spelled out."""
    return print_expr(_plain(expr), _USER)


def _plain(expr: Expr) -> Expr:
    return rewrite(expr, _spelled_out)


def _spelled_out(expr: Expr) -> Expr | None:
    match expr:
        case Call("min" | "max" as function, (first, *rest), ctype):
            left = _plain(first)
            if not rest:
                return left
            right = _plain(Call(function, tuple(rest), ctype))
            return Select(Binary("<" if function == "min" else ">", left, right), left, right)
        case Call("floord", (a, b), _):
            a, b = _plain(a), _plain(b)
            below = Binary("+", Binary("-", a, b), Int(1))
            return Binary("/", Select(Binary("<", a, Int(0)), below, a), b)
    return None


def emit_host(
    text: str,
    scops: tuple[Scop, ...],
    calls: tuple[HostCall, ...],
    kept: Kept = _NOTHING,
    path: str = "",
) -> str:
    """`text` with the regions of `calls` replaced; line numbers of compiler messages stay the user's.

    `scops` are regions of one file, that at `path` if there are none, and do not overlap; one without a call
    stays as it is. What is said of arrays that are `kept` is inserted at its offsets.
    """
    by_name = {call.scop: call for call in calls}
    replaced = [
        (s.start, s.end, replacement(text, s, by_name[s.name], kept.updates))
        for s in scops
        if s.name in by_name
    ]
    apart = [(*place, "") for s in scops if s.name in by_name for place in s.pragmas]
    parts, done = [], 0
    for start, end, new in sorted(
        [*((at, at, said) for at, said in kept.inserted), *apart, *replaced], key=lambda p: p[:2]
    ):
        parts += [text[done:start], new]
        done = end
    body = "".join([*parts, text[done:]])
    if not parts and not kept:
        return text
    mark = "\ufeff" if body.startswith("\ufeff") else ""
    said = {name for _, insertion in kept.inserted for name in _KEEPING if name in insertion}
    said |= {"polygpu_host_writes"} if any(call.kept for call in calls) else set()
    said |= {"polygpu_host_reads"} if any(call.kept and call.packed for call in calls) else set()
    measuring = any(call.kept and call.measured for call in calls)
    said |= {"polygpu_host_inspects", "polygpu_host_knows"} if measuring else set()
    keeping = "".join(prototype for name, prototype in _KEEPING.items() if name in said)
    return mark + prologue(path or scops[0].file, calls, keeping + _marks(kept)) + body.removeprefix(mark)


def _marks(kept: Kept) -> str:
    """What tells files of a program which functions look after arrays that are on the device.

    Null in a program where nobody defines it: the function comes from a file that polygpu did not compile.
    """
    names = {name for _, text in kept.inserted for name in re.findall(r"\bpolygpu_keeps_\w+", text)}
    asked = "".join(f"extern const char {name}[] __attribute__((weak));\n" for name in sorted(names))
    return asked + "".join(f'const char polygpu_keeps_{name}[] = "";\n' for name in kept.exported)


def prologue(path: str, calls: Iterable[HostCall], keeping: str = "") -> str:
    """What the replacements of the regions of the file at `path` need before them."""
    file, calls = basename(path), tuple(calls)
    helpers = _DISJOINT if any(call.overlaps for call in calls) else ""
    helpers += HELPERS if any(call.measured for call in calls) else ""
    helpers += KEPT_HELPERS if any(call.kept and call.measured for call in calls) else ""
    if any(call.packed for call in calls):
        helpers += PROTOTYPES
    if any(call.conditions or call.overlaps or call.packed or call.measured for call in calls):
        helpers += "void polygpu_assumption_failed(const char *message);\n"
    prototypes = "".join(f"int {c.scop}({', '.join(c.parameters) or 'void'});\n" for c in calls)
    return f"/* Generated by polygpu from {file}. */\n{helpers}{keeping}{prototypes}{_line(1, file)}"


def _line(number: int, file: str) -> str:
    return f'#line {number} "{_escaped(file)}"\n'


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("?", "\\?").replace("\n", " ")


def replacement(text: str, scop: Scop, call: HostCall, updates: bool = False) -> str:
    """What stands in the host file in place of the region: the call, and the original loop.

    This one runs where a run-time test fails, and where the device has no memory for the arrays. Where a
    pragma `updates` the device, the host has to have what loops compute that no pragma sends there.
    """
    original = text[scop.start : scop.end]
    run = f"!{scop.name}({', '.join((*call.scalars, *call.buffers))})"
    tests = _tests(call)
    file, first = basename(scop.file), text.count("\n", 0, scop.start) + 1
    column = scop.start - (text.rfind("\n", 0, scop.start) + 1)
    says = f"polygpu: {file}:{scop.position.line}: the loop runs on the host: "
    said = [(call.gain, "")] if call.gain else []
    said += [(test, says + reason) for test, reason in tests]
    quoted = [(test, f'"{_escaped(why)}"') for test, why in said]
    asks = bool(tests or call.measured)
    chosen = chosen_reason(quoted, call.measured, _escaped(says), call.kept) if asks else ""
    loud = f"polygpu_reason && {'*polygpu_reason && ' if call.gain else ''}!polygpu_said"
    if call.kept:
        says_so = _escaped(f"line {scop.position.line} runs on the host")
        kept = f'        polygpu_host_writes(0, 0, "{says_so}");\n'
    else:
        kept = ""
    spoken = (
        "        static int polygpu_said;\n"
        f"        if ({loud}) {{\n"
        "            polygpu_said = 1;\n            polygpu_assumption_failed(polygpu_reason);\n        }\n"
    )
    behind = _moves(scop) + (_back(scop, call, original) if updates else "")
    left = "polygpu_reason || " if asks else f"!({call.gain}) || " if call.gain else ""
    if scop.team or call.packed:
        if call.packed:
            chosen = (chosen or f"    const char *polygpu_reason = {_quiet(call)};\n") + _staged(call, says)
        head = _attempt(call, chosen, run, spoken if chosen else "", scop.team) + kept
    else:
        head = f"{chosen}    if ({left}{run}) {{\n{spoken if asks else ''}{kept}"
    return (
        f"{{\n{head}"
        f"{_line(first, file)}{' ' * column}{_PRAGMA.sub('', original)}\n"
        f"    }}{behind}\n}}\n{_line(first + original.count(chr(10)), file)}"
    )


def _back(scop: Scop, call: HostCall, original: str) -> str:
    """What brings back what a region without a pragma for devices has stored of arrays that others map."""
    if _FOR_DEVICES.search(original):
        return ""
    why = _escaped(f"the loop of line {scop.position.line} is the host's by the pragmas")
    return "".join(f'\n    polygpu_update({place}, 0, 1, "{why}");' for place in call.stored)


def _moves(scop: Scop) -> str:
    """What else the region does to pointers, where the device has run it."""

    def wide(e: Expr) -> Expr | None:
        return Cast("long long", e) if isinstance(e, Name) else None

    moved = [f"{name} += {print_user(rewrite(distance, wide))};" for name, distance in scop.moved]
    return f" else {{\n{_indented(moved)}    }}" if moved else ""


def _attempt(call: HostCall, chosen: str, run: str, spoken: str, team: bool) -> str:
    """What leaves in `polygpu_left` whether the region is left to do, and the head of what does it here.

    Of a team one thread asks the device, for which all wait: each learns what became of it.
    """
    unpacked = [line for p in call.packed for line in p.unpacking]
    if call.kept and unpacked:
        unpacked.insert(0, 'polygpu_host_writes(0, 0, "rows behind pointers are unpacked");')
    asks = [line for p in call.packed for line in p.packing]
    if call.kept and call.packed:
        asks.insert(0, 'polygpu_host_reads(0, 0, "rows behind pointers are packed");')
    asks.append(f"polygpu_left = {run};")
    asks += ["if (!polygpu_left) {", *unpacked, "}"] if unpacked else []
    allowed = "!polygpu_reason" if chosen else call.gain
    asked = f"    if ({allowed}) {{\n{_indented(asks)}    }}\n" if allowed else _indented(asks)
    dropped = _indented(f"polygpu_drop_rows({p.variable});" for p in call.packed)
    one = _ONE_FOR_ALL if team else ""
    tried = f"    {{\n{chosen}{spoken}{asked}{dropped}    }}\n"
    return f"    int polygpu_left = 1;\n{one}{tried}    if (polygpu_left) {{\n"


def _quiet(call: HostCall) -> str:
    return f'({call.gain}) ? 0 : ""' if call.gain else "0"


def _staged(call: HostCall, says: str) -> str:
    """Memory for rows, and the test that they are apart, which decide about `polygpu_reason` too."""
    lines = [f"    {line}\n" for p in call.packed for line in p.declared]
    for p in call.packed:
        why = _escaped(f"{says}there is no memory for the rows of '{p.shown}'")
        lines.append(f'    if (!polygpu_reason && !{p.variable})\n        polygpu_reason = "{why}";\n')
    if call.listed:
        why = _escaped(f"{says}rows of an array are not apart from each other, or from other arrays")
        test = f'if (!polygpu_listed_apart())\n            polygpu_reason = "{why}";'
        lines.append(f"    if (!polygpu_reason) {{\n{_indented((*call.listed, test))}    }}\n")
    return "".join(lines)


def _indented(lines: Iterable[str]) -> str:
    return "".join(f"        {line}\n" for line in lines)


def _tests(call: HostCall) -> list[tuple[str, str]]:
    return [*call.conditions, *((_apart(overlap), overlap.reason) for overlap in call.overlaps)]


def _apart(o: Overlap) -> str:
    test = f"polygpu_disjoint({o.first}, {o.first_bytes}, {o.second}, {o.second_bytes})"
    return f"(const void *)({o.first}) == (const void *)({o.second}) || {test}" if o.in_step else test
