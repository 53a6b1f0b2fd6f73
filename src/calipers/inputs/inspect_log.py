"""Logs of inspect_ai: the samples of ``.eval`` files, their messages, and what else is kept of a sample.

Events, stores and times are not read.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from calipers.errors import InputError
from calipers.inputs.parts import REASONING, joined_block_text
from calipers.inputs.plain import without_surrogates
from calipers.inputs.records import open_binary

if TYPE_CHECKING:
    import zipfile
else:
    try:  # newer logs are compressed with zstd
        from backports.zstd import zipfile
    except ImportError:  # Python reads it itself from 3.14 on
        import zipfile

Sample = dict[str, Any]
_NOT_KEPT = ("messages", "input", "events", "events_data", "attachments", "store", "timelines", "output")
_LARGEST: Final = 2**30
"""The most bytes of a sample, decompressed."""
_REMEDY = "write it as JSON: inspect log convert FILE --to json --output-dir DIR"
_DAMAGE = (zipfile.BadZipFile, ValueError, EOFError, OSError, struct.error, zlib.error, RuntimeError)
"""What reading a damaged zip raises; RuntimeError stands for nesting, an encrypted entry or an unknown compression."""


def eval_rows(path: Path) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the samples of an ``.eval`` file as logs of one sample, in the order of their names, numbered from 1.

    A sample that cannot be read is its problem as text. Raises InputError for a file that is not a whole zip.
    """
    with open_binary(path) as stream:
        try:
            archive = zipfile.ZipFile(stream)
        except _DAMAGE as error:
            raise InputError(f"is a damaged .eval file ({error}); copy it again", source=str(path)) from None
        with archive:
            entries = {info.filename: info for info in archive.infolist()}  # of a name written twice, the last counts
            # A log that is still written has its task in its journal.
            headers = [_entry(archive, entries[name]) for name in _HEADERS if name in entries]
            specs = [header["eval"] for header in headers if isinstance(header, dict) and "eval" in header]
            task = next((str(spec["task"]) for spec in specs if isinstance(spec, dict) and spec.get("task")), None)
            names = sorted(name for name in entries if name.startswith("samples/") and name.endswith(".json"))
            if not names:
                raise InputError("is an .eval file without samples", source=str(path))
            for number, name in enumerate(names, start=1):
                if name.count("/") > 1:
                    yield number, f"the sample {name[:100]} is in chunks, which are not read; {_REMEDY}"
                    continue
                sample = _entry(archive, entries[name])
                yield number, sample if isinstance(sample, str) else {"eval": {"task": task}, "samples": [sample]}


_HEADERS = ("header.json", "_journal/start.json")


def _entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> dict[str, Any] | str:
    """Return the object in an entry of an ``.eval`` file, or as text what is wrong with it."""
    where = f"the entry {info.filename[:100]!r}"
    if info.file_size > _LARGEST:
        return f"{where} has {info.file_size / 2**30:.1f} GiB, which is more than is read"
    try:
        value = without_surrogates(json.loads(archive.read(info)))
    except _DAMAGE as error:
        return f"{where} is damaged ({str(error)[:200] or type(error).__name__}); copy the file again"
    return value if isinstance(value, dict) else f"{where} is not a JSON object"


def notes_of_sample(sample: Sample) -> dict[str, Any]:
    """Return what is kept of a sample beside its messages, with an output that they do not repeat."""
    replies = [message for message in sample.get("messages") or [] if message["role"] == "assistant"]
    text = joined_block_text((_answer(sample) or {}).get("content"))
    is_said = not replies or any(text in joined_block_text(reply.get("content")) for reply in replies)
    rest = {key: item for key, item in sample.items() if key not in _NOT_KEPT and item is not None}
    return rest if is_said else rest | {"output": text}


def messages_of_sample(sample: Sample) -> list[dict[str, Any]]:
    """Return a sample's messages with attachments in their places; its input where there are none, and its output
    where no message is a reply: a solver may set the output, which is scored, without a message.
    """
    attachments, messages = sample.get("attachments") or {}, list(sample.get("messages") or [])
    if not messages:
        asked = sample.get("input")
        messages = [{"role": "user", "content": asked}] if isinstance(asked, str) else list(asked or [])
    if not any(message["role"] == "assistant" for message in sample.get("messages") or []):
        messages += [answer] if (answer := _answer(sample)) else []
    return [_message(_attached(message, attachments)) for message in messages]


def _answer(sample: Sample) -> dict[str, Any] | None:
    choices = (sample.get("output") or {}).get("choices")
    return choices[0]["message"] if choices else None


def _attached(value: Any, attachments: dict[str, str]) -> Any:
    if isinstance(value, str):
        return attachments.get(value.removeprefix("attachment://"), value) if value.startswith("attachment") else value
    if isinstance(value, dict):
        return {key: _attached(item, attachments) for key, item in value.items()}
    return [_attached(item, attachments) for item in value] if isinstance(value, list) else value


def _message(message: dict[str, Any]) -> dict[str, Any]:
    content = message.get("content")
    if isinstance(content, list):
        content = [block for part in content for block in _blocks(part)]
    chat = {"role": message["role"], "content": content}
    chat |= {key: message[key] for key in REASONING if message.get(key)}  # older logs have it beside the content
    if calls := message.get("tool_calls"):
        listed = [{**call, "type": "tool_use", "name": call.get("function")} for call in calls]
        # Calls follow the tools that the provider ran, which are blocks of the content.
        chat |= {"content": [*content, *listed]} if isinstance(content, list) else {"tool_calls": calls}
    if message["role"] == "tool":
        chat["tool_call_id"] = message.get("tool_call_id")
        if error := message.get("error"):
            texts = [content] if isinstance(content, str) and content else content or []
            chat |= {"is_error": True, "content": [*texts, str(error.get("message") or "")]}
    return chat


def _blocks(part: Any) -> list[Any]:
    """Return a content of inspect_ai as blocks that ``parts`` reads."""
    kind = part.get("type") if isinstance(part, dict) else ""
    if kind == "text":
        return [{key: part[key] for key in ("type", "text", "citations") if part.get(key) is not None}]
    if kind == "reasoning":
        keys = ("summary",) if part.get("redacted") else ("summary", "reasoning")
        return [{"type": "thinking", "thinking": "\n\n".join(part[key] for key in keys if part.get(key))}]
    if kind == "tool_use":  # run by the provider, with its result
        call = {"type": "tool_use", "id": part["id"], "name": part["name"], "input": part.get("arguments")}
        failed = {"is_error": True} if part.get("error") else {}
        texts = [str(part[key]) for key in ("result", "error") if part.get(key)]
        return [call, {"type": "tool_result", "tool_use_id": part["id"], "content": "\n\n".join(texts), **failed}]
    return [part]
