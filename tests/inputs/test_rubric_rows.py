"""Data sets with a rubric in each row, in the forms in use."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError, InputError
from calipers.inputs import as_rubric_row

PROMPT = [{"role": "user", "content": "What helps against a cold?"}]
DATA = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data") / "ruscarl"
RUBRICS = [
    {"criterion": "Suggests rest.", "points": 5, "tags": ["level:example", "axis:completeness"]},
    {"criterion": "Prescribes antibiotics.", "points": -8, "tags": ["axis:accuracy"]},
]


def write(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_healthbench_lines(tmp_path: Path):
    row = {"prompt_id": "p1", "prompt": PROMPT, "rubrics": RUBRICS, "example_tags": [], "ideal_completions_data": None}
    (found,) = calipers.read_rubrics(write(tmp_path / "h.jsonl", row))
    assert (found.row, found.id, found.prompt) == (1, "p1", tuple(PROMPT))
    assert [(one.points, one.tags) for one in found.rubric.criteria] == [
        (5, ("level:example", "axis:completeness")),
        (-8, ("axis:accuracy",)),
    ]


@pytest.mark.parametrize("tags", [
    {"axis": "accuracy", "cluster": None}, ["axis:accuracy"], ("accuracy",),
])  # fmt: skip
def test_verl_rows_with_tags_in_each_form(tags: Any):
    rubrics = [{"criterion": "Suggests rest.", "points": 5.0, "tags": tags}]
    row = {"prompt": PROMPT, "reward_model": {"style": "rubric", "ground_truth": "", "rubrics": rubrics}}
    (criterion,) = as_rubric_row(row).rubric.criteria
    assert criterion.tags in {("axis:accuracy",), ("accuracy",)}


def test_verl_rows_are_read_where_the_reward_function_reads_them_and_two_that_differ_are_an_error():
    def holding(text: str) -> dict[str, Any]:
        return {"reward_model": {"rubrics": [{"criterion": text, "points": 1}]}}

    assert as_rubric_row({"prompt": PROMPT, "extra_info": holding("inner")}).rubric.criteria[0].text == "inner"
    both = {"prompt": PROMPT, **holding("the same"), "extra_info": holding("the same")}
    assert as_rubric_row(both).rubric.criteria[0].text == "the same"
    words = r"in reward_model\.rubrics differs from the rubric in extra_info\.reward_model\.rubrics"
    with pytest.raises(InputError, match=words):
        as_rubric_row(both | holding("outer"))


@pytest.mark.parametrize(("criterion", "complaint"), [
    ({"criterion": "x", "pionts": 3}, r"criterion 2: (unknown field 'pionts'; did you mean 'points'|it has no points)"),
    ({"criterion": "x"}, "criterion 2: it has no points, but others have some"),
    ({"criterion": "x", "points": 1, "rulle": {"regex": {"pattern": "x"}}}, "'rulle'; did you mean 'rule'"),
])  # fmt: skip
def test_what_a_criterion_would_lose_is_an_error(criterion: dict[str, Any], complaint: str):
    with pytest.raises(InputError, match=complaint):
        as_rubric_row({"prompt": PROMPT, "rubrics": [RUBRICS[0], criterion]})


def test_a_criterion_of_a_row_keeps_its_rule_and_its_levels_and_loses_what_is_the_data_sets_own():
    listed = [
        {"criterion": "Is short.", "points": 2, "rule": {"word_count": {"at_most": 9}}, "annotator": 7},
        {"criterion": "Is kind.", "points": 2, "levels": {"no": 0, "yes": 1}},
    ]
    found = as_rubric_row({"prompt": PROMPT, "rubrics": listed}).rubric.criteria
    assert found[0].rule == {"word_count": {"at_most": 9}}
    assert found[1].levels == {"no": 0, "yes": 1}


def test_numpy_arrays_are_lists():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")
    rubrics = numpy.array(RUBRICS, dtype=object)
    row = {"prompt": numpy.array(PROMPT, dtype=object), "reward_model": {"rubrics": rubrics}}
    assert len(as_rubric_row(row).rubric.criteria) == 2


RAR = [
    {"title": "Rest", "description": "Essential Criteria: Suggests rest.", "weight": 5},
    {"title": "Drugs", "description": "Pitfall Criteria: Does not mention antibiotics.", "weight": -1},
]


def test_rubrics_as_rewards_state_how_pitfalls_are_read():
    row = {"question": "What helps?", "reference_answer": "Rest.", "rubric": RAR}
    penalty = as_rubric_row(row)
    assert [(one.text, one.points) for one in penalty.rubric.criteria] == [
        ("Suggests rest.", 5),
        ("Does not mention antibiotics.", -1),
    ]
    assert penalty.rubric.criteria[1].tags == ("label:pitfall", "title:Drugs")
    assert penalty.prompt == ({"role": "user", "content": "What helps?"},)
    assert penalty.extra["reference_answer"] == "Rest."
    assert [one.points for one in as_rubric_row(row, pitfalls="positive").rubric.criteria] == [1.0, 0.8]
    with pytest.raises(ConfigError, match="penalty or positive"):
        as_rubric_row(row, pitfalls="both")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(InputError, match="criterion 1: its description begins with none of essential"):
        as_rubric_row({"question": "?", "rubric": [{"description": "Good.", "weight": 1}]}, pitfalls="positive")


def test_question_lists_may_be_json_in_json():
    metadata = json.dumps({"rubrics": json.dumps(["Is it short?", "Is it kind?"])})
    row = {"conversation_history": json.dumps(PROMPT), "response": "Rest.", "prompt_metadata": metadata}
    found = as_rubric_row(row)
    assert [(one.id, one.text) for one in found.rubric.criteria] == [("c1", "Is it short?"), ("c2", "Is it kind?")]
    assert found.prompt == tuple(PROMPT)


@pytest.mark.parametrize(("row", "complaint"), [
    ({"prompt": PROMPT}, "no rubric with criteria is in the fields prompt"),
    ({"prompt": PROMPT, "rubrics": 3}, "rubrics: a rubric cannot be of type int"),
    ({"prompt": PROMPT, "rubrics": []}, "no rubric with criteria is in the fields prompt, rubrics"),
    ({"prompt": PROMPT, "rubrics": [{"criterion": "x", "points": "5"}]}, "rubrics: criterion 1: points must be"),
    ({"prompt": PROMPT, "rubrics": [{"criterion": "x", "points": -5}]}, "rubrics: no criterion has positive points"),
    ({"prompt": PROMPT, "reward_model": {"ground_truth": "x"}}, "no rubric with criteria is in the fields prompt, rew"),
    ({"question": "?", "rubric": [3]}, "rubric: criterion 1: it must be text or an object"),
    ({"question": "?", "rubric": "- be kind"}, "no rubric with criteria is in the fields question, rubric"),
    ({"prompt_metadata": "{oops"}, "JSON text is not JSON"),
    ({"prompt_metadata": 3}, "no rubric with criteria is in the fields prompt_metadata"),
    ({"prompt": 3, "rubrics": RUBRICS}, "prompt: "),
])  # fmt: skip
def test_a_bad_row_is_named_and_the_others_are_kept(tmp_path: Path, row: Any, complaint: str):
    good = {"prompt": [{"role": "user", "content": "?"}], "rubrics": RUBRICS}
    path = write(tmp_path / "h.jsonl", row, good)
    found: list[InputError] = []
    assert [one.row for one in calipers.read_rubrics(path, on_error=found.append)] == [2]
    assert str(found[0]).startswith(f"{path}:1: ")
    assert complaint in str(found[0])
    with pytest.raises(InputError, match=r"h\.jsonl:1"):
        list(calipers.read_rubrics(path))


def test_a_prompt_repeated_with_another_rubric_is_named_and_with_the_same_is_fine(tmp_path: Path):
    other = [{"criterion": "Is short.", "points": 1}]
    rows = [{"prompt": PROMPT, "rubrics": rubrics} for rubrics in (RUBRICS, RUBRICS, other)]
    found: list[InputError] = []
    kept = list(calipers.read_rubrics(write(tmp_path / "h.jsonl", *rows), on_error=found.append))
    assert [one.row for one in kept] == [1, 2]
    assert "the same as in row 1" in str(found[0])


def test_the_order_of_keys_makes_no_other_prompt(tmp_path: Path):
    other = [{"criterion": "Is short.", "points": 1}]
    turned = [dict(reversed(message.items())) for message in PROMPT]
    rows = [{"prompt": PROMPT, "rubrics": RUBRICS}, {"prompt": turned, "rubrics": other}]
    with pytest.raises(InputError, match="the same as in row 1, with another rubric"):
        list(calipers.read_rubrics(write(tmp_path / "h.jsonl", *rows)))


def test_files_that_are_none(tmp_path: Path):
    with pytest.raises(InputError, match="no such file"):
        list(calipers.read_rubrics(tmp_path / "h.jsonl"))
    (tmp_path / "bad.jsonl").write_text("{\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"bad\.jsonl:1: not complete JSON"):
        list(calipers.read_rubrics(tmp_path / "bad.jsonl"))


@pytest.mark.data
@pytest.mark.parametrize(("name", "rows", "criteria"), [("healthbench_val", 120, 1408), ("verinstruct_val", 60, 332)])
def test_the_recorded_parquet_files_are_read_whole(name: str, rows: Any, criteria: Any):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    if not DATA.is_dir():
        pytest.skip(f"no recorded data at {DATA}: set CALIPERS_DATA to where it is")
    found = list(calipers.read_rubrics(DATA / f"{name}.parquet"))
    assert (len(found), sum(len(one.rubric.criteria) for one in found)) == (rows, criteria)
    assert all(one.prompt for one in found)
