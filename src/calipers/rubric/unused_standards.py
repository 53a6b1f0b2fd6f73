"""Warns about requirements in a group's data that nothing uses: rules, references, or rubrics under unknown keys."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final

from calipers.rubric.dataset_standards import (
    HOLDERS,
    READ_KEYS,
    STANDARDS_KEYS,
    read_standards,
    references_in_row,
    text_of_reference,
)
from calipers.types import Rubric, TrajectoryGroup

UNUSED_REFERENCE: Final = "not used: the reference in "
"""How a warning about a reference that the judge does not see begins."""
UNUSED: Final = ("not used: ", "not run: ")
"""How these warnings begin. Commands show all warnings that begin like this."""
_STANDARDS: Final = frozenset({
    "rubric", "rubrics", "criteria", "checklist", "checkers", "constraints", "instruction_id_list",
})  # fmt: skip
"""Words of a key that holds a rubric or rules."""
_OF_TRAJECTORY: Final = _STANDARDS | {"reference", "reference_answer", "ground_truth"}
_KEYS_OF_TRAJECTORY: Final = ("gold", "reward", "metadata", "artifacts")
_DERIVED_ID: Final = re.compile("g[0-9a-f]{16}")
_CHECKS: Final = "calipers.Hybrid with a function as checks= may use them, and calipers score --combine does"
_INSTEAD: Final = "criteria are read from 'rubric' or 'rubrics', rules from 'constraints'"
_MOST: Final = 200


def unused_standards(group: TrajectoryGroup, *, checklist: bool) -> list[str]:
    """Return a sentence for each requirement of a group (rules, references, rubrics) that a judge alone does not use.

    ``checklist`` means that the judge decides criteria one by one and that their rules run. This is fast for a group
    without extra keys.
    """
    notes = []
    rubrics = (group.rubric, *(trajectory.rubric for trajectory in group.trajectories))
    if not checklist and any(
        isinstance(rubric, Rubric) and any(criterion.rule for criterion in rubric.criteria) for rubric in rubrics
    ):
        notes.append("not run: the rules of the rubric's criteria, which only protocol=checklist runs")
    for trajectory in group.trajectories:
        keys = [key for key in trajectory.extra if key in _OF_TRAJECTORY]
        notes += [f"not used: {key!r} of a trajectory; it is graded by its 'rubric' with criteria" for key in keys]
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
    """Return a sentence for each reference that the judge does not see, and each unknown key that may hold a rubric or
    rules.

    ``remedy`` says what would show a reference to the judge, or why nothing does.
    """
    if not group.extra:
        return []
    # Criteria already state what an answer needs.
    references = [] if isinstance(group.rubric, Rubric) else references_in_row(group.extra)
    reasons = [remedy, *["a different reference takes precedence"] * len(references)]
    notes = [
        f"{UNUSED_REFERENCE}{reference.place}; {why}"
        for reference, why in zip(references, reasons, strict=False)
        if not (isinstance(group.rubric, str) and text_of_reference(reference.value) in group.rubric)
    ]
    return notes + unread_keys(group.extra)


def _misspelt(extra: Mapping[str, Any], known: Sequence[str], where: str) -> list[str]:
    """Return a sentence for each unknown key that is one of ``known`` misspelt; a plural is a word of its own."""
    keys = list(extra)[:_MOST]
    near = [(key, get_close_matches(str(key).lower()[:_MOST], known, n=1, cutoff=0.85)) for key in keys]
    return [
        f"not used: the unknown key {key!r}{where}; did you mean {matches[0]!r}?"
        for key, matches in near
        if matches and key != f"{matches[0]}s"
    ]


def unread_keys(row: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each unread key of a row, or of an object in it, whose name says that it holds a rubric or
    rules.
    """
    read = READ_KEYS | {"rubric", "constraints"}
    places: list[str] = []
    for key, value in list(row.items())[:_MOST]:
        if _holds_standards(key, value, read):
            places.append(str(key))
        elif isinstance(value, Mapping):
            known = read if key in HOLDERS else ()
            inner = (name for name in list(value)[:_MOST] if _holds_standards(name, value[name], known))
            places += [f"{key}.{name}" for name in inner]
    return [f"not used: {place!r}; {_INSTEAD}" for place in places]


def _holds_standards(key: object, value: Any, read: Collection[str]) -> bool:
    filled = value.strip() if isinstance(value, str) else isinstance(value, Sequence | Mapping) and value
    return key not in read and bool(filled) and _names_standards(str(key)[:_MOST])


@lru_cache(maxsize=4096)
def _names_standards(key: str) -> bool:
    """Return whether a key is a word for a rubric or rules, perhaps misspelt, or ends in such a word."""
    folded = re.sub(r"(?<=[a-z])(?=[A-Z])|[^A-Za-z]+", "_", key).lower()
    return folded.rpartition("_")[2] in _STANDARDS or bool(get_close_matches(folded, _STANDARDS, n=1, cutoff=0.8))
