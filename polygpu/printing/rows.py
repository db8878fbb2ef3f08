"""Rows behind pointers: the host packs what a region touches of them, and unpacks what it writes.

    float **a    ->    a block of memory in which row i of `a` follows row i - 1

The host file does so around the call, so that device files know of no such rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from polygpu.model.expr import Expr, Int, Name
from polygpu.model.kernel import Buffer, Rows, Span
from polygpu.model.linear import subtract
from polygpu.model.offsets import linear_offset, product, sum_of
from polygpu.support.dataclass import dataclass

PROTOTYPES = """\
void *polygpu_rows(long long bytes);
void polygpu_copy_row(void *to, const void *from, long long bytes);
void polygpu_drop_rows(void *rows);
void polygpu_list_memory(const void *first, long long bytes, int row, int written);
int polygpu_listed_apart(void);
"""


@dataclass(frozen=True, slots=True)
class Packed:
    """The rows of a buffer whose pointers are in `table`, as C; `spell` prints in the names of the source.

    They are packed in the `variable`, elements of `type`.
    """

    buffer: Buffer
    table: str
    type: str
    shown: str
    spell: Callable[[Expr], str]

    @property
    def variable(self) -> str:
        return f"polygpu_rows_of_{self.buffer.name}"

    @property
    def rows(self) -> Rows:
        assert self.buffer.rows is not None
        return self.buffer.rows

    @property
    def declared(self) -> tuple[str, ...]:
        """The block with the number of its rows and the length of each."""
        extents = zip(self._extents, map(self.spell, self.buffer.extents), strict=True)
        counts = (f"const long long {n.name} = ({e}) > 0 ? ({e}) : 0;" for n, e in extents)
        size = f"{self.spell(product(self._extents))} * (long long)sizeof({self.type})"
        return *counts, f"{self.type} *{self.variable} = polygpu_reason ? 0 : polygpu_rows({size});"

    @property
    def _extents(self) -> list[Name]:
        dimensions = range(len(self.buffer.extents))
        return [Name(f"polygpu_n{k}_of_{self.buffer.name}", "long long") for k in dimensions]

    @property
    def _origin(self) -> tuple[Expr, ...]:
        return self.buffer.origin or (Int(0),) * len(self.buffer.extents)

    @property
    def packing(self) -> Iterator[str]:
        """Copies what the region may touch of the rows."""
        span = self.rows.touched
        copy = f"polygpu_copy_row({self._here(span)}, {self._there(span)}, {self._bytes(span)});"
        return self._each(span, copy)

    @property
    def unpacking(self) -> Iterator[str]:
        """Copies what the region may write of the rows back."""
        span = self.rows.written
        if span is not None and self.buffer.copy_out:
            there = f"(void *)({self._there(span)})"
            yield from self._each(
                span, f"polygpu_copy_row({there}, {self._here(span)}, {self._bytes(span)});"
            )

    @property
    def listing(self) -> Iterator[str]:
        """Lists the rows, with whether the region writes them."""
        span, written = self.rows.touched, self.rows.written
        test = written.test if written else None
        writes = "0" if written is None else "1" if test is None else self.spell(test)
        place = f"{self._there(span)}, {self._bytes(span)}"
        return self._each(span, f"polygpu_list_memory({place}, 1, {writes});")

    @property
    def pointers(self) -> Iterator[str]:
        """Lists the pointers to rows, which nothing may write."""
        for depth in range(len(self.rows.counters)):
            table, first = self._table(depth), self._origin[depth]
            count = f"{self._extents[depth].name} * (long long)sizeof *{table}"
            body = f"polygpu_list_memory({self._moved(table, first)}, {count}, 0, 0);"
            yield from self._loops(depth, [self._table(k + 1) for k in range(depth)], body)

    def _table(self, depth: int) -> str:
        """What the first counters lead to."""
        return self.table + "".join(f"[{name}]" for name in self.rows.counters[:depth])

    def _each(self, span: Span, body: str) -> Iterator[str]:
        """`body` for each row that has elements of the span. Where data decide, there may be no such row."""
        depth = len(self.rows.counters)
        tests = [] if span.test is None else [self.spell(span.test)]
        first = 0 if self.buffer.optional else 1
        return self._loops(depth, [*tests, *(self._table(k) for k in range(first, depth + 1))], body)

    def _loops(self, depth: int, tests: Sequence[str], body: str) -> Iterator[str]:
        for k, name in enumerate(self.rows.counters[:depth]):
            first, end = self._origin[k], sum_of(self._origin[k], self._extents[k])
            loop = f"for ({name} = {self.spell(first)}; {name} < {self.spell(end)}; {name}++)"
            yield f"{'    ' * k}{{ long long {name}; {loop}"  # as C89 has it
        within = "    " * depth
        if tests:
            yield f"{within}if ({' && '.join(map(_operand, tests))})"
            within += "    "
        yield f"{within}{body}{' }' * depth}"

    def _here(self, span: Span) -> str:
        places = (*(Name(name, "long long") for name in self.rows.counters), span.first)
        subscripts = (e if o == Int(0) else subtract(e, o) for e, o in zip(places, self._origin, strict=True))
        return self._moved(self.variable, linear_offset(subscripts, self._extents[1:], "long long"))

    def _there(self, span: Span) -> str:
        return self._moved(self._table(len(self.rows.counters)), span.first)

    def _moved(self, pointer: str, offset: Expr) -> str:
        return pointer if offset == Int(0) else f"{pointer} + ({self.spell(offset)})"

    def _bytes(self, span: Span) -> str:
        return f"({self.spell(subtract(span.end, span.first))}) * (long long)sizeof({self.type})"


def _operand(test: str) -> str:
    """Of `&&`, as C."""
    return f"({test})" if "||" in test or "?" in test else test
