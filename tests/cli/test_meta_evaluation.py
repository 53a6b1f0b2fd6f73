"""``calipers calibrate`` on labelled criteria, run as a person runs it."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def calipers(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "calipers", "calibrate", *arguments],
        cwd=cwd, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


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


def test_recorded_verdicts_are_reported_as_json_and_as_tables(folder: Path) -> None:
    done = calipers("meta.jsonl", "--judgments", "said.jsonl", "--json", cwd=folder)
    assert (done.returncode, done.stderr) == (0, "")
    report = json.loads(done.stdout)
    (judge,) = report["judges"]
    assert (report["rows"], report["labels"], judge["graded"], judge["ungraded"]) == (12, 24, 11, 1)
    assert judge["overall"]["recall_met"] == 1.0
    assert set(judge["by_annotator"]) == {"p0", "p1", "p2", "q"} == set(report["annotators"]["each"])
    shown = calipers("meta.jsonl", "--judgments", "said.jsonl", cwd=folder).stdout
    for words in ("[bold]j", "cluster:why", "annotators among themselves", "no verdict was recorded", "Findings"):
        assert words in shown


def test_a_bad_row_is_named_and_the_exit_code_is_1(folder: Path) -> None:
    with (folder / "meta.jsonl").open("a") as file:
        file.write("\n" + json.dumps(row(13) | {"binary_labels": [1, 0]}))
    done = calipers("meta.jsonl", "--judgments", "said.jsonl", "--json", cwd=folder)
    assert done.returncode == 1
    assert "meta.jsonl:13: binary_labels: must list true or false" in done.stderr


@pytest.mark.parametrize(("arguments", "words"), [
    (("meta.jsonl", "--judgments", "said.jsonl", "--orders", "2"), "--orders is about groups"),
    (("meta.jsonl", "--judgments", "said.jsonl", "--expected"), "--expected is about groups"),
    (("meta.jsonl", "--judgments", "none.jsonl"), "none.jsonl: there is no such file"),
    (("meta.jsonl",), "name what to measure"),
    (("meta.jsonl", "--judge", "embedded", "--grading", "mode=odd"), "mode='odd'"),
    (("meta.jsonl", "--judge", "embedded", "--judge", "openai/gpt-5"), "OPENAI_API_KEY"),
    (("meta.jsonl", "--judge", "embedded", "--judgments", "none.jsonl"), "none.jsonl: there is no such file"),
])  # fmt: skip
def test_a_mistake_is_one_sentence_and_2(folder: Path, arguments: tuple[str, ...], words: str) -> None:
    done = calipers(*arguments, cwd=folder)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert "answers, " not in done.stderr, "a judge was paid before the mistake was found"
