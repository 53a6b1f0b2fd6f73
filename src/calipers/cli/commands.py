"""A command group: the table of its commands, which are imported when they are first used, and their order in the help.

All commands together take 0.3 s of CPU to import, and a run of ``calipers`` needs one of them. Not
responsible for what a command does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, MutableMapping, Sequence

import click

from calipers.registry import load_object


class CommandList(click.Group):
    """A group of commands whose help names first, and in this order, the commands that a user needs first."""

    first: Sequence[str] = ()

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands to the help in two sections."""
        shown = {name: self.commands[name] for name in self.list_commands(ctx) if not self.commands[name].hidden}
        limit = formatter.width - 6 - max(map(len, shown))
        lines = {name: command.get_short_help_str(limit) for name, command in shown.items()}
        for heading, names in (
            ("Commands that you need first", self.first),
            ("Other commands", [name for name in lines if name not in self.first]),
        ):
            with formatter.section(heading):
                formatter.write_dl([(name, lines[name]) for name in names])


class LazyCommands(MutableMapping[str, click.Command]):
    """The commands of a click group by name. ``places`` names the ``module:attribute`` of each command.

    A list of all commands with their help, and a settings file, import all of them.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self._found: dict[str, click.Command | str] = dict(places)

    def __getitem__(self, name: str) -> click.Command:
        command: click.Command = load_object(self._found[name])
        self._found[name] = command
        return command

    def __setitem__(self, name: str, command: click.Command) -> None:
        self._found[name] = command

    def __delitem__(self, name: str) -> None:
        del self._found[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._found)

    def __len__(self) -> int:
        return len(self._found)
