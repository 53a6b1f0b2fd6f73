"""``calipers calibrate`` on labelled criteria, run as a person runs it."""

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import Calipers, mismatches

RECORDED = ("calibrate", "meta.jsonl", "--judgments", "said.jsonl")


def row(number: int) -> dict[str, Any]:
    return {
        "prompt": [{"role": "user", "content": "Why?"}],
        "completion": f"Because of {number}.",
        "rubric": "Says why.",
        "binary_labels": [number % 2 == 0, number % 4 == 0],
        "anonymized_physician_ids": [f"p{number % 3}", "q"],
        "category": "cluster:why",
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    rows = [json.dumps(row(number)) for number in range(12)]
    (tmp_path / "meta.jsonl").write_text("\n".join(rows))
    said = [{"judge": "[bold]j", "line": line, "met": line % 2 == 1 if line < 12 else None} for line in range(1, 13)]
    (tmp_path / "said.jsonl").write_text("\n".join(map(json.dumps, said)))
    return tmp_path


def test_recorded_verdicts_are_reported_as_json_and_as_tables_and_a_bad_row_is_named(
    folder: Path, calipers: Calipers
) -> None:
    done = calipers(*RECORDED, "--json")
    assert (done.code, done.err) == (0, "")
    report = json.loads(done.out)
    (judge,) = report["judges"]
    assert (report["rows"], report["labels"], judge["graded"], judge["ungraded"]) == (12, 24, 11, 1)
    assert judge["overall"]["recall_met"] == 1.0
    assert set(judge["by_annotator"]) == {"p0", "p1", "p2", "q"} == set(report["annotators"]["each"])
    with (folder / "meta.jsonl").open("a") as file:
        file.write("\n" + json.dumps(row(13) | {"binary_labels": [1, 0]}))
    done = calipers(*RECORDED)
    assert (done.code, "meta.jsonl:13: binary_labels: must list true or false" in done.err) == (1, True)
    for words in ("[bold]j", "cluster:why", "annotators among themselves", "no verdict was recorded", "Findings"):
        assert words in done.out


def test_a_mistake_is_one_sentence_before_a_judge_is_paid(folder: Path, calipers: Calipers) -> None:
    cases = [
        ((*RECORDED, "--orders", "2"), "--orders is about groups"),
        (("calibrate", "meta.jsonl"), "name what to measure"),
        (("calibrate", "meta.jsonl", "--judge", "embedded", "--grading", "mode=odd"), "mode='odd'"),
        (("calibrate", "meta.jsonl", "--judge", "embedded", "--judge", "openai/gpt-5"), "OPENAI_API_KEY"),
        (("calibrate", "meta.jsonl", "--judge", "embedded", "--judgments", "none.jsonl"), "there is no such file"),
    ]
    assert mismatches(calipers, cases) == []
    assert "answers, " not in calipers(*cases[3][0]).err
