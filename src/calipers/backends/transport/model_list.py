"""Reads what a server tells of itself: its list of models with their context windows, and llama.cpp's ``/props``."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from calipers.backends.transport.reply import HttpReply
from calipers.backends.transport.usage import token_count
from calipers.types.encoding import require_small_when_decoded

_MOST_SLOTS = 100_000
"""No server runs more requests at once, so a larger number is a mistake."""


def _object(reply: HttpReply) -> Mapping[str, Any]:
    try:
        require_small_when_decoded(reply.body)
        body = json.loads(reply.body) if reply.status == 200 else None
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def _listed(reply: HttpReply) -> Mapping[str, Any]:
    body = _object(reply)
    return body if isinstance(body.get("data"), list) else {}


def slots_and_window(reply: HttpReply) -> tuple[int | None, int | None]:
    """Return how many requests llama.cpp's server runs at once and the context window of each, by its ``/props``."""
    body = _object(reply)
    defaults = body.get("default_generation_settings")
    slots = token_count(body.get("total_slots"))
    window = token_count(defaults.get("n_ctx")) if isinstance(defaults, dict) else None
    return slots if slots is not None and slots <= _MOST_SLOTS else None, window


def listed_models(reply: HttpReply) -> list[str] | None:
    """Return the ids of the models that a server lists, or None if the form of the list is unknown.

    The result is empty if the server sent only one page of several.
    """
    listed = _listed(reply)
    if not listed:
        return None
    if listed.get("has_more"):
        return []
    return [row["id"] for row in listed["data"] if isinstance(row, dict) and isinstance(row.get("id"), str)]


def is_listed(model: str, names: list[str]) -> bool:
    """Return whether a server's list of models ``names`` has ``model``, also as its full tag, dated snapshot or
    resource name.
    """
    name = re.escape(model.removesuffix("-latest"))
    listed = re.compile(rf"(?:models/)?{name}(?::latest|-latest|-\d{{8}})?")
    return any(listed.fullmatch(one) for one in names)


def takes_any_name(reply: HttpReply) -> bool:
    """Whether a judge's server, by its list of models, has one model that answers under any name, as llama.cpp has."""
    rows = _listed(reply).get("data", ())
    return any(isinstance(row, dict) and row.get("owned_by") == "llamacpp" for row in rows)


_WINDOW_KEYS = ("max_model_len", "n_ctx", "context_length", "context_window", "max_context_length")
"""Keys of vLLM and SGLang, llama.cpp (in ``meta``), OpenRouter, Groq and Mistral. Ollama's list is not used: it has
only the model's maximum, not the window in use.
"""


def listed_context_window(reply: HttpReply, model: str) -> int | None:
    """Return the context window of ``model`` in tokens from the server's list of models, or None if it is not there."""
    rows = [row for row in _listed(reply).get("data", ()) if isinstance(row, dict)]
    own = [row for row in rows if row.get("id") == model] or (rows if len(rows) == 1 and takes_any_name(reply) else [])
    for row in own[:1]:
        meta = row.get("meta")
        for told in (row, meta if isinstance(meta, dict) else {}):
            sizes = [size for key in _WINDOW_KEYS if (size := token_count(told.get(key))) is not None]
            if sizes:
                return sizes[0]
    return None


def first_names(names: list[str]) -> str:
    """Return the first five of a server's model names as text, and how many more there are."""
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
