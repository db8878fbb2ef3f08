"""What is known of the names of a kernel, scope by scope, while its body is walked."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Literal

from polygpu.model.expr import Expr
from polygpu.model.rewrite import names_in, references
from polygpu.perf.predict.values import Value, evaluate

Kind = Literal["uniform", "lanes", "private"]


@dataclass
class Scope:
    values: dict[str, Value | None] = field(default_factory=dict)
    kinds: dict[str, Kind] = field(default_factory=dict)


class Names:
    """`uniform` names have one value for the block, `lanes` one for each of its threads."""

    def __init__(self, uniform: Mapping[str, Value | None], lanes: Mapping[str, Value | None]) -> None:
        kinds: dict[str, Kind] = dict.fromkeys(uniform, "uniform")
        self.scopes = [Scope({**uniform, **lanes}, kinds | dict.fromkeys(lanes, "lanes"))]

    @property
    def values(self) -> dict[str, Value | None]:
        merged: dict[str, Value | None] = {}
        for scope in self.scopes:
            merged |= scope.values
        return merged

    def kind(self, name: str) -> Kind | None:
        return next((s.kinds[name] for s in reversed(self.scopes) if name in s.kinds), None)

    def uniform(self, expr: Expr) -> bool:
        """Whether `expr` is one value for the block, by its names alone."""
        return not any(True for _ in references(expr)) and all(
            self.kind(name) == "uniform" for name in names_in(expr)
        )

    @contextmanager
    def scope(self) -> Iterator[None]:
        self.scopes.append(Scope())
        yield
        self.scopes.pop()

    def evaluate(self, expr: Expr) -> Value | None:
        return evaluate(expr, self.values)

    def is_of(self, name: str, kind: Kind) -> None:
        """A name whose value is not followed, or is known already."""
        self.scopes[-1].kinds[name] = kind

    def declare(self, name: str, value: Value | None, kind: Kind) -> None:
        self.scopes[-1].values[name], self.scopes[-1].kinds[name] = value, kind

    def assign(self, name: str, value: Expr) -> None:
        """Known only where nothing lies between the declaration and here."""
        here = self.scopes[-1].values
        if name in here:
            here[name] = self.evaluate(value)
            return
        self.forget({name})

    def forget(self, names: set[str]) -> None:
        for scope in self.scopes:
            scope.values |= dict.fromkeys(names & scope.values.keys())
