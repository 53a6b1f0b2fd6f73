"""Warns about requirements in a group's data that nothing uses: rules, references, or rubrics under unknown keys.

There are many data sets, and if calipers does not know one, its rubric or rules must not be ignored silently. Only the
names of keys can show what an unknown key means. Not responsible for the keys that are read (``dataset_standards``).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final, Literal, TypeAlias, get_args

from calipers.errors import InputError
from calipers.rubric.dataset_forms import FORM_KEYS, criteria_in_form
from calipers.rubric.dataset_standards import (
    READ_KEYS,
    STANDARDS_KEYS,
    read_standards,
    references_in_row,
    text_of_reference,
)
from calipers.types import Rubric, TrajectoryGroup
from calipers.types.packaged import read_packaged_toml

UNUSED_REFERENCE: Final = "not used: the reference in "
"""How a warning about a reference that the judge does not see begins."""

Kind: TypeAlias = Literal["rubric", "rules", "reference"]

UNUSED: Final = ("not used: ", "not run: ")
"""How these warnings begin. Commands show all warnings that begin like this."""

_INSTEAD: Final[Mapping[Kind, str]] = {
    "rubric": "criteria or standards are read from 'rubric' or 'rubrics'",
    "rules": "rules are read from 'constraints', from 'checkers' with 'functions', or from 'instruction_id_list'",
    "reference": "an answer to compare with is read from 'reference' or 'ground_truth'",
}
_SPELLINGS: Final = ("rubric", "rubrics", "checkers", "constraints", "instruction_id_list")
"""The keys with which an unknown key is compared to find spelling mistakes."""
_OF_TRAJECTORY: Final = frozenset({
    "rubric", "rubrics", "checkers", "instruction_id_list", "constraints", "reference", "reference_answer",
    "ground_truth",
})  # fmt: skip
_KEYS_OF_TRAJECTORY: Final = ("gold", "reward", "metadata", "artifacts")
_DERIVED_ID: Final = re.compile("g[0-9a-f]{16}")
_TRAJECTORY_RULE: Final = (
    "a trajectory is graded by its own 'rubric' if that is an object with criteria, otherwise by its group's"
)
_CHECKS: Final = "calipers.Hybrid checks them, and so does calipers score with --combine"
_OBJECTS: Final = ("reward_model", "extra_info", "prompt_metadata")
_PART: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_MOST: Final = 200


def unused_standards(group: TrajectoryGroup, *, checklist: bool) -> list[str]:
    """Return a sentence for each requirement of a group (rules, references, rubrics) that a judge alone does not use.

    ``checklist`` means that the judge decides criteria one by one and that their rules run. This is fast for a group
    without extra keys.
    """
    notes = [] if checklist else _rules_not_run(group)
    for trajectory in group.trajectories:
        if trajectory.extra:
            keys = (
                key for key in trajectory.extra if key in _OF_TRAJECTORY or kind_of_key(str(key)) in ("rubric", "rules")
            )
            notes += [f"not used: {key!r} of a trajectory; {_TRAJECTORY_RULE}" for key in keys]
            notes += _misspelt(trajectory.extra, _KEYS_OF_TRAJECTORY, " of a trajectory")
    if group.extra:
        if _DERIVED_ID.fullmatch(group.group_id):
            notes += _misspelt(group.extra, ("group_id",), "")
        if group.extra.get("constraints") is not None:
            notes.append(f"not used: the group's 'constraints'; {_CHECKS}")
        if not STANDARDS_KEYS.isdisjoint(group.extra):
            rules = read_standards(group.extra, rubric=False).rules
            notes += [] if rules is None else [f"not used: the rules in {rules.place}; {_CHECKS}"]
        notes += unread_standards(group)
    return list(dict.fromkeys(notes))


def unread_standards(
    group: TrajectoryGroup, *, remedy: str = "calipers score --reference shows it to the judge"
) -> list[str]:
    """Return a sentence for each reference that the judge does not see, and each unknown key that may hold a rubric.

    The key may also hold other standards. ``remedy`` says what would show a reference to the judge, or why nothing
    does.
    """
    if not group.extra:
        return []
    graded = isinstance(group.rubric, Rubric)  # criteria already state what an answer needs
    references = [] if graded else references_in_row(group.extra)
    reasons = [remedy, *["a different reference takes precedence"] * len(references)]
    notes = [
        f"{UNUSED_REFERENCE}{reference.place}; {why}"
        for reference, why in zip(references, reasons, strict=False)
        if not (isinstance(group.rubric, str) and text_of_reference(reference.value) in group.rubric)
    ]
    near = {key: meant for key in group.extra if (meant := intended_key(str(key))) is not None}
    notes += [f"not used: the unknown key {key!r}; did you mean {meant!r}?" for key, meant in near.items()]
    known = (READ_KEYS | {"rubric", "constraints", *near}) - keys_in_no_known_form(group.extra)
    kinds: tuple[Kind, ...] = ("rubric", "rules") if graded or references else get_args(Kind)
    return notes + unknown_key_warnings(group.extra, read=known, inside=_OBJECTS, kinds=kinds)


def _misspelt(extra: Mapping[str, Any], known: Sequence[str], where: str) -> list[str]:
    """Return a sentence for each unknown key that is one of ``known`` misspelt; a plural is a word of its own."""
    near = {key: get_close_matches(str(key).lower()[:_MOST], known, n=1, cutoff=0.85) for key in list(extra)[:_MOST]}
    return [
        f"not used: the unknown key {key!r}{where}; did you mean {meant[0]!r}?"
        for key, meant in near.items()
        if meant and key != f"{meant[0]}s"
    ]


def keys_in_no_known_form(row: Mapping[str, Any]) -> set[str]:
    """Return the row's keys that hold criteria in one data set only, and here hold something else."""
    return {key for key in FORM_KEYS if key in row and not _is_in_form(key, row[key])}


def _is_in_form(key: str, value: Any) -> bool:
    try:
        return criteria_in_form(key, value) is not None
    except InputError:  # the reader of the row reports it
        return False


def _rules_not_run(group: TrajectoryGroup) -> list[str]:
    rubrics = (group.rubric, *(trajectory.rubric for trajectory in group.trajectories))
    if any(isinstance(rubric, Rubric) and any(criterion.rule for criterion in rubric.criteria) for rubric in rubrics):
        return ["not run: the rules of the rubric's criteria, which only protocol=checklist runs"]
    return []


@lru_cache(maxsize=1024)
def intended_key(key: str) -> str | None:
    """Return the key of a rubric or of rules that an unknown ``key`` probably means; None if there is none."""
    if key in STANDARDS_KEYS or key in _SPELLINGS:
        return None
    near = get_close_matches(key.lower(), _SPELLINGS, n=1, cutoff=0.8)
    return near[0] if near else None


def unknown_key_warnings(
    row: Mapping[str, Any], *, read: Collection[str], inside: Collection[str], kinds: Collection[Kind]
) -> list[str]:
    """Return a sentence for each unread key that may hold a rubric, rules or a reference (``kinds``).

    The keys are those of ``row``, or of an object in it. ``read`` are the keys that are read, in the row and in those
    of its objects that ``inside`` names.
    """
    found = dict.fromkeys(_found(row, read=read, inside=inside))
    return [f"not used: {place!r}; {_INSTEAD[kind]}" for place, kind in found if kind in kinds]


def _found(row: Mapping[str, Any], *, read: Collection[str], inside: Collection[str]) -> Iterator[tuple[str, Kind]]:
    for key, value in list(row.items())[:_MOST]:
        if (kind := _kind_of_value(key, value, read)) is not None:
            yield str(key), kind
        elif isinstance(value, Mapping):
            known = read if key in inside else ()
            for name, item in list(value.items())[:_MOST]:
                if (kind := _kind_of_value(name, item, known)) is not None:
                    yield f"{key}.{name}", kind


def _kind_of_value(key: object, value: Any, read: Collection[str]) -> Kind | None:
    """Return what an unread key probably contains, by its name and value.

    None for flags, blanks, and numbers that are no answer.
    """
    kind = kind_of_key(str(key)) if key not in read else None
    if isinstance(value, str):
        holds = bool(value.strip())
    elif isinstance(value, int | float):
        holds = kind == "reference" and not isinstance(value, bool)
    else:
        holds = isinstance(value, Sequence | Mapping) and len(value) > 0
    return kind if holds else None


@lru_cache(maxsize=4096)
def kind_of_key(key: str) -> Kind | None:
    """Return what a key of this name probably contains: a rubric, rules or a reference; None if it is none of these."""
    words = [word.lower() for word in _PART.findall(key[:_MOST])]
    pairs = [f"{first}_{second}" for first, second in pairwise(words)]
    table = read_packaged_toml(__package__, "key_words.toml")
    describes = not words or words[-1] in table["describing"] or words[0] in ("num", "number", "n")
    names = pairs if describes else [*words, *pairs]
    kinds: tuple[Kind, ...] = get_args(Kind)
    return next((kind for kind in kinds if any(name in table[kind] for name in names)), None)
