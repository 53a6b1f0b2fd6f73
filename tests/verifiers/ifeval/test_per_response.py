"""A line a response, with the keys of the official evaluator's files."""

import json
from pathlib import Path

from calipers.verifiers.ifeval.report import Judged, check_response, results_row, write_results
from calipers.verifiers.ifeval.rows import read_prompt, read_response

ROW = {"key": 7, "prompt": "p", "instruction_id_list": ["punctuation:no_comma", "keywords:letter_frequency"],
       "kwargs": [{}, {"letter": "#", "let_frequency": 1, "let_relation": "at least"}]}  # fmt: skip


def judged(text: str) -> Judged:
    prompt = read_prompt(ROW, 1, mode="official")
    response = read_response({"response": text}, 1)
    return prompt, response, check_response(prompt, response)


def test_a_line_has_the_official_keys_and_says_where_there_is_no_verdict() -> None:
    strict, loose = results_row(judged("a, b\nc"), "strict"), results_row(judged("a, b\nc"), "loose")
    assert strict == {
        "follow_all_instructions": False,
        "follow_instruction_list": [False, False],
        "instruction_id_list": ROW["instruction_id_list"],
        "prompt": "p",
        "response": "a, b\nc",
        "key": 7,
        "no_verdict": [1],
    }
    assert loose["follow_instruction_list"] == [True, False]


def test_both_files_are_written_and_written_again(tmp_path: Path) -> None:
    for texts in (["a", "b, c"], ["a"]):
        write_results([judged(text) for text in texts], tmp_path)
        for reading in ("strict", "loose"):
            lines = (tmp_path / f"eval_results_{reading}.jsonl").read_text(encoding="utf-8").splitlines()
            assert [json.loads(line)["response"] for line in lines] == texts
