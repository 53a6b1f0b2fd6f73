"""The listwise question and how its answer is read."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.protocols.scores import Listwise
from calipers.render import render
from calipers.types import Ask, Completion, Image, JudgeRequest, Rating, Trajectory, TrajectoryGroup
from calipers.types.encoding import EncodedDict
from groups import FOUR, group_of

VIEW = render(group_of(FOUR))
ASK = Ask(0, (0, 1, 2, 3), (2, 0, 3, 1))


def reply(request: JudgeRequest, *values: float, **extra: object) -> Completion:
    return Completion(json.dumps({"scores": dict(zip(request.keys, values, strict=True)), **extra}))


def test_the_question_repeats_nothing_but_what_differs():
    """Two orders share the whole system message, and the user message up to the first candidate."""
    one = Listwise().frame(ASK, VIEW)
    two = Listwise().frame(replace(ASK, number=1, order=(1, 3, 0, 2)), VIEW)
    assert one.messages[0] == two.messages[0]
    first, second = str(one.messages[1]["content"]), str(two.messages[1]["content"])
    shared = next(n for n, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    assert "What is 17 + 25?" in first[:shared]


def test_keys_are_new_for_every_question_and_say_nothing():
    keys = {Listwise().frame(replace(ASK, number=number), VIEW).keys for number in range(50)}
    assert len(keys) == 50
    for shown in keys:
        assert len(set(shown)) == 4
        assert not {"A", "B", "1", "2"} & set(shown)


def test_no_trajectory_id_is_shown():
    group = group_of({"gpt-4o-run": "42", "our-policy": "41"})
    request = Listwise().frame(Ask(0, (0, 1), (0, 1)), render(group))
    assert "gpt-4o-run" not in json.dumps(request.messages)
    assert "our-policy" not in json.dumps(request.messages)


@given(st.integers(1, 120))
def test_any_number_of_candidates_gets_distinct_keys_and_a_schema_that_names_them(count: int):
    group = group_of({str(n): f"answer {n}" for n in range(count)})
    request = Listwise().frame(Ask(0, tuple(range(count)), tuple(range(count))), render(group))
    assert len(set(request.keys)) == count
    assert request.schema is not None
    scores = request.schema["properties"]["scores"]
    assert scores["required"] == list(request.keys)
    assert scores["additionalProperties"] is False
    assert set(map(str, scores["properties"].values())) == {str({"type": "integer", "minimum": 0, "maximum": 100})}
    assert isinstance(request.schema, EncodedDict)
    assert request.schema.text == json.dumps(request.schema, separators=(",", ":"))


def test_values_go_to_the_candidates_their_keys_stood_for():
    request = Listwise().frame(ASK, VIEW)
    reading = Listwise().read(request, reply(request, 10, 20, 30, 40))
    assert reading.judgments == (
        Rating(2, 0.1, 0, 0), Rating(0, 0.2, 0, 1), Rating(3, 0.3, 0, 2), Rating(1, 0.4, 0, 3),
    )  # fmt: skip
    assert (reading.outcome, reading.reason, dict(reading.missing)) == ("strict", None, {})


FILLS = replace(ASK, number=3, members=(3,), order=(3, 0, 1), anchors=((0, 0.9), (1, 0.2)), presentation=0)


def test_stated_scores_are_shown_and_only_members_can_be_missing():
    request = Listwise().frame(FILLS, VIEW)
    assert f"{request.keys[1]} has 90, {request.keys[2]} has 20" in str(request.messages[1]["content"])
    reading = Listwise().read(request, Completion(json.dumps({"scores": {request.keys[0]: 12}})))
    assert reading.judgments == (Rating(3, 0.12, 0, 0),)
    assert dict(reading.missing) == {}


def test_a_filled_gap_is_put_on_the_scale_of_the_answer_it_fills_and_anchors_are_no_new_evidence():
    """The second answer is 0.05 more generous to the anchors on average, so its 0.45 is worth 0.40."""
    request = Listwise().frame(FILLS, VIEW)
    reading = Listwise().read(request, reply(request, 45, 95, 25))
    (rating,) = reading.judgments
    assert isinstance(rating, Rating)
    assert (rating.item, rating.presentation) == (3, 0)
    assert rating.value == pytest.approx(0.40)


def test_a_filled_gap_stays_within_the_scale():
    request = Listwise().frame(FILLS, VIEW)
    (rating,) = Listwise().read(request, reply(request, 2, 100, 40)).judgments
    assert isinstance(rating, Rating)
    assert rating.value == 0.0


def test_keys_occur_nowhere_in_the_content():
    """A judge that writes "5 KB" must not be read as naming a candidate."""
    letters = "BCDFGHJKLMNPQRSTVWXZ"
    pairs = " ".join(a + b for a in letters for b in letters if (a, b) != ("X", "X"))
    view = render(group_of({"a": pairs, "b": "XY"}))
    for number in range(5):
        keys = Listwise().frame(Ask(number, (0, 1), (0, 1)), view).keys
        assert not any(key in pairs for key in keys)


def test_a_refusal_is_not_argued_with():
    request = Listwise().frame(ASK, VIEW)
    reading = Listwise().read(request, Completion("I must decline.", finish_reason="refused"))
    assert (reading.outcome, reading.complaint) == ("rejected", None)


def test_braces_in_a_rubric_are_text():
    request = Listwise(rubric='Prefer {"a": 1} to {b}.').frame(ASK, VIEW)
    assert 'Prefer {"a": 1} to {b}.' in str(request.messages[0]["content"])


def test_the_groups_own_rubric_goes_first():
    view = render(replace(group_of(FOUR), rubric="Only kindness counts."))
    assert "Only kindness counts." in str(Listwise(rubric="Only speed.").frame(ASK, view).messages[0]["content"])


def test_images_stand_in_the_question_as_images():
    url = "data:image/png;base64,iVBORw0KGgo="
    shown = (
        {
            "role": "user",
            "content": [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}],
        },
    )
    group = TrajectoryGroup("g", tuple(
        Trajectory(str(n), ({"role": "assistant", "content": text},)) for n, text in enumerate(("a cat", "a dog"))
    ), context=shown)  # fmt: skip
    view = render(group)
    assert Image(url) in view.head
    content = Listwise().frame(Ask(0, (0, 1), (1, 0)), view).messages[1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url", "text"]
    assert "base64" not in content[0]["text"] + content[2]["text"]


def test_room_multiplies_the_limit():
    assert Listwise(max_tokens=100).frame(replace(ASK, max_tokens_factor=4), VIEW).max_tokens == 400
    assert Listwise(max_tokens=None).frame(ASK, VIEW).max_tokens is None


@pytest.mark.parametrize("text", ["", "no numbers here", "{", "[1, 2]", "null"])
def test_an_unreadable_reply_leaves_everyone_without_a_score_and_says_why(text: str):
    request = Listwise().frame(ASK, VIEW)
    reading = Listwise().read(request, Completion(text))
    assert reading.judgments == ()
    assert set(reading.missing) == {0, 1, 2, 3}
    assert reading.reason
    assert reading.complaint


@given(st.text())
def test_reading_never_raises(text: str):
    request = Listwise().frame(ASK, VIEW)
    reading = Listwise().read(request, Completion(text))
    rated = {judgment.item for judgment in reading.judgments if isinstance(judgment, Rating)}
    assert rated | set(reading.missing) == {0, 1, 2, 3}


def test_keys_in_a_judges_words_become_ids_and_other_words_in_capitals_stay():
    request = Listwise().frame(ASK, VIEW)
    first, second = request.keys[:2]
    stranger = next(word for word in ("QZ", "ZQ", "XW", "WX", "VK") if word not in request.keys)
    words = f"{first} beats {second}, but {stranger} is nobody; DNA and {first}."
    explained = {"scores": dict.fromkeys(request.keys, 50), "explanations": {request.keys[0]: words}}
    reading = Listwise().read(request, Completion(json.dumps(explained)))
    one, other = (VIEW.ids[VIEW.candidates[item].members[0]] for item in ASK.order[:2])
    assert reading.explanations[2] == f"{one} beats {other}, but {stranger} is nobody; DNA and {one}."
