"""Files of rollouts: a JSON object or array, JSON lines, or inspect_ai's ``.eval``.

A file whose rows are messages or events, such as a session of Claude Code, is one rollout. Not responsible for the
rows themselves (``rollouts``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from calipers.errors import InputError
from calipers.inputs import jsonl, parquet
from calipers.inputs.foreign.claude_code import is_session_line, main_conversation
from calipers.inputs.foreign.codex import codex_items, is_codex_line
from calipers.inputs.foreign.dialects import dialect_of
from calipers.inputs.foreign.eval_file import eval_rows
from calipers.inputs.foreign.grouping import grouped
from calipers.inputs.foreign.rollout import LEFT_OUT, Rollout, gold_of
from calipers.inputs.foreign.rollouts import FAMILIES, each_rollout, family_of, in_domain, odd_field, tau2_domain
from calipers.inputs.foreign.smolagents import is_bare_step
from calipers.inputs.langchain import is_langchain_message
from calipers.inputs.misread import meant
from calipers.inputs.plain import plain_data, type_in_words

_log = logging.getLogger(__name__)
Kind = Literal["group", "rollout", "message"]
Numbered = tuple[int, Any]
_USUAL = ("messages", "prompt", "completion", "conversations", "chosen", "rejected")
"""Keys of rollouts that people write themselves."""
_ONE_EVENT = (
    "is one event of a conversation; write the events of a conversation to one file, in their order, one a line: "
    "jq -c . events/*.json > conversation.jsonl"
)
_GROUPS = "is a groups file already: calipers reads it as it is, so nothing has to be converted"
_RESULTS = "is a file of results, which have no messages; name the groups file that was scored"


def rollout_group_rows(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield the groups of a file of rollouts. Raises InputError for a file that cannot be read.

    Warns of groups whose rollouts have different prompts, and of what is in no rollout, by the logger of calipers.
    """
    yield from _grouped(file_rollouts(path), str(path))


def rollout_groups(rows: Iterable[Numbered], source: str) -> Iterator[tuple[int, Any]]:
    """Yield the groups of rollouts in memory, one or several a row, as of a file with these rows."""
    named = ((line, row if isinstance(row, dict | str) else _no_object(row)) for line, row in rows)
    yield from _grouped((found for line, row in named for found in _row_rollouts(line, row, None)), source)


def _no_object(row: Any) -> str:
    return f"is {type_in_words(row)} among rollouts, each of which is a dict"


def is_rollout(row: Any) -> bool:
    """Return whether a row in memory is a rollout of another library, or several."""
    return family_of(row) is not None


def _grouped(rollouts: Iterable[tuple[int, Rollout | str]], source: str) -> Iterator[tuple[int, Any]]:
    def note(line: int, text: str) -> None:
        _log.warning("%s:%d: %s", source, line, text)

    yield from grouped(_with_notes(rollouts, note), note=note)


def _with_notes(
    rollouts: Iterable[tuple[int, Rollout | str]], note: Callable[[int, str], None]
) -> Iterator[tuple[int, Rollout | str]]:
    for line, rollout in rollouts:
        if isinstance(rollout, Rollout) and rollout.left_out is not None:
            note(line, f"{rollout.where}not in the rollout: {rollout.left_out}")
        yield line, rollout


def is_rollout_row(row: Any) -> bool:
    """Return whether a row of a file is a foreign rollout, or a message or an event of one."""
    if not isinstance(row, dict) or "trajectories" in row:
        return False
    return family_of(row) is not None or _is_message(row)


def _is_message(row: dict[str, Any]) -> bool:
    """Return whether a row without a role is a message or an event of one of the known libraries."""
    return dialect_of(row) is not None or is_session_line(row) or is_codex_line(row) or is_langchain_message(row)


def kind_of(row: Any) -> Kind | None:
    """Return what a row of a file is: a group, one rollout or several, or a message or event of one; None if none."""
    if not isinstance(row, dict):
        return None
    if "trajectories" in row or "responses" in row:
        return "group"
    if family_of(row) is not None:
        return "rollout"
    if _is_message(row):
        return "message"
    if isinstance(row.get("messages"), list):
        return "rollout"
    return "message" if "role" in row else None


def _is_result(group: Mapping[str, Any]) -> bool:
    """Return whether a group's object is what ``calipers score`` wrote of one."""
    listed = group.get("trajectories")
    first = listed[0] if isinstance(listed, list) and listed else None
    return "status" in group and isinstance(first, dict) and "reason" in first and "messages" not in first


def file_rollouts(path: Path, *, family: str | None = None) -> Iterator[tuple[int, Rollout | str]]:
    """Yield a file's rollouts with their lines, and each unreadable row's problem as text.

    ``family`` names the format of the rows, which is recognised otherwise. Raises InputError for a file that cannot be
    read as a whole, and for a groups file.
    """
    rows = _rows(path)
    head: list[Numbered] = []
    kind: Kind | None = None
    for numbered in rows:
        head.append(numbered)
        kind = kind_of(numbered[1])
        if kind is not None or family is not None:
            break
    if not head:
        raise InputError("is empty; it holds no rollouts", source=str(path))
    if kind == "group":
        raise InputError(_RESULTS if _is_result(head[-1][1]) else _GROUPS, source=str(path))
    if kind == "message" and family is None:
        yield _session(path, chain(head, rows))
        return
    domain = _domain_beside(path)
    for line, row in chain(head, rows):
        is_run = domain is not None and isinstance(row, dict) and "task_id" in row
        is_run = is_run and (family or family_of(row)) == "tau2"
        for place, rollout in _row_rollouts(line, row, family):
            yield place, in_domain(rollout, domain) if is_run and isinstance(rollout, Rollout) else rollout


def _domain_beside(path: Path) -> str | None:
    """Return the domain of tau2's runs in files of their own, which is in the file beside their folder."""
    about = path.parent.parent / "results.json"
    if path.parent.name != "simulations" or not about.is_file() or about.stat().st_size > jsonl.MAX_LINE:
        return None
    found = jsonl.parse_json_line(about.read_bytes())
    return tau2_domain(found) if isinstance(found, dict) and isinstance(found.get("info"), dict) else None


def _session(path: Path, rows: Iterable[Numbered]) -> tuple[int, Rollout | str]:
    """Return the rollout whose messages are a file's rows; the problem of one that cannot be read is its own."""
    messages = []
    first = 0
    for line, row in rows:
        first = first or line
        if isinstance(row, str):
            return line, f"{row}; the file is one rollout, which cannot be read without this line"
        if kind_of(row) in ("rollout", "group"):
            return line, "is a whole rollout in a file of messages; give messages and rollouts in files of their own"
        messages.append(row)
    if all(map(is_bare_step, messages)):
        return first, _unknown_keys(messages[0])
    if len(messages) == 1 and dialect_of(messages[0]) == "openhands":
        return first, _ONE_EVENT
    own, bookkeeping = codex_items(messages)
    try:
        main, others = main_conversation(own)
    except InputError as error:
        return first, str(error)
    left_out = "; ".join(text for text in (bookkeeping, others) if text)
    notes = {"file": path.name} | ({LEFT_OUT: left_out} if left_out else {})
    return first, Rollout(main, metadata=notes, left_out=left_out or None)


def _row_rollouts(line: int, row: Any, family: str | None) -> Iterator[tuple[int, Rollout | str]]:
    if isinstance(row, str):
        yield line, row
        return
    try:
        found = each_rollout(row, family=family)
    except InputError as error:
        yield line, str(error)
        return
    if found is not None:
        yield from ((line, rollout) for rollout in found)
    elif isinstance(row.get("messages"), list) and kind_of(row) == "rollout":
        try:
            yield line, _messages_row(row)
        except InputError as error:
            yield line, str(error)
    else:
        yield line, _unknown(row)


def _messages_row(row: dict[str, Any]) -> Rollout:
    """Return a row with messages. Requests of Anthropic and Bedrock have the system prompt beside them."""
    messages, system = row["messages"], row.get("system")
    read = ["messages", "tools", "reward"]
    if system and isinstance(system, str | list) and not any(_role(message) == "system" for message in messages):
        messages = [{"role": "system", "content": system}, *messages]
        read.append("system")
    tools = _tools_of_bedrock(row) if row.get("tools") is None else row["tools"]
    if (gold := gold_of(row)) is not None:
        read.append("gold")
    notes = {key: plain_data(item) for key, item in row.items() if key not in read}
    return Rollout(messages, None, tools, row.get("reward"), notes, gold=gold)


def _tools_of_bedrock(row: dict[str, Any]) -> list[Any] | None:
    """Return the tools of a request to Bedrock. Raises InputError for a ``toolConfig`` without a list of them."""
    given = row.get("toolConfig")
    if given is None:
        return None
    if not isinstance(given, dict) or not isinstance(given.get("tools"), list):
        raise InputError('\'toolConfig\' has no list of tools; write it as {"tools": [{"toolSpec": ...}]}')
    return list(given["tools"])


def _role(message: Any) -> Any:
    return message.get("role") if isinstance(message, dict) else None


def _unknown(row: dict[str, Any]) -> str:
    match kind_of(row):
        case "message":
            return "is a single message in a file of rollouts; give messages and rollouts in files of their own"
        case "group":
            return "is a line of a groups file in a file of rollouts; calipers score reads it as it is"
        case _:
            if (odd := odd_field(row)) is not None:
                return odd
            return _unknown_keys(row)


def _unknown_keys(row: dict[str, Any]) -> str:
    keys = ", ".join(map(str, row))[:200] or "none"
    question = next((text for key in _USUAL if key not in row and (text := meant(key, row))), "")
    return (
        f"is of no known format; {question}it has the keys {keys}; the formats are {', '.join(FAMILIES)}; any other "
        'rollout can be written as {"messages": [{"role": "user", "content": "..."}, ...], "reward": 1.0}'
    )


def _rows(path: Path) -> Iterator[Numbered]:
    with jsonl.open_binary(path) as stream:
        head = stream.read(4)
        if head == b"PK\x03\x04":
            yield from eval_rows(path, stream)
            return
    if head == b"PAR1":
        yield from parquet.parquet_rollout_rows(path)
        return
    yield from jsonl.read_json_or_lines(path)
