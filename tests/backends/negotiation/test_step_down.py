"""Stepping down: what a refusal names is left out, and nothing else is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.asking import SCHEMA, keyed, question
from calipers.backends.negotiation.negotiated import Capabilities, Terms
from calipers.backends.negotiation.step_down import BodyNames, Step, step_down
from calipers.backends.providers.openai_compatible import CHAT_NAMES, chat_body
from calipers.backends.transport.refusals import read_refusal
from calipers.backends.transport.reply import HttpReply
from calipers.types.encoding import EncodedDict

PARAMS = {"temperature": 0.0, "seed": 1, "n": 1, "top_p": 0.9}


def _body(*refused: str, newer: bool = False, limit: int | None = None, schema: Any = SCHEMA) -> dict[str, Any]:
    known = Capabilities(frozenset(refused))
    return chat_body(question(schema=schema, params=PARAMS), Terms(known, limit), model="m", newer_names=newer)


def _step(status: int, said: Any, body: dict[str, Any] | None = None) -> Step | None:
    answer = {"error": {"message": said}} if isinstance(said, str) else said
    return step_down(read_refusal(HttpReply(status, {}, json.dumps(answer).encode()), ()), body or _body(), CHAT_NAMES)


def test_everything_is_asked_for_at_first() -> None:
    body = _body()
    assert body["response_format"]["json_schema"] == {"name": "verdict", "strict": True, "schema": SCHEMA}
    assert body["max_tokens"] == 2000
    assert {name: body[name] for name in PARAMS} == PARAMS


@pytest.mark.parametrize("refused", [(), ("strict",), ("schema.type",), ("json_schema",)])
def test_a_form_around_a_written_schema_is_written_just_as_it_would_be_encoded(refused: tuple[str, ...]) -> None:
    form = _body(*refused, schema=EncodedDict(SCHEMA))["response_format"]
    assert form == _body(*refused, schema=SCHEMA)["response_format"]
    assert isinstance(form, EncodedDict) == (not refused)
    if isinstance(form, EncodedDict):
        assert form.text == json.dumps(form, separators=(",", ":"))


def test_structured_output_steps_from_schema_to_object_to_nothing() -> None:
    assert _body("json_schema")["response_format"] == {"type": "json_object"}
    assert "response_format" not in _body("json_schema", "json_object")
    assert "strict" not in _body("strict")["response_format"]["json_schema"]


def test_no_schema_asks_for_no_form() -> None:
    assert "response_format" not in _body(schema=None)


def test_the_token_limit_goes_by_the_name_the_server_takes() -> None:
    assert _body(newer=True)["max_completion_tokens"] == 2000
    assert "max_tokens" not in _body(newer=True)
    assert _body("max_tokens")["max_completion_tokens"] == 2000
    assert not {"max_tokens", "max_completion_tokens"} & set(_body("max_tokens", "max_completion_tokens"))
    assert _body(limit=500)["max_tokens"] == 500


def test_a_refused_keyword_leaves_the_schema_but_never_a_property_of_its_name() -> None:
    schema = {
        "type": "object",
        "properties": {"maxLength": {"type": "string", "maxLength": 9}, "b": keyed({"type": "string", "maxLength": 9})},
    }
    sent = _body("schema.maxLength", schema=schema)["response_format"]["json_schema"]["schema"]
    assert sent["properties"]["maxLength"] == {"type": "string"}
    assert sent["properties"]["b"]["properties"]["BC"] == {"type": "string"}


@pytest.mark.parametrize(
    ("status", "said", "left_out"),
    [
        (400, "Unsupported value: 'temperature' does not support 0 with this model.", {"temperature"}),
        (400, "Unsupported parameter: 'max_tokens' is not supported with this model.", {"max_tokens"}),
        (400, {"error": {"message": "nope", "param": "seed"}}, {"seed"}),
        (422, "Unexpected fields in the request: {'seed', 'response_format', 'n'}", {"seed", "json_schema", "n"}),
        (422, {"detail": [{"loc": ["body", "top_p"], "msg": "Extra inputs are not permitted"}]}, {"top_p"}),
        (400, "This response_format type is unavailable now", {"json_schema"}),
        (400, "This model does not support response format `json_schema`.", {"json_schema"}),
        (400, "Failed to initialize samplers: std::exception", {"json_schema"}),
        (400, 'JSON schema conversion failed: Unrecognized schema: {"type":"odd"}', {"json_schema"}),
        (404, "No endpoints found that can handle the requested parameters.", {"json_schema"}),
        (500, {"detail": [{"loc": ["body", "response_format"], "msg": "Input should be 'text' or 'json_object'"}]},
         {"json_schema"}),
        (500, "Input should be 'text' or 'json_object'", {"json_schema"}),
        (400, {"error": {"message": "Invalid", "param": "response_format.json_schema.strict"}}, {"strict"}),
        (400, "Invalid schema for response_format 'verdict': 'minimum' is not permitted.", {"schema.minimum"}),
    ],
)  # fmt: skip
def test_what_a_refusal_names_is_left_out(status: int, said: Any, left_out: set[str]) -> None:
    assert _step(status, said) == Step(frozenset(left_out))


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (400, "messages must not be empty"),
        (400, "Field required: model"),
        (401, "temperature"),
        (404, "seed: model not found"),
        (429, "temperature too high, come back later"),
        (500, "The model produced output that does not match the expected peg-native format"),
        (500, "worker died while it compiled json_schema"),
        (400, "Unsupported parameter: 'logprobs'"),
        (400, "an error in a sentence with a minimum of stop words and n of them"),
    ],
)
def test_a_refusal_that_names_nothing_we_sent_changes_nothing(status: int, said: str) -> None:
    assert _step(status, said) is None


def test_the_second_refusal_of_a_form_steps_further_down() -> None:
    said = "'response_format.type' must be 'text'"
    assert _step(400, said, _body("json_schema")) == Step(frozenset({"json_object"}))
    assert _step(400, said, _body("json_schema", "json_object")) is None


@pytest.mark.parametrize(
    ("said", "limit"),
    [
        ("max_tokens is too large: 2000. This model supports at most 1024 completion tokens", 1024),
        ("Invalid max_tokens value, the valid range of max_tokens is [1, 512]", 512),
        ("It has a maxOutputTokens value of 2000 but the supported range is from 1 (inclusive) to 513 (exclusive)",
         512),
        (("'max_tokens' is too large: 2000. This model's maximum context length is 2048 tokens and it has 100 input "
         "tokens"), 1948),
    ],
)  # fmt: skip
def test_a_limit_that_is_too_large_is_lowered_for_this_question_only(said: str, limit: int) -> None:
    assert _step(400, said) == Step(limit=limit)


def test_capabilities_only_grow_and_survive_as_plain_data() -> None:
    known = Capabilities().without(frozenset({"seed"})).without(frozenset({"json_schema"}))
    assert known.to_dict() == {"refused": ["json_schema", "seed"]}
    assert Capabilities.from_dict(json.loads(json.dumps(known.to_dict()))) == known
    assert known.without(frozenset({"seed"})) is known


@given(st.text(max_size=200), st.sampled_from([400, 404, 422, 500]))
def test_every_step_leaves_out_something_that_was_sent(said: str, status: int) -> None:
    """So that stepping down always ends."""
    words = ["temperature", "seed", "'n'", "json_schema", "strict", "'minimum'", "max_tokens", "response_format"]
    for word in words:
        body = _body()
        step = _step(status, f"{said} {word} unsupported", body)
        if step is not None and step.limit is None:
            after = _body(*step.refused)
            assert after != body
            assert len(json.dumps(after)) <= len(json.dumps(body)) + len("completion_")


NESTED = BodyNames(
    required=frozenset({"contents"}),
    max_tokens=("config.maxOutputTokens",),
    forms={"json_schema": "config.responseJsonSchema", "json_object": "config.responseMimeType"},
    schema="config.responseJsonSchema",
    top_logprobs="config.logprobs",
    parameters="config",
)
"""An API that has its parameters in an object of their own, under its own names."""


def _nested(**more: Any) -> dict[str, Any]:
    return {"contents": [], "config": {"maxOutputTokens": 2000, "topK": 5, "logprobs": 20, **more}}


@pytest.mark.parametrize(
    ("said", "body", "step"),
    [
        ("it has a maxOutputTokens value of 2000 but the supported range is from 1 (inclusive) to 1025 (exclusive)",
         _nested(), Step(limit=1024)),
        ("logprobs must be at most 5", _nested(), Step(frozenset({"top_logprobs>5"}))),
        ("topK: not supported by this model", _nested(), Step(frozenset({"topK"}))),
        ("Unknown name 'responseJsonSchema' at 'config'", _nested(responseJsonSchema=SCHEMA, responseMimeType="json"),
         Step(frozenset({"json_schema"}))),
        ("responseJsonSchema: keyword 'minimum' is not supported", _nested(responseJsonSchema=SCHEMA),
         Step(frozenset({"schema.minimum"}))),
        ("JSON mode is not supported", _nested(responseMimeType="json"), Step(frozenset({"json_object"}))),
        ("contents is required", _nested(), None),
        ("config is malformed", _nested(), None),
    ],
)  # fmt: skip
def test_a_body_is_stepped_down_under_the_names_that_its_provider_gives(
    said: str, body: dict[str, Any], step: Step | None
) -> None:
    refusal = read_refusal(HttpReply(400, {}, json.dumps({"error": {"message": said}}).encode()), ())
    assert step_down(refusal, body, NESTED) == step
