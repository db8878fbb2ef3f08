"""Pragmas of OpenMP and OpenACC, parsed.

directive ::= ("omp" | "acc") word+ clause*        clause ::= name ["(" text ")"] [","]
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pycparser import c_ast

from polygpu.support.dataclass import dataclass

# What a directive's name is made of; what follows are clauses.
_WORDS = frozenset(
    "parallel for sections section single master masked critical atomic ordered barrier task taskloop "
    "taskwait taskyield taskgroup flush target teams distribute data enter exit update declare simd loop "
    "cancel cancellation point threadprivate end tile unroll scan scope allocate requires error nothing "
    "interop depobj kernels serial routine wait cache host_data init shutdown set".split()
)
_SECTION = re.compile(r"(\w+) \[ (?:0 )?: (\w+) \](?! \[)")
_TOKEN = re.compile(r"\w+|\(|\)|[^\s\w]")


@dataclass(frozen=True)
class Directive:
    """`#pragma omp parallel for private(s, t) nowait` has the model omp, the words parallel and for, the
    clauses private with its text and nowait with none. A pragma of another kind has the model "".
    """

    model: str = ""
    words: tuple[str, ...] = ()
    clauses: tuple[tuple[str, str], ...] = ()

    def has(self, *words: str) -> bool:
        """Whether one of the words is in the directive's name."""
        return not set(words).isdisjoint(self.words)

    def clause(self, *names: str) -> Iterator[str]:
        """The texts of the clauses of these names."""
        return (text for name, text in self.clauses if name in names)

    def listed(self, *names: str) -> frozenset[str]:
        """The variables in the lists of clauses: `reduction(+: s, h[0:n])` lists s and h."""
        return frozenset(name for text in self.clause(*names) for name in _names(text))

    def sections(self, *names: str) -> Iterator[tuple[str, str]]:
        """The sections in the lists of clauses that start with element 0: (h, n) of `h[:n]` and `h[0:n]`."""
        return (found for text in self.clause(*names) for found in _SECTION.findall(text))

    @property
    def collapsed(self) -> int:
        """How many loops the directive is about."""
        return max((int(text) for text in self.clause("collapse") if text.isdecimal()), default=1)


def parsed(pragma: c_ast.Pragma) -> Directive:
    """The directive of a pragma's node."""
    tokens = _TOKEN.findall(pragma_text(pragma))
    if tokens[:1] not in (["omp"], ["acc"]):
        return Directive()
    count = next((k for k, token in enumerate(tokens[1:]) if token not in _WORDS), len(tokens) - 1)
    return Directive(tokens[0], tuple(tokens[1 : count + 1]), tuple(_clauses(tokens[count + 1 :])))


def pragma_text(node: c_ast.Pragma) -> str:
    """`omp simd` of `#pragma omp simd` or `_Pragma("omp simd")`."""
    text = node.string.value.strip('"') if isinstance(node.string, c_ast.Constant) else node.string
    return text or ""


def pragma_word(node: c_ast.Pragma) -> str:
    """`scop` of `#pragma scop` or `_Pragma("scop")`."""
    words = pragma_text(node).split()
    return words[0] if words else ""


def _clauses(tokens: list[str]) -> Iterator[tuple[str, str]]:
    index = 0
    while index < len(tokens):
        name, index = tokens[index], index + 1
        if tokens[index : index + 1] == ["("]:
            end = _closing(tokens, index)
            yield name, " ".join(tokens[index + 1 : end])
            index = end + 1
        elif name.isidentifier():
            yield name, ""


def _closing(tokens: list[str], index: int) -> int:
    """Where the parenthesis closes that opens at `index`; the end if it does not."""
    depth = 0
    for place in range(index, len(tokens)):
        depth += {"(": 1, ")": -1}.get(tokens[place], 0)
        if depth == 0:
            return place
    return len(tokens)


def _names(text: str) -> Iterator[str]:
    """The variables of a list, without the sections of arrays and a `+ :` before it."""
    text = re.sub(r"\[[^\]]*\]", "", text)
    return (part.rpartition(":")[2].strip() for part in text.split(","))
