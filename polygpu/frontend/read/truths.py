"""The tests of a region that are parameters of it."""

from __future__ import annotations

from dataclasses import replace

from polygpu.frontend.read.state import Region
from polygpu.frontend.shape.equal import with_truths
from polygpu.model.rewrite import action_expressions, actions, references, scalars_in


def tell_equal(region: Region, tests: frozenset[str]) -> None:
    """Has parameters for whether others are equal, where branches depend on that and nothing else does."""
    computed = (e for s in region.statements for a in actions(s.body) for e in action_expressions(a))
    subscripts = (s for e in computed for r in references(e) for s in r.subscripts)
    named = scalars_in(*subscripts, *(c.value for c in region.conversions)) | region.bounding | tests
    domains = [*(s.domain for s in region.statements), *(c.domain for c in region.conversions)]
    changed = with_truths(domains, named, region.products.known)
    region.statements[:] = [replace(s, domain=changed(s.domain)) for s in region.statements]
    region.conversions[:] = [replace(c, domain=changed(c.domain)) for c in region.conversions]
