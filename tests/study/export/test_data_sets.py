"""The study's data sets: what is read of their published rows, what is held out, and what calipers reads again."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from calipers.cli import main
from calipers.errors import InputError
from calipers.rubric.dataset_standards import read_standards
from calipers.study.export.data_sets import data_sets, find_data_set, prepare_data_set
from calipers.study.export.data_sets.rows import READERS, verl_row
from calipers.types import Rubric
from study.export.published import NO_COMMA, ROWS, published, variants

DATA = Path(os.environ.get("CALIPERS_DATA") or Path(__file__).resolve().parents[4] / "shared" / "data") / "ruscarl"
NEEDS_PARQUET = "pyarrow is not installed: pip install 'calipers[parquet]'"


def made(name: str, form: Any = "rubric") -> list[dict[str, Any]]:
    found = READERS[find_data_set(name).rows](ROWS[name])
    return [verl_row(row, index=4, data_set=name, ability="a", split="train", form=form) for row in found]


def prepared(name: str, source: Path, folder: Path, **more: Any) -> dict[str, list[dict[str, Any]]]:
    pq = pytest.importorskip("pyarrow.parquet", reason=NEEDS_PARQUET)
    folder.mkdir(exist_ok=True)
    data_set = replace(find_data_set(name), **{key: more.pop(key) for key in ("evaluated",) if key in more})
    errors: list[InputError] = []
    files = prepare_data_set(data_set, source, folder, on_error=errors.append, **more)
    assert errors == []
    return {one.split: pq.read_table(one.path).to_pylist() for one in files}


def test_there_are_eight_data_sets_and_each_has_a_reader() -> None:
    assert sorted(data_sets()) == sorted(ROWS)
    assert len(data_sets()) == 8
    assert {one.rows for one in data_sets().values()} == set(READERS)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_calipers_reads_the_criteria_of_every_prepared_row(name: str) -> None:
    for row in made(name):
        rubric = read_standards(row).rubric
        assert isinstance(rubric, Rubric)
        assert [one.text for one in rubric.criteria] == [one["criterion"] for one in row["reward_model"]["rubrics"]]
        assert all(one.rule is None for one in rubric.criteria) == data_sets()[name].judged
        assert row["prompt"][-1]["role"] == "user"
        assert row["extra_info"]["index"] == 4


def test_a_conversation_and_its_points_and_tags_are_kept() -> None:
    (row,) = made("healthbench")
    assert [message["role"] for message in row["prompt"]] == ["user", "assistant", "user"]
    first, second = row["reward_model"]["rubrics"]
    assert (first["points"], first["tags"]) == (5.0, ["level:example", "axis:context_awareness"])
    assert second["points"] == -4.0


def test_a_pitfall_keeps_its_negative_weight_and_the_reference_is_kept() -> None:
    (row,) = made("rar-medicine")
    assert [one["points"] for one in row["reward_model"]["rubrics"]] == [5.0, -1.0]
    assert row["reward_model"]["ground_truth"] == "It inhibits COX."


def test_verinstructs_criteria_are_what_is_left_to_a_judge_once_each() -> None:
    (row,) = made("verinstruct")
    assert [one["criterion"] for one in row["reward_model"]["rubrics"]] == ["Tone: Be kind."]


def test_in_verifs_form_rules_are_the_reward_and_all_wordings_the_scaffold() -> None:
    (row,) = made("verinstruct", "verif")
    assert [one["criterion"] for one in row["reward_model"]["rubrics"]] == ["Tone: Be kind.", "Commas: none"]
    stated = read_standards(row)
    assert stated.rules is not None
    assert stated.rules.value["checkers"] == ROWS["verinstruct"]["checkers"]
    assert stated.rules.value["functions"][1] == NO_COMMA


def test_the_right_option_is_at_each_place_once() -> None:
    rows = made("gpqa-diamond")
    assert [row["reward_model"]["ground_truth"] for row in rows] == ["A", "B", "C", "D"]
    for row in rows:
        assert f"{row['reward_model']['ground_truth']}) Earth\n" in row["prompt"][0]["content"]
    assert "A) Mars\nB) Venus\nC) Pluto\nD) Earth" in rows[3]["prompt"][0]["content"]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("healthbench", {"rubrics": []}, "rubrics: it must be a list of objects"),
        ("healthbench", {"rubrics": [{"criterion": "a", "points": "5"}]}, "points: it must be a number, not '5'"),
        ("rar-science", {"question": None}, "question: it must be text, not None"),
        ("verinstruct", {"functions": []}, "checkers, functions: they must be lists of equal length"),
        ("math-500", {"answer": " "}, "answer: there is none"),
    ],
)
def test_a_row_that_cannot_be_used_says_which_field(name: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        READERS[find_data_set(name).rows]({**ROWS[name], **change})


def test_a_row_without_soft_constraints_has_no_rubric_form() -> None:
    row = {**ROWS["verinstruct"], "checkers": ["[rule] Commas: none"], "functions": [NO_COMMA]}
    (read,) = READERS["verinstruct"](row)
    with pytest.raises(InputError, match="no criteria that a judge could decide"):
        verl_row(read, index=0, data_set="verinstruct", ability="a", split="train", form="rubric")
    assert verl_row(read, index=0, data_set="verinstruct", ability="a", split="train", form="verif")


# --- files ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(ROWS))
def test_every_data_set_is_prepared_from_its_published_files(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason=NEEDS_PARQUET)
    found = prepared(name, published(tmp_path / "raw", name, 8), tmp_path / "out")
    assert ("train" in found) == data_sets()[name].is_trained_on
    assert found["val"]
    assert {row["data_source"] for rows in found.values() for row in rows} == {name}
    prompts = [{json.dumps(row["prompt"]) for row in rows} for rows in found.values()]
    assert len(set.union(*prompts)) == sum(map(len, prompts))  # no prompt is in both


def test_what_is_held_out_depends_on_no_order(tmp_path: Path) -> None:
    rows = variants("healthbench", 30)
    split = []
    for name, listed in (("a", rows), ("b", rows[::-1])):
        (tmp_path / name).mkdir()
        path = tmp_path / name / "x_oss_eval.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in listed), encoding="utf-8")
        found = prepared("healthbench", path.parent, tmp_path / f"out-{name}", evaluated=7)
        assert (len(found["train"]), len(found["val"])) == (23, 7)
        split.append({row["extra_info"]["id"] for row in found["val"]})
    assert split[0] == split[1]


def test_rows_of_the_authors_test_files_are_never_trained_on(tmp_path: Path) -> None:
    found = prepared("researchqa", published(tmp_path / "raw", "researchqa", 8), tmp_path / "out", evaluated=1)
    assert len(found["val"]) == 1
    assert sorted(row["extra_info"]["id"] for row in found["train"]) == [f"q1-{number}" for number in range(3, 8)]


def test_the_same_prompt_twice_is_on_one_side(tmp_path: Path) -> None:
    rows = variants("healthbench", 10)
    (tmp_path / "x_oss_eval.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows * 2), encoding="utf-8")
    found = prepared("healthbench", tmp_path, tmp_path / "out", evaluated=3)
    assert (len(found["train"]), len(found["val"])) == (14, 6)


def test_notes_of_the_hubs_client_are_no_data(tmp_path: Path) -> None:
    hidden = tmp_path / ".cache" / "huggingface"
    hidden.mkdir(parents=True)
    (hidden / "data.jsonl").write_text("not JSON\n", encoding="utf-8")
    published(tmp_path, "verinstruct", 6)
    assert len(prepared("verinstruct", tmp_path, tmp_path / "out", evaluated=2)["train"]) == 4


@pytest.mark.data
def test_the_rows_are_those_that_the_ruscarl_study_prepared(tmp_path: Path) -> None:
    """Its file with VerIF's rules, taken apart and prepared again, has the criteria of its file with rubrics."""
    if not DATA.is_dir():
        pytest.skip(f"no recorded data at {DATA}; CALIPERS_DATA says where it is")
    pq = pytest.importorskip("pyarrow.parquet", reason=NEEDS_PARQUET)
    raw = [
        {"id": row["extra_info"]["original_id"], "prompt": row["prompt"][0]["content"], **json.loads(truth)}
        for row in pq.read_table(DATA / "verinstruct_verif_val.parquet").to_pylist()
        for truth in (row["reward_model"]["ground_truth"],)
    ]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in raw), encoding="utf-8")
    files = prepared("verinstruct", tmp_path, tmp_path / "out")
    found = files["train"] + files["val"]
    theirs = pq.read_table(DATA / "verinstruct_val.parquet").to_pylist()

    def texts(rows: list[dict[str, Any]]) -> dict[str, list[tuple[str, float]]]:
        return {
            row["prompt"][0]["content"]: [(one["criterion"], one["points"]) for one in row["reward_model"]["rubrics"]]
            for row in rows
        }

    assert texts(found) == texts(theirs)
    assert len(found) == 60


# --- the command ------------------------------------------------------------------------------------------------------

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["calipers", "study", "data", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        told = capsys.readouterr()
        return int(ended.value.code or 0), told.out, told.err

    return call


def test_the_list_names_each_data_set_and_where_its_files_are(run: Run) -> None:
    code, out, _ = run("--list")
    assert code == 0
    lines = dict(line.split(maxsplit=1) for line in out.splitlines())
    assert sorted(lines) == sorted(ROWS)
    assert lines["math-500"] == "val             HuggingFaceH4/MATH-500"
    assert lines["gpqa-diamond"].endswith("(gated)")


def test_a_data_set_is_prepared_and_a_bad_line_is_named(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason=NEEDS_PARQUET)
    published(tmp_path / "raw", "verinstruct", 5)
    with (tmp_path / "raw" / "data.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"prompt": "x", "checkers": ["[llm] a"]}\nnot JSON\n')
    code, _, told = run("verinstruct", "raw", "--form", "verif")
    assert code == 1
    assert "raw/data.jsonl:6: checkers, functions: they must be lists of equal length" in told
    assert "raw/data.jsonl:7: not JSON" in told
    assert "2 rows were skipped" in told
    assert "2 rows: verinstruct.verif.val.parquet" in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["math-50", "."], "'math-50' is no data set of the study. Did you mean math-500?"),
        (["math-50", "nowhere"], "'math-50' is no data set of the study. Did you mean math-500?"),
        (["math-500", "."], ".: has no file test.jsonl; download the data set there first"),
        (["math-500", "nowhere"], "nowhere: there is no such file"),
        (
            ["math-500", ".", "--form", "verif"],
            "--form verif: MATH-500 has no rules; of the data sets, verinstruct has",
        ),
        (["math-500", ".", "-o", "nowhere"], "--out nowhere: there is no such folder; create it first"),
        ([], "name a data set and the folder of its files; --list prints the data sets"),
    ],
)
def test_a_mistake_is_one_sentence(run: Run, arguments: list[str], message: str) -> None:
    code, _, told = run(*arguments)
    assert code == 2
    assert message in told
    assert "Traceback" not in told


def test_a_foreign_file_is_not_replaced(run: Run, tmp_path: Path) -> None:
    published(tmp_path / "raw", "math-500", 3)
    (tmp_path / "math-500.val.parquet").write_text('{"mine": 1}\n', encoding="utf-8")
    code, _, told = run("math-500", "raw")
    assert code == 2
    assert "math-500.val.parquet: exists and is not a file of verl's training data" in told
    assert (tmp_path / "math-500.val.parquet").read_text(encoding="utf-8") == '{"mine": 1}\n'
