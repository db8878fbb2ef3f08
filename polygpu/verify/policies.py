"""What a certificate says of tensor cores: whether somebody permitted them, and which sums are theirs."""

from __future__ import annotations

from collections.abc import Collection

from polygpu.model.scop import Store
from polygpu.verify.session import Session
from polygpu.verify.verdict import VALUES


def check_policies(session: Session, permitted: Collection[str]) -> None:
    """Of what is computed so it is said how; where nobody permitted that, it is open what the values are."""
    for trace in session.traces:
        for policy in trace.together:
            if policy not in permitted:
                session.undecided(VALUES, trace.kernel.name, f"products are those of tensor cores ({policy})")
        for a in trace.actions:
            if a.fragment and a.matched is not None:
                store = session.p.statement(a.matched.statement).actions[a.matched.number]
                assert isinstance(store, Store), "a product is added to an element"
                session.reassociated[store.target.array] = "+"
                session.rounded[store.target.array] = a.fragment
