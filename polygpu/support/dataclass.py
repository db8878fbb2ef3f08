"""The standard library's `dataclass`, but that looks at fields and compiles methods when they are asked for.

The standard one takes 0.7 ms to define a frozen class: it compiles six methods, and makes a record of each
field. polygpu has 500 such classes; a process that compiles a file makes instances of a third of them, only a
few of most, and compares or hashes fewer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, FrozenInstanceError, fields
from functools import partial
from reprlib import recursive_repr
from threading import RLock
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

__all__ = ["dataclass"]

Fields: TypeAlias = tuple[Field[Any], ...]
Text: TypeAlias = Callable[[Fields], str]

_EQUALITY = {"__eq__": "=="}
_ORDER = {"__lt__": "<", "__le__": "<=", "__gt__": ">", "__ge__": ">="}
_SELDOM = 10  # instances: most classes have fewer in a compilation, and 0.2 ms compile an `__init__`
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
    """The method whose text is made of the fields; the compiled one takes its place when it is of use."""
    left = _SELDOM if name == "__init__" else 0

    def first(self: object, /, *arguments: object, **named: object) -> Any:
        nonlocal left
        left -= 1
        if left >= 0 and _initialised(self, fields(cls), arguments, named):
            return None
        method = _compiled(cls, name, text(fields(cls)))
        setattr(cls, name, method)
        return method(self, *arguments, **named)

    first.__qualname__ = f"{cls.__qualname__}.{name}"
    return first


def _initialised(self: Any, of: Fields, arguments: tuple[object, ...], named: Mapping[str, object]) -> bool:
    """Does what `__init__` does; False where the arguments do not fit."""
    names = [f.name for f in of if f.init]
    given = dict(zip(names, arguments, strict=False))
    if len(arguments) > len(names) or not given.keys().isdisjoint(named) or not named.keys() <= {*names}:
        return False
    given |= named
    for f in of:
        value = given.get(f.name, MISSING)
        if value is MISSING:
            value = f.default if f.default_factory is MISSING else f.default_factory()
        if value is not MISSING:
            object.__setattr__(self, f.name, value)
        elif f.init:
            return False
    if hasattr(self, "__post_init__"):
        self.__post_init__()
    return True


def _compiled(cls: Any, name: str, text: str) -> Any:
    scope: dict[str, Any] = {"_set": object.__setattr__, "_missing": MISSING}
    for f in fields(cls):
        scope[f"_default_{f.name}"] = f.default if f.default_factory is MISSING else f.default_factory
        scope[f"_set_{f.name}"] = getattr(getattr(cls, f.name, None), "__set__", None)
    exec(text, scope)
    method = scope[name]
    method.__qualname__ = f"{cls.__qualname__}.{name}"
    return method


def _init(of: Fields, frozen: bool, slots: bool, after: tuple[str, ...]) -> str:
    kept = "self.{0} = {1}"
    if frozen:  # a slot's own setter takes half the time of object's
        kept = "_set_{0}(self, {1})" if slots else "_set(self, '{0}', {1})"
    parameters, body = ["self"], []
    for f in of:
        name, value, made = f.name, f.name, f.default_factory is not MISSING
        if not f.init:
            value = f"_default_{name}()" if made else f"_default_{name}"
        elif made:
            value = f"_default_{name}() if {name} is _missing else {name}"
        default = "_missing" if made else "" if f.default is MISSING else f"_default_{name}"
        if f.init:
            parameters.append(f"{name}={default}" if default else name)
        if f.init or default:
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
    return "(" + "".join(f"{instance}.{f.name}, " for f in of if f.compare) + ")"


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
