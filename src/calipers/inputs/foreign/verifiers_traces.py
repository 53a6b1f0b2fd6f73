"""Episodes of verifiers 0.4 (``traces.jsonl``): each agent's trace, a graph of messages, is a rollout.

Calls, tokens and times are not read. Source of the fields: ``verifiers.v1.episode``, ``trace`` and ``graph``.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from calipers.errors import InputError
from calipers.inputs.foreign.rollout import (
    LEFT_OUT,
    Part,
    Rollout,
    Row,
    beside,
    require_unused,
    rest_of,
    reward_of,
)
from calipers.types.counted import counted

_COUNTS = ("num_input_tokens", "num_output_tokens", "num_total_tokens")


def is_episode(row: Row) -> bool:
    """Return whether a row is an episode: traces with a task."""
    return isinstance(row.get("traces"), list) and isinstance(row.get("task"), dict)


def episode_parts(row: Row) -> list[Part]:
    """Return a part for each trace of an episode. Raises InputError for an episode without one."""
    traces = row["traces"]
    if not traces:
        raise InputError(f"is an episode without a trace; its errors are {str(row.get('errors') or 'not told')[:200]}")
    where = "trace {}: " if len(traces) > 1 else ""
    return [(where.format(number), partial(_rollouts, row, trace)) for number, trace in enumerate(traces, start=1)]


def episode_rollouts(row: Row) -> list[Rollout]:
    """Return the rollouts of an episode."""
    return [rollout for _, read in episode_parts(row) for rollout in read()]


def _rollouts(row: Row, trace: Row) -> list[Rollout]:
    path, others = _path(trace["nodes"])
    asked = next((at for at, node in enumerate(path) if node.get("sampled")), len(path))
    task, env = row["task"], (row.get("env") or {}).get("id") or ""
    own = task.get("key") or task.get("hash")
    agent = (trace.get("agent") or {}).get("name") or "" if len(row["traces"]) > 1 else ""
    notes = rest_of(trace, "nodes", "calls", "tools", "timing", "verifiers", "mm_token_type_id_map")
    notes = ({"env": env} if env else {}) | beside(notes, "episode", rest_of(row, "traces", "task", "env", *_COUNTS))
    group = (row.get("group") or {}).get("id") or ""
    left_out = f"{counted(others, 'other branch', 'other branches')} of the trace" if others else None
    if left_out is not None:
        require_unused(row | trace, LEFT_OUT)
        notes[LEFT_OUT] = left_out
    return [
        Rollout(
            [node["message"] for node in path],
            "/".join(str(name) for name in (env, own, group, agent) if name) if own or group else None,
            trace.get("tools"),
            _reward(trace),
            notes,
            asked=asked,
            left_out=left_out,
        )
    ]


def _path(nodes: list[Row]) -> tuple[list[Row], int]:
    """Return the messages from the root to the last leaf, and how many other leaves there are."""
    parents = {node.get("parent") for node in nodes}
    leaves = [at for at in range(len(nodes)) if at not in parents]
    at, path = leaves[-1] if leaves else None, list[Row]()
    while at is not None:
        path.append(nodes[at])
        before = nodes[at].get("parent")
        if before is not None and not 0 <= before < at:
            raise InputError(f"node {at} has the parent {before!r}, which does not precede it")
        at = before
    return path[::-1], len(leaves) - 1


def _reward(trace: Row) -> Any:
    """Return the weighted sum of the rewards; None for a trace that failed, or was not scored in part."""
    given = trace.get("rewards") or {}
    if not given or trace.get("ok") is False or any(reward is None for reward in given.values()):
        return None
    return sum(
        _number(reward, "score", name) * (_number(reward, "weight", name) if "weight" in reward else 1.0)
        for name, reward in given.items()
    )


def _number(reward: Row, key: str, name: str) -> float:
    found = reward_of(reward.get(key), f"the {key} of the reward {name!r}")
    if found is None:
        raise InputError(f"the {key} of the reward {name!r} is missing; write null for the whole reward if unknown")
    return found
