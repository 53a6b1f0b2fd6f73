"""Names environment variables that look like those of calipers' options but are none."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Final

import click

_PREFIX: Final = "CALIPERS_"
_NEAR: Final = 0.8
"""Others may use the prefix, too: only a name as similar to a variable of calipers, without it, is a mistake."""


def mistyped_variables(app: click.Group) -> Iterator[tuple[str, str]]:
    """Return each mistyped variable of the environment, with the one that was probably meant."""
    given = [name for name in os.environ if name.startswith(_PREFIX)]
    known = {name.removeprefix(_PREFIX) for name in _variables(app)} if given else set()
    for name in given:
        own = name.removeprefix(_PREFIX)
        if own not in known and (near := get_close_matches(own, known, n=1, cutoff=_NEAR)):
            yield name, _PREFIX + near[0]


def _variables(command: click.Command) -> Iterator[str]:
    for option in command.params:
        yield from [option.envvar] if isinstance(option.envvar, str) else option.envvar or ()
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from _variables(inner)
