"""Only a server that applies the form can answer so."""

from __future__ import annotations

import json
import random

import pytest

from calipers.backends.negotiation.format_probe import format_probe_request, improbable_word, is_format_applied
from calipers.backends.negotiation.step_down import Form
from calipers.types import Completion

WORD = "zqbcdfghjk"


def test_the_constant_is_in_the_schema_and_nowhere_in_the_question() -> None:
    word = improbable_word(random.Random(7))
    asked = format_probe_request(
        "json_schema", word, params={"temperature": 0, "seed": 1, "top_p": 0.9, "response_format": {}}
    )
    assert word not in json.dumps(asked.messages)
    assert word in json.dumps(asked.schema)
    assert dict(asked.params) == {"top_p": 0.9}


@pytest.mark.parametrize(
    ("form", "text", "finish", "proven"),
    [
        ("json_schema", f'{{"answer": "{WORD}"}}', "stop", True),
        ("json_schema", '{"answer": "apple"}', "stop", False),
        ("json_schema", "<think>fruit, fruit", "length", None),
        ("json_schema", "An apple is", "length", False),
        ("json_schema", '{"answer"  :  \n\n\n', "length", None),
        ("json_schema", '{"answer": "zq', "stop", False),
        ("json_schema", '{"fruit": "app', "length", False),
        ("json_object", '{"hello": "there"}', "stop", True),
        ("json_object", "Hello there.", "stop", False),
        ("json_object", "[1]", "stop", False),
        ("json_object", '<think>so</think>{"hello": "the', "length", True),
        ("json_object", "", "length", None),
        ("json_object", "<think>so</think>Hello", "length", False),
    ],
)
def test_what_an_answer_proves(form: Form, text: str, finish: str, proven: object) -> None:
    assert is_format_applied(form, WORD, Completion(text, finish_reason=finish)) is proven  # type: ignore[arg-type]
