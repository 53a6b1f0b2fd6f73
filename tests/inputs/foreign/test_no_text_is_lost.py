"""Every text of a file arrives in what is read of it, or is at a key that the docs name as not read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from calipers.inputs import read_groups
from inputs.foreign import full_rows
from inputs.foreign.dialect_messages import DIALECTS
from inputs.foreign.written import written

KEPT = frozenset({
    "type", "role", "kind", "from", "id", "name", "source", "action", "observation", "jsonrpc", "method", "part_kind",
    "tool_call_id", "call_id", "toolUseId", "cause", "message_type", "tool_name", "function_name", "function", "key",
    "language", "mimeType", "mime_type", "media_type", "format", "schema_version", "domain_name", "task_id", "epoch",
    "instance_id", "toolType", "outcome", "requestor", "sessionId", "user_task_id", "suite_name", "source_call_id",
    "state", "toolCallId", "toolName", "mediaType", "author", "invocationId", "invocation_id", "modality", "sourceId",
    "finish_reason",
    "protocolVersion", "origin", "uuid", "leafUuid",
    "agent_state", "recall_type", "object", "finishReason", "tool_type", "tool_call_ids", "error_id", "status",
})  # fmt: skip
"""Keys whose texts are structure: readers look at them."""
NOT_READ: dict[str, tuple[str, ...]] = {
    "INSPECT": (
        "samples.store",
        "samples.events",
        "messages.metadata",
        "content.context",
        "redacted",
        "output.completion",
    ),
    "SMOLAGENTS": ("model_input_messages",),
    "GEMINI": ("thoughtSignature", "usageMetadata"),
    "OPENHANDS": ("signature", "analyzer", "policy"),
    "OPENHANDS_PAIRS": ("args.query", "dom_object"),
    "NEMO_GYM": ("responses_create_params.metadata",),
    "VERIFIERS_TRACES": ("task.data", "nodes.1"),
    "SWE_AGENT": ("trajectory.state", "history.agent"),
    "ATIF": ("steps.extra", "tool_calls.extra", "observation.extra", "results.extra"),
    "PYDANTIC_AI": (
        "response.provider_details",
        "parts.provider_details",
        "request.metadata",
        "response.metadata",
        "request.parts.metadata",
    ),
    "LANGCHAIN": ("artifact", "response_metadata", "usage_metadata"),
    "TAU2": ("info.environment_info.policy", "raw_data", "content.UklG"),
    "AGENTDOJO": ("tool_call.args",),
    "CODEX": ("timestamp", "payload.cwd", "base_instructions", "payload.message", "encrypted_content"),
    "gemini": ("thoughtSignature",),
    "adk": ("text.half",),
    "bedrock": ("signature",),
    "agentdojo": ("tool_call.args",),
    "tau2": ("timestamp",),
    "openhands": ("ConversationStateUpdateEvent",),
    "claude_code": ("summary",),
}
"""Parts of the paths of texts that are not read; docs/groups-file.md has them."""
FULL = {name: value for name, value in vars(full_rows).items() if name.isupper() and isinstance(value, dict | list)}
SHARED = ("CALLED", "REPLY", "NODES")
ROWS: dict[str, Any] = {name: value for name, value in FULL.items() if name not in SHARED} | dict(DIALECTS)


def marked(value: Any, numbers: Iterator[int], found: dict[str, str], path: str = "") -> Any:
    """Return a copy with a mark at the end of each text that is no structure, and note the marks' paths."""
    if isinstance(value, dict):
        path += "".join(f".{value[key]}" for key in ("kind", "method") if isinstance(value.get(key), str))
        path += ".redacted" if value.get("redacted") is True else ""
        return {
            key: item if isinstance(item, str) and key in KEPT else marked(item, numbers, found, f"{path}.{key}")
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [
            marked(item, numbers, found, f"{path}.{at}" if "nodes" in path else path) for at, item in enumerate(value)
        ]
    if not isinstance(value, str) or not value:
        return value
    mark = f"mark{next(numbers)}end"
    found[mark] = f"{path}.{value}"
    return f'{value[:-2]}{mark}"}}' if value.startswith('{"') else f"{value}{mark}"


@pytest.mark.parametrize("name", ROWS)
def test_every_text_arrives_or_is_named_as_not_read(name: str, tmp_path: Path):
    found: dict[str, str] = {}
    rows = marked(ROWS[name], count(1), found)
    listed = rows if isinstance(rows, list) else [rows]
    groups = list(read_groups(written(tmp_path / "rows.jsonl", *listed)))
    arrived = set(re.findall(r"mark\d+end", json.dumps([group.to_dict() for group in groups])))
    lost = {path for mark, path in found.items() if mark not in arrived}
    unread = {path for path in found.values() if any(part in path for part in NOT_READ.get(name, ()))}
    assert lost <= unread, sorted(lost - unread)
    assert all(any(part in path for path in lost) for part in NOT_READ.get(name, ())), "a key that is read after all"
