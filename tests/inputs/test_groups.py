from __future__ import annotations

import dataclasses
import datetime as dt
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
from calipers.types import Trajectory, TrajectoryGroup

ASKED = {"role": "user", "content": "q"}
ANSWER = {"role": "assistant", "content": "a"}

data = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["id", "messages", "trajectories", "gold", "tools", "role", "content"]), inner
        )
    ),
    max_leaves=10,
)
members = st.fixed_dictionaries(
    {"messages": data}, optional={"id": data, "tools": data, "gold": data, "metadata": data}
)


@given(
    data
    | st.fixed_dictionaries(
        {"trajectories": st.lists(members | data, max_size=3)},
        optional={"context": data, "tools": data, "rubric": data, "group_id": data},
    )
)
def test_any_data_is_a_group_or_refused(value: Any) -> None:
    try:
        group = as_group(value)
    except InputError:
        return
    assert as_group(group) is group
    assert len({member.id for member in group.trajectories}) == len(group.trajectories) > 0


def test_an_object_of_the_groups_file_keeps_everything() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    group = as_group(
        {
            "group_id": "g",
            "context": [ASKED],
            "tools": [tool],
            "rubric": "be kind",
            "trajectories": [
                {
                    "id": "a",
                    "messages": [ANSWER],
                    "reward": 1,
                    "gold": True,
                    "metadata": {"k": [1]},
                    "mine": {"x": None},
                },
                {"id": 7, "messages": [], "tools": []},
            ],
            "licence": "MIT",
        }
    )
    assert group == TrajectoryGroup(
        group_id="g",
        context=(ASKED,),
        tools=(tool,),
        rubric="be kind",
        trajectories=(
            Trajectory("a", (ANSWER,), reward=1.0, gold=1.0, metadata={"k": [1]}, extra={"mine": {"x": None}}),
            Trajectory("7", ()),
        ),
        extra={"licence": "MIT"},
    )


def test_message_lists_get_their_position_as_id() -> None:
    group = as_group([[ASKED, ANSWER], [ASKED]])
    assert [member.id for member in group.trajectories] == ["1", "2"]
    assert group.trajectories[0].messages == (ASKED, ANSWER)


def test_a_list_may_mix_trajectories_of_every_form() -> None:
    state = SimpleNamespace(messages=[ASKED])
    group = as_group([Trajectory("x", (ASKED,)), {"messages": [ASKED]}, [ASKED], state])
    assert [member.id for member in group.trajectories] == ["x", "2", "3", "4"]
    assert all(member.messages == (ASKED,) for member in group.trajectories)


def test_numpy_arrays_of_trajectories_are_read() -> None:
    array = np.empty(2, dtype=object)
    array[:] = [{"id": np.int64(4), "messages": [ASKED], "gold": np.float64(0.5)}, [ASKED]]
    group = as_group(array)
    assert [(member.id, member.gold) for member in group.trajectories] == [("4", 0.5), ("2", None)]


def test_a_group_that_is_canonical_comes_back_itself() -> None:
    group = TrajectoryGroup("g", (Trajectory("a", (ASKED,)),), context=(ASKED,))
    assert as_group(group) is group
    assert as_group(group, group_id="h") == dataclasses.replace(group, group_id="h")


def test_foreign_messages_in_our_types_are_made_canonical() -> None:
    group = TrajectoryGroup("g", (Trajectory("a", ({"role": "human", "content": "q"},)),))
    assert as_group(group).trajectories[0].messages == (ASKED,)


def test_the_id_drawn_from_content_follows_the_content_and_nothing_else() -> None:
    first = as_group([[ASKED], [ANSWER]])
    assert as_group([[dict(ASKED)], [dict(ANSWER)]]).group_id == first.group_id
    rewarded = as_group([{"messages": [ASKED], "reward": 1.0}, {"messages": [ANSWER]}])
    assert rewarded.group_id == first.group_id
    assert as_group([[ANSWER], [ASKED]]).group_id != first.group_id
    assert as_group([[ASKED], [ANSWER]], group_id="mine").group_id == "mine"


def test_numbers_that_json_lacks_are_not_carried_through() -> None:
    group = as_group({"trajectories": [{"messages": [], "metadata": {"x": float("nan")}, "loss": float("inf")}]})
    assert group.trajectories[0].metadata == {"x": None}
    assert group.trajectories[0].extra == {"loss": None}


def one(**fields: Any) -> dict[str, Any]:
    return {"trajectories": [{"id": "a", "messages": [ASKED]} | fields]}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (one(gold="0.5"), "trajectory 'a': 'gold' must be a number or null, not text"),
        (one(gold=float("nan")), "trajectory 'a': 'gold' is nan"),
        (one(reward=float("inf")), "trajectory 'a': 'reward' is inf"),
        (one(reward=10**400), "'reward' is inf"),
        (one(metadata=[1]), "trajectory 'a': 'metadata' must be an object or null, not a list"),
        (one(tools="f"), "trajectory 'a': 'tools' must be a list of tool definitions"),
        (one(id=1.5), "trajectory 1: id must be non-empty text or an integer, not 1.5"),
        (one(id=True), "id must be non-empty text or an integer, not true or false"),
        (one(id=""), "id must be non-empty text or an integer, not empty"),
        (one(messages=None), "trajectory 'a': has no 'messages'"),
        (one(messages=None, status="scored", reason=None), "'a': is a result, which has no messages; name the groups"),
        (one(messages=None, mesages=[ASKED]), "has no 'messages'; did you mean 'messages' by 'mesages'[?] a group is"),
        ({"trajectory": [{"messages": [ASKED]}]}, "did you mean 'trajectories' by 'trajectory'[?] a group is"),
        (one(messages=[ASKED, {"content": "x"}]), "trajectory 'a': message 2 has no 'role'"),
        (one(messages=ASKED), "trajectory 'a': messages must be a list of chat messages, not an object"),
        ({**one(), "context": [{"content": "x"}]}, "context: message 1 has no 'role'"),
        ({**one(), "rubric": 3}, "'rubric' must be text, an object with criteria, or null, not a number"),
        ({**one(), "rubric": float("nan")}, "'rubric' must be text, an object with criteria, or null, not NaN"),
        ({**one(), "rubric": {"x": 1}}, "'rubric': the rubric: unknown field 'x'"),
        ({**one(), "group_id": ""}, "group_id must be non-empty text"),
        ({"trajectories": []}, "has no trajectories"),
        ({"trajectories": "x"}, "has no list of trajectories but text; a group is"),
        ({"prompt": "x"}, "has no list of trajectories but the keys prompt; a group is"),
        ([ASKED, ANSWER], "is one list of messages where a list of trajectories is needed; a group is"),
        ([("user", "q")], "is one list of messages"),
        (["42", "41"], "holds text where a trajectory is a list of messages, prompt and answer; a group is"),
        ([[ASKED], ASKED], "trajectory 2 is a single message"),
        ([[ASKED], ValueError("lost")], r"trajectory 2 is an error \(ValueError: lost\); leave failed rollouts out"),
        ([{"id": "1", "messages": [ASKED]}, {"id": 1, "messages": []}], "has two trajectories with the id '1'"),
        ("hello", "cannot read text as a group; a group is"),
        (None, "cannot read null as a group"),
        ([], "has no trajectories"),
    ],
)
def test_what_cannot_be_read_is_refused_with_the_reason(value: Any, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        as_group(value)


def built(**fields: Any) -> TrajectoryGroup:
    return TrajectoryGroup("g", (Trajectory(**{"id": "a", "messages": (ASKED,)} | fields),))


def changed(**fields: Any) -> TrajectoryGroup:
    return replace(built(), **fields)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (built(gold=float("nan")), "trajectory 'a': 'gold' is nan"),
        (built(reward=float("inf")), "trajectory 'a': 'reward' is inf"),
        (built(reward=10**400), "trajectory 'a': 'reward' is inf"),
        (built(reward="1"), "trajectory 'a': 'reward' must be a number or null, not text"),
        (built(id=""), "trajectory 1: id must be non-empty text or an integer, not empty"),
        (built(id=True), "trajectory 1: id must be non-empty text or an integer, not true or false"),
        (built(messages=None), "trajectory 'a': messages must be a list of chat messages, not null"),
        (built(messages="x"), "trajectory 'a': messages must be a list of chat messages, not text"),
        (built(metadata=3), "trajectory 'a': 'metadata' must be an object or null, not a number"),
        (built(extra=3), "trajectory 1: 'extra' must be an object, not a number"),
        (built(tools=3), "trajectory 'a': 'tools' must be a list of tool definitions"),
        (built(artifacts={"log": 3}), "trajectory 'a': 'artifacts': 'log' must be text, not a number"),
        (built(rubric={"criteria": []}), "trajectory 'a': 'rubric': the rubric has no criteria"),
        (changed(group_id=True), "group_id must be non-empty text or an integer, not true or false"),
        (changed(rubric=3), "'rubric' must be text, an object with criteria, or null, not a number"),
        (changed(tools=3), "'tools' must be a list of tool definitions or null, not a number"),
        (changed(context="x"), "context: messages must be a list of chat messages, not text"),
        (changed(trajectories=None), "has no list of trajectories but null"),
    ],
)
def test_groups_that_a_user_built_are_checked_like_objects(value: TrajectoryGroup, reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        as_group(value)


def test_groups_that_a_user_built_are_read_like_objects() -> None:
    rubric = {"criteria": [{"id": "a", "text": "b"}]}
    given: Any = TrajectoryGroup(
        7,  # type: ignore[arg-type]
        (
            Trajectory(None, (ASKED,), extra=None, metadata=None, reward=True),  # type: ignore[arg-type]
            {"id": 5, "messages": [ASKED]},
            [ASKED],
        ),
        rubric=rubric,  # type: ignore[arg-type]
        extra={"when": dt.date(2026, 1, 2)},
    )
    members = [{"messages": [ASKED], "reward": 1.0}, {"id": "5", "messages": [ASKED]}, {"messages": [ASKED]}]
    assert as_group(given) == as_group(
        {"group_id": "7", "trajectories": members, "rubric": rubric, "when": "2026-01-02"}
    )


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


def test_what_is_copied_to_the_result_has_a_json_form_that_is_the_same_in_every_run() -> None:
    copied = {"day": dt.date(2026, 1, 2), "loss": np.float32(0.5), "ids": np.array([1, 2]), "seen": {3}, 4: object()}
    read = {"day": "2026-01-02", "loss": 0.5, "ids": [1, 2], "seen": [3], "4": "<object object>"}
    given = {"messages": [ASKED], "metadata": copied, "logs": copied}
    for group in (
        as_group({"trajectories": [given], "copy": copied}),
        as_group(built(metadata=copied, extra={"logs": copied})),
    ):
        assert group.trajectories[0].metadata == read
        assert group.trajectories[0].extra == {"logs": read}
        json.dumps(group.to_dict())


def test_numbers_of_numpy_are_numbers() -> None:
    member = as_group(one(gold=np.bool_(1), reward=np.float32(0.5))).trajectories[0]
    assert (member.gold, member.reward) == (1.0, 0.5)


def test_messages_may_be_missing_where_there_is_gold() -> None:
    assert as_trajectory({"id": "a", "gold": 2}, default_id="1") == Trajectory("a", (), gold=2.0)


@pytest.mark.parametrize("key", ["context", "prompt", "messages", "question"])
@pytest.mark.parametrize("prompt", ["q", [ASKED]], ids=["text", "messages"])
def test_a_row_with_a_prompt_and_responses_is_a_group(key: str, prompt: Any) -> None:
    group = as_group({key: prompt, "responses": ["x", "y", "z"], "response_notes": ["", "cut off"], "source": "mine"})
    assert group.context == (ASKED,)
    assert [one.messages for one in group.trajectories] == [({"role": "assistant", "content": text},) for text in "xyz"]
    assert [(one.id, one.metadata) for one in group.trajectories] == [("0", {}), ("1", {"note": "cut off"}), ("2", {})]
    assert group.extra["source"] == "mine"
    assert group.extra.keys().isdisjoint({"responses", "response_notes"})


@pytest.mark.parametrize(
    "row", [{"responses": ["x"]}, {"prompt": "q", "responses": [1]}, {"prompt": "q", "responses": 1}]
)
def test_responses_without_a_prompt_or_that_are_no_texts_are_no_group(row: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="has no list of trajectories but the keys"):
        as_group(row)


def test_a_prompt_that_is_a_hole_is_refused() -> None:
    with pytest.raises(InputError, match="its prompt must be text or a list of messages, not nan"):
        as_group({"prompt": float("nan"), "responses": ["a", "b"]})
