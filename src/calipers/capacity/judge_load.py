"""What a training step asks of a judge on GPUs of one's own, by formula: GPUs, queue time, and what to cut first.

Every formula is stated at its property, and on docs/own-gpus.md. Not responsible for servers of rewards (``load``), or
for how the wait of single calls is distributed (``queues``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from typing import Final

from calipers.errors import ConfigError

BUSY: Final = 0.8
"""The share of a judge's GPU seconds that is planned for; above it, the last answers of a step wait long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeLoad:
    """What a step asks of a listwise judge, and how fast a GPU of the judge is.

    A step takes ``step_seconds`` without judging, and rolls out ``group_size`` rollouts of ``answer_tokens`` for each
    of ``groups`` prompts. ``share`` of the groups reach this judge, each with ``orders`` times ``samples`` questions of
    ``prompt_tokens`` (instructions, rubric, task) and the rollouts. An answer has ``score_tokens`` and
    ``explanation_tokens`` for each rollout. A GPU reads ``prefill`` and writes ``decode`` tokens a second, and does not
    read the share ``cached`` of a question again. ``window`` are the seconds of the step in which the judge may work
    (None: all of them, as where training and judging overlap). Raises ConfigError for values that cannot be.
    """

    step_seconds: float = 120.0
    groups: int = 64
    group_size: int = 8
    orders: int = 1
    samples: int = 1
    share: float = 1.0
    prompt_tokens: float = 1_000.0
    answer_tokens: float = 500.0
    score_tokens: float = 10.0
    explanation_tokens: float = 40.0
    prefill: float = 20_000.0
    decode: float = 2_000.0
    cached: float = 0.0
    window: float | None = None

    def __post_init__(self) -> None:
        """Check every value."""
        for field in fields(self):
            value = getattr(self, field.name)
            free = field.name in {"explanation_tokens", "cached", "prompt_tokens"}
            if value is None:
                continue
            if not math.isfinite(value) or value < 0 or (value == 0 and not free):
                raise ConfigError(f"{field.name}={value!r}: it must be a number {'not below' if free else 'above'} 0")
        if self.group_size < 2:
            raise ConfigError(f"group_size={self.group_size}: a judge compares rollouts, so it must be 2 or more")
        if self.share > 1 or self.cached >= 1:
            raise ConfigError(f"share={self.share:g}, cached={self.cached:g}: share is at most 1, and cached below 1")
        if self.window is not None and self.window > self.step_seconds:
            raise ConfigError(f"window={self.window:g}: the step takes only {self.step_seconds:g} s (--step-seconds)")

    @property
    def rollouts(self) -> int:
        """Rollouts of a step: groups · rollouts of a group."""
        return self.groups * self.group_size

    @property
    def questions(self) -> float:
        """Questions of a step: groups · orders · samples · share."""
        return self.groups * self.orders * self.samples * self.share

    @property
    def input_tokens(self) -> float:
        """Tokens of a question: prompt + rollouts of a group · tokens of one."""
        return self.prompt_tokens + self.group_size * self.answer_tokens

    @property
    def output_tokens(self) -> float:
        """Tokens of an answer: rollouts of a group · (tokens of a score + tokens of an explanation)."""
        return self.group_size * (self.score_tokens + self.explanation_tokens)

    @property
    def question_seconds(self) -> float:
        """GPU seconds of a question: input · (1 - cached) / prefill + output / decode."""
        return self.input_tokens * (1 - self.cached) / self.prefill + self.output_tokens / self.decode

    @property
    def work(self) -> float:
        """GPU seconds of a step: questions · GPU seconds of a question."""
        return self.questions * self.question_seconds

    @property
    def seconds(self) -> float:
        """Seconds of a step in which the judge may work: the window, else the step."""
        return self.step_seconds if self.window is None else self.window

    @property
    def gpus(self) -> int:
        """GPUs for the judge: work / (seconds · 0.8), rounded up."""
        return max(1, math.ceil(self.work / (self.seconds * BUSY)))

    def queue_seconds(self, gpus: int) -> float:
        """Seconds until the last answer of a step that asks all at the same moment: work / GPUs."""
        return self.work / gpus

    def fits(self, gpus: int) -> bool:
        """Whether so many GPUs do a step's work in its seconds, at no more than 0.8 of full load."""
        return self.work <= gpus * self.seconds * BUSY

    def cuts(self) -> Iterator[tuple[str, JudgeLoad]]:
        """Yield what can be cut, the least harmful first, each with the load after it and all before it."""
        now = self
        if now.samples > 1:
            now = replace(now, samples=1)
            yield "samples to 1: no second opinion on the same order", now
        if now.explanation_tokens > 0:
            now = replace(now, explanation_tokens=0.0)
            yield "no explanations: scores alone", now
        now = replace(now, answer_tokens=now.answer_tokens / 2)
        yield "rollouts shortened to half: context_window, middles omitted", now
        now = replace(now, share=now.share * _CASCADE)
        yield f"a cascade: a cheaper judge is sure of {1 - _CASCADE:.0%} of the groups", now
        if now.orders > 1:
            now = replace(now, orders=1)
            yield "orders to 1: position bias is no longer averaged out", now


_CASCADE: Final = 0.4
"""The share of groups that is assumed to reach the last judge of a cascade."""
