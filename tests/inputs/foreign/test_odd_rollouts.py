"""What single formats write in odd cases: runs that failed, answers that repeat, images without a size."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import as_group, canonical, read_groups
from inputs.foreign.full_rows import ATIF, NEMO_GYM, OPENHANDS, SWE_AGENT, VERIFIERS_TRACES, text
from inputs.foreign.written import read, written


def contents(messages: Any) -> list[Any]:
    return [message["content"] for message in messages]


def step(number: int, **more: Any) -> dict[str, Any]:
    return {"step_number": number, "model_output": f"m{number}", "tool_calls": [], "is_final_answer": True, **more}


def test_a_second_run_of_smolagents_may_end_with_the_same_answer():
    steps = [{"task": "t1"}, step(1, action_output="yes"), {"task": "t2"}, step(2, action_output="yes")]
    assert contents(canonical(steps)) == ["t1", "m1", "yes", "t2", "m2", "yes"]


def test_a_step_of_smolagents_without_an_answer_gives_none():
    assert contents(canonical([{"task": "t"}, step(1, action_output=None)])) == ["t", "m1"]
    assert contents(canonical([{"task": "t"}, step(1, action_output=False)])) == ["t", "m1", "false"]


def test_an_image_that_cannot_be_shown_is_named():
    steps = [{"task": "t", "task_images": ["iVBORw0", "AAECAwQ=", "https://x/y.png"]}]
    text, png, pixels, linked = canonical(steps)[0]["content"]
    assert (text["text"], png["image_url"]["url"]) == ("t", "data:image/png;base64,iVBORw0")
    assert pixels["text"] == "[an image, recorded as pixels without a size, which cannot be shown]"
    assert linked["image_url"]["url"] == "https://x/y.png"


def test_the_last_step_of_a_traj_file_is_read_where_the_history_lacks_it():
    last = {"response": "last words", "observation": "diff --git", "state": {}}
    messages = as_group(SWE_AGENT | {"trajectory": [last]}).trajectories[0].messages
    assert contents(messages)[-2:] == ["last words", "diff --git"]
    known = {"response": " x ", "observation": ""}
    assert len(as_group(SWE_AGENT | {"trajectory": [known]}).trajectories[0].messages) == 4
    only = {"history": SWE_AGENT["history"]}
    assert len(as_group(only).trajectories[0].messages) == 4


def test_a_run_without_a_history_says_why(tmp_path: Path):
    rows = [{"instance_id": "i", "history": None, "error": "Timeout after 5 seconds", "test_result": {}}, OPENHANDS]
    groups, problems = read(written(tmp_path / "output.jsonl", *rows))
    assert len(groups) == 1
    assert problems == [":1: has no history; its error is 'Timeout after 5 seconds'"]


@pytest.mark.parametrize(
    ("change", "reward"),
    [
        ({}, 1.0),
        ({"ok": False}, None),
        ({"rewards": {}}, None),
        ({"rewards": {"a": {"score": 0.5}, "b": None}}, None),
        ({"rewards": {"a": {"score": 0.5}, "b": {"score": 1, "weight": 0.5}}}, 1.0),
    ],
)
def test_a_trace_of_verifiers_has_the_reward_of_a_whole_run(change: dict[str, Any], reward: float | None):
    (trace,) = VERIFIERS_TRACES["traces"]
    (one,) = as_group(VERIFIERS_TRACES | {"traces": [trace | change]}).trajectories
    assert one.reward == reward


def test_a_trace_of_verifiers_is_its_last_branch_and_names_the_others(tmp_path: Path):
    (trace,) = VERIFIERS_TRACES["traces"]
    other = VERIFIERS_TRACES | {"traces": [trace | {"ok": False}]}
    (group,), problems = read(written(tmp_path / "traces.jsonl", VERIFIERS_TRACES, other, {"task": {}, "traces": []}))
    assert (group.group_id, len(group.context), [len(one.messages) for one in group.trajectories]) == ("e/k", 1, [1, 1])
    assert group.trajectories[0].metadata["left_out"] == "1 other branch of the trace"
    assert problems == [":3: is an episode without a trace; its errors are not told"]


def test_episodes_of_verifiers_are_grouped_as_their_trainer_did_and_keep_their_notes(tmp_path: Path):
    rows = [VERIFIERS_TRACES | {"id": "e1", "group": {"id": name}, "errors": ["E"]} for name in ("g1", "g1", "g2")]
    groups, problems = read(written(tmp_path / "traces.jsonl", *rows))
    assert ([(one.group_id, len(one.trajectories)) for one in groups], problems) == ([("e/k/g1", 2), ("e/k/g2", 1)], [])
    notes = groups[0].trajectories[0].metadata
    assert (notes["id"], notes["group"], notes["errors"]) == ("e1", {"id": "g1"}, ["E"])


def test_a_graph_of_verifiers_that_goes_in_circles_is_refused():
    nodes = [{"parent": 1, "message": {"role": "user", "content": "x"}}, {"parent": 0, "message": {}}, {"parent": 1}]
    row = json.loads(json.dumps(VERIFIERS_TRACES))
    row["traces"][0]["nodes"] = nodes
    with pytest.raises(InputError, match="has the parent 1, which does not precede it"):
        as_group(row)


def test_a_list_of_items_for_each_turn_is_the_conversation_once():
    items = [{"type": "message", "role": role, "content": text} for role, text in (("user", "q"), ("assistant", "a"))]
    row = {"responses_create_params": {"input": []}, "response": {"output": [items[:1], items]}}
    assert contents(as_group(row).trajectories[0].messages) == ["q", "a"]
    with pytest.raises(InputError, match="the last does not repeat the others"):
        as_group(NEMO_GYM | {"response": {"output": [items[:1], items[1:]]}})


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("I look.\n```\nls\n```", "I look.\n```\nls\n```"),
        ("ls", [text("I look."), text("ls")]),
        ([text("ls")], [text("I look."), text("ls")]),
        ("", "I look."),
    ],
)
def test_a_thought_of_swe_agent_is_shown_once(content: Any, told: Any, tmp_path: Path):
    asked = {"role": "user", "content": "q", "message_type": "observation"}
    said = {"role": "assistant", "content": content, "thought": "I look.", "action": "ls", "message_type": "action"}
    (group,), _ = read(written(tmp_path / "a.traj", {"history": [asked, said], "trajectory": []}))
    assert [message["content"] for message in group.trajectories[0].messages] == [told]


NAN = float("nan")
UTILITY = {"user_task_id": "u", "messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}
EVENTS = {"instance_id": "i", "history": OPENHANDS["history"]}


def trace(**reward: Any) -> dict[str, Any]:
    return VERIFIERS_TRACES | {"traces": [VERIFIERS_TRACES["traces"][0] | {"rewards": {"right": reward}}]}


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        (UTILITY | {"utility": NAN}, "'utility' is 'nan', which is no finite number"),
        (UTILITY | {"utility": "yes"}, "'utility' is 'yes', which is no finite number"),
        (UTILITY | {"utility": []}, "'utility' must be a number or null, not a list"),
        (EVENTS | {"report": {"resolved": NAN}}, "'resolved' is 'nan', which is no finite number"),
        (EVENTS | {"test_result": {"report": {"resolved": NAN}}}, "'resolved' is 'nan', which is no finite number"),
        (trace(score=NAN, weight=1.0), "the score of the reward 'right' is 'nan', which is no finite number"),
        (trace(score=1.0, weight=NAN), "the weight of the reward 'right' is 'nan', which is no finite number"),
        (trace(score=None), "the score of the reward 'right' is missing"),
    ],
)
def test_a_damaged_outcome_is_a_bad_line(row: dict[str, Any], problem: str, tmp_path: Path):
    groups, problems = read(written(tmp_path / "rows.jsonl", {}, row))
    assert groups == []
    assert problems[-1].startswith(f":2: {problem}")


def test_a_rows_own_left_out_is_its_own(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    row = {"prompt": "q", "completion": "a", "left_out": "mine"}
    (group,), problems = read(written(tmp_path / "rows.jsonl", row))
    assert group.trajectories[0].metadata == {"left_out": "mine"}
    assert not problems
    assert not caplog.records
    own = VERIFIERS_TRACES | {"traces": [VERIFIERS_TRACES["traces"][0] | {"left_out": "mine"}]}
    _, problems = read(written(tmp_path / "traces.jsonl", own))
    assert problems == [":1: has the key 'left_out', which calipers writes; rename it"]


@pytest.mark.parametrize("beside", [True, False])
def test_a_column_calipers_domain_of_tau2_is_the_rows_own(tmp_path: Path, *, beside: bool):
    folder = tmp_path / "simulations"
    folder.mkdir()
    if beside:
        about = {"info": {"environment_info": {"domain_name": "retail"}}, "tasks": []}
        (tmp_path / "results.json").write_text(json.dumps(about))
    run = {"task_id": "0", "reward_info": {"reward": 1.0}, "messages": UTILITY["messages"], "calipers_domain": "mine"}
    (group,), _ = read(written(folder / "a.json", run))
    assert group.group_id == ("retail/0" if beside else "0")
    notes = group.trajectories[0].metadata
    assert (notes["calipers_domain"], notes.get("domain")) == ("mine", "retail" if beside else None)


def test_a_log_of_inspect_without_samples_says_why():
    with pytest.raises(InputError, match="is a log without samples; an evaluation with log_samples=False writes none"):
        as_group({"eval": {"task": "t"}, "samples": []})


def test_the_tools_of_a_nemo_gym_response_count_where_the_request_has_none():
    tool = {"type": "function", "name": "look", "parameters": {"type": "object"}}
    asked = {**NEMO_GYM["responses_create_params"], "tools": []}
    row = NEMO_GYM | {"responses_create_params": asked, "response": {**NEMO_GYM["response"], "tools": [tool]}}
    (trajectory,) = as_group(row).trajectories
    assert trajectory.tools == ({"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}},)


@pytest.mark.parametrize(
    "steps",
    [[{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}], [{"act": "click"}], ["a"], [None]],
)
def test_a_trajectory_of_another_kind_is_not_swe_agents(steps: list[Any], tmp_path: Path):
    """Its steps would be read as empty turns."""
    groups, problems = read(written(tmp_path / "a.traj", {"trajectory": steps, "info": {}}))
    assert groups == []
    assert "has the keys trajectory, info" in problems[0]


@pytest.mark.parametrize("row", [{"task": "q"}, {"output": "a"}, {"system_prompt": "s"}])
def test_rows_of_one_key_alone_are_no_memory_of_smolagents(row: dict[str, Any], tmp_path: Path):
    groups, problems = read(written(tmp_path / "a.jsonl", row, row))
    assert (groups, len(problems)) == ([], 1)
    assert f":1: is of no known format; it has the keys {next(iter(row))}" in problems[0]


def test_unknown_keys_of_steps_are_named(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    asked = {"step_id": 1, "source": "user", "message": "q", "thoughts": "lost"}
    atif = {"schema_version": "ATIF-v9", "agent": {}, "steps": [asked]}
    swe = {"trajectory": [{"thought": "t", "action": "ls", "observation": "o", "tool_result": "lost"}], "info": {}}
    groups, _ = read(written(tmp_path / "a.json", atif))
    groups += read(written(tmp_path / "a.traj", swe))[0]
    left = ["the unknown keys of steps thoughts", "the unknown keys of steps tool_result"]
    assert [group.trajectories[0].metadata["left_out"] for group in groups] == left
    assert all(f"not in the rollout: {text}" in caplog.text for text in left)
    groups, problems = read(written(tmp_path / "b.traj", swe | {"left_out": "mine"}))
    assert "has the key 'left_out', which calipers writes" in problems[0]


def test_an_epoch_alone_is_no_sample_of_inspect(tmp_path: Path):
    said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    (group,) = read_groups(written(tmp_path / "a.jsonl", {"epoch": 3, "messages": said}), reader="rollouts")
    assert (group.trajectories[0].messages[0]["content"], group.trajectories[0].metadata) == ("a", {"epoch": 3})
    trained = {"id": 7, "epoch": 3, "messages": said, "reward": 0.5}
    (group,) = read_groups(written(tmp_path / "b.jsonl", trained), reader="rollouts")
    assert (group.group_id == "7", group.trajectories[0].reward) == (False, 0.5)


def test_the_output_of_a_sample_of_inspect_is_its_answer_where_no_message_is_one():
    asked, output = {"role": "user", "content": "q"}, {"choices": [{"message": {"role": "assistant", "content": "a"}}]}
    sample = {"id": 1, "epoch": 1, "input": "q", "target": "t", "messages": [asked], "output": output}
    (one,) = as_group(sample).trajectories
    assert (contents(one.messages), "output" in one.metadata) == (["q", "a"], False)
    reply = {"role": "assistant", "content": "b"}
    (one,) = as_group(sample | {"messages": [asked, reply]}).trajectories
    assert (contents(one.messages), one.metadata["output"]) == (["q", "b"], "a")
    (one,) = as_group(sample | {"messages": [asked, reply | {"content": "so: a"}]}).trajectories
    assert (contents(one.messages), "output" in one.metadata) == (["q", "so: a"], False)


@pytest.mark.parametrize(
    ("code", "told"), [(0, []), (2, ["[exit code 2]"]), (-1, ["[No new output after 30 seconds.]"]), (None, [])]
)
def test_a_command_of_openhands_that_still_runs_is_no_command_that_ended(code: int | None, told: list[str]):
    metadata = {"exit_code": code, "suffix": "\n[No new output after 30 seconds.]"}
    call = {"kind": "ActionEvent", "source": "agent", "tool_call": {"id": "c", "name": "run", "arguments": "{}"}}
    seen = {"content": [text("out")], "exit_code": code, "metadata": metadata, "kind": "ExecuteBashObservation"}
    result = {"kind": "ObservationEvent", "source": "environment", "tool_call_id": "c", "observation": seen}
    old = {"source": "agent", "observation": "run", "content": "out", "extras": {"metadata": metadata}, "cause": 1}
    asked = {"source": "agent", "action": "run", "args": {"command": "ls"}, "id": 1}
    for messages in (canonical([call, result]), canonical([asked, old])):
        content = messages[-1]["content"]
        assert [part["text"] for part in (content if isinstance(content, list) else [text(content)])] == ["out", *told]


NEMO_ZERO = {key: item for key, item in NEMO_GYM.items() if key != "response"} | {"reward": 0.0}
ANSWERED: dict[str, Any] = {"output": [{"type": "message", "role": "assistant", "content": "a"}]}
TAU2_ZERO = {"task_id": "0", "reward_info": {"reward": 0.0}, "messages": [{"role": "assistant", "content": "a"}]}
EVENT = {"kind": "MessageEvent", "source": "user", "llm_message": {"role": "user", "content": [text()]}}
OPENHANDS_ZERO = {"instance_id": "i", "history": [EVENT], "report": {"resolved": False}}


@pytest.mark.parametrize(
    ("row", "change"),
    [
        (NEMO_ZERO | {"response": ANSWERED}, {"_ng_failure_class": "transient"}),
        (NEMO_ZERO | {"response": ANSWERED}, {"response": ANSWERED | {"error": {"code": "server_error"}}}),
        (OPENHANDS_ZERO, {"error": "AgentRuntimeDisconnectedError"}),
        (TAU2_ZERO, {"termination_reason": "infrastructure_error"}),
        (TAU2_ZERO, {"termination_reason": "context_window_exceeded"}),
    ],
)
def test_the_zero_of_a_run_that_failed_is_no_reward(row: dict[str, Any], change: dict[str, Any]):
    assert as_group(row).trajectories[0].reward == 0.0
    assert as_group(row | change).trajectories[0].reward is None


def test_a_trajectory_of_atif_that_goes_on_in_another_file_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    cut = ATIF | {"continued_trajectory_ref": "trajectory.cont-1.json"}
    (group,), _ = read(written(tmp_path / "t.json", cut))
    assert group.trajectories[0].metadata["left_out"] == "what follows in trajectory.cont-1.json"
    assert "not in the rollout: what follows in trajectory.cont-1.json" in caplog.text


def test_calls_of_a_sample_follow_the_tools_that_its_provider_ran():
    parts = [{"type": "tool_use", "id": "w", "name": "web", "arguments": "{}", "result": "r"}, text()]
    call = {"id": "c", "function": "look", "arguments": {}, "type": "function"}
    said = {"role": "assistant", "content": parts, "tool_calls": [call]}
    sample = {"id": 1, "epoch": 1, "input": "q", "target": "t", "messages": [{"role": "user", "content": "q"}, said]}
    calls = [
        [one["id"] for one in message.get("tool_calls", [])] for message in as_group(sample).trajectories[0].messages
    ]
    assert calls == [[], ["w"], [], ["c"]]
