"""Groups and trajectories in every form are checked groups, or are refused with the name of what is wrong."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InputError
from calipers.inputs import as_group, as_trajectory
from calipers.inputs.plain import MAX_DEPTH, compact_json, is_encodable, plain_data, without_surrogates
from calipers.types import Trajectory, TrajectoryGroup
from inputs.written import ANSWER, ASKED, not_refused

RUBRIC = {"criteria": [{"id": "a", "text": "b"}]}


def test_an_object_of_the_groups_file_keeps_everything() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    carried: dict[str, Any] = {"reward": 1, "gold": True, "metadata": {"k": [1]}, "mine": {"x": None}}
    group = as_group(
        {
            "group_id": "g",
            "context": [ASKED],
            "tools": [tool],
            "rubric": "be kind",
            "trajectories": [{"id": "a", "messages": [ANSWER], **carried}, {"id": 7, "messages": [], "tools": []}],
            "licence": "MIT",
        }
    )
    first = Trajectory("a", (ANSWER,), reward=1.0, gold=1.0, metadata={"k": [1]}, extra={"mine": {"x": None}})
    assert group == TrajectoryGroup(
        group_id="g",
        context=(ASKED,),
        tools=(tool,),
        rubric="be kind",
        trajectories=(first, Trajectory("7", ())),
        extra={"licence": "MIT"},
    )


def test_a_list_may_mix_trajectories_of_every_form() -> None:
    given_members = [Trajectory("x", (ASKED,)), {"messages": [ASKED]}, [ASKED], SimpleNamespace(messages=[ASKED])]
    array = np.empty(4, dtype=object)
    array[:] = given_members
    for value in (given_members, array):
        group = as_group(value)
        assert [member.id for member in group.trajectories] == ["x", "2", "3", "4"]
        assert all(member.messages == (ASKED,) for member in group.trajectories)
    member = as_group([{"id": np.int64(4), "messages": [], "gold": np.bool_(1), "reward": np.float32(0.5)}])
    assert [(one.id, one.gold, one.reward) for one in member.trajectories] == [("4", 1.0, 0.5)]
    rollout = as_group([{"id": "a", "prompt": "q", "completion": "a"}]).trajectories
    assert [(one.id, one.messages) for one in rollout] == [("a", (ASKED, ANSWER))]


def test_groups_of_ours_are_read_like_objects() -> None:
    human = {"role": "human", "content": "q"}
    group = TrajectoryGroup("g", (Trajectory("a", (human,)),), context=(ASKED,))
    read = as_group(group)
    assert (read, as_group(read)) == (replace(group, trajectories=(Trajectory("a", (ASKED,)),)), read)
    assert as_group(group, group_id="h") == dataclasses.replace(read, group_id="h")
    given_group: Any = TrajectoryGroup(
        7,  # type: ignore[arg-type]
        (
            Trajectory(None, (ASKED,), extra=None, metadata=None, reward=True),  # type: ignore[arg-type]
            {"id": 5, "messages": [ASKED]},
            [ASKED],
        ),
        rubric=RUBRIC,  # type: ignore[arg-type]
        extra={"when": dt.date(2026, 1, 2)},
    )
    listed = [{"messages": [ASKED], "reward": 1.0}, {"id": "5", "messages": [ASKED]}, {"messages": [ASKED]}]
    named = {"group_id": "7", "rubric": RUBRIC, "when": "2026-01-02"}
    assert as_group(given_group) == as_group({"trajectories": listed, **named})


def test_the_id_drawn_from_content_follows_the_content_and_nothing_else() -> None:
    first = as_group([[ASKED], [ANSWER]])
    assert as_group([[dict(ASKED)], [dict(ANSWER)]]).group_id == first.group_id
    assert as_group([{"messages": [ASKED], "reward": 1.0}, {"messages": [ANSWER]}]).group_id == first.group_id
    assert as_group([[ANSWER], [ASKED]]).group_id != first.group_id
    assert as_group([[ASKED], [ANSWER]], group_id="mine").group_id == "mine"
    assert as_trajectory({"id": "a", "gold": 2}, default_id="1") == Trajectory("a", (), gold=2.0)  # without messages


def test_a_foreign_object_that_is_a_group_keeps_its_id_and_its_standards() -> None:
    @dataclass
    class Rollouts:
        group_id: str
        trajectories: list[list[dict[str, Any]]]
        rubric: str
        context: list[dict[str, Any]]
        metadata: dict[str, Any]

    group = as_group(Rollouts("mine", [[ANSWER]], "Be kind.", [ASKED], {"step": 1}))
    assert (group.group_id, group.rubric, group.context) == ("mine", "Be kind.", (ASKED,))
    assert group.extra == {"metadata": {"step": 1}}


def test_the_prompt_of_a_row_is_the_context_of_responses_and_of_trajectories_that_no_user_begins() -> None:
    text, members = ASKED["content"], (Trajectory("0", (ANSWER,)),)
    keys = ("prompt", "messages", "question", "query", "prompts", "conversation_history")
    rows: list[dict[str, Any]] = [
        *({key: prompt} for key in keys for prompt in (text, [ASKED])), {"input": text}, {"instruction": text},
        {"conversation": {"messages": [ASKED]}}, {"extra_info": {"prompt": text}, "prompt_metadata": None},
    ]  # fmt: skip
    for row in rows:
        forms = (row | {"responses": ["x"]}, row | {"trajectories": members}, TrajectoryGroup("g", members, extra=row))
        assert [as_group(form).context for form in forms] == [(ASKED,)] * 3, row
    group = as_group({"context": text, "responses": ["x", "y"], "response_notes": ["", "cut off"], "source": "mine"})
    assert (group.context, group.extra) == ((ASKED,), {"source": "mine"})
    answers = [(one.id, one.messages[0]["content"], one.metadata) for one in group.trajectories]
    assert answers == [("0", "x", {}), ("1", "y", {"note": "cut off"})]
    assert as_group({"trajectories": [[ASKED, ANSWER]], "prompt": [ASKED]}).context == ()
    system = {"role": "system", "content": "Be brief."}
    assert as_group({"context": [system], "trajectories": members, "prompt": [ASKED]}).context == (system, ASKED)


def one(**fields: Any) -> dict[str, Any]:
    return {"trajectories": [{"id": "a", "messages": [ASKED]} | fields]}


def built(**fields: Any) -> TrajectoryGroup:
    return TrajectoryGroup("g", (Trajectory(**{"id": "a", "messages": (ASKED,)} | fields),))


def changed(**fields: Any) -> TrajectoryGroup:
    return replace(built(), **fields)


REFUSED: list[tuple[Any, str]] = [
    *(
        (form(**fields), reason)
        for form in (one, built)
        for fields, reason in (
            ({"gold": float("nan")}, "trajectory 'a': 'gold' is nan"),
            ({"reward": "1"}, "trajectory 'a': 'reward' must be a number or null, not text"),
            ({"reward": 10**400}, "trajectory 'a': 'reward' is inf"),
            ({"metadata": 3}, "trajectory 'a': 'metadata' must be an object or null, not a number"),
            ({"tools": 3}, "trajectory 'a': 'tools' must be a list of tool definitions"),
            ({"id": True}, "trajectory 1: id must be non-empty text or an integer, not true or false"),
            ({"id": ""}, "trajectory 1: id must be non-empty text or an integer, not empty"),
            ({"messages": None}, "trajectory 'a': has no 'messages'"),
            ({"messages": "x"}, "trajectory 'a': messages must be a list of chat messages, not text"),
            ({"messages": [ASKED, {"content": "x"}]}, "trajectory 'a': message 2 has no 'role'"),
            ({"artifacts": {"log": 3}}, "trajectory 'a': 'artifacts': 'log' must be text, not a number"),
            ({"rubric": {"criteria": []}}, "trajectory 'a': 'rubric': the rubric has no criteria"),
        )
    ),
    (built(extra=3), "trajectory 1: 'extra' must be an object, not a number"),
    (changed(group_id=True), "group_id must be non-empty text or an integer, not true or false"),
    (changed(rubric=3), "'rubric' must be text, an object with criteria, or null, not a number"),
    (changed(tools=3), "'tools' must be a list of tool definitions or null, not a number"),
    (changed(context="x"), "context: messages must be a list of chat messages, not text"),
    (changed(trajectories=None), "must be a list, not null"),
    (one(messages=None, status="scored", reason=None), "'a': is a result, which has no messages"),
    (one(messages=None, mesages=[ASKED]), "is 'mesages' a slip for 'messages'?"),
    ({"trajectory": [{"messages": [ASKED]}]}, "is 'trajectory' a slip for 'trajectories'?"),
    ({**one(), "rubric": float("nan")}, "'rubric' must be text, an object with criteria, or null, not NaN"),
    ({**one(), "rubric": {"x": 1}}, "'rubric': the rubric: unknown field 'x'"),
    ({"trajectories": []}, "has no trajectories"),
    ({"prompt": "x"}, "(keys: prompt); a group is"),
    ({"prompt": float("nan"), "responses": ["x"]}, "has 'responses' but no prompt; write it under 'prompt'"),
    ({"prompt": "q", "responses": [1]}, "there is no 'trajectories'"),
    ([ASKED, ANSWER], "one list of messages stands where a list of traj"),
    ([("user", "q")], "one list of messages stands"),
    (["42", "41"], "must not be text"),
    ([[ASKED], ASKED], "trajectory 2 is a single message"),
    ([{"trajectories": [[ASKED]]}, TrajectoryGroup("g", ())], "trajectory 1 is a group; score_groups("),
    ([[ASKED], TrajectoryGroup("g", ())], "trajectory 2 is a group; score_groups("),
    ([[ASKED], ValueError("lost")], "trajectory 2 is an error (ValueError: lost); leave failed rollouts out"),
    ([{"id": "1", "messages": [ASKED]}, {"id": 1, "messages": []}], "two trajectories have the id '1'"),
    ("hello", "cannot read text as a group"),
    (None, "cannot read null as a group"),
]


def test_what_cannot_be_read_is_refused_with_the_reason() -> None:
    assert not not_refused(as_group, REFUSED)


# --- plain data ---


class Colour(enum.StrEnum):
    RED = "red"


@dataclass
class Block:
    type: str
    text: str


class Model:
    """Has what pydantic models have."""

    def model_dump(self, *, warnings: bool = True) -> dict[str, Any]:
        assert warnings is False
        return {"role": "user", "content": (Block("text", "hi"),)}


def test_what_is_copied_to_the_result_has_a_json_form_that_is_the_same_in_every_run() -> None:
    forms: dict[Any, tuple[Any, Any]] = {
        "model": (Model(), {"role": "user", "content": [{"type": "text", "text": "hi"}]}),
        "bag": (SimpleNamespace(role="user", _hidden=1), {"role": "user"}),
        "array": (np.array([1.5, np.nan]), [1.5, None]),
        "number": (np.int64(3), 3),
        "loss": (float("inf"), None),
        "seen": ({3}, [3]),
        "colour": (Colour.RED, "red"),
        "when": (dt.date(2026, 1, 2), "2026-01-02"),
        "bytes": (b"\xff", "/w=="),
        4: (object(), "<object object>"),
    }
    copied = {key: value for key, (value, _) in forms.items()}
    read = {str(key): plain for key, (_, plain) in forms.items()}
    assert plain_data(copied) == read
    for group in (
        as_group({"trajectories": [{"messages": [ASKED], "metadata": copied, "logs": copied}], "copy": copied}),
        as_group(built(metadata=copied, extra={"logs": copied})),
    ):
        assert (group.trajectories[0].metadata, group.trajectories[0].extra) == (read, {"logs": read})
        json.dumps(group.to_dict())
    with pytest.raises(InputError, match="is the class Block, not an instance"):
        plain_data([Block])
    assert compact_json({"b": 1, "a": "ü"}) == '{"b":1,"a":"ü"}'


any_text = st.text(st.characters(), max_size=20)  # surrogates included


@given(st.dictionaries(any_text, st.lists(any_text, max_size=3), max_size=3))
def test_mending_surrogates_makes_utf8_and_changes_only_what_is_unsound(value: dict[str, list[str]]) -> None:
    json.dumps(without_surrogates(value), ensure_ascii=False).encode()
    for text in value:
        assert (without_surrogates(text) == text) is is_encodable(text)


def test_as_many_levels_as_the_error_says_are_read_and_no_more() -> None:
    value: Any = 1
    for level in range(MAX_DEPTH):
        value = [value] if level % 2 else {"a": value}
    assert plain_data(value) == value
    with pytest.raises(InputError, match=f"is nested more than {MAX_DEPTH} levels deep"):
        plain_data([value])
