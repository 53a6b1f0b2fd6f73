"""``calipers ifeval``, run as a person runs it."""

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.cli.ifeval import each_response
from calipers.errors import InputError
from calipers.verifiers.ifeval.rows import read_prompt, read_response
from command_line import Calipers, mismatches, write_parquet, write_rows

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


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_rows(tmp_path / "data.jsonl", DATA)
    write_rows(tmp_path / "responses.jsonl", RESPONSES)
    return tmp_path


def test_kinds_and_accuracies_are_a_table_or_one_json_object(folder: Path, calipers: Calipers) -> None:
    run = calipers("ifeval", "responses.jsonl", "--input", "data.jsonl")
    assert run.code == 0, run.err
    for words in ("startend:quotation", "3 prompts, 4 instructions"):
        assert words in run.out
    assert run.out.split()[-4:] == ["0.3333", "0.5000", "0.6667", "0.7500"]
    write_rows(folder / "both.jsonl", [asked | given for asked, given in zip(DATA, RESPONSES, strict=True)])
    for files in (("responses.jsonl", "--input", "data.jsonl"), ("both.jsonl",)):
        shown = json.loads(calipers("ifeval", *files, "--json").out)
        assert (shown["prompt_strict"], shown["inst_strict"], shown["errors"]) == (1 / 3, 0.5, [])
        assert (shown["prompt_loose"], shown["inst_loose"]) == (2 / 3, 0.75)
    write_rows(folder / "responses.jsonl", RESPONSES[:1])
    run = calipers("ifeval", "responses.jsonl", "--input", "data.jsonl", "--json")
    assert (run.code, json.loads(run.out)["prompt_strict"]) == (1, 1)
    assert "2 of 3 prompts have no response" in run.err


def test_bad_lines_are_named_the_rest_is_checked_and_the_exit_code_is_1(folder: Path, calipers: Calipers) -> None:
    data: list[tuple[Any, str]] = [
        (DATA[0] | {"kwargs": [{"letter": "a"}]}, "data.jsonl:4: kwargs[0]: punctuation:no_comma: letter: not a field"),
        (DATA[0] | {"instruction_id_list": ["x:y"]}, "data.jsonl:5: instruction_id_list[0]: unknown instruction 'x:y'"),
        ("{", "data.jsonl:6: not complete JSON"),
    ]
    responses: list[tuple[Any, str]] = [
        ("[1]", "responses.jsonl:4: the line is a list"),
        ({"prompt": "p1", "response": None}, "responses.jsonl:5: response: is missing"),
        ({"prompt": "p9", "response": "a"}, "responses.jsonl:6: prompt: there is no such prompt"),
    ]
    write_rows(folder / "data.jsonl", [*DATA, *(row for row, _ in data)])
    write_rows(folder / "responses.jsonl", [*RESPONSES, *(row for row, _ in responses)])
    run = calipers("ifeval", "responses.jsonl", "--input", "data.jsonl", "--json")
    shown = json.loads(run.out)
    assert (run.code, shown["prompts"]) == (1, 3)
    complaints = [words for _, words in (*data, *responses)]
    assert [
        words for words in complaints if words not in run.err or not any(words in one for one in shown["errors"])
    ] == []


def test_bad_usage_is_one_sentence_with_the_remedy(folder: Path, calipers: Calipers) -> None:
    write_rows(folder / "empty.jsonl", [])
    cases = [
        (("ifeval", "responses.jsonl"), "--input DATA"),
        (("ifeval", "empty.jsonl", "--input", "data.jsonl"), "no response could be checked"),
    ]
    assert mismatches(calipers, cases) == []


def test_parquet_and_columns_of_responses_are_read(folder: Path, calipers: Calipers) -> None:
    rows = [{**DATA[0], "kwargs": [None], "responses": ["no comma", "a, b"]}]
    write_parquet(folder / "responses.parquet", rows)
    shown = json.loads(calipers("ifeval", "responses.parquet", "--json").out)
    assert (shown["prompts"], shown["prompt_strict"]) == (2, 0.5)
    write_rows(folder / "rubrics.jsonl", [{**row, "rubrics": ["a"]} for row in DATA])
    run = calipers("ifeval", "responses.jsonl", "--input", "rubrics.jsonl")
    assert "rubrics.jsonl: not used: rubrics; only IFEval's instructions are checked here" in run.err


CHAT = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Say hello."}]
ASKED = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
CARRIED: list[dict[str, Any]] = [
    {"prompt": "Say hello.", **ASKED},
    {"prompt": CHAT, "extra_info": json.dumps(ASKED)},
    {"prompt": CHAT, "reward_model": {"ground_truth": json.dumps(ASKED)}},
    {"prompt": CHAT, "ground_truth": "[{'instruction_id': ['punctuation:no_comma'], 'kwargs': [None]}]"},
    {"prompt": CHAT, "instruction_id_list": json.dumps(["punctuation:no_comma"]), "kwargs": ["{}"]},
    {"context": CHAT, "instruction_id_list": ["punctuation:no_comma"], "kwargs": "[{}]"},
]


def test_instructions_are_found_in_every_place_of_a_row() -> None:
    for row in CARRIED:
        (one,) = each_response({**row, "response": "Hello"})
        prompt = read_prompt(one, 1)
        assert (prompt.text, read_response(one, 1).text) == ("Say hello.", "Hello")
        assert [check.strict("a, b").met for check in prompt.instructions] == [False]


def test_each_trajectory_of_a_group_is_a_response() -> None:
    said = ["Hello", "<think>Hm, yes</think>Hi", "", "<think>Hm,"]
    members = [{"messages": [{"role": "assistant", "content": text}]} for text in said]
    found = each_response({"context": CHAT, "trajectories": members, **ASKED})
    assert [one["response"] for one in found] == ["Hello", "Hi", "", ""]


def test_what_cannot_be_read_names_the_field() -> None:
    for row, words in (
        ({"prompt": "x", "instruction_id_list": "[oops", "kwargs": []}, "instruction_id_list: its JSON text"),
        ({"prompt": [{"role": "system", "content": "x"}], **ASKED}, "prompt: must be text, or messages"),
        ({"prompt": "x", "extra_info": ASKED, "reward_model": {**ASKED, "kwargs": [{"a": 1}]}}, "differ"),
    ):
        with pytest.raises(InputError, match=words):
            list(each_response({**row, "response": "x"}))
