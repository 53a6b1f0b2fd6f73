"""What the author of an object that is no group or trajectory may have meant, for the errors of ``groups``. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any


def meant(key: str, value: Mapping[str, Any]) -> str:
    """Return a question to the author of a file whether a key of the object was meant to be ``key``; "" if none is."""
    near = get_close_matches(key, [name for name in map(str, value) if name != key], n=1, cutoff=0.8)
    return f"did you mean {key!r} by {near[0]!r}? " if near else ""


def reader_for(value: Mapping[str, Any], listed: object) -> str:
    """Return what reads an object that is no group, as the end of a sentence; "" if that is not known.

    ``listed`` is what stands where the group's trajectories should.
    """
    if "response" in value:
        return "; one response a line is for calipers ifeval: calipers generate --form groups writes groups"
    if isinstance(listed, str):
        return "; of a dataset with JSON text, read_groups(dataset) or its Parquet file is read"
    if "messages" in value:
        return "; rows with one rollout each are read by calipers convert, or with reader='rollouts'"
    if "role" in value:
        return "; a file whose lines are messages is read by calipers convert, or with reader='rollouts'"
    return ""
