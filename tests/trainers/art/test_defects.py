"""What went wrong in RULER (openpipe-art 0.5.18), one test or more for each, against real ART groups.

Numbers are those of the list in docs/trainers/art.md.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from art_judges import ContentJudge
from calipers.errors import TransientError
from calipers.trainers.art import DEFAULT_RUBRIC, ruler, ruler_score_group
from calipers.types import JudgeRequest

# LiteLLM, which ART imports, otherwise fetches its price list from the network at import.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
art = pytest.importorskip("art", reason="openpipe-art is not installed (pip install 'calipers[art]')")
pydantic = pytest.importorskip("pydantic")

USER = {"role": "user", "content": "Book me a flight."}


def rollout(*messages: Any, **fields: Any) -> Any:
    return art.Trajectory(messages_and_choices=[USER, *messages], **fields)


def says(text: str | None, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": text, **more}


def group_of(*texts: str) -> Any:
    return art.TrajectoryGroup([rollout(says(text)) for text in texts])


def choice(**message: Any) -> Any:
    """What an OpenAI client returns, as ART keeps it."""
    fields = {"role": "assistant", **message}
    return art.types.Choice.model_validate({"index": 0, "finish_reason": "stop", "logprobs": None, "message": fields})


async def rewards(group: Any, judge: Any, **options: Any) -> list[float]:
    after = await ruler_score_group(group, judge, **options)
    assert after is not None
    return [one.reward for one in after]


# --- what RULER's documentation promises ----------------------------------------------------------------------------


async def test_02a_additional_histories_are_judged_instead_of_raising_through_swallow_exceptions() -> None:
    history = get_args(art.Trajectory.model_fields["additional_histories"].annotation)[0]
    further = history(messages_and_choices=[USER, says("a second conversation, worth 90")])
    group = art.TrajectoryGroup(
        [rollout(says("worth 20")), rollout(says("the first conversation"), additional_histories=[further])]
    )
    judge = ContentJudge()
    assert await rewards(group, judge, swallow_exceptions=True) == [0.2, 0.9]
    assert "a second conversation" in judge.questions[0]


async def test_02b_a_subclass_with_a_required_field_is_copied_whole() -> None:
    class Scenario(art.Trajectory):  # type: ignore[misc, name-defined]  # ART has no types where it is not installed
        scenario: str
        attempts: int = 0

    members = [
        Scenario(messages_and_choices=[USER, says(text)], scenario="oslo", attempts=7) for text in ("worth 2", "b")
    ]
    after = await ruler_score_group(art.TrajectoryGroup(members), ContentJudge(), swallow_exceptions=True)
    assert after is not None
    assert [(type(one), one.scenario, one.attempts) for one in after] == [(Scenario, "oslo", 7)] * 2


@pytest.mark.parametrize("text", ["[/INST]", "[bold", "[/red]", "\x1b[31m\n\x07", "", "\ud800"])
async def test_02c_an_error_text_with_markup_is_printed_and_not_a_crash(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(opinions: Mapping[str, int], request: JudgeRequest) -> str:
        raise TransientError("server", text)

    group = group_of("worth 20", "worth 90")
    assert await ruler_score_group(group, ContentJudge(write=fail), swallow_exceptions=True) is None
    printed = capsys.readouterr().err
    assert "[calipers] a group is left out" in printed
    assert printed.removesuffix("\n").isprintable()


# --- the other defects ----------------------------------------------------------------------------------------------


async def test_12_tools_are_shown_also_where_the_first_trajectory_has_none() -> None:
    tool = {"type": "function", "function": {"name": "cancel_flight", "description": "", "parameters": {}}}
    judge = ContentJudge()
    await ruler_score_group(art.TrajectoryGroup([rollout(says("a")), rollout(says("b"), tools=[tool])]), judge)
    assert "cancel_flight" in judge.questions[0]


async def test_13_everything_else_of_group_and_trajectories_is_kept() -> None:
    start = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    fields: dict[str, Any] = {
        "initial_policy_version": 3, "final_policy_version": 4, "start_time": start, "metadata": {"seed": 7},
        "metrics": {"steps": 2}, "logs": ["began"],
    }  # fmt: skip
    before = art.TrajectoryGroup(
        [rollout(says("worth 20"), **fields), rollout(says("worth 90"), **fields)],
        exceptions=[ValueError("a rollout died")],
        metadata={"scenario": "oslo"},
        metrics={"wall": 1.5},
        logs=["group began"],
    )
    after = await ruler_score_group(before, ContentJudge())
    assert after is not None
    assert after.exceptions == before.exceptions
    assert (after.metadata, after.metrics["wall"], after.logs) == ({"scenario": "oslo"}, 1.5, ["group began"])
    for one in after:
        assert (one.initial_policy_version, one.final_policy_version, one.start_time) == (3, 4, start)
        assert (one.metadata, one.metrics["steps"], one.logs[0]) == ({"seed": 7}, 2, "began")


async def test_13_a_subclass_of_the_group_keeps_its_own_fields_and_private_ones() -> None:
    class Batch(art.TrajectoryGroup):  # type: ignore[misc, name-defined]  # ART has no types where it is not installed
        step: int = 0
        _secret: str = pydantic.PrivateAttr(default="")

    before = Batch([rollout(says("worth 20")), rollout(says("worth 90"))])
    before.step, before._secret = 12, "kept"
    after = await ruler_score_group(before, ContentJudge())
    assert after is not None
    assert (type(after), after.step, after._secret) == (Batch, 12, "kept")


async def test_14_scoring_twice_keeps_the_independent_reward() -> None:
    before = art.TrajectoryGroup([rollout(says("worth 20"), reward=5.0), rollout(says("worth 90"), reward=1.0)])
    once = await ruler_score_group(before, ContentJudge())
    twice = await ruler_score_group(once, ContentJudge())
    assert twice is not None
    assert [one.metrics["independent_reward"] for one in twice] == [5.0, 1.0]


async def test_15_message_objects_are_as_good_as_dicts() -> None:
    lists = [[USER, choice(content=text).message] for text in ("worth 20", "worth 90")]
    assert type(lists[0][1]).__name__ == "ChatCompletionMessage"
    assert [one.score for one in await ruler(lists, ContentJudge())] == [0.2, 0.9]


async def test_16_a_rubric_reaches_the_judge_as_written_and_none_is_the_default() -> None:
    rubric = 'Rules:\n    - {indented}\n\n  - "quoted"'
    for given, seen in ((rubric, rubric), (None, DEFAULT_RUBRIC), (DEFAULT_RUBRIC, DEFAULT_RUBRIC)):
        judge = ContentJudge()
        await ruler([[USER, says("a")], [USER, says("b")]], judge, rubric=given)
        system = str(judge.asked[0].messages[0]["content"])
        assert seen in system
        assert "None" not in system


# --- ART's newer form -----------------------------------------------------------------------------------------------


def recorded(text: str) -> Any:
    """What ART 0.5.23 keeps of one call; earlier versions have no such thing."""
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC).isoformat()
    reply = {
        "id": "c", "object": "chat.completion", "created": 1, "model": "policy",
        "choices": [choice(content=text).model_dump()],
    }  # fmt: skip
    exchange = {
        "request": {"messages": [USER]},
        "response": reply,
        "model": "policy",
        "start_time": now,
        "end_time": now,
    }
    return art.Trajectory.model_validate({"exchanges": {"chat_completions": [exchange]}})


async def test_trajectories_of_recorded_exchanges_are_scored_and_keep_them() -> None:
    if "exchanges" not in art.Trajectory.model_fields:
        pytest.skip("this openpipe-art (before 0.5.19) records no exchanges")
    before = art.TrajectoryGroup([recorded("worth 20"), recorded("worth 90")])
    after = await ruler_score_group(before, ContentJudge())
    assert after is not None
    assert [one.reward for one in after] == [0.2, 0.9]
    assert [one.exchanges for one in after] == [one.exchanges for one in before]
