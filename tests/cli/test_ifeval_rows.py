"""IFEval's fields are found wherever rows of data sets keep them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calipers.cli.ifeval_rows import each_response
from calipers.errors import InputError
from calipers.verifiers.ifeval.rows import read_prompt, read_response

ASKED = {"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}]}
CHAT = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Say hello."}]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "Say hello.", **ASKED},
        {"prompt": CHAT, **ASKED},
        {"prompt": CHAT, "extra_info": ASKED},
        {"prompt": CHAT, "extra_info": json.dumps(ASKED)},
        {"prompt": CHAT, "reward_model": {"ground_truth": json.dumps(ASKED)}},
        {"prompt": CHAT, "ground_truth": "[{'instruction_id': ['punctuation:no_comma'], 'kwargs': [None]}]"},
        {"prompt": CHAT, "instruction_id_list": json.dumps(["punctuation:no_comma"]), "kwargs": ["{}"]},
        {"context": CHAT, "instruction_id_list": ["punctuation:no_comma"], "kwargs": "[{}]"},
    ],
)
def test_instructions_are_found(row: dict[str, Any]) -> None:
    (one,) = each_response({**row, "response": "Hello"})
    prompt = read_prompt(one, 1)
    assert prompt.text == "Say hello."
    assert [check.strict("a, b").met for check in prompt.instructions] == [False]
    assert read_response(one, 1).text == "Hello"


def test_each_trajectory_of_a_group_is_a_response() -> None:
    said = ["Hello", "<think>Hm, yes</think>Hi", "", "<think>Hm,"]
    group = {
        "context": CHAT,
        "trajectories": [{"messages": [{"role": "assistant", "content": text}]} for text in said],
        **ASKED,
    }
    assert [one["response"] for one in each_response(group)] == ["Hello", "Hi", "", ""]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"prompt": "x", "instruction_id_list": "[oops", "kwargs": []}, "instruction_id_list: its JSON text"),
        ({"prompt": [{"role": "system", "content": "x"}], **ASKED}, "prompt: must be text, or messages"),
        ({"prompt": "x", "extra_info": ASKED, "reward_model": {**ASKED, "kwargs": [{"a": 1}]}}, "differ"),
    ],
)
def test_what_cannot_be_read_names_the_field(row: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        list(each_response({**row, "response": "x"}))
