"""RULER's two result types, with RULER's field names.

They are pydantic models if pydantic is installed (ART requires it, and its users may dump and validate them), otherwise
dataclasses with the same fields: ``ruler`` on raw message lists needs neither ART nor pydantic.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, dataclass_transform


@dataclass_transform(kw_only_default=True)
class PlainRecord:
    """A substitute for pydantic's ``BaseModel`` in RULER's result types.

    It has keyword fields, equality, a repr and ``model_dump``, but no validation.
    """

    def __init_subclass__(cls) -> None:
        dataclass(kw_only=True)(cls)

    def model_dump(self) -> dict[str, Any]:
        """Return a deep copy of the fields of a result for ART as plain data."""
        return asdict(self)  # type: ignore[call-overload, no-any-return]  # every subclass is a dataclass


if TYPE_CHECKING:
    _Record = PlainRecord
else:
    try:
        _Record = import_module("pydantic").BaseModel
    except ImportError:
        _Record = PlainRecord


class TrajectoryScore(_Record):
    """The score of a trajectory, as RULER returns it.

    ``trajectory_id`` is the trajectory's position, from 1, as text. ``score`` is in [0, 1].
    """

    trajectory_id: str
    explanation: str
    score: float


class Response(_Record):
    """All scores of a group, under RULER's name."""

    scores: list[TrajectoryScore]
