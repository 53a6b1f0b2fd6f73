"""A doubtful reply costs a call: the same values given again count, and scores on another scale abstain."""

from __future__ import annotations

import pytest

import calipers
from groups import FOUR, group_of
from scripted import Replies, scores

GOOD = scores(right=90, close=50, far=20, silent=0)
REWARDS = [0.9, 0.5, 0.2, 0.0]
TENTHS = scores(right=9, close=5, far=2, silent=0)


@pytest.mark.parametrize(("replies", "calls", "rewards", "reason"), [
    ([f"Sure! {GOOD}"], 2, REWARDS, ""),
    ([f"Try {call}. {scores(**dict.fromkeys(FOUR, 50 + call))}" for call in range(3)], 3, None, "words"),
    ([f"Sure! {GOOD}", GOOD], 2, REWARDS, ""),
    ([TENTHS], 2, None, "scale"),
    ([scores(right=0.9, close=0.5, far=0.2, silent=0)], 2, None, "scale"),
    ([f"{GOOD}\n{scores(**dict.fromkeys(FOUR, 50))}"], 3, None, "two verdicts"),
    ([f"{GOOD}<|im_end|>{scores(**dict.fromkeys(FOUR, 50))}"], 1, REWARDS, ""),
], ids=["words again", "words, other values", "words once", "0-10", "0-1", "two verdicts", "next turn"])  # fmt: skip
async def test_what_a_form_of_reply_costs(replies: list[str], calls: int, rewards: list[float] | None, reason: str):
    judge = Replies(*replies)
    result = await calipers.Judge(judge).score_group(group_of(FOUR))
    assert len(judge.requests) == calls
    assert result.rewards == ([None] * 4 if rewards is None else rewards)
    assert all(reason in str(one.reason or "") for one in result.trajectories)


async def test_low_scores_of_one_candidate_count_when_given_again():
    judge = Replies("5")
    result = await calipers.Judge(judge, protocol="pointwise").score_group(group_of(FOUR))
    assert (result.rewards, len(judge.requests)) == ([0.05] * 4, 8)
