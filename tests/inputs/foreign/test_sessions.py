"""Files whose rows are messages are one rollout, whatever their first row is; sub-agents are left out by name."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from calipers.inputs import read_groups
from calipers.inputs.parts import joined_block_text
from inputs.foreign.dialect_messages import MCP
from inputs.foreign.written import read, said_in, written


def line(role: str, text: str, **more: Any) -> dict[str, Any]:
    return {"type": role, "sessionId": "s", "message": {"role": role, "content": text}, **more}


TITLE = {"type": "summary", "summary": "a title", "leafUuid": "u"}
SNAPSHOT = {"type": "file-history-snapshot", "messageId": "m", "snapshot": {"timestamp": "t"}}
MAIN = [line("user", "q"), line("assistant", "a")]
SUB = [line("user", "sub q", isSidechain=True), line("assistant", "sub a", isSidechain=True)]


@pytest.mark.parametrize("head", [[TITLE], [SNAPSHOT], [SNAPSHOT, TITLE], [{"note": 1}, TITLE][1:], []])
def test_the_first_row_does_not_decide(head: list[Any], tmp_path: Path):
    groups, problems = read(written(tmp_path / "s.jsonl", *head, *MAIN))
    assert (said_in(groups), problems) == ([[["q", "a"]]], [])


def test_a_row_that_is_no_rollout_does_not_hide_the_others(tmp_path: Path):
    groups, problems = read(written(tmp_path / "s.jsonl", {"note": 1}, {"prompt": "p", "completion": "a"}))
    assert said_in(groups) == [[["p", "a"]]]
    assert problems[0].startswith(":1: is of no known format; it has the keys note")
    damaged = written(tmp_path / "d.jsonl", b"{oops\n", {"prompt": "p", "completion": "a"})
    groups, problems = read(damaged)
    assert (said_in(groups), problems[0][:12]) == ([[["p", "a"]]], ":1: not JSON")


def test_sub_agents_are_left_out_of_the_main_conversation_by_name(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    rows = [MAIN[0], *SUB, {"type": "system", "sessionId": "s", "content": "hook"}, MAIN[1], SNAPSHOT]
    groups, _ = read(written(tmp_path / "s.jsonl", *rows))
    assert said_in(groups) == [[["q", "a"]]]
    assert f"{tmp_path}/s.jsonl:1: not in the rollout: 2 messages of sub-agents" in caplog.text
    assert groups[0].trajectories[0].metadata == {
        "file": "s.jsonl",
        "left_out": "2 messages of sub-agents; 1 line of type system; 1 line of type file-history-snapshot",
    }


def test_a_file_of_a_sub_agent_alone_is_its_session(tmp_path: Path):
    groups, _ = read(written(tmp_path / "agent.jsonl", *SUB))
    assert said_in(groups) == [[["sub q", "sub a"]]]
    assert groups[0].trajectories[0].metadata == {"file": "agent.jsonl"}


def test_the_commands_stream_is_a_session(tmp_path: Path):
    rows = [
        {"type": "system", "subtype": "init", "session_id": "s", "tools": []},
        {"type": "assistant", "session_id": "s", "parent_tool_use_id": None, "message": MAIN[1]["message"]},
        {"type": "assistant", "session_id": "s", "parent_tool_use_id": "t", "message": SUB[1]["message"]},
        {"type": "result", "subtype": "success", "session_id": "s", "result": "a"},
    ]
    groups, _ = read(written(tmp_path / "s.jsonl", *rows))
    assert said_in(groups) == [[["a"]]]
    assert groups[0].trajectories[0].metadata["left_out"].startswith("1 message of sub-agents; 1 line of type system")


def test_a_session_with_a_damaged_line_is_refused_and_not_shortened(tmp_path: Path):
    groups, problems = read(written(tmp_path / "s.jsonl", MAIN[0], b"{oops\n", MAIN[1]))
    assert (groups, problems[0][:12]) == ([], ":2: not JSON")
    assert problems[0].endswith("; the file is one rollout, which cannot be read without this line")


def test_messages_and_rollouts_in_one_file_are_pointed_out(tmp_path: Path):
    rollout = {"prompt": "p", "completion": "a"}
    groups, problems = read(written(tmp_path / "a.jsonl", rollout, MCP[3]))
    assert (len(groups), problems) == (
        1,
        [":2: is a single message in a file of rollouts; give messages and rollouts in files of their own"],
    )
    groups, problems = read(written(tmp_path / "b.jsonl", *MCP, rollout))
    assert (len(groups), problems[0][:34]) == (0, ":8: is a whole rollout in a file o")


def test_bom_crlf_and_gzip_are_read(tmp_path: Path):
    text = "\ufeff" + "\r\n".join(json.dumps(row) for row in (TITLE, *MAIN))
    (tmp_path / "s.jsonl").write_bytes(text.encode())
    (tmp_path / "s.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("s.jsonl", "s.jsonl.gz"):
        assert said_in(list(read_groups(tmp_path / name))) == [[["q", "a"]]]


def linked(role: str, content: Any, own: str, parent: str | None, **more: Any) -> dict[str, Any]:
    return line(role, content, uuid=own, parentUuid=parent, **more)


def calling(call: str) -> list[dict[str, Any]]:
    return [{"type": "tool_use", "id": call, "name": "look", "input": {}}]


def result(call: str) -> list[dict[str, Any]]:
    return [{"type": "tool_result", "tool_use_id": call, "content": f"result {call}"}]


def test_the_branch_before_a_rewind_is_set_aside_and_counted(tmp_path: Path):
    rows = [
        linked("user", "q", "1", None),
        linked("assistant", "a", "2", "1"),
        linked("user", "wrong turn", "3", "2"),
        linked("assistant", "wrong", "4", "3"),
        {"type": "system", "sessionId": "s", "uuid": "5", "parentUuid": "2", "content": "hook"},
        linked("user", "right turn", "6", "5"),
        linked("assistant", "right", "7", "6"),
    ]
    groups, problems = read(written(tmp_path / "s.jsonl", *rows))
    assert (said_in(groups), problems) == ([[["q", "a", "right turn", "right"]]], [])
    assert (
        groups[0].trajectories[0].metadata["left_out"]
        == "2 messages of branches before a rewind; 1 line of type system"
    )
    first = [*rows[:2], linked("user", "q2", "8", None), linked("assistant", "a2", "9", "8")]
    assert said_in(read(written(tmp_path / "t.jsonl", *first))[0]) == [[["q2", "a2"]]]


def test_results_of_parallel_calls_are_no_branches(tmp_path: Path):
    rows = [
        linked("user", "q", "1", None),
        linked("assistant", calling("c1"), "2", "1"),
        linked("assistant", calling("c2"), "3", "2"),
        linked("user", result("c1"), "4", "2"),
        linked("user", result("c2"), "5", "3"),
        linked("assistant", "a", "6", "5"),
    ]
    for row in rows[1:3]:
        row["message"]["id"] = "m"
    for last in ("4", "5"):
        rows[-1]["parentUuid"] = last
        groups, _ = read(written(tmp_path / "s.jsonl", *rows))
        assert said_in(groups) == [[["q", None, None, "result c1", "result c2", "a"]]]
        assert "left_out" not in groups[0].trajectories[0].metadata


def test_a_compacted_conversation_keeps_what_was_said_before(tmp_path: Path):
    boundary = {"type": "system", "subtype": "compact_boundary", "sessionId": "s", "uuid": "3", "parentUuid": None}
    rows = [
        linked("user", "q", "1", None),
        linked("assistant", "a", "2", "1"),
        boundary | {"logicalParentUuid": "2"},
        linked("user", "summary", "4", "3"),
        linked("assistant", "more", "5", "4"),
        linked("user", "go on", "6", "not in the file"),
    ]
    groups, _ = read(written(tmp_path / "s.jsonl", *rows))
    assert said_in(groups) == [[["q", "a", "summary", "more", "go on"]]]


def test_lines_that_name_each_other_are_read_once(tmp_path: Path):
    groups, _ = read(written(tmp_path / "s.jsonl", linked("user", "q", "1", "2"), linked("assistant", "a", "2", "1")))
    assert said_in(groups) == [[["q", "a"]]]


def codex(kind: str, payload: dict[str, Any]) -> dict[str, Any]:
    return {"timestamp": "2026-11-01T00:00:00Z", "type": kind, "payload": payload}


def test_a_session_of_codex_is_its_items_and_names_the_other_lines(tmp_path: Path):
    rows = [
        codex("session_meta", {"id": "s", "cwd": "/work"}),
        codex("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]}),
        codex("event_msg", {"type": "user_message", "message": "q"}),
        codex("response_item", {"type": "reasoning", "summary": [{"type": "summary_text", "text": "look"}]}),
        codex("response_item", {"type": "function_call", "name": "run", "arguments": '{"cmd": "ls"}', "call_id": "c1"}),
        codex("response_item", {"type": "function_call_output", "call_id": "c1", "output": "a.txt"}),
        codex("response_item", {"type": "ghost_snapshot", "ghost_commit": {"id": "f00"}}),
        codex("response_item", {"type": "custom_tool_call", "call_id": "c2", "name": "patch", "input": "+ b"}),
        codex("response_item", {"type": "custom_tool_call_output", "call_id": "c2", "output": "done"}),
        codex("compacted", {"message": "so far"}),
        codex(
            "response_item", {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
        ),
    ]
    groups, problems = read(written(tmp_path / "rollout-1.jsonl", *rows))
    assert problems == []
    (trajectory,) = groups[0].trajectories
    left_out = "1 line of type session_meta; 1 line of type event_msg; 1 line of type compacted"
    assert trajectory.metadata["left_out"] == left_out
    messages = [*groups[0].context, *trajectory.messages]
    assert [one["role"] for one in messages] == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    assert messages[1]["reasoning"] == "look"
    assert [one["tool_calls"][0]["function"] for one in messages if "tool_calls" in one] == [
        {"name": "run", "arguments": '{"cmd": "ls"}'},
        {"name": "patch", "arguments": "+ b"},
    ]
    assert [one["content"] for one in messages if one["role"] == "tool"] == ["a.txt", "done"]


@pytest.mark.parametrize("form", ["data", "kwargs", "plain"])
def test_a_file_of_langchain_messages_is_one_rollout(form: str, tmp_path: Path):
    turns = [("system", "s"), ("human", "q"), ("ai", "a")]
    rows = {
        "data": [{"type": kind, "data": {"type": kind, "content": text}} for kind, text in turns],
        "kwargs": [
            {"lc": 1, "type": "constructor", "id": ["langchain"], "kwargs": {"type": kind, "content": text}}
            for kind, text in turns
        ],
        "plain": [{"type": kind, "content": text, "id": None} for kind, text in turns],
    }[form]
    path = tmp_path / "thread.json"
    path.write_text(json.dumps(rows))
    groups, problems = read(path)
    assert (said_in(groups), problems) == ([[["s", "q", "a"]]], [])


def test_a_session_of_codex_names_turns_that_were_undone_and_lines_of_later_versions(tmp_path: Path):
    rows = [
        codex("response_item", {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "q"}]}),
        codex("event_msg", {"type": "thread_rolled_back", "num_turns": 1}),
        codex("something_new", {"of": "a later version"}),
        codex("response_item", {"type": "token_count", "input_tokens": 12}),
        codex("response_item", {"type": "message", "role": "assistant", "content": "a"}),
    ]
    groups, problems = read(written(tmp_path / "rollout-2.jsonl", *rows))
    assert (said_in(groups), problems) == ([[["q", "a"]]], [])
    assert groups[0].trajectories[0].metadata["left_out"] == (
        "1 line of type thread_rolled_back (the turns that it undoes are in the rollout); "
        "1 line of type something_new; 1 line of type token_count"
    )


@pytest.mark.parametrize("system", ["be good", [{"type": "text", "text": "be good"}], [{"text": "be good"}]])
def test_the_system_prompt_beside_messages_is_the_first_of_them(system: Any, tmp_path: Path):
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    groups = list(read_groups(written(tmp_path / "m.jsonl", {"system": system, "messages": said}), reader="rollouts"))
    first, *rest = (*groups[0].context, *groups[0].trajectories[0].messages)
    assert (first["role"], joined_block_text(first["content"]), len(rest)) == ("system", "be good", 2)
    own = [{"role": "system", "content": "be brief"}, *said]
    groups = list(read_groups(written(tmp_path / "n.jsonl", {"system": system, "messages": own}), reader="rollouts"))
    assert said_in(groups) == [[["be brief", "q", "a"]]]
    assert groups[0].trajectories[0].metadata["system"] == system


def test_a_session_that_names_no_line_before_another_is_read_whole(tmp_path: Path):
    rows = [row | {"uuid": str(at), "parentUuid": None} for at, row in enumerate([*MAIN, *MAIN])]
    groups, _ = read(written(tmp_path / "s.jsonl", *rows))
    assert said_in(groups) == [[["q", "a", "q", "a"]]]
    assert groups[0].trajectories[0].metadata == {"file": "s.jsonl"}


def test_a_compaction_that_preserves_messages_follows_what_was_said_before_it(tmp_path: Path):
    """The last message that it preserves follows its summary, and is what the boundary says it follows itself."""
    boundary = {"type": "system", "subtype": "compact_boundary", "sessionId": "s", "uuid": "c", "parentUuid": None}
    rows = [
        line("user", "q", uuid="1", parentUuid=None),
        line("assistant", "undone", uuid="2", parentUuid="1"),
        line("assistant", "a", uuid="3", parentUuid="1"),
        line("user", "go on", uuid="4", parentUuid="3"),
        boundary | {"logicalParentUuid": "6"},
        line("user", "summary", uuid="5", parentUuid="c"),
        line("assistant", "gone on", uuid="6", parentUuid="5"),
        line("user", "thanks", uuid="7", parentUuid="6"),
    ]
    groups, _ = read(written(tmp_path / "s.jsonl", *rows))
    assert said_in(groups) == [[["q", "a", "go on", "summary", "gone on", "thanks"]]]
    left_out = groups[0].trajectories[0].metadata["left_out"]
    assert left_out == "1 message of branches before a rewind; 1 line of type system"


def test_several_sessions_in_one_file_are_not_one(tmp_path: Path):
    other = [row | {"sessionId": "t"} for row in MAIN]
    groups, problems = read(written(tmp_path / "s.jsonl", *MAIN, *other))
    assert (groups, problems) == ([], [":1: the file has 2 sessions (s, t); give each a file of its own"])

    def linked(session: str) -> list[dict[str, Any]]:
        first, second = (row | {"sessionId": session} for row in MAIN)
        return [first | {"uuid": f"{session}1", "parentUuid": None}, second | {"uuid": f"{session}2"} | {
            "parentUuid": f"{session}1"}]  # fmt: skip

    (group,), _ = read(written(tmp_path / "l.jsonl", *linked("s"), *linked("t")))
    assert group.trajectories[0].metadata["left_out"] == "2 messages of other sessions"


def test_an_event_in_a_file_of_its_own_is_no_rollout(tmp_path: Path):
    said = {"role": "user", "content": [{"type": "text", "text": "q"}]}
    event = {"id": "e1", "kind": "MessageEvent", "source": "user", "llm_message": said}
    groups, problems = read(written(tmp_path / "event-00001-e1.json", event))
    assert (groups, problems[0][:71]) == ([], ":1: is one event of a conversation; write the events of a conversation ")
    groups, problems = read(written(tmp_path / "conversation.jsonl", event, event))
    assert (len(groups), problems) == (1, [])
