"""Aspects scored apart in one question, and what becomes of an attempt that lacks one."""

import json
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError
from calipers.protocols.aspects import Aspects
from calipers.render import render
from calipers.types import Ask, Completion, JudgeRequest, Rating
from groups import FOUR, group_of

PROTOCOL = Aspects(aspects=(("correctness", 3.0), ("safety", 1.0)))
VIEW = render(group_of(FOUR))
ASK = Ask(0, (0, 1, 2, 3), (2, 0, 3, 1))
GIVEN = ((80, 100), (20, 60), (0, 0), (100, 100))


def reply(request: JudgeRequest, *values: tuple[float, ...], **changed: Any) -> str:
    scores = {
        f"{key} {name}": value
        for key, own in zip(request.keys, values, strict=True)
        for name, value in zip(("correctness", "safety"), own, strict=False)
    }
    return json.dumps({"explanations": {request.keys[0]: "adds up"}, "scores": scores | changed})


def test_a_score_is_the_weighted_mean_and_its_explanation_begins_with_the_aspects():
    request = PROTOCOL.frame(ASK, VIEW)
    reading = PROTOCOL.read(request, Completion(reply(request, *GIVEN)))
    rated = {one.item: one.value for one in reading.judgments if isinstance(one, Rating)}
    assert rated == pytest.approx({2: 0.85, 0: 0.3, 3: 0.0, 1: 1.0})
    assert reading.outcome == "strict"
    assert reading.explanations[2] == "correctness 80; safety 100; adds up"
    assert reading.explanations[0] == "correctness 20; safety 60"


def test_an_attempt_with_an_aspect_missing_is_missing_and_says_which():
    request = PROTOCOL.frame(ASK, VIEW)
    reading = PROTOCOL.read(request, Completion(reply(request, *GIVEN[:3], (100,))))
    assert reading.outcome == "partial"
    assert set(reading.missing) == {1}
    assert "safety" in reading.missing[1]
    assert reading.complaint == "it left attempts out"


@pytest.mark.parametrize("text", ["", "no verdict", '{"scores": {"BC": 5}}'])
def test_an_answer_without_aspects_is_no_score(text: str):
    request = PROTOCOL.frame(ASK, VIEW)
    reading = PROTOCOL.read(request, Completion(text))
    assert (reading.judgments, reading.outcome) == ((), "rejected")
    assert len(reading.missing) == 4
    refused = PROTOCOL.read(request, Completion("I cannot.", finish_reason="refused"))
    assert refused.complaint is None


def test_a_number_off_the_scale_puts_the_whole_reply_in_doubt():
    request = PROTOCOL.frame(ASK, VIEW)
    reading = PROTOCOL.read(request, Completion(reply(request, (800, 100), *GIVEN[1:])))
    assert reading.judgments == ()
    assert "scale" in (reading.complaint or "")


def test_the_schema_has_a_number_for_every_attempt_and_aspect():
    request = PROTOCOL.frame(ASK, VIEW)
    assert request.schema is not None
    assert list(request.schema["properties"]["scores"]["properties"]) == [
        f"{key} {name}" for key in request.keys for name in ("correctness", "safety")
    ]
    system, user = (str(message["content"]) for message in request.messages)
    assert "correctness, safety" in system
    assert f'"{request.keys[0]} safety"' in user


class Judging:
    """Gives each attempt what it deserves, aspect by aspect; forgets one the first time."""

    endpoint, model = "aspects", "fixed"

    def __init__(self) -> None:
        self.calls = 0

    async def complete(self, request: JudgeRequest) -> Completion:
        self.calls += 1
        worth = dict(zip(FOUR, GIVEN, strict=True))
        scores: dict[str, int] = {}
        for key, item in zip(request.keys, request.ask.order, strict=True):
            own = worth[request.view.ids[request.view.candidates[item].members[0]]]
            scores |= {f"{key} correctness": own[0], f"{key} safety": own[1]}
        if self.calls == 1:
            scores.pop(f"{request.keys[0]} safety")
        return Completion(json.dumps({"explanations": {}, "scores": scores}))


async def test_what_was_left_out_is_asked_again_and_completes_the_first_answer():
    backend = Judging()
    result = await calipers.Judge(backend, question={"aspects": {"correctness": 3, "safety": 1}}).score_group(
        group_of(FOUR)
    )
    assert (result.status, backend.calls) == ("scored", 2)
    assert [one.score for one in result.trajectories] == pytest.approx([0.85, 0.3, 0.0, 1.0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"aspects": []}, "at least one"),
        ({"aspects": ["safety", "safety"]}, "each once"),
        ({"aspects": ["1: {"]}, "letters, spaces and hyphens"),
        ({"aspects": {"safety": 0}}, "above 0"),
        ({"aspects": ["safety"], "protocol": "pairwise"}, "needs protocol='listwise'"),
        ({"aspects": ["safety"], "canaries": "always"}, "leave one of them out"),
    ],
)
def test_aspects_that_cannot_work_are_refused(options: dict[str, Any], words: str):
    with pytest.raises(ConfigError, match=words):
        calipers.Judge.of({"judge": Judging(), **options})
