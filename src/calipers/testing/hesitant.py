"""A simulated judge that is unsure: its replies carry log-probabilities, as a chat judge's do.

Not responsible for opinions and the biases that change them (``judges``, ``biases``).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

from calipers.errors import ConfigError
from calipers.testing.biases import Bias
from calipers.testing.judges import SimulatedJudge
from calipers.testing.quality import Quality
from calipers.types import Completion, JudgeRequest, Logprobs


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
    below = 0.0
    for level in range(_TOP + 1):
        upto = 1.0 if level == _TOP else _normal_cdf(((level + 0.5) / _TOP - opinion) / doubt)
        yield upto - below
        below = upto


def _normal_cdf(x: float) -> float:
    return (1 + math.erf(x / math.sqrt(2))) / 2


def _digit_logprobs(text: str, beliefs: Sequence[Sequence[float]]) -> Logprobs:
    places = [place for place, letter in enumerate(text) if letter.isdigit()]
    return tuple(
        (place, tuple((str(level), math.log(chance)) for level, chance in enumerate(chances) if chance > 1e-9))
        for place, chances in zip(places, beliefs, strict=True)
    )
