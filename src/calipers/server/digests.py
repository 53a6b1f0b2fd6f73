"""Digests by which the server recognises a rollout, or a group, that it has seen before. Pure."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import Any

import orjson

from calipers.types import Rubric, TrajectoryGroup


def digest(value: Any) -> bytes:
    """Return a digest of a JSON value of a request to the server. The order of keys does not matter."""
    try:
        text = orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # an integer of more than 64 bits
        text = json.dumps(value, default=_plain, sort_keys=True).encode()
    return blake2b(text, digest_size=16).digest()


def digest_of_shared(group: TrajectoryGroup) -> bytes:
    """Return a digest of what the rollouts of a group on the server share."""
    rubric = group.rubric.to_dict() if isinstance(group.rubric, Rubric) else group.rubric
    return digest([group.context, group.tools, rubric])


def _plain(value: Any) -> Any:
    return dict(value) if hasattr(value, "keys") else list(value)
