"""Reads what llama.cpp's server tells of itself at ``/props``: how many requests it runs at once, and its context
window.

Pure. Not responsible for asking (``server``), nor for telling whether a server is llama.cpp (``model_list``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final

from calipers.backends.transport.reply import HttpReply
from calipers.backends.transport.usage import token_count
from calipers.types.encoding import require_small_when_decoded

_MOST_SLOTS: Final = 100_000
"""No server runs more requests at once, so a larger number is a mistake."""


@dataclass(frozen=True, slots=True)
class Properties:
    """What a server tells: ``slots`` (requests that run at once) and the context window of each in tokens, if known."""

    slots: int | None = None
    context_window: int | None = None


def read_properties(reply: HttpReply) -> Properties:
    """Return what the judge's server tells of itself; nothing is known if the reply has another form."""
    try:
        require_small_when_decoded(reply.body)
        body = json.loads(reply.body) if reply.status == 200 else None
    except (ValueError, RecursionError):
        return Properties()
    if not isinstance(body, dict):
        return Properties()
    defaults = body.get("default_generation_settings")
    slots = token_count(body.get("total_slots"))
    return Properties(
        slots=slots if slots is not None and slots <= _MOST_SLOTS else None,
        context_window=token_count(defaults.get("n_ctx")) if isinstance(defaults, dict) else None,
    )
