"""What TRL's rollouts have around them: the tools that the policy was offered, and the environment that it acted in.

TRL shows reward functions neither. The tools are found on the trainer that makes the call; environments are passed from
TRL 1.0 on. TRL is never imported. Not responsible for the completions (``trl.rows``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from calipers.errors import ConfigError, InputError
from calipers.inputs.tools import openai_tool_definitions
from calipers.types import Tool

ReadArtifacts: TypeAlias = Callable[[Any], Mapping[str, str]]
"""Returns what an environment was left with after a rollout, as texts by path."""

PolicyTools: TypeAlias = "Sequence[Mapping[str, Any] | Callable[..., Any]]"
"""The tools of a policy: definitions in OpenAI's form, or functions with docstrings, as TRL takes them."""


@dataclass(frozen=True, slots=True)
class Around:
    """What a TRL rollout had around it. ``problem`` is the reason why its artifacts cannot be read."""

    tools: tuple[Tool, ...] | None = None
    artifacts: Mapping[str, str] = field(default_factory=dict)
    problem: str | None = None


def around_rollouts(
    columns: Mapping[str, Any], rows: int, *, tools: PolicyTools | None, artifacts: ReadArtifacts | None
) -> list[Around]:
    """Return what each of the ``rows`` of a TRL batch had around it.

    ``tools`` are given by the user; None means those that the calling trainer shows, if it shows any. ``artifacts``
    reads an environment. Raises ConfigError if it is given and the trainer passes no environments.
    """
    environments = columns.get("environments")
    if artifacts is not None and environments is None:
        raise ConfigError(
            "artifacts= reads environments, and this trainer passes none: give it an environment_factory, or leave "
            "artifacts= out (AsyncGRPOTrainer keeps environments in its rollout worker)"
        )
    had = _tools_of_rows(columns, rows, tools)
    found = []
    for place in range(rows):
        left, problem = (
            ({}, None) if artifacts is None or environments is None else _read(artifacts, environments[place])
        )
        found.append(Around(had[place], left, problem))
    return found


def _read(artifacts: ReadArtifacts, environment: Any) -> tuple[Mapping[str, str], str | None]:
    """Return an environment's artifacts, and why they cannot be read: the row then has no reward."""
    try:
        found = dict(artifacts(environment))
    except Exception as error:  # noqa: BLE001 - a user's function may fail in any way; its row gets no reward
        return {}, f"artifacts= raised {type(error).__name__}: {error}"
    if wrong := [path for path, text in found.items() if not isinstance(path, str) or not isinstance(text, str)]:
        return {}, f"artifacts= returned no text for {str(wrong[0])[:100]!r}"
    return found, None


def _tools_of_rows(columns: Mapping[str, Any], rows: int, tools: PolicyTools | None) -> list[tuple[Tool, ...] | None]:
    if tools is not None:
        return [_definitions(tools)] * rows
    trainer = getattr(columns.get("log_metric"), "__self__", None)
    by_environment, names = getattr(trainer, "_env_tools", None), getattr(trainer, "_batch_environments", None)
    if isinstance(by_environment, Mapping) and isinstance(names, list) and len(names) == rows:
        made = {name: _definitions(by_environment.get(name, ())) for name in set(names)}
        return [made[name] for name in names]
    own = getattr(trainer, "tools", None)
    return [_definitions(own) if isinstance(own, list | tuple) else None] * rows


def _definitions(tools: PolicyTools) -> tuple[Tool, ...] | None:
    """Return tools as definitions; functions are described as TRL describes them to the policy."""
    found: list[Any] = []
    for tool in tools:
        if isinstance(tool, Mapping):
            found.append(tool)
        else:
            from transformers.utils import get_json_schema  # noqa: PLC0415 - TRL has it loaded, and nothing else needs it

            found.append(get_json_schema(tool))
    try:
        return openai_tool_definitions(found) if found else None
    except InputError as error:
        raise ConfigError(f"tools=: {error}") from error
