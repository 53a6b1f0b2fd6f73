"""``calipers ifeval``, run as a person runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

DATA = [
    {"key": 1, "prompt": "p1", "instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]},
    {"key": 2, "prompt": "p2", "instruction_id_list": ["startend:quotation", "keywords:existence"],
     "kwargs": [{}, {"keywords": ["cat"]}]},
    {"key": 3, "prompt": "p3", "instruction_id_list": ["keywords:letter_frequency"],
     "kwargs": [{"letter": "#", "let_frequency": 2, "let_relation": "at least"}]},
]  # fmt: skip
RESPONSES = [
    {"prompt": "p1", "response": "no comma"},
    {"prompt": "p2", "response": '**\n"a cat"'},
    {"prompt": "p3", "response": "#"},
]  # fmt: skip


def calipers(*arguments: object, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("CALIPERS_")}
    return subprocess.run(
        [sys.executable, "-m", "calipers", "ifeval", *map(str, arguments)],
        cwd=cwd, env=clean | {"COLUMNS": "120"}, capture_output=True, text=True, timeout=60, check=False, input=stdin,
    )  # fmt: skip


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text(
        "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), encoding="utf-8"
    )
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "data.jsonl", DATA)
    write(tmp_path / "responses.jsonl", RESPONSES)
    return tmp_path


def test_the_table_shows_kinds_and_accuracies(folder: Path) -> None:
    run = calipers("responses.jsonl", "--input", "data.jsonl", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert "startend:quotation" in run.stdout
    assert "3 prompts, 4 instructions" in run.stdout
    assert run.stdout.split()[-4:] == ["0.3333", "0.5000", "0.6667", "0.7500"]


def test_json_is_one_object_on_stdout_with_fractions(folder: Path) -> None:
    run = calipers("responses.jsonl", "--input", "data.jsonl", "--json", cwd=folder)
    assert run.returncode == 0
    shown = json.loads(run.stdout)
    assert (shown["prompt_strict"], shown["inst_strict"]) == (1 / 3, 0.5)
    assert (shown["prompt_loose"], shown["inst_loose"]) == (2 / 3, 0.75)
    assert shown["errors"] == []


def test_rows_that_carry_their_instructions_need_no_input(folder: Path) -> None:
    both = [asked | given for asked, given in zip(DATA, RESPONSES, strict=True)]
    write(folder / "both.jsonl", both)
    run = calipers("both.jsonl", "--json", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["prompts"] == 3


def test_responses_come_from_stdin_too(folder: Path) -> None:
    run = calipers("-", "--input", "data.jsonl", "--json", cwd=folder, stdin="\n".join(map(json.dumps, RESPONSES)))
    assert json.loads(run.stdout)["prompts"] == 3


@pytest.mark.parametrize(("file", "row", "complaint"), [
    ("data.jsonl", DATA[0] | {"kwargs": [{"letter": "a"}]},
     "data.jsonl:4: kwargs[0]: punctuation:no_comma: letter: not a field"),
    ("data.jsonl", DATA[0] | {"instruction_id_list": ["x:y"]},
     "data.jsonl:4: instruction_id_list[0]: unknown instruction 'x:y'"),
    ("data.jsonl", "{", "data.jsonl:4: not complete JSON"),
    ("responses.jsonl", "[1]", "responses.jsonl:4: must be an object"),
    ("responses.jsonl", {"prompt": "p1", "response": None}, "responses.jsonl:4: response: is missing"),
    ("responses.jsonl", {"prompt": "p9", "response": "a"}, "responses.jsonl:4: prompt: there is no such prompt"),
])  # fmt: skip
def test_a_bad_line_is_named_the_rest_is_checked_and_the_exit_code_is_1(
    folder: Path, file: str, row: Any, complaint: str
) -> None:
    rows: list[Any] = [json.loads(line) for line in (folder / file).read_text(encoding="utf-8").splitlines()]
    write(folder / file, [*rows, row])
    run = calipers("responses.jsonl", "--input", "data.jsonl", "--json", cwd=folder)
    assert run.returncode == 1
    assert complaint in run.stderr
    shown = json.loads(run.stdout)
    assert shown["prompts"] == 3
    assert complaint in shown["errors"][0]
    strict = calipers("responses.jsonl", "--input", "data.jsonl", "--strict", cwd=folder)
    assert strict.returncode == 2
    assert complaint in strict.stderr
    assert not strict.stdout


def test_prompts_without_a_response_are_left_out_and_told(folder: Path) -> None:
    write(folder / "responses.jsonl", RESPONSES[:1])
    run = calipers("responses.jsonl", "--input", "data.jsonl", "--json", cwd=folder)
    assert run.returncode == 1
    assert "2 of 3 prompts have no response" in run.stderr
    assert json.loads(run.stdout)["prompt_strict"] == 1


@pytest.mark.parametrize(("arguments", "complaint"), [
    (("responses.jsonl",), "--input DATA"),
    (("absent.jsonl", "--input", "data.jsonl"), "absent.jsonl: there is no such file"),
    ((".", "--input", "data.jsonl"), "cannot be read"),
    (("empty.jsonl", "--input", "data.jsonl"), "no response could be checked"),
])  # fmt: skip
def test_bad_usage_is_one_sentence_with_the_remedy(folder: Path, arguments: tuple[str, ...], complaint: str) -> None:
    write(folder / "empty.jsonl", [])
    run = calipers(*arguments, cwd=folder)
    assert run.returncode == 2
    assert complaint in run.stderr
    assert "Traceback" not in run.stderr
    assert not run.stdout


def test_output_dir_holds_the_official_evaluators_two_files(folder: Path) -> None:
    (folder / "results").mkdir()
    run = calipers("responses.jsonl", "--input", "data.jsonl", "--output-dir", "results", cwd=folder)
    assert run.returncode == 0, run.stderr
    for reading, followed in (("strict", [[True], [False, True], [False]]), ("loose", [[True], [True, True], [False]])):
        lines = (folder / "results" / f"eval_results_{reading}.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["follow_instruction_list"] for line in lines] == followed


def test_output_dir_replaces_no_file_unless_forced(folder: Path) -> None:
    notes = folder / "eval_results_loose.jsonl"
    notes.write_text("my notes\n", encoding="utf-8")
    arguments = ("responses.jsonl", "--input", "data.jsonl", "--output-dir", ".")
    run = calipers(*arguments, cwd=folder)
    assert run.returncode == 2
    assert "so it is not replaced" in run.stderr
    assert notes.read_text(encoding="utf-8") == "my notes\n"
    assert calipers(*arguments, "--force", cwd=folder).returncode == 0
    assert "no such folder" in calipers(*arguments[:-1], "missing", cwd=folder).stderr


def test_parquet_and_columns_of_responses_are_read(folder: Path) -> None:
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'calipers[parquet]'")
    import pyarrow.parquet as pq  # noqa: PLC0415 - looked for above

    rows = [{**DATA[0], "kwargs": [None], "responses": ["no comma", "a, b"]}]
    pq.write_table(pa.Table.from_pylist(rows), folder / "responses.parquet")
    run = calipers("responses.parquet", "--json", cwd=folder)
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout)["prompt_strict"] == 0.5
    assert json.loads(run.stdout)["prompts"] == 2
    run = calipers(
        "responses.jsonl",
        "--input",
        write(folder / "rubrics.jsonl", [{**row, "rubrics": ["a"]} for row in DATA]),
        cwd=folder,
    )
    assert "rubrics.jsonl: not used: rubrics; only IFEval's instructions are checked here" in run.stderr
