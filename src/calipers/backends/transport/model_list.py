"""A server's list of models: which there are, and how much each can read at once. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from calipers.backends.transport.reply import HttpReply
from calipers.backends.transport.usage import tokens
from calipers.types.encoding import require_light


def _listed(reply: HttpReply) -> Mapping[str, Any]:
    try:
        require_light(reply.body)
        body = json.loads(reply.body) if reply.status == 200 else None
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) and isinstance(body.get("data"), list) else {}


def offered(reply: HttpReply) -> list[str] | None:
    """Ids of the models a server lists, or None where it lists none in a known way; none where it shows but a page."""
    listed = _listed(reply)
    if not listed:
        return None
    if listed.get("has_more"):
        return []
    return [row["id"] for row in listed["data"] if isinstance(row, dict) and isinstance(row.get("id"), str)]


def is_among(model: str, names: list[str]) -> bool:
    """Listed, if only by its full tag, its dated snapshot or its resource name."""
    name = re.escape(model.removesuffix("-latest"))
    listed = re.compile(rf"(?:models/)?{name}(?::latest|-latest|-\d{{8}})?")
    return any(listed.fullmatch(one) for one in names)


def takes_any_name(reply: HttpReply) -> bool:
    """llama.cpp answers with its one model whatever name is asked for."""
    rows = _listed(reply).get("data", ())
    return any(isinstance(row, dict) and row.get("owned_by") == "llamacpp" for row in rows)


_WINDOW_KEYS = ("max_model_len", "n_ctx", "context_length", "context_window", "max_context_length")
"""vLLM and SGLang, llama.cpp (in ``meta``), OpenRouter, Groq, Mistral; what Ollama could do is not what it does."""


def context_window(reply: HttpReply, model: str) -> int | None:
    """The context window of ``model`` as the server's list of models tells it."""
    rows = [row for row in _listed(reply).get("data", ()) if isinstance(row, dict)]
    own = [row for row in rows if row.get("id") == model] or (rows if len(rows) == 1 and takes_any_name(reply) else [])
    for row in own[:1]:
        meta = row.get("meta")
        for told in (row, meta if isinstance(meta, dict) else {}):
            sizes = [size for key in _WINDOW_KEYS if (size := tokens(told.get(key))) is not None]
            if sizes:
                return sizes[0]
    return None


def few(names: list[str]) -> str:
    """The first of ``names``, and how many more there are."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
