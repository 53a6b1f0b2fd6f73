"""What decides a judge's results, as plain data.

Not responsible for how a judge is reached, at what pace, or at what price: none of that moves a score.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from calipers.protocols.question import OutOfRange
from calipers.render import BYTES_PER_TOKEN
from calipers.rubric import DEFAULT_RUBRIC
from calipers.types import Window


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides a judge's results, as plain data: kept with each run in the ledger, and enough to replay it."""

    judge: str
    endpoint: str
    model: str
    protocol: str = "listwise"
    orders: int = 1
    samples: int = 1
    rubric: str = DEFAULT_RUBRIC
    reasks: int = 2
    out_of_range: OutOfRange = "reask"
    custom_parse: bool = False
    seed: int = 0
    max_tokens: int | None = 8192
    params: Mapping[str, Any] = field(default_factory=dict)
    reasoning: Literal["hidden", "shown"] = "hidden"
    reward_range: tuple[float, float] = (0.0, 1.0)
    absolute: bool = False
    deadline: float | None = None
    warnings: tuple[str, ...] = ()
    context_window: int | None = None
    bytes_per_token: float = BYTES_PER_TOKEN

    @property
    def window(self) -> Window | None:
        """What fits the judge at once, as far as was known when the run began."""
        return None if self.context_window is None else Window(self.context_window, self.bytes_per_token)
