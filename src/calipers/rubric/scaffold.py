"""RuscaRL's scaffold: shows a rollout part of the rubric, by its position in the group and the training step.

Source: Zhou et al., arXiv 2508.16949, and the code published with it. Pure: the same run, prompt, step and position
show the same criteria.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from calipers.errors import ConfigError
from calipers.types import Message

Criterion: TypeAlias = tuple[str, float]
"""A criterion's text and its points. Negative points mean that the text describes something to avoid."""

_DISCREET: Final = "Answer as if you had thought of this yourself: do not mention this list."


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the share of a rubric that is shown falls over ``total_steps``, and from the first to the last of a group.

    It falls in a sigmoid around ``midpoint`` of the run, more abruptly with larger ``steepness`` (the paper's best: 125
    and 0.2). Raises ConfigError for values that define no schedule.
    """

    total_steps: int
    steepness: float = 125.0
    midpoint: float = 0.2

    def __post_init__(self) -> None:
        if self.total_steps < 1 or not math.isfinite(self.steepness) or not 0 <= self.midpoint <= 1:
            raise ConfigError("total_steps must be 1 or more, steepness finite, and midpoint from 0 to 1")

    def share(self, step: int, place: int, size: int) -> float:
        """Return the share (0-1) of the rubric shown at ``step`` to member ``place`` of ``size``, both from 1.

        The operations are those of the published code: a share that differs in the last bit may round a half to
        another number of criteria.
        """
        if not 1 <= place <= size:
            raise ConfigError(f"place={place}: it must be from 1 to the size of the group, {size}")
        of_member = 1.0 if size == 1 else (size - place) / (size - 1)
        if self.total_steps == 1:
            return of_member
        x = (min(max((step - 1) / (self.total_steps - 1), 0.0), 1.0) - self.midpoint) * self.steepness
        return of_member / (1.0 + math.exp(x)) if x < 700 else 0.0  # a larger x would overflow


def scaffolded(
    prompt: Sequence[Message],
    criteria: Sequence[Criterion],
    *,
    schedule: Schedule,
    step: int,
    place: int,
    size: int,
    run: str = "",
) -> tuple[Message, ...]:
    """Return a training rollout's prompt with its share of the criteria before it; unchanged if the share is empty.

    ``place`` is the position of the rollout in its group of ``size``, from 1. ``run``, the prompt, the step and the
    place decide which criteria are drawn. They become a system message, or the beginning of the prompt's system
    message, because many chat templates allow only one. Use the result only to sample in training. Validation, the
    judge and log-probabilities use ``prompt`` without the criteria.
    """
    count = round(schedule.share(step, place, size) * len(criteria))  # halves to the even number, as published
    shown = list(criteria)
    if count < len(criteria):
        seed = json.dumps([run, [dict(message) for message in prompt], step, place], sort_keys=True, default=str)
        drawn = random.Random(hashlib.blake2b(seed.encode()).digest())  # noqa: S311 - draws criteria, guards nothing
        shown = drawn.sample(shown, count)
    if not shown:
        return tuple(prompt)
    wanted = [f"{text} (worth {points:g})" for text, points in shown if points >= 0]
    unwanted = [f"{text} (costs {-points:g})" for text, points in shown if points < 0]
    parts = [
        "\n".join([head, *(f"{number}. {line}" for number, line in enumerate(lines, 1))])
        for head, lines in (("A good answer includes these:", wanted), ("A good answer avoids these:", unwanted))
        if lines
    ]
    text = "\n\n".join([*parts, _DISCREET])
    first, *rest = prompt or ({},)
    if first.get("role") == "system" and isinstance(first.get("content"), str):
        return ({**first, "content": f"{text}\n\n{first['content']}"}, *rest)
    return ({"role": "system", "content": text}, *prompt)
