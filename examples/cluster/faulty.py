"""The study's bad arms by name: a real judge with a vice of known size, and failures that count as 0.

    calipers score groups.jsonl -o out.jsonl --judge 'faulty:openai/gpt-5-mini?kind=LengthBias&per_doubling=0.1'

The real judge answers; the vice changes the scores that it gave, as it would change a simulated judge's, or loses some
of them. Vices are those of docs/testing.md and docs/study.md, and their fields stand behind the ``&``. The address of a
server of your own comes from its variable, such as VLLM_BASE_URL. Checklists have verdicts and no scores, so they are
refused.
"""

import json
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from urllib.parse import parse_qsl

from calipers import extract_scores
from calipers.backends.connect import find_backend
from calipers.errors import ConfigError, PermanentError
from calipers.interfaces import FullBackend
from calipers.rewards.identity import Identity
from calipers.study.training.judges import vice_of
from calipers.testing import Row, SimulatedJudge, write_scores
from calipers.types import Completion, JudgeRequest, RenderedGroup, Scores

_ANSWERED = ContextVar("_ANSWERED")
"""What the real judge answered to the question at hand: scores by trajectory, and explanations by key."""


class Faulty(FullBackend):
    """The judge ``faulty:JUDGE?kind=VICE&FIELD=VALUE``: JUDGE's own answers, changed by the vice."""

    def __init__(self, argument: str) -> None:
        name, mark, fields = argument.partition("?")
        if not mark:
            raise ConfigError(f"faulty:{argument}: name a vice, as in faulty:{name}?kind=LengthBias&per_doubling=0.1")
        vice = vice_of({key: _number_or_text(value) for key, value in parse_qsl(fields)})
        self._inner = inner = find_backend(name)
        self.endpoint, self.model, self.warnings = inner.endpoint, f"{inner.model}?{fields}", inner.warnings
        self.has_logprobs = False  # they would be those of the scores before the vice
        self._voice = SimulatedJudge(lambda _, member: _ANSWERED.get()[0][member], vice, write=_in_its_words)

    async def complete(self, request: JudgeRequest) -> Completion:
        """Ask the real judge, and return its answer as the vice leaves it; what cannot be read stays as it is."""
        if request.view.rubrics:
            raise PermanentError("internal", "a vice changes scores, and a checklist has none: leave protocol= out")
        answer = await self._inner.complete(request)
        read = extract_scores(answer.text, request.keys, scale=(0, request.max_score))
        shown = [request.view.candidates[item].members for item in request.ask.order]
        if read.missing or read.doubt or not all(shown):
            return answer
        given = {
            request.view.ids[members[0]]: read.scores[key] / request.max_score
            for key, members in zip(request.keys, shown, strict=True)
        }
        _ANSWERED.set((given, read.explanations))
        changed = await self._voice.complete(request)
        return replace(answer, text=changed.text, finish_reason=changed.finish_reason)

    async def check(self) -> Sequence[str]:
        """Check the real judge."""
        return await self._inner.check()

    async def aclose(self) -> None:
        """Close the real judge's connections."""
        await self._inner.aclose()


def _in_its_words(rows: Sequence[Row], request: JudgeRequest) -> str:
    words = _ANSWERED.get()[1]
    return write_scores([replace(row, explanation=words.get(row.key, "")) for row in rows], request)


def _number_or_text(value: str) -> object:
    try:
        return json.loads(value)
    except ValueError:
        return value


class FailuresAsZero(Identity):
    """The reward of many stacks, for comparison: the score, and 0 for a trajectory without one."""

    def __call__(self, scores: Scores, view: RenderedGroup) -> tuple[float | None, ...]:
        """Return one reward per candidate."""
        return tuple(reward or 0.0 for reward in Identity.__call__(self, scores, view))
