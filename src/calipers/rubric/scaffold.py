"""RuscaRL's scaffold: shows a rollout part of the rubric, by its position in the group and the training step.

Source: Zhou et al., arXiv 2508.16949, and the code published with it. Everything follows from the arguments: the same
run, prompt, step and position show the same criteria.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypeVar, get_args

from calipers.errors import ConfigError
from calipers.types import Message, Rubric

T = TypeVar("T")
Criterion: TypeAlias = tuple[str, float]
"""A criterion's text and its points. Negative points mean that the text describes something to avoid."""

Step: TypeAlias = Literal["sigmoid", "linear", "power", "constant"]
Group: TypeAlias = Literal["linear", "binary", "constant"]
Choice: TypeAlias = Literal["random", "math"]


@dataclass(frozen=True, slots=True)
class Wording:
    """The words of a rubric's scaffold: the heads of the two lists, their lines, and what follows them.

    In a line, {number}, {text} and {points} (without sign) are replaced, each in one pass. ``base`` is the system
    message of rollouts that are shown nothing and whose prompt has none (RuscaRL's ``add_base_when_zero``); empty: no
    such message. Raises ConfigError for a line without {text}.
    """

    wanted: str = "A good answer includes these:"
    unwanted: str = "A good answer avoids these:"
    wanted_line: str = "{number}. {text} (worth {points})"
    unwanted_line: str = "{number}. {text} (costs {points})"
    discreet: str = "Answer as if you had thought of this yourself: do not mention this list."
    base: str = ""

    def __post_init__(self) -> None:
        for name in ("wanted_line", "unwanted_line"):
            if "{text}" not in getattr(self, name):
                raise ConfigError(f"{name}={getattr(self, name)!r}: it needs {{text}}, the criterion's place")


@dataclass(frozen=True, slots=True)
class Schedule:
    """How the share of a rubric that is shown falls over ``total_steps``, and over the members of a group.

    ``step`` says how the share falls over the steps. ``"sigmoid"`` falls around ``midpoint`` of the run, more abruptly
    with larger ``steepness`` (the paper's best: 125 and 0.2). ``"linear"`` and ``"power"`` (``(1 - t) ** power``) fall
    from all to nothing. ``"constant"`` does not fall.

    ``group`` says what the members of a group see. With ``"linear"``, the share falls evenly from the first member, who
    sees everything, to the last, who sees nothing. With ``"binary"``, the first ``full`` members see everything and the
    others nothing. With ``"constant"``, all members see everything.

    ``choice`` selects the criteria of a share. ``"random"`` draws them. ``"math"`` always takes the last but one (the
    form of the answer), takes the last (the answer itself) only at a share of 1, and takes the others in their order;
    with ``step="constant"`` that is RuscaRL's math_linear.

    Raises ConfigError for values that do not define a schedule.
    """

    total_steps: int
    step: Step = "sigmoid"
    steepness: float = 125.0
    midpoint: float = 0.2
    power: float = 1.0
    group: Group = "linear"
    full: int = 1
    choice: Choice = "random"

    def __post_init__(self) -> None:
        for name, values in (("step", get_args(Step)), ("group", get_args(Group)), ("choice", get_args(Choice))):
            if (value := getattr(self, name)) not in values:
                raise ConfigError(f"{name}={value!r}: it must be one of {', '.join(values)}")
        if self.total_steps < 1 or self.full < 0:
            raise ConfigError("total_steps must be 1 or more, and full 0 or more")
        if not (math.isfinite(self.steepness) and 0 <= self.midpoint <= 1 and 0 < self.power < math.inf):
            raise ConfigError("steepness must be finite, midpoint from 0 to 1, and power above 0")

    def share_at_step(self, step: int) -> float:
        """Return the share of the rubric that the rubric's scaffold shows at ``step`` (from 1), in [0, 1].

        It is 1 in a run of a single step.

        The operations are those of the code published with the paper: a share that differs in the last bit may round a
        half to another number of criteria.
        """
        if self.total_steps == 1:
            return 1.0
        last = self.total_steps - 1
        done = min(max((step - 1) / last, 0.0), 1.0)
        match self.step:
            case "sigmoid":
                return _falling_sigmoid((done - self.midpoint) * self.steepness)
            case "linear":
                return min(max((self.total_steps - step) / last, 0.0), 1.0)
            case "power":
                return float((1.0 - done) ** self.power)
            case "constant":
                return 1.0

    def share_of_member(self, place: int, size: int) -> float:
        """Return the share of the rubric shown to member ``place`` (from 1) of a group of ``size``, in [0, 1].

        A single member is shown everything.
        """
        if not 1 <= place <= size:
            raise ConfigError(f"place={place}: it must be from 1 to the size of the group, {size}")
        if size == 1 or self.group == "constant":
            return 1.0
        if self.group == "binary":
            return 1.0 if place <= self.full else 0.0
        return (size - place) / (size - 1)

    def share(self, step: int, place: int, size: int) -> float:
        """Return the share of the rubric shown: the share at this step times the share for this member."""
        return self.share_at_step(step) * self.share_of_member(place, size)

    def count(self, step: int, place: int, size: int, criteria: int) -> int:
        """Return how many of a rubric's ``criteria`` criteria the scaffold shows."""
        share = self.share(step, place, size)
        return shown_count(share, criteria) if self.choice == "random" else len(_math_choice(range(criteria), share))


def shown_count(share: float, criteria: int) -> int:
    """Return the number of a rubric's criteria in a share; halves are rounded to the even number, as Python does."""
    return round(share * criteria)


def shown_criteria(
    criteria: Sequence[Criterion], share: float, *, seed: object, choice: Choice = "random"
) -> tuple[Criterion, ...]:
    """Return a ``share`` of the criteria, drawn without replacement by ``seed`` (plain data).

    If ``share`` is 1 or more, all criteria are returned in their order. With ``choice="math"`` nothing is drawn:
    ``share`` is a share of the criteria before the last two, and the last but one is always shown. (The code published
    with the paper fails on a single criterion; here it counts as the last.)
    """
    if choice == "math":
        return tuple(_math_choice(criteria, share))
    if share >= 1:
        return tuple(criteria)
    return tuple(_seeded_generator(seed).sample(list(criteria), shown_count(share, len(criteria))))


def scaffolded(  # noqa: PLR0913 - what is shown, to whom, when, and in which words
    prompt: Sequence[Message],
    criteria: Sequence[Criterion],
    *,
    schedule: Schedule,
    step: int,
    place: int,
    size: int,
    run: str = "",
    discreet: bool = True,
    wording: Wording | None = None,
) -> tuple[Message, ...]:
    """Return a training rollout's prompt with its share of the criteria before it; unchanged if the share is empty.

    ``place`` is the position of the rollout in its group of ``size``, from 1. ``run``, the prompt, the step and the
    place decide which criteria are drawn. ``discreet`` adds a request not to mention the criteria, and ``wording``
    replaces the built-in words (its ``base`` begins a prompt that is shown nothing). The criteria become a system
    message, or the beginning of the prompt's system message, because many chat templates allow only one system
    message. Use the result only to sample in training. Validation, the judge and log-probabilities use ``prompt``
    without the criteria.
    """
    seed = [run, [dict(message) for message in prompt], step, place]
    shown = shown_criteria(criteria, schedule.share(step, place, size), seed=seed, choice=schedule.choice)
    words = wording or Wording()
    text, (first, *others) = scaffold_text(shown, discreet=discreet, wording=words), prompt or ({},)
    if not shown:
        own = first.get("role") == "system"
        return tuple(prompt) if own or not words.base else ({"role": "system", "content": words.base}, *prompt)
    if first.get("role") == "system" and isinstance(first.get("content"), str):
        return ({**first, "content": f"{text}\n\n{first['content']}"}, *others)
    return ({"role": "system", "content": text}, *prompt)


def texts_and_points(rubric: Rubric) -> tuple[Criterion, ...]:
    """Return the texts and points of a rubric's criteria, rules included, without criteria that have 0 points."""
    return tuple((criterion.text, criterion.points) for criterion in rubric.criteria if criterion.points)


def scaffold_text(shown: Sequence[Criterion], *, discreet: bool = True, wording: Wording | None = None) -> str:
    """Return the scaffold's text: which criteria to meet and which to avoid, numbered from 1, with points."""
    words = wording or Wording()
    wanted = [(text, points) for text, points in shown if points >= 0]
    unwanted = [(text, points) for text, points in shown if points < 0]
    parts = []
    if wanted:
        parts.append(_listed(words.wanted, wanted, words.wanted_line))
    if unwanted:
        parts.append(_listed(words.unwanted, unwanted, words.unwanted_line))
    if discreet and parts and words.discreet:
        parts.append(words.discreet)
    return "\n\n".join(parts)


_OVERFLOW: Final = 700.0
"""A larger argument would overflow ``exp``."""
_FIELD: Final = re.compile(r"\{(number|text|points)\}")


def _listed(head: str, criteria: Sequence[Criterion], line: str) -> str:
    lines = []
    for number, (text, points) in enumerate(criteria, 1):
        values = {"number": str(number), "text": text, "points": f"{abs(points):g}"}
        lines.append(_FIELD.sub(lambda found, values=values: values[found[1]], line))  # type: ignore[misc]  # bound now
    return "\n".join([head, *lines])


def _math_choice(criteria: Sequence[T], share: float) -> list[T]:
    """Return a share of all criteria but the last two, then the last if ``share`` is 1, then the last but one."""
    others, form, answer = criteria[:-2], criteria[-2:-1], criteria[-1:]
    return [*others[: shown_count(share, len(others))], *(answer if share >= 1 else ()), *form]


def _falling_sigmoid(x: float) -> float:
    """Return 1 / (1 + exp(x)) without overflow."""
    return 1.0 / (1.0 + math.exp(x)) if x < _OVERFLOW else 0.0


def _seeded_generator(seed: object) -> random.Random:
    """Return a random generator seeded from plain data, the same on every machine."""
    text = json.dumps(seed, sort_keys=True, default=str)
    return random.Random(hashlib.blake2b(text.encode()).digest())  # noqa: S311 - draws criteria, guards nothing
