"""The questions about a group as a report shows them: why each was asked, what was shown, and what was answered.

Long lines that several questions of a group share, or that a message of the group has, are stored once. Not responsible
for redaction (``redaction``).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from calipers.ledger.contents import RecordedQuestion
from calipers.report.candidates import DECOY, names_in_question
from calipers.report.sources import Judged
from calipers.types import Message

_LINE_BREAK: Final = "\\n"
"""A line break inside a string of JSON text. Requests are split here, and joined again in the page."""
_SHORTEST_SHARED: Final = 24


class Lines:
    """The lines of all requests about a group: one that recurs is stored once, and is a number elsewhere.

    Numbers from 0 are lines of ``table``; -1 and below are lines of the group's own ``messages``, in their order.
    """

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self.table: list[str] = []
        self._numbers: dict[str, int] = {}
        for place, line in enumerate(_message_lines(messages)):
            if len(line) >= _SHORTEST_SHARED:
                self._numbers.setdefault(_in_json(line), -1 - place)

    def packed(self, text: str) -> list[str | int]:
        """Return a request's text as its lines, in which numbers stand for lines that are stored already."""
        return [self._line(line) for line in text.split(_LINE_BREAK)]

    def _line(self, line: str) -> str | int:
        if len(line) < _SHORTEST_SHARED:
            return line
        number = self._numbers.setdefault(line, len(self.table))
        if number == len(self.table):
            self.table.append(line)
        return number


def _message_lines(messages: Iterable[Message]) -> Iterator[str]:
    """Yield the lines of messages in the order in which the page numbers them (``ownLines`` in ``questions.js``)."""
    for message in messages:
        content = message.get("content")
        parts = content if isinstance(content, list | tuple) else [{"text": content}]
        for part in parts:
            text = part.get("text") if isinstance(part, Mapping) else None
            if isinstance(text, str):
                yield from text.split("\n")


def _in_json(line: str) -> str:
    """Return a line as most encoders write it in JSON text; a request that has it otherwise keeps its own copy."""
    return line.replace("\\", "\\\\").replace('"', '\\"').replace("\t", "\\t")


def questions_of(judged: Judged, candidates: Sequence[Sequence[str]], lines: Lines) -> list[dict[str, Any]]:
    """Return the questions about a judged group as plain data for the page.

    ``candidates`` are the ids of each candidate's trajectories. ``order`` lists the first id of each candidate as it
    was shown, None where the answer does not say which it was.
    """
    served = _served(judged)
    return [_question(one, judged.judges, served, candidates, lines) for one in judged.questions]


def _question(
    one: RecordedQuestion,
    judges: Sequence[str],
    served: Mapping[str, str],
    candidates: Sequence[Sequence[str]],
    lines: Lines,
) -> dict[str, Any]:
    judgments = [_judgment(item, candidates) for item in one.detail.get("judgments", ()) if isinstance(item, dict)]
    order = _order(judgments)
    slots = {item["slot"] for item in judgments}
    slot = slots.pop() if len(slots) == 1 else None
    missing = one.detail.get("missing")
    answer = one.answer or {}
    return {
        "number": one.number,
        "cause": one.cause,
        "outcome": one.outcome,
        "failed": "kind" in one.detail,
        "reason": one.reason,
        "judge": judges[slot] if slot is not None and 0 <= slot < len(judges) else _model(one, judges, served),
        "slot": slot,
        "judgments": judgments,
        "order": order,
        "missing": {_name(item, candidates): str(why) for item, why in missing.items()}
        if isinstance(missing, Mapping)
        else {},
        "canary": one.detail.get("canary"),
        "names": names_in_question(one.request or "", order),
        "request": None if one.request is None else lines.packed(one.request),
        "answer": None if one.answer is None else dict(answer),
    }


def _model(one: RecordedQuestion, judges: Sequence[str], served: Mapping[str, str]) -> str | None:
    """Return the judge of a question that no judgment names: as the group's other questions name it, if that is known,
    else the model that answered.
    """
    if len(judges) == 1:
        return judges[0]
    model = (one.answer or {}).get("served_model")
    return None if model is None else served.get(str(model), str(model))


def _served(judged: Judged) -> dict[str, str]:
    """Return the judges of a reported run by the models that serve them, without models of several judges.

    A server may call a model otherwise than the judge's settings: answers that were read tell whose such a name is.
    """
    found: dict[str, set[str]] = {}
    for asked, judge in zip(judged.models, judged.judges, strict=False):
        found.setdefault(asked, set()).add(judge)
    for one in judged.questions:
        model = (one.answer or {}).get("served_model")
        judgments = one.detail.get("judgments") or ()
        slots = {item.get("slot", 0) for item in judgments if isinstance(item, dict)}
        if isinstance(model, str) and len(slots) == 1:
            slot = slots.pop()
            if isinstance(slot, int) and 0 <= slot < len(judged.judges):
                found.setdefault(model, set()).add(judged.judges[slot])
    return {model: next(iter(judges)) for model, judges in found.items() if len(judges) == 1}


def _judgment(item: Mapping[str, Any], candidates: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return a recorded judgment with ids in place of the positions of candidates."""
    named = {key: value for key, value in item.items() if key not in ("item", "first", "second", "slot")}
    for key in ("item", "first", "second"):
        if item.get(key) is not None:
            named[key] = _name(item[key], candidates)
    slot = item.get("slot", 0)
    return named | {"slot": slot if isinstance(slot, int) else 0}


def _name(item: object, candidates: Sequence[Sequence[str]]) -> str:
    try:
        position = int(str(item))
    except ValueError:
        return str(item)
    return candidates[position][0] if 0 <= position < len(candidates) else DECOY


def _order(judgments: Sequence[Mapping[str, Any]]) -> list[str | None]:
    """Return the ids in the order shown, as far as the judgments say; None for a position that none is about."""
    if len(judgments) == 1 and "margin" in judgments[0]:
        return [judgments[0]["first"], judgments[0]["second"]]
    places = {one["place"]: one["item"] for one in judgments if isinstance(one.get("place"), int) and "item" in one}
    if not places or max(places) >= 10_000 or min(places) < 0:
        return []
    return [places.get(place) for place in range(max(places) + 1)]
