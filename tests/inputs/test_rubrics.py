"""Rubrics that people write in TOML, JSON and YAML, and data sets with a rubric in each row."""

from __future__ import annotations

import json
import os
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import calipers
from calipers.errors import ConfigError, InputError
from calipers.inputs import as_group, as_rubric_row
from calipers.rubric.unused_standards import unused_standards
from calipers.trainers.rows import standards_of_row
from inputs.written import written

TOML = """
title = "Support"
veto_floor = -0.5

[[criteria]]
id = "cites"
text = "Names the page of the manual."
points = 3
tags = ["axis:accuracy"]

[[criteria]]
id = "blames"
text = "Blames the customer."
points = -4
veto = true

[[criteria]]
id = "tone"
text = "Is polite."
"""


def test_the_three_forms_say_the_same(tmp_path: Path):
    (tmp_path / "r.toml").write_text(TOML, encoding="utf-8")
    rubric = calipers.read_rubric(tmp_path / "r.toml")
    assert [one.points for one in rubric.criteria] == [3, -4, 1.0]
    (tmp_path / "r.json").write_text(json.dumps(rubric.to_dict()), encoding="utf-8")
    assert calipers.read_rubric(tmp_path / "r.json") == rubric
    (tmp_path / "list.json").write_text('["Is it short?", "Is it kind?"]', encoding="utf-8")
    assert [one.text for one in calipers.read_rubric(tmp_path / "list.json").criteria] == [
        "Is it short?",
        "Is it kind?",
    ]
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    (tmp_path / "r.yaml").write_text(
        "title: Support\nveto_floor: -0.5\ncriteria:\n"
        "- {id: cites, text: Names the page of the manual., points: 3, tags: ['axis:accuracy']}\n"
        "- {id: blames, text: Blames the customer., points: -4, veto: true}\n"
        "- {id: tone, text: Is polite.}\n",
        encoding="utf-8",
    )
    assert calipers.read_rubric(tmp_path / "r.yaml") == rubric


def test_what_is_wrong_with_a_file_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("yaml", reason="PyYAML is not installed")
    cases: list[tuple[str, bytes, str]] = [
        ("r.toml", b"criteria = [", "r.toml: is not TOML"),
        ("r.json", b"[" * 100_000, "r.json: is not JSON"),
        ("r.json", b"\xff\xfe", "r.json: is not UTF-8"),
        ("r.json", b'{"criteria": [{"text": "x", "points": "no"}]}', "r.json: criterion 1: points must be a finite"),
        ("r.toml", b'[[criteria]]\ntext = "x"\npoints = -1', "r.toml: no criterion has positive points"),
        ("r.yaml", b"criteria: [", "r.yaml: is not YAML"),
        ("r.txt", b"", r"\.toml, \.json"),
    ]
    for name, content, complaint in cases:
        (tmp_path / name).write_bytes(content)
        with pytest.raises(ConfigError if name == "r.txt" else InputError, match=complaint):
            calipers.read_rubric(tmp_path / name)
    with pytest.raises(InputError, match="no such file"):
        calipers.read_rubric(tmp_path / "none.toml")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ConfigError, match=r"calipers\[yaml\]"):
        calipers.read_rubric(tmp_path / "r.yaml")


ASKED = "Which ferry is cheapest?"
PROMPT = [{"role": "user", "content": ASKED}]
RAR = [
    {"title": "Ferry", "description": "Essential Criteria: Names the night ferry", "weight": 5},
    {"title": "Lie", "description": "Pitfall Criteria: Does not invent", "weight": -1},
]
ROWS = Path(__file__).parents[1] / "fixtures" / "rubric_rows.jsonl"
"""A row of each data set with its own fields, and the criteria that it holds: text, points, tags."""


def test_a_row_is_read_by_its_data_sets_own_fields_alone_and_beside_responses() -> None:
    for line in ROWS.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        found = as_rubric_row(case["row"])
        criteria = [[one.text, one.points, list(one.tags)] for one in found.rubric.criteria]
        assert (criteria, found.id, found.prompt) == (case["criteria"], case["id"], tuple(PROMPT)), case["data set"]
        group = as_group(case["row"] | {"responses": ["The night ferry.", "None."]})
        assert isinstance(group.rubric, calipers.Rubric)
        assert (group.rubric.criteria, group.context) == (found.rubric.criteria, found.prompt), case["data set"]
        assert not [note for note in unused_standards(group, checklist=True) if "rubric_list" not in note]


def test_pitfalls_may_be_read_as_the_paper_does():
    row = {"question": ASKED, "rubric": RAR}
    assert [one.points for one in as_rubric_row(row, pitfalls="positive").rubric.criteria] == [1.0, 0.8]
    with pytest.raises(ConfigError, match="penalty or positive"):
        as_rubric_row(row, pitfalls="both")  # type: ignore[arg-type]  # what is tested
    with pytest.raises(InputError, match="criterion 1: its description begins with none of essential"):
        as_rubric_row({"question": "?", "rubric": [{"description": "Good.", "weight": 1}]}, pitfalls="positive")
    one = RAR[0] | {"tags": ["axis:a"], "veto": True}
    (criterion,) = as_rubric_row({"prompt": ASKED, "rubric": [one]}).rubric.criteria
    assert (criterion.tags, criterion.veto) == (("label:essential", "title:Ferry", "axis:a"), True)


def test_verl_rows_are_read_where_the_reward_function_reads_them_and_two_that_differ_are_an_error():
    numpy = pytest.importorskip("numpy", reason="numpy is not installed")

    def holding(text: str, tags: Any = ()) -> dict[str, Any]:
        listed = [{"criterion": text, "points": 1, "tags": tags}]
        return {"reward_model": {"rubrics": numpy.array(listed, dtype=object)}}

    for tags in ({"axis": "accuracy", "cluster": None}, ["axis:accuracy"]):
        row = {"prompt": numpy.array(PROMPT, dtype=object), **holding("x", tags)}
        assert as_rubric_row(row).rubric.criteria[0].tags == ("axis:accuracy",)
    assert as_rubric_row({"prompt": PROMPT, "extra_info": holding("inner")}).rubric.criteria[0].text == "inner"
    both = {"prompt": PROMPT, **holding("the same"), "extra_info": holding("the same")}
    assert as_rubric_row(both).rubric.criteria[0].text == "the same"
    words = r"in reward_model\.rubrics differs from the rubric in extra_info\.reward_model\.rubrics"
    with pytest.raises(InputError, match=words):
        as_rubric_row(both | holding("outer"))


def test_a_criterion_keeps_its_rule_and_numbers_beside_it_may_be_missing():
    listed = [{"criterion": "Is short.", "points": 2, "rule": {"word_count": {"at_most": 9}}, "annotator": 7}]
    hole = {"weight": float("nan"), "samples": [{"weight": float("nan")}]}
    (short,) = as_rubric_row({"prompt": PROMPT, "rubrics": listed, "extra_info": hole}).rubric.criteria
    assert short.rule == {"word_count": {"at_most": 9}}


BAD: list[tuple[Any, str]] = [
    ({}, "no rubric with criteria is in the fields prompt"),
    ({"rubrics": 3}, "rubrics: a rubric cannot be of type int"),
    ({"rubrics": []}, "no rubric with criteria is in the fields prompt, rubrics"),
    ({"rubrics": [{"criterion": "x", "points": "5"}]}, "rubrics: criterion 1: points must be"),
    ({"rubrics": [{"criterion": "x", "points": -5}]}, "rubrics: no criterion has positive points"),
    ({"rubrics": [{"criterion": "x", "points": 1e308}, {"criterion": "y", "points": -1e308}]}, "too large"),
    ({"rubrics": [{"criterion": "x", "points": 5}, {"criterion": "x", "pionts": 3}]}, "criterion 2: "),
    ({"rubrics": [{"criterion": "x", "points": 5}, {"criterion": "x"}]}, "criterion 2: it has no points"),
    ({"rubrics": [{"criterion": "x", "points": 1, "rulle": {}}]}, "'rulle'; did you mean 'rule'"),
    ({"rubrics": [{"criterion": "x", "TAGS": ["a"]}]}, "did you mean 'tags'?"),
    ({"reward_model": {"ground_truth": "x"}}, "no rubric with criteria is in the fields prompt, rew"),
    ({"rubric": [3]}, "rubric: criterion 1: it must be text or an object"),
    ({"rubric": "- be kind"}, "no rubric with criteria is in the fields prompt, rubric"),
    ({"rubric": '[{"criterion": "Is kind.", "points": 3},]'}, "rubric: its JSON text is not JSON"),
    ({"rubric": [{"title": "t", "description": "x", "wieght": 5}]}, "did you mean 'weight'?"),
    ({"rubric": [{"title": "t", "description": "Pitfall Criteria: x"}]}, "a label and no weight"),
    ({"rubric_items": [{"criterion_txt": "x", "points": 3}]}, "criterion"),
    ({"prompt_metadata": "{oops"}, "JSON text is not JSON"),
    ({"prompt": 3, "rubrics": [{"criterion": "x", "points": 5}]}, "prompt: "),
]


def test_a_bad_row_is_named_and_the_others_are_kept(tmp_path: Path):
    good = {"prompt": PROMPT, "rubrics": [{"criterion": "x", "points": 5}]}
    other = {"prompt": [dict(reversed(PROMPT[0].items()))], "rubrics": [{"criterion": "Is short.", "points": 1}]}
    path = written(tmp_path / "h.jsonl", good, good, other, b"{broken\n", *({"prompt": PROMPT} | row for row, _ in BAD))
    problems: list[InputError] = []
    assert [row.row for row in calipers.read_rubrics(path, on_error=problems.append)] == [1, 2]
    named = ["the same as in row 1, with another rubric", "not JSON", *(complaint for _, complaint in BAD)]
    wrong = [
        (complaint, str(problem))
        for line, (complaint, problem) in enumerate(zip(named, problems, strict=True), start=3)
        if complaint not in str(problem) or not str(problem).startswith(f"{path}:{line}: ")
    ]
    assert not wrong
    with pytest.raises(InputError, match=r"h\.jsonl:3"):
        list(calipers.read_rubrics(path))


def test_points_that_are_no_number_are_an_error_and_never_one_point() -> None:
    places = ("rubrics", "rubric", "extra_info.reward_model.rubrics", "rubric_items", "rubric.criteria")
    for place, value in product(places, (float("nan"), -float("inf"))):
        text = {"rubric_items": "criterion_text"}.get(place, "criterion")
        criteria: Any = [{text: "x", "points": 3}, {text: "y", "points": value}]
        for key in reversed(place.split(".")):
            criteria = {key: criteria}
        for read in (as_rubric_row, lambda row: as_group(row | {"responses": ["a", "b"]}), standards_of_row):
            with pytest.raises(InputError, match=r"criterion 2: points must be a finite number, not -?(nan|inf)"):
                read({"prompt": ASKED, **criteria})


def test_a_checklist_of_another_kind_is_not_taken_for_criteria_and_is_reported() -> None:
    row = {"checklist": ["Is it kind?"], "trajectories": [{"messages": [{"role": "assistant", "content": "Yes."}]}]}
    group = as_group(row)
    assert group.rubric is None
    assert any("'checklist'" in note for note in unused_standards(group, checklist=False))


@pytest.mark.data
@pytest.mark.parametrize(("name", "rows", "criteria"), [("healthbench_val", 120, 1408), ("verinstruct_val", 60, 332)])
def test_the_recorded_parquet_files_are_read_whole(name: str, rows: Any, criteria: Any):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    folder = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")
    if not (folder / "ruscarl").is_dir():
        pytest.skip(f"no recorded data at {folder}: set CALIPERS_DATA to where it is")
    found = list(calipers.read_rubrics(folder / "ruscarl" / f"{name}.parquet"))
    assert (len(found), sum(len(one.rubric.criteria) for one in found)) == (rows, criteria)
    assert all(one.prompt for one in found)
