"""Reads the lists of criteria of data sets, such as Rubrics as Rewards, in a form that ``criteria`` accepts."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, Final, Literal, TypeAlias

from calipers.errors import InputError
from calipers.rubric.criteria import as_criterion, stated_points, tags_and_rule
from calipers.types import Criterion

Pitfalls: TypeAlias = Literal["penalty", "positive"]

RAR_WEIGHTS: Final[Mapping[str, float]] = {"essential": 1.0, "important": 0.7, "optional": 0.3, "pitfall": 0.8}
"""The weight of each label in Rubrics as Rewards (arXiv 2507.17746); all are positive."""
_FIELDS: Final = (
    "id", "text", "criterion", "description", "question", "points", "weight", "tags", "veto", "rule", "title",
)  # fmt: skip


def normalise_criteria(listed: list[Any], pitfalls: Pitfalls) -> list[Any]:
    """Return a data set's list of criteria in a form that ``as_rubric`` accepts; InputError names the criterion."""
    listed = [_with_usual_fields(item, place) for place, item in enumerate(listed, start=1)]
    stated = [isinstance(item, Mapping) and stated_points(item, "a criterion") is not None for item in listed]
    if any(stated) and not all(stated):
        raise InputError(
            f"criterion {stated.index(False) + 1}: it has no points, but others have some: "
            "give each criterion points, or none of them"
        )
    if any(isinstance(row, Mapping) and "description" in row and {"weight", "title"} & row.keys() for row in listed):
        return [rar_criterion(item, place, pitfalls) for place, item in enumerate(listed, start=1)]
    return [{key: row[key] for key in row if key != "title"} if isinstance(row, Mapping) else row for row in listed]


def _with_usual_fields(criterion: Any, place: int) -> Any:
    """Return a criterion with the fields of a rubric file. Raises InputError for a misspelt one; others are left out.

    HealthBench Professional calls the text ``criterion_text``; an ``axis`` (ResearchRubrics) is a tag.
    """
    if not isinstance(criterion, Mapping):
        return criterion
    fields = {"text" if key == "criterion_text" else key: item for key, item in criterion.items() if key != "axis"}
    if "axis" in criterion and "tags" not in criterion:
        fields["tags"] = [f"axis:{criterion['axis']}"]
    for key in fields:
        near = [] if key in _FIELDS else get_close_matches(str(key).strip().casefold(), _FIELDS, n=1, cutoff=0.8)
        if near and near[0] not in fields:
            raise InputError(f"criterion {place}: unknown field {key!r}; did you mean {near[0]!r}?")
    return {key: item for key, item in fields.items() if key in _FIELDS}


def rar_criterion(value: Any, place: int, pitfalls: Pitfalls) -> Criterion:
    """Read a criterion whose description may begin with a label (``Essential Criteria: ...``), which becomes a tag."""
    where = f"criterion {place}"
    if not isinstance(value, Mapping) or not isinstance(value.get("description"), str):
        raise InputError(f"{where}: it must be an object with a description, not {str(value)[:60]!r}")
    head, colon, rest = value["description"].partition(":")
    label = head.split()[0].lower() if colon and head.strip() else ""
    known = label in RAR_WEIGHTS and len(head.split()) <= 3
    points = stated_points(value, where)
    if pitfalls == "positive":
        if not known:
            raise InputError(
                f"{where}: its description begins with none of {', '.join(RAR_WEIGHTS)}, so it has no weight"
            )
        points = RAR_WEIGHTS[label]
    elif known and points is None:
        raise InputError(
            f"{where}: it has a label and no weight: give it one, or read the labels' own weights with "
            "pitfalls='positive'"
        )
    tags, rule = tags_and_rule(value.get("tags"), where)
    labels = [f"label:{label}"] * known + [f"title:{value['title']}"] * bool(value.get("title"))
    read = {"text": rest.strip() if known else value["description"], "points": points, "tags": [*labels, *tags]}
    more = {key: value[key] for key in ("id", "veto", "rule") if value.get(key) is not None}
    return as_criterion({"rule": rule, **read, **more}, place)
