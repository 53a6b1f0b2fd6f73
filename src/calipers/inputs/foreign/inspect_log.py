"""Logs of inspect_ai: the samples of an ``.eval`` file (a zip), and the messages of a sample.

Events, stores and times of a sample are not read. Source of the fields: inspect_ai, and logs that it wrote in both of
its formats.
"""

from __future__ import annotations

import json
import struct
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from calipers.errors import ConfigError, InputError

NOT_KEPT = ("messages", "input", "events", "events_data", "attachments", "store", "timelines", "output")
"""Keys of a sample that are no notes on it: the messages repeat input and output."""
_ZSTD = 93
_REMEDY = "pip install zstandard, or write it as JSON: inspect log convert FILE --to json --output-dir DIR"


def eval_rows(path: Path, stream: IO[bytes]) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield the samples of an ``.eval`` file as one-sample logs, in the file's order, numbered from 1.

    Raises InputError for a damaged file, and ConfigError for one compressed with zstd without the package zstandard.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            names = [info for info in archive.infolist() if info.filename.startswith("samples/")]
            header = next((info for info in archive.infolist() if info.filename == "header.json"), None)
            task = {} if header is None else json.loads(_read(path, archive, stream, header)).get("eval") or {}
            for number, info in enumerate(sorted(names, key=lambda one: one.filename), start=1):
                sample = json.loads(_read(path, archive, stream, info))
                yield number, {"eval": {"task": task.get("task")}, "samples": [sample]}
    except (zipfile.BadZipFile, ValueError, EOFError, struct.error) as error:
        raise InputError(f"is a damaged .eval file ({error}); copy it again", source=str(path)) from None


def _read(path: Path, archive: zipfile.ZipFile, stream: IO[bytes], info: zipfile.ZipInfo) -> bytes:
    if info.compress_type != _ZSTD:
        return archive.read(info)
    try:
        import zstandard  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - optional, no dependency
    except ImportError:
        raise ConfigError(f"{path}: is compressed with zstd, which needs a package: {_REMEDY}") from None
    stream.seek(info.header_offset + 26)
    name, extra = struct.unpack("<HH", stream.read(4))
    stream.seek(info.header_offset + 30 + name + extra)
    found: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(stream.read(info.compress_size))
    return found


def messages_of_sample(sample: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a sample's messages, with attachments in their places; without messages, its input and output."""
    attachments = sample.get("attachments") or {}
    given = sample.get("messages") or []
    if not given:
        asked = sample.get("input")
        given = [{"role": "user", "content": asked}] if isinstance(asked, str) else list(asked or [])
        given += [choice["message"] for choice in ((sample.get("output") or {}).get("choices") or [])[:1]]
    return [_message(_attached(message, attachments)) for message in given]


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
    found = {"role": message["role"], "content": content}
    if message.get("tool_calls"):
        found["tool_calls"] = message["tool_calls"]
    if message["role"] == "tool":
        error = message.get("error")
        found["tool_call_id"] = message.get("tool_call_id")
        if error:
            found["is_error"] = True
            found["content"] = content or str(error.get("message", ""))
    return found


def _blocks(part: Any) -> list[dict[str, Any]]:
    """Return a content of inspect_ai as typed blocks."""
    if not isinstance(part, dict):
        return [{"type": "text", "text": str(part)}]
    kind = part.get("type")
    if kind == "text":
        return [{"type": "text", "text": part["text"]}]
    if kind == "reasoning":
        text = (part.get("summary") or "") if part.get("redacted") else part.get("reasoning") or part.get("summary")
        return [{"type": "thinking", "thinking": text or ""}]
    if kind == "tool_use":  # run by the provider, with its result
        call = {"type": "tool_use", "id": part["id"], "name": part["name"], "input": part.get("arguments")}
        failed = {"is_error": True} if part.get("error") else {}
        text = part.get("error") or part.get("result") or ""
        return [call, {"type": "tool_result", "tool_use_id": part["id"], "content": text, **failed}]
    if kind in ("audio", "video", "document"):
        where = str(part.get(kind))
        return [{"type": "file", ("file_data" if where.startswith("data:") else "file_url"): where}]
    return [part]
