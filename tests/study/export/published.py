"""Rows of the study's data sets, in the forms that their authors publish; about planets."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

NO_COMMA = "def check_following(instruction, response):\n    return ',' not in response"

ROWS: Mapping[str, Mapping[str, Any]] = {
    "healthbench": {
        "prompt_id": "p1",
        "prompt": [
            {"role": "user", "content": "Hi."},
            {"role": "assistant", "content": "Hello."},
            {"role": "user", "content": "Why do I cough?"},
        ],
        "rubrics": [
            {"criterion": "Asks for how long.", "points": 5, "tags": ["level:example", "axis:context_awareness"]},
            {"criterion": "Names a dose.", "points": -4, "tags": []},
        ],
        "example_tags": ["theme:context_seeking"],
    },
    "rar-medicine": {
        "question": "What does aspirin do?",
        "reference_answer": "It inhibits COX.",
        "question_source": "mine",
        "rubric": [
            {"title": "Mechanism", "description": "Essential Criteria: Names COX.", "weight": 5},
            {"title": "Omission", "description": "Pitfall Criteria: Does not mention bleeding.", "weight": -1},
        ],
        "rubric_count": 2,
    },
    "rar-science": {
        "question": "What is a quark?",
        "reference_answer": "A part of hadrons.",
        "rubric": [{"title": "Name", "description": "Names hadrons.", "weight": 3}],
    },
    "researchqa": {
        "id": "q1",
        "query": "How do planets form?",
        "rubric": [{"rubric_item": "Does the response name accretion?", "type": "Info"}],
    },
    "verinstruct": {
        "id": 7,
        "prompt": "Name planets, kindly, without a comma.",
        "checkers": ["[llm] Tone: Be kind.", "[rule] Commas: none", "[llm] Tone: Be kind.", "Untagged."],
        "functions": ["", NO_COMMA, "", ""],
    },
    "gpqa-diamond": {
        "Record ID": "rec1",
        "Question": "Which planet is the third?",
        "Correct Answer": "Earth",
        "Incorrect Answer 1": "Mars",
        "Incorrect Answer 2": "Venus",
        "Incorrect Answer 3": "Pluto",
    },
    "math-500": {"problem": "What is $6 \\cdot 7$?", "answer": "42", "unique_id": "test/1.json", "level": 1},
    "hmmt-feb-2025": {"problem_idx": 3, "problem": "What is $2^{10}$?", "answer": "1024", "problem_type": ["Algebra"]},
}


def variants(name: str, count: int) -> list[dict[str, Any]]:
    """``count`` rows of a data set with prompts and ids of their own."""
    text = json.dumps(ROWS[name])
    mark = {"healthbench": "cough", "gpqa-diamond": "third", "math-500": "6", "hmmt-feb-2025": "10"}
    word = mark.get(name, "kindly" if name == "verinstruct" else "?")
    made = []
    for number in range(count):
        row = json.loads(
            text.replace(word, f"{word} {number}", 1) if word != "?" else text.replace("?", f" {number}?", 1)
        )
        for key in ("id", "prompt_id", "unique_id", "problem_idx", "Record ID"):
            if key in row:
                row[key] = f"{row[key]}-{number}"
        made.append(row)
    return made


def published(folder: Path, name: str, count: int) -> Path:
    """A folder with the files of a data set, as its authors publish them; ``count`` rows in each."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = variants(name, count)
    match name:
        case "healthbench":
            _write_lines(folder / "2025-05-07-06-14-12_oss_eval.jsonl", rows)
        case "verinstruct" | "math-500":
            _write_lines(folder / ("test.jsonl" if name == "math-500" else "data.jsonl"), rows)
        case "researchqa":
            (folder / "full.json").write_text(json.dumps(rows), encoding="utf-8")
            (folder / "test.json").write_text(json.dumps(rows[:2]), encoding="utf-8")
            (folder / "valid.json").write_text(json.dumps(rows[2:3]), encoding="utf-8")
        case "gpqa-diamond":
            text = io.StringIO(newline="")
            writer = csv.DictWriter(text, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
            (folder / "gpqa_diamond.csv").write_text(text.getvalue(), encoding="utf-8")
        case "hmmt-feb-2025":
            _write_parquet(folder / "data" / "train-00000-of-00001.parquet", rows)
        case _:
            _write_parquet(folder / "data" / "train-00000-of-00001.parquet", rows)
            _write_parquet(folder / "data" / "val-00000-of-00001.parquet", variants(name, count + 2)[count:])
    return folder


def _write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    import pyarrow as pa  # noqa: PLC0415 - an extra
    import pyarrow.parquet as pq  # noqa: PLC0415 - likewise

    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows), path)
