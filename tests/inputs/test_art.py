"""Duck-typed copies of ART's two forms run everywhere; the real library where it is installed (CI has it)."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import as_group, as_trajectory

ASKED = {"role": "user", "content": "q"}
ANSWER = {"role": "assistant", "content": "a", "reasoning": "r"}
TOOL = {"type": "function", "function": {"name": "f", "parameters": {}}}
CHOICE = SimpleNamespace(
    finish_reason="stop", message=SimpleNamespace(role="assistant", content="a", reasoning_content="r", tool_calls=None)
)


def rollout(**fields: Any) -> SimpleNamespace:
    held: dict[str, Any] = {
        "messages_and_choices": [ASKED, CHOICE],
        "tools": None,
        "additional_histories": [],
        "reward": 0.0,
        "metadata": {},
    }
    return SimpleNamespace(**held | fields)


def test_messages_choices_tools_reward_and_metadata_are_read() -> None:
    read = as_trajectory(rollout(tools=[TOOL], reward=1.5, metadata={"k": 1}), default_id="3")
    assert (read.id, read.messages, read.tools) == ("3", (ASKED, ANSWER), (TOOL,))
    assert (read.reward, read.metadata) == (1.5, {"k": 1})


def test_a_group_counts_its_trajectories_and_not_its_exceptions() -> None:
    group = as_group(SimpleNamespace(trajectories=[rollout(), rollout()], exceptions=["lost"], metadata={"s": 2}))
    assert [member.id for member in group.trajectories] == ["1", "2"]
    assert group.extra == {"metadata": {"s": 2}}


def test_further_histories_follow_after_a_line_that_says_so() -> None:
    further = SimpleNamespace(messages_and_choices=[ASKED], tools=[TOOL])
    read = as_trajectory(rollout(additional_histories=[further]), default_id="1")
    note = {"role": "system", "content": "History 2 of 2 of this rollout:"}
    assert read.messages == (ASKED, ANSWER, note, ASKED)
    assert read.tools == (TOOL,)


class Recorded:
    """The newer form: what was exchanged, laid out as histories by ART itself."""

    messages_and_choices: tuple[Any, ...] = ()
    reward = 2.0
    metadata = None

    def __init__(self, *histories: list[Any], fault: str | None = None) -> None:
        self.exchanges = histories or fault
        self.fault = fault

    def histories(self) -> list[Any]:
        return [
            SimpleNamespace(as_chat_completions_history=lambda chat=chat: self.chat(chat))
            for chat in self.exchanges or ()
        ]

    def chat(self, messages: Any) -> SimpleNamespace:
        if self.fault:
            raise ValueError(self.fault)
        return SimpleNamespace(messages=messages, tools=None)


def test_exchanges_are_laid_out_by_art() -> None:
    assert as_trajectory(Recorded([ASKED, ANSWER]), default_id="1").messages == (ASKED, ANSWER)
    assert len(as_trajectory(Recorded([ASKED, ANSWER], [ASKED]), default_id="1").messages) == 4


def test_exchanges_that_form_no_chat_are_refused_with_arts_reason() -> None:
    with pytest.raises(
        InputError, match="trajectory 1 holds exchanges that ART cannot convert to chat messages: no structure"
    ):
        as_trajectory(Recorded(fault="no structure"), default_id="1")


def test_a_dump_reads_like_the_object_and_keeps_its_other_keys() -> None:
    choice = {
        "finish_reason": "stop",
        "index": 0,
        "message": {"role": "assistant", "content": "a", "reasoning_content": "r"},
    }
    dump = {
        "messages_and_choices": [ASKED, choice],
        "additional_histories": [],
        "reward": 1.0,
        "logs": ["x"],
        "gold": 3,
    }
    read = as_trajectory(dump, default_id="1")
    assert read.messages == (ASKED, ANSWER)
    assert (read.reward, read.gold, read.extra) == (1.0, 3.0, {"logs": ["x"]})


def test_fields_of_the_wrong_kind_are_named() -> None:
    with pytest.raises(InputError, match="trajectory 1 has a number as 'additional_histories'"):
        as_trajectory(rollout(additional_histories=3), default_id="1")


@pytest.fixture
def art(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # no price list from the network
    return pytest.importorskip("art", reason="openpipe-art is not installed: only its recorded forms are tested")


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
def test_the_real_librarys_groups_are_read(art: Any) -> None:
    chat = pytest.importorskip("openai.types.chat.chat_completion")
    message = {"role": "assistant", "content": "a", "reasoning_content": "r"}
    choice = chat.Choice.model_validate({"index": 0, "finish_reason": "stop", "message": message})
    rollouts = [
        art.Trajectory(messages_and_choices=[ASKED, choice], reward=1.5, metadata={"k": 1}),
        art.Trajectory(messages_and_choices=[ASKED, choice.message], tools=[TOOL]),
        ValueError("lost"),
    ]
    group = as_group(art.TrajectoryGroup(rollouts))
    assert [member.messages for member in group.trajectories] == [(ASKED, ANSWER)] * 2
    assert [member.reward for member in group.trajectories] == [1.5, 0.0]
    assert group.trajectories[1].tools == (TOOL,)


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
def test_the_real_librarys_exchanges_are_read(art: Any) -> None:
    held = art.trajectories
    if not hasattr(held, "TrajectoryExchanges"):
        pytest.skip("this openpipe-art records no exchanges (before 0.5.19)")
    moment = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
    message = {"role": "assistant", "content": "a", "reasoning_content": "r"}
    reply = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    exchange = {
        "request": {"model": "m", "messages": [ASKED]},
        "response": reply | {"choices": [{"index": 0, "finish_reason": "stop", "message": message}]},
        "start_time": moment,
        "end_time": moment,
    }
    exchanges = held.TrajectoryExchanges.model_validate({"chat_completions": [exchange]})
    read = as_trajectory(held.Trajectory(exchanges=exchanges, reward=1.0), default_id="1")
    assert (read.messages, read.reward) == ((ASKED, ANSWER), 1.0)


def test_the_versions_that_art_noted_are_in_the_trajectorys_metadata():
    messages = [{"role": "assistant", "content": "hi"}]
    for noted, read in (
        ({"initial_policy_version": 3, "final_policy_version": 4}, {"policy_version": [3, 4]}),
        ({"initial_policy_version": 3, "final_policy_version": 3}, {"policy_version": 3}),
        ({"initial_policy_version": None, "final_policy_version": None}, {}),
        ({"initial_policy_version": 3, "metadata": {"policy_version": 9}}, {"policy_version": 9}),
    ):
        group = as_group([{"messages_and_choices": messages, "reward": 0.0, **noted}])
        assert group.trajectories[0].metadata == read
