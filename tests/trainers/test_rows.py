"""Rows and rollouts of trainers as a judge reads them: messages, images, rubrics and references, steps, groups."""

from __future__ import annotations

import json
import re
import warnings
from base64 import b64decode
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from art_judges import ContentJudge
from calipers import Judge
from calipers.errors import ConfigError, InputError
from calipers.inputs import as_group, canonical
from calipers.trainers.rows import (
    Images,
    prompt_messages,
    read_label_of_row,
    rubric_of_row,
    rubric_with_reference,
    step_fields,
    warn_unused_columns,
)
from calipers.trainers.run import Row, group_of_rows
from calipers.trainers.trl import rows as trl_rows
from calipers.trainers.verl.judging import VerlSettings, common_group_fields, member_of_outputs, step_of_row
from calipers.types import Rubric, TrajectoryGroup
from dataset_rows import ASKED, ROWS, RULES, SCORES, VERIF

CRITERIA = [{"criterion": "names Mars", "points": 1}]


# --- messages -------------------------------------------------------------------------------------------------------


async def test_a_rollout_that_cannot_be_read_is_not_scored_and_the_rest_is(caplog: pytest.LogCaptureFixture) -> None:
    members = ["worth 20", None, {"messages": [{"role": "martian", "content": "x"}]}, "worth 90"]
    judge = Judge(ContentJudge())
    rows = [Row("g", member, "What is it worth?", name="g") for member in members]
    result = await judge.score_group(group_of_rows(judge, rows))
    assert [row.reward for row in result.trajectories] == [0.2, None, None, 0.9]
    assert [record.getMessage() for record in caplog.records if "martian" in record.getMessage()]


def test_prompts_are_texts_or_messages() -> None:
    chat = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    assert (prompt_messages("Hi"), prompt_messages(chat)) == ([{"role": "user", "content": "Hi"}], chat)
    bad: list[Any] = [None, 3, ["Hi"], [[]]]
    for wrong in bad:
        with pytest.raises(InputError, match="it must be a text or a list of chat messages"):
            prompt_messages(wrong)


async def test_reasoning_is_hidden_from_the_judge_unless_it_is_asked_for() -> None:
    thought = "<think>worth 99</think>"
    texts = [f"{thought}worth 20", "worth 99</think>worth 90", "<think>worth 99", thought]
    rows = [Row("g", text, "What is it worth?") for text in texts]
    for setting in ("hidden", "shown"):
        backend = ContentJudge()
        judge = Judge(backend, question={"reasoning": setting})
        result = await judge.score_group(group_of_rows(judge, rows))
        assert ("worth 99" in backend.questions[0]) == (setting == "shown")
        if setting == "hidden":
            assert [row.score for row in result.trajectories] == [0.2, 0.9, 0.5, 0.5]


# --- images ---------------------------------------------------------------------------------------------------------


@dataclass
class Picture:
    """As much of a Pillow image as is used; ``encoded`` counts how often it was."""

    pixels: bytes = b"pixels"
    mode: str = "RGB"
    size: tuple[int, int] = (2, 1)
    encoded: list[str] = field(default_factory=list)

    def tobytes(self) -> bytes:
        if self.pixels == b"":
            raise OSError("image file is truncated")
        return self.pixels

    def convert(self, mode: str) -> Picture:
        return Picture(self.pixels, mode, self.size, self.encoded)

    def save(self, file: Any, format: str) -> None:  # noqa: A002 - Pillow's name
        self.encoded.append(f"{format} {self.mode}")
        file.write(b"png of " + self.pixels)


def prompt_with(picture: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": [{"type": "image", "image": picture}, {"type": "text", "text": "What is it?"}]}]


def test_an_image_becomes_a_data_url_once_and_a_broken_one_is_named_by_its_row() -> None:
    cmyk = Picture(mode="CMYK")
    message = Images().to_urls(prompt_with(cmyk))[0]
    image, text = message["content"]
    assert b64decode(image["image_url"]["url"].removeprefix("data:image/png;base64,")) == b"png of pixels"
    assert (text, cmyk.encoded) == ({"type": "text", "text": "What is it?"}, ["PNG RGB"])
    assert canonical([message])[0] is message  # a judge's reader has nothing left to do
    for other in ("text", [{"role": "user", "content": "text"}], None):
        assert Images().to_urls(other) is other
    pictures = [Picture() for _ in range(8)]
    rows = trl_rows.completion_rows([prompt_with(one) for one in pictures], ["a"] * 8, {})
    assert sum(len(one.encoded) for one in pictures) == 1
    assert len({repr(row.prompt) for row in rows}) == 1
    with pytest.raises(InputError, match="an image cannot be read: image file is truncated"):
        trl_rows.completion_rows([prompt_with(Picture(b""))], ["a"], {})


# --- rubrics, references, rules ---------------------------------------------------------------------------------------


def test_every_form_of_row_is_read_as_verl_hands_it_over() -> None:
    for name in SCORES:
        row = {**ROWS[name], "uid": "u", "raw_prompt": ASKED}
        if name in RULES:
            with pytest.warns(UserWarning, match=r"the rules in .* of the data set's rows: not used"):
                assert common_group_fields(row, VerlSettings({}, reference=True), rubric="default")["rubric"] is None
        else:
            rubric = common_group_fields(row, VerlSettings({}), rubric="default")["rubric"]
            assert rubric.criteria[0].text == "names Mars", name


def test_a_rubric_of_the_row_goes_is_read_and_rules_are_warned_of() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty: list[Any] = [None, "text", 5, [], {}, {"rubric": None}, {"difficulty": "hard"}]
        for nothing in empty:
            assert rubric_of_row(nothing) is None
    assert rubric_of_row({"rubric": "Be kind."}) == "Be kind."
    with pytest.warns(UserWarning, match="the rules in checkers of the data set's rows: not used"):
        assert rubric_of_row({"rubric": "Be kind.", **VERIF}) == "Be kind."
    with pytest.raises(InputError, match="differ"):
        rubric_of_row({"rubric": "Be kind.", "reward_model": {"rubrics": CRITERIA}})


def test_columns_that_nothing_looks_at_are_warned_of() -> None:
    cases: list[tuple[dict[str, list[Any]], bool]] = [
        ({"rubrics": [CRITERIA]}, True),
        ({"checkers": [VERIF["checkers"]]}, True),
        ({"constraints": [{"soft": ["a"]}]}, True),
        ({"rubric": ["Be kind."]}, False),
        ({"reward_model": [{"ground_truth": "42"}]}, False),
        ({"extra_info": [{"index": 3}], "answer": ["42"]}, False),
    ]
    for columns, unused in cases:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            warn_unused_columns(columns, used=("rubric", None))
        name = next(iter(columns))
        assert [f"the column {name!r}" in str(one.message) for one in told] == [True] * unused, columns


def test_a_label_is_an_answer_or_criteria() -> None:
    for label, reference in (("42", "42"), (None, None), ("", None), ("{not json", "{not json"), (0, 0)):
        assert read_label_of_row(label) == (None, reference)
    rubric, reference = read_label_of_row(json.dumps({"rubrics": CRITERIA}))
    assert isinstance(rubric, Rubric)
    assert reference is None


def test_a_reference_joins_text_and_leaves_criteria_alone() -> None:
    plain, by_criteria = Judge("embedded", rubric="Be right."), Judge("embedded", rubric=[{"criterion": "Says 42."}])
    joined = rubric_with_reference(plain, None, 42)
    assert joined.startswith("Be right.")
    assert joined.endswith("42")
    assert rubric_with_reference(plain, "Be brief.", "") == "Be brief."
    assert rubric_with_reference(plain, None, None) is rubric_with_reference(plain, None, float("nan")) is None
    assert rubric_with_reference(by_criteria, None, "42") is None
    assert rubric_with_reference(plain, [{"criterion": "Says 42."}], "42") == [{"criterion": "Says 42."}]


# --- steps ----------------------------------------------------------------------------------------------------------


def test_a_step_is_a_whole_number_and_nothing_else_is_recorded() -> None:
    assert step_fields(np.int64(7)) == {"step": 7}
    assert step_fields(0, training=False) == {"step": 0, "split": "held_out"}
    assert [step_fields(wrong) for wrong in (None, -1, True, 1.5, "7")] == [{}] * 5
    # verl counts its steps from one and validates after the update
    trained = [step_of_row({"global_steps": step}, validate=False) for step in (0, 1, 5)]
    assert trained == [{"step": 0}, {"step": 0}, {"step": 4}]
    assert step_of_row({"global_steps": 5}, validate=True) == {"step": 5, "split": "held_out"}
    assert step_of_row({}, validate=False) == {}


# --- verl's rows and outputs; tokens here are single letters --------------------------------------------------------


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


def verl_row(**more: Any) -> dict[str, Any]:
    asked = [{"role": "user", "content": "joke"}]
    return {"uid": "u1", "raw_prompt": asked, "reward_model": {"ground_truth": "408"}, "extra_info": {}, **more}


def test_tools_and_policy_take_turns_as_verls_mask_says_and_outputs_follow_one_another() -> None:
    said = member_of_outputs([wrote("askANSok", "11100011"), wrote("y")], 3, decode, limit=1)
    assert said["id"] == "3"
    assert said["messages"] == [
        {"role": "assistant", "content": "ask"},
        {"role": "tool", "content": "ANS"},
        {"role": "assistant", "content": "ok"},
        {"role": "assistant", "content": "y", "finish_reason": "length"},
    ]
    stored = [{"role": "assistant", "content": "ha"}]
    assert member_of_outputs([Output([1], [1], {"messages": stored})], 0, decode)["messages"] == stored
    assert member_of_outputs([wrote("")], 0, decode, limit=8)["messages"] == []


def test_verls_group_is_the_rows_prompt_under_its_uid_with_its_rubric_and_a_reference_where_that_is_asked_for() -> None:
    def head(*, reference: bool = False, **more: Any) -> dict[str, Any]:
        return common_group_fields(verl_row(**more), VerlSettings({}, reference=reference), rubric="default")

    assert head() == {"group_id": "u1", "context": verl_row()["raw_prompt"], "rubric": None}
    (message,) = head(raw_prompt=prompt_with(Picture()))["context"]
    assert message["content"][0]["type"] == "image_url"
    stated = {"reward_model": {"rubrics": [{"criterion": "Is funny.", "points": 3, "tags": {"axis": "style"}}]}}
    for where in (stated, {"extra_info": stated}):
        assert head(reference=True, **where)["rubric"].criteria[0].text == "Is funny."
    assert re.fullmatch(r"default\n.*\n408", head(reference=True)["rubric"], re.DOTALL)
    assert re.fullmatch(r"own\n.*\n408", head(reference=True, rubric="own")["rubric"], re.DOTALL)
    truth = {"ground_truth": np.array(["a", "b"], dtype=object)}
    assert head(reference=True, reward_model=truth)["rubric"].endswith('\n["a", "b"]')


def test_the_steps_that_verls_server_notes_with_answers_are_the_rollouts_versions() -> None:
    noted = [wrote("one"), wrote("two")]
    for output, (first, last) in zip(noted, ((3, 3), (3, 4)), strict=True):
        output.extra_fields.update(min_global_steps=first, max_global_steps=last)
    assert member_of_outputs(noted, 0, decode)["metadata"] == {"policy_version": [3, 4]}
    noted[0].extra_fields["min_global_steps"] = None
    assert "metadata" not in member_of_outputs(noted, 0, decode)


# --- TRL's batches, by position -------------------------------------------------------------------------------------

JUDGE = Judge("embedded", rubric="default")


def groups_of(asked: list[Any], completions: list[Any], size: int = 2, **options: Any) -> list[TrajectoryGroup]:
    columns = {"rubrics": options.pop("rubrics", None), "references": options.pop("references", None)}
    rows = trl_rows.grouped_rows(trl_rows.completion_rows(asked, completions, {}, **columns), size, **options)
    parts = [rows[start : start + size] for start in range(0, len(rows), size)]
    assert [row.key for row in rows] == [start for start in range(0, len(rows), size) for _ in range(size)]
    return [as_group(group_of_rows(JUDGE, part)) for part in parts]


@given(st.integers(1, 4), st.integers(1, 5))
def test_trls_groups_are_neighbours_also_where_a_prompt_is_drawn_twice(count: int, size: int) -> None:
    texts = [str(number) for number in range(count * size)]
    groups = groups_of(["same"] * len(texts), texts, size, label="step 3, ")
    read = [[one.messages[0]["content"] for one in group.trajectories] for group in groups]
    assert read == [texts[start : start + size] for start in range(0, len(texts), size)]
    assert groups[0].group_id == f"step 3, rows 1-{size}"


def test_conversations_with_tool_calls_are_read_as_trl_builds_them() -> None:
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


def test_an_environment_may_have_changed_each_prompt_and_then_each_goes_with_its_own() -> None:
    prompts = [[{"role": "user", "content": f"Board {board}"}] for board in "AB"]
    [group] = groups_of(prompts, [[{"role": "assistant", "content": move}] for move in "xy"], differing="allowed")
    assert group.context == ()
    assert [one.messages[0]["content"] for one in group.trajectories] == ["Board A", "Board B"]


def test_rubrics_and_references_of_the_data_set_go_to_their_group() -> None:
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
    for value in (CRITERIA, json.dumps(CRITERIA), {"rubrics": CRITERIA}, {"criteria": [{"text": "names Mars"}]}):
        (group,) = groups_of(["q"] * 2, ["a", "b"], rubrics=[value] * 2, references=["42"] * 2)
        assert isinstance(group.rubric, Rubric)
        assert group.rubric.criteria[0].text == "names Mars"


def test_what_the_data_set_cannot_mean_is_refused_with_the_rows() -> None:
    batches: list[tuple[list[Any], str, dict[str, Any], type[Exception], str]] = [
        (["q", "q"], "ab", {"rubrics": ["x", "y"]}, InputError, "rows 1-2 .* different rubrics"),
        (["q", "q"], "ab", {"rubrics": [{"x": 1}] * 2}, InputError, "row 1: its rubric is neither"),
        (["q", "q"], "a", {}, InputError, "2 prompts but 1 completions"),
        (["q", "q", "q"], "abc", {}, ConfigError, "not whole groups of num_generations=2"),
        (["q", "r"], "ab", {}, ConfigError, "rows 1-2 of the batch have different prompts"),
        ([[{"role": "user"}]] * 2, "ab", {}, InputError, "message 1"),
        ([None, None], "ab", {}, InputError, "a prompt is a NoneType"),
    ]
    for prompts, completions, columns, kind, words in batches:
        with pytest.raises(kind, match=words):
            groups_of(prompts, list(completions), **columns)


def test_a_column_is_found_by_its_name_and_may_be_missing_unless_it_was_named() -> None:
    columns: dict[str, Any] = {"rubric": ["x", float("nan")], "trainer_state": object(), "broken": "text"}
    assert trl_rows.dataset_column(columns, "rubric", required=False) == ["x", None]
    assert trl_rows.dataset_column(columns, "missing", required=False) is None
    with pytest.raises(ConfigError, match=r"no column 'gold'.*prompt, rub"):
        trl_rows.dataset_column(columns, "gold", required=True)
    with pytest.raises(InputError, match="is a str, not a column"):
        trl_rows.dataset_column(columns, "broken", required=False)
