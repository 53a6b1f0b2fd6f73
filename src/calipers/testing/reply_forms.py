"""The form of reply that a question asks for: scores, scores of aspects, or verdicts on criteria.

A simulated judge forms an opinion for each entry of the form, and writes the reply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.testing.slips import Row, write_scores
from calipers.types import Criterion, JudgeRequest


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a simulated judge's reply: ``name``, for the candidate at ``place`` of the list shown.

    ``aspect`` is the aspect or criterion that is asked about, "" for the candidate as a whole. ``is_fault`` marks a
    criterion that describes something undesired: a good candidate does not meet it.
    """

    name: str
    place: int
    aspect: str = ""
    is_fault: bool = False


def entries_of(request: JudgeRequest) -> tuple[Entry, ...]:
    """Return the entries of the reply that a simulated judge is asked for, in the order of the question."""
    names = _names(request)
    if not request.view.rubrics:
        return tuple(_score_entry(name, request) for name in names)
    criteria = _criteria(request)
    if len(criteria) == 1 and set(names) <= set(request.keys):
        only = criteria[0]
        return tuple(Entry(name, request.keys.index(name), only.id, only.points < 0) for name in names)
    place = request.ask.order.index(request.ask.members[0])
    return tuple(Entry(name, place, item.id, item.points < 0) for name, item in zip(names, criteria, strict=True))


def write_reply(rows: Sequence[Row], request: JudgeRequest) -> str:
    """Return a simulated judge's reply in the form that the question asks for.

    Verdicts follow from the rows' values; scores are the rows' scores.
    """
    if not request.view.rubrics:
        return write_scores(rows, request)
    return json.dumps({row.key: _verdict(row, request) for row in rows}, ensure_ascii=False)


def _names(request: JudgeRequest) -> tuple[str, ...]:
    properties = _properties(request.schema)
    if request.view.rubrics:
        return tuple(properties)
    return tuple(_properties(properties.get("scores"))) or request.keys


def _properties(schema: Any) -> Mapping[str, Any]:
    properties = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    return properties if isinstance(properties, Mapping) else {}


def _score_entry(name: str, request: JudgeRequest) -> Entry:
    """Return the entry for a key, or for a key and an aspect behind a space."""
    if name in request.keys:
        return Entry(name, request.keys.index(name))
    key, _, aspect = name.partition(" ")
    return Entry(name, request.keys.index(key), aspect)


def _criteria(request: JudgeRequest) -> tuple[Criterion, ...]:
    rubric = request.view.rubrics[request.ask.members[0]]
    every = rubric.criteria if rubric is not None else ()
    if not request.ask.criteria:
        return every
    by_id = {criterion.id: criterion for criterion in every}
    return tuple(by_id[name] for name in request.ask.criteria)


def _verdict(row: Row, request: JudgeRequest) -> Any:
    """Return the verdict on a criterion, alone or with the reason that the question asks for."""
    met = row.value >= 0.5
    if not _properties(_properties(request.schema).get(row.key)):
        return met
    return {"reason": row.explanation, "met": met}
