"""A group's trajectories as canonical messages and blocks of text, one at a time: they need not all be there yet.

Not responsible for what a group shares, or for candidates (``group``).
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from calipers.render.binaries import plain
from calipers.render.canonical import Canon, Reasoning
from calipers.render.transcript import MARK, dumps, write
from calipers.types import Tool, Trajectory, TrajectoryGroup, Transcript

KEY_BYTES = 16
"""Bytes of a trajectory's key, and of its group's digest."""

# What a reader looks for first in a tool definition; the rest follows by name, so that equal definitions read alike.
_FIRST_KEYS = ("type", "name", "description")


class Tools:
    """Tool definitions as lines, written once however many trajectories bring them along."""

    def __init__(self) -> None:
        self._written: dict[str, tuple[str, ...]] = {}
        self.definitions: dict[str, Tool] = {}

    def lines(self, tools: Sequence[Tool] | None) -> tuple[str, ...]:
        """One line a tool; ``definitions`` then has each by its line."""
        if not tools:
            return ()
        key = repr(tools)
        if key not in self._written:
            definitions = [_ordered(plain(tool, [])) for tool in tools]
            lines = tuple(dumps(definition, keep_order=True) for definition in definitions)
            self.definitions.update(zip(lines, definitions, strict=True))
            self._written[key] = lines
        return self._written[key]


class Opening:
    """What the trajectories of ``group`` follow: its context, canonical (``messages``) and written (``blocks``).

    Of the group only its context and tools are looked at.
    """

    def __init__(self, group: TrajectoryGroup, reasoning: Reasoning) -> None:
        self._group, self._reasoning = group, reasoning
        self._canon = Canon(reasoning)
        self.messages = list(map(self._canon.message, group.context))
        self.blocks = write(self.messages, after_assistant=False)
        self.tools = Tools()

    def written(self, trajectory: Trajectory) -> Transcript:
        """``trajectory`` as it is shown: as it was prepared, where that holds. Pure; never raises for content."""
        group, prepared = self._group, trajectory.prepared
        lines = self.tools.lines(trajectory.tools if trajectory.tools is not None else group.tools)
        if (
            prepared is not None
            and prepared.is_valid_for(trajectory.messages, group.context, self._reasoning)
            and prepared.transcript.tools == lines
        ):
            return prepared.transcript
        canon = self._canon.copy()
        messages = tuple(map(canon.message, trajectory.messages))
        after_assistant = bool(self.messages) and self.messages[-1]["role"] == "assistant"
        blocks = tuple(write(messages, after_assistant=after_assistant))
        key = hashlib.blake2b("".join((*blocks, MARK, *lines)).encode(), digest_size=KEY_BYTES).digest()
        return Transcript(key, messages, blocks, lines, canon.told())


def _ordered(value: Any) -> Any:
    if isinstance(value, list):
        return [_ordered(item) for item in value]
    if not isinstance(value, dict):
        return value
    first = [key for key in _FIRST_KEYS if key in value]
    return {key: _ordered(value[key]) for key in (*first, *sorted(value.keys() - set(first)))}
