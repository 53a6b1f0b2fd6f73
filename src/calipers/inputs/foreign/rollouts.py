"""Objects of other libraries that hold one rollout or several, a family a function: ``rollouts_in``.

Whatever of a row is neither a message, a tool nor a reward is in the rollout's metadata, except what repeats the
messages. Not responsible for files (``files``) or for which rollouts are of one prompt (``grouping``).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from calipers.errors import InputError
from calipers.inputs.foreign import inspect_log
from calipers.inputs.foreign.tau2 import messages_of_ticks
from calipers.inputs.plain import plain_data, type_in_words

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Rollout:
    """One rollout in foreign messages. ``task`` names its prompt where its format does, and is None elsewhere."""

    messages: list[Any]
    task: str | None = None
    tools: Any = None
    reward: Any = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def as_trajectory(self) -> Row:
        """Return the rollout as a trajectory object of a groups file, without an id."""
        named = {"tools": self.tools or None, "reward": self.reward, "metadata": dict(self.metadata) or None}
        return {"messages": self.messages} | {key: item for key, item in named.items() if item is not None}


class Family(NamedTuple):
    """How the rows of a format are recognised, and read as rollouts."""

    recognises: Callable[[Row], bool]
    read: Callable[[Row], list[Rollout]]


def rollouts_in(row: Mapping[str, Any], *, family: str | None = None) -> list[Rollout] | None:
    """Return the rollouts of a row; None if it is of no known format.

    ``family`` names the format instead. Raises InputError for a row that is malformed, or not of the named format.
    """
    plain = plain_data(row)
    name = family_of(plain) if family is None else family
    if name is None:
        return None
    if family is not None and not FAMILIES[family].recognises(plain):
        raise InputError(f"is not of the format {family}; it has the keys {', '.join(plain)[:200] or 'none'}")
    try:
        return FAMILIES[name].read(plain)
    except (AttributeError, KeyError, TypeError, ValueError):  # a field of another type than documented
        raise InputError(f"looks like the format {name}, but a field has an unexpected type") from None


def family_of(row: Any) -> str | None:
    """Return the name of a row's format; None if it is of none, or a line of a groups file."""
    if not isinstance(row, Mapping) or "trajectories" in row or "responses" in row:
        return None
    return next((name for name, family in FAMILIES.items() if family.recognises(dict(row))), None)


def _rest(row: Row, *read: str) -> Row:
    return {key: item for key, item in row.items() if key not in read and item is not None}


def _turn(said: Any, role: str) -> list[Any]:
    """Return a prompt or a completion, which is text or messages, as messages."""
    if isinstance(said, str):
        return [{"role": role, "content": said}]
    if not isinstance(said, list):
        raise InputError(f"has {type_in_words(said)} where text or a list of messages is needed")
    return said


def _sharegpt(row: Row) -> list[Rollout]:
    system = [{"role": "system", "content": row["system"]}] if row.get("system") else []
    tools = row.get("tools")
    tools = json.loads(tools) if isinstance(tools, str) and tools.strip() else tools or None
    notes = _rest(row, "conversations", "system", "tools", "chosen", "rejected")
    asked = system + row["conversations"]
    ends = [(key, row[key]) for key in ("chosen", "rejected") if isinstance(row.get(key), dict)]
    if not ends:
        return [Rollout(asked, tools=tools, metadata=notes)]
    return [Rollout([*asked, end], tools=tools, metadata=notes | {"answer": key}) for key, end in ends]


def _verifiers(row: Row) -> list[Rollout]:
    task = row.get("example_id")
    messages = _turn(row["prompt"], "user") + _turn(row["completion"], "assistant")
    name = None if task is None else f"{row['task']}-{task}" if isinstance(row.get("task"), str) else str(task)
    notes = _rest(row, "prompt", "completion", "reward", "tools")
    return [Rollout(messages, name, row.get("tools"), row.get("reward"), notes)]


def _nemo_gym(row: Row) -> list[Rollout]:
    asked, answered = row["responses_create_params"], row["response"]
    instructions = asked.get("instructions")
    system = [{"role": "system", "content": instructions}] if instructions else []
    messages = system + _turn(asked.get("input") or [], "user") + [*answered["output"]]
    task = next((row[key] for key in ("_ng_task_id", "_ng_task_index") if row.get(key) is not None), None)
    notes = _rest(row, "responses_create_params", "response", "reward")
    name = None if task is None else f"task-{task}"
    return [Rollout(messages, name, asked.get("tools") or None, row.get("reward"), notes)]


def _agentdojo(row: Row) -> list[Rollout]:
    task = "/".join(str(row.get(key) or "none") for key in ("suite_name", "user_task_id", "injection_task_id"))
    return [Rollout(row["messages"], task, metadata=_rest(row, "messages"))]


_HISTORY = ("role", "content", "tool_calls", "thinking_blocks", "tool_call_id", "name")


def _swe_agent(row: Row) -> list[Rollout]:
    """The history, which has what was sent to the model; without one, the steps' responses and observations."""
    messages: list[Row] = []
    for item in row.get("history") or []:
        ids = item.get("tool_call_ids")
        named = {"tool_call_id": ids[0]} if ids and item["role"] == "tool" else {}
        messages.append({key: item[key] for key in _HISTORY if item.get(key) is not None} | named)
    if not messages:
        steps = row["trajectory"]
        messages += (steps[0].get("query") or []) if steps else []
        for step in steps:
            said = step.get("response") or "\n\n".join(step[key] for key in ("thought", "action") if step.get(key))
            messages.append({"role": "assistant", "content": said})
            messages.append({"role": "user", "content": step.get("observation") or ""})
    return [Rollout(messages, metadata=_rest(row, "history", "trajectory", "replay_config"))]


def _openhands(row: Row) -> list[Rollout]:
    name = row.get("instance_id")
    return [Rollout(row["history"], None if name is None else str(name), metadata=_rest(row, "history"))]


def _atif(row: Row) -> list[Rollout]:
    tools = row["agent"].get("tool_definitions")
    return [Rollout(row["steps"], tools=tools or None, metadata=_rest(row, "steps"))]


def _tau2(row: Row) -> list[Rollout]:
    return [_tau2_run(run) for run in row["simulations"]] if "simulations" in row else [_tau2_run(row)]


def _tau2_run(run: Row) -> Rollout:
    messages = messages_of_ticks(run["ticks"]) if run.get("ticks") else run["messages"]
    reward = (run.get("reward_info") or {}).get("reward")
    return Rollout(messages, str(run["task_id"]), reward=reward, metadata=_rest(run, "messages", "ticks"))


def _inspect(row: Row) -> list[Rollout]:
    task = (row.get("eval") or {}).get("task")
    return [_inspect_sample(sample, task) for sample in row["samples"]] if "samples" in row else [_inspect_sample(row)]


def _inspect_sample(sample: Row, task: str | None = None) -> Rollout:
    name = f"{task}/{sample['id']}" if task else str(sample["id"])
    return Rollout(inspect_log.messages_of_sample(sample), name, metadata=_rest(sample, *inspect_log.NOT_KEPT))


def _gemini(row: Row) -> list[Rollout]:
    given = row.get("systemInstruction") or row.get("system_instruction")
    parts = [{"text": given}] if isinstance(given, str) else (given or {}).get("parts")
    system = [{"role": "system", "parts": parts}] if parts else []
    tools = [
        tool
        for one in row.get("tools") or []
        for tool in one.get("functionDeclarations") or one.get("function_declarations") or []
    ]
    notes = _rest(row, "contents", "systemInstruction", "system_instruction", "tools", "reward")
    return [Rollout(system + row["contents"], tools=tools or None, reward=row.get("reward"), metadata=notes)]


FAMILIES: Final[Mapping[str, Family]] = {
    "sharegpt": Family(lambda row: isinstance(row.get("conversations"), list), _sharegpt),
    "nemo_gym": Family(
        lambda row: isinstance(row.get("responses_create_params"), dict) and "response" in row, _nemo_gym
    ),
    "verifiers": Family(lambda row: "prompt" in row and "completion" in row, _verifiers),
    "agentdojo": Family(lambda row: "user_task_id" in row and isinstance(row.get("messages"), list), _agentdojo),
    "swe_agent": Family(
        lambda row: isinstance(row.get("trajectory"), list) and ("history" in row or "info" in row), _swe_agent
    ),
    "atif": Family(
        lambda row: str(row.get("schema_version")).startswith("ATIF") and isinstance(row.get("steps"), list), _atif
    ),
    "openhands": Family(lambda row: isinstance(row.get("history"), list) and "instance_id" in row, _openhands),
    "tau2": Family(
        lambda row: isinstance(row.get("simulations"), list) or ("task_id" in row and "reward_info" in row), _tau2
    ),
    "inspect_ai": Family(
        lambda row: (
            (isinstance(row.get("eval"), dict) and "samples" in row)
            or ("epoch" in row and isinstance(row.get("messages"), list))
        ),
        _inspect,
    ),
    "gemini": Family(lambda row: isinstance(row.get("contents"), list), _gemini),
}
