"""The request for criteria of a rubric, and reading the proposed criteria in the judge's reply.

Not responsible for how useful a proposal is (``measure``), or for merging similar proposals (``merge``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from calipers.errors import PermanentError
from calipers.protocols.question import EVIDENCE, draw_candidate_keys, message_content, object_schema
from calipers.render import compose
from calipers.replies.proposed import proposed_criteria
from calipers.types import Ask, Completion, JudgeRequest, RenderedGroup

_BEFORE = """\
You write criteria by which attempts at a kind of task will be graded. Below is one task of that kind, with the \
instructions the agent works under and several attempts."""

_AFTER = """\
Write at most {most} criteria that tell good attempts from poor ones, here and at other tasks under the same \
instructions:
- Each names one thing that a reader of the record can decide with yes or no, without knowing the right answer \
beforehand and without taste.
- It describes what an attempt does, so that it can be met by good and missed by poor attempts, or the reverse.
- It speaks of this kind of task, not of the names and numbers of this one.
- Results and broken rules come before style and length.
- "points" say what it is worth: 1 to 10 where it is desired, -1 to -10 where it is a fault.

Answer with one JSON object and nothing else: {{"criteria": [{{"text": "...", "points": 5}}, ...]}}"""


@dataclass(frozen=True, slots=True)
class Proposal:
    """A criterion that a judge proposed for group ``group_id``."""

    text: str
    points: float
    group_id: str


def proposal_request(
    view: RenderedGroup, *, most: int, max_tokens: int | None, params: Mapping[str, Any]
) -> JudgeRequest:
    """Return the request that asks a judge to draft criteria for a rubric. It holds all candidates of a group."""
    order = tuple(range(len(view.candidates)))
    keys = draw_candidate_keys(view, len(order), "draft")
    system = "\n\n".join((_BEFORE, EVIDENCE, _AFTER.format(most=most)))
    closing = '\nAnswer in JSON: {"criteria": [{"text": ..., "points": ...}, ...]}'
    messages = (
        {"role": "system", "content": system},
        {"role": "user", "content": message_content(compose(view, order, keys, closing))},
    )
    entry = object_schema({"text": {"type": "string"}, "points": {"type": "integer"}})
    schema = object_schema({"criteria": {"type": "array", "items": entry}})
    return JudgeRequest(messages, keys, Ask(0, order, order), view, schema, max_tokens, params)


def read_proposals(completion: Completion, group_id: str) -> tuple[Proposal, ...]:
    """Return the criteria that a judge's reply proposes for a rubric draft. Raises PermanentError of kind "bad_reply"
    if there are none.

    Entries are skipped if they have no text, or if their points are 0, outside the scale or in words. No single entry
    is needed.
    """
    if completion.finish_reason == "refused":
        raise PermanentError("refused", "the judge refused to propose criteria")
    found = [Proposal(one.text, one.points, group_id) for one in proposed_criteria(completion.text)]
    if not found:
        raise PermanentError("bad_reply", "the reply holds no criteria that could be read")
    return tuple(found)
