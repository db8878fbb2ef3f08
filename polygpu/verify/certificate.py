"""The certificate of a compiled region."""

from __future__ import annotations

import time
from collections import ChainMap, Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from itertools import chain
from typing import TypeAlias

import islpy as isl

from polygpu.analysis import polyhedra
from polygpu.analysis.dead import Place, without
from polygpu.analysis.names import with_free_names
from polygpu.analysis.polyhedra import Polyhedra
from polygpu.lower.realise import CompiledRegion
from polygpu.model.kernel import Region
from polygpu.support.child import Beside, Lost, apart, processors
from polygpu.support.dataclass import dataclass
from polygpu.support.isl_idioms import STEPS_A_SECOND, TooLongError, common, hurried, set_options, slow, steps
from polygpu.verify.barriers import check_barriers
from polygpu.verify.bounds import check_bounds
from polygpu.verify.budget import Budget
from polygpu.verify.demand import Demand
from polygpu.verify.dependences import check_dependences
from polygpu.verify.elements import with_elements
from polygpu.verify.final_copies import with_final_copies
from polygpu.verify.initial import find_copies
from polygpu.verify.instances import check_executed, check_instances, check_left_out
from polygpu.verify.joined import check_joined
from polygpu.verify.layouts import check_layouts
from polygpu.verify.match import MismatchError
from polygpu.verify.policies import check_policies
from polygpu.verify.races import check_arrivals, check_races
from polygpu.verify.ranges import check_ranges
from polygpu.verify.reductions import check_reductions
from polygpu.verify.scoped import UnclearError
from polygpu.verify.session import Session
from polygpu.verify.source import Source
from polygpu.verify.spaces import check_spaces
from polygpu.verify.trace import trace
from polygpu.verify.values import Uses, check_stores, check_values
from polygpu.verify.verdict import (
    BOUNDS,
    DEPENDENCES,
    INSTANCES,
    PROPERTIES,
    RANGES,
    VALUES,
    Certificate,
    Failure,
    Proof,
    Unproved,
)

# Steps of isl, of which it takes some 2 to 5 million a second.
_NEEDED = 20_000_000
_QUICK, _QUICK_KERNEL = 450_000, 15_000  # for a region, and for each of its kernels
_QUICK_PART = 40_000  # for each further statement of the source that is one with others
_QUICK_PARTS = 100  # so many of these at most: of longer bodies what is not decided then takes minutes
_QUICK_SUM = 700_000  # for partial results that the blocks of a kernel combine
_QUICK_SUMS = 300_000  # for those of each further array, of which much is known then
_FULL_KERNEL = 50_000_000
_PATIENCE = 2  # times the time after which nothing is begun any more


@dataclass(frozen=True)
class _Subject:
    """What a certificate is of: a region as a translation of the `whole` program, for the parameters in
    `context`.

    What the region leaves out of the program is said to be `dead`; sums in arrays that are `reassociated` may
    be permutations of the source's, and those of tensor cores, whose `policies` these are.
    """

    region: Region
    whole: Polyhedra
    dead: frozenset[Place]
    context: isl.Set
    reassociated: Collection[str]
    policies: Collection[str]

    @staticmethod
    def of(region: CompiledRegion, reassociated: Collection[str]) -> _Subject:
        policies = {str(d.value) for asked in region.asked for d in asked.decisions if d.key == "tensor"}
        free, _ = with_free_names(region.scop)
        p = polyhedra.build(free)
        context = common(with_elements(p), (c.holds for c in region.conditions))
        return _Subject(
            region.region,
            _assuming(p, context),
            region.prepared.dead,
            context,
            {*reassociated, *(array for _, array in region.scop.reassociated)},
            policies,
        )


def _of_kernels(session: Session, _: _Subject) -> None:
    """What each kernel is, and its blocks are for themselves."""
    check_barriers(session)
    check_layouts(session)
    check_spaces(session)
    check_joined(session)
    check_races(session)


def _of_instances(session: Session, _: _Subject) -> None:
    """Which instances are left out: little work, and of a wrong tile the first to be seen."""
    check_executed(session)


def _of_values(session: Session, subject: _Subject) -> None:
    """Which values there are where, beside the source's: nothing of it is needed whatever it takes."""
    uses = Uses()
    check_policies(session, subject.policies)
    check_reductions(session, uses, subject.reassociated)
    with session.step(VALUES, ""):
        find_copies(session)
    check_stores(session, uses)
    check_values(session, uses)
    check_arrivals(session)
    complete = not any(u.property == VALUES for u in session.unproved)
    check_dependences(session, uses, complete)
    if complete:
        check_left_out(session, Demand(Source(subject.whole), subject.dead))
        check_instances(session, uses)
    else:
        session.undecided(INSTANCES, "", "it is open what values accesses carry")


def _of_bounds(session: Session, _: _Subject) -> None:
    check_bounds(session)


def _of_integers(session: Session, _: _Subject) -> None:
    check_ranges(session)


_Part: TypeAlias = Callable[[Session, _Subject], None]
# None needs what others find, and both rows take about the same time.
_ROWS: tuple[tuple[_Part, ...], ...] = ((_of_kernels, _of_bounds), (_of_instances, _of_values, _of_integers))
_OF_VALUES = (DEPENDENCES, VALUES, INSTANCES)


def _checked(subject: _Subject, budget: Budget, copies: int) -> Certificate:
    """What all parts find, without proofs. Each has the budget to itself, behind the traces.

    In two `copies` of this process the rows of parts are made side by side.
    """
    programs = with_final_copies(without(subject.whole, subject.dead), subject.region)
    found = _held_against(next(programs), subject, budget, copies)
    refuted = {f.property for f in found.failures}
    for p in programs if refuted else ():
        work = partial(_held_against, p, subject, budget.from_now(), copies)
        (made,) = apart([(work, _patience(budget))])  # what this takes too long for stays refuted
        known = _known(made)
        undecided = _undecided({(u.property, "") for u in known.unproved})
        if not known.failures and refuted.isdisjoint(kind for kind, _ in undecided):
            return known
    return found


def _held_against(p: Polyhedra, subject: _Subject, budget: Budget, copies: int) -> Certificate:
    """What there is to find with a program that does what the source does."""
    session = Session(subject.region, Source(p), [], budget)
    try:
        with budget.step(needed=True):
            session.traces.extend(trace(subject.region, session.source, subject.context, session.computed))
    except UnclearError as error:
        return _open(str(error))
    except TooLongError:
        return _open("budget")
    except isl.Error as error:  # an assertion of isl's own that some sets break
        return _open(f"isl: {error}")
    except MismatchError as error:
        return Certificate((), (Failure(VALUES, "", str(error)),), ())
    if budget.is_quick:
        return _soon(session, subject)
    if copies < len(_ROWS):
        return _found_by([*chain.from_iterable(_ROWS)], session, subject)
    rows = [(partial(_found_by, row, session, subject), _patience(budget)) for row in _ROWS]
    return _joined([*map(_known, apart(rows))])


def _soon(session: Session, subject: _Subject) -> Certificate:
    """What is found in little time, by this process of kernels and by copies of it beside of the rest: some
    sets of values keep isl at it for minutes in hardly any steps.
    """

    def beside(*parts: _Part) -> Callable[[], Certificate]:
        own = replace(session, failures=[], unproved=[], counts=Counter())
        return partial(_found_by, parts, own, subject)

    budget = session.budget
    values = beside(_of_instances, _of_values), _PATIENCE * slow() * budget.expected_rest
    others = apart([values, (beside(_of_bounds, _of_integers), _patience(budget))])
    try:
        found = [_found_by((_of_kernels,), session, subject)]
    finally:
        rest = [*others]
    found += (_known(made, kinds) for made, kinds in zip(rest, (_OF_VALUES, (BOUNDS, RANGES)), strict=True))
    return _joined(found)


def _found_by(parts: Sequence[_Part], session: Session, subject: _Subject) -> Certificate:
    for part in parts:
        before = steps()
        part(session, subject)
        session.budget = session.budget.without(steps() - before)
    return Certificate(
        (),
        tuple(session.failures),
        tuple(session.unproved),
        dict(session.counts),
        reassociated=dict(session.reassociated),
        rounded=dict(session.rounded),
    )


def _joined(found: Sequence[Certificate]) -> Certificate:
    """What several parts found."""
    return Certificate(
        (),
        tuple(dict.fromkeys(chain.from_iterable(c.failures for c in found))),
        tuple(dict.fromkeys(chain.from_iterable(c.unproved for c in found))),
        sum((Counter(c.counts) for c in found), Counter()),
        reassociated=dict(ChainMap(*(dict(c.reassociated) for c in found))),
        rounded=dict(ChainMap(*(dict(c.rounded) for c in found))),
    )


def _with_proofs(found: Certificate, region: Region) -> Certificate:
    open_ = {(f.property, f.kernel) for f in found.failures} | {
        (u.property, u.kernel) for u in found.unproved
    }
    return replace(found, proofs=tuple(_proofs(region, open_)))


def _open(reason: str, kinds: Sequence[str] = PROPERTIES) -> Certificate:
    return Certificate((), (), tuple(Unproved(kind, "", reason) for kind in kinds))


_TEXTS = {
    "dependences": "every dependence of the source is kept",
    "barriers": "all threads of a block meet at each barrier",
    "values": "each instance reads the values the source reads, and no two threads race for them",
    "bounds": "all accesses are inside of their arrays",
    "ranges": "every integer computed of sizes and indices fits into its type",
    "instances": "every instance of the source is executed, nothing else has an effect",
}


def _undecided(open_: set[tuple[str, str]]) -> set[tuple[str, str]]:
    """What is open with that: of global memory nothing is known while it is what values accesses carry."""
    values = any(kind == VALUES for kind, _ in open_)
    return open_ | ({(DEPENDENCES, ""), (INSTANCES, "")} if values else set())


def _proofs(region: Region, open_: set[tuple[str, str]]) -> Iterator[Proof]:
    """What was decided."""
    open_ = _undecided(open_)
    for kind in PROPERTIES:
        for kernel in region.kernels:
            if not {(kind, ""), (kind, kernel.name)} & open_:
                yield Proof(kind, kernel.name, _TEXTS[kind])


def certify(region: CompiledRegion, budget: float = 60.0, reassociated: Collection[str] = ()) -> Certificate:
    """The certificate of a compiled region, from its source and its Kernel IR alone, in as many steps
    of isl as `budget` seconds have. It is open where they take many times as long, as some of isl's do.

    It holds for the parameters that pass the tests the host makes before it calls the region, and with
    which the source's declarations mean something: no extent is negative, and none but the first is 0.

    Sums, products and so on whose terms are added to elements of arrays of integers, or of those that are
    `reassociated`, here or by the source, may have them in another order: the certificate says which have.
    """
    (made,) = _watched([(region, Budget.of(budget))], reassociated)
    return made


@dataclass
class Certifying:
    """Certificates of a file's regions, each as far as a number of steps of isl goes, so that a source has
    the same ones anywhere, but where each step is many times as long as others are.

    `quick` ones decide of values, dependences and instances what is decided soon. Those of the first regions
    are made beside this process, which goes on to compile others.
    """

    quick: bool
    beside: Beside[Certificate] = field(default_factory=Beside)
    begun: dict[str, CompiledRegion] = field(default_factory=dict)

    def begin(self, region: CompiledRegion) -> None:
        name, budget = region.scop.name, _steady(region, self.quick)
        if name not in self.begun or not _are_alike(region, self.begun[name]):
            self.begun[name] = region
            work = partial(_certified, region, budget, (), processors() // 2)
            self.beside.begin(name, (work, _patience(budget)))

    def of(self, regions: Sequence[CompiledRegion]) -> dict[str, Certificate]:
        """By the names of regions."""
        ready = {n for r in regions if self._is_begun(r) and self.beside.has_begun(n := r.scop.name)}
        left = [r for r in regions if r.scop.name not in ready]
        made = _watched([(r, _steady(r, self.quick)) for r in left], ())
        found = {r.scop.name: certificate for r, certificate in zip(left, made, strict=True)}
        for r in regions:
            if r.scop.name in ready:
                found[r.scop.name] = _with_proofs(_known(self.beside.wait(r.scop.name)), r.region)
            self.beside.drop(r.scop.name)
            self.begun.pop(r.scop.name, None)
        return found

    def _is_begun(self, region: CompiledRegion) -> bool:
        """Whether what was begun is what a region is in the end, with what is known of others."""
        begun = self.begun.get(region.scop.name)
        return begun is not None and _are_alike(region, begun)


def _are_alike(one: CompiledRegion, two: CompiledRegion) -> bool:
    same = one.prepared is two.prepared and one.conditions == two.conditions and one.asked == two.asked
    return same and one.region == two.region


def _steady(region: CompiledRegion, quick: bool) -> Budget:
    kernels = len(region.region.kernels)
    others = sum(max(len(s.parts) - 1, 0) for s in region.scop.statements)
    sums = [sum(a.name.endswith("_parts") for a in k.shared) for k in region.region.kernels]
    soon = _QUICK + _QUICK_KERNEL * kernels + _QUICK_PART * min(others, _QUICK_PARTS)
    soon += sum(_QUICK_SUM + _QUICK_SUMS * (arrays - 1) for arrays in sums if arrays)
    most = soon if quick else _FULL_KERNEL * kernels
    needed = max(_NEEDED, most)
    return Budget(needed, most, needed / STEPS_A_SECOND)


def _watched(
    regions: Sequence[tuple[CompiledRegion, Budget]], reassociated: Collection[str]
) -> Iterator[Certificate]:
    """What is proved in copies of this process, which end where isl would go on for ever.

    Where there are more processors than regions, the parts of a certificate are made side by side.
    """
    copies = processors() // max(len(regions), 1)
    works = [
        (partial(_certified, region, budget, reassociated, copies), _patience(budget))
        for region, budget in regions
    ]
    for (region, _), made in zip(regions, apart(works), strict=True):
        yield _with_proofs(_known(made), region.region)


def _patience(budget: Budget) -> float:
    """Seconds of the processor after which a copy is ended."""
    return _PATIENCE * slow() * budget.expected


def _known(made: Certificate | Lost, kinds: Sequence[str] = PROPERTIES) -> Certificate:
    return _open(made.reason, kinds) if isinstance(made, Lost) else made


def _certified(
    region: CompiledRegion, budget: Budget, reassociated: Collection[str], copies: int
) -> Certificate:
    start = time.monotonic()
    set_options()
    with hurried(budget.seconds):
        made = _checked(_Subject.of(region, reassociated), budget.from_now(), copies)
    return replace(made, seconds=time.monotonic() - start)


def _assuming(p: Polyhedra, context: isl.Set) -> Polyhedra:
    shared = {id(a.relation): a.relation for s in p.statements for a in s.accesses}
    inside = {key: relation.intersect_params(context) for key, relation in shared.items()}
    statements = tuple(
        replace(
            s,
            domain=s.domain.intersect_params(context),
            schedule=s.schedule.intersect_params(context),
            accesses=tuple(replace(a, relation=inside[id(a.relation)]) for a in s.accesses),
        )
        for s in p.statements
    )
    return replace(p, statements=statements, context=context)
