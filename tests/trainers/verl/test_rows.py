"""verl's rows and agent-loop outputs as a judge reads them; tokens here are single letters."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import InputError
from calipers.inputs import as_group
from calipers.rubric.dataset_standards import Standards, StatedValue
from calipers.trainers.rollouts.dataset_rows import standards_of_row
from calipers.trainers.verl.rows import group_fields_of_row, member_of_outputs, reference_text

PROMPT = [{"role": "user", "content": "joke"}]


@dataclass
class Output:
    response_ids: list[int]
    response_mask: list[int]
    extra_fields: dict[str, Any] = field(default_factory=dict)


def wrote(text: str, mask: str | None = None) -> Output:
    """``mask`` has a 1 where the policy wrote."""
    return Output([ord(letter) for letter in text], [int(one) for one in mask or "1" * len(text)])


def decode(tokens: list[int]) -> str:
    return "".join(map(chr, tokens))


def row(**more: Any) -> dict[str, Any]:
    return {"uid": "u1", "raw_prompt": PROMPT, "reward_model": {"ground_truth": "408"}, "extra_info": {}, **more}


def test_a_single_turn_is_one_message() -> None:
    assert member_of_outputs([wrote("ha")], 3, decode) == {
        "id": "3",
        "messages": [{"role": "assistant", "content": "ha"}],
    }


def test_tools_and_policy_take_turns_as_the_mask_says() -> None:
    said = member_of_outputs([wrote("askANSok", "11100011")], 0, decode)["messages"]
    assert [(one["role"], one["content"]) for one in said] == [
        ("assistant", "ask"),
        ("tool", "ANS"),
        ("assistant", "ok"),
    ]


def test_the_outputs_of_one_rollout_follow_one_another() -> None:
    said = member_of_outputs([wrote("one"), wrote("two")], 0, decode)["messages"]
    assert [one["content"] for one in said] == ["one", "two"]


def test_messages_that_an_agent_loop_kept_are_used_as_they_are() -> None:
    kept = Output([1], [1], {"messages": [{"role": "assistant", "content": "<think>hm</think>ha"}]})
    assert member_of_outputs([kept], 0, decode)["messages"] == [
        {"role": "assistant", "content": "ha", "reasoning": "hm"}
    ]


def test_thoughts_are_apart_and_a_cut_is_told() -> None:
    said = member_of_outputs([wrote("<think>x</think>y")], 0, decode, limit=17)["messages"]
    assert said == [{"role": "assistant", "content": "y", "reasoning": "x", "finish_reason": "length"}]
    assert "finish_reason" not in member_of_outputs([wrote("ha")], 0, decode, limit=3)["messages"][0]


def test_a_rollout_without_tokens_says_nothing() -> None:
    assert member_of_outputs([wrote("")], 0, decode, limit=8)["messages"] == []


@given(st.lists(st.tuples(st.integers(97, 122), st.integers(0, 1)), max_size=30))
def test_nothing_is_lost_between_the_turns(pairs: list[tuple[int, int]]) -> None:
    said = member_of_outputs([Output([token for token, _ in pairs], [mask for _, mask in pairs])], 0, decode)[
        "messages"
    ]
    assert "".join(one["content"] for one in said) == decode([token for token, _ in pairs])
    assert all(before["role"] != after["role"] for before, after in pairwise(said))


def test_the_group_is_the_rows_prompt_under_its_uid() -> None:
    head = group_fields_of_row(row(), rubric="default", reference=False)
    assert head == {"group_id": "u1", "context": PROMPT, "rubric": None}
    assert as_group({**head, "trajectories": [member_of_outputs([wrote("ha")], 0, decode)]}).context == tuple(PROMPT)


@pytest.mark.parametrize("where", ["row", "extra_info", "reward_model"])
def test_a_row_may_bring_its_rubric(where: str) -> None:
    given_row = row(rubric="Be funny.") if where == "row" else row(**{where: {"rubric": "Be funny."}})
    assert standards_of_row(given_row).rubric == "Be funny."
    assert standards_of_row(row(rubric=" ", reward_model=None)).rubric is None


@pytest.mark.parametrize("where", ["reward_model", "extra_info"])
def test_a_row_may_bring_criteria_in_ruscarls_form(where: str) -> None:
    rubrics = [{"criterion": "Is funny.", "points": 3, "tags": {"axis": "style"}}]
    given = {"reward_model": {"style": "rubric", "rubrics": rubrics}}
    head = group_fields_of_row(
        row(**(given if where == "reward_model" else {"extra_info": given})), rubric="default", reference=True
    )
    assert head["rubric"].criteria[0].text == "Is funny."
    with pytest.raises(InputError, match="criterion 1: points must be a finite number"):
        group_fields_of_row(
            row(reward_model={"rubrics": [{"criterion": "x", "points": "3"}]}), rubric="default", reference=False
        )


def test_a_reference_joins_the_rubric_where_it_is_asked_for() -> None:
    rubric = group_fields_of_row(row(), rubric="default", reference=True)["rubric"]
    assert rubric.startswith("default\n")
    assert rubric.endswith("408")
    own = group_fields_of_row(row(rubric="own"), rubric="default", reference=True)["rubric"]
    assert own.startswith("own\n")
    assert (
        group_fields_of_row(row(reward_model={"ground_truth": ""}), rubric="default", reference=True)["rubric"] is None
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        ("408", "408"),
        (408, "408"),
        (np.float64(1.5), "1.5"),
        (np.array(["a", "b"], dtype=object), '["a", "b"]'),
        ({"x": np.array([1, 2])}, '{"x": [1, 2]}'),
    ],
)
def test_references_of_any_kind_are_shown_as_text(value: Any, text: str) -> None:
    assert reference_text(Standards(None, reference=StatedValue("ground_truth", value))) == text


def test_the_steps_that_verls_server_notes_with_answers_are_the_rollouts_versions():
    noted = [wrote("one"), wrote("two")]
    for output, (first, last) in zip(noted, ((3, 3), (3, 4)), strict=True):
        output.extra_fields.update(min_global_steps=first, max_global_steps=last)
    assert member_of_outputs(noted, 0, decode)["metadata"] == {"policy_version": [3, 4]}
    noted[0].extra_fields["min_global_steps"] = None
    assert "metadata" not in member_of_outputs(noted, 0, decode)
