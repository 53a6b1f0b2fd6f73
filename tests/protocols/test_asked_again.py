"""A doubtful reply costs a call: the same values given again count, and scores on another scale abstain."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import calipers
from calipers.types import Completion, JudgeRequest
from groups import FOUR, group_of

Reply = Callable[[dict[str, int], int], str]
VALUES = {"right": 90, "close": 50, "far": 20, "silent": 0}


class Writes:
    """A judge that knows the scores, and writes them in a form of its own; ``calls`` counts its answers."""

    endpoint, model = "test", "writes"

    def __init__(self, reply: Reply) -> None:
        self.reply, self.calls, self.asked = reply, 0, list[str]()

    async def complete(self, request: JudgeRequest) -> Completion:
        view, keys = request.view, request.keys
        names = [view.ids[view.candidates[item].members[0]] for item in request.ask.order]
        scores = {key: VALUES[name] for key, name in zip(keys, names, strict=True)}
        self.calls += 1
        self.asked.append(str(request.messages[1]["content"]))
        return Completion(self.reply(scores, self.calls))


def shown(scores: dict[str, int]) -> str:
    return json.dumps({"scores": scores})


@pytest.mark.parametrize(("reply", "calls", "rewards", "reason"), [
    (lambda scores, _: f"Sure! {shown(scores)}", 2, [0.9, 0.5, 0.2, 0.0], ""),
    (lambda scores, call: f"Try {call}. {shown(dict.fromkeys(scores, 50 + call))}", 3, None, "words"),
    (lambda scores, call: f"Sure! {shown(scores)}" if call == 1 else shown(scores), 2, [0.9, 0.5, 0.2, 0.0], ""),
    (lambda scores, _: shown({key: value // 10 for key, value in scores.items()}), 2, None, "scale"),
    (lambda scores, _: shown({key: value / 100 for key, value in scores.items()}), 2, None, "scale"),
    (lambda scores, _: f"{shown(scores)}\n{shown(dict.fromkeys(scores, 50))}", 3, None, "two verdicts"),
    (lambda scores, _: f"{shown(scores)}<|im_end|>{shown(dict.fromkeys(scores, 50))}", 1, [0.9, 0.5, 0.2, 0.0], ""),
], ids=["words again", "words, other values", "words once", "0-10", "0-1", "two verdicts", "next turn"])  # fmt: skip
async def test_what_a_form_of_reply_costs(reply: Reply, calls: int, rewards: list[float] | None, reason: str):
    judge = Writes(reply)
    result = await calipers.Judge(judge).score_group(group_of(FOUR))
    assert judge.calls == calls
    assert list(result.rewards) == list(rewards or (None,) * 4)
    assert all(str(one.reason or "").find(reason) >= 0 for one in result.trajectories)


async def test_the_next_question_says_what_was_wrong():
    judge = Writes(lambda scores, _: shown({key: value // 10 for key, value in scores.items()}))
    await calipers.Judge(judge).score_group(group_of(FOUR))
    assert "its scores were not on the scale" in judge.asked[1]
    assert "from 0 to 100" in judge.asked[1]


async def test_low_scores_of_one_candidate_count_when_given_again():
    judge = Writes(lambda scores, _: shown(dict.fromkeys(scores, 5)))
    result = await calipers.Judge(judge, protocol="pointwise").score_group(group_of(FOUR))
    assert (result.rewards, judge.calls) == ([0.05] * 4, 8)
