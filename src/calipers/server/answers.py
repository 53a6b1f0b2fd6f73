"""What the server answers for a rollout: its result in the group, or why it has no reward. Pure."""

from __future__ import annotations

from typing import Final

from calipers.server.forms import AnswerStatus, RolloutAnswer
from calipers.trainers.cohorts import MemberResult

_LATE: Final = "it arrived after its group had been closed, so its group was judged, or given up, without it"

_LOST: Final = "it has no messages, so there is nothing to judge"


def answer_of(group_id: str, index: int, member: MemberResult) -> RolloutAnswer:
    """Return the server's answer for a rollout of a group that has been judged or given up."""
    row = member.member
    return RolloutAnswer(
        group_id=group_id,
        index=index,
        status=_status(member),
        reward=member.reward,
        score=None if row is None else row.score,
        stderr=None if row is None else row.stderr,
        reason=member.reason,
        rewarded=member.rewarded,
    )


def late_answer(group_id: str, index: int) -> RolloutAnswer:
    """Return the server's answer for a rollout whose group was closed before it arrived."""
    return RolloutAnswer(group_id=group_id, index=index, status="late", reward=None, reason=_LATE)


def lost_answer(group_id: str, index: int) -> RolloutAnswer:
    """Return the server's answer for a rollout without messages."""
    return answer_of(group_id, index, MemberResult(None, _LOST))


def _status(member: MemberResult) -> AnswerStatus:
    if member.reward is not None:
        return "scored"
    if member.member is None:
        return "not_judged"
    return "too_few" if member.member.reward is not None else member.member.status
