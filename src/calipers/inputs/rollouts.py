"""Rows of other libraries that hold a rollout or several: ``rollouts_in``, with one entry of ``FORMATS`` per format.

A row is recognised by its keys. What is neither a message, a tool nor a reward goes to the rollout's metadata.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from calipers.errors import InputError
from calipers.inputs import art, inspect_log
from calipers.inputs.plain import plain_data, type_in_words, without_surrogates

Row = dict[str, Any]
SHAPE: Final = '{"group_id": "q1", "messages": [{"role": "user", "content": "..."}, ...], "reward": 1.0}'
ANSWER: Final = "calipers_answer"
"""The metadata key that says which answer of a preference row a rollout is."""


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
    parts: Callable[[Row], list[Row]] | None = None
    part: str = ""


def format_of(row: Any) -> str | None:
    """Return the name of a row's format; None if it is of none, or a line of a groups file."""
    if not isinstance(row, Mapping) or "trajectories" in row or "responses" in row:
        return None
    return next((name for name, one in FORMATS.items() if one.recognises(dict(row))), None)


def rollouts_in(row: Mapping[str, Any]) -> Iterator[Rollout | str]:
    """Yield the rollouts of a row of a known format, and the problem of each part that cannot be read, as text."""
    name = format_of(row)
    if name is None:
        raise InputError(unknown_row(row))
    one, plain = FORMATS[name], plain_data(row)
    odd = f"looks like the format {name}, but a field has an unexpected type"
    try:
        parts = [plain] if one.parts is None else one.parts(plain)
    except InputError as error:
        yield str(error)
        return
    except (AttributeError, TypeError, LookupError):
        yield odd
        return
    for number, part in enumerate(parts, start=1):
        where = f"{one.part} {number}: " if len(parts) > 1 else ""
        try:
            yield from (replace(rollout, where=where) for rollout in one.read(part))
        except InputError as error:
            yield f"{where}{error}"
        except KeyError as error:
            yield f"{where}looks like the format {name}, but has no {str(error.args[0])[:40]!r}"
        except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError):
            yield f"{where}{odd}"


def unknown_row(row: Mapping[str, Any]) -> str:
    """Return the problem of a row of no known format, and the form to write."""
    for key in ("messages", "conversations", "simulations", "samples", "traces", "traj"):
        if key in row and not isinstance(row[key], list | tuple):
            return f"{key!r} is {type_in_words(row[key])}; write it as a list of objects"
    answers = [key for key in ("chosen", "rejected") if key in row]
    if len(answers) == 1:
        return f"has {answers[0]!r} alone; give both answers, or this one as 'completion'"
    keys = ", ".join(map(str, row))[:200] or "none"
    return f"is of no known format; it has the keys {keys}; write each rollout as {SHAPE}, or register a reader"


def _rest(row: Row, *read: str) -> Row:
    return {key: item for key, item in row.items() if key not in read and item is not None}


def _gold(row: Row) -> Any:
    """Return a row's ``gold`` if it is a score; elsewhere the key holds the answer to the task."""
    return row.get("gold") if isinstance(row.get("gold"), int | float) else None


def _task(row: Row) -> str | None:
    """Return the group that a row names itself."""
    name = row.get("group_id")
    return None if name is None else str(name)


def _turn(said: Any, role: str, key: str) -> list[Any]:
    """Return a prompt or an answer (text, a message or messages) as messages."""
    if isinstance(said, str):
        return [{"role": role, "content": said}]
    if isinstance(said, dict):
        return [said]
    if not isinstance(said, list):
        raise InputError(f"{key!r} is {type_in_words(said)}; write it as text, a message or a list of messages")
    return said


def _messages(row: Row) -> list[Rollout]:
    """Read a row with messages. Requests of Anthropic have the system prompt beside them."""
    messages, system = row["messages"], row.get("system")
    read = ["messages", "tools", "reward", "group_id"]
    if system and isinstance(system, str | list) and not any(one.get("role") == "system" for one in messages):
        messages = [{"role": "system", "content": system}, *messages]
        read.append("system")
    gold = _gold(row)
    notes = _rest(row, *read, *(() if gold is None else ("gold",)))
    return [Rollout(messages, _task(row), row.get("tools"), row.get("reward"), notes, gold=gold)]


_STEP: Final = ("step", "gen_step", "global_step")


def _completion(row: Row) -> list[Rollout]:
    """Read a prompt with its completion (TRL, verifiers). A rollout with an error has no reward: verifiers writes 0."""
    prompt, completion = _json_messages(row["prompt"]), _json_messages(row["completion"])
    if prompt is None or completion is None:  # a policy's text decides nothing alone
        prompt, completion = row["prompt"], row["completion"]
    asked, said = _turn(prompt, "user", "prompt"), _turn(completion, "assistant", "completion")
    own, example, gold = _task(row), row.get("example_id"), _gold(row)
    if own is None and example is not None:
        own = f"{row['task']}-{example}" if isinstance(row.get("task"), str) else str(example)
    read = ("prompt", "completion", "reward", "tools", "tool_defs", "group_id")
    return [
        Rollout(
            asked + said,
            own,
            row.get("tools") or row.get("tool_defs"),
            None if row.get("error") else row.get("reward"),
            _rest(row, *read, *(() if gold is None else ("gold",))),
            by_prompt=_task(row) is None,
            run=_step(row),
            asked=len(asked),
            gold=gold,
        )
    ]


def _step(row: Row) -> str:
    return next((f"{key} {row[key]}" for key in _STEP if row.get(key) is not None), "")


def _json_messages(given: Any) -> list[Any] | None:
    """Return the messages that a text is the JSON of, as Parquet files may have them, or None."""
    if not isinstance(given, str) or not given.lstrip().startswith("["):
        return None
    try:
        found = plain_data(without_surrogates(json.loads(given)))
    except (ValueError, RecursionError):
        return None
    return found if found and all(isinstance(one, dict) and "role" in one for one in found) else None


def _are_columns(row: Row) -> bool:
    columns = [row.get("prompt"), row.get("completion")]
    return all(isinstance(one, list) and one and not any(isinstance(item, dict) for item in one) for one in columns)


_NOT_REWARDS: Final = (*_STEP, "advantages", "advantage", "prompt", "completion")


def _columns(row: Row) -> list[Row]:
    """Divide a table of columns, as ms-swift logs each step, into rows.

    The only column of numbers beside steps and advantages is the reward.
    """
    count = len(row["prompt"])
    if len(row["completion"]) != count:
        raise InputError(f"'prompt' has {count} entries and 'completion' {len(row['completion'])}")
    columns = {key for key, item in row.items() if isinstance(item, list) and len(item) == count}
    numbers = [
        key for key in columns.difference(_NOT_REWARDS) if all(isinstance(one, int | float | None) for one in row[key])
    ]
    renamed = {numbers[0]: "reward"} if len(numbers) == 1 and "reward" not in row else {}
    return [
        {renamed.get(key, key): item[at] if key in columns else item for key, item in row.items()}
        for at in range(count)
    ]


def _is_verl_dump(row: Row) -> bool:
    return "score" in row and all(isinstance(row.get(key), str) for key in ("input", "output"))


def _verl_dump(row: Row) -> list[Rollout]:
    """Read a rollout of verl's ``rollout_data_dir``; ``uid`` names its group, else prompt and step do."""
    messages = [{"role": "user", "content": row["input"]}, {"role": "assistant", "content": row["output"]}]
    uid = row.get("uid")
    notes = _rest(row, "input", "output", "score", "uid")
    task = None if uid is None else str(uid)
    return [Rollout(messages, task, None, row["score"], notes, run=_step(row), asked=1)]


def _is_art(row: Row) -> bool:
    return art.is_art_trajectory(row) or ("group_index" in row and isinstance(row.get("messages"), list))


def _art(row: Row) -> list[Rollout]:
    """Read a row of ART's logs; ``group_index`` names its group in the file."""
    found = art.art_trajectory_fields(row)
    index = row.get("group_index")
    read = ("messages", "tools", "reward", "metadata", "group_index", *art.HOLDERS)
    notes = _rest(row, *read) | dict(found["metadata"])
    task = None if index is None else f"group-{index}"
    return [Rollout(found["messages"], task, found["tools"], found["reward"], notes, is_local=True)]


def _nemo_gym(row: Row) -> list[Rollout]:
    """Read a rollout of NeMo-Gym. One that failed has no reward: NeMo-Gym writes 0."""
    asked, answered = row["responses_create_params"], row["response"]
    system = [{"role": "system", "content": asked["instructions"]}] if asked.get("instructions") else []
    prompt = system + _turn(asked.get("input") or [], "user", "input")
    output = answered["output"]
    if output and all(isinstance(items, list) for items in output):  # a list a turn, each with the conversation so far
        if not all(item in output[-1] for earlier in output for item in earlier):
            raise InputError("has a list of items for each turn, and the last does not repeat the others")
        output = output[-1]
    task = next((row[key] for key in ("_ng_task_id", "_ng_task_index") if row.get(key) is not None), None)
    ended = {key: answered[key] for key in ("error", "incomplete_details") if answered.get(key)}
    notes = _rest(row, "responses_create_params", "response", "reward") | ({"response": ended} if ended else {})
    return [
        Rollout(
            [*prompt, *output],
            None if task is None else f"task-{task}",
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
    return [Rollout(row["traj"], str(row["task_id"]), None, reward, _rest(row, "traj", "reward"), is_local=True)]


def _is_tau2(row: Row) -> bool:
    return isinstance(row.get("simulations"), list) or ("task_id" in row and "reward_info" in row)


def _tau2_runs(row: Row) -> list[Row]:
    if "simulations" not in row:
        return [row]
    if not row["simulations"]:
        raise InputError("has no simulations; where they are files of their own, give those")
    domain = ((row.get("info") or {}).get("environment_info") or {}).get("domain_name")
    return [{"domain": domain, **run} for run in row["simulations"]]


_NOT_COUNTED: Final = ("infrastructure_error", "context_window_exceeded")
"""Why a run of tau2 ended that tau2 counts in no metric, though its reward is 0."""


def _tau2(run: Row) -> list[Rollout]:
    if run.get("ticks"):
        raise InputError("is a run of speech in ticks, which is not read; write its transcript as messages")
    messages = [chat for message in run["messages"] for chat in _of_tau2(message)]
    reward = None if run.get("termination_reason") in _NOT_COUNTED else (run.get("reward_info") or {}).get("reward")
    task = "/".join(str(run[key]) for key in ("domain", "task_id") if run.get(key) is not None)
    return [Rollout(messages, task, reward=reward, metadata=_rest(run, "messages"))]


_OF_TAU2: Final = ("role", "content", "tool_calls", "reasoning", "reasoning_content", "name")


def _of_tau2(message: Row) -> list[Row]:
    """Return a message of tau2 without its clock and cost; several tool results in one are as many messages."""
    if isinstance(message.get("tool_messages"), list):
        return [one for result in message["tool_messages"] for one in _of_tau2({**result, "role": "tool"})]
    chat = {key: message[key] for key in _OF_TAU2 if message.get(key) is not None}
    if message.get("is_audio") or not message.get("content"):
        chat["content"] = message.get("audio_script_gold") or ""
    if message["role"] != "tool":
        return [chat]
    failed = {"is_error": True} if message.get("error") is True else {}
    return [chat | {"tool_call_id": message.get("tool_call_id") or message.get("id")} | failed]


def _is_inspect(row: Row) -> bool:
    is_sample = row.keys() >= {"id", "epoch", "input", "target"} and isinstance(row.get("messages"), list)
    return is_sample or (isinstance(row.get("eval"), dict) and "samples" in row)


def _inspect_samples(row: Row) -> list[Row]:
    if "samples" not in row:
        return [row]
    if not row["samples"]:
        raise InputError("is a log without samples; an evaluation with log_samples=False writes none")
    return [{"calipers_task": (row.get("eval") or {}).get("task"), **sample} for sample in row["samples"]]


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
    parents = {node.get("parent") for node in nodes}
    leaves = [at for at in range(len(nodes)) if at not in parents]
    at = leaves[-1] if leaves else None
    while at is not None:
        path.append(nodes[at])
        before = nodes[at].get("parent")
        if before is not None and not 0 <= before < at:
            raise InputError(f"node {at} has the parent {before!r}, which does not precede it")
        at = before
    path.reverse()
    task, env = row["task"], (row.get("env") or {}).get("id") or ""
    own, group = task.get("key") or task.get("hash"), (row.get("group") or {}).get("id") or ""
    agent = (trace.get("agent") or {}).get("name") or "" if len(row["traces"]) > 1 else ""
    episode = _rest(row, "traces", "task", "env")
    notes = _rest(trace, "nodes", "calls", "tools", "timing", "verifiers") | ({"env": env} if env else {})
    notes |= ({"episode": episode} if episode else {}) | ({"branches": len(leaves)} if len(leaves) > 1 else {})
    return [
        Rollout(
            [node["message"] for node in path],
            "/".join(str(name) for name in (env, own, group, agent) if name) if own or group else None,
            trace.get("tools"),
            _weighted_reward(trace),
            notes,
            asked=next((at for at, node in enumerate(path) if node.get("sampled")), len(path)),
        )
    ]


def _weighted_reward(trace: Row) -> float | None:
    """Return the weighted sum of a trace's rewards; None for a trace that failed, or was not scored in part."""
    given = trace.get("rewards") or {}
    if not given or trace.get("ok") is False or any((one or {}).get("score") is None for one in given.values()):
        return None
    return sum(float(one["score"]) * float(one.get("weight", 1.0)) for one in given.values())


_ANSWERS: Final = ("chosen", "rejected")
_ASKED: Final = ("prompt", "messages", "question", "instruction")
_SPOKEN: Final = re.compile(r"(?:\A\s*|\n\n)(Human|Assistant):")
"""How hh-rlhf divides the text of a conversation."""


def _is_preference(row: Row) -> bool:
    return all(isinstance(row.get(key), str | list | dict) for key in _ANSWERS)


def _preference(row: Row) -> list[Rollout]:
    key = next((key for key in _ASKED if row.get(key)), None)
    asked = _system(row)
    for question, answer in row.get("history") or []:
        asked += [*_turn(question, "user", "history"), *_turn(answer, "assistant", "history")]
    asked += [] if key is None else _spoken(row[key], "user", key)
    read = [*_ANSWERS, "system", "history", "tools", *([] if key is None else [key])]
    if key == "instruction" and isinstance(row.get("input"), str):
        read.append("input")
        asked[-1] = {"role": "user", "content": "\n".join(filter(None, (row["instruction"], row["input"])))}
    return _answered(row, asked, _ANSWERS, _rest(row, *read))


def _sharegpt(row: Row) -> list[Rollout]:
    """Read a row of ShareGPT's form, with one answer or with two."""
    asked = _system(row) + row["conversations"]
    answers = [key for key in _ANSWERS if row.get(key) is not None]
    notes = _rest(row, "conversations", "system", "tools", *_ANSWERS)
    if answers:
        return _answered(row, asked, answers, notes)
    reward = notes.pop("reward", None)
    return [Rollout(asked, tools=row.get("tools") or None, reward=reward, metadata=notes)]


def _answered(row: Row, asked: list[Any], keys: Sequence[str], notes: Row) -> list[Rollout]:
    """Return a rollout for each answer. What all answers begin with belongs to the prompt."""
    whole = []
    for key in keys:
        said = _spoken(row[key], "assistant", key)
        whole.append(said if asked and all(message in said for message in asked) else [*asked, *said])
    most = min(map(len, whole)) - 1
    shared = next((at for at in range(most) if any(one[at] != whole[0][at] for one in whole)), most)
    if not shared and most > 0:
        raise InputError(f"{' and '.join(map(repr, keys))} begin with different messages, so they answer no one prompt")
    prompt, tools = max(shared, 0) if len(keys) > 1 else None, row.get("tools") or None
    return [
        Rollout(messages, tools=tools, metadata=notes | {ANSWER: key}, asked=prompt)
        for key, messages in zip(keys, whole, strict=True)
    ]


def _spoken(said: Any, role: str, key: str) -> list[Any]:
    """Return what was said as messages: text as one of ``role``, or as the turns that it is written in."""
    if not isinstance(said, str) or _SPOKEN.match(said) is None:
        return _turn(said, role, key)
    _, *pieces = _SPOKEN.split(said)
    turns = [
        {"role": "user" if speaker == "Human" else "assistant", "content": text.strip()}
        for speaker, text in zip(*[iter(pieces)] * 2, strict=True)
    ]
    return turns[:-1] if role == "user" and turns[-1] == {"role": "assistant", "content": ""} else turns


def _system(row: Row) -> list[Row]:
    return [{"role": "system", "content": row["system"]}] if row.get("system") else []


FORMATS: Final[Mapping[str, Format]] = {
    "sharegpt": Format(lambda row: isinstance(row.get("conversations"), list), _sharegpt),
    "nemo_gym": Format(
        lambda row: isinstance(row.get("responses_create_params"), dict) and "response" in row, _nemo_gym
    ),
    "ms_swift": Format(_are_columns, _completion, _columns, "entry"),
    "completion": Format(lambda row: "prompt" in row and "completion" in row, _completion),
    "verl": Format(_is_verl_dump, _verl_dump),
    "art": Format(_is_art, _art),
    "verifiers": Format(
        lambda row: isinstance(row.get("traces"), list) and isinstance(row.get("task"), dict),
        _trace,
        _episode_traces,
        "trace",
    ),
    "tau_bench": Format(lambda row: "task_id" in row and isinstance(row.get("traj"), list), _tau_bench),
    "tau2": Format(_is_tau2, _tau2, _tau2_runs, "simulation"),
    "inspect_ai": Format(_is_inspect, _inspect, _inspect_samples, "sample"),
    "preference": Format(_is_preference, _preference),
    "messages": Format(lambda row: isinstance(row.get("messages"), list), _messages),
}
