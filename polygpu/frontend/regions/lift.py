"""A C file to its scops: the front end's one entry."""

from __future__ import annotations

import pickle
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

from pycparser import c_ast

from polygpu.frontend.names.lending import mark_lent
from polygpu.frontend.names.scopes import Hidden, file_scope
from polygpu.frontend.names.structures import told_apart
from polygpu.frontend.options import FrontendOptions, Kept, Lifted, Vetoed
from polygpu.frontend.read.state import FileContext
from polygpu.frontend.regions.beside import Beside, Unit, called, units
from polygpu.frontend.regions.decided import decided
from polygpu.frontend.regions.find import has_pragmas, marked, name_of_regions
from polygpu.frontend.regions.nests import Run, find_nests
from polygpu.frontend.regions.scops import lift_region
from polygpu.frontend.regions.spans import marked_span
from polygpu.frontend.residency.parts import is_part
from polygpu.frontend.residency.plan import kept, may_keep
from polygpu.frontend.text.clean import Clean, clean
from polygpu.frontend.text.counting import count
from polygpu.frontend.text.expansion import Expansion
from polygpu.frontend.text.nodes import nodes
from polygpu.frontend.text.parse import parse
from polygpu.frontend.text.preprocess import preprocess, read_source
from polygpu.frontend.text.recover import Parsed, check_language, parse_tolerantly
from polygpu.frontend.text.source import Source
from polygpu.model.scop import Scop
from polygpu.support.dataclass import dataclass
from polygpu.support.diagnostics import Diagnosed, Diagnostic
from polygpu.support.position import Position

_CHANGES_TYPE = re.compile(r"\b_*(?:vector_size|ext_vector_type|mode)_*\b")
_CHANGES_LAYOUT = re.compile(r"\b_*(?:packed|aligned|scalar_storage_order)_*\b")


def lift(path: str, options: FrontendOptions | None = None, vetoed: Vetoed | None = None) -> Lifted:
    """Reads, preprocesses and lifts a file. Of nests that are found without pragmas those that are `vetoed`,
    by their first and last character, are no regions, for the reasons given.

    Raises Diagnosed when the file cannot be read or parsed, when a marked region cannot be lifted (all
    such errors at once), and when there is no region at all.
    """
    options = options or FrontendOptions()
    check_language(path)
    text = read_source(path)
    with _told_of_depth(path):
        return _parsed(path, text, options).lifted(vetoed or {})


@contextmanager
def _told_of_depth(path: str) -> Iterator[None]:
    try:
        yield
    except RecursionError:
        message = "an expression or block is nested too deeply"
        help_text = "split it into several statements"
        raise Diagnosed(Diagnostic("PG005", "error", message, Position(path, 1, 1), help_text)) from None


@dataclass(frozen=True)
class _Parsed:
    """A file with its tree, and what was lifted of it. `kept` says of regions what stays on the device."""

    path: str
    text: str
    options: FrontendOptions
    context: FileContext
    cleaned: Clean
    sources: Mapping[str, Source]
    diagnostics: tuple[Diagnostic, ...]
    is_whole: bool
    kept: Callable[[Sequence[Scop]], Kept]
    known: dict[Run, Scop | Diagnosed] = field(default_factory=dict)

    def lifted(self, vetoed: Vetoed) -> Lifted:
        """Raises Diagnosed."""
        context, no_alias = self.context, self.options.assume_no_alias
        detected = not has_pragmas(context.root)
        if not detected:
            scops, found = _marked_regions(context, no_alias)
        else:
            nests = find_nests(context, no_alias, vetoed, self.known)
            scops, found = nests.scops, nests.diagnostics
        diagnostics = _ordered([*self.diagnostics, *found])
        if not scops and not any(d.severity == "error" for d in diagnostics):
            diagnostics.append(_nothing(context, detected))
            if detected and self.is_whole and is_part(context):
                diagnostics[-1] = replace(diagnostics[-1], severity="warning")
        if any(d.severity == "error" for d in diagnostics):
            raise Diagnosed(*diagnostics)
        return Lifted(
            self.path,
            self.text,
            tuple(told_apart(sorted(scops, key=lambda scop: scop.start))),
            tuple(diagnostics),
            context.positions.clean.files,
            context.positions.clean.system_files,
            {file: source.text for file, source in context.positions.sources.items()},
            detected,
            tuple(decided(context)),
            self.kept,
            self._again,
        )

    def _again(self, vetoed: Vetoed) -> Lifted:
        with _told_of_depth(self.path):
            return self.lifted(vetoed)


def _parsed(path: str, text: str, options: FrontendOptions) -> _Parsed:
    preprocessed = preprocess(path, text, options)
    cleaned = clean(preprocessed, path)
    sources = _sources(path, text, cleaned.files)
    parsed = parse_tolerantly(path, cleaned, sources, options)
    expansion = Expansion(sources[path], cleaned, partial(_again, path, options))
    tree, cleaned, again = parsed.tree, parsed.clean, _copied(parsed, sources)
    count(tree.root)
    scope = file_scope(tree.root, _hidden(cleaned))
    beside = Beside(Unit(tree.root, tree.positions), scope, tree.positions)
    if options.others and (names := called(tree.root)):
        beside.borrow(list(units(sorted(names), options.others, options)))
    mark_lent(tree.root, scope)
    positions = beside.positions
    context = FileContext(sources[path], expansion, tree.root, positions, scope, options.part, beside.refused)
    told = (*preprocessed.diagnostics, *parsed.diagnostics)
    keeps = partial(_kept, context, cache(partial(_as_written, context, again, _hidden(cleaned))))
    return _Parsed(path, text, options, context, cleaned, sources, told, not parsed.diagnostics, keeps)


def _kept(context: FileContext, written: Callable[[], FileContext], regions: Sequence[Scop]) -> Kept:
    """What is said of the regions' arrays: by the tree as it was before it was made simpler."""
    return kept(written(), regions) if may_keep(context, regions) else Kept()


def _as_written(context: FileContext, again: Callable[[], c_ast.FileAST], hidden: Hidden) -> FileContext:
    root = again()
    return replace(context, root=root, scope=file_scope(root, hidden), beside=context.scope)


def _copied(parsed: Parsed, sources: dict[str, Source]) -> Callable[[], c_ast.FileAST]:
    """What makes a copy of the tree as it is now; to parse again would take three times as long."""
    try:
        stored = pickle.dumps(parsed.tree.root)
    except RecursionError:  # sums of hundreds of terms
        return lambda: parse(parsed.clean, sources).root
    return lambda: pickle.loads(stored)


def _again(path: str, options: FrontendOptions, text: str) -> Clean:
    """Another text in place of the file, preprocessed."""
    return clean(preprocess(path, text, options, edited=True), path)


def _nothing(context: FileContext, detected: bool) -> Diagnostic:
    path = context.source.path
    message, help_text = (
        "no loop nest that can be offloaded",
        "the warnings say what is in the way of each loop",
    )
    if not detected:
        message, help_text = "no region has a statement", "put the pragmas around the loops"
    elif not any(_has_loop(node) and context.at(node).file == path for node in context.root.ext):
        message, help_text = "no function of this file has a loop", "name the file that has the loops"
    return Diagnostic("PG100", "error", message, Position(path, 1, 1), help_text)


def _has_loop(node: Any) -> bool:
    loops = c_ast.For | c_ast.While | c_ast.DoWhile
    return any(isinstance(inner, loops) for inner in nodes(node))


def _sources(path: str, text: str, files: Iterable[str]) -> dict[str, Source]:
    sources = {path: Source(path, text)}
    for file in files:
        # A #line directive can name a file that does not exist.
        if file not in sources and Path(file).is_file():
            sources[file] = Source(file, read_source(file))
    return sources


def _hidden(cleaned: Clean) -> Hidden:
    def lines(pattern: re.Pattern[str]) -> frozenset[int]:
        return frozenset(a.line for a in cleaned.attributes if pattern.search(a.text))

    packs = re.finditer(r"^[ \t]*#[ \t]*pragma[ \t]+pack\b[^\n]*", cleaned.text, re.MULTILINE)
    packed = min((cleaned.text.count("\n", 0, m.start()) + 1 for m in packs), default=None)
    after = frozenset(range(packed, cleaned.text.count("\n") + 2)) if packed is not None else frozenset()
    return Hidden(lines(_CHANGES_TYPE), lines(_CHANGES_LAYOUT) | after)


def _marked_regions(context: FileContext, no_alias: bool) -> tuple[list[Scop], list[Diagnostic]]:
    found = marked(context)
    diagnostics = list(found.errors)
    scops: list[Scop] = []
    counts: Counter[str] = Counter()
    for extract, begin, end in found.extracts:
        name = name_of_regions(context, extract.function)
        try:
            scop = lift_region(
                context, extract, f"{name}_{counts[name]}", marked_span(context, begin, end), no_alias
            )
        except Diagnosed as problem:
            diagnostics += problem.diagnostics
            continue
        if not scop.statements:
            message = "the region is empty: it stays on the host"
            diagnostics.append(
                Diagnostic("PG112", "warning", message, extract.position, "remove its pragmas")
            )
            continue
        counts[name] += 1
        scops.append(scop)
    return scops, diagnostics


def _ordered(diagnostics: list[Diagnostic]) -> list[Diagnostic]:
    """By place, those of one place as found."""
    return sorted(
        diagnostics,
        key=lambda d: (d.position.file, d.position.line, d.position.column) if d.position else ("", 0, 0),
    )
