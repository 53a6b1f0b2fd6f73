"""The questions about a group as a report shows them: why each was asked, what was shown, and what was answered.

Long lines that several questions of a group share are stored once.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from calipers.ledger.contents import RecordedQuestion
from calipers.report.sources import Judged

DECOY: Final = "(decoy)"
"""What stands for a canary, which is no trajectory."""
_HEADER: Final = re.compile(r"@[a-z]{2,24} candidate (\w{1,16})")
_MOST_CANDIDATES: Final = 500
_LINE_BREAK: Final = "\\n"
"""A line break inside a string of JSON text. Requests are split here, and joined again in the page."""
_SHORTEST_SHARED: Final = 24


class Lines:
    """The lines of all requests about a group: one that recurs is in ``table`` once, and a number elsewhere."""

    def __init__(self) -> None:
        self.table: list[str] = []
        self._numbers: dict[str, int] = {}

    def packed(self, text: str) -> list[str | int]:
        """Return a request's text as its lines, in which numbers stand for lines that are stored already."""
        return [line if len(line) < _SHORTEST_SHARED else self._number(line) for line in text.split(_LINE_BREAK)]

    def _number(self, line: str) -> int:
        number = self._numbers.setdefault(line, len(self.table))
        if number == len(self.table):
            self.table.append(line)
        return number


def questions_of(judged: Judged, lines: Lines) -> list[dict[str, Any]]:
    """Return the questions about a judged group as plain data for the page.

    ``order`` lists the first id of each candidate as it was shown, None where the answer does not say which it was.
    """
    slots = slots_of(judged)
    view = judged.shown()
    ids = [] if view is None else [view.ids[candidate.members[0]] for candidate in view.candidates]
    return [_question(ask, slot, judged.judges, ids, lines) for ask, slot in zip(judged.questions, slots, strict=True)]


def slots_of(judged: Judged) -> list[int | None]:
    """Return which judge of a reported run was asked each question: its slot, None if that is not known.

    An answer that could not be used names only the model that served it. That is the judge who asks for this model, or
    whose other answers about the group it served, if it is one judge's alone.
    """
    if len(judged.judges) == 1:
        return [0] * len(judged.questions)
    served: dict[str, set[int]] = {}
    for slot, asked in enumerate(judged.models):
        served.setdefault(asked, set()).add(slot)
    stated = [_stated_slot(question) for question in judged.questions]
    models = [str((question.answer or {}).get("served_model")) for question in judged.questions]
    for known, model in zip(stated, models, strict=True):
        if known is not None:
            served.setdefault(model, set()).add(known)
    only = {model: next(iter(slots)) for model, slots in served.items() if len(slots) == 1}
    return [only.get(model) if known is None else known for known, model in zip(stated, models, strict=True)]


def _stated_slot(one: RecordedQuestion) -> int | None:
    judgments = one.detail.get("judgments") or ()
    slots = {item.get("slot", 0) for item in judgments if isinstance(item, Mapping)}
    slot = slots.pop() if len(slots) == 1 else None
    return slot if isinstance(slot, int) else None


def _question(
    one: RecordedQuestion, slot: int | None, judges: Sequence[str], ids: Sequence[str], lines: Lines
) -> dict[str, Any]:
    judgments = [_judgment(item, ids) for item in one.detail.get("judgments", ()) if isinstance(item, dict)]
    order = _order(judgments)
    missing = one.detail.get("missing")
    answer = None if one.answer is None else dict(one.answer)
    return {
        "number": one.number,
        "cause": one.cause,
        "outcome": one.outcome,
        "failed": "kind" in one.detail,
        "reason": one.reason,
        "judge": judges[slot] if slot is not None and slot < len(judges) else (answer or {}).get("served_model"),
        "judgments": judgments,
        "order": order,
        "missing": {_name(item, ids): str(why) for item, why in missing.items()} if isinstance(missing, dict) else {},
        "canary": one.detail.get("canary"),
        "names": _names_in(one.request or "", order),
        "request": None if one.request is None else lines.packed(one.request),
        "answer": answer,
    }


def _names_in(request: str, shown: Sequence[str | None]) -> dict[str, str]:
    """Return the ids behind the opaque names in a recorded question, so that its raw text can be read.

    ``shown`` are the ids in the order in which the question shows them. Empty if they do not match.
    """
    keys = list(dict.fromkeys(_HEADER.findall(request)[:_MOST_CANDIDATES]))
    if None in shown or len(keys) != len(shown):
        return {}
    return {key: str(name) for key, name in zip(keys, shown, strict=True)}


def _judgment(item: Mapping[str, Any], ids: Sequence[str]) -> dict[str, Any]:
    """Return a recorded judgment with ids in place of the positions of candidates."""
    positions = {key: item[key] for key in ("item", "first", "second") if item.get(key) is not None}
    rest = {key: value for key, value in item.items() if key not in ("item", "first", "second", "slot")}
    slot = item.get("slot", 0)
    return {
        **rest,
        **{key: _name(value, ids) for key, value in positions.items()},
        "slot": slot if isinstance(slot, int) else 0,
    }


def _name(item: object, ids: Sequence[str]) -> str:
    text = str(item)
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        return text
    return ids[int(text)] if int(text) < len(ids) else DECOY


def _order(judgments: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """Return the ids in the order shown, as far as the judgments say; None for a position that none is about."""
    if len(judgments) == 1 and "margin" in judgments[0]:
        return [judgments[0].get("first"), judgments[0].get("second")]
    places = {
        judgment["place"]: judgment["item"]
        for judgment in judgments
        if isinstance(judgment.get("place"), int) and "item" in judgment
    }
    if not places or max(places) >= 10_000 or min(places) < 0:
        return []
    return [places.get(place) for place in range(max(places) + 1)]
