"""Objects of other libraries that hold one rollout or several, a family a function: ``rollouts_in``.

Whatever of a row is neither a message, a tool nor a reward is in the rollout's metadata, except what repeats the
messages. Not responsible for files (``files``) or for which rollouts are of one prompt (``grouping``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final, NamedTuple

from calipers.errors import InputError
from calipers.inputs.foreign import inspect_log
from calipers.inputs.foreign.atif import STEP_KEYS
from calipers.inputs.foreign.gemini import is_adk_event
from calipers.inputs.foreign.gemini_rows import gemini_rollouts, is_gemini_row
from calipers.inputs.foreign.preferences import is_preference, preference_rollouts, sharegpt_rollouts
from calipers.inputs.foreign.rollout import (
    LEFT_OUT,
    Part,
    Rollout,
    Row,
    gold_of,
    require_unused,
    rest_of,
    reward_of,
    turn,
    with_unread,
)
from calipers.inputs.foreign.tau2 import messages_of_ticks
from calipers.inputs.foreign.verifiers_traces import episode_parts, episode_rollouts, is_episode
from calipers.inputs.parts import REASONING, joined_block_text
from calipers.inputs.plain import compact_json, plain_data, type_in_words, without_surrogates

_LISTS: Final = ("messages", "conversations", "contents", "steps", "history", "traces", "simulations", "samples")
"""Fields that hold a list in every format that has them."""
_REWARDS: Final = frozenset(("reward", "utility", "resolved"))
_REWARD_HOLDERS: Final = frozenset(("reward_info", "simulations", "traces", "report", "test_result"))


class Family(NamedTuple):
    """How the rows of a format are recognised, and read as rollouts; ``parts`` are those of a row with several runs."""

    recognises: Callable[[Row], bool]
    read: Callable[[Row], list[Rollout]]
    parts: Callable[[Row], list[Part]] | None = None


def each_rollout(row: Mapping[str, Any], *, family: str | None = None) -> Iterator[Rollout | str] | None:
    """Return the rollouts of a row, with the problem of each part of it that cannot be read, as text, in its place.

    ``family`` names the format, which the row's keys tell otherwise. Returns None for a row of no known format. Raises
    InputError for a row that is not of the named format, nested too deeply, or with a ``gold`` that is not finite.
    """
    gold_of(row)  # as plain data, what is not finite is None
    plain = plain_data(_with_odd_rewards(row))
    name = family_of(plain) if family is None else family
    if name is None:
        return None
    if not FAMILIES[name].recognises(plain):
        own = family_of(plain)
        meant = f"it looks like {own}" if own else f"it has the keys {', '.join(plain)[:200] or 'none'}"
        raise InputError(f"is not of the format {name}; {meant}")
    return _each_part(plain, name)


def _each_part(plain: Row, name: str) -> Iterator[Rollout | str]:
    family = FAMILIES[name]
    odd = f"looks like the format {name}, but a field has an unexpected type"
    try:
        parts = [("", partial(family.read, plain))] if family.parts is None else family.parts(plain)
    except InputError as error:
        yield str(error)
        return
    except (AttributeError, TypeError):
        yield odd
        return
    for where, read in parts:
        try:
            yield from (replace(rollout, where=where) for rollout in read())
        except InputError as error:
            yield f"{where}{error}"
        except KeyError as error:
            yield f"{where}looks like the format {name}, but has no {str(error.args[0])[:40]!r}"
        except (AttributeError, ArithmeticError, LookupError, TypeError, ValueError):  # a field of another type
            yield f"{where}{odd}"


def rollouts_in(row: Mapping[str, Any]) -> list[Rollout] | None:
    """Return the rollouts of a row; None if it is of no known format. Raises InputError for a row that is malformed."""
    each = each_rollout(row)
    if each is None:
        return None
    found = []
    for rollout in each:
        if isinstance(rollout, str):
            raise InputError(rollout)
        found.append(rollout)
    return found


def family_of(row: Any) -> str | None:
    """Return the name of a row's format; None if it is of none, or a line of a groups file."""
    if not isinstance(row, Mapping) or "trajectories" in row or "responses" in row:
        return None
    return next((name for name, family in FAMILIES.items() if family.recognises(dict(row))), None)


def odd_field(row: Mapping[str, Any]) -> str | None:
    """Return what is wrong with a field of a row of no known format, and the remedy; None if no field is known."""
    for key in _LISTS:
        if key in row and not isinstance(row[key], list | tuple):
            return f"{key!r} is {type_in_words(row[key])}; write it as a list of objects"
    answers = [key for key in ("chosen", "rejected") if key in row]
    if not answers:
        return None
    if len(answers) == 1:
        other = "rejected" if answers == ["chosen"] else "chosen"
        return f"has {answers[0]!r} and no {other!r}; give both, or the answer as 'completion'"
    found = type_in_words(row["chosen"])
    return f"'chosen' is {found}, and 'rejected' no answer either; write them as text, a message or a list of messages"


def _with_odd_rewards(row: Mapping[str, Any], rewards: Collection[str] = _REWARDS) -> Row:
    """Return a row with the text of each reward that is not finite, for which ``plain_data`` has None."""
    return {key: _with_odd(key, item, rewards) for key, item in row.items()}


def _with_odd(key: str, value: Any, rewards: Collection[str]) -> Any:
    if key in rewards and isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if key == "rewards" and isinstance(value, Mapping):  # of verifiers: each with a score and a weight
        parts = ("score", "weight")
        return {name: _with_odd_rewards(one, parts) if isinstance(one, Mapping) else one for name, one in value.items()}
    if key in _REWARD_HOLDERS and isinstance(value, Mapping):
        return _with_odd_rewards(value)
    if key in _REWARD_HOLDERS and isinstance(value, list):
        return [_with_odd_rewards(one) if isinstance(one, Mapping) else one for one in value]
    return value


def _verifiers(row: Row) -> list[Rollout]:
    """A rollout that ended in an error has no reward: verifiers writes 0 for it."""
    task = row.get("example_id")
    prompt, completion = _messages_as_text(row) or (row["prompt"], row["completion"])
    asked, said = turn(prompt, "user", "prompt"), turn(completion, "assistant", "completion")
    name = None if task is None else f"{row['task']}-{task}" if isinstance(row.get("task"), str) else str(task)
    gold = gold_of(row)
    read = () if gold is None else ("gold",)
    notes = rest_of(row, "prompt", "completion", "reward", "tools", "tool_defs", *read)
    reward = None if row.get("error") else row.get("reward")
    tools = row.get("tools") or row.get("tool_defs")
    return [Rollout(asked + said, name, tools, reward, notes, is_index=True, asked=len(asked), gold=gold)]


def _messages_as_text(row: Row) -> tuple[list[Any], list[Any]] | None:
    """Return a row's prompt and completion if both are JSON texts of messages, as Parquet files may have them.

    A policy decides what its completion is, and not whether the prompt is JSON.
    """
    asked, said = _decoded(row["prompt"]), _decoded(row["completion"])
    return None if asked is None or said is None else (asked, said)


def _decoded(given: Any) -> list[Any] | None:
    """Return the messages that a text is the JSON of, or None."""
    if not isinstance(given, str) or not given.lstrip().startswith("["):
        return None
    try:
        found = plain_data(without_surrogates(json.loads(given)))
    except (ValueError, RecursionError):
        return None
    is_messages = isinstance(found, list) and found and all(isinstance(one, dict) and "role" in one for one in found)
    return found if is_messages else None


def _nemo_gym(row: Row) -> list[Rollout]:
    """A rollout that failed has no reward: NeMo-Gym writes 0 for it."""
    asked, answered = row["responses_create_params"], row["response"]
    instructions = asked.get("instructions")
    system = [{"role": "system", "content": instructions}] if instructions else []
    prompt = system + turn(asked.get("input") or [], "user", "input")
    messages = [*prompt, *_output(answered["output"])]
    task = next((row[key] for key in ("_ng_task_id", "_ng_task_index") if row.get(key) is not None), None)
    ended = {key: answered[key] for key in ("error", "incomplete_details") if answered.get(key)}
    notes = rest_of(row, "responses_create_params", "response", "reward") | ({"response": ended} if ended else {})
    name = None if task is None else f"task-{task}"
    tools = asked.get("tools") or answered.get("tools") or None
    reward = None if row.get("_ng_failure_class") or answered.get("error") else row.get("reward")
    return [Rollout(messages, name, tools, reward, notes, is_index=True, asked=len(prompt))]


def _output(items: list[Any]) -> list[Any]:
    """Return a response's items; of a list for each turn, in which the conversation so far is repeated, the last."""
    if not items or not all(isinstance(turn_items, list) for turn_items in items):
        return items
    if not all(item in items[-1] for earlier in items for item in earlier):
        raise InputError("has a list of items for each turn, and the last does not repeat the others")
    return list(items[-1])


def _agentdojo(row: Row) -> list[Rollout]:
    """A run's task with what is injected, and how: another attack writes other texts into the agent's tools."""
    task = "/".join(str(row.get(key) or "none") for key in ("suite_name", "user_task_id", "injection_task_id"))
    if row.get("injection_task_id") and row.get("attack_type"):
        task += f"/{row['attack_type']}"
    outcome = None if row.get("error") else row.get("utility")
    return [Rollout(row["messages"], task, None, _reward(row, outcome, "utility"), rest_of(row, "messages", "reward"))]


_HISTORY = ("role", "content", "tool_calls", "tool_call_id", "name", *REASONING)


def _swe_agent(row: Row) -> list[Rollout]:
    """The history, which has what was sent to the model, and what the last step adds to it, such as the patch; without
    one, the steps' responses and observations.
    """
    messages: list[Row] = []
    for item in row.get("history") or []:
        ids = item.get("tool_call_ids")
        named = {"tool_call_id": ids[0]} if ids and item["role"] == "tool" else {}
        said = {key: item[key] for key in _HISTORY if item.get(key) is not None} | named
        messages.append(said | _with_thought(item.get("thought"), said.get("content")))
    steps, left_out = row.get("trajectory") or [], None
    notes = rest_of(row, "history", "trajectory", "replay_config", "reward")
    if messages:
        told = [compact_json(message.get("content")) for message in messages]
        last = [message for step in steps[-1:] for message in _step(step)]
        messages += [
            one for one in last if not any(compact_json(one["content"].strip())[1:-1] in text for text in told)
        ]
    else:
        messages += (steps[0].get("query") or []) if steps else []
        messages += [message for step in steps for message in _step(step)]
        notes, left_out = with_unread(notes, row, steps, _STEP_KEYS)
    return [Rollout(messages, reward=_reward(row), metadata=notes, left_out=left_out)]


def _with_thought(thought: Any, content: Any) -> Row:
    """Return the content of a message with its thought first; without a thought of its own, nothing."""
    if not thought or thought.strip() in joined_block_text(content):
        return {}
    if not content:
        return {"content": thought}
    listed = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return {"content": [{"type": "text", "text": thought}, *listed]}


def _step(step: Row) -> list[Row]:
    said = step.get("response") or "\n\n".join(step[key] for key in ("thought", "action") if step.get(key))
    thought = {key: step[key] for key in REASONING if step.get(key)}
    return [
        {"role": "assistant", "content": said} | thought,
        {"role": "user", "content": step.get("observation") or ""},
    ]


_SAID: Final = frozenset(("response", "thought", "action", "observation"))
_STEP_KEYS: Final = _SAID | {"state", "execution_time", "query", "messages", "extra_info", *REASONING}


def _is_swe_agent(row: Row) -> bool:
    history, steps = row.get("history"), row.get("trajectory")
    if isinstance(history, list) and any(isinstance(one, dict) and "message_type" in one for one in history):
        return True
    if not isinstance(steps, list) or not ("history" in row or "info" in row):
        return False
    return all(isinstance(step, dict) and "role" not in step and not _SAID.isdisjoint(step) for step in steps)


def _openhands(row: Row) -> list[Rollout]:
    """The events, or pairs of an action and its observation, as older evaluations wrote them."""
    history = row["history"]
    if not history:
        raise InputError(f"has no history; its error is {str(row.get('error') or 'not told')[:200]!r}")
    events = [event for item in history for event in (item if isinstance(item, list) else [item])]
    name = row.get("instance_id")
    task, notes = None if name is None else str(name), rest_of(row, "history", "reward")
    return [Rollout(events, task, None, _reward(row, _resolved(row), "resolved"), notes)]


def _resolved(row: Row) -> Any:
    """Return whether an evaluation found the task resolved; None if run or evaluation ended in an error, or there was
    no evaluation.
    """
    if row.get("error"):
        return None
    tested = row.get("test_result")
    report = row.get("report") or (tested.get("report") if isinstance(tested, dict) else None)
    if not isinstance(report, dict) or report.get("error_eval") or report.get("test_timeout"):
        return None
    return report.get("resolved")


def _reward(row: Row, outcome: Any = None, named: str = "outcome") -> Any:
    """Return a row's reward, else the ``outcome`` that its format has under the key ``named``. Raises InputError for an
    outcome that is neither a finite number nor a boolean.
    """
    return row["reward"] if row.get("reward") is not None else reward_of(outcome, repr(named))


def _atif(row: Row) -> list[Rollout]:
    tools = row["agent"].get("tool_definitions")
    notes, left_out = with_unread(rest_of(row, "steps", "reward"), row, row["steps"], STEP_KEYS)
    if following := row.get("continued_trajectory_ref"):
        require_unused(row, LEFT_OUT)
        left_out = "; ".join(text for text in (left_out, f"what follows in {str(following)[:200]}") if text)
        notes = notes | {LEFT_OUT: left_out}
    return [Rollout(row["steps"], tools=tools or None, reward=_reward(row), metadata=notes, left_out=left_out)]


def _is_tau2(row: Row) -> bool:
    run = "task_id" in row and ("reward_info" in row or isinstance(row.get("ticks"), list))
    return run or isinstance(row.get("simulations"), list) or (isinstance(row.get("tasks"), list) and "info" in row)


def _tau2(row: Row) -> list[Rollout]:
    return [_tau2_run(row)]


def _tau2_runs(row: Row) -> list[Part]:
    if "task_id" in row:
        return [("", partial(_tau2, row))]
    if not row.get("simulations"):
        raise InputError("has no runs; where they are files of their own, give those: simulations/*.json")
    domain = tau2_domain(row)
    runs = enumerate(row["simulations"], start=1)
    return [(f"simulation {number}: ", partial(_one, _tau2_run, run, domain)) for number, run in runs]


def tau2_domain(row: Row) -> str | None:
    """Return the domain of a tau2 file with all runs, or about them."""
    name = ((row.get("info") or {}).get("environment_info") or {}).get("domain_name")
    return name if isinstance(name, str) else None


def _adk(row: Row) -> list[Rollout]:
    return [Rollout(row["events"], reward=_reward(row), metadata=rest_of(row, "events", "reward"))]


def _is_adk(row: Row) -> bool:
    events = row.get("events")
    return isinstance(events, list) and bool(events) and all(map(is_adk_event, events))


def _one(read: Callable[..., Rollout], *given: Any) -> list[Rollout]:
    return [read(*given)]


_NO_RUN: Final = ("infrastructure_error", "context_window_exceeded")
"""Why a run of tau2 ended that tau2 counts in no metric, though its reward is 0."""


def _tau2_run(run: Row, domain: str | None = None) -> Rollout:
    """A run without its domain, where its row does not name it."""
    messages = messages_of_ticks(run["ticks"]) if run.get("ticks") else run["messages"]
    reward = None if run.get("termination_reason") in _NO_RUN else (run.get("reward_info") or {}).get("reward")
    rollout = Rollout(messages, str(run["task_id"]), reward=reward, metadata=rest_of(run, "messages", "ticks"))
    return in_domain(rollout, domain)


def in_domain(rollout: Rollout, domain: str | None) -> Rollout:
    """Return a run of tau2 with its domain: a task's id is unique there, and only a file about all runs names it."""
    if not domain:
        return rollout
    return replace(rollout, task=f"{domain}/{rollout.task}", metadata={"domain": domain} | dict(rollout.metadata))


def _inspect(row: Row) -> list[Rollout]:
    return [_inspect_sample(row)]


def _inspect_samples(row: Row) -> list[Part]:
    if "samples" not in row:
        return [("", partial(_inspect, row))]
    task, samples = (row.get("eval") or {}).get("task"), row["samples"] or []
    if not samples:
        raise InputError("is a log without samples; an evaluation with log_samples=False writes none")
    where = "sample {}: " if len(samples) > 1 else ""
    return [
        (where.format(number), partial(_one, _inspect_sample, sample, task))
        for number, sample in enumerate(samples, start=1)
    ]


def _inspect_sample(sample: Row, task: str | None = None) -> Rollout:
    name = f"{task}/{sample['id']}" if task else str(sample["id"])
    return Rollout(inspect_log.messages_of_sample(sample), name, metadata=inspect_log.notes_of_sample(sample))


_SAMPLE_KEYS: Final = frozenset(("id", "epoch", "input", "target"))
"""What every sample of inspect_ai has. A trainer's rows may have an id and an epoch, too."""

FAMILIES: Final[Mapping[str, Family]] = {
    "sharegpt": Family(lambda row: isinstance(row.get("conversations"), list), sharegpt_rollouts),
    "nemo_gym": Family(
        lambda row: isinstance(row.get("responses_create_params"), dict) and "response" in row, _nemo_gym
    ),
    "verifiers": Family(lambda row: "prompt" in row and "completion" in row, _verifiers),
    "verifiers_traces": Family(is_episode, episode_rollouts, episode_parts),
    "agentdojo": Family(lambda row: "user_task_id" in row and isinstance(row.get("messages"), list), _agentdojo),
    "swe_agent": Family(_is_swe_agent, _swe_agent),
    "atif": Family(
        lambda row: str(row.get("schema_version")).startswith("ATIF") and isinstance(row.get("steps"), list), _atif
    ),
    "openhands": Family(
        lambda row: isinstance(row.get("history", 0), list | None) and "instance_id" in row, _openhands
    ),
    "tau2": Family(_is_tau2, _tau2, _tau2_runs),
    "inspect_ai": Family(
        lambda row: (
            (isinstance(row.get("eval"), dict) and "samples" in row)
            or (row.keys() >= _SAMPLE_KEYS and isinstance(row.get("messages"), list))
        ),
        _inspect,
        _inspect_samples,
    ),
    "gemini": Family(is_gemini_row, gemini_rollouts),
    "adk": Family(_is_adk, _adk),
    "preference": Family(is_preference, preference_rollouts),
}
