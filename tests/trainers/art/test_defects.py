"""What went wrong in RULER (openpipe-art 0.5.18), one test or more for each, against real ART groups.

Numbers are those of the list in docs/trainers/art.md.
"""

from __future__ import annotations

import json
import math
import os
import sqlite3
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import pytest

import calipers
from art_judges import ContentJudge, honest
from calipers.errors import ConfigError, TransientError
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


def calls(call_id: str, answer: str) -> tuple[dict[str, Any], ...]:
    """A tool call, its result and an answer; ids differ between rollouts, as every server makes them."""
    function = {"name": "search", "arguments": '{"to": "Oslo"}'}
    call = {"id": call_id, "type": "function", "function": function}
    return (
        says(None, tool_calls=[call]),
        {"role": "tool", "tool_call_id": call_id, "content": "3 flights"},
        says(answer),
    )


def choice(**message: Any) -> Any:
    """What an OpenAI client returns, as ART keeps it."""
    fields = {"role": "assistant", **message}
    return art.types.Choice.model_validate({"index": 0, "finish_reason": "stop", "logprobs": None, "message": fields})


async def rewards(group: Any, judge: Any, **options: Any) -> list[float]:
    after = await ruler_score_group(group, judge, **options)
    assert after is not None
    return [one.reward for one in after]


def replying(change: Any) -> ContentJudge:
    """A judge whose reply is ``change(the honest verdict as data, the honest reply)``, written as JSON unless text."""

    def write(opinions: Mapping[str, int], request: JudgeRequest) -> str:
        text = honest(opinions, request)
        changed = change(json.loads(text), text)
        return changed if isinstance(changed, str) else json.dumps(changed)

    return ContentJudge(write=write)


# --- what RULER's documentation promises ----------------------------------------------------------------------------


async def test_01_with_a_ledger_an_equal_question_is_paid_once(tmp_path: Path) -> None:
    """RULER promises a cache on disk, and switches it off."""
    backend = ContentJudge()
    for _ in range(2):  # as two runs of one script would
        with_ledger = calipers.Judge(backend, ledger=tmp_path / "judge.db")
        assert await rewards(group_of("worth 20", "worth 90"), with_ledger) == [0.2, 0.9]
        with_ledger.close()
    assert len(backend.asked) == 1


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


async def test_02d_no_group_disappears_in_silence(capsys: pytest.CaptureFixture[str]) -> None:
    judge = ContentJudge(write=lambda *_: "")
    groups = await art.gather_trajectory_groups(
        [ready(group_of(f"worth {number}", "b")) for number in range(3)],
        after_each=lambda group: ruler_score_group(group, judge, swallow_exceptions=True),
        pbar_desc=None,
    )
    assert groups == []
    assert capsys.readouterr().err.count("[calipers] a group is left out: none of the group's 2 trajectories") == 3


async def ready(group: Any) -> Any:
    return group


@pytest.mark.parametrize("extra", [{"response_format": {"type": "json_object"}}, {"stream": True}])
async def test_04_what_cannot_be_overridden_is_said_clearly(extra: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"calipers sets '.*' itself, so leave it out"):
        await ruler_score_group(group_of("a", "b"), ContentJudge(), extra)


async def test_04_a_name_without_its_provider_is_told_what_to_write() -> None:
    with pytest.raises(ConfigError, match="write provider/model, as in ollama/qwen3-40b"):
        await ruler_score_group(group_of("a", "b"), "qwen3-40b")


# --- what a judge may answer ----------------------------------------------------------------------------------------

UNREADABLE = {
    "empty": lambda *_: "",
    "null": lambda *_: "null",
    "a refusal": lambda *_: "I'm sorry, but I can't compare these.",
    "cut off": lambda _, text: text[: len(text) // 3],
    "unknown ids": lambda *_: {"scores": {"A1": 20, "B2": 90, "C3": 55}},
    "not numbers": lambda verdict, _: {"scores": dict.fromkeys(verdict["scores"], "0.8x")},
}


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


async def test_19_what_was_asked_and_answered_is_on_record(tmp_path: Path) -> None:
    path = tmp_path / "judge.db"
    judge = calipers.Judge(ContentJudge(), ledger=path)
    await ruler_score_group(group_of("worth 20", "worth 90"), judge)
    judge.close()
    with sqlite3.connect(path) as ledger:
        columns = "text, finish_reason, model, served_model, input_tokens, output_tokens, latency, attempts"
        ((text, *rest),) = ledger.execute(f"SELECT {columns} FROM answers").fetchall()  # noqa: S608 - ours
    ledger.close()
    assert sorted(json.loads(text)["scores"].values()) == [20, 90]
    assert rest[:5] == ["stop", "content", "v1", 100, 10]
    assert all(math.isfinite(number) for number in rest[5:])


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


async def test_trajectories_that_only_their_own_history_can_lay_out_are_read_through_it() -> None:
    """The same without the newer ART: its shape, on the older one's trajectory."""
    if "exchanges" in art.Trajectory.model_fields:
        pytest.skip("this openpipe-art records exchanges itself")

    class Chat(pydantic.BaseModel):  # type: ignore[misc, name-defined]  # ART has no types where it is not installed
        messages: list[Any]
        tools: list[Any] | None = None

        def as_chat_completions_history(self) -> Any:
            return self

    class Newer(art.Trajectory):  # type: ignore[misc, name-defined]  # likewise
        exchanges: list[str]

        def history(self) -> Any:
            return Chat(messages=[USER, *map(says, self.exchanges)])

    members = [Newer(exchanges=[text]) for text in ("worth 20", "worth 90")]
    after = await ruler_score_group(art.TrajectoryGroup(members), ContentJudge())
    assert after is not None
    assert [(one.reward, one.exchanges) for one in after] == [(0.2, ["worth 20"]), (0.9, ["worth 90"])]
