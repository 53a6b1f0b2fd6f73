"""Rows of other libraries that hold a rollout or several: ``rollouts_in``, with one entry of ``FORMATS`` per format.

A row is recognised by its keys. What is neither a message, a tool nor a reward goes to the rollout's metadata.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from calipers.errors import InputError
from calipers.inputs import art, inspect_log
from calipers.inputs.plain import plain_data, type_in_words, without_surrogates

Row = dict[str, Any]
SHAPE: Final = '{"group_id": "q1", "messages": [{"role": "user", "content": "..."}, ...], "reward": 1.0}'


@dataclass(frozen=True, slots=True)
class Rollout:
    """One rollout in foreign messages.

    ``task`` names its prompt; with ``by_prompt``, rollouts of a task must have equal prompts to be one group (the name
    is a position in some data set). ``run`` separates rollouts of one prompt, such as those of two training steps.
    ``is_local`` tasks are unique in their file only. ``asked`` is the number of messages that are the prompt, where the
    format says so. ``where`` is the rollout's place in a row with several.
    """

    messages: list[Any]
    task: str | None = None
    tools: Any = None
    reward: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    by_prompt: bool = False
    run: str = ""
    is_local: bool = False
    asked: int | None = None
    where: str = ""
    gold: Any = None

    def as_trajectory(self) -> Row:
        """Return the rollout as a trajectory object of a groups file, without an id."""
        named = {"tools": self.tools or None, "reward": self.reward, "gold": self.gold}
        named["metadata"] = dict(self.metadata) or None
        return {"messages": self.messages} | {key: item for key, item in named.items() if item is not None}


class Format(NamedTuple):
    """How rows of a format are recognised and read. ``parts`` divides a row with several runs, ``part`` names them."""

    recognises: Callable[[Row], bool]
    read: Callable[[Row], list[Rollout]]
    parts: Callable[[Row], list[Row]] = lambda row: [row]
    part: str = ""


def format_of(row: Any) -> str | None:
    """Return the name of a row's format; None if it is of none, or a line of a groups file."""
    if not isinstance(row, Mapping) or "trajectories" in row or "responses" in row:
        return None
    return next((name for name, known in FORMATS.items() if known.recognises(dict(row))), None)


def rollouts_in(row: Mapping[str, Any]) -> Iterator[Rollout | str]:
    """Yield the rollouts of a row of a known format, and the problem of each part that cannot be read, as text."""
    name = format_of(row)
    if name is None:
        raise InputError(_unknown_row(row))
    known = FORMATS[name]
    try:
        parts = known.parts(plain_data(row))
    except _ERRORS as error:
        yield _problem(error, name)
        return
    for number, part in enumerate(parts, start=1):
        where = f"{known.part} {number}: " if len(parts) > 1 else ""
        try:
            yield from (replace(rollout, where=where) for rollout in known.read(part))
        except _ERRORS as error:
            yield f"{where}{_problem(error, name)}"


_ERRORS: Final = (InputError, AttributeError, ArithmeticError, LookupError, TypeError, ValueError)
"""What reading a row raises whose fields have other types than those of its format."""


def _problem(error: Exception, name: str) -> str:
    if isinstance(error, InputError):
        return str(error)
    if isinstance(error, KeyError):
        return f"looks like the format {name}, but has no {str(error.args[0])[:40]!r}"
    return f"looks like the format {name}, but a field has an unexpected type"


def _unknown_row(row: Mapping[str, Any]) -> str:
    """Return the problem of a row of no known format, and the form to write."""
    for key in ("messages", "conversations", "traj"):
        if key in row and not isinstance(row[key], list | tuple):
            return f"{key!r} is {type_in_words(row[key])}; write it as a list of objects"
    answers = [key for key in _ANSWERS if key in row]
    if len(answers) == 1:
        return f"has {answers[0]!r} alone; give both answers, or this one as 'completion'"
    keys = ", ".join(map(str, row))[:200] or "none"
    return f"has an unknown format, with the keys {keys}. Write each rollout as {SHAPE}, or register a reader"


def _rest(row: Row, *read: str) -> Row:
    return {key: item for key, item in row.items() if key not in read and item is not None}


def _first(row: Row, *keys: str) -> Any:
    return next((row[key] for key in keys if row.get(key) is not None), None)


def _name(value: Any, prefix: str = "") -> str | None:
    return None if value is None else f"{prefix}{value}"


def _gold(row: Row) -> Any:
    """Return a row's ``gold`` if it is a score; elsewhere the key holds the answer to the task."""
    return row.get("gold") if isinstance(row.get("gold"), int | float) else None


def _turn(said: Any, role: str, key: str) -> list[Any]:
    """Return a prompt or an answer (text, a message or messages) as messages."""
    if isinstance(said, str):
        return [{"role": role, "content": said}]
    if isinstance(said, dict):
        return [said]
    if not isinstance(said, list):
        raise InputError(f"{key!r} is {type_in_words(said)}; write it as text, a message or a list of messages")
    return said


def _system(text: Any) -> list[Row]:
    return [{"role": "system", "content": text}] if text else []


def _messages(row: Row) -> list[Rollout]:
    """Read a row with messages. Requests of Anthropic have the system prompt beside them."""
    messages, system = row["messages"], row.get("system")
    read = ["messages", "tools", "reward", "group_id"]
    if isinstance(system, str | list) and not any(message.get("role") == "system" for message in messages):
        messages = [*_system(system), *messages]
        read.append("system")
    gold = _gold(row)
    notes = _rest(row, *read, *(() if gold is None else ("gold",)))
    return [Rollout(messages, _name(row.get("group_id")), row.get("tools"), row.get("reward"), notes, gold=gold)]


_STEP: Final = ("step", "gen_step", "global_step")


def _step(row: Row) -> str:
    return next((f"{key} {row[key]}" for key in _STEP if row.get(key) is not None), "")


def _completion(row: Row) -> list[Rollout]:
    """Read a prompt with its completion (TRL, verifiers). A rollout with an error has no reward: verifiers writes 0."""
    prompt, completion = _json_messages(row["prompt"]), _json_messages(row["completion"])
    if prompt is None or completion is None:  # a policy's text decides nothing alone
        prompt, completion = row["prompt"], row["completion"]
    asked, answered = _turn(prompt, "user", "prompt"), _turn(completion, "assistant", "completion")
    group, example, gold = _name(row.get("group_id")), row.get("example_id"), _gold(row)
    if example is not None:
        example = f"{row['task']}-{example}" if isinstance(row.get("task"), str) else str(example)
    read = ("prompt", "completion", "reward", "tools", "tool_defs", "group_id", *(() if gold is None else ("gold",)))
    return [
        Rollout(
            asked + answered,
            example if group is None else group,
            row.get("tools") or row.get("tool_defs"),
            None if row.get("error") else row.get("reward"),
            _rest(row, *read),
            by_prompt=group is None,
            run=_step(row),
            asked=len(asked),
            gold=gold,
        )
    ]


def _json_messages(given: Any) -> list[Any] | None:
    """Return the messages that a text is the JSON of, as Parquet files may have them, or None."""
    if not isinstance(given, str) or not given.lstrip().startswith("["):
        return None
    try:
        messages = plain_data(without_surrogates(json.loads(given)))
    except (ValueError, RecursionError):
        return None
    return (
        messages if messages and all(isinstance(message, dict) and "role" in message for message in messages) else None
    )


def _are_columns(row: Row) -> bool:
    columns = [row.get("prompt"), row.get("completion")]
    return all(
        isinstance(column, list) and column and not any(isinstance(item, dict) for item in column) for column in columns
    )


def _columns(row: Row) -> list[Row]:
    """Divide a table of columns, as ms-swift logs each step, into rows.

    The only column of numbers beside steps and advantages is the reward.
    """
    count = len(row["prompt"])
    if len(row["completion"]) != count:
        raise InputError(f"'prompt' has {count} entries and 'completion' {len(row['completion'])}; make them equal")
    columns = {key for key, item in row.items() if isinstance(item, list) and len(item) == count}
    extra_columns = columns.difference((*_STEP, "advantages", "advantage", "prompt", "completion"))
    numbers = [key for key in extra_columns if all(isinstance(number, int | float | None) for number in row[key])]
    renamed = {numbers[0]: "reward"} if len(numbers) == 1 and "reward" not in row else {}
    return [
        {renamed.get(key, key): item[at] if key in columns else item for key, item in row.items()}
        for at in range(count)
    ]


def _verl_dump(row: Row) -> list[Rollout]:
    """Read a rollout of verl's ``rollout_data_dir``; ``uid`` names its group, else prompt and step do."""
    asked, answered = _turn(row["input"], "user", "input"), _turn(row["output"], "assistant", "output")
    notes, asked_count = _rest(row, "input", "output", "score", "uid"), len(asked)
    return [
        Rollout(asked + answered, _name(row.get("uid")), None, row["score"], notes, run=_step(row), asked=asked_count)
    ]


def _is_art(row: Row) -> bool:
    return art.is_art_trajectory(row) or ("group_index" in row and isinstance(row.get("messages"), list))


def _art(row: Row) -> list[Rollout]:
    """Read a row of ART's logs; ``group_index`` names its group in the file."""
    fields = art.art_trajectory_fields(row)
    read = ("messages", "tools", "reward", "metadata", "group_index", *art.HOLDERS)
    notes, task = _rest(row, *read) | dict(fields["metadata"]), _name(row.get("group_index"), "group-")
    return [Rollout(fields["messages"], task, fields["tools"], fields["reward"], notes, is_local=True)]


def _nemo_gym(row: Row) -> list[Rollout]:
    """Read a rollout of NeMo-Gym. One that failed has no reward: NeMo-Gym writes 0."""
    asked, answered = row["responses_create_params"], row["response"]
    prompt = _system(asked.get("instructions")) + _turn(asked.get("input") or [], "user", "input")
    output = answered["output"]
    if output and all(isinstance(items, list) for items in output):  # a list a turn, each with the conversation so far
        if not all(item in output[-1] for earlier in output for item in earlier):
            raise InputError("has a list of items for each turn, and the last list lacks items of earlier ones")
        output = output[-1]
    ended = {key: answered[key] for key in ("error", "incomplete_details") if answered.get(key)}
    notes = _rest(row, "responses_create_params", "response", "reward") | ({"response": ended} if ended else {})
    return [
        Rollout(
            [*prompt, *output],
            _name(_first(row, "_ng_task_id", "_ng_task_index"), "task-"),
            asked.get("tools") or answered.get("tools"),
            None if row.get("_ng_failure_class") or answered.get("error") else row.get("reward"),
            notes,
            by_prompt=True,
            asked=len(prompt),
        )
    ]


def _tau_bench(row: Row) -> list[Rollout]:
    """Read a result of tau-bench. A run that ended in an error has no reward: tau-bench writes 0."""
    failed = isinstance(row.get("info"), dict) and row["info"].get("error")
    reward = None if failed else row.get("reward")
    return [Rollout(row["traj"], _name(row["task_id"]), None, reward, _rest(row, "traj", "reward"), is_local=True)]


def _tau2_runs(row: Row) -> list[Row]:
    if "simulations" not in row:
        return [row]
    if not row["simulations"]:
        raise InputError("has no simulations; where they are files of their own, give those")
    domain = ((row.get("info") or {}).get("environment_info") or {}).get("domain_name")
    return [{"domain": domain, **run} for run in row["simulations"]]


def _tau2(run: Row) -> list[Rollout]:
    """Read a run of tau2, which counts some ends in no metric, though the reward is 0 then."""
    messages = [chat for message in run["messages"] for chat in _of_tau2(message)]
    is_lost = run.get("termination_reason") in ("infrastructure_error", "context_window_exceeded")
    reward = None if is_lost else (run.get("reward_info") or {}).get("reward")
    task = "/".join(str(run[key]) for key in ("domain", "task_id") if run.get(key) is not None)
    return [Rollout(messages, task, reward=reward, metadata=_rest(run, "messages"))]


def _of_tau2(message: Row) -> list[Row]:
    """Return a message of tau2 without its clock and cost; several tool results in one are as many messages."""
    if isinstance(message.get("tool_messages"), list):
        return [chat for result in message["tool_messages"] for chat in _of_tau2({**result, "role": "tool"})]
    kept = ("role", "content", "tool_calls", "reasoning", "reasoning_content", "name")
    chat = {key: message[key] for key in kept if message.get(key) is not None}
    if message.get("is_audio") or "content" not in chat:
        chat["content"] = message.get("audio_script_gold") or ""
    if message["role"] == "tool":
        chat |= {"tool_call_id": message.get("tool_call_id") or message.get("id"), "is_error": message.get("error")}
    return [chat]


def _is_inspect(row: Row) -> bool:
    is_sample = row.keys() >= {"id", "epoch", "input", "target"} and isinstance(row.get("messages"), list)
    return is_sample or (isinstance(row.get("eval"), dict) and "samples" in row)


def _inspect_samples(row: Row) -> list[Row]:
    if "samples" not in row:
        return [row]
    if not row["samples"]:
        raise InputError("is a log without samples; an evaluation with log_samples=False writes none")
    return [{"calipers_task": row["eval"].get("task"), **sample} for sample in row["samples"]]


def _inspect(sample: Row) -> list[Rollout]:
    task = sample.pop("calipers_task", None)
    name = f"{task}/{sample['id']}" if task else str(sample["id"])
    return [Rollout(inspect_log.messages_of_sample(sample), name, metadata=inspect_log.notes_of_sample(sample))]


def _episode_traces(row: Row) -> list[Row]:
    if not row["traces"]:
        raise InputError(f"is an episode without a trace; its errors are {str(row.get('errors') or 'not given')[:200]}")
    return [{"episode": row, "trace": trace} for trace in row["traces"]]


def _trace(part: Row) -> list[Rollout]:
    """Read an agent's trace of verifiers' ``traces.jsonl``: a tree of messages, of which the last branch is read."""
    row, trace = part["episode"], part["trace"]
    nodes, path = trace["nodes"], list[Row]()
    leaves = [at for at in range(len(nodes)) if at not in {node.get("parent") for node in nodes}]
    at = leaves[-1] if leaves else None
    while at is not None:
        path.append(nodes[at])
        before = nodes[at].get("parent")
        if before is not None and not 0 <= before < at:
            raise InputError(f"node {at} has the parent {before!r}, which does not precede it")
        at = before
    path.reverse()
    task, env = row["task"], (row.get("env") or {}).get("id") or ""
    task_name, group = task.get("key") or task.get("hash"), (row.get("group") or {}).get("id") or ""
    agent = (trace.get("agent") or {}).get("name") or "" if len(row["traces"]) > 1 else ""
    episode = _rest(row, "traces", "task", "env")
    named = {"env": env, "episode": episode, "branches": len(leaves) if len(leaves) > 1 else None}
    notes = _rest(trace, "nodes", "calls", "tools", "timing", "verifiers")
    return [
        Rollout(
            [node["message"] for node in path],
            "/".join(str(name) for name in (env, task_name, group, agent) if name) if task_name or group else None,
            trace.get("tools"),
            _weighted_reward(trace),
            notes | {key: item for key, item in named.items() if item},
            asked=next((at for at, node in enumerate(path) if node.get("sampled")), len(path)),
        )
    ]


def _weighted_reward(trace: Row) -> float | None:
    """Return the weighted sum of a trace's rewards; None for a trace that failed, or was not scored in part."""
    parts = trace.get("rewards") or {}
    if not parts or trace.get("ok") is False or any((part or {}).get("score") is None for part in parts.values()):
        return None
    return sum(float(part["score"]) * float(part.get("weight", 1.0)) for part in parts.values())


_ANSWERS: Final = ("chosen", "rejected")
_ASKED: Final = ("conversations", "prompt", "messages", "question")


def _conversation(row: Row) -> list[Rollout]:
    """Read a conversation of ShareGPT's form, or preference data: a rollout for each answer.

    What all answers begin with belongs to the prompt. The metadata name the answer as ``calipers_answer``.
    """
    key = next((key for key in _ASKED if row.get(key)), "")
    asked = _system(row.get("system")) + (_turn(row[key], "user", key) if key else [])
    notes, tools = _rest(row, key, *_ANSWERS, "system", "tools"), row.get("tools") or None
    answers = [answer for answer in _ANSWERS if row.get(answer) is not None]
    if not answers:
        reward = notes.pop("reward", None)
        return [Rollout(asked, tools=tools, reward=reward, metadata=notes)]
    whole = []
    for answer in answers:
        reply = _turn(row[answer], "assistant", answer)
        whole.append(reply if asked and all(message in reply for message in asked) else [*asked, *reply])
    most = min(map(len, whole)) - 1
    shared = next((at for at in range(most) if any(messages[at] != whole[0][at] for messages in whole)), most)
    if not shared and most > 0:
        raise InputError(f"{' and '.join(map(repr, answers))} begin with different messages, not with one prompt")
    prompt = max(shared, 0) if len(answers) > 1 else None
    return [
        Rollout(messages, tools=tools, metadata=notes | {"calipers_answer": answer}, asked=prompt)
        for answer, messages in zip(answers, whole, strict=True)
    ]


FORMATS: Final[Mapping[str, Format]] = {
    "sharegpt": Format(lambda row: isinstance(row.get("conversations"), list), _conversation),
    "nemo_gym": Format(
        lambda row: isinstance(row.get("responses_create_params"), dict) and "response" in row, _nemo_gym
    ),
    "ms_swift": Format(_are_columns, _completion, _columns, "entry"),
    "completion": Format(lambda row: "prompt" in row and "completion" in row, _completion),
    "verl": Format(lambda row: row.keys() >= {"input", "output", "score"}, _verl_dump),
    "art": Format(_is_art, _art),
    "verifiers": Format(
        lambda row: isinstance(row.get("traces"), list) and isinstance(row.get("task"), dict),
        _trace,
        _episode_traces,
        "trace",
    ),
    "tau_bench": Format(lambda row: "task_id" in row and isinstance(row.get("traj"), list), _tau_bench),
    "tau2": Format(
        lambda row: isinstance(row.get("simulations"), list) or row.keys() >= {"task_id", "reward_info"},
        _tau2,
        _tau2_runs,
        "simulation",
    ),
    "inspect_ai": Format(_is_inspect, _inspect, _inspect_samples, "sample"),
    "preference": Format(
        lambda row: all(isinstance(row.get(key), str | list | dict) for key in _ANSWERS), _conversation
    ),
    "messages": Format(lambda row: isinstance(row.get("messages"), list), _messages),
}
