"""Which rollouts are candidates for one prompt, and what a bad row costs."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from calipers.inputs import read_groups
from calipers.inputs.foreign.files import file_rollouts
from calipers.inputs.foreign.grouping import grouped
from inputs.foreign.written import read, said_in, written


def row(prompt: str, said: str, **more: Any) -> dict[str, Any]:
    return {"prompt": prompt, "completion": said, **more}


def tau2_file(domain: str | None, *runs: dict[str, Any]) -> dict[str, Any]:
    info = {} if domain is None else {"info": {"environment_info": {"domain_name": domain, "policy": "p"}}}
    return info | {"simulations": list(runs)}


def run(task: Any, said: str, reward: Any = 1.0) -> dict[str, Any]:
    messages = [{"role": "assistant", "content": said, "turn_idx": 0}]
    return {"task_id": task, "reward_info": {"reward": reward}, "messages": messages}


def ids_of(groups: list[Any]) -> list[tuple[str, int]]:
    return [(group.group_id, len(group.trajectories)) for group in groups]


def test_equal_task_ids_of_two_domains_are_two_tasks(tmp_path: Path):
    path = written(tmp_path / "t.jsonl", tau2_file("airline", run("0", "a")), tau2_file("retail", run("0", "b")))
    groups, problems = read(path)
    assert (ids_of(groups), problems) == ([("airline/0", 1), ("retail/0", 1)], [])
    assert groups[0].trajectories[0].metadata["domain"] == "airline"


def test_equal_example_ids_of_two_data_sets_are_two_prompts(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    rows = [row("p", "a", example_id=3), row("q", "b", example_id=3), row("p", "c", example_id=3)]
    groups, problems = read(written(tmp_path / "t.jsonl", *rows))
    assert f"{tmp_path}/t.jsonl:2: '3' is also the name of rollouts with another prompt" in caplog.text
    assert (ids_of(groups), problems) == ([("3", 2), ("3-2", 1)], [])
    assert said_in(groups) == [[["p", "a"], ["p", "c"]], [["q", "b"]]]


def test_examples_with_the_same_first_turns_are_kept_apart(tmp_path: Path):
    shots = [{"role": "user", "content": "1+1"}, {"role": "assistant", "content": "2"}]
    rows = [
        {"prompt": [*shots, {"role": "user", "content": asked}], "completion": said}
        for asked, said in (("2+2", "4"), ("3+3", "6"), ("2+2", "5"))
    ]
    groups, _ = read(written(tmp_path / "t.jsonl", *rows))
    assert [(len(group.context), len(group.trajectories)) for group in groups] == [(3, 2), (3, 1)]


def test_different_prompts_of_a_named_task_are_pointed_out(tmp_path: Path):
    rows = [
        {
            "instance_id": "x",
            "history": [
                {"source": by, "action": "message", "args": {"content": said}, "id": at}
                for at, (by, said) in enumerate((("user", asked), ("agent", "a")))
            ],
        }
        for asked in ("p", "q")
    ]
    told: list[tuple[int, str]] = []
    rollouts = file_rollouts(written(tmp_path / "t.jsonl", *rows))
    ((_, group),) = grouped(rollouts, note=lambda line, text: told.append((line, text)))
    assert len(group["trajectories"]) == 2
    (line, text) = told[0]
    assert (line, len(told)) == (2, 1)
    assert text == (
        "the rollouts of 'x' have different prompts (compare line 1), and are one group all the same; if they are of "
        "different tasks, calipers convert --group-by KEY keeps them apart"
    )


def test_a_number_and_its_text_are_different_values_to_group_by(tmp_path: Path):
    rows = [row("p", "a", k=1), row("p", "b", k="1"), row("p", "c", k=1), row("p", "d", k="1-2"), row("p", "e", k=True)]
    told: list[str] = []
    rollouts = file_rollouts(written(tmp_path / "t.jsonl", *rows))
    groups = [group for _, group in grouped(rollouts, group_by="k", note=lambda _, text: told.append(text))]
    assert [(group["group_id"], len(group["trajectories"])) for group in groups] == [
        ("1", 2),
        ("1-3", 1),
        ("1-2", 1),
        ("true", 1),
    ]
    assert told == ["'1' is also the name of rollouts with another prompt or value (line 1); these are the group '1-3'"]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ({"reward": "high"}, "'reward' is 'high', which is no finite number; write null if it is unknown"),
        ({"reward": float("nan")}, "'reward' is 'nan', which is no finite number; write null if it is unknown"),
        ({"reward": [1]}, "'reward' must be a number or null, not a list"),
        ({"tools": 5}, "'tools' must be a list of tool definitions or null, not a number"),
    ],
)
def test_a_bad_field_costs_its_own_row(bad: dict[str, Any], reason: str, tmp_path: Path):
    rows = [row("p", "a", reward=0.5), row("p", "b", **bad), row("p", "c"), row("p", "d", reward=True)]
    (group,), problems = read(written(tmp_path / "t.jsonl", *rows))
    assert problems == [f":2: {reason}"]
    assert [one.reward for one in group.trajectories] == [0.5, None, 1.0]


def test_a_bad_run_costs_itself_and_not_the_other_runs_of_its_file(tmp_path: Path):
    runs = [run("0", "a"), run("0", "b", reward=float("inf")), {"task_id": "0"}, run("0", "c", reward=None)]
    (group,), problems = read(written(tmp_path / "t.jsonl", tau2_file("airline", *runs)))
    assert [one.reward for one in group.trajectories] == [1.0, None]
    assert problems == [
        ":1: simulation 2: 'reward' is 'inf', which is no finite number; write null if it is unknown",
        ":1: simulation 3: looks like the format tau2, but has no 'messages'",
    ]


def test_the_zero_of_a_rollout_that_ended_in_an_error_is_no_reward(tmp_path: Path):
    rows = [row("p", "a", reward=0.0, error={"error": "SandboxError"}), row("p", "b", reward=0.0, error=None)]
    (group,), _ = read(written(tmp_path / "t.jsonl", *rows))
    assert [one.reward for one in group.trajectories] == [None, 0.0]
    assert group.trajectories[0].metadata["error"] == {"error": "SandboxError"}


def test_runs_in_files_of_their_own_have_the_domain_of_the_file_beside_their_folder(tmp_path: Path):
    names = []
    for domain in ("airline", "retail"):
        folder = tmp_path / domain / "simulations"
        folder.mkdir(parents=True)
        about = {"info": {"environment_info": {"domain_name": domain}}, "tasks": []}
        (folder.parent / "results.json").write_text(json.dumps(about))
        ticks = [{"agent_chunk": {"role": "assistant", "content": "a"}}]
        (folder / "1.json").write_text(json.dumps({"id": "x", "task_id": "0", "ticks": ticks}, indent=1))
        (group,), problems = read(folder / "1.json")
        assert problems == []
        names.append(group.group_id)
    assert names == ["airline/0", "retail/0"]
    groups, problems = read(tmp_path / "retail" / "results.json")
    assert (groups, problems[0]) == (
        [],
        ":1: has no runs; where they are files of their own, give those: simulations/*.json",
    )


def test_a_run_without_messages_is_no_candidate(tmp_path: Path):
    rows = [run("0", "a"), run("0", "b") | {"messages": []}]
    (group,), problems = read(written(tmp_path / "t.jsonl", *rows))
    assert len(group.trajectories) == 1
    assert problems == [":2: has no messages, so there is nothing to judge"]


def test_a_greeting_before_the_question_is_part_of_the_prompt(tmp_path: Path):
    rows = [
        {
            "conversations": [
                {"from": "gpt", "value": "Hello!"},
                {"from": "human", "value": asked},
                {"from": "gpt", "value": said},
            ]
        }
        for asked, said in (("Where is my order?", "a"), ("Tell me a joke", "b"), ("Where is my order?", "c"))
    ]
    groups, problems = read(written(tmp_path / "t.jsonl", *rows))
    assert problems == []
    assert [[one["content"] for one in group.context] for group in groups] == [
        ["Hello!", "Where is my order?"],
        ["Hello!", "Tell me a joke"],
    ]
    assert [len(group.trajectories) for group in groups] == [2, 1]


def test_without_a_prompt_only_the_answers_of_a_row_are_compared(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    rows = [{"chosen": "An animal.", "rejected": "A car."}, {"chosen": "4", "rejected": "5"}]
    groups, problems = read(written(tmp_path / "t.jsonl", *rows, row([], "alone")))  # type: ignore[arg-type]
    assert problems == []
    said = [[one.messages[-1]["content"] for one in group.trajectories] for group in groups]
    assert said == [["An animal.", "A car."], ["4", "5"], ["alone"]]
    assert "t.jsonl:3: has no prompt of a user's, so nothing says which rollouts are of the same one" in caplog.text


SYSTEM = {"role": "system", "content": "You are helpful."}
GREETING = {"role": "assistant", "content": "Hello!"}


@pytest.mark.parametrize("prompt", [[SYSTEM], [GREETING], [SYSTEM, GREETING]])
def test_a_prompt_that_asks_nothing_makes_no_group(prompt: list[Any], tmp_path: Path):
    def said(text: str) -> list[Any]:
        return [*prompt, {"role": "assistant", "content": text}]

    pairs = [{"prompt": prompt, "chosen": f"good {at}", "rejected": f"bad {at}"} for at in range(2)]
    whole = [{"chosen": said(f"good {at}"), "rejected": said(f"bad {at}")} for at in range(2)]
    alone = [{"prompt": prompt, "completion": f"{at}"} for at in range(2)]
    groups, problems = read(written(tmp_path / "t.jsonl", *pairs, *whole, *alone))
    assert problems == []
    assert [len(group.trajectories) for group in groups] == [2, 2, 2, 2, 1, 1]
    named = [{"prompt": prompt, "completion": f"{at}", "example_id": 7} for at in range(2)]
    groups, _ = read(written(tmp_path / "t.jsonl", *named))
    assert [len(group.trajectories) for group in groups] == [2]


def test_rollouts_without_a_reply_are_pointed_out(tmp_path: Path):
    asked = [{"role": "user", "content": "p"}]
    rows = [
        {"messages": [*asked, {"role": "assistant", "content": "a"}]},
        {"messages": asked, "response": "b"},
        {"messages": asked, "response": "c"},
    ]
    told: list[tuple[int, str]] = []
    rollouts = file_rollouts(written(tmp_path / "t.jsonl", *rows))
    list(grouped(rollouts, note=lambda line, text: told.append((line, text))))
    assert [(line, text[:72]) for line, text in told] == [
        (2, "is the first of 2 rollouts without a message of an assistant, in which a")
    ]


def test_rollouts_in_memory_make_up_groups_as_those_of_a_file_do(tmp_path: Path):
    rows = [{"prompt": "p", "completion": "a", "reward": 1.0}, {"prompt": "p", "completion": "b", "reward": 0.0}]
    assert list(read_groups(rows)) == list(read_groups(written(tmp_path / "t.jsonl", *rows)))
    said = [{"messages": [{"role": "user", "content": "p"}, {"role": "assistant", "content": text}]} for text in "ab"]
    (group,) = read_groups(said, reader="rollouts")
    assert [one.messages[0]["content"] for one in group.trajectories] == ["a", "b"]
    problems: list[str] = []
    (group,) = read_groups([*rows, group, 5], on_error=lambda error: problems.append(str(error)))
    assert problems == [
        "<list>:3: is a TrajectoryGroup among rollouts, each of which is a dict",
        "<list>:4: is a number among rollouts, each of which is a dict",
    ]


def test_a_row_before_the_rollouts_in_memory_does_not_split_them(tmp_path: Path):
    rows = [{"note": 1}, *({"prompt": "p", "completion": text} for text in "ab")]
    problems: list[str] = []
    (group,) = read_groups(rows, on_error=lambda error: problems.append(str(error)))
    assert (len(group.trajectories), problems[0][:33]) == (2, "<list>:1: is of no known format; ")


@pytest.mark.parametrize("reader", [None, "rollouts"])
def test_rollouts_on_stdin_make_up_groups_as_those_of_a_file_do(
    reader: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = written(tmp_path / "t.jsonl", *({"prompt": "p", "completion": text} for text in "ab"))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    assert list(read_groups("-", reader=reader)) == list(read_groups(path))


def test_lines_that_are_lists_are_named_with_the_remedy(tmp_path: Path):
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
    remedy = """a list, not an object with 'trajectories'; wrap the message lists as {"trajectories": [{"messages": """
    for name, what in (("r.jsonl", "the line is"), ("r.json", "the entry is")):
        rows = [messages] * 2
        path = tmp_path / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows) if name == "r.jsonl" else json.dumps(rows))
        for problem in (list(file_rollouts(path)), [(1, error) for error in read(path)[1]]):
            assert f"{what} {remedy}" in str(problem[0][1])


def test_a_wrong_format_is_answered_with_the_one_that_it_looks_like(tmp_path: Path):
    path = written(tmp_path / "r.jsonl", row("p", "a"), {"x": 1})
    problems = [problem for _, problem in file_rollouts(path, family="sharegpt")]
    assert problems == [
        "is not of the format sharegpt; it looks like verifiers",
        "is not of the format sharegpt; it has the keys x",
    ]


def test_notes_name_the_run_of_a_row_with_several(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    runs = [run("0", "a") | {"messages": [{"role": "user", "content": text, "turn_idx": 0}]} for text in "ab"]
    groups, _ = read(written(tmp_path / "t.jsonl", tau2_file("airline", *runs)))
    assert ids_of(groups) == [("airline/0", 2)]
    assert (
        "t.jsonl:1: simulation 2: the rollouts of 'airline/0' have different prompts (compare line 1, simulation 1),"
        in (caplog.text)
    )
    assert "t.jsonl:1: simulation 1: is the first of 2 rollouts without a message of an assistant" in caplog.text


def test_ids_and_times_of_messages_make_no_other_prompt(tmp_path: Path):
    def stamped(number: int, said: str, **more: Any) -> dict[str, Any]:
        asked = {"role": "user", "content": "q", "id": f"m{number}", "timestamp": number, **more}
        return {"messages": [asked, {"role": "assistant", "content": said}]}

    rows = [stamped(1, "a"), stamped(2, "b"), stamped(3, "c", documents=["d"])]
    path = written(tmp_path / "r.jsonl", *rows)
    groups = list(read_groups(path, reader="rollouts"))
    assert [len(group.trajectories) for group in groups] == [2, 1]


def test_a_reply_in_the_prompt_is_no_answer(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    turns = [{"role": role, "parts": [{"text": role}]} for role in ("user", "model", "user")]
    refused = {"request": {"contents": turns}, "response": {"candidates": [{"finishReason": "SAFETY"}]}}
    (group,), problems = read(written(tmp_path / "b.jsonl", refused))
    assert (len(group.context), problems) == (3, [])
    assert "is a rollout without a message of an assistant" in caplog.text


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"error": {"code": 8}}, 'its error is {"code":8}'),
        ({"response": {"promptFeedback": {"blockReason": "SAFETY"}}}, 'its error is {"blockReason":"SAFETY"}'),
        ({"response": {}}, "its response has no candidates"),
    ],
)
def test_a_request_of_gemini_that_failed_is_not_its_last_reply(more: dict[str, Any], reason: str, tmp_path: Path):
    turns = [{"role": role, "parts": [{"text": role}]} for role in ("user", "model", "user")]
    groups, problems = read(written(tmp_path / "b.jsonl", {"request": {"contents": turns}} | more))
    assert (groups, problems) == ([], [f":1: has no answer; {reason}"])


def test_one_reward_for_several_candidates_is_nobodys(tmp_path: Path):
    answers = [{"content": {"role": "model", "parts": [{"text": text}]}} for text in ("a", "b")]
    asked = {"contents": [{"role": "user", "parts": [{"text": "q"}]}], "reward": 1.0}
    groups, problems = read(written(tmp_path / "b.jsonl", asked | {"response": {"candidates": answers}}))
    assert (groups, problems[0][:40]) == ([], ":1: has one 'reward' for 2 candidates; w")
    (group,), _ = read(written(tmp_path / "c.jsonl", asked | {"response": {"candidates": answers[:1]}}))
    assert group.trajectories[0].reward == 1.0


def test_another_attack_is_another_task_of_agentdojo(tmp_path: Path):
    def attacked(attack: str | None, injection: str | None = "i1") -> dict[str, Any]:
        said = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]
        task = {"suite_name": "s", "user_task_id": "u1", "injection_task_id": injection, "attack_type": attack}
        return task | {"messages": said, "utility": True}

    rows = [attacked("direct"), attacked("direct"), attacked("ignore"), attacked(None, None), attacked("none", None)]
    groups, _ = read(written(tmp_path / "r.jsonl", *rows))
    assert ids_of(groups) == [("s/u1/i1/direct", 2), ("s/u1/i1/ignore", 1), ("s/u1/none", 2)]
