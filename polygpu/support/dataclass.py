"""The standard library's `dataclass`, but that looks at fields and compiles methods when they are asked for.

The standard one takes 0.7 ms to define a frozen class: it compiles six methods, and makes a record of each
field. polygpu has 500 such classes; a process that compiles a file makes instances of a third of them, and
compares or hashes fewer. A method is compiled once for all classes with as many fields of the same kinds, and
given their names.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import cache, partial
from reprlib import recursive_repr
from threading import RLock
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

__all__ = ["dataclass"]

Fields: TypeAlias = tuple[Field[Any], ...]
Text: TypeAlias = Callable[[Fields], str]

_EQUALITY = {"__eq__": "=="}
_ORDER = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_LOCK = RLock()


def _dataclass(
    cls: Any = None, /, *, frozen: bool = False, eq: bool = True, order: bool = False, slots: bool = False
) -> Any:
    """Methods that the class defines itself stay."""
    if cls is None:
        return partial(_dataclass, frozen=frozen, eq=eq, order=order, slots=slots)
    own = {name for name, value in vars(cls).items() if (name, value) != ("__hash__", None)}
    cls.__doc__ = cls.__doc__ or cls.__name__  # else the standard one asks for the signature, in 0.1 ms
    if slots:  # this makes another class, of which there may be no instance yet
        cls = _standard(cls, slots=True)
    else:
        for name in ("__dataclass_fields__", "__match_args__"):
            setattr(cls, name, _Asked(cls, name))
    after = ("self.__post_init__()",) if hasattr(cls, "__post_init__") else ()
    texts: dict[str, Text] = {"__init__": partial(_init, frozen=frozen, slots=slots, after=after)}
    for name, operator in ((_EQUALITY if eq else {}) | (_ORDER if order else {})).items():
        texts[name] = partial(_comparison, name=name, operator=operator)
    methods: dict[str, Any] = {"__repr__": _repr}
    if eq and frozen:
        texts["__hash__"] = _hash
    elif eq:
        methods["__hash__"] = None
    if frozen:
        methods |= {"__setattr__": _refuse, "__delattr__": _refuse}
        methods |= {"__getstate__": _state, "__setstate__": _set_state} if slots else {}
    methods |= {name: _later(cls, name, text) for name, text in texts.items()}
    for name in methods.keys() - own:
        setattr(cls, name, methods[name])
    return cls


_standard = partial(dataclasses.dataclass, init=False, repr=False, eq=False)  # noqa: TID251


class _Asked:
    """Has the standard library look at the fields of a class as soon as somebody asks for them."""

    def __init__(self, cls: Any, name: str) -> None:
        self.cls, self.name = cls, name

    def __get__(self, _instance: object, _owner: object) -> Any:
        with _LOCK:
            if vars(self.cls)[self.name] is self:
                of = fields(_standard(self.cls))
                type.__setattr__(self.cls, "__match_args__", tuple(f.name for f in of if f.init))
        return getattr(self.cls, self.name)


def _later(cls: Any, name: str, text: Text) -> Callable[..., Any]:
    """The method whose text is made of the fields; when it is called, the compiled one takes its place."""

    def first(self: object, /, *arguments: object, **named: object) -> Any:
        method = _method(cls, name, text(fields(cls)))
        setattr(cls, name, method)
        return method(self, *arguments, **named)

    return first


def _method(cls: Any, name: str, text: str) -> FunctionType:
    """The function of `text`, where the k-th field of the class is `_k`, and its default `_default_k`."""
    of, scope = fields(cls), {"_set": object.__setattr__, "_missing": MISSING}
    for k, f in enumerate(of):
        scope[f"_default_{k}"] = f.default if f.default_factory is MISSING else f.default_factory
        scope[f"_set_{k}"] = getattr(getattr(cls, f.name, None), "__set__", None)
    names: dict[object, str] = {f"_{k}": f.name for k, f in enumerate(of)}
    code = _code(text)
    variables, globals_, constants = (
        tuple([names.get(item, item) for item in part])
        for part in (code.co_varnames, code.co_names, code.co_consts)
    )
    code = code.replace(
        co_varnames=variables,
        co_names=globals_,
        co_consts=constants,
        co_qualname=f"{cls.__qualname__}.{name}",
    )
    return FunctionType(code, scope, name, _defaults(cls) if name == "__init__" else ())


def _defaults(cls: Any) -> tuple[object, ...]:
    """Of the last parameters of `__init__`."""
    parameters = [f for f in fields(cls) if f.init]
    with_one = [_has_default(f) for f in parameters]
    if with_one != sorted(with_one):
        raise TypeError(f"a field of {cls.__qualname__} without a default follows one with a default")
    return tuple(f.default for f in parameters if _has_default(f))


def _has_default(f: Field[Any]) -> bool:
    return f.default is not MISSING or f.default_factory is not MISSING


@cache
def _code(text: str) -> CodeType:
    """That of the one function in `text`."""
    return next(c for c in compile(text, "<dataclass>", "exec").co_consts if isinstance(c, CodeType))


def _init(of: Fields, frozen: bool, slots: bool, after: tuple[str, ...]) -> str:
    kept = "self.{0} = {1}"
    if frozen:  # a slot's own setter takes half the time of object's
        kept = "_set{0}(self, {1})" if slots else "_set(self, '{0}', {1})"
    parameters, body = ["self"], []
    for k, f in enumerate(of):
        name, made = f"_{k}", f.default_factory is not MISSING
        value = f"_default_{k}()" if made else f"_default_{k}"
        if f.init:
            parameters.append(name)
            value = f"{value} if {name} is _missing else {name}" if made else name
        if f.init or _has_default(f):
            body.append(kept.format(name, value))
    return f"def __init__({', '.join(parameters)}):\n " + "\n ".join((*body, *after, "pass"))


def _comparison(of: Fields, name: str, operator: str) -> str:
    return (
        f"def {name}(self, other):\n"
        f" if other.__class__ is not self.__class__: return NotImplemented\n"
        f" return {_compared(of, 'self')} {operator} {_compared(of, 'other')}"
    )


def _hash(of: Fields) -> str:
    return f"def __hash__(self): return hash({_compared(of, 'self')})"


def _compared(of: Fields, instance: str) -> str:
    return "(" + "".join(f"{instance}._{k}, " for k, f in enumerate(of) if f.compare) + ")"


@recursive_repr()
def _repr(self: Any) -> str:
    shown = ", ".join(f"{f.name}={getattr(self, f.name)!r}" for f in fields(self) if f.repr)
    return f"{type(self).__qualname__}({shown})"


def _refuse(self: object, name: str, _value: object = None) -> NoReturn:
    raise FrozenInstanceError(f"cannot assign to or delete field {name!r}")


def _state(self: Any) -> list[Any]:
    return [getattr(self, f.name) for f in fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for f, value in zip(fields(self), state, strict=True):
        object.__setattr__(self, f.name, value)


if TYPE_CHECKING:
    from dataclasses import dataclass  # noqa: TID251
else:
    dataclass = _dataclass
