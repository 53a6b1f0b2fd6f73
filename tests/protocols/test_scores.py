"""The protocols that ask for scores: questions, schemas, and how answers are read."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import calipers
from calipers.planners.first_asks import Pairs
from calipers.protocols.question import plain_text_schema, score_schema, system_message
from calipers.protocols.reading import spreads_from_probabilities
from calipers.protocols.scores import Listwise, Pairwise, Pointwise
from calipers.render import render
from calipers.testing import Flaky, Noise, PositionBias, SimulatedJudge
from calipers.types import Ask, Comparison, Completion, Image, JudgeRequest, Rating, Reading
from calipers.types.encoding import EncodedDict, to_json
from groups import FOUR, QUALITY, group_of
from planning import state_of

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


def test_a_refusal_is_not_argued_with():
    request = Listwise().frame(ASK, VIEW)
    reading = Listwise().read(request, Completion("I must decline.", finish_reason="refused"))
    assert (reading.outcome, reading.complaint) == ("rejected", None)


def test_the_groups_own_rubric_goes_first():
    view = render(replace(group_of(FOUR), rubric="Only kindness counts."))
    assert "Only kindness counts." in str(Listwise(rubric="Only speed.").frame(ASK, view).messages[0]["content"])


def test_images_stand_in_the_question_as_images():
    url = "data:image/png;base64,iVBORw0KGgo="
    parts = [{"type": "text", "text": "What is it?"}, {"type": "image_url", "image_url": {"url": url}}]
    group = group_of({"0": "a cat", "1": "a dog"})
    view = render(replace(group, context=({"role": "user", "content": parts},)))
    assert Image(url) in view.head
    content = Listwise().frame(Ask(0, (0, 1), (1, 0)), view).messages[1]["content"]
    assert [part["type"] for part in content] == ["text", "image_url", "text"]
    assert "base64" not in content[0]["text"] + content[2]["text"]


@given(st.text())
def test_reading_never_raises(text: str):
    request = Listwise().frame(ASK, VIEW)
    reading = Listwise().read(request, Completion(text))
    rated = {judgment.item for judgment in reading.judgments if isinstance(judgment, Rating)}
    assert rated | set(reading.missing) == {0, 1, 2, 3}
    assert rated or (reading.reason and reading.complaint)


def test_keys_in_a_judges_words_become_ids_and_other_words_in_capitals_stay():
    request = Listwise().frame(ASK, VIEW)
    first, second = request.keys[:2]
    stranger = next(word for word in ("QZ", "ZQ", "XW", "WX", "VK") if word not in request.keys)
    words = f"{first} beats {second}, but {stranger} is nobody; DNA and {first}."
    explained = {"scores": dict.fromkeys(request.keys, 50), "explanations": {request.keys[0]: words}}
    reading = Listwise().read(request, Completion(json.dumps(explained)))
    one, other = (VIEW.ids[VIEW.candidates[item].members[0]] for item in ASK.order[:2])
    assert reading.explanations[2] == f"{one} beats {other}, but {stranger} is nobody; DNA and {one}."


PAIR = Ask(5, (2, 0), (2, 0))


def heard(*values: int) -> Reading:
    request = Pairwise().frame(PAIR, VIEW)
    reply = json.dumps({"scores": dict(zip(request.keys, values, strict=False))})
    return Pairwise().read(request, Completion(reply))


def test_the_margin_is_the_difference_for_who_was_shown_first_and_one_score_of_two_is_no_comparison():
    for values, margin in (((80, 30), 0.5), ((30, 80), -0.5), ((55, 55), 0.0)):
        assert heard(*values).judgments == (Comparison(2, 0, margin, 5),)
    one_score = heard(80)
    assert (one_score.judgments, set(one_score.missing), bool(one_score.complaint)) == ((), {0, 2}, True)


@given(st.integers(2, 9), st.integers(1, 2), st.integers(1, 2))
def test_every_pair_is_asked_about_as_often_as_planned(candidates: int, orders: int, samples: int):
    asks = Pairs(orders, samples).next_asks(state_of(candidates))
    pairs = Counter(frozenset(ask.order) for ask in asks)
    assert set(pairs.values()) == {orders * samples}
    assert len(pairs) == candidates * (candidates - 1) // 2
    if orders == 2:
        shown = Counter(ask.order for ask in asks)
        assert all(shown[order] == shown[order[::-1]] for order in shown)


@given(st.integers(2, 9))
def test_in_one_order_everyone_stands_first_about_half_of_the_time(candidates: int):
    first = Counter(ask.order[0] for ask in Pairs().next_asks(state_of(candidates)))
    assert all(abs(2 * first[item] - (candidates - 1)) <= 1 for item in range(candidates))


async def test_rewards_are_win_rates_in_the_right_order_and_both_orders_cancel_a_judges_love_for_the_first():
    """A bias as large as the differences reverses pairs one way, and cancels when each is asked both ways."""
    biased = SimulatedJudge({"right": 0.56, "close": 0.52, "far": 0.48, "silent": 0.44}, PositionBias(0.3))
    for judge, orders in ((SimulatedJudge(QUALITY), 1), (biased, 2)):
        result = await calipers.Judge(judge, protocol="pairwise", orders=orders).score_group(group_of(FOUR))
        assert result.judge_calls == 6 * orders
        values = [value for value in result.rewards if value is not None]
        assert values == sorted(values, reverse=True)
        assert len(set(values)) == 4
        assert sum(values) / 4 == pytest.approx(0.5)
        assert all(one.stderr for one in result.trajectories)


async def test_a_failed_comparison_is_missing_and_not_a_tie():
    judge = SimulatedJudge(QUALITY, Noise(0.02), Flaky(server_error=0.5), seed=4)
    result = await calipers.Judge(judge, protocol="pairwise").score_group(group_of(FOUR))
    assert 0 < result.judge_calls < 6
    scored = {one.id: one.reward for one in result.trajectories if one.reward is not None}
    assert list(scored) == sorted(scored, key=lambda name: -(scored[name] or 0.0))


class OnlyWithin:
    """A judge that has something to say only about pairs within ``sets``, which no other pair links."""

    endpoint = "simulated"

    def __init__(self, *sets: set[int], model: str = "only-within") -> None:
        self.inner = SimulatedJudge(QUALITY | dict.fromkeys("abcdef", 0.5))
        self.sets, self.model = sets, model

    async def complete(self, request: JudgeRequest) -> Completion:
        known = any(own.issuperset(request.ask.order) for own in self.sets)
        return await self.inner.complete(request) if known else Completion("I cannot tell.")


async def test_members_that_no_chain_of_comparisons_links_have_no_score_and_say_so():
    result = await calipers.Judge(OnlyWithin({0, 1}, {2, 3}), protocol="pairwise").score_group(group_of(FOUR))
    scored = [one for one in result.trajectories if one.status == "scored"]
    apart = [one for one in result.trajectories if one.status != "scored"]
    assert (result.status, len(scored), len(apart)) == ("partial", 2, 2)
    assert all(one.reward is None and "no chain of comparisons" in (one.reason or "") for one in apart)


async def test_where_no_member_has_a_score_none_is_said_to_lack_a_link_to_those_that_have_one():
    """Each judge links other members, so none has the scores of both judges that the quorum asks for."""
    panel = [OnlyWithin({0, 1, 2}, {3, 4, 5}, model="one"), OnlyWithin({0, 1}, {3, 4, 5}, model="two")]
    group = group_of({name: f"It is {name}." for name in "abcdef"})
    result = await calipers.Judge(panel, protocol="pairwise", quorum=2).score_group(group)
    assert result.rewards == [None] * 6
    assert not any("no chain of comparisons" in str(one.reason) for one in result.trajectories)


def test_of_one_order_further_presentations_are_the_swapped_ones_and_then_new_samples_in_turn():
    """No presentation is asked twice, however many a rule asks for."""
    for samples in (1, 2, 3):
        plan, state = Pairs(1, samples), state_of(3)
        plain = [ask.order for ask in plan.presentation(state, 0)]
        asked = []
        for index in range(4 * samples):
            asks = plan.presentation(state, index)
            swapped = [ask.order for ask in asks] != plain
            assert [ask.order[::-1] if swapped else ask.order for ask in asks] == plain
            asked.append((swapped, asks[0].sample))
        first = [(False, sample) for sample in range(samples)]
        further = [(swapped, sample) for sample in range(samples, 2 * samples) for swapped in (False, True)]
        assert asked == [*first, *((True, sample) for _, sample in first), *further]


def test_only_the_one_is_shown_after_what_all_begin_with():
    question = str(Pointwise().frame(Ask(0, (1,), (1,)), VIEW).messages[1]["content"])
    assert "What is 17 + 25?" in question
    assert [str(candidate.body[0]) in question for candidate in VIEW.candidates] == [False, True, False, False]


async def test_each_gets_its_own_score():
    result = await calipers.Judge(SimulatedJudge(QUALITY), protocol="pointwise").score_group(group_of(FOUR))
    assert {one.id: one.reward for one in result.trajectories} == QUALITY
    assert result.judge_calls == 5  # a score of 5 may be on another scale, and counts when it is given again


KEYS = ("BC", "DF")


def told(reasoning: object) -> dict[str, float]:
    text = reasoning if isinstance(reasoning, str) else json.dumps(reasoning)
    return dict(spreads_from_probabilities(Completion("{}", reasoning=text), KEYS))


def test_the_spread_is_that_of_levels_from_nought_to_one_and_a_judges_thoughts_have_none() -> None:
    assert told({"BC": [0.5, 0.0, 0.5], "DF": [0.0, 1.0]}) == {"BC": 0.5, "DF": 0.0}
    assert told({"BC": None, "DF": [1.0, 0.0]}) == {"DF": 0.0}
    thoughts: list[object] = [
        "", "Let me think.", '{"BC": ', {"DF": [1.0, 0.0], "BC": [1.0, 0.0]}, {"BC": [1.0, 0.0]},
        {"BC": 0.7, "DF": 0.3}, {"BC": [1.0, True], "DF": None}, {"BC": [2.0, -1.0], "DF": None},
        {"BC": [1.0], "DF": None}, {"BC": [0.2, 0.2], "DF": None},
    ]  # fmt: skip
    assert [reasoning for reasoning in thoughts if told(reasoning) != {}] == []


KEY_LISTS = st.lists(st.text("BCDFGHJKLMNPQRSTVWXZ", min_size=2, max_size=4), min_size=1, max_size=9, unique=True)


@given(KEY_LISTS, KEY_LISTS, st.integers(1, 100))
def test_the_text_is_the_schema(explained: list[str], keys: list[str], top: int) -> None:
    schema = score_schema(explained, keys, top)
    assert schema.text == json.dumps(schema, separators=(",", ":"))
    assert schema["properties"]["scores"]["required"] == keys
    assert list(schema["properties"]) == ["explanations", "scores"]
    assert list(score_schema((), keys, top)["properties"]) == ["scores"]


def test_plain_text_is_one_short_line_without_quotes() -> None:
    cases: list[tuple[str, bool]] = [("abc", True), ("abcd", False), ("é", True), ("a\nb", False), ('"', False)]
    for text, plain in cases:
        assert (re.fullmatch(plain_text_schema(3)["pattern"], text) is not None) is plain


def test_only_an_ascii_system_message_is_encoded_in_advance() -> None:
    """Beside other text, orjson writes it unescaped: a message encoded in advance would be sent in another form."""
    cases: list[tuple[str, bool]] = [("Be kind.", True), ("Sei höflich. 🙂", False)]
    for rubric, is_encoded in cases:
        message = system_message("Judge.", rubric, "Score all.")
        assert isinstance(message, EncodedDict) is is_encoded
        assert to_json({"messages": [message]}) == to_json({"messages": [dict(message)]})
