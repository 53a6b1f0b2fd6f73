"""The form of reply that a question asks for: scores, scores of aspects, verdicts on criteria, or one rating.

A simulated judge forms an opinion for each entry of the form, and writes the reply.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from calipers.testing.slips import Row, write_scores
from calipers.types import Criterion, JudgeRequest

_RATINGS = 9
_QUOTED = 40


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
    if is_rating(request) or not request.view.rubrics:
        return tuple(_score_entry(name, request) for name in names)
    criteria = _criteria(request)
    if len(criteria) == 1 and set(names) <= set(request.keys):
        only = criteria[0]
        return tuple(Entry(name, request.keys.index(name), only.id, only.points < 0) for name in names)
    place = request.ask.order.index(request.ask.members[0])
    return tuple(Entry(name, place, one.id, one.points < 0) for name, one in zip(names, criteria, strict=True))


def is_rating(request: JudgeRequest) -> bool:
    """Return whether a simulated judge is asked for one rating of a whole rubric."""
    return bool(request.view.rubrics) and "rating" in _properties(request.schema)


def write_reply(rows: Sequence[Row], request: JudgeRequest) -> str:
    """Return a simulated judge's reply in the form that the question asks for.

    Verdicts and ratings follow from the rows' values; scores are the rows' scores.
    """
    if not request.view.rubrics:
        return write_scores(rows, request)
    if is_rating(request):
        rating = 1 + round(_RATINGS * rows[0].value) if rows else None
        return json.dumps({"explanation": rows[0].explanation if rows else "", "rating": rating}, ensure_ascii=False)
    criteria = _criteria(request)
    by_name = dict(zip(_names(request), criteria if len(criteria) > 1 else list(criteria) * len(rows), strict=False))
    verdicts = {row.key: _verdict(row, by_name.get(row.key), request) for row in rows}
    return json.dumps(verdicts, ensure_ascii=False)


def _names(request: JudgeRequest) -> tuple[str, ...]:
    properties = _properties(request.schema)
    if request.view.rubrics:
        return request.keys[:1] if "rating" in properties else tuple(properties)
    return tuple(_properties(properties.get("scores"))) or request.keys


def _properties(schema: Any) -> Mapping[str, Any]:
    found = schema.get("properties", {}) if isinstance(schema, Mapping) else {}
    return found if isinstance(found, Mapping) else {}


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
    by_id = {one.id: one for one in every}
    return tuple(by_id[name] for name in request.ask.criteria)


def _verdict(row: Row, criterion: Criterion | None, request: JudgeRequest) -> Any:
    """Return the verdict on a criterion, alone or with the reason and the quote that the question asks for."""
    levels = criterion.levels if criterion is not None else {}
    met: Any = row.value >= 0.5
    if levels:
        met = min(levels, key=lambda level: abs(levels[level] - row.value))
    fields = _properties(_properties(request.schema).get(row.key))
    if not fields:
        return met
    said = {"quote": _quote(row, request), "reason": row.explanation, "met": met, "level": met}
    return {name: said[name] for name in fields}


def _quote(row: Row, request: JudgeRequest) -> str:
    """Return words of the candidate, as it is shown."""
    place = request.keys.index(row.key) if row.key in request.keys else request.ask.order.index(request.ask.members[0])
    body = request.view.candidates[request.ask.order[place]].body
    text = next((part for part in body if isinstance(part, str) and part.strip()), "")
    return text.split("\n")[min(1, text.count("\n"))][:_QUOTED]
