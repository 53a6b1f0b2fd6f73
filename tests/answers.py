"""Trajectories for tests of verifiers."""

from typing import Any

from calipers.types import Trajectory


def answered(text: str | None, *before: dict[str, Any]) -> Trajectory:
    """A trajectory that ends with this answer."""
    return Trajectory("a", (*before, {"role": "assistant", "content": text}))


def told(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}
