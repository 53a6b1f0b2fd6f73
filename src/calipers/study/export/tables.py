"""Tables of a study's TOML as settings, with every problem of a table reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from calipers.config.option import did_you_mean, options_of
from calipers.errors import ConfigError


def read_table(kind: Any, table: object, where: str, problems: list[str]) -> Any:
    """Return the settings ``kind`` that a table of a study's TOML describes, or None with what is wrong with it.

    ``where`` names the table in ``problems``, to which a sentence is added for each problem.
    """
    if not isinstance(table, Mapping):
        problems.append(f"{where} must be a table")
        return None
    known = {option.name: option for option in options_of(kind)}
    found = [f"{where}: unknown key {key!r}.{did_you_mean(key, known)}" for key in table if key not in known]
    for key, value in table.items():
        try:
            if key in known:
                known[key].require(value)
        except ConfigError as error:
            found.append(f"{where}: {error}")
    problems += found
    return None if found else kind(**table)
