"""One answer that is too long for the judge's window costs its own score, and no other's."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import calipers
from calipers.judging.judge import Judge
from calipers.protocols.scores import Listwise
from calipers.render import Fitted, fit_question, render, text_bytes_and_images
from calipers.render.fitting import estimated_tokens
from calipers.testing import SimulatedJudge
from calipers.types import Ask, Message, Trajectory, TrajectoryGroup, Window
from decoded import count_characters
from grading import Grader
from groups import group_of
from judging.test_long_trajectories import Narrow
from replaying import replayed, scored

WINDOW = 8192
QUALITY = {name: (place + 1) / 10 for place, name in enumerate("abcdefgh")}
LONG = "a long answer, word after word, that never ends. " * 860  # 42 kB


def group(*long: str, rows: int = 0, answer: str = LONG) -> TrajectoryGroup:
    """Eight answers, of which ``long`` never end; each begins with a tool result of ``rows`` rows."""
    found = "\n".join(f"row {number}: {number * 37 % 1000} euros" for number in range(rows))

    def messages(name: str) -> tuple[Message, ...]:
        looked: list[Message] = [{"role": "tool", "content": f"{name}: {found}"}] if rows else []
        return (*looked, {"role": "assistant", "content": f"{name} says {answer if name in long else 'yes'}"})

    members = tuple(Trajectory(name, messages(name)) for name in QUALITY)
    return TrajectoryGroup("g", members, context=({"role": "user", "content": "Well?"},))


def judged(result: calipers.GroupResult) -> dict[str, float | None]:
    return {one.id: one.score for one in result.trajectories}


def lost(result: calipers.GroupResult, *names: str) -> None:
    """Only ``names`` are without a score, and are told of by name, with what would help."""
    assert [one.id for one in result.trajectories if one.status != "scored"] == list(names)
    for one in result.trajectories:
        if one.id in names:
            assert one.status == "abstained"
            reason = str(one.reason)
            assert f"window of {WINDOW} tokens" in reason
            assert "name a judge with a larger window" in reason.lower()
            assert f"trajectory '{one.id}' was not shown to the judge: {reason}" in result.warnings


async def test_the_others_are_scored_as_without_it_in_one_question() -> None:
    cases: list[tuple[str, ...]] = [("c",), ("c", "f"), ("a", "b", "c", "d", "e", "f")]
    for long in cases:
        judge = Narrow(WINDOW, truth=QUALITY)
        result = await Judge(judge, calls={"context_window": WINDOW}).score_group(group(*long))
        assert judged(result) == {name: None if name in long else value for name, value in QUALITY.items()}
        lost(result, *long)
        assert (result.status, result.judge_calls) == ("partial", 1)
        assert "never ends" not in str(judge.asked[0].messages)
        assert not [line for line in result.warnings if line.endswith(" left out")]


async def test_those_that_can_be_shortened_are_and_the_one_that_cannot_is_left_out() -> None:
    judge = SimulatedJudge(QUALITY)
    result = await Judge(judge, calls={"context_window": WINDOW}).score_group(group("c", rows=300))
    lost(result, "c")
    shortened = [line for line in result.warnings if line.endswith(" left out")]
    assert len(shortened) == 7
    assert all("text left out" in line for line in shortened)


async def test_in_pairs_and_alone_only_what_is_asked_about_it_is_lost() -> None:
    for protocol, calls in (("pairwise", 21), ("pointwise", 8)):
        judge = Judge(SimulatedJudge(QUALITY), protocol=protocol, calls={"context_window": WINDOW})
        result = await judge.score_group(group("c"))
        lost(result, "c")
        assert result.judge_calls == calls
        shown = {name: score for name, score in judged(result).items() if score is not None}
        assert sorted(shown, key=lambda name: shown[name]) == [name for name in QUALITY if name != "c"]


async def test_a_long_answer_that_fits_alone_is_scored_alone_and_compared_with_short_ones() -> None:
    long = group("c", "f", answer="word " * 1000)  # 5 kB: two do not fit, one and a short one do
    asked = {"judge": SimulatedJudge(QUALITY), "context_window": WINDOW // 2}
    alone, paired, together = [
        await Judge.of(asked | {"protocol": protocol}).score_group(long)
        for protocol in ("pointwise", "pairwise", "listwise")
    ]
    assert judged(alone) == QUALITY
    assert (paired.status, paired.judge_calls) == ("scored", 27)
    # One of them fits beside the short ones; which of the two depends on nothing but content.
    assert sum(score is None for score in judged(together).values()) == 1
    assert any("protocol='pointwise'" in line for line in together.warnings)


async def test_criteria_are_graded_for_the_others() -> None:
    grader = Grader({name: ["kind"] if name in "abcd" else [] for name in QUALITY})
    asked = {"judge": grader, "protocol": "checklist", "rubric": [{"id": "kind", "text": "Is kind."}]}
    for mode in ("all", "per_criterion", "relative"):
        judge = Judge.of(asked | {"grading": {"mode": mode}, "context_window": WINDOW})
        result = await judge.score_group(group("c"))
        lost(result, "c")
        assert judged(result) == {name: None if name == "c" else float(name in "abd") for name in QUALITY}


async def test_where_the_context_or_the_rubric_is_too_long_all_abstain_and_it_is_said_to_be_the_reason() -> None:
    short = group()
    long = TrajectoryGroup("g", short.trajectories, context=({"role": "user", "content": LONG},))
    cases: list[tuple[TrajectoryGroup, dict[str, Any], str]] = [
        (long, {}, "task and tools, is too long. Shorten it"),
        (short, {"rubric": LONG}, "are too long. Shorten the rubric"),
    ]
    for protocol in ("listwise", "pairwise", "pointwise"):
        for asked, options, words in cases:
            judge = SimulatedJudge(QUALITY)
            options |= {"judge": judge, "context_window": WINDOW, "protocol": protocol}
            result = await Judge.of(options).score_group(asked)
            assert (result.status, judge.calls) == ("abstained", 0)
            assert all(words in str(one.reason) for one in result.trajectories)


async def test_of_two_where_one_is_too_long_both_abstain_and_the_long_one_is_named() -> None:
    judge = SimulatedJudge({"a": 0.5, "b": 0.7})
    result = await Judge(judge, calls={"context_window": WINDOW}).score_group(group_of({"a": LONG, "b": "yes"}))
    assert (result.status, judge.calls) == ("abstained", 0)
    assert "too long" in str(result.trajectories[0].reason)
    assert "without 'a', which is too long, too little is left to compare" in str(result.trajectories[1].reason)


@pytest.mark.parametrize("settings", [{"canaries": "always"}, {"orders": 2}, {"protocol": "pairwise"}], ids=str)
async def test_a_run_replays_byte_for_byte(tmp_path: Path, settings: Mapping[str, Any]) -> None:
    judge, path = SimulatedJudge(QUALITY), tmp_path / "l.db"
    first = await scored(path, judge, [group("c")], context_window=WINDOW, **settings)
    calls = judge.calls
    assert await scored(path, judge, [group("c")], context_window=WINDOW, **settings) == first
    assert judge.calls == calls
    (again,) = await replayed(path)
    assert [json.dumps(again.to_dict())] == first
    lost(again, "c")


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(1, 30_000), st.integers(0, 30_000)), min_size=2, max_size=9), st.integers(500, 9000)
)
def test_whatever_the_lengths_what_is_shown_fits_and_every_answer_in_it_is_whole(
    sizes: list[tuple[int, int]], limit: int
) -> None:
    """Of (answer, tool result) lengths: nobody is left out who is shorter in both than one who is shown."""
    members = []
    for number, (answer, result) in enumerate(sizes):
        tool: Message = {"role": "tool", "content": f"{number} " + "0123456789 " * (result // 11)}
        members.append(
            Trajectory(str(number), (tool, {"role": "assistant", "content": f"<{number} " + "w" * answer + ">"}))
        )
    view = render(TrajectoryGroup("g", tuple(members), context=({"role": "user", "content": "?"},)))
    order = tuple(range(len(view.candidates)))
    whole = Listwise().frame(Ask(0, order, order), view)
    window = Window(limit, 3.0)
    fit = fit_question(whole, window, Listwise().frame)
    if not isinstance(fit, Fitted):
        return
    asked = fit.request.ask
    assert set(asked.members) | set(fit.omitted) == set(order)
    assert not set(asked.members) & set(fit.omitted)
    assert len(asked.members) >= 2
    assert estimated_tokens(fit.request, 3.0) <= limit - limit // 4
    text = str(fit.request.messages[-1]["content"])
    own = {item: sizes[int(view.ids[view.candidates[item].members[0]])] for item in order}
    for item in asked.members:
        name = view.ids[view.candidates[item].members[0]]
        assert f"<{name} " + "w" * own[item][0] + ">" in text
    longest = max(own[shown][0] for shown in asked.members)
    for item in fit.omitted:
        assert own[item][0] >= longest or count_characters(view.candidates[item].body) < 500
    assert text_bytes_and_images(fit.request)[0] <= text_bytes_and_images(whole)[0]
