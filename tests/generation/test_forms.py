"""Responses as rows."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError, InputError
from calipers.generation.forms import output_form, response_rows, write_rows
from calipers.generation.prompts import Prompt, read_prompts
from calipers.generation.sampling import Answered, Failed, ResponseFile, Sample
from calipers.inputs import as_group

ROW = {"id": "a", "prompt": "Why?", "mine": [1]}
PROMPT = Prompt("a", 1, ({"role": "user", "content": "Why?"},), ROW)
SAMPLES = (Sample(0, "x", "stop", "thought"), Sample(2, "y", "length"))


def test_each_form_holds_the_row_and_its_responses() -> None:
    done = Answered(PROMPT, SAMPLES, (Failed(1, "timeout", "slow"),))
    (group,) = response_rows(done, "groups")
    assert group["mine"] == [1]
    assert [one.id for one in as_group(group).trajectories] == ["0", "2"]
    assert group["trajectories"][0]["messages"] == [{"role": "assistant", "content": "x", "reasoning": "thought"}]
    (row,) = response_rows(done, "rows")
    asked = json.dumps({"prompt": [{"role": "user", "content": "Why?"}]})
    model = {"style": "rule", "ground_truth": asked}  # what main_eval looks for, and is all that it hands on
    assert row == ROW | {"responses": ["x", "y"], "data_source": "unknown", "reward_model": model}

    assert [*response_rows(Answered(PROMPT, ()), "groups"), *response_rows(Answered(PROMPT, ()), "rows")] == []


def test_the_usual_form_follows_the_name() -> None:
    assert (output_form("a.jsonl"), output_form("a.parquet"), output_form("a")) == ("groups", "rows", "groups")


@given(st.lists(st.text(), min_size=1, max_size=3))
def test_any_text_can_be_written_and_read_again(tmp_path_factory: pytest.TempPathFactory, texts: list[str]) -> None:
    out = tmp_path_factory.mktemp("out") / "out.jsonl"
    samples = tuple(Sample(number, text, "stop") for number, text in enumerate(texts))
    write_rows(response_rows(Answered(PROMPT, samples), "rows"), str(out))
    (line,) = out.read_text("utf-8").split("\n")[:-1]
    assert json.loads(line)["responses"] == texts


def test_parquet_keeps_columns_that_only_later_rows_have_and_takes_objects_without_fields_for_nothing(
    tmp_path: Path,
) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    rubrics = [{"criterion": "Says b.", "points": 3}]
    write_rows([{"prompt": "a", "kwargs": [{}, {}], "more": {"deep": {}}}, {"prompt": "b", "rubrics": rubrics}],
               str(tmp_path / "out.parquet"))  # fmt: skip
    first, second = (one.row for one in read_prompts(str(tmp_path / "out.parquet")))
    assert first == {"prompt": "a", "kwargs": [None, None], "more": {"deep": None}, "rubrics": None}
    assert second["rubrics"] == rubrics


def test_a_file_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be written"):
        write_rows([], str(tmp_path / "no" / "out.jsonl"))


def test_groups_files_and_repeated_ids_are_prompts_too(tmp_path: Path) -> None:
    rows = [{"group_id": "g", "context": [{"role": "user", "content": "a"}], "trajectories": []},
            {"key": 7, "prompt": "b"},
            {"key": 7, "prompt": "c"}, {"prompt": "d"}]  # fmt: skip
    path = tmp_path / "in.jsonl"
    path.write_text("\ufeff" + "\n\n".join(map(json.dumps, rows)), "utf-8")
    assert [(one.id, one.text, one.line) for one in read_prompts(str(path))] == [
        ("g", "a", 1), ("7", "b", 3), ("7-2", "c", 5), ("7-3", "d", 7)
    ]  # fmt: skip


def test_what_cannot_be_read_is_said(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    cases = [
        ("empty.jsonl", b"", "holds no prompts"),
        ("x.jsonl", b"{}", "1: has no field prompt"),
        ("x.jsonl", b"\xff", "1: not UTF-8"),
        ("x.parquet", b"no", "not a readable Parquet"),
    ]
    for name, content, complaint in cases:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=complaint):
            read_prompts(str(tmp_path / name))
    for name, complaint in (("none.jsonl", "there is no such file"), ("none.parquet", "not a readable Parquet")):
        with pytest.raises(InputError, match=complaint):
            read_prompts(str(tmp_path / name))


def test_kept_responses_that_cannot_be_read_are_passed_over(tmp_path: Path) -> None:
    lines = (
        "[" * 100_000,
        '{"key": "k", "text": "t", "finish_reason": "stop", "usage": 3}',
        '{"key": ["k"]}',
        "7" * 5000,
        '{"key": "k", "text": "t", "finish_reason": "stop", "latency": 1e999}',
    )
    path = tmp_path / "out.samples.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    with ResponseFile(str(path)) as kept:
        assert kept.reused == 0
