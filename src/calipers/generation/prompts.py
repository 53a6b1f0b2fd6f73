"""Reads files of prompts for generation: JSONL (also gzip) and Parquet, with a prompt and any other columns in each
row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.inputs.records import parquet_rows, read_json_lines
from calipers.rubric.dataset_standards import row_prompt
from calipers.types import Message

_KEYS: Final = ("prompt", "messages", "context")
_IDS: Final = ("group_id", "id", "key")
_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool"})


@dataclass(frozen=True, slots=True)
class Prompt:
    """A row of a prompts file: the ``messages`` to answer, and the whole ``row``.

    ``line`` is its line number from 1 (in Parquet, its row number).
    """

    id: str
    line: int
    messages: tuple[Message, ...]
    row: Mapping[str, Any]

    @property
    def text(self) -> str:
        """Return the text of the prompt's last user message, or "" if there is none."""
        for message in reversed(self.messages):
            if message["role"] == "user" and isinstance(message.get("content"), str):
                return str(message["content"])
        return ""


def read_prompts(
    path: str,
    *,
    key: str | None = None,
    on_error: Callable[[InputError], None] | None = None,
    check: Callable[[Mapping[str, Any], Sequence[Message]], object] | None = None,
) -> list[Prompt]:
    """Return the prompts to generate responses to, from a ``.jsonl``, ``.jsonl.gz`` or ``.parquet`` file, in order.

    A prompt is text, or a list of chat messages, in the field ``key``. The default is the first existing field of
    ``prompt``, ``messages`` and ``context``, else the prompt of a known data set (``rubric.dataset_standards``). The
    prompt's id is ``group_id``, ``id`` or ``key``, else its line; repeated ids get a number.

    ``check`` gets a row and its messages. It raises if the reader of the responses could not read the row, so that
    nothing is paid for such a row. A bad row is passed to ``on_error`` as an InputError with file, line and field, and
    skipped. Without ``on_error``, this error is raised. Raises InputError for a file that cannot be read or has no
    prompt, and ConfigError for Parquet without pyarrow.
    """
    prompts: list[Prompt] = []
    names: set[str] = set()
    for line, row in parquet_rows(Path(path)) if path.endswith(".parquet") else read_json_lines(path):
        try:
            messages = _messages(row, key)
            if check is not None and isinstance(row, Mapping):
                check(row, messages)
        except (InputError, ConfigError) as error:
            placed = InputError(str(error), source=path, line=line)
            if on_error is None:
                raise placed from None
            on_error(placed)
            continue
        assert isinstance(row, Mapping)  # noqa: S101 - it has messages
        name = next((str(row[field]) for field in _IDS if row.get(field) is not None), str(line))
        prompts.append(Prompt(_unused(name, names), line, messages, row))
    if not prompts:
        raise InputError('holds no prompts; expected one a line, as in {"prompt": "..."}', source=path)
    return prompts


def _unused(name: str, taken: set[str]) -> str:
    """Return ``name``, with a number appended if it is in ``taken``, and add it there."""
    unused = next(
        candidate for candidate in chain([name], (f"{name}-{again}" for again in count(2))) if candidate not in taken
    )
    taken.add(unused)
    return unused


def _messages(row: Mapping[str, Any] | str, key: str | None) -> tuple[Message, ...]:
    if isinstance(row, str):
        raise InputError(row)
    name = key or next((known for known in _KEYS if row.get(known) is not None), None)
    of_row = row_prompt(row) if name is None else None
    if of_row is None and (name is None or row.get(name) is None):
        have = ", ".join(map(str, list(row)[:12])) or "none"
        hint = key or "field prompt, messages or context"
        raise InputError(f"has no {hint} (its fields: {have}); name the field of the prompt with --prompt-key")
    name = name or "the prompt"
    value = row[name] if of_row is None else of_row
    if isinstance(value, str):
        value = [{"role": "user", "content": value}]
    if not isinstance(value, list | tuple) or not value:
        raise InputError(f"{name}: must be text, or a list with at least one message")
    for place, message in enumerate(value):
        if not isinstance(message, Mapping) or message.get("role") not in _ROLES:
            raise InputError(
                f"{name}[{place}]: must be a message with a role ({', '.join(sorted(_ROLES))}) and content"
            )
        if message.get("content") is None and not message.get("tool_calls"):
            raise InputError(f"{name}[{place}]: has no content")
    # In Parquet, every struct has the fields of all structs; a field without a value was absent in the source.
    return tuple({field: item for field, item in message.items() if item is not None} for message in value)
