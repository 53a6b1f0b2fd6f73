"""Which concepts, stated in one sentence, are an attack (``rules.toml``), and a quick check that excludes most text.

The quick check knows words alone and not where they stand, so it is coarser: whoever judges may be addressed, and
whoever is ordered to do something may be ordered to award a score. Not responsible for what a sentence states
(``sentence_meaning``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Final, get_args

from calipers.guard.vocabulary import BITS, WORDED, Mask
from calipers.types import Attack, AttackKind, Certainty
from calipers.types.packaged import read_packaged_toml


@dataclass(frozen=True, slots=True)
class Hit:
    """An attack between two places of a text."""

    kind: AttackKind
    certainty: Certainty
    begin: int
    end: int


GRADES: Final[tuple[Certainty, ...]] = get_args(Certainty)
"""From the most certain down."""


def is_better(hit: Hit | Attack, best: Mapping[AttackKind, Hit | Attack]) -> bool:
    """Whether ``hit`` is more certain than the ``best`` known of its kind."""
    known = best.get(hit.kind)
    return known is None or GRADES.index(hit.certainty) < GRADES.index(known.certainty)


@dataclass(frozen=True, slots=True)
class Rule:
    """Concepts that together, in one sentence, are an attack of ``kind``."""

    kind: AttackKind
    certainty: Certainty
    concepts: frozenset[str]
    mask: Mask


@cache
def rules() -> tuple[Rule, ...]:
    """All rules, of each kind from the most certain down."""
    return tuple(
        Rule(kind, certainty, frozenset(line.split()), reduce(or_, map(BITS.__getitem__, line.split())))
        for kind in get_args(AttackKind)
        for certainty in GRADES
        for line in read_packaged_toml("calipers.guard", "rules.toml").get(kind, {}).get(certainty, ())
    )


_COARSE: Final = (
    "judge", "salutation", "answer", "work", "this", "score", "highest", "award", "please", "always", "ignore",
    "despite", "instructions", "rubric", "previous", "others", "lowest", "reject", "plea", "confirmed", "authority",
    "changed", "void", "this_answer", "this_work", "highest_score",
)  # fmt: skip
WIDTH: Final = len(_COARSE)
COARSE: Final = {name: 1 << number for number, name in enumerate(_COARSE)}
"""The concepts the quick check tells apart, a bit each, ``WIDTH`` in all."""
_BRINGS: Final = {
    "referee": "judge", "addressed": "judge", "mine": "this_answer this_work", "rate_this": "this_work",
    "answer": "answer work", "this_after": "this", "highest_score": "highest_score highest score", "correct": "highest",
    "rubric": "instructions rubric",
}  # fmt: skip
"""What a word of a concept counts as, where that is not the concept alone."""
_NEEDED: Final = {
    "addressed": "judge", "referee": "judge", "greeted": "judge salutation", "rubric_heading": "rubric",
    "ignore_rubric": "ignore rubric", "ignore_instructions": "ignore instructions previous", "correct": "highest",
}  # fmt: skip
"""What a concept of a rule needs, likewise."""


def _bits(names: str) -> int:
    return reduce(or_, (COARSE[name] for name in names.split()))


@cache
def _counted() -> tuple[tuple[Mask, int], ...]:
    return tuple((BITS[name], _bits(_BRINGS.get(name, name))) for name in WORDED if name in _BRINGS or name in COARSE)


@lru_cache(2**12)
def coarse(mask: Mask) -> int:
    """The coarse concepts of a word that stands for ``mask``."""
    return reduce(or_, (bits for concept, bits in _counted() if mask & concept), 0)


STATED_BY_TWO: Final = (
    (COARSE["this"], COARSE["answer"], COARSE["this_answer"]),
    (COARSE["this"], COARSE["work"], COARSE["this_work"]),
    (COARSE["highest"], COARSE["score"], COARSE["highest_score"]),
)
"""Coarse concepts that state a third where a word for one is close to a word for the other."""


@lru_cache(2**12)
def coarse_at_most(mask: Mask) -> int:
    """The coarse concepts that words which stand for ``mask`` together can state, wherever they stand."""
    found = coarse(mask)
    for one, other, both in STATED_BY_TWO:
        found |= both if found & one and found & other else 0
    return found


@cache
def needs() -> tuple[int, ...]:
    """The coarse concepts each rule needs; a rule that needs what another needs, and more, is omitted."""
    found = {reduce(or_, (_bits(_NEEDED.get(name, name)) for name in rule.concepts)) for rule in rules()}
    return tuple(sorted(one for one in found if not any(other != one and one & other == other for other in found)))


@lru_cache(2**12)
def may_be_attack(found: int) -> bool:
    """Whether these coarse concepts are enough for any rule."""
    return any(found & need == need for need in needs())
