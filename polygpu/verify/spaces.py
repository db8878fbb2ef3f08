"""What kernels read through a cache does not change while they do."""

from __future__ import annotations

from collections.abc import Iterator

from polygpu.model.kernel import ArrayArgument
from polygpu.verify.events import Place
from polygpu.verify.session import Session
from polygpu.verify.trace import Trace
from polygpu.verify.verdict import VALUES, Failure


def check_spaces(session: Session) -> None:
    """Constant arrays keep the values that they have when the region starts, those read through the texture
    cache the values that they have at the launch. Asynchronous copies come from global memory.
    """
    for trace in session.traces:
        for a in trace.kernel.arrays:
            if a.space != "global":
                for message in _problems(session, trace, a):
                    session.failures.append(Failure(VALUES, trace.kernel.name, message))


def _problems(session: Session, trace: Trace, a: ArrayArgument) -> Iterator[str]:
    others = session.traces if a.space == "constant" else [trace]
    for other in others:
        if any(_is(action.target, a) for action in other.actions):
            yield f"'{a.name}' is read through the {a.space} cache, and {other.kernel.name} writes it"
    if any(action.asynchronous and any(_is(r, a) for r in action.reads) for action in trace.actions):
        yield f"'{a.name}' is copied asynchronously, which the {a.space} cache cannot"


def _is(place: Place | None, array: ArrayArgument) -> bool:
    return place is not None and place.space == "global" and place.text == array.name
