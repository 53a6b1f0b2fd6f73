"""TRL's batches to groups, by position: what a judge gets to see, and what is refused in words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError, InputError
from calipers.inputs import as_group
from calipers.trainers.trl import rows as trl_rows
from calipers.types import TrajectoryGroup


def groups_of(prompts: list[Any], completions: list[Any], size: int = 2, **options: Any) -> list[TrajectoryGroup]:
    columns = {"rubrics": options.pop("rubrics", None), "references": options.pop("references", None)}
    return trl_rows.groups_of_rows(
        trl_rows.completion_rows(prompts, completions, **columns), size, default_rubric="default", **options
    )


def said(text: str) -> tuple[dict[str, str], ...]:
    return ({"role": "assistant", "content": text},)


@given(st.integers(1, 4), st.integers(1, 5))
def test_groups_are_neighbours_whatever_the_prompts_say(count: int, size: int):
    """Every prompt is the same here, as when one is drawn twice for a batch."""
    texts = [str(number) for number in range(count * size)]
    found = groups_of(["same"] * len(texts), texts, size)
    assert [[one.messages[0]["content"] for one in group.trajectories] for group in found] == [
        texts[start : start + size] for start in range(0, len(texts), size)
    ]
    assert [one.id for group in found for one in group.trajectories] == [str(n + 1) for n in range(len(texts))]


def test_a_standard_prompt_is_what_a_user_said_and_its_completion_what_an_assistant_said():
    [group] = groups_of(["2 + 2?"] * 2, ["4", ""], label="step 3, ")
    assert group.context == ({"role": "user", "content": "2 + 2?"},)
    assert [one.messages for one in group.trajectories] == [said("4"), said("")]
    assert group.group_id == "step 3, rows 1-2"
    assert as_group(group) is group  # canonical already: nothing is read twice


def test_conversations_with_tool_calls_are_read_as_trl_builds_them():
    prompt = [{"role": "system", "content": "Add."}, {"role": "user", "content": "1 + 2?"}]
    call = {"type": "function", "function": {"name": "add", "arguments": {"a": 1, "b": 2}}}
    using = [
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "name": "add", "content": "3"},
        {"role": "assistant", "content": "It is 3."},
    ]
    [group] = groups_of([prompt, list(prompt)], [using, [{"role": "assistant", "content": "3"}]])
    assert group.context == tuple(prompt)
    asked, answered, told = group.trajectories[0].messages
    assert asked["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a":1,"b":2}'}
    assert (answered["role"], told["content"]) == ("tool", "It is 3.")


def test_an_environment_may_have_changed_each_prompt_and_then_each_goes_with_its_own():
    prompts = [[{"role": "user", "content": f"Board {board}"}] for board in "AB"]
    completions = [[{"role": "assistant", "content": move}] for move in "xy"]
    [group] = groups_of(prompts, completions, mixed_prompts=True)
    assert group.context == ()
    assert [one.messages[0]["content"] for one in group.trajectories] == ["Board A", "Board B"]
    with pytest.raises(ConfigError, match="rows 1-2 of the batch have different prompts"):
        groups_of(prompts, completions)


def test_equal_prompts_that_are_in_two_groups_reveal_a_wrong_size_also_among_changed_prompts():
    prompts, completions = list("AABBCC"), ["x"] * 6
    with pytest.raises(ConfigError, match="2 completions of each prompt, and num_generations is 3"):
        groups_of(prompts, completions, size=3, mixed_prompts=True)
    for fitting, size in (("AABBCC", 2), ("AABBCC", 6), ("AAABBB", 3), ("ABCDEF", 3), ("AABCCC", 3), ("AAAAAA", 3)):
        assert len(groups_of(list(fitting), completions, size=size, mixed_prompts=True)) == 6 // size


@pytest.mark.parametrize(
    ("completion", "reasoning", "answer"),
    [
        ("<think>hm</think>4", "hm", "4"),
        ("hm\n</think>\n\n4", "hm", "4"),  # the template opened it in the prompt
        ("<think>hm, hm, hm", "hm, hm, hm", ""),  # cut off in the middle of a thought
        ("</think>4", None, "4"),
        ("4", None, "4"),
        ("In HTML <think> is no tag, and </think> neither", None, "In HTML <think> is no tag, and </think> neither"),
    ],
)
def test_what_was_thought_is_reasoning_and_not_the_answer(completion: str, reasoning: str | None, answer: str):
    for form in (completion, [{"role": "assistant", "content": completion}]):
        message = groups_of(["q"] * 2, [form] * 2)[0].trajectories[0].messages[0]
        assert message.get("reasoning") == reasoning
        assert message["content"] == answer


def test_a_completion_that_cannot_be_read_is_a_row_without_messages_and_its_problem_is_told():
    bad: list[Any] = [[{"role": "martian", "content": "x"}], []]
    [group] = groups_of(["q"] * 2, bad)
    assert [one.messages for one in group.trajectories] == [(), ()]
    first, second = (one.metadata[trl_rows.PROBLEM] for one in group.trajectories)
    assert "the role 'martian'" in first
    assert second == "the completion holds no message"


def test_a_prompt_that_cannot_be_read_is_the_data_sets_fault_and_named():
    with pytest.raises(InputError, match="the prompt of row 2: message 1 has no 'content'"):
        groups_of(["q", [{"role": "user"}]], ["a", "b"])


def test_a_batch_that_is_not_whole_groups_is_refused_with_the_remedy():
    with pytest.raises(ConfigError, match="3 completions, which are not whole groups of num_generations=2"):
        groups_of(["q"] * 3, ["a", "b", "c"])


def test_a_rubric_and_a_reference_of_the_data_set_go_to_their_group():
    groups = groups_of(
        ["p"] * 2 + ["q"] * 2 + ["r"] * 2,
        list("abcdef"),
        rubrics=["be kind"] * 2 + [None] * 2 + ["be brief"] * 2,
        references=[None] * 2 + [42] * 2 + ["short"] * 2,
    )
    assert groups[0].rubric == "be kind"
    assert str(groups[1].rubric).startswith("default\n\nFor this task there is a reference")
    assert str(groups[1].rubric).endswith("\n42")
    assert str(groups[2].rubric).startswith("be brief\n\n")
    assert groups_of(["q"] * 2, ["a", "b"])[0].rubric is None


def test_rubrics_that_cannot_be_meant_are_refused():
    with pytest.raises(ConfigError, match="rows 1-2 of the batch are one group, but have different rubrics"):
        groups_of(["q"] * 2, ["a", "b"], rubrics=["x", "y"])
    with pytest.raises(InputError, match="row 1: its rubric is neither text nor criteria: the rubric has no list"):
        groups_of(["q"] * 2, ["a", "b"], rubrics=[{}, {}])


def test_a_rubric_column_may_hold_criteria():
    column = [[{"text": "Is kind.", "points": 2, "veto": None}, {"text": "Lies.", "points": -1}]] * 2
    (group,) = groups_of(["q"] * 2, ["a", "b"], rubrics=column, references=["42"] * 2)
    assert [(one.id, one.points) for one in group.rubric.criteria] == [("c1", 2), ("c2", -1)]  # type: ignore[union-attr]
    with pytest.raises(InputError, match="2 prompts but 1 completions"):
        groups_of(["q"] * 2, ["a"])


def test_a_column_is_found_by_its_name():
    given: dict[str, Any] = {"rubric": ["x"], "answer": [1], "trainer_state": object(), "broken": "text"}
    assert trl_rows.dataset_column(given, "rubric", required=False) == ["x"]
    assert trl_rows.dataset_column(given, "missing", required=False) is None
    assert trl_rows.dataset_column(given, None, required=True) is None
    with pytest.raises(ConfigError, match="no column 'gold'; its columns are: rubric, answer"):
        trl_rows.dataset_column(given, "gold", required=True)
    with pytest.raises(InputError, match="'broken' is a str, not a column"):
        trl_rows.dataset_column(given, "broken", required=False)
