"""The simulated judge: a Backend that forms opinions from a hidden quality and answers in real reply text."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from statistics import NormalDist
from typing import Any, TypeAlias

from calipers.errors import ConfigError, PermanentError
from calipers.interfaces import FullBackend
from calipers.testing.biases import Bias
from calipers.testing.faults import Fault, Spoiled
from calipers.testing.question import Question, request_identity
from calipers.testing.reply_forms import entries_of, write_reply
from calipers.testing.slips import Row, Slip, honest_rows
from calipers.types import Candidate, Completion, JudgeRequest, Logprobs, Message, RenderedGroup, TrajectoryGroup, Usage

Quality: TypeAlias = Mapping[str, float] | Callable[[str, str], float]
"""The true quality of trajectories, in [0, 1]: a mapping by trajectory id, or a function of (group, trajectory id)."""
Vice: TypeAlias = Bias | Slip | Fault
"""A defect of a simulated judge: in its opinions, in how these are written down, or in whether the reply arrives."""


class SimulatedJudge(FullBackend):
    """A judge that knows each trajectory's true quality. Its vices (biases, slips and faults) distort its answers.

    Without vices it is honest: it scores ``round(100 * quality)``. With vices it applies the biases in the order given,
    clips to [0, 1], rounds to whole numbers from 0 to 100, applies the slips in the order given, and then the first
    fault that occurs. Everything is drawn from ``seed`` and the request, so that a fresh judge with the same settings
    gives the same answers however many calls are in flight (only ``Drift`` follows arrival order). It
    scores every key of the request, anchors included, and gives canaries the quality 0. It reads transcripts only if a
    vice needs them.

    ``quality`` is described at ``Quality``; for identical trajectories that share one candidate, the first trajectory's
    quality is used. ``model`` is the judge's name in the ledger. By default it is made from seed, vices and quality, so
    that different judges do not share recorded answers. Of a function only the qualified name is used: pass ``model``
    if two different functions have the same one. ``write`` turns rows into reply text, for questions other than
    listwise ones. ``calls`` counts the calls so far.

    Raises ConfigError for a quality outside [0, 1] or a vice that is no Bias, Slip or Fault. ``complete`` raises
    PermanentError of kind "internal" for a trajectory without a quality, and what its faults raise. Usage counts 4
    characters a token.
    """

    def __init__(
        self,
        quality: Quality,
        *vices: Vice,
        seed: int = 0,
        model: str | None = None,
        write: Callable[[Sequence[Row], JudgeRequest], str] | None = None,
    ) -> None:
        require_quality(quality)
        for vice in vices:
            if not isinstance(vice, Bias | Slip | Fault):
                raise ConfigError(f"a vice is a Bias, Slip or Fault from calipers.testing, not {vice!r}")
        self.endpoint = "simulated"
        self.model = model if model is not None else _default_model_name(quality, vices, seed)
        self.calls = 0
        self._quality = quality
        self._vices = _labelled_vices(vices)
        self._seed = seed
        self._write = write
        self._heard: Counter[str] = Counter()

    async def complete(self, request: JudgeRequest) -> Completion:
        question = self._hear(request)
        rows = honest_rows(*self._entries(question), request.max_score)
        for label, vice in self._vices:
            if isinstance(vice, Slip):
                rows = vice.slip(rows, replace(question, label=label))
        reply = self._deliver(rows, question)
        usage = Usage(sum(map(_characters, request.messages)) // 4, len(reply.text) // 4)
        return Completion(reply.text, reply.finish_reason, model=self.model, usage=usage)

    def _hear(self, request: JudgeRequest) -> Question:
        identity = request_identity(request)
        question = Question(request, self._seed, self.calls, self._heard[identity])
        self.calls += 1
        self._heard[identity] += 1
        return question

    def _entries(self, question: Question) -> tuple[list[str], list[float]]:
        """Return the names of the reply's entries, and the opinion for each."""
        if self._write is not None:
            return list(question.request.keys), self._opinions(question)
        entries = entries_of(question.request)
        by_aspect = {name: self._opinions(question, name) for name in {entry.aspect: None for entry in entries}}
        opinions = [by_aspect[entry.aspect][entry.place] for entry in entries]
        signed = (1 - value if entry.is_fault else value for entry, value in zip(entries, opinions, strict=True))
        return [entry.name for entry in entries], list(signed)

    def _opinions(self, question: Question, aspect: str = "") -> list[float]:
        """Return the opinion on each candidate shown; every ``aspect`` (criterion) has draws of its own."""
        view = question.request.view
        opinions = [self._truth(view, shown, aspect) if shown.members else 0.0 for shown in question.shown]
        for label, vice in self._vices:
            if isinstance(vice, Bias):
                aspect_label = f"{label}|{aspect}" if aspect else label
                opinions = vice.sway(opinions, replace(question, label=aspect_label))
        return opinions

    def _truth(self, view: RenderedGroup, candidate: Candidate, aspect: str) -> float:  # noqa: ARG002 - for subclasses
        """Return the hidden quality of a candidate, which may depend on the ``aspect`` (criterion) asked about."""
        return quality_of_trajectory(self._quality, view.group_id, view.ids[candidate.members[0]])

    def _deliver(self, rows: Sequence[Row], question: Question) -> Spoiled:
        def write(changed: Sequence[Row]) -> str:
            return (self._write or write_reply)(changed, question.request)

        for label, vice in self._vices:
            if isinstance(vice, Fault):
                spoiled = vice.strike(rows, write, replace(question, label=label))
                if spoiled is not None:
                    return spoiled
        return Spoiled(write(rows))


def _labelled_vices(vices: Sequence[Vice]) -> tuple[tuple[str, Vice], ...]:
    """Return each vice with its own label for random draws, so that adding a
    vice does not change other kinds' draws.
    """
    seen: Counter[str] = Counter()
    labelled: list[tuple[str, Vice]] = []
    for vice in vices:
        kind = type(vice).__name__
        labelled.append((f"{kind}{seen[kind]}", vice))
        seen[kind] += 1
    return tuple(labelled)


def _default_model_name(quality: Quality, vices: Sequence[Vice], seed: int) -> str:
    truth = _described(dict(sorted(quality.items())) if isinstance(quality, Mapping) else quality)
    digest = hashlib.sha256("\x1f".join([truth, *map(_described, vices)]).encode()).hexdigest()[:8]
    kinds = "+".join(type(vice).__name__ for vice in vices) or "honest"
    return f"{kinds}-{seed}-{digest}"


def _described(value: Any) -> str:
    """Return a description like repr, with all fields and without memory addresses, which would differ between runs."""
    if is_dataclass(value) and not isinstance(value, type):
        inside = ", ".join(f"{item.name}={_described(getattr(value, item.name))}" for item in fields(value))
        return f"{type(value).__name__}({inside})"
    if callable(value):
        return str(getattr(value, "__qualname__", type(value).__qualname__))
    return repr(value)


def _characters(message: Message) -> int:
    content = message.get("content")
    if isinstance(content, str):
        return len(content)
    return sum(len(part.get("text") or "") for part in content or ())


def gold_quality(groups: Iterable[TrajectoryGroup]) -> Callable[[str, str], float]:
    """Return a simulated judge's Quality made from the trajectories' gold scores, from 0 for the least to 1 for the
    greatest.

    Trajectories without gold have no quality, and a simulated judge fails the call about such a trajectory. Raises
    ConfigError if there is no gold score, or if all are equal.
    """
    gold = {
        (group.group_id, trajectory.id): trajectory.gold
        for group in groups
        for trajectory in group.trajectories
        if trajectory.gold is not None
    }
    if not gold:
        raise ConfigError("no trajectory has gold; give the judge a quality of your own")
    least, most = min(gold.values()), max(gold.values())
    if least == most:
        raise ConfigError(f"all gold is {least:g}; give the judge a quality of your own")
    scaled = {key: (value - least) / (most - least) for key, value in gold.items()}
    return lambda group_id, trajectory_id: scaled[group_id, trajectory_id]


def require_quality(quality: Quality) -> None:
    """Raise ConfigError for a simulated judge's mapping with qualities outside [0, 1].

    A function is checked when it is called.
    """
    if isinstance(quality, Mapping):
        bad = {key: value for key, value in quality.items() if not 0 <= value <= 1}
        if bad:
            raise ConfigError(f"quality must be from 0 to 1, not {bad}")


def quality_of_trajectory(quality: Quality, group_id: str, trajectory_id: str) -> float:
    """Return the hidden quality of a trajectory for a simulated judge.

    Raises PermanentError if it is missing or outside [0, 1].
    """
    try:
        value = quality[trajectory_id] if isinstance(quality, Mapping) else quality(group_id, trajectory_id)
    except KeyError:
        message = f"the simulated judge was given no quality for trajectory {trajectory_id!r} of group {group_id!r}"
        raise PermanentError("internal", message) from None
    if not (math.isfinite(value) and 0 <= value <= 1):
        message = f"quality of trajectory {trajectory_id!r} of group {group_id!r} must be from 0 to 1, not {value!r}"
        raise PermanentError("internal", message)
    return value


class HesitantJudge(SimulatedJudge):
    """A SimulatedJudge that, asked for digits, writes the likeliest digit and reports the log-probabilities of all ten.

    Its belief about a candidate is a normal distribution around its opinion with standard deviation ``doubt`` (on the
    scale of qualities, 0 to 1), over the ten levels. It reports log-probabilities if the request asks for ``logprobs``,
    unless ``tells`` is False. It answers other questions like any simulated judge. Raises ConfigError if ``doubt`` is
    not above 0.
    """

    def __init__(
        self,
        quality: Quality,
        *biases: Bias,
        doubt: float = 0.1,
        tells: bool = True,
        seed: int = 0,
        model: str | None = None,
    ) -> None:
        if not doubt > 0:
            raise ConfigError(f"doubt={doubt!r}: it is a standard deviation, above 0")
        super().__init__(quality, *biases, seed=seed, model=model)
        if model is None:
            self.model = f"{self.model}-doubt-{doubt:g}"
        self._doubt, self._tells = doubt, tells

    async def complete(self, request: JudgeRequest) -> Completion:
        """Answer as a simulated judge, with digits and log-probabilities if the request's scale ends at 9.

        Otherwise answer like SimulatedJudge.
        """
        if request.max_score != _TOP:
            return await super().complete(request)
        beliefs = [list(_level_probabilities(opinion, self._doubt)) for opinion in self._opinions(self._hear(request))]
        scores = {
            key: max(range(_TOP + 1), key=chances.__getitem__)
            for key, chances in zip(request.keys, beliefs, strict=True)
        }
        answer = Completion(json.dumps({"scores": scores}), model=self.model)
        if not self._tells or not request.params.get("logprobs"):
            return answer
        return replace(answer, logprobs=_digit_logprobs(answer.text, beliefs))


_TOP = 9


def _level_probabilities(opinion: float, doubt: float) -> Iterator[float]:
    """Yield each level's probability: the share of a normal belief that is nearer to it than to any other level."""
    belief, below = NormalDist(opinion, doubt), 0.0
    for level in range(_TOP + 1):
        upto = 1.0 if level == _TOP else belief.cdf((level + 0.5) / _TOP)
        yield upto - below
        below = upto


def _digit_logprobs(text: str, beliefs: Sequence[Sequence[float]]) -> Logprobs:
    places = [place for place, letter in enumerate(text) if letter.isdigit()]
    return tuple(
        (place, tuple((str(level), math.log(chance)) for level, chance in enumerate(chances) if chance > 1e-9))
        for place, chances in zip(places, beliefs, strict=True)
    )
