"""The result types of the doctor's examination: a check, and the diagnosis from all checks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from calipers.types import Usage

Standing = Literal["good", "note", "bad", "unknown"]
"""The result of a check. ``note`` is worth knowing but not a fault. ``unknown`` means not tested; ``says`` has the
reason.
"""

Conclusion = Literal["fit", "fit with these settings", "unfit"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a judge: the finding in a sentence, and its figures as plain JSON."""

    name: str
    standing: Standing
    says: str
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of a judge's examination.

    ``settings`` are keys of calipers.toml, empty for an unfit judge; ``seconds`` is the duration of the examination.
    ``calls`` were answered, of ``sent`` calls.
    """

    judge: str
    checks: tuple[Check, ...]
    verdict: Conclusion
    reason: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    sent: int = 0

    def __getitem__(self, name: str) -> Check:
        """Return the doctor's check with this name. Raises KeyError if the check was not made."""
        for check in self.checks:
            if check.name == name:
                return check
        raise KeyError(name)

    def toml(self) -> str:
        """Return the ``settings`` that the doctor advises for a run with this judge as lines for calipers.toml."""
        # JSON strings, numbers and lists of strings are valid TOML.
        return "".join(f"{key} = {json.dumps(value)}\n" for key, value in self.settings.items())

    def to_dict(self) -> dict[str, Any]:
        """Return the doctor's diagnosis as a JSON object, with checks by their name."""
        return {
            "judge": self.judge,
            "verdict": self.verdict,
            "reason": self.reason,
            "checks": {
                check.name: {"standing": check.standing, "says": check.says, **check.figures} for check in self.checks
            },
            "settings": dict(self.settings),
            "toml": self.toml(),
            "calls": self.calls,
            "sent": self.sent,
            "usage": self.usage.to_dict(),
            "seconds": round(self.seconds, 2),
        }
