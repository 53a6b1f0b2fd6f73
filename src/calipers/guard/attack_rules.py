"""The rules by which a sentence is an attack (``rules.toml``), and a quick check that excludes most text.

A rule lists the concepts that a sentence must state. The quick check only knows words and not their order, so it uses
coarser concepts: any word for a judge may address the judge, and any order may be the order to award a score.
``sentence_meaning`` derives the concepts that a sentence states.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Final, get_args

from calipers.guard.vocabulary import BITS, WORDED, Mask
from calipers.types import Attack, AttackKind, Certainty
from calipers.types.packaged import read_packaged_toml


@dataclass(frozen=True, slots=True)
class Hit:
    """An attack between two positions of a text."""

    kind: AttackKind
    certainty: Certainty
    begin: int
    end: int


GRADES: Final[tuple[Certainty, ...]] = get_args(Certainty)
"""The degrees of certainty of an attack, the most certain first."""


def is_more_certain(hit: Hit | Attack, best: Mapping[AttackKind, Hit | Attack]) -> bool:
    """Whether the attack ``hit`` on the judge is more certain than the best known attack of its kind."""
    known = best.get(hit.kind)
    return known is None or GRADES.index(hit.certainty) < GRADES.index(known.certainty)


def most_certain_of_each_kind(hits: Iterable[Attack]) -> tuple[Attack, ...]:
    """Return only the most certain attack of each kind, of equally certain ones the first."""
    best: dict[AttackKind, Attack] = {}
    for hit in hits:
        if is_more_certain(hit, best):
            best[hit.kind] = hit
    return tuple(best.values())


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: a sentence that states all ``concepts`` is an attack of ``kind``."""

    kind: AttackKind
    certainty: Certainty
    concepts: frozenset[str]
    mask: Mask


@cache
def attack_rules() -> tuple[Rule, ...]:
    """Return the rules of ``rules.toml`` for attacks on the judge. For each kind, the most certain rules come first."""
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
"""The coarse concepts of the quick check, each as one of ``WIDTH`` bits."""
_BRINGS: Final = {
    "referee": "judge", "addressed": "judge", "mine": "this_answer this_work", "rate_this": "this_work",
    "answer": "answer work", "this_after": "this", "highest_score": "highest_score highest score", "correct": "highest",
    "rubric": "instructions rubric",
}  # fmt: skip
"""The coarse concepts that a word states by its concept, if these are not just the concept of the same name."""
_NEEDED: Final = {
    "addressed": "judge", "referee": "judge", "greeted": "judge salutation", "rubric_heading": "rubric",
    "ignore_rubric": "ignore rubric", "ignore_instructions": "ignore instructions previous", "correct": "highest",
}  # fmt: skip
"""The coarse concepts that a rule's concept requires, if these are not just the concept of the same name."""


def _bits(names: str) -> int:
    return reduce(or_, (COARSE[name] for name in names.split()))


@cache
def _coarse_bits() -> tuple[tuple[Mask, int], ...]:
    return tuple((BITS[name], _bits(_BRINGS.get(name, name))) for name in WORDED if name in _BRINGS or name in COARSE)


@lru_cache(2**12)
def coarse_concepts(mask: Mask) -> int:
    """Convert the concepts of a word in an attack on the judge into the coarse concepts of the quick check, as bits."""
    return reduce(or_, (bits for concept, bits in _coarse_bits() if mask & concept), 0)


STATED_BY_TWO: Final = (
    (COARSE["this"], COARSE["answer"], COARSE["this_answer"]),
    (COARSE["this"], COARSE["work"], COARSE["this_work"]),
    (COARSE["highest"], COARSE["score"], COARSE["highest_score"]),
)
"""Pairs of coarse concepts, each with the concept that two nearby words for the pair state together."""


@lru_cache(2**12)
def possible_coarse_concepts(mask: Mask) -> int:
    """Return the coarse concepts that words of an attack on the judge can state together in any order."""
    return with_pairs(coarse_concepts(mask))


@lru_cache(2**12)
def with_pairs(found: int) -> int:
    """Return the coarse concepts ``found`` in an attack, with those that two of them state together."""
    for one, other, both in STATED_BY_TWO:
        found |= both if found & one and found & other else 0
    return found


@cache
def needed_concepts() -> tuple[int, ...]:
    """Return the sets of coarse concepts that the rules for attacks on the judge require.

    A set that contains the set of another rule is omitted.
    """
    found = {reduce(or_, (_bits(_NEEDED.get(name, name)) for name in rule.concepts)) for rule in attack_rules()}
    return tuple(sorted(one for one in found if not any(other != one and one & other == other for other in found)))


@lru_cache(2**12)
def may_be_attack(found: int) -> bool:
    """Whether the coarse concepts ``found`` in a text satisfy any rule, so that it may be an attack on the judge."""
    return any(found & need == need for need in needed_concepts())
