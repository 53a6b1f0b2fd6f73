"""Holistic grading, one rating from 1 to 10 for a whole rubric: the schema of the reply, and how it is read.

It is a mode of ``checklist``, not a protocol of its own.
"""

from __future__ import annotations

from typing import Any, Final

from calipers.protocols.question import object_schema, plain_text_schema
from calipers.protocols.reading import REFUSED, confirmed, doubted_values
from calipers.replies import extract_scores
from calipers.replies.documents import nodes_in_reply
from calipers.rubric.formulas import rar_implicit
from calipers.types import Completion, JudgeRequest, Rating, Reading

_NAME: Final = "rating"
RATING_SCHEMA: Final[dict[str, Any]] = object_schema(
    {"explanation": plain_text_schema(400), _NAME: {"type": "integer", "minimum": 1, "maximum": 10}}
)


def read_rating(request: JudgeRequest, completion: Completion) -> Reading:
    """Return the rating in a reply in this protocol's form, mapped to [0, 1].

    Only whole numbers from 1 to 10 are ratings.
    """
    ask = request.ask
    (item,) = ask.members
    if completion.finish_reason == "refused":
        return Reading((), "rejected", REFUSED, missing={item: REFUSED})
    read = extract_scores(completion.text, [_NAME], scale=(1, 10), finish_reason=completion.finish_reason)
    reading = confirmed(ask, read)
    value = reading.scores.get(_NAME)
    if value is None or not float(value).is_integer():
        reason = reading.reason or "the rating is no whole number from 1 to 10"
        complaint = "it was cut off before its end" if reading.truncated else "it held no rating from 1 to 10"
        return Reading(
            (),
            "rejected",
            reason,
            missing={item: reason},
            truncated=reading.truncated,
            complaint=complaint,
            doubted=doubted_values(ask, reading),
        )
    presentation = ask.number if ask.presentation is None else ask.presentation
    rating = Rating(item, rar_implicit(int(value)), presentation, 0, ask.slot)
    explained = _explanation(completion.text)
    return Reading((rating,), reading.outcome, explanations={item: explained} if explained else {})


def _explanation(text: str) -> str | None:
    """Return the judge's explanation if the reply has the form asked for; it has no effect on the rating."""
    document = next(iter(nodes_in_reply(text)), None)
    found = document.get("explanation") if isinstance(document, dict) else None
    return found if isinstance(found, str) and found.strip() else None
