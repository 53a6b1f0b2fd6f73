"""The options about the tools with which a judge reads what candidates left behind.

Not responsible for what the tools do (``judging.toolbox``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from calipers.config.option import QUESTION, Group, any_value, nearest_name, whole_number
from calipers.errors import ConfigError
from calipers.types.tool_calls import TOOL_NAMES

ALL_TOOLS = "all"


def _require_tools(called: str, value: object) -> None:
    """Raise ConfigError unless ``value`` names tools, each once."""
    names = value if isinstance(value, list | tuple) else [value]
    for place, name in enumerate(names):
        if name not in TOOL_NAMES:
            raise ConfigError(f"{called}: {name!r} is no tool; {_meant(name)}")
        if name in names[:place]:
            raise ConfigError(f"{called}: {name!r} is there twice; name each tool once")


def _meant(name: object) -> str:
    """Return in words which tools to write in place of a name that is none."""
    if isinstance(name, str) and "," in name:
        return "name several as a list, or each with a --tool of its own"
    near = nearest_name(name.strip().casefold(), [*TOOL_NAMES, ALL_TOOLS]) if isinstance(name, str) else None
    return f"did you mean {near}?" if near else f"name {', '.join(TOOL_NAMES)}, or {ALL_TOOLS}"


@dataclass(frozen=True, repr=False)
class Tools(Group):
    """The tools with which a judge reads artifacts, and how much it may read about one question."""

    alone: ClassVar[str] = "names"
    names: Sequence[str] | str = any_value(
        (),
        "A tool with which the judge reads the artifacts of candidates: list_files, read_file, search, diff, "
        "python, or all.",
        key="tools",
        flag="tool",
        section=QUESTION,
        metavar="NAME",
        many=True,
        reads=tuple,
        check=_require_tools,
        unset="none",
        recorded=True,
        link="verifiers.md#a-judge-with-tools",
    )
    turns: int = whole_number(
        8,
        "With --tool: how many answers about one question may call tools.",
        low=1,
        key="tool_turns",
        section=QUESTION,
        recorded=True,
        link="verifiers.md#a-judge-with-tools",
    )
    most_bytes: int = whole_number(
        65_536,
        "With --tool: how many bytes the tools may return about one question.",
        low=1024,
        key="tool_bytes",
        section=QUESTION,
        recorded=True,
        link="verifiers.md#a-judge-with-tools",
    )

    @classmethod
    def of(cls, value: object, name: str) -> Self:
        """Build the group as any other; limits that name no tools are an error, for a judge would have none."""
        if isinstance(value, Mapping) and value and "names" not in value:
            raise ConfigError(f'{name}={dict(value)!r} names no tools: add "names": "{ALL_TOOLS}", or a list of them')
        return super().of(value, name)

    def __post_init__(self) -> None:
        """Turn a single name into a tuple, and ``all`` into the names of all tools."""
        given = (self.names,) if isinstance(self.names, str) else self.names
        if isinstance(given, list | tuple):
            object.__setattr__(self, "names", TOOL_NAMES if ALL_TOOLS in given else tuple(given))
