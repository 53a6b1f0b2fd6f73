"""Verifiers of a trajectory's tool calls: whether a tool was called, with which arguments, and with what result."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from calipers.errors import ConfigError
from calipers.types import Trajectory, Verdict
from calipers.types.encoding import counted
from calipers.verifiers.answer import message_text


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """Met if the tool ``name`` was called at least ``times`` times with these ``arguments``, or never
    if ``times`` is 0.
    """

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    times: int = 1

    def __post_init__(self) -> None:
        if not isinstance(self.arguments, Mapping) or not isinstance(self.times, int) or self.times < 0:
            raise ConfigError(f"tool_called: write a mapping of arguments, and times={self.times!r} as 0 or more")

    def __call__(self, trajectory: Trajectory) -> Verdict:
        calls = [call for call in _calls(trajectory) if call.name == self.name]
        fitting = sum(_includes(call.arguments, self.arguments) for call in calls)
        met = fitting >= self.times if self.times else fitting == 0
        with_these = " with these arguments" if self.arguments else ""
        return Verdict(met, f"{self.name} was called {counted(fitting, 'time')}{with_these}")


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """Met if the last result of the tool ``name`` contains the text ``contains``.

    Not met if the tool was never called. None if its result is not in the trajectory.
    """

    name: str
    contains: str

    def __call__(self, trajectory: Trajectory) -> Verdict:
        calls = [call for call in _calls(trajectory) if call.name == self.name]
        if not calls:
            return Verdict(False, f"{self.name} was never called")
        result = calls[-1].result
        if result is None:
            return Verdict(None, f"the result of {self.name} is not in the trajectory")
        met = self.contains in result
        return Verdict(met, "" if met else f"{self.contains!r} is not in the result of {self.name}")


class _Call(NamedTuple):
    name: str
    arguments: Mapping[str, Any] | None
    result: str | None


def _calls(trajectory: Trajectory) -> Iterator[_Call]:
    """Yield all tool calls of a trajectory with their results, matched by id, or by order if a call has no id."""
    results: dict[str, str | None] = {}
    in_order: list[str | None] = []
    for message in trajectory.messages:
        if message.get("role") == "tool":
            if (name := message.get("tool_call_id")) is not None:
                results[str(name)] = message_text(message)
            else:
                in_order.append(message_text(message))
    without_id = iter(in_order)
    for message in trajectory.messages:
        if message.get("role") != "assistant":
            continue
        for call in message.get("tool_calls") or ():
            function = call.get("function") or {}
            known = call.get("id") is not None
            result = results.get(str(call["id"])) if known else next(without_id, None)
            yield _Call(str(function.get("name")), _arguments(function.get("arguments")), result)


def _arguments(given: object) -> Mapping[str, Any] | None:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return None
    return given if isinstance(given, Mapping) else None


def _includes(given: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    return not wanted or (given is not None and all(name in given and given[name] == wanted[name] for name in wanted))
