"""The question about earlier answers to a prompt: which of its criteria they meet, and which criteria are missing.

The answers are those of earlier groups, as hostile as any: they are shown under a marker, without scores, and a
criterion may not repeat their words. Not responsible for what becomes of the reply (``evolving``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from calipers.criteria.evolving import CriteriaSet, Proposal, Rollout
from calipers.protocols.question import EVIDENCE, draw_candidate_keys, message_content, object_schema
from calipers.render import compose, render
from calipers.replies.proposed import names_by_criterion, proposed_criteria
from calipers.types import Ask, Completion, JudgeRequest, Message, Reading, RenderedGroup, Trajectory, TrajectoryGroup

_BEFORE = """\
You look after the criteria by which answers to one task are judged. You see the task, its criteria, and attempts at \
it from earlier."""

_AFTER = """\
Do two things:
- Under "present", say for each criterion below which of the attempts meet what it describes, by their names.
- Under "criteria", propose at most {most} criteria that are missing: what this task asks for, or a fault, in which \
these attempts differ and which no criterion below covers. None is an answer. Each names one thing that can be decided \
with yes or no, in words of your own and of the task, not of the attempts. Length, style and layout are none, unless \
the task asks for them. "met" names the attempts that meet it. "points": 1 to 10 where it is desired, -1 to -10 for a \
fault. "veto" is true only for what decides alone.

Criteria:
{criteria}

Answer with one JSON object and nothing else: {{"present": {{"w1": ["...", ...], ...}}, "criteria": [{{"text": "...", \
"points": 5, "veto": false, "met": ["...", ...]}}, ...]}}"""

_CLOSING = '\nAnswer in JSON: {"present": {...}, "criteria": [...]}'
_NAMES: Final = {"type": "array", "items": {"type": "string"}}
_ENTRY: Final = object_schema(
    {"text": {"type": "string"}, "points": {"type": "integer"}, "veto": {"type": "boolean"}, "met": _NAMES}
)


@dataclass(slots=True)
class ContrastQuestion:
    """The protocol of the question about earlier answers; after a reply, ``proposals`` and ``present`` hold it.

    ``present`` has, for each criterion that the reply speaks of, the places of the rollouts that meet it.
    """

    standing: CriteriaSet
    most: int
    max_tokens: int | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    proposals: list[Proposal] = field(default_factory=list)
    present: dict[str, frozenset[int]] = field(default_factory=dict)

    def frame(self, ask: Ask, view: RenderedGroup) -> JudgeRequest:
        """Return the question; ``view`` is the task with the earlier answers as candidates."""
        order = tuple(range(len(view.candidates)))
        keys = draw_candidate_keys(view, len(order), "contrast")
        known = (*self.standing.active, *self.standing.retired)
        listed = "\n".join(f"- {one.id}: {one.text}" for one in known) or "(none)"
        system = "\n\n".join((_BEFORE, EVIDENCE, _AFTER.format(most=self.most, criteria=listed)))
        note = f"\nAn earlier reply could not be used: {ask.note}." if ask.note else ""
        messages: tuple[Message, ...] = (
            {"role": "system", "content": system},
            {"role": "user", "content": message_content(compose(view, order, keys, note + _CLOSING))},
        )
        limit = None if self.max_tokens is None else self.max_tokens * ask.max_tokens_factor
        present = object_schema({one.id: _NAMES for one in known})
        schema = object_schema({"present": present, "criteria": {"type": "array", "items": _ENTRY}})
        return JudgeRequest(messages, keys, ask, view, schema, limit, self.params)

    def read(self, request: JudgeRequest, completion: Completion) -> Reading:
        """Read the reply's verdicts and proposals; names of no attempt are dropped."""
        self.proposals, self.present = [], {}
        if completion.finish_reason == "refused":
            return Reading((), "rejected", "the writer refused")
        if completion.finish_reason == "length":
            return Reading((), "rejected", "it was cut off", truncated=True, complaint="it was cut off")
        places = {key: place for place, key in enumerate(request.keys)}
        told = names_by_criterion(completion.text, "present")
        self.present = {
            one.id: _places(told[one.id], places)
            for one in (*self.standing.active, *self.standing.retired)
            if one.id in told
        }
        self.proposals = [
            Proposal(one.text, one.points, one.veto, None if one.met is None else _places(one.met, places))
            for one in proposed_criteria(completion.text)
        ]
        if not self.present and not self.proposals:
            why = "it holds neither verdicts nor criteria that could be read"
            return Reading((), "rejected", why, complaint=why)
        return Reading((), "strict")


def _places(names: Sequence[str], places: Mapping[str, int]) -> frozenset[int]:
    return frozenset(places[name] for name in names if name in places)


def rendered_contrast(
    group_id: str, prompt: Sequence[Message], rollouts: Sequence[Rollout], *, beside: Sequence[str] = ()
) -> tuple[RenderedGroup, tuple[Rollout, ...]]:
    """Return the task with earlier answers as the writer sees them, and the rollouts in the order of the candidates.

    The marker occurs in none of the texts ``beside``.
    """
    trajectories = tuple(
        Trajectory(str(place), ({"role": "assistant", "content": one.text},)) for place, one in enumerate(rollouts)
    )
    view = render(TrajectoryGroup(group_id, trajectories, context=tuple(prompt)), beside=beside)
    return view, tuple(rollouts[candidate.members[0]] for candidate in view.candidates)
