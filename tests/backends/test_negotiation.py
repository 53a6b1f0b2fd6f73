"""What a refusal names is left out, nothing else is, and it ends; every provider's refusals end in a verdict."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

import calipers
from backends.asking import SCHEMA, at_once, question, replied
from calipers.backends.connect import find_backend
from calipers.backends.limits.limited import Limited
from calipers.backends.negotiation import KnownWindow, Negotiated, Terms, step_down
from calipers.backends.providers.anthropic import plain_schema
from calipers.backends.providers.openai_compatible import chat_body
from calipers.backends.transport.refusals import read_refusal
from calipers.render import BYTES_PER_TOKEN
from calipers.types import Window
from groups import FOUR, group_of
from servers.dialects import DIALECTS
from servers.faulty_server import FaultyServer

PARAMS = {"temperature": 0.0, "seed": 1, "n": 1, "top_p": 0.9}
_MORE_CALLS_THAN_A_PERFECT_SERVER_NEEDS = 3


def body_of(*refused: str, newer: bool = False, limit: int | None = None, schema: Any = SCHEMA) -> dict[str, Any]:
    terms = Terms(frozenset(refused), limit)
    return chat_body(question(schema=schema, params=PARAMS), terms, model="m", newer_names=newer)


def step(status: int, said: Any, body: dict[str, Any] | None = None) -> Terms | None:
    answer = {"error": {"message": said}} if isinstance(said, str) else said
    refusal = read_refusal(replied(answer, status=status), ())
    return step_down(refusal, body or body_of(), Negotiated.required)


def test_bodies_ask_for_what_is_not_refused() -> None:
    assert {name: body_of()[name] for name in PARAMS} == PARAMS
    assert "response_format" not in body_of("json_schema", "json_object")
    assert "response_format" not in body_of(schema=None)
    assert (body_of(newer=True)["max_completion_tokens"], body_of(limit=500)["max_tokens"]) == (2000, 500)
    assert body_of("max_tokens")["max_completion_tokens"] == 2000


def test_a_keyword_leaves_a_schema_but_never_a_property_of_its_name() -> None:
    schema = {"type": "object", "properties": {"maxLength": {"type": "string", "maxLength": 9}}}
    assert plain_schema(schema)["properties"] == {"maxLength": {"type": "string"}}


NEGOTIABLE = Path(__file__).parents[1] / "fixtures" / "negotiable.jsonl"
"""Refusals in the words of servers, and what the next request leaves out, or its limit; neither, for the last word."""


def test_a_refusal_leaves_out_what_it_names_and_nothing_else() -> None:
    wrong = []
    for line in NEGOTIABLE.read_text(encoding="utf-8").splitlines():
        case = json.loads(line)
        left_out, limit = frozenset(case.get("leave_out", ())), case.get("limit")
        wanted = Terms(left_out, limit=limit) if left_out or limit else None
        if (found := step(case["status"], case["body"])) != wanted:
            wrong.append((line, found))
    assert not wrong
    refused = "'response_format.type' must be 'text'"
    assert step(400, refused, body_of("json_schema")) == Terms(frozenset({"json_object"}))
    assert step(400, refused, body_of("json_schema", "json_object")) is None
    fewer = {"model": "m", "logprobs": True, "top_logprobs": 20}
    assert step(400, "top_logprobs must be at most 5", fewer) == Terms(frozenset({"top_logprobs"}))


@given(st.text(max_size=200), st.sampled_from([400, 404, 422, 500]))
def test_every_step_leaves_out_something_that_was_sent(said: str, status: int) -> None:
    """So that stepping down always ends."""
    for word in ("temperature", "seed", "'n'", "json_schema", "max_tokens", "response_format"):
        found = step(status, f"{said} {word} unsupported")
        if found is not None and found.limit is None:
            after = body_of(*found.refused)
            assert after != body_of()
            assert len(json.dumps(after)) <= len(json.dumps(body_of())) + len("completion_")


def test_a_refusal_teaches_the_window_the_smallest_counts_and_a_later_run_starts_from_it() -> None:
    known = KnownWindow()
    assert (known.tokens, known.bytes_per_token, known.reported, known.learned()) == (None, BYTES_PER_TOKEN, None, {})
    for tokens in (8192, 4096, 16_384):
        known.learn_from_refusal(Window(tokens, 2.0))
    assert known.reported == Window(4096, 2.0)
    later = KnownWindow()
    later.start_from({**known.learned(), "refused": ["seed"]})
    assert (later.tokens, later.bytes_per_token, later.reported) == (4096, 2.0, None)


async def test_every_dialect_ends_in_a_verdict_or_a_finding(faulty: FaultyServer) -> None:
    wrong = {}
    for name, dialect in DIALECTS.items():
        faulty.script(dialect.server())
        url = f"http://127.0.0.1:{faulty.port}{dialect.query}" if dialect.query else faulty.url
        backend = find_backend(dialect.judge, base_url=url, api_key="k", timeout=5)
        judge = calipers.Judge(
            Limited(backend, sleep=at_once), calls={"params": dialect.params}, question={"reasks": 0}
        )
        begun = len(faulty.posts)
        first = await judge.score_group(group_of(FOUR, group_id="first"))
        asked = len(faulty.posts)
        finding = first.trajectories[0].reason or ""
        if asked - begun > 1 + _MORE_CALLS_THAN_A_PERFECT_SERVER_NEEDS:
            wrong[name] = f"{asked - begun} calls"
        elif dialect.finding is not None:
            if first.status == "scored" or set(first.rewards) != {None} or not re.search(dialect.finding, finding):
                wrong[name] = finding
        elif (first.status, first.warnings) != ("scored", ()):
            wrong[name] = f"{first.status} {first.warnings} {finding}"
        else:
            second = await judge.score_group(group_of(FOUR, group_id="second", question="Another?"))
            if (second.status, len(faulty.posts) - asked) != ("scored", dialect.again):
                wrong[name] = f"then {second.status}, {len(faulty.posts) - asked} calls"
        await backend.aclose()
    assert wrong == {}
