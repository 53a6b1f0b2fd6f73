"""Judges with tools: bounded turns over candidates' artifacts, recorded and replayed; no failure becomes a score."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.judging.judge import Judge
from calipers.ledger import open_ledger
from replaying import replayed
from servers.faulty_server import Answer, Asked, FaultyServer, error, said

TESTS = "def test_adds():\n    assert add(2, 2) == 4\n"
GROUP: dict[str, Any] = {
    "group_id": "g",
    "context": [{"role": "user", "content": "Fix add()."}],
    "artifacts": {"tests/test_add.py": TESTS},
    "trajectories": [
        {"id": name, "messages": [{"role": "assistant", "content": f"{claim}; all tests pass."}],
         "artifacts": {"tests/test_add.py": tests, "pytest.log": "1 passed"}}
        for name, claim, tests in (
            ("honest", "Fixed", TESTS),
            ("tampered", "Done", "def test_adds():\n    assert True\n"),
        )
    ],
}  # fmt: skip


def keys_in(asked: Asked) -> list[str]:
    """The keys of the attempts that the question names."""
    named: list[str] = re.findall(r"Score these attempts: ([A-Z, ]+)\.", json.dumps(asked.body["messages"]))
    return named[0].split(", ")


def called(*calls: tuple[str, Mapping[str, Any]], content: str | None = None) -> Answer:
    functions = [{"name": name, "arguments": json.dumps(given)} for name, given in calls]
    made = [{"id": f"own {place}", "type": "function", "function": one} for place, one in enumerate(functions)]
    return said(content, finish_reason="tool_calls", tool_calls=made)


def scores(values: Mapping[str, int]) -> Answer:
    return said(json.dumps({"explanations": dict.fromkeys(values, "as its files show"), "scores": values}))


def follows_evidence(asked: Asked) -> Answer:
    """Compare each attempt's tests with the task's; an attempt whose tests differ gets 10, the others 90."""
    results = [one["content"] for one in asked.body["messages"] if one["role"] == "tool"]
    keys = keys_in(asked)
    if not results:
        return called(*(("diff", {"attempt": key, "path": "tests/test_add.py"}) for key in keys))
    return scores({key: 90 if "equal" in result else 10 for key, result in zip(keys, results, strict=True)})


def judge_with(server: FaultyServer, **options: Any) -> Judge:
    given = {"tools": "all", "calls": {"attempts": 1}, **options}
    return Judge("openai/judge", base_url=server.url, api_key="k", **given)


async def test_a_judge_reads_files_and_scores_what_they_show(faulty: FaultyServer):
    faulty.script(follows_evidence)
    result = await judge_with(faulty).score_group(GROUP)
    assert [one.reward for one in result.trajectories] == [0.9, 0.1]
    assert (result.judge_calls, result.usage.input_tokens) == (2, 20)
    first, second = faulty.posts
    assert [tool["function"]["name"] for tool in first["tools"]] == ["list_files", "read_file", "diff", "python"]
    assert "response_format" not in first  # many servers cannot call tools while a format is enforced
    _, _, asked, *told = second["messages"]
    assert [call["id"] for call in asked["tool_calls"]] == [one["tool_call_id"] for one in told]
    assert all(re.fullmatch(r"[A-Za-z0-9]{9}", one["tool_call_id"]) for one in told)
    assert sorted(one["content"].count("-    assert add(2, 2) == 4") for one in told) == [0, 1]


async def test_anthropics_api_gets_tools_and_results_in_its_own_form(faulty: FaultyServer):
    def answer(asked: Asked) -> Answer:
        usage = {"input_tokens": 6, "output_tokens": 5}
        base = {"id": "m", "type": "message", "role": "assistant", "model": "served", "usage": usage}
        last = asked.body["messages"][-1]["content"]
        keys = keys_in(Asked("POST", "", {}, {"messages": asked.body["messages"][:1]}))
        if isinstance(last, str):
            use = {"type": "tool_use", "id": "toolu_1", "name": "list_files", "input": {}}
            content = [{"type": "text", "text": "Let me look."}, use, {**use, "id": "toolu_2", "name": "delete_files"}]
            return Answer(body={**base, "content": content, "stop_reason": "tool_use"})
        text = json.dumps({"scores": {key: 40 + 10 * place for place, key in enumerate(keys)}})
        return Answer(body={**base, "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"})

    faulty.script(answer)
    judge = Judge("anthropic/judge", base_url=faulty.url, api_key="k", tools=["list_files"])
    result = await judge.score_group(GROUP)
    assert result.status == "scored"
    first, second = faulty.posts
    (tool,) = first["tools"]
    assert (tool["name"], tool["description"]) == ("list_files", "List the files of all attempts, with their sizes.")
    schema = tool["input_schema"]
    assert (schema["type"], set(schema["properties"])) == ("object", {"attempt"})
    assert schema["required"] == []
    _, asked, told = second["messages"]
    assert [block["type"] for block in asked["content"]] == ["text", "tool_use", "tool_use"]
    assert asked["content"][1]["input"] == {}
    assert (told["role"], [block["type"] for block in told["content"]]) == ("user", ["tool_result", "tool_result"])
    assert "tests/test_add.py (2 lines" in told["content"][0]["content"]
    assert told["content"][1]["content"] == "error: there is no tool 'delete_files'; the tools are list_files"


async def test_every_turn_is_in_the_ledger_and_a_replay_gives_the_same_bytes(tmp_path: Path, faulty: FaultyServer):
    path = tmp_path / "runs.db"
    faulty.script(follows_evidence)
    judge = judge_with(faulty, ledger=path)
    result = await judge.score_group(GROUP)
    judge.close()
    again = judge_with(faulty, ledger=path)
    repeated = await again.score_group(GROUP)
    again.close()
    assert len(faulty.posts) == 2
    assert repeated.to_dict() == result.to_dict()
    ledger = open_ledger(path)
    rows = ledger.rows("SELECT number, cause, outcome, reason FROM asks WHERE run = 1 ORDER BY number")
    assert rows == [(0, "first", "strict", "called diff"), (10_000_000, "tools", "strict", None)]
    assert [one.to_dict() for one in await replayed(path, 1)] == [result.to_dict()]


async def test_a_judge_that_never_stops_calling_fails_and_replays_so(tmp_path: Path, faulty: FaultyServer):
    path = tmp_path / "runs.db"
    faulty.script(called(("list_files", {})))
    judge = judge_with(faulty, ledger=path, tools="all")
    result = await judge.score_group(GROUP)
    judge.close()
    assert [one.status for one in result.trajectories] == ["failed", "failed"]
    assert [one.reward for one in result.trajectories] == [None, None]
    assert "called tools in 9 answers and gave no verdict" in str(result.trajectories[0].reason)
    assert (result.judge_calls, len(faulty.posts)) == (9, 9)
    assert "There are no more turns with tools" in faulty.posts[-1]["messages"][-1]["content"]
    assert [one.to_dict() for one in await replayed(path)] == [result.to_dict()]


async def test_a_failure_in_a_later_turn_is_a_failed_question_and_its_cost_is_counted(faulty: FaultyServer):
    faulty.script(called(("list_files", {})), error(400, "scripted"))
    result = await judge_with(faulty).score_group(GROUP)
    assert {one.status for one in result.trajectories} == {"failed"}
    assert (result.judge_calls, result.usage.input_tokens) == (1, 10)


async def test_tools_return_no_more_bytes_than_they_may(faulty: FaultyServer):
    big = {**GROUP, "artifacts": {"log": "a line of a long log\n" * 5000}}
    faulty.script(called(*[("read_file", {"attempt": "task", "path": "log", "lines": 5000})] * 6))
    await judge_with(faulty, tools="all").score_group(big)
    results = [one["content"] for one in faulty.posts[-1]["messages"] if one["role"] == "tool"]
    assert "... cut: " in results[0]
    assert sum(len(one) for one in results[:4]) <= 65_536
    assert results[4].startswith("error: the tools have returned all that they may")


async def test_without_artifacts_the_question_is_the_usual_one_and_a_warning_says_so(faulty: FaultyServer):
    bare = {**GROUP, "artifacts": None, "trajectories": [{**one, "artifacts": None} for one in GROUP["trajectories"]]}
    faulty.script(lambda asked: scores(dict.fromkeys(keys_in(asked), 50)))
    result = await judge_with(faulty).score_group(bare)
    await Judge("openai/judge", base_url=faulty.url, api_key="k").score_group(GROUP)
    assert faulty.posts[0] == faulty.posts[1]
    assert any("tools= had no effect" in warning for warning in result.warnings)


async def test_equal_transcripts_with_different_files_are_different_candidates_only_with_tools(faulty: FaultyServer):
    twins = json.loads(json.dumps(GROUP).replace("Done;", "Fixed;"))
    faulty.script(follows_evidence)
    result = await judge_with(faulty).score_group(twins)
    alone = await Judge("openai/judge", base_url=faulty.url, api_key="k").score_group(twins)
    assert [one.reward for one in result.trajectories] == [0.9, 0.1]
    assert alone.judge_calls == 0  # identical to a judge that sees transcripts alone
    assert [one.reward for one in alone.trajectories] == [0.5, 0.5]


async def test_a_stream_that_calls_tools_is_read_as_a_call(faulty: FaultyServer):
    def chunk(**delta: Any) -> dict[str, Any]:
        return {"model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}

    def answer(asked: Asked) -> Answer:
        if any(one["role"] == "tool" for one in asked.body["messages"]):
            return scores(dict.fromkeys(keys_in(asked), 50))
        first = {"index": 0, "id": "x", "function": {"name": "list_files", "arguments": ""}}
        events = [chunk(tool_calls=[first]), chunk(tool_calls=[{"index": 0, "function": {"arguments": "{}"}}])]
        text = "".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n\n"
        return Answer(body=text.encode(), headers={"Content-Type": "text/event-stream"})

    faulty.script(answer)
    result = await judge_with(faulty).score_group(GROUP)
    assert result.status == "scored"
    assert "tests/test_add.py" in faulty.posts[-1]["messages"][-1]["content"]


def test_what_cannot_work_is_refused_before_a_token_is_spent():
    cases: list[tuple[dict[str, Any], str]] = [
        ({"judge": "embedded", "tools": "all"}, "embedded does not"),
        ({"judge": "vllm/a", "tools": ["read_file", "delete"]}, "'delete' is no tool"),
        ({"judge": "vllm/a", "tools": ["diff", "diff"]}, "name each tool once"),
        ({"judge": "vllm/a", "tools": "diff", "question": {"expected": True}}, "leave one out"),
    ]
    for options, finding in cases:
        with pytest.raises(ConfigError, match=re.escape(finding)):
            Judge(**options)
